//! Execution of a request: reads the configuration, and prints the same bytes as `condor_config_val` (`config_val.cpp`, `main`).

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::config_request::{ConfigRequest, RequestedName};
use super::use_template;
use crate::classad::regex::{Regex, RegexOptions};
use crate::config::defaults::{self, Parameter, ParameterType};
use crate::config::macro_definition::{FoundMacro, SourceId};
use crate::config::macro_set::ValueReplacement;
use crate::config::redact;
use crate::config::use_counts::{EntryUses, LookupPurpose};
use crate::config::{
    Config, ConfigView, LoadOptions, LookupContext, condition, config_view, descriptions, evaluate, expand,
    statement_text, write_config,
};
use crate::lint::value_explanation;
use crate::text::caseless;
use crate::world::World;

mod dump;

/// Output of the tool, collected and written at the end.
#[derive(Debug, Default)]
pub(super) struct ToolOutput {
    /// Text for standard output.
    pub(super) out: Vec<u8>,
    /// Text for standard error.
    pub(super) err: Vec<u8>,
}

impl ToolOutput {
    /// Adds a line to the text for standard error.
    pub(super) fn write_err_line(&mut self, line: impl AsRef<[u8]>) {
        self.err.extend_from_slice(line.as_ref());
        self.err.push(b'\n');
    }

    fn write_out_line(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.out.extend_from_slice(part);
        }
        self.out.push(b'\n');
    }
}

/// Configuration with the request to answer.
pub(super) struct ConfigQuery<'a> {
    request: &'a ConfigRequest,
    world: &'a dyn World,
    config: Config,
}

/// Returns the options with which the configuration of a request is loaded.
pub(super) fn load_options(request: &ConfigRequest) -> LoadOptions {
    LoadOptions {
        file: request.root.as_ref().map(|root| PathBuf::from(OsStr::from_bytes(root))),
        absolute_root: request.own_root,
        environment: request.environment,
        overlay: request.overlay.clone(),
        commands: request.commands,
        keep_defaults: request.write.is_some() || request.keep_defaults,
        record_replacements: request.trace,
        count_uses: request.counts_uses(),
        ..LoadOptions::default()
    }
}

impl<'a> ConfigQuery<'a> {
    /// Reads the configuration. The error is the exit status of the tool.
    pub(super) fn load(
        request: &'a ConfigRequest,
        world: &'a dyn World,
        output: &mut ToolOutput,
    ) -> Result<Self, u8> {
        let context =
            LookupContext { subsystem: request.subsystem.clone(), local_name: request.local_name.clone() };
        let mut options = load_options(request);
        let mut attempt = Config::load_partially(world, &context, &options);
        let answer = |mut attempt: crate::config::load::LoadAttempt, output: &mut ToolOutput| {
            if request.redact {
                redact::redact_attempt(&mut attempt, world);
            }
            let answer = ConfigQuery { request, world, config: attempt.config };
            answer.trace(output);
            if let Some(error) = &attempt.error {
                output.err.extend_from_slice(&error.reference_text());
                return Err(error.status);
            }
            for warning in &attempt.warnings {
                output.write_err_line(&warning.text);
            }
            if request.sources {
                answer.print_sources(output);
            }
            Ok(answer)
        };
        if let Some(extra) = &request.reconfig {
            let first = answer(attempt, output)?;
            if request.stats {
                first.print_stats(output);
            }
            options.extra_local_file = Some(extra.clone());
            attempt = Config::load_partially(world, &context, &options);
            if request.sources {
                output.write_out_line(&[b"Reconfig with ", extra, b" appended"]);
            }
            return answer(attempt, output);
        }
        answer(attempt, output)
    }

