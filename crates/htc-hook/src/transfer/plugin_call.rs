//! Calls of file transfer plugins, and the interpretation of their results.
//!
//! Reference: `InvokeMultipleFileTransferPlugin`, `InvokeFileTransferPlugin`.

use bstr::{BString, ByteSlice};

use super::failure::TransferRetry;
use super::plugin::TransferPlugins;
use super::url;
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_classad::format::new_syntax;
use htc_classad::{ClassAd, Context, Dialect, EvalWorld, Value};

/// File that a plugin transfers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlFile {
    /// URL to download from or upload to.
    pub url: BString,
    /// Local path.
    pub local: BString,
}

/// One call of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginCall {
    /// Program as configured. For a plugin of the job, its path in the scratch directory.
    pub program: BString,
    /// True if the job supplies the plugin.
    pub of_job: bool,
    /// Name of the plugin. Variables of the job that begin with this name and `_` are passed to the plugin.
    pub name: BString,
    /// Arguments after the program.
    pub arguments: Vec<BString>,
    /// Name and content of the input file, or `None` for plugins of protocol 1.
    pub infile: Option<(BString, Vec<u8>)>,
    /// Name of the output file, or `None` for plugins of protocol 1, which print their result.
    pub outfile: Option<BString>,
    /// Files to transfer.
    pub files: Vec<UrlFile>,
}

/// Exit of a plugin call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginExit {
    /// The plugin exited or was killed by a signal.
    Exited(Exit),
    /// The plugin exceeded MAX_FILE_TRANSFER_PLUGIN_LIFETIME, in seconds.
    TimedOut(u64),
    /// The plugin could not be executed.
    NotExecuted(String),
}

/// Failure of a plugin call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFailure {
    /// Subcode of the resulting hold or vacate.
    pub subcode: i64,
    /// Message, which becomes part of the reason for the resulting hold or vacate.
    pub text: BString,
    /// Retry of the transfer by the reference.
    pub retry: TransferRetry,
}

/// Result of a plugin call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginResult {
    /// Result ads, one per file.
    pub results: Vec<ClassAd>,
    /// Failure of the call, or `None` if it succeeded.
    pub failure: Option<PluginFailure>,
    /// Quirk that makes 25.14 handle this exit of the plugin differently, or `None`.
    pub differs: Option<Quirk>,
}

/// Subcode of a plugin that timed out (ETIME).
const TIMED_OUT_SUBCODE: i64 = 62;
/// Subcode of a plugin that was not found (FileTransferPluginNotFound of `condor_holdcodes.h`).
const PLUGIN_NOT_FOUND_SUBCODE: i64 = -1001;
const PLUGIN_NOT_EXECUTED_SUBCODE: i64 = -1003;
const PLUGIN_NO_RESULT_SUBCODE: i64 = -1004;
/// Subcode that the reference reports after too many retries of a transfer, in place of a subcode that would hold the
/// job. With this subcode the job is vacated (`JICShadow::transferOutputMopUp`).
const GIVEN_UP_SUBCODE: i64 = -1000;

impl TransferPlugins {
    /// Plans the plugin calls that transfer the files. A plugin with multi-file support is called once for all its
    /// files. The calls are ordered by the path of the plugin. `data` returns the job's attributes for plugins
    /// (`PluginData`, `<scheme>_PluginData`).
    ///
    /// # Errors
    /// Returns subcode and text of the failure if no plugin supports a scheme.
    pub fn plan_calls(
        &self,
        files: &[UrlFile],
        scratch: &[u8],
        upload: bool,
        data: &dyn Fn(&str) -> Option<BString>,
    ) -> Result<Vec<PluginCall>, (i64, BString)> {
        let mut calls: Vec<PluginCall> = Vec::new();
        for file in files {
            let scheme = url::scheme(&file.url).unwrap_or_default();
            let Some(plugin) = self.plugin_for_scheme(scheme) else {
                let scheme = scheme.as_bstr();
                return Err((
                    PLUGIN_NOT_FOUND_SUBCODE,
                    format_error(&format!("FILETRANSFER: plugin for type {scheme} not found!")),
                ));
            };
            let base = url::base_name(&plugin.path);
            let program = match plugin.of_job {
                true => [scratch, b"/", base].concat().into(),
                false => plugin.path.clone(),
            };
            let mut call = PluginCall {
                program,
                of_job: plugin.of_job,
                name: plugin.name.clone(),
                arguments: Vec::new(),
                infile: None,
                outfile: None,
                files: vec![file.clone()],
            };
            if plugin.protocol < 2 {
                let (from, to) = if upload { (&file.local, &file.url) } else { (&file.url, &file.local) };
                call.arguments = vec![from.clone(), to.clone()];
                calls.push(call);
                continue;
            }
            if let Some(known) =
                calls.iter_mut().find(|known| known.program == call.program && known.outfile.is_some())
            {
                known.files.push(file.clone());
                continue;
            }
            let path_with_suffix =
                |ending: &str| -> BString { [scratch, b"/.", base, ending.as_bytes()].concat().into() };
            let (infile, outfile) = (path_with_suffix(".in"), path_with_suffix(".out"));
            call.arguments = vec!["-infile".into(), infile.clone(), "-outfile".into(), outfile.clone()];
            call.arguments.extend(upload.then(|| "-upload".into()));
            call.infile = Some((infile, Vec::new()));
            call.outfile = Some(outfile);
            calls.push(call);
        }
        for call in &mut calls {
            let protocol = self.plugin_protocol(call);
            let has_data = protocol != 2 || self.multi_file.get_data;
            let text = infile_text(&call.files, protocol, &|name| data(name).filter(|_| has_data));
            if let Some((_, content)) = &mut call.infile {
                *content = text;
            }
        }
        calls.sort_by(|a, b| a.program.cmp(&b.program));
        Ok(calls)
    }

