//! Records of the plugins' work in one transfer: the ads of the INPUT, OUTPUT and CHECKPOINT records in the history of
//! a job's runs.
//!
//! Reference: `InvokeMultipleFileTransferPlugin`, `updateShadowWithPluginResults`, `filterPluginResults`,
//! `RemoteResource::updateFromStarter`.

use bstr::{BString, ByteSlice};

use super::plugin_call::{PluginCall, PluginExit};
use super::task::TransferKind;
use super::url;
use htc_base::process::Exit;
use htc_classad::{ClassAd, Expr, List, Value};

/// Class of a transfer in the history of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferClass {
    /// Input of the job.
    Input,
    /// Output of the job, even if the job failed or was evicted.
    Output,
    /// Checkpoint, from which the job continues later.
    Checkpoint,
}

impl TransferClass {
    /// Returns the class that a transfer belongs to.
    pub fn of(way: TransferKind) -> Self {
        match way {
            TransferKind::Input => TransferClass::Input,
            TransferKind::Checkpoint(_) => TransferClass::Checkpoint,
            TransferKind::Output | TransferKind::Failure | TransferKind::Evicted => TransferClass::Output,
        }
    }

    /// Returns the name of records of this class, such as `INPUT`.
    pub fn record_name(self) -> &'static str {
        match self {
            TransferClass::Input => "INPUT",
            TransferClass::Output => "OUTPUT",
            TransferClass::Checkpoint => "CHECKPOINT",
        }
    }

    /// Returns the prefix of the attributes of this class, such as `Input`.
    fn attribute_prefix(self) -> &'static str {
        match self {
            TransferClass::Input => "Input",
            TransferClass::Output => "Output",
            TransferClass::Checkpoint => "Checkpoint",
        }
    }

    /// Returns the number of the class in the ad of an invocation (`TransferClass` of file_transfer.h).
    fn number(self) -> i64 {
        match self {
            TransferClass::Input => 1,
            TransferClass::Output => 2,
            TransferClass::Checkpoint => 3,
        }
    }
}

/// Records of the plugins that transfer several files per call, in one transfer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginRecords {
    /// Result ads of the plugins, one per file, with the attributes that a shadow accepts.
    results: Vec<ClassAd>,
    /// One ad per call of a plugin.
    invocations: Vec<ClassAd>,
}

impl PluginRecords {
    /// Returns true if no plugin was called.
    pub fn is_empty(&self) -> bool {
        self.results.is_empty() && self.invocations.is_empty()
    }

    /// Adds a call whose output file could be read, and the result ads in that file.
    pub fn add_call(
        &mut self,
        way: TransferKind,
        call: &PluginCall,
        ended: &PluginExit,
        seconds: i64,
        results: &[ClassAd],
    ) {
        self.invocations.push(invocation_ad(TransferClass::of(way), call, ended, seconds));
        self.results.extend(results.iter().map(|ad| filter(ad, &RESULT_ATTRIBUTES)));
    }

    /// Returns the ad of a record of this class.
    pub fn record_ad(&self, class: TransferClass) -> ClassAd {
        let list = |ads: &[ClassAd]| {
            let ads = ads.iter().map(|ad| Expr::literal(Value::Ad(ad.clone().into())));
            Value::List(List::new(ads.collect::<Vec<_>>()))
        };
        let prefix = class.attribute_prefix();
        let mut ad = ClassAd::new();
        ad.set(format!("{prefix}PluginInvocations"), list(&self.invocations));
        ad.set(format!("{prefix}PluginResultList"), list(&self.results));
        ad.set("TransferClass", class.record_name());
        ad
    }
}

/// Numbers in `TransferPluginResult`.
const RESULT_SUCCESS: i64 = 0;
const RESULT_ERROR: i64 = 1;
const RESULT_TIMED_OUT: i64 = 3;