    fn view(&self) -> ConfigView<'_> {
        self.config.view(self.world)
    }

    /// Handles `-trace`: prints each definition that replaces an earlier one of the same name.
    fn trace(&self, output: &mut ToolOutput) {
        if !self.request.trace {
            return;
        }
        let names: Vec<BString> = self.request.requested.iter().map(RequestedName::text).collect();
        let mut patterns = Vec::new();
        if self.request.dump {
            for name in &names {
                match Regex::compile(name, RegexOptions::CASELESS) {
                    Ok(regex) => patterns.push(regex),
                    Err(error) => output.write_err_line(format!(
                        "warning: failed to compile trace pattern '{name}' (PCRE2 error {} at offset {}); ignoring it.",
                        error.code, error.offset
                    )),
                }
            }
        }
        let wanted = |name: &[u8]| {
            self.request.trace_all
                || names.iter().any(|known| caseless::eq(known, name))
                || patterns.iter().any(|regex| regex.is_match(name).unwrap_or(false))
        };
        for ValueReplacement { name, old_raw: was, place } in
            self.config.set.replacements().iter().filter(|one| {
                wanted(&one.name) && !(self.request.trace_all && one.place.source == SourceId::DETECTED)
            })
        {
            output.write_out_line(&[b" # trace: ", name]);
            output.write_out_line(&[b"  # was: ", was]);
            output.write_out_line(&[b"  # set at: ", &self.config.set.describe_place(place)]);
        }
    }

    /// Handles `-config`: prints the files that were read.
    fn print_sources(&self, output: &mut ToolOutput) {
        // The tool writes the headings to standard error, so they may appear after the names of all files.
        let is_native = self.request.native_headings;
        let heading = |output: &mut ToolOutput, text: &str| match is_native {
            true => output.write_out_line(&[text.as_bytes()]),
            false => output.write_err_line(text),
        };
        heading(output, "Configuration source:");
        output.write_out_line(&[b"\t", self.config.root.as_deref().map_or(b"", |root| &root[..])]);
        let local = &self.config.local_sources;
        if !local.is_empty() {
            let text = match local.len() {
                1 => "Local configuration source:",
                _ => "Local configuration sources:",
            };
            heading(output, text);
            for source in local {
                output.write_out_line(&[b"\t", source]);
            }
            if !is_native {
                output.write_err_line("");
            }
        }
    }

    /// Handles `-check-if`, `-summary` and `-writeconfig`, which the tool answers before it looks up daemons. Returns the exit
    /// status if the request is one of these.
    pub(super) fn run_before_daemons(&mut self, output: &mut ToolOutput) -> Option<u8> {
        if let Some(condition) = &self.request.check_if {
            let view = self.view();
            let mut messages = Vec::new();
            let result = condition::test_condition(condition, &view, self.world, &mut |message| {
                messages.push(message)
            });
            for message in messages {
                output.write_err_line(message.to_string());
            }
            let (verdict, more) = match &result {
                Ok(true) => ("ok", "\ntrue".to_owned()),
                Ok(false) => ("ok", "\nfalse".to_owned()),
                Err(error) => ("not supported", error.to_string()),
            };
            output.write_out_line(&[b"# ", verdict.as_bytes(), b": \"", condition, b"\" ", more.as_bytes()]);
            return Some(0);
        }
        if let Some((file, filter)) = &self.request.write {
            let text = write_config::write_text(&self.config.set, *filter, self.world);
            if file == "-" {
                output.out.extend_from_slice(&text);
            } else if self.world.write_file(Path::new(OsStr::from_bytes(file)), &text).is_err() {
                output.write_err_line(format!("Failed to create configuration file {file}."));
                return Some(2);
            }
        }
        None
    }

    /// Handles `-dump` and `-stats`, which end the tool. Returns the exit status if the request is one of these.
    pub(super) fn run_dump_or_stats(&mut self, output: &mut ToolOutput) -> Option<u8> {
        if self.request.dump {
            self.dump(output);
            if self.request.stats {
                self.print_stats(output);
            }
            return Some(0);
        }
        if self.request.stats {
            self.print_stats(output);
            return Some(0);
        }
        None
    }

    /// Prints the requested names. Returns the exit status, which is 1 if a name is not defined.
    pub(super) fn print_names(&mut self, output: &mut ToolOutput) -> u8 {
        let mut undefined = false;
        let view = self.view();
        for asked in &self.request.requested {
            match (asked, self.request.expand_text) {
                (RequestedName::Template(text), _) => {
                    let (text, warning) =
                        use_template::render_template(text, self.request.expanded, self.request.verbose);
                    if let Some(warning) = warning {
                        output.write_err_line(warning);
                    }
                    output.out.extend_from_slice(&text);
                }
                (RequestedName::Name(text), Some(is_path)) => {
                    self.expand_text(text.as_ref(), is_path, &view, output)
                }
                (RequestedName::Name(name), None) => undefined |= !self.print_name(name, &view, output),
            }
        }
        u8::from(undefined && !self.request.info)
    }

    /// Handles `-macro`: prints a text with its macros expanded.
    fn expand_text(&self, text: &BStr, is_path: bool, view: &ConfigView<'_>, output: &mut ToolOutput) {
        let mut messages = Vec::new();
        let result = expand::expand_text(text, view, self.world, &mut |message| messages.push(message));
        for message in messages {
            output.write_err_line(message.to_string());
        }
        let (mut shown, mask) = match result {
            Ok(expansion) => (expansion.text, expansion.non_empty),
            Err(error) => {
                output.write_err_line(format!("{text}: {error}"));
                (text.into(), 0)
            }
        };
        if is_path {
            shown = collapse_slashes(&shown);
        }
        if self.request.verbose {
            output.write_out_line(&[text, b" expands to: ", &shown]);
            output.write_out_line(&[format!(" # exist: 0x{mask:X}").as_bytes()]);
        } else {
            output.write_out_line(&[&shown]);
        }
    }

    /// Prints the value of one name; returns false if the name is not defined.
    fn print_name(&self, name: &BString, view: &ConfigView<'_>, output: &mut ToolOutput) -> bool {
        let request = self.request;
        let found = self.config.set.find_for_display(name, &self.config.context, self.world);
        let shown = match &found {
            Some(found) => BString::from(self.display_name(found, name).into_owned()),
            None => name.to_ascii_uppercase().into(),
        };
        let before = found.as_ref().map(|found| self.config.set.use_count(found)).unwrap_or_default();
        let mut raw_line: Option<BString> = None;
        let value: Option<BString> = match &found {
            Some(found) if request.default => {
                default_of_entry(found).map(|default| default.into_owned().into())
            }
            Some(found) if request.raw => Some(found.raw().into_owned().into()),
            Some(found) => {
                raw_line = Some([&shown[..], b" = ", &found.raw()].concat().into());
                self.expanded_value(view, &shown, output)
            }
            None => None,
        };
        let uses = found.as_ref().map(|found| self.use_count_after(found, before));
        match &value {
            None => output.write_err_line(format!("Not defined: {shown}")),
            Some(value) if request.verbose => {
                output.write_out_line(&[
                    &shown,
                    b" ",
                    &statement_text::format_assignment(value, value.contains(&b'\n'), "   "),
                ]);
            }
            Some(value) => output.write_out_line(&[value]),
        }
        if request.verbose {
            if let Some(found) = &found {
                self.describe(&shown, output);
                output.write_out_line(&[b" # at: ", &self.location_text(found)]);
            }
            if let Some(raw) = raw_line {
                let raw =
                    if raw.contains(&b'\n') { statement_text::indent_lines(&raw, " #   ") } else { raw };
                output.write_out_line(&[b" # raw: ", &raw]);
            }
            if let Some(kind) = request.as_type {
                self.print_as_type(name, kind, view, output);
            }
            if let Some(parameter) =
                found.as_ref().and_then(general_parameter_of_found).filter(|_| request.info)
            {
                print_parameter(parameter, output);
            }
            if let Some(uses) = uses.filter(|_| request.use_counts) {
                output.write_out_line(&[b" # use_count: ", uses.to_string().as_bytes()]);
            }
            output.write_out_line(&[]);
        }
        value.is_some()
    }

    /// Prints possible reasons why a name has no value, unless it has one.
    pub(super) fn explain_undefined(&self, name: &BString, output: &mut ToolOutput) {
        let view = self.view();
        let mut text = String::new();
        match view.raw_bytes(name) {
            Some(raw) if raw.is_empty() => {
                let place = self.config.set.find(name, &self.config.context, self.world);
                let place = place.map(|found| self.location_text(&found)).unwrap_or_default();
                if place != "<Default>" {
                    output.write_err_line(format!(
                        "  {name} is set to nothing at {place}; its default is hidden"
                    ));
                }
                return;
            }
            Some(raw) => {
                if matches!(view.expand_raw(name, &raw), Ok(value) if value.is_empty()) {
                    output
                        .write_err_line(format!("  its raw value '{}' expands to nothing", BStr::new(&raw)));
                }
                return;
            }
            None => super::why::push_hints(
                &value_explanation::suggest_names(name.as_ref(), &self.config),
                &mut text,
            ),
        }
        output.err.extend_from_slice(text.as_bytes());
    }

    /// Returns the expanded value of a name. Errors are printed.
    fn expanded_value(&self, view: &ConfigView<'_>, name: &[u8], output: &mut ToolOutput) -> Option<BString> {
        let _reading = self.config.set.set_lookup_purpose(LookupPurpose::Parameter);
        let raw = view.raw_bytes(name)?;
        let mut messages = Vec::new();
        let mut report = |message| messages.push(message);
        let value =
            expand::Expander::new(view, self.world, &mut report).for_value_of(name).expand_file_mode(&raw);
        for message in messages {
            output.write_err_line(message.to_string());
        }
        match value {
            Ok(value) => Some(value).filter(|value| !value.is_empty()),
            Err(error) => {
                output.write_err_line(format!("{}: {error}", BStr::new(name)));
                None
            }
        }
    }

    fn location_text(&self, found: &FoundMacro<'_>) -> BString {
        match found {
            FoundMacro::Set(entry) => self.config.set.describe_place(&entry.current.place),
            FoundMacro::Detected { .. } => "<Detected>".into(),
            FoundMacro::Default(_) => "<Default>".into(),
        }
    }

    /// Returns the name of an entry in the form for output. For a default of a subsystem, the name includes the
    /// subsystem as it was given, although only the part before its first dot selects the default.
    fn display_name<'f>(&self, found: &FoundMacro<'f>, requested: &[u8]) -> Cow<'f, [u8]> {
        match found {
            FoundMacro::Default(parameter)
                if parameter.subsystem().is_some() && !requested.contains(&b'.') =>
            {
                let mut name = self.config.context.subsystem.to_ascii_uppercase();
                name.push(b'.');
                name.extend_from_slice(parameter.name());
                Cow::Owned(name)
            }
            found => found.display_name(),
        }
    }

    /// Prints `# description:` of `-info`, for parameters that have a description in the tool. The texts are not those of the
    /// tool.
    fn describe(&self, name: &[u8], output: &mut ToolOutput) {
        if self.request.info
            && let Some(known) = descriptions::find_description(name).filter(|known| known.in_table)
        {
            output.write_out_line(&[b" # description: ", known.text.as_bytes()]);
        }
    }

    /// Returns the use count of an entry for output. `before` is the count before the lookup: the tool reads the count of a
    /// setting when it prints it, and that of a default when it finds it.
    fn use_count_after(&self, found: &FoundMacro<'_>, before: EntryUses) -> EntryUses {
        match found {
            FoundMacro::Default(_) => before,
            _ => self.config.set.use_count(found),
        }
    }

    /// Prints `# eval:`, which shows the default for all types except bool (`condor_config_val.cpp`, `print_as_type`).
    fn print_as_type(
        &self,
        name: &[u8],
        kind: ParameterType,
        view: &ConfigView<'_>,
        output: &mut ToolOutput,
    ) {
        let parameter = defaults::find_qualified(name);
        let number = parameter.and_then(|parameter| config_view::table_default_number(parameter, self.world));
        let valid = if number.is_some() { "valid" } else { "invalid" };
        let value = number.unwrap_or(0);
        let line = match kind {
            ParameterType::Bool => {
                let truth = match view.boolean(&name.to_str_lossy()) {
                    Ok(setting) => setting.map_or(value != 0, |setting| setting.value),
                    Err(error) => {
                        output.write_err_line(format!(
                            "ERROR \"{error}\" at line 2659 in file condor_config.cpp"
                        ));
                        error.fallback == b"true"[..]
                    }
                };
                format!(" # eval: {truth} def={} ({valid})", u8::from(value != 0))
            }
            ParameterType::Long => format!(" # eval: {value} ({valid} long)"),
            ParameterType::Double => {
                let real = parameter
                    .filter(|parameter| parameter.parameter_type() == ParameterType::Double)
                    .and_then(Parameter::explicit_default)
                    .map(|default| evaluate::to_real(&default, self.world).unwrap_or(0.0));
                let valid = if real.is_some() { "valid" } else { valid };
                let shown = crate::text::printf::format_general_upper(real.unwrap_or(value as f64), 16)
                    .to_lowercase();
                format!(" # eval: {shown} ({valid})")
            }
            _ => {
                let clamped = value.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
                let is_long = number.is_some()
                    && parameter.is_some_and(|it| it.parameter_type() == ParameterType::Long);
                format!(" # eval: {clamped} ({valid}{})", if is_long { ", long" } else { "" })
            }
        };
        output.write_out_line(&[line.as_bytes()]);
    }
}