    fn plugin_protocol(&self, call: &PluginCall) -> i64 {
        let scheme = call.files.first().and_then(|file| url::scheme(&file.url)).unwrap_or_default();
        self.plugin_for_scheme(scheme).map_or(2, |plugin| plugin.protocol)
    }
}

/// Returns the content of an input file: ads in the new syntax, concatenated without newlines.
fn infile_text(files: &[UrlFile], protocol: i64, data: &dyn Fn(&str) -> Option<BString>) -> Vec<u8> {
    let mut schemes: Vec<BString> =
        files.iter().filter_map(|file| url::scheme(&file.url)).map(BString::from).collect();
    schemes.sort();
    schemes.dedup();
    let mut common_attributes = Vec::new();
    let mut ads = Vec::new();
    if let Some(value) = data("PluginData") {
        common_attributes.push((BString::from("PluginData"), value.clone()));
        ads.push(vec![(BString::from("PluginData"), value)]);
    }
    for scheme in &schemes {
        let name = format!("{scheme}_PluginData");
        if let Some(value) = data(&name) {
            common_attributes.push((name.as_str().into(), value.clone()));
            ads.push(vec![("Protocol".into(), quote_string(scheme)), (name.into(), value)]);
        }
    }
    let mut text = Vec::new();
    if protocol == 4 {
        ads.iter().for_each(|ad| push_ad(ad, &mut text));
    }
    for file in files {
        let mut ad = vec![
            ("Url".into(), quote_string(&file.url)),
            ("LocalFileName".into(), quote_string(&file.local)),
        ];
        if protocol == 2 {
            ad.extend(common_attributes.iter().cloned());
        }
        push_ad(&ad, &mut text);
    }
    text
}

fn quote_string(text: &[u8]) -> BString {
    Value::from(text.as_bstr()).unparse()
}

fn push_ad(ad: &[(BString, BString)], out: &mut Vec<u8>) {
    let parts: Vec<Vec<u8>> = ad.iter().map(|(name, value)| [&name[..], b" = ", value].concat()).collect();
    out.extend_from_slice(b"[ ");
    out.extend(bstr::join("; ", parts));
    out.extend_from_slice(b" ]");
}

/// Formats a message as an entry of the reference's error stack.
fn format_error(text: &str) -> BString {
    format!("FILETRANSFER:1:{text}").into()
}

/// Formats several messages as an error stack, newest first.
fn format_error_stack(texts: &[String]) -> BString {
    let texts: Vec<BString> = texts.iter().rev().map(|text| format_error(text)).collect();
    bstr::join("|", texts).into()
}

