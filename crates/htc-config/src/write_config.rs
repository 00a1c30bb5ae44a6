//! Writes a configuration as `condor_config_val -writeconfig` and `-summary` do (`config_val.cpp`,
//! `do_write_config`).

use bstr::{BString, ByteSlice};

use crate::macro_definition::SourceId;
use crate::macro_set::MacroSet;
use crate::parameter_rows::{ParameterRow, RowKind, rows_with_defaults};
use crate::statement_text::{format_assignment, indent_lines};
use crate::template;
use crate::version::VERSION_LINE;
use htc_base::text::caseless;
use htc_base::world::World;

/// Selection and format of the entries that `-writeconfig` and `-summary` show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct RowFilter {
    /// Show only the kinds selected below.
    pub only: bool,
    /// Show compiled-in defaults and detected values.
    pub defaults: bool,
    /// Show settings equal to their defaults.
    pub matches_default: bool,
    /// Show detected values.
    pub detected: bool,
    /// Show variables of the environment.
    pub environment: bool,
    /// Show defaults hidden by settings, too.
    pub duplicates: bool,
    /// Show the location after each setting.
    pub source: bool,
    /// Comment out defaults.
    pub comment_defaults: bool,
    /// Comment out settings equal to their defaults.
    pub comment_matches: bool,
    /// Comment out detected values.
    pub comment_detected: bool,
    /// Comment out variables of the environment.
    pub comment_environment: bool,
    /// Print a first line with the version.
    pub version: bool,
    /// Print one list, sorted by name.
    pub sort: bool,
    /// Omit settings that upgrades made obsolete.
    pub upgrade: bool,
}

impl RowFilter {
    /// Returns the selection that `-summary` shows.
    pub fn for_summary() -> Self {
        RowFilter { version: true, upgrade: true, ..RowFilter::default() }
    }

    /// Returns true if any kind other than files is selected.
    pub fn has_kind_filter(&self) -> bool {
        self.defaults || self.matches_default || self.detected || self.environment || self.duplicates
    }
}

/// The lists of names and settings that upgrades made obsolete.
struct ObsoleteSettings {
    names: Vec<BString>,
    settings: Vec<BString>,
}

impl ObsoleteSettings {
    fn new() -> Self {
        let lines = |names: [&str; 2]| {
            let mut lines = Vec::new();
            for name in names {
                if let Some(found) = template::find(b"UPGRADE", name.as_bytes()) {
                    let body = found.body();
                    lines.extend(body.lines().map(|line| BString::from(line.trim())));
                }
            }
            lines.retain(|line| !line.is_empty());
            lines
        };
        ObsoleteSettings {
            names: lines(["DISCARD", "DISCARDX"]),
            settings: lines(["DISCARDIF", "DISCARDIFX"]),
        }
    }

    fn is_obsolete(&self, name: &[u8], value: &[u8]) -> bool {
        let setting = [&name.to_ascii_uppercase()[..], b"=", value].concat();
        self.names.iter().any(|known| caseless::eq(known, name))
            || self.settings.iter().any(|known| *known == setting)
    }
}

/// Decides which rows are shown.
struct RowSelection {
    filter: RowFilter,
    obsolete: Option<ObsoleteSettings>,
}

/// Returns the mark of a row of a kind that is selected, or `None` if the kind is not selected; empty if the
/// row is not commented out.
fn mark_if(is_selected: bool, commented: bool, mark: &'static str) -> Option<&'static str> {
    is_selected.then_some(if commented { mark } else { "" })
}

impl RowSelection {
    /// Returns the mark before a row, such as `#`, or `None` if the row is left out.
    fn row_mark(&self, row: &ParameterRow<'_>, source: SourceId) -> Option<&'static str> {
        let filter = &self.filter;
        let default = || mark_if(filter.defaults, filter.comment_defaults, "#def#");
        let matching_default = || mark_if(filter.matches_default, filter.comment_matches, "#");
        if source == SourceId::DETECTED {
            let mark = if filter.comment_detected { "#detected#" } else { "#def#" };
            return mark_if(
                filter.detected || filter.defaults,
                filter.comment_detected || filter.comment_defaults,
                mark,
            );
        }
        let RowKind::Set(entry) = row.kind else { return default() };
        let has_no_default = || entry.parameter.is_some_and(|parameter| parameter.default().is_empty());
        match source {
            SourceId::DEFAULT => default(),
            _ if entry.current.matches_default => matching_default(),
            SourceId::ENVIRONMENT => {
                mark_if(!filter.only || filter.environment, filter.comment_environment, "#env#")
            }
            _ if filter.only && filter.has_kind_filter() => None,
            _ if self.obsolete.as_ref().is_some_and(|names| names.is_obsolete(&row.name, &row.raw)) => None,
            _ if row.raw.is_empty() && has_no_default() => matching_default(),
            _ => Some(""),
        }
    }

    /// Returns all selected rows, by name.
    fn select_rows<'a>(&self, set: &'a MacroSet, world: &'a dyn World) -> Vec<SelectedRow<'a>> {
        let mut chosen: Vec<SelectedRow<'a>> = Vec::new();
        for row in rows_with_defaults(set, world, true) {
            let (source, line) = match row.kind {
                RowKind::Set(entry) => (entry.current.place.source, entry.current.place.line),
                RowKind::Detected => (SourceId::DETECTED, None),
                RowKind::Default(_) => (SourceId::DEFAULT, None),
            };
            let Some(mark) = self.row_mark(&row, source) else { continue };
            let is_duplicate = chosen.last().is_some_and(|last| caseless::eq(&last.row.name, &row.name));
            if !is_duplicate || self.filter.duplicates {
                chosen.push(SelectedRow { row, mark, source, line });
            }
        }
        chosen
    }
}

/// A row to be written.
struct SelectedRow<'a> {
    row: ParameterRow<'a>,
    mark: &'static str,
    source: SourceId,
    line: Option<u32>,
}

impl SelectedRow<'_> {
    /// Returns the row as an assignment, possibly commented out.
    fn text(&self) -> BString {
        let ParameterRow { name, raw, kind } = &self.row;
        let is_block = raw.contains(&b'\n') && !matches!(kind, RowKind::Default(_));
        let value = match is_block && !self.mark.is_empty() {
            true => [b"@=end", &indent_lines(raw, "#   ")[..], b"\n@end"].concat().into(),
            false => format_assignment(raw, is_block, "   "),
        };
        [self.mark.as_bytes(), name, b" ", &value].concat().into()
    }

    /// Returns the place where the parameter was set.
    fn definition_place(&self, set: &MacroSet) -> BString {
        let mut place = set.source(self.source).name.clone();
        match (self.line, self.row.kind) {
            (Some(line), _) => place.extend_from_slice(format!(", line {line}").as_bytes()),
            (None, RowKind::Default(parameter)) => {
                place.extend_from_slice(format!(", item {}", parameter.index()).as_bytes());
            }
            _ => {}
        }
        place
    }

    /// Returns a key for the order by sources; rows without lines come last in their source.
    fn sort_key(&self) -> (u32, u32) {
        let source = match self.source {
            SourceId::ENVIRONMENT => 0xfffe,
            SourceId::OVERLAY => 0xffff,
            other => other.number(),
        };
        (source, self.line.unwrap_or(0x00ff_ffff))
    }
}