/// Returns the default of an entry, or `None` if the table of defaults has none.
fn default_of_entry<'a>(found: &FoundMacro<'a>) -> Option<Cow<'a, [u8]>> {
    let parameter = match found {
        // A name with the prefix of a subsystem has only the default of that subsystem.
        FoundMacro::Set(entry) => match memchr::memchr(b'.', &entry.name) {
            Some(dot) => defaults::find_in_subsystem(&entry.name[..dot], &entry.name[dot + 1..]),
            None => defaults::find(&entry.name),
        },
        other => parameter_of_found(other),
    };
    parameter.and_then(Parameter::explicit_default)
}

/// Returns the parameter in the table of defaults that belongs to an entry, or `None`.
fn parameter_of_found(found: &FoundMacro<'_>) -> Option<Parameter> {
    match found {
        FoundMacro::Set(entry) => entry.parameter,
        FoundMacro::Detected { name, .. } => defaults::find(name),
        FoundMacro::Default(parameter) => Some(*parameter),
    }
}

/// Returns the parameter without a subsystem that belongs to an entry, or `None`.
fn general_parameter_of_found(found: &FoundMacro<'_>) -> Option<Parameter> {
    match parameter_of_found(found)? {
        special if special.subsystem().is_some() => defaults::find(special.name()),
        general => Some(general),
    }
}