fn invocation_ad(class: TransferClass, call: &PluginCall, ended: &PluginExit, seconds: i64) -> ClassAd {
    let mut schemes: Vec<&[u8]> = call.files.iter().filter_map(|file| url::scheme(&file.url)).collect();
    schemes.sort_unstable();
    schemes.dedup();
    let result = match ended {
        PluginExit::Exited(Exit::Code(0)) => RESULT_SUCCESS,
        PluginExit::TimedOut(_) => RESULT_TIMED_OUT,
        PluginExit::Exited(_) | PluginExit::NotExecuted(_) => RESULT_ERROR,
    };
    let mut ad = ClassAd::new();
    ad.set("TransferClass", class.number());
    ad.set("PluginBasename", url::base_name(&call.program).as_bstr());
    ad.set("Schemes", BString::from(bstr::join(",", schemes)));
    ad.set("Result", result);
    ad.set("DurationInSeconds", seconds);
    match ended {
        PluginExit::Exited(Exit::Signal { number, .. }) => {
            ad.set("ExitBySignal", true);
            ad.set("ExitSignal", i64::from(*number));
        }
        PluginExit::Exited(Exit::Code(code)) => {
            ad.set("ExitBySignal", false);
            ad.set("ExitCode", i64::from(*code));
        }
        // The plugin was killed. 25.14 prints uninitialised numbers in this case.
        PluginExit::TimedOut(_) | PluginExit::NotExecuted(_) => {
            ad.set("ExitBySignal", true);
            ad.set("ExitSignal", 9i64);
        }
    }
    ad
}

/// Type of the value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttributeType {
    Boolean,
    Integer,
    Real,
    String,
    /// A list, whose elements may be expressions.
    List,
    Ad,
}

/// Attributes of result ads that a shadow accepts, with their types.
const RESULT_ATTRIBUTES: [(&str, AttributeType); 14] = [
    ("TransferSuccess", AttributeType::Boolean),
    ("TransferError", AttributeType::String),
    ("TransferProtocol", AttributeType::String),
    ("TransferType", AttributeType::String),
    ("TransferFileName", AttributeType::String),
    ("TransferFileBytes", AttributeType::Integer),
    ("TransferTotalBytes", AttributeType::Integer),
    ("TransferStartTime", AttributeType::Integer),
    ("TransferEndTime", AttributeType::Integer),
    ("ConnectionTimeSeconds", AttributeType::Real),
    ("TransferURL", AttributeType::String),
    (ERROR_DATA, AttributeType::List),
    ("DeveloperData", AttributeType::Ad),
    ("TransferData", AttributeType::List),
];
/// List of ads about the attempts of a transfer.
const ERROR_DATA: &str = "TransferErrorData";
/// Attributes of the ads in [`ERROR_DATA`] that a shadow accepts, with their types.
const ERROR_ATTRIBUTES: [(&str, AttributeType); 13] = [
    ("IntermediateServerErrorType", AttributeType::String),
    ("IntermediateServer", AttributeType::String),
    ("ErrorType", AttributeType::String),
    ("PluginVersion", AttributeType::String),
    ("PluginLaunched", AttributeType::Boolean),
    ("FailedName", AttributeType::String),
    ("FailureType", AttributeType::String),
    ("FailedServer", AttributeType::String),
    ("ShouldRefresh", AttributeType::Boolean),
    ("ErrorCode", AttributeType::Integer),
    ("ErrorString", AttributeType::String),
    ("Retryable", AttributeType::Integer),
    ("DeveloperData", AttributeType::Ad),
];

/// Returns the accepted attributes of the ad whose values have the right type (`filterClassAd`).
fn filter(ad: &ClassAd, accepted: &[(&str, AttributeType)]) -> ClassAd {
    let mut filtered = ClassAd::new();
    for (name, value) in ad.sorted() {
        let known = accepted.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
        let Some((known, _)) = known.filter(|(_, wanted)| has_type(&value, *wanted)) else { continue };
        let value = if *known == ERROR_DATA { filter_error_data(&value) } else { value };
        filtered.insert(name, value);
    }
    filtered
}