impl PluginCall {
    /// Interprets the end of a call. `written` is the content of the output file, or the standard output for protocol
    /// 1; `None` if the output file does not exist.
    pub fn interpret_exit(
        &self,
        ended: &PluginExit,
        written: Option<&[u8]>,
        quirks: QuirkMode,
        world: &dyn EvalWorld,
    ) -> PluginResult {
        let program = &self.program;
        let exit = match ended {
            PluginExit::NotExecuted(reason) => {
                let text = format_error(&format!("FILETRANSFER: Failed to execute {program}: {reason}"));
                return PluginResult {
                    results: Vec::new(),
                    failure: Some(PluginFailure {
                        subcode: PLUGIN_NOT_EXECUTED_SUBCODE,
                        text,
                        retry: TransferRetry::Requeue,
                    }),
                    differs: None,
                };
            }
            PluginExit::TimedOut(_) => None,
            PluginExit::Exited(exit) => Some(*exit),
        };
        let (code, subcode) = match exit {
            Some(Exit::Code(code)) => (i64::from(code), i64::from(code) << 8),
            Some(Exit::Signal { number, .. }) => (0, number.into()),
            None => (TIMED_OUT_SUBCODE, TIMED_OUT_SUBCODE),
        };
        let mut texts = Vec::new();
        let loops = quirks.reproduces(Quirk::PluginNoAdsLoops);
        let (results, read) = match (&self.outfile, written) {
            (Some(outfile), None) => {
                texts.push(format!(
                    "|Error: file transfer plugin {program} exited with code {code}, unable to open output file {outfile}"
                ));
                (Vec::new(), false)
            }
            (Some(_), Some(text)) => (parse_result_ads(text, loops), true),
            (None, _) => (vec![parse_old_syntax_ad(written.unwrap_or_default())], true),
        };
        if read && results.is_empty() {
            texts.push(self.no_ads_message(exit, code));
            let uploads = self.arguments.last().is_some_and(|word| word == "-upload");
            let subcode = match exit {
                Some(Exit::Code(_)) if loops => PLUGIN_NO_RESULT_SUBCODE,
                Some(Exit::Signal { .. }) if loops && uploads => GIVEN_UP_SUBCODE,
                // The job is held as for any other failure. A plugin that exits with 0 has still failed, so its subcode is 1.
                Some(Exit::Code(_)) => subcode.max(1),
                _ => subcode,
            };
            // After an upload, 25.14 then sends nothing to the shadow, however the plugin ended. The connection to the
            // shadow is lost, and the job is started again forever.
            let retry = match loops && uploads {
                true => TransferRetry::Reconnect,
                false => TransferRetry::Never,
            };
            let failure = PluginFailure { subcode, text: format_error_stack(&texts), retry };
            let differs = (!loops).then_some(Quirk::PluginNoAdsLoops);
            return PluginResult { results, failure: Some(failure), differs };
        }
        let failed = exit != Some(Exit::Code(0));
        match self.outfile.is_some() {
            true => results.iter().for_each(|ad| self.push_file_failure(ad, code, &mut texts, world)),
            false if failed && exit.is_some() => {
                self.push_single_file_failure(&results[0], exit, &mut texts, world)
            }
            false => {}
        }
        let fails = failed || !read;
        if fails && texts.is_empty() {
            texts.push(self.no_message_given(ended, code));
        }
        // A call whose exit status is 0 is successful, even if its result ads report a failure.
        let failure = fails.then(|| PluginFailure {
            subcode,
            text: format_error_stack(&texts),
            retry: TransferRetry::Never,
        });
        PluginResult { results, failure, differs: None }
    }

    /// Returns the message for a plugin whose output file does not contain an ad.
    fn no_ads_message(&self, exit: Option<Exit>, code: i64) -> String {
        let program = &self.program;
        let (kind, number) = match exit {
            Some(Exit::Signal { number, .. }) => ("signal", i64::from(number)),
            _ => ("exit code", code),
        };
        let outfile = self.outfile.clone().unwrap_or_default();
        format!(
            "|Error: file transfer plugin {program} exited ({kind} {number}), no valid classads in output file {outfile}"
        )
    }

    /// Returns the message for a plugin whose ads do not describe the failure.
    fn no_message_given(&self, ended: &PluginExit, code: i64) -> String {
        let program = &self.program;
        match ended {
            PluginExit::TimedOut(limit) => {
                format!("File transfer plugin {program} timed out after {limit} seconds.")
            }
            _ => format!(
                "File transfer plugin {program} failed unexpectedly with exit code {code}, did not report a TransferError message."
            ),
        }
    }

    fn push_file_failure(&self, ad: &ClassAd, code: i64, texts: &mut Vec<String>, world: &dyn EvalWorld) {
        let context = Context::new(world).my(ad);
        let program = &self.program;
        let address = context.string("TransferUrl").unwrap_or_default();
        match context.boolean("TransferSuccess") {
            Some(true) => {}
            None => texts.push(format!(
                "non-zero exit ({code}) from {program}. |Error: File transfer plugin {program} exited without producing a TransferSuccess result  ({address})|"
            )),
            Some(false) => texts.push(self.file_failure_message(&context, &format!("non-zero exit ({code})"))),
        }
    }