/// Prints the properties of a parameter (`-info`).
fn print_parameter(parameter: Parameter, output: &mut ToolOutput) {
    if parameter.has_flag("restart") {
        output.write_out_line(&[b" # restart required : true"]);
    } else if parameter.has_flag("no-reconfig") {
        output.write_out_line(&[b" # restart required : loaded when job starts."]);
    }
    let kind = parameter.parameter_type();
    if parameter.has_flag("const") {
        let name = if kind == ParameterType::String { "true" } else { kind.name() };
        output.write_out_line(&[b" # constant : ", name.as_bytes()]);
    } else {
        let range = parameter.range().map(|(min, max)| {
            let shown = |bound: &[u8]| match kind {
                ParameterType::Double => real_bound(bound),
                _ => bound.to_str_lossy().into_owned(),
            };
            format!(" from {} to {}", shown(min), shown(max))
        });
        if kind != ParameterType::String || range.is_some() {
            let range = range.unwrap_or_default();
            output.write_out_line(&[b" # expected values : ", kind.name().as_bytes(), range.as_bytes()]);
        }
    }
    if !parameter.readers().is_empty() {
        output.write_out_line(&[b" # used by: ", parameter.readers()]);
    }
}

/// Formats the limit of a real parameter as `%g` does.
fn real_bound(bound: &[u8]) -> String {
    let bound = bound.to_str_lossy();
    let value = match bound.as_ref() {
        "DBL_MAX" => f64::MAX,
        "DBL_MIN" => f64::MIN_POSITIVE,
        text => text.parse().unwrap_or(0.0),
    };
    crate::text::printf::format_general_lower(value, 6)
}

/// Replaces double slashes by single ones, for `-macro:path`. As in the reference, only one byte is removed from the end of the
/// text (`config.cpp`, `config_canonicalize_path`).
fn collapse_slashes(text: &[u8]) -> BString {
    let start = usize::from(text.first() == Some(&b'/'));
    let doubled = |at: &usize| *at > start && text[*at] == b'/' && text[at - 1] == b'/';
    let Some(first) = (start..text.len()).find(doubled) else {
        return text.into();
    };
    let mut out = text.to_vec();
    let mut to = first;
    let mut last = 0;
    for &byte in &text[first + 1..] {
        if byte != b'/' || last != b'/' {
            out[to] = byte;
            to += 1;
        }
        last = byte;
    }
    out.remove(to);
    out.into()
}
