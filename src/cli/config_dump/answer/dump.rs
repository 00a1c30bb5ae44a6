//! `-dump` and `-summary`: the whole configuration (`condor_config_val.cpp`, `do_dump_config_handler`).

use bstr::{BStr, BString};

use crate::classad::regex::{Options as RegexOptions, Regex};
use crate::cli::config_dump::answer::{Answer, Output, default_of, general_parameter, print_parameter};
use crate::cli::config_dump::request::Asked;
use crate::config::defaults::SubsystemDefaults;
use crate::config::defaults::{self, ParameterType};
use crate::config::macro_set::{Found, SourceId};
use crate::config::rows::{self, Kind, Row};
use crate::config::string_pool::StringPool;
use crate::config::use_counts::{Reading, Uses};
use crate::config::{View, Who, print};

impl Answer<'_> {
    pub(super) fn dump(&self, output: &mut Output) {
        let view = self.view();
        let host = self.value(&view, b"FULL_HOSTNAME", output);
        let host = host.unwrap_or_else(|| "<unknown hostname>".into());
        output.line(&[b"# Configuration from machine: ", &host]);
        let mut patterns: Vec<BString> = self.request.asked.iter().map(Asked::text).collect();
        if patterns.is_empty() {
            if self.request.both {
                self.dump_both(&view, output);
            } else {
                patterns.push(BString::default());
            }
        }
        let rows =
            if patterns.is_empty() { Vec::new() } else { rows::merged(&self.config.set, self.world, false) };
        let defaults = SubsystemDefaults::of(&self.config.who.subsystem);
        for pattern in patterns {
            if !pattern.is_empty() {
                output.line(&[b"\n# Parameters with names that match ", &pattern, b":"]);
            }
            let Ok(regex) = Regex::compile(&pattern, RegexOptions::CASELESS) else {
                continue;
            };
            if self.request.used.is_some() {
                self.read_all(&rows, &view, output);
            }
            for row in &rows {
                if pattern.is_empty() || regex.is_match(&row.name).unwrap_or(false) {
                    self.dump_row(row, &view, &defaults, output);
                }
            }
        }
        if !self.request.verbose {
            output.line(&[b"# Contributing configuration file(s):"]);
            for source in self.config.root.iter().chain(&self.config.local_sources) {
                output.line(&[b"#\t", source]);
            }
        }
    }

    fn dump_row(&self, row: &Row<'_>, view: &View<'_>, defaults: &SubsystemDefaults, output: &mut Output) {
        let request = self.request;
        let name: &[u8] = &row.name;
        let found = match row.kind {
            // The list says already that no source sets it.
            Kind::Default(parameter) => {
                let special = self.config.set.find_prefixed(name, &self.config.who, defaults);
                special.unwrap_or(Found::Default(parameter))
            }
            _ => match self.config.set.find_shown(name, &self.config.who, self.world) {
                Some(found) => found,
                None => return,
            },
        };
        let before = self.config.set.uses(&found);
        if request.used.is_some_and(|wanted| wanted != before.is_used()) {
            return;
        }
        let raw = found.raw();
        let is_block = raw.contains(&b'\n');
        let default = if request.default || request.verbose { default_of(&found) } else { None };
        if request.default {
            let default = default.clone().unwrap_or_default();
            let shown = print::assignment(&default, default.contains(&b'\n'), "   ");
            output.line(&[name, b" ", &shown]);
        } else if request.expanded {
            let value = self.value(view, name, output).unwrap_or_default();
            output.line(&[name, b" ", &print::assignment(&value, is_block, "   ")]);
        } else {
            let name = self.shown_name(&found, name);
            if is_block {
                output.line(&[&name, b" ", &print::assignment(&raw, true, "   ")]);
            } else {
                output.line(&[&name, b" = ", &raw]);
            }
        }
        if !request.verbose {
            return;
        }
        let parameter = general_parameter(&found).filter(|_| request.info);
        self.describe(name, output);
        output.line(&[b" # at: ", &self.location(&found)]);
        let as_block = |text: &[u8], is_block: bool| -> BString {
            if is_block { print::block(text, " #     ") } else { text.into() }
        };
        if request.expanded {
            output.line(&[b" # raw: ", &as_block(&raw, is_block)]);
        } else {
            let value = self.value(view, name, output).unwrap_or_default();
            output.line(&[b" # expanded: ", &as_block(&value, is_block)]);
        }
        if let Some(default) = default {
            output.line(&[b" # default: ", &as_block(&default, default.contains(&b'\n'))]);
        }
        if let Some(parameter) = parameter {
            print_parameter(parameter, output);
        }
        if request.use_counts {
            output.line(&[b" # use_count: ", self.uses_after(&found, before).to_string().as_bytes()]);
        }
    }

    /// Reads every parameter for what it refers to, since the tool itself has little use for any (`config_val.cpp`,
    /// `add_ref_callback`): the count of the parameter that is read stays as it was.
    fn read_all(&self, rows: &[Row<'_>], view: &View<'_>, output: &mut Output) {
        for row in rows {
            let found = match row.kind {
                Kind::Set(entry) => {
                    let source = entry.current.place.source;
                    let is_special = SourceId::OVERLAY.number() >= source.number();
                    if !is_special || entry.parameter.is_none() {
                        continue;
                    }
                    Found::Set(entry)
                }
                Kind::Detected if defaults::find(&row.name).is_none() => continue,
                Kind::Detected => Found::Detected { name: &row.name, value: BStr::new(&row.raw) },
                Kind::Default(parameter) => Found::Default(parameter),
            };
            let before = self.config.set.uses(&found);
            self.value(view, &row.name, output);
            self.config.set.put_back(&found, before);
        }
    }

    /// Where an entry of the tables stands.
    fn place(&self, kind: Kind<'_>) -> String {
        match kind {
            Kind::Set(entry) => {
                let place = &entry.current.place;
                let source = &self.config.set.source(place.source).name;
                match place.line {
                    Some(line) => format!("{source}, line {line}"),
                    None => source.to_string(),
                }
            }
            Kind::Detected => "<Detected>".to_owned(),
            Kind::Default(parameter) => format!("<Default>, item {}", parameter.index()),
        }
    }

    /// `-dump -verbose:both`: the entries of both tables one by one.
    fn dump_both(&self, view: &View<'_>, output: &mut Output) {
        let mut count = 0;
        // Values are expanded as for nobody, and that does not count.
        let plain = View::new(&self.config.set, Who::default(), self.world);
        for row in rows::merged(&self.config.set, self.world, true) {
            let (parameter, found) = match row.kind {
                Kind::Set(entry) => (entry.parameter, Found::Set(entry)),
                Kind::Detected => {
                    let found = Found::Detected { name: &row.name, value: BStr::new(&row.raw) };
                    (defaults::find(&row.name), found)
                }
                Kind::Default(parameter) => (Some(parameter), Found::Default(parameter)),
            };
            let before = self.config.set.uses(&found);
            if self.request.used == Some(true) && before == Uses::default() {
                continue;
            }
            // The type is kept with the default; without one it is not known.
            let kind = match parameter.filter(|parameter| parameter.explicit_default().is_some()) {
                Some(parameter) => parameter.kind(),
                None => ParameterType::String,
            };
            let is_long = |wanted| wanted == ParameterType::Int && kind == ParameterType::Long;
            if self.request.as_type.is_some_and(|wanted| wanted != kind && !is_long(wanted)) {
                continue;
            }
            count += 1;
            output.line(&[&row.name, b" = ", &row.raw]);
            if !self.request.verbose {
                continue;
            }
            output.line(&[b" # at: ", self.place(row.kind).as_bytes()]);
            if !row.raw.is_empty() {
                let _reading = self.config.set.reading(Reading::Nothing);
                if let Ok(value) = plain.expand(&row.raw) {
                    output.line(&[b" # expanded: ", &value]);
                }
            }
            if self.request.types {
                let name = if kind == ParameterType::Path { "STRING" } else { kind.name() };
                output.line(&[b" # type: ", name.as_bytes()]);
            }
            if let Some(kind) = self.request.as_type {
                self.print_as_type(&row.name, kind, view, output);
            }
            output.line(&[b" # use_count: ", self.uses_after(&found, before).to_string().as_bytes()]);
        }
        output.line(&[format!("{count} items").as_bytes()]);
    }

    pub(super) fn print_stats(&self, output: &mut Output) {
        // What the reference's own entry takes: name, value and what is known about them.
        const ENTRY: usize = 36;
        let rows = rows::table(&self.config.set, self.world);
        let pool = self.config.set.string_pool();
        let (used, referenced) = self.config.set.used_entries();
        let sources = self.config.set.sources().len();
        let lines = [
            ("Macros", rows.len()),
            ("Used", used),
            ("Referenced", referenced),
            ("Files", sources),
            ("StringBytes", pool.map_or(0, StringPool::bytes)),
            ("TablesBytes", rows.len() * ENTRY + sources * 8),
            ("IsSorted", rows.len()),
        ];
        for (name, value) in lines {
            output.line(&[format!("{name} = {value}").as_bytes()]);
        }
        if self.request.verbose {
            output.line(&[b"\nSources -----"]);
            for source in self.config.set.sources() {
                output.line(&[&source.name]);
            }
        }
        if self.request.strings {
            output.line(&[b"\nStrings -----"]);
            for text in pool.into_iter().flat_map(StringPool::texts) {
                output.line(&[text]);
            }
            output.line(&[]);
        }
    }
}