/// Returns the text of the configuration as the filter selects it.
pub fn write_text(set: &MacroSet, filter: RowFilter, world: &dyn World) -> Vec<u8> {
    let rows =
        RowSelection { filter, obsolete: filter.upgrade.then(ObsoleteSettings::new) }.select_rows(set, world);
    if filter.sort { write_by_name(&rows, set, filter) } else { write_by_source(rows, set, filter) }
}

fn write_by_name(rows: &[SelectedRow<'_>], set: &MacroSet, filter: RowFilter) -> Vec<u8> {
    let mut out = Vec::new();
    for row in rows {
        out.extend_from_slice(&row.text());
        out.push(b'\n');
        if filter.source {
            out.extend_from_slice(&[b" # at: ", &row.definition_place(set)[..], b"\n"].concat());
        }
    }
    out
}

/// Writes the rows in the order of sources and lines, below the name of each source.
fn write_by_source(mut rows: Vec<SelectedRow<'_>>, set: &MacroSet, filter: RowFilter) -> Vec<u8> {
    let mut out = Vec::new();
    if filter.version && !rows.is_empty() {
        out.extend_from_slice(format!("# condor_config_val {VERSION_LINE}\n").as_bytes());
    }
    rows.sort_by_key(SelectedRow::sort_key);
    let mut previous_source = None;
    for row in rows {
        if previous_source.replace(row.source) != Some(row.source) {
            let name = &set.source(row.source).name;
            out.extend_from_slice(&[b"\n#\n# from ", &name[..], b"\n#\n"].concat());
        }
        out.extend_from_slice(&row.text());
        out.push(b'\n');
        if filter.source {
            out.extend_from_slice(&row.definition_place(set));
            out.push(b'\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::of_text::config_of;

    fn written(filter: RowFilter) -> String {
        let (config, world) = config_of("TOOL", "B = 2\nA @=end\n  one\n  two\n@end\n");
        String::from_utf8(write_text(&config.set, filter, &world)).unwrap()
    }

    #[test]
    fn settings_are_written_by_file_or_by_name() {
        let by_source = written(RowFilter::default());
        let (head, rest) = by_source.split_once("condor_config\n#\n").unwrap();
        assert!(head.starts_with("\n#\n# from /"), "{head}");
        assert_eq!(rest, "B = 2\nA @=end\n   one\n   two\n@end\n");
        let by_name = written(RowFilter { sort: true, ..RowFilter::default() });
        assert_eq!(by_name, "A @=end\n   one\n   two\n@end\nB = 2\n");
        assert!(written(RowFilter::for_summary()).starts_with("# condor_config_val $CondorVersion: "));
    }

    #[test]
    fn defaults_are_written_on_request_optionally_as_comments() {
        let all =
            written(RowFilter { sort: true, defaults: true, comment_defaults: true, ..RowFilter::default() });
        assert!(
            all.contains("\n#def#DAGMAN_PUT_FAILED_JOBS_ON_HOLD = false\n") && all.contains("\nB = 2\n"),
            "{all}"
        );
        assert!(!written(RowFilter::default()).contains("DAGMAN"));
        let none = written(RowFilter { only: true, environment: true, ..RowFilter::default() });
        assert_eq!(none, "");
    }
}