fn has_type(value: &Expr, wanted: AttributeType) -> bool {
    match wanted {
        AttributeType::List => value.as_list().is_some(),
        AttributeType::Ad => matches!(value.as_literal(), Some(Value::Ad(_))),
        AttributeType::Boolean => matches!(value.as_literal(), Some(Value::Bool(_))),
        AttributeType::Integer => matches!(value.as_literal(), Some(Value::Int(_))),
        AttributeType::Real => matches!(value.as_literal(), Some(Value::Real(_))),
        AttributeType::String => matches!(value.as_literal(), Some(Value::Str(_))),
    }
}

fn filter_error_data(list: &Expr) -> Expr {
    let ads = list.as_list().unwrap_or_default().into_iter().filter_map(|item| match item.as_literal() {
        Some(Value::Ad(ad)) => Some(Expr::literal(Value::Ad(filter(&ad, &ERROR_ATTRIBUTES).into()))),
        _ => None,
    });
    Expr::literal(Value::List(List::new(ads.collect::<Vec<_>>())))
}

#[cfg(test)]
mod tests {
    use super::super::plugin_call::UrlFile;
    use super::*;
    use htc_classad::Dialect;
    use htc_classad::format::{long, new_syntax};

    fn call(urls: &[&str]) -> PluginCall {
        PluginCall {
            program: "/usr/libexec/curl_plugin".into(),
            of_job: false,
            name: "CURL_PLUGIN".into(),
            arguments: Vec::new(),
            infile: None,
            outfile: Some("/s/.curl_plugin.out".into()),
            files: urls.iter().map(|url| UrlFile { url: (*url).into(), local: "/s/f".into() }).collect(),
        }
    }

    /// The expected ads are `expected_pil` and `expected_prl` of test_multiple_schemes.py.
    #[test]
    fn a_record_has_the_calls_of_plugins_and_the_attributes_that_a_shadow_accepts() {
        let text = b"[ TransferUrl = \"file://no-such.file/1\"; TransferSuccess = false; TransferStartTime = 1.5; Own = 1; \
            DeveloperData = [ a = b ]; TransferErrorData = { [ ErrorType = \"Resolution\"; FailedName = 3; Own = 1 ], 4 } ]";
        let (result, _) = new_syntax::parse_prefix(text, Dialect::new_syntax()).unwrap();
        let mut records = PluginRecords::default();
        assert!(records.is_empty());
        let call = call(&["http://x/3", "file://no-such.file/1", "http://x/4"]);
        records.add_call(TransferKind::Input, &call, &PluginExit::Exited(Exit::Code(1)), 2, &[result]);
        assert_eq!(
            long::print(&records.record_ad(TransferClass::Input)).as_bstr(),
            "InputPluginInvocations = { [ Result = 1; Schemes = \"file,http\"; ExitCode = 1; ExitBySignal = false; \
             TransferClass = 1; PluginBasename = \"curl_plugin\"; DurationInSeconds = 2 ] }\n\
             InputPluginResultList = { [ TransferUrl = \"file://no-such.file/1\"; DeveloperData = [ a = b ]; \
             TransferSuccess = false; TransferErrorData = { [ ErrorType = \"Resolution\" ] } ] }\n\
             TransferClass = \"INPUT\"\n"
        );
    }

    #[test]
    fn a_record_names_its_class_and_the_end_of_a_plugin() {
        let killed = PluginExit::Exited(Exit::Signal { number: 15, core_dumped: false });
        for (way, ended, wanted) in [
            (
                TransferKind::Evicted,
                killed,
                "Result = 1; Schemes = \"dbl\"; ExitSignal = 15; ExitBySignal = true; TransferClass = 2",
            ),
            (
                TransferKind::Checkpoint(0),
                PluginExit::TimedOut(5),
                "Result = 3; Schemes = \"dbl\"; ExitSignal = 9; ExitBySignal = true; TransferClass = 3",
            ),
        ] {
            let mut records = PluginRecords::default();
            records.add_call(way, &call(&["dbl://x"]), &ended, 0, &[]);
            let class = TransferClass::of(way);
            let text = long::print(&records.record_ad(class)).as_bstr().to_string();
            assert!(text.contains(wanted), "{text}");
            assert!(text.contains("PluginResultList = {  }\n"), "{text}");
            assert!(text.ends_with(&format!("TransferClass = \"{}\"\n", class.record_name())), "{text}");
        }
    }
}
