//! What a configuration sets that is not done here, by the table of [`honoured`].
//!
//! Only what people wrote themselves or have through a template counts, and only where it asks for something else than the defaults
//! do.

use bstr::{BString, ByteSlice};

use crate::defaults::{self, ParameterType};
use crate::honoured::{self, Row, Standing};
use crate::{Entry, View};
use htc_base::text::{bare_name, caseless};

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
                Standing::Warned | Standing::Refused if changes(view, entry) => found.told.push(setting),
                Standing::Warned | Standing::Refused => {}
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
            let place = in_words(view.set().describe(&members[0].entry.current.place));
            format!("{} ({place})", row.told(&names.join(", ")))
        };
        let mut lines: Vec<String> = families.iter().map(line).collect();
        let (here, not_here): (Vec<&Setting<'_>>, Vec<&Setting<'_>>) =
            self.elsewhere.iter().partition(|setting| setting.row.is_of(daemons));
        for setting in here {
            let name = setting.entry.name.as_bstr();
            lines.push(format!(
                "{name} changes nothing here: what the {} does with it is not done",
                setting.row.of
            ));
        }
        lines.extend(told_of_others(&not_here));
        lines
    }
}

/// So many settings are named that are for what is not here.
const NAMED: usize = 5;

/// What is said of settings for what is not here.
fn told_of_others(settings: &[&Setting<'_>]) -> Option<String> {
    let names = settings.iter().take(NAMED).map(|setting| setting.entry.name.to_str_lossy());
    let names = names.collect::<Vec<_>>().join(", ");
    match settings {
        [] => None,
        [one] => Some(format!("{names} is for {}, which is not here", one.row.of)),
        all => {
            let more = match all.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Some(format!(
                "{} settings are for what is not here, such as other daemons: {names}{more} ('htc-config-dump lint --here' lists them)",
                all.len()
            ))
        }
    }
}

/// A place as people call it who have not read the reference's tables.
fn in_words(place: BString) -> BString {
    match place.as_slice() {
        b"<Over>" => "command line".into(),
        b"<Environment>" => "environment".into(),
        _ => place,
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