    /// Appends the message for a failed plugin of protocol 1, which transfers a single file.
    fn push_single_file_failure(
        &self,
        ad: &ClassAd,
        exit: Option<Exit>,
        texts: &mut Vec<String>,
        world: &dyn EvalWorld,
    ) {
        let how = match exit {
            Some(Exit::Signal { number, .. }) => format!("exit by signal {number}"),
            Some(Exit::Code(code)) => format!("non-zero exit ({code})"),
            None => return,
        };
        texts.push(self.file_failure_message(&Context::new(world).my(ad), &how));
    }

    /// Returns the message for a file that was not transferred; `how` describes the exit of the plugin.
    fn file_failure_message(&self, result: &Context<'_>, how: &str) -> String {
        let program = &self.program;
        let why = result.string("TransferError").unwrap_or_else(|| {
            format!("File transfer plugin {program} exited unexpectedly without producing an error message ")
                .into()
        });
        let address = url::without_query(&result.string("TransferUrl").unwrap_or_default());
        format!("{how} from {program}. |Error: {why} ( URL file = {address} )|")
    }
}

/// Parses ads in the new syntax. If the text has none and `new_only` is false, parses ads in the old syntax separated
/// by empty lines.
fn parse_result_ads(text: &[u8], new_only: bool) -> Vec<ClassAd> {
    let found = parse_new_syntax_ads(text);
    if new_only || !found.is_empty() {
        return found;
    }
    let text = text.replace("\n\n", "\0");
    let old = text.split(|byte| *byte == 0).map(parse_old_syntax_ad);
    old.filter(|ad| ad.contains("TransferSuccess")).collect()
}

fn parse_new_syntax_ads(text: &[u8]) -> Vec<ClassAd> {
    let (mut rest, mut ads) = (text, Vec::new());
    loop {
        rest = rest.trim_start();
        match new_syntax::parse_prefix(rest, Dialect::new_syntax()) {
            Ok((ad, used)) if used > 0 && !ad.is_empty() => {
                ads.push(ad);
                rest = &rest[used..];
            }
            _ => return ads,
        }
    }
}

