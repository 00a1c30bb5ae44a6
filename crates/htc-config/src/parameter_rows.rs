//! Sorted list of all names of a configuration: set by sources, detected, and from the table of defaults.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bstr::BStr;

use crate::SourceId;
use crate::defaults::{self, Parameter};
use crate::macro_definition::MacroEntry;
use crate::macro_set::MacroSet;
use htc_base::text::caseless;
use htc_base::world::World;

/// Origin of a parameter's value.
#[derive(Clone, Copy, Debug)]
pub enum RowKind<'a> {
    /// Definition in a source.
    Set(&'a MacroEntry),
    /// Property of the machine that was detected.
    Detected,
    /// Default that is compiled in.
    Default(Parameter),
}

/// One parameter of the list.
#[derive(Clone, Debug)]
pub struct ParameterRow<'a> {
    /// The name in the spelling of its source.
    pub name: Cow<'a, BStr>,
    /// Raw value of the parameter.
    pub raw: Cow<'a, [u8]>,
    /// Origin of the value.
    pub kind: RowKind<'a>,
}

impl ParameterRow<'_> {
    /// Returns true if a source set the value, in contrast to detected values and defaults.
    pub fn is_set(&self) -> bool {
        matches!(self.kind, RowKind::Set(entry) if entry.current.place.source != SourceId::DETECTED)
    }
}

/// A name that is ordered without regard to case.
struct CaselessName<'a>(Cow<'a, BStr>);

impl PartialEq for CaselessName<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for CaselessName<'_> {}

impl PartialOrd for CaselessName<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CaselessName<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        caseless::cmp(&self.0, &other.0)
    }
}

/// Returns the parameters that sources set and the detected ones, by name.
pub fn set_and_detected_rows<'a>(set: &'a MacroSet, world: &'a dyn World) -> Vec<ParameterRow<'a>> {
    let mut rows: BTreeMap<CaselessName<'a>, ParameterRow<'a>> = BTreeMap::new();
    for (name, value) in set.detected(world) {
        let name = Cow::Borrowed(BStr::new(name));
        let row = ParameterRow { name: name.clone(), raw: Cow::Borrowed(value), kind: RowKind::Detected };
        rows.insert(CaselessName(name), row);
    }
    for entry in set.entries() {
        let name: Cow<'a, BStr> = Cow::Borrowed(entry.name.as_ref());
        let row = ParameterRow { name: name.clone(), raw: entry.stored_raw(), kind: RowKind::Set(entry) };
        rows.remove(&CaselessName(name.clone()));
        rows.insert(CaselessName(name), row);
    }
    rows.into_values().collect()
}

/// Merges the set and detected values with the defaults. Defaults that are hidden by them are omitted, or
/// with `include_hidden` placed after the value that hides them.
pub fn rows_with_defaults<'a>(
    set: &'a MacroSet,
    world: &'a dyn World,
    include_hidden: bool,
) -> Vec<ParameterRow<'a>> {
    let table = set_and_detected_rows(set, world);
    let mut merged = Vec::with_capacity(table.len() + 1200);
    let mut rows = table.into_iter().peekable();
    for parameter in defaults::all() {
        let name = BStr::new(parameter.name());
        let mut hidden = false;
        while let Some(row) = rows.next_if(|row| caseless::cmp(&row.name, name).is_le()) {
            hidden = caseless::eq(&row.name, name);
            merged.push(row);
        }
        if !hidden || include_hidden {
            merged.push(ParameterRow {
                name: Cow::Borrowed(name),
                raw: parameter.default(),
                kind: RowKind::Default(parameter),
            });
        }
    }
    merged.extend(rows);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::of_text::config_of;

    #[test]
    fn settings_and_defaults_are_sorted_together_by_name() {
        let (config, world) = config_of("TOOL", "zzz_MINE = 1\nschedd_log = here\nAAA_MINE = 2\n");
        let names = |rows: &[ParameterRow<'_>]| -> Vec<String> {
            rows.iter().filter(|row| row.is_set()).map(|row| row.name.to_string()).collect()
        };
        assert_eq!(
            names(&set_and_detected_rows(&config.set, &world)),
            ["AAA_MINE", "schedd_log", "zzz_MINE"]
        );
        let rows = rows_with_defaults(&config.set, &world, false);
        assert_eq!(names(&rows), ["AAA_MINE", "schedd_log", "zzz_MINE"]);
        assert!(rows.windows(2).all(|pair| caseless::cmp(&pair[0].name, &pair[1].name).is_le()));
        let of_log = |rows: &[ParameterRow<'_>]| {
            rows.iter()
                .filter(|row| caseless::eq(&row.name, b"SCHEDD_LOG"))
                .map(ParameterRow::is_set)
                .collect::<Vec<_>>()
        };
        assert_eq!(of_log(&rows), [true]);
        // A hidden default follows the value that hides it.
        assert_eq!(of_log(&rows_with_defaults(&config.set, &world, true)), [true, false]);
    }
}
