//! What a configuration sets that is not done here, by the table of [`honoured`].
//!
//! Only what people wrote themselves or have through a template counts, and only where it asks for something else than the defaults
//! do.

use bstr::ByteSlice;

use crate::config::defaults::{self, ParameterType};
use crate::config::{Entry, View};
use crate::honoured::{self, Row, Standing};
use crate::text::{bare_name, caseless};

/// A parameter that is set and not done here.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The entry.
    pub entry: &'a Entry,
    /// Its row.
    pub row: Row,
}

/// What a configuration sets that is not done here.
#[derive(Clone, Debug, Default)]
pub struct NotDone<'a> {
    /// What a pool would do and we do not.
    pub told: Vec<Setting<'a>>,
    /// What is for something that is not here.
    pub elsewhere: Vec<Setting<'a>>,
}

impl<'a> NotDone<'a> {
    /// Looks through the settings of a configuration.
    pub fn of(view: &View<'a>) -> Self {
        let mut found = NotDone::default();
        for entry in view.set().entries().filter(|entry| entry.current.is_of_site()) {
            let Some(row) = honoured::parameter(&entry.name) else { continue };
            let setting = Setting { entry, row };
            match row.standing {
                Standing::Honoured => {}
                // A template says much that nobody asked for.
                Standing::Elsewhere if entry.current.is_written() => found.elsewhere.push(setting),
                Standing::Elsewhere => {}
                Standing::Told | Standing::Refused if changes(view, entry) => found.told.push(setting),
                Standing::Told | Standing::Refused => {}
            }
        }
        found
    }

    /// What a run in the place of `daemons` says when it begins: a line for each setting or family of settings that they
    /// would heed, and how many there are of others.
    pub fn lines(&self, view: &View<'_>, daemons: &[&str]) -> Vec<String> {
        let mut families: Vec<(Row, Vec<&Setting<'_>>)> = Vec::new();
        for setting in self.told.iter().filter(|setting| setting.row.is_of(daemons)) {
            match families.iter_mut().find(|(row, _)| *row == setting.row) {
                Some((_, members)) => members.push(setting),
                None => families.push((setting.row, vec![setting])),
            }
        }
        let line = |(row, members): &(Row, Vec<&Setting<'_>>)| {
            let names: Vec<_> = members.iter().map(|setting| setting.entry.name.to_str_lossy()).collect();
            let place = view.set().describe(&members[0].entry.current.place);
            format!("{} ({place})", row.told(&names.join(", ")))
        };
        let mut lines: Vec<String> = families.iter().map(line).collect();
        match self.elsewhere.len() {
            0 => {}
            1 => lines.push(format!("1 setting is for {}, which is not here", self.elsewhere[0].row.of)),
            count => lines.push(format!(
                "{count} settings are for what is not here, such as other daemons: 'htc-config-dump lint --here' lists them"
            )),
        }
        lines
    }
}

/// Whether a setting asks for something else than its default.
fn changes(view: &View<'_>, entry: &Entry) -> bool {
    let name = bare_name(&entry.name);
    let Ok(value) = view.expand_raw(&entry.name, entry.raw()) else { return true };
    let parameter = defaults::find(name);
    let default = parameter.and_then(|parameter| view.expand_raw(name, &parameter.default()).ok());
    let default = default.unwrap_or_default();
    let (value, default) = (value.trim(), default.trim());
    let truth = |text: &[u8]| if text.is_empty() { Some(false) } else { view.truth(text) };
    // 60 and 6 are both true, and not the same.
    let is_number = parameter.is_some_and(|parameter| {
        matches!(parameter.kind(), ParameterType::Int | ParameterType::Long | ParameterType::Double)
    });
    !caseless::eq(value, default) && (is_number || truth(value).is_none() || truth(value) != truth(default))
}