/// Parses an ad of `Name = value` lines.
fn parse_old_syntax_ad(text: &[u8]) -> ClassAd {
    let mut ad = ClassAd::new();
    text.lines().filter(|line| !line.is_empty()).for_each(|line| drop(ad.insert_line(line)));
    ad
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::System;

    fn file(url: &str, local: &str) -> UrlFile {
        UrlFile { url: url.into(), local: local.into() }
    }

    fn plugins() -> TransferPlugins {
        let mut plugins = TransferPlugins::default();
        let output = b"SupportedMethods = \"dbl,dbl2\"\nMultipleFileSupport = true\n";
        plugins.add_configured_plugin(b"/l/job.d/plugin", output, &System).unwrap();
        plugins.add_configured_plugin(b"/l/old", b"SupportedMethods = \"old\"\n", &System).unwrap();
        plugins
    }

    fn call_for(url: &str, upload: bool) -> PluginCall {
        plugins().plan_calls(&[file(url, "/s/f")], b"/s", upload, &|_| None).unwrap().remove(0)
    }

    #[test]
    fn calls_are_as_recorded_from_25_14() {
        let files = [file("dbl://ok/f1", "/s/f1"), file("DBL2://ok/f2", "/s/f2")];
        let calls = plugins().plan_calls(&files, b"/s", false, &|_| None).unwrap();
        assert_eq!(calls.len(), 1);
        let words: Vec<&[u8]> = calls[0].arguments.iter().map(|word| word.as_slice()).collect();
        assert_eq!(words, [&b"-infile"[..], b"/s/.plugin.in", b"-outfile", b"/s/.plugin.out"]);
        let (_, text) = calls[0].infile.clone().unwrap();
        let wanted = "[ Url = \"dbl://ok/f1\"; LocalFileName = \"/s/f1\" ][ Url = \"DBL2://ok/f2\"; LocalFileName = \"/s/f2\" ]";
        assert_eq!(text.as_bstr(), wanted);
        assert_eq!(call_for("dbl://x/y", true).arguments.last().unwrap(), "-upload");
        let old = call_for("old://x/y", false);
        assert_eq!((old.arguments, old.outfile), (vec!["old://x/y".into(), "/s/f".into()], None));
    }

    #[test]
    fn a_job_has_data_for_its_plugins() {
        let data = |name: &str| (name == "dbl_PluginData").then(|| BString::from("[ a = 1 ]"));
        let calls = plugins().plan_calls(&[file("dbl://x/y", "/s/\"y")], b"/s", false, &data).unwrap();
        let (_, text) = calls[0].infile.clone().unwrap();
        let wanted = r#"[ Url = "dbl://x/y"; LocalFileName = "/s/\"y"; dbl_PluginData = [ a = 1 ] ]"#;
        assert_eq!(text.as_bstr(), wanted);
        let mut plugins = plugins();
        plugins.multi_file.get_data = false;
        let calls = plugins.plan_calls(&[file("dbl://x/y", "/s/y")], b"/s", false, &data).unwrap();
        let (_, text) = calls[0].infile.clone().unwrap();
        assert_eq!(text.as_bstr(), r#"[ Url = "dbl://x/y"; LocalFileName = "/s/y" ]"#);
    }

    #[test]
    fn by_default_a_plugin_without_ads_holds_the_job_and_old_style_ads_are_read() {
        let call = call_for("dbl://x/y", true);
        let judge = |code, text: &str| {
            let ended = PluginExit::Exited(Exit::Code(code));
            let end = call.interpret_exit(&ended, Some(text.as_bytes()), QuirkMode::Manual, &System);
            end.failure.map(|failure| failure.subcode)
        };
        assert_eq!(judge(3, ""), Some(768));
        assert_eq!(judge(0, "this is no ad\n"), Some(1));
        assert_eq!(judge(0, "TransferSuccess = true\nTransferUrl = \"dbl://x/y\"\n"), None);
    }

    #[test]
    fn a_scheme_without_a_plugin_is_reported() {
        let error = plugins().plan_calls(&[file("x://a/b", "/s/b")], b"/s", false, &|_| None).unwrap_err();
        assert_eq!(error, (-1001, "FILETRANSFER:1:FILETRANSFER: plugin for type x not found!".into()));
    }

    #[test]
    fn results_are_interpreted_as_recorded_from_25_14() {
        let call = call_for("dbl://fail/f1", false);
        let judge = |exit, text: Option<&str>| {
            let reference = (QuirkMode::Reference, &System as &dyn EvalWorld);
            let end = call.interpret_exit(
                &PluginExit::Exited(exit),
                text.map(str::as_bytes),
                reference.0,
                reference.1,
            );
            end.failure.map(|failure| (failure.subcode, failure.text.to_string(), failure.retry))
        };
        let failure = |subcode, text: &str| Some((subcode, text.to_owned(), TransferRetry::Never));
        let failed = "[ TransferSuccess = false; TransferUrl = \"dbl://fail/f1\"; TransferError = \"no such thing\"; ]\n";
        let text = "FILETRANSFER:1:non-zero exit (1) from /l/job.d/plugin. |Error: no such thing ( URL file = dbl://fail/f1 )|";
        assert_eq!(judge(Exit::Code(1), Some(failed)), failure(256, text));
        assert_eq!(judge(Exit::Code(0), Some("[ TransferSuccess = true ]")), None);
        let none = |how: &str| {
            format!(
                "FILETRANSFER:1:|Error: file transfer plugin /l/job.d/plugin exited ({how}), no valid classads in output file /s/.plugin.out"
            )
        };
        for text in ["", "this is no ad\n", "A = 1\n", "                "] {
            assert_eq!(judge(Exit::Code(1), Some(text)), failure(-1004, &none("exit code 1")), "{text}");
        }
        assert_eq!(judge(Exit::Code(0), Some("")), failure(-1004, &none("exit code 0")));
        let killed = Exit::Signal { number: 9, core_dumped: false };
        assert_eq!(judge(killed, Some("")), failure(9, &none("signal 9")));
        assert!(judge(Exit::Code(0), None).unwrap().1.contains("unable to open output file"));
        let reference = (QuirkMode::Reference, &System as &dyn EvalWorld);
        let timed_out = call.interpret_exit(
            &PluginExit::TimedOut(7),
            Some(b"[ TransferSuccess = true ]"),
            reference.0,
            reference.1,
        );
        let text = "FILETRANSFER:1:File transfer plugin /l/job.d/plugin timed out after 7 seconds.";
        assert_eq!(
            timed_out.failure,
            Some(PluginFailure { subcode: 62, text: text.into(), retry: TransferRetry::Never })
        );
        let not = call.interpret_exit(
            &PluginExit::NotExecuted("No such file or directory".into()),
            None,
            reference.0,
            reference.1,
        );
        assert_eq!(
            not.failure.map(|failure| (failure.subcode, failure.retry)),
            Some((-1003, TransferRetry::Requeue))
        );
    }
}
