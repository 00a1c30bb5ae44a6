//! `-dump` and `-summary`: prints the whole configuration (`condor_config_val.cpp`, `do_dump_config_handler`).

use bstr::{BStr, BString};

use crate::classad::regex::{Regex, RegexOptions};
use crate::cli::config_dump::config_query::{
    ConfigQuery, ToolOutput, default_of_entry, general_parameter_of_found, print_parameter,
};
use crate::cli::config_dump::config_request::RequestedName;
use crate::config::defaults::SubsystemDefaults;
use crate::config::defaults::{self, ParameterType};
use crate::config::macro_definition::{FoundMacro, SourceId};
use crate::config::parameter_rows::{self, ParameterRow, RowKind};
use crate::config::string_pool::StringPool;
use crate::config::use_counts::{EntryUses, LookupPurpose};
use crate::config::{ConfigView, LookupContext, statement_text};

impl ConfigQuery<'_> {
    pub(super) fn dump(&self, output: &mut ToolOutput) {
        let view = self.view();
        let host = self.expanded_value(&view, b"FULL_HOSTNAME", output);
        let host = host.unwrap_or_else(|| "<unknown hostname>".into());
        output.write_out_line(&[b"# Configuration from machine: ", &host]);
        let mut patterns: Vec<BString> = self.request.requested.iter().map(RequestedName::text).collect();
        if patterns.is_empty() {
            if self.request.both {
                self.dump_both(&view, output);
            } else {
                patterns.push(BString::default());
            }
        }
        let rows = if patterns.is_empty() {
            Vec::new()
        } else {
            parameter_rows::rows_with_defaults(&self.config.set, self.world, false)
        };
        let defaults = SubsystemDefaults::for_subsystem(&self.config.context.subsystem);
        for pattern in patterns {
            if !pattern.is_empty() {
                output.write_out_line(&[b"\n# Parameters with names that match ", &pattern, b":"]);
            }
            let Ok(regex) = Regex::compile(&pattern, RegexOptions::CASELESS) else {
                continue;
            };
            if self.request.used.is_some() {
                self.read_all(&rows, &view, output);
            }
            for row in &rows {
                if pattern.is_empty() || regex.is_match(&**row.name).unwrap_or(false) {
                    self.dump_row(row, &view, &defaults, output);
                }
            }
        }
        if !self.request.verbose {
            output.write_out_line(&[b"# Contributing configuration file(s):"]);
            for source in self.config.root.iter().chain(&self.config.local_sources) {
                output.write_out_line(&[b"#\t", source]);
            }
        }
    }

    fn dump_row(
        &self,
        row: &ParameterRow<'_>,
        view: &ConfigView<'_>,
        defaults: &SubsystemDefaults,
        output: &mut ToolOutput,
    ) {
        let request = self.request;
        let name: &[u8] = &row.name;
        let found = match row.kind {
            // A row of this kind exists only if no source sets the parameter.
            RowKind::Default(parameter) => {
                let special = self.config.set.find_prefixed(name, &self.config.context, defaults);
                special.unwrap_or(FoundMacro::Default(parameter))
            }
            _ => match self.config.set.find_for_display(name, &self.config.context, self.world) {
                Some(found) => found,
                None => return,
            },
        };
        let before = self.config.set.use_count(&found);
        if request.used.is_some_and(|wanted| wanted != before.is_used()) {
            return;
        }
        let raw = found.raw();
        let is_block = raw.contains(&b'\n');
        let default = if request.default || request.verbose { default_of_entry(&found) } else { None };
        if request.default {
            let default = default.clone().unwrap_or_default();
            let shown = statement_text::format_assignment(&default, default.contains(&b'\n'), "   ");
            output.write_out_line(&[name, b" ", &shown]);
        } else if request.expanded {
            let value = self.expanded_value(view, name, output).unwrap_or_default();
            output.write_out_line(&[name, b" ", &statement_text::format_assignment(&value, is_block, "   ")]);
        } else {
            let name = self.display_name(&found, name);
            if is_block {
                output.write_out_line(&[&name, b" ", &statement_text::format_assignment(&raw, true, "   ")]);
            } else {
                output.write_out_line(&[&name, b" = ", &raw]);
            }
        }
        if !request.verbose {
            return;
        }
        let parameter = general_parameter_of_found(&found).filter(|_| request.info);
        self.describe(name, output);
        output.write_out_line(&[b" # at: ", &self.location_text(&found)]);
        let as_block = |text: &[u8], is_block: bool| -> BString {
            if is_block { statement_text::indent_lines(text, " #     ") } else { text.into() }
        };
        if request.expanded {
            output.write_out_line(&[b" # raw: ", &as_block(&raw, is_block)]);
        } else {
            let value = self.expanded_value(view, name, output).unwrap_or_default();
            output.write_out_line(&[b" # expanded: ", &as_block(&value, is_block)]);
        }
        if let Some(default) = default {
            output.write_out_line(&[b" # default: ", &as_block(&default, default.contains(&b'\n'))]);
        }
        if let Some(parameter) = parameter {
            print_parameter(parameter, output);
        }
        if request.use_counts {
            output.write_out_line(&[
                b" # use_count: ",
                self.use_count_after(&found, before).to_string().as_bytes(),
            ]);
        }
    }

    /// Expands every parameter to count the references to other parameters, because the tool itself reads few parameters
    /// (`config_val.cpp`, `add_ref_callback`). The use count of the expanded parameter does not change.
    fn read_all(&self, rows: &[ParameterRow<'_>], view: &ConfigView<'_>, output: &mut ToolOutput) {
        for row in rows {
            let found = match row.kind {
                RowKind::Set(entry) => {
                    let source = entry.current.place.source;
                    let is_special = SourceId::OVERLAY.number() >= source.number();
                    if !is_special || entry.parameter.is_none() {
                        continue;
                    }
                    FoundMacro::Set(entry)
                }
                RowKind::Detected if defaults::find(&row.name).is_none() => continue,
                RowKind::Detected => FoundMacro::Detected { name: &row.name, value: BStr::new(&row.raw) },
                RowKind::Default(parameter) => FoundMacro::Default(parameter),
            };
            let before = self.config.set.use_count(&found);
            self.expanded_value(view, &row.name, output);
            self.config.set.restore_use_count(&found, before);
        }
    }

    /// Returns the location of a setting or default.
    fn entry_place(&self, kind: RowKind<'_>) -> String {
        match kind {
            RowKind::Set(entry) => {
                let place = &entry.current.place;
                let source = &self.config.set.source(place.source).name;
                match place.line {
                    Some(line) => format!("{source}, line {line}"),
                    None => source.to_string(),
                }
            }
            RowKind::Detected => "<Detected>".to_owned(),
            RowKind::Default(parameter) => format!("<Default>, item {}", parameter.index()),
        }
    }

    /// Handles `-dump -verbose:both`: prints the entries of both tables, settings and defaults.
    fn dump_both(&self, view: &ConfigView<'_>, output: &mut ToolOutput) {
        let mut count = 0;
        // Values are expanded without a subsystem, and without counting uses.
        let plain = ConfigView::new(&self.config.set, LookupContext::default(), self.world);
        for row in parameter_rows::rows_with_defaults(&self.config.set, self.world, true) {
            let (parameter, found) = match row.kind {
                RowKind::Set(entry) => (entry.parameter, FoundMacro::Set(entry)),
                RowKind::Detected => {
                    let found = FoundMacro::Detected { name: &row.name, value: BStr::new(&row.raw) };
                    (defaults::find(&row.name), found)
                }
                RowKind::Default(parameter) => (Some(parameter), FoundMacro::Default(parameter)),
            };
            let before = self.config.set.use_count(&found);
            if self.request.used == Some(true) && before == EntryUses::default() {
                continue;
            }
            // The type of a parameter is stored with its default, so that the type is unknown if there is no default.
            let kind = match parameter.filter(|parameter| parameter.explicit_default().is_some()) {
                Some(parameter) => parameter.parameter_type(),
                None => ParameterType::String,
            };
            let is_long = |wanted| wanted == ParameterType::Int && kind == ParameterType::Long;
            if self.request.as_type.is_some_and(|wanted| wanted != kind && !is_long(wanted)) {
                continue;
            }
            count += 1;
            output.write_out_line(&[&row.name, b" = ", &row.raw]);
            if !self.request.verbose {
                continue;
            }
            output.write_out_line(&[b" # at: ", self.entry_place(row.kind).as_bytes()]);
            if !row.raw.is_empty() {
                let _reading = self.config.set.set_lookup_purpose(LookupPurpose::Uncounted);
                if let Ok(value) = plain.expand(&row.raw) {
                    output.write_out_line(&[b" # expanded: ", &value]);
                }
            }
            if self.request.types {
                let name = if kind == ParameterType::Path { "STRING" } else { kind.name() };
                output.write_out_line(&[b" # type: ", name.as_bytes()]);
            }
            if let Some(kind) = self.request.as_type {
                self.print_as_type(&row.name, kind, view, output);
            }
            output.write_out_line(&[
                b" # use_count: ",
                self.use_count_after(&found, before).to_string().as_bytes(),
            ]);
        }
        output.write_out_line(&[format!("{count} items").as_bytes()]);
    }

    pub(super) fn print_stats(&self, output: &mut ToolOutput) {
        // Size in bytes of an entry in the reference: pointers to name and value, and metadata.
        const ENTRY_BYTES: usize = 36;
        let rows = parameter_rows::set_and_detected_rows(&self.config.set, self.world);
        let pool = self.config.set.string_pool();
        let (used, referenced) = self.config.set.count_used_entries();
        let sources = self.config.set.sources().len();
        let lines = [
            ("Macros", rows.len()),
            ("Used", used),
            ("Referenced", referenced),
            ("Files", sources),
            ("StringBytes", pool.map_or(0, StringPool::total_bytes)),
            ("TablesBytes", rows.len() * ENTRY_BYTES + sources * 8),
            ("IsSorted", rows.len()),
        ];
        for (name, value) in lines {
            output.write_out_line(&[format!("{name} = {value}").as_bytes()]);
        }
        if self.request.verbose {
            output.write_out_line(&[b"\nSources -----"]);
            for source in self.config.set.sources() {
                output.write_out_line(&[&source.name]);
            }
        }
        if self.request.strings {
            output.write_out_line(&[b"\nStrings -----"]);
            for text in pool.into_iter().flat_map(StringPool::texts) {
                output.write_out_line(&[text]);
            }
            output.write_out_line(&[]);
        }
    }
}
