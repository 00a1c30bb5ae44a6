//! Unsupported settings of a configuration, according to the table of [`supported`].
//!
//! A setting of an unsupported feature is included if the site sets it, directly or through a template, and its value
//! differs from the default. A setting of another daemon is included only if it is written directly.

use bstr::{BString, ByteSlice};

use crate::defaults::{self, ParameterType};
use crate::supported::{self, SupportEntry, SupportLevel};
use crate::{ConfigView, MacroEntry};
use htc_base::text::{caseless, unqualified_name};

/// An unsupported parameter that is set.
#[derive(Clone, Copy, Debug)]
pub struct UnsupportedSetting<'a> {
    /// Definitions of the parameter.
    pub entry: &'a MacroEntry,
    /// Row of the parameter in the support table.
    pub row: SupportEntry,
}

/// Unsupported settings of a configuration.
#[derive(Clone, Debug, Default)]
pub struct UnsupportedSettings<'a> {
    /// Settings that a pool supports and these programs do not.
    pub unsupported: Vec<UnsupportedSetting<'a>>,
    /// Settings of daemons that these programs do not replace.
    pub out_of_scope: Vec<UnsupportedSetting<'a>>,
}

impl<'a> UnsupportedSettings<'a> {
    /// Collects the unsupported settings of a configuration.
    pub fn collect(view: &ConfigView<'a>) -> Self {
        let mut found = UnsupportedSettings::default();
        for entry in view.macro_set().entries().filter(|entry| entry.current.is_from_site()) {
            let Some(row) = supported::find_parameter(&entry.name) else { continue };
            let setting = UnsupportedSetting { entry, row };
            match row.level {
                SupportLevel::Supported => {}
                // Templates set many parameters that the user did not ask for.
                SupportLevel::OutOfScope if entry.current.is_user_written() => {
                    found.out_of_scope.push(setting)
                }
                SupportLevel::OutOfScope => {}
                SupportLevel::IgnoredWithWarning | SupportLevel::RefusesJob
                    if differs_from_default(view, entry) =>
                {
                    found.unsupported.push(setting)
                }
                SupportLevel::IgnoredWithWarning | SupportLevel::RefusesJob => {}
            }
        }
        found
    }

    /// Returns the warnings for a program that runs in place of `daemons`: a line for each unsupported setting or
    /// family of settings that these daemons read, and a summary of settings that are out of scope.
    pub fn warning_lines(&self, view: &ConfigView<'_>, daemons: &[&str]) -> Vec<String> {
        let mut families: Vec<(SupportEntry, Vec<&UnsupportedSetting<'_>>)> = Vec::new();
        for setting in self.unsupported.iter().filter(|setting| setting.row.is_read_by(daemons)) {
            match families.iter_mut().find(|(row, _)| *row == setting.row) {
                Some((_, members)) => members.push(setting),
                None => families.push((setting.row, vec![setting])),
            }
        }
        let line = |(row, members): &(SupportEntry, Vec<&UnsupportedSetting<'_>>)| {
            let names: Vec<_> = members.iter().map(|setting| setting.entry.name.to_str_lossy()).collect();
            let place = describe_place(view.macro_set().describe_place(&members[0].entry.current.place));
            format!("{} ({place})", row.describe(&names.join(", ")))
        };
        let mut lines: Vec<String> = families.iter().map(line).collect();
        let (read_here, others): (Vec<&UnsupportedSetting<'_>>, Vec<&UnsupportedSetting<'_>>) =
            self.out_of_scope.iter().partition(|setting| setting.row.is_read_by(daemons));
        for setting in read_here {
            let name = setting.entry.name.as_bstr();
            lines.push(format!(
                "{name} has no effect here: its use by the {} is unsupported",
                setting.row.readers
            ));
        }
        lines.extend(report_out_of_scope(&others));
        lines
    }
}

/// Maximum number of out-of-scope settings named in a warning.
const MAX_NAMED_SETTINGS: usize = 5;

/// Describes the settings of daemons that these programs do not replace.
fn report_out_of_scope(settings: &[&UnsupportedSetting<'_>]) -> Option<String> {
    let names = settings.iter().take(MAX_NAMED_SETTINGS).map(|setting| setting.entry.name.to_str_lossy());
    let names = names.collect::<Vec<_>>().join(", ");
    match settings {
        [] => None,
        [one] => Some(format!("{names} has no effect here: it configures {}", one.row.readers)),
        all => {
            let more = match all.len().saturating_sub(MAX_NAMED_SETTINGS) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Some(format!(
                "{} settings have no effect here, because they are for other daemons or unsupported features: {names}{more} ('htc-config-dump lint --here' lists them)",
                all.len()
            ))
        }
    }
}

/// Describes a place in the user's terms.
fn describe_place(place: BString) -> BString {
    match place.as_slice() {
        b"<Over>" => "command line".into(),
        b"<Environment>" => "environment".into(),
        _ => place,
    }
}

/// Returns true if a setting has a different effect than its default.
fn differs_from_default(view: &ConfigView<'_>, entry: &MacroEntry) -> bool {
    let name = unqualified_name(&entry.name);
    let Ok(value) = view.expand_raw(&entry.name, entry.raw()) else { return true };
    let parameter = defaults::find(name);
    let default = parameter.and_then(|parameter| view.expand_raw(name, &parameter.default()).ok());
    let default = default.unwrap_or_default();
    let (value, default) = (value.trim(), default.trim());
    let truth = |text: &[u8]| if text.is_empty() { Some(false) } else { view.parse_truth(text) };
    // 60 and 6 are both true, but differ as numbers.
    let is_number = parameter.is_some_and(|parameter| {
        matches!(parameter.parameter_type(), ParameterType::Int | ParameterType::Long | ParameterType::Double)
    });
    !caseless::eq(value, default) && (is_number || truth(value).is_none() || truth(value) != truth(default))
}
