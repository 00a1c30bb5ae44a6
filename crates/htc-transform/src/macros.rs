//! Macros of one run, and the lookup of `$(NAME)` (`XFormHash`, `lookup_macro`).

use std::borrow::Cow;

use bstr::BString;

use htc_base::text::caseless;
use htc_classad::{ClassAd, Value, hash_of_name};
use htc_config::MacroSource;

/// Table of macros that can be reset to an earlier state.
#[derive(Clone, Debug, Default)]
pub struct MacroTable {
    entries: Vec<MacroTableEntry>,
    /// Hash table from names (ignoring case) to the index of their entry plus 1. Uses open addressing; the size is a
    /// power of two, and 0 marks a free place.
    index: Vec<u32>,
    undo_log: Vec<(u32, Option<BString>)>,
    /// True if any name begins with `XFORM.`, which few transforms use.
    has_xform_names: bool,
}

#[derive(Clone, Debug)]
struct MacroTableEntry {
    name: BString,
    /// Value, or `None` after a reset to a state in which the name was not defined.
    value: Option<BString>,
}

/// Prefix of macro names that apply only to transforms.
const XFORM_PREFIX: &[u8] = b"XFORM.";

/// Marked state of a [`MacroTable`].
#[derive(Clone, Copy, Debug)]
pub struct MacroTableMark(usize);

impl MacroTable {
    /// Returns the unexpanded value of a name, or `None` if it is not defined.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let at = self.find_index(name)?;
        self.entries[at].value.as_deref().map(|value| &value[..])
    }

    /// Defines a name or changes its value; its first spelling is kept.
    pub fn set(&mut self, name: &[u8], value: impl Into<BString>) {
        let at = match self.find_index(name) {
            Some(at) => at,
            None => self.add_entry(name),
        };
        let old = self.entries[at].value.replace(value.into());
        self.undo_log.push((u32::try_from(at).unwrap_or(u32::MAX), old));
    }

    /// Marks the current state.
    pub fn mark(&self) -> MacroTableMark {
        MacroTableMark(self.undo_log.len())
    }

    /// Resets the table to a marked state.
    pub fn rewind(&mut self, mark: MacroTableMark) {
        while self.undo_log.len() > mark.0 {
            if let Some((at, old)) = self.undo_log.pop() {
                self.entries[at as usize].value = old;
            }
        }
    }

    /// Makes the current state the earliest one that the table can be reset to.
    pub fn commit(&mut self) {
        self.undo_log.clear();
    }

    fn find_index(&self, name: &[u8]) -> Option<usize> {
        let mask = self.index.len().checked_sub(1)?;
        let mut slot = hash_name(name) & mask;
        loop {
            let at = self.index[slot].checked_sub(1)? as usize;
            if caseless::eq(&self.entries[at].name, name) {
                return Some(at);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn add_entry(&mut self, name: &[u8]) -> usize {
        self.has_xform_names |= caseless::starts_with(name, XFORM_PREFIX);
        self.entries.push(MacroTableEntry { name: name.into(), value: None });
        if self.entries.len() * 2 > self.index.len() {
            self.index = vec![0; (self.entries.len() * 4).next_power_of_two()];
            for at in 0..self.entries.len() {
                self.link_entry(at);
            }
        } else {
            self.link_entry(self.entries.len() - 1);
        }
        self.entries.len() - 1
    }

    fn link_entry(&mut self, at: usize) {
        let mask = self.index.len() - 1;
        let mut slot = hash_name(&self.entries[at].name) & mask;
        while self.index[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        self.index[slot] = u32::try_from(at + 1).unwrap_or(u32::MAX);
    }
}

fn hash_name(name: &[u8]) -> usize {
    hash_of_name(name) as usize
}

/// Predefined macros (`XFormBasicMacroDefaults`, `XFormMacroDefaults`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuiltInMacros {
    /// Macros for daemons, and for `condor_transform_ads` if the transform does not iterate.
    Basic,
    /// Macros of a transform that iterates.
    Iterating(IterationPosition),
}

/// Position of an iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IterationPosition {
    /// `$(Step)`: from 0 to the count - 1, for each item.
    pub step: u32,
    /// `$(Row)` and `$(ItemIndex)`: index of the item, from 0.
    pub row: u32,
    /// `$(XFormId)`: index of the run among all runs of one ad, from 0.
    pub run_id: u32,
    /// True if each ad has only one run, in which `$(Iterating)` is 0.
    pub is_single: bool,
    /// Values of ARCH, OPSYS, OPSYSVER, OPSYSMAJORVER and OPSYSANDVER, which a transform that iterates reads from the
    /// configuration once.
    pub platform: [BString; 5],
}

/// Names of the values in [`IterationPosition::platform`].
pub const PLATFORM_NAMES: [&str; 5] = ["ARCH", "OPSYS", "OPSYSVER", "OPSYSMAJORVER", "OPSYSANDVER"];

impl BuiltInMacros {
    fn value_of(&self, name: &[u8]) -> Option<Cow<'static, [u8]>> {
        let is = |text: &str| caseless::eq(name, text.as_bytes());
        let number = |n: u32| Some(Cow::Owned(n.to_string().into_bytes()));
        if is("IsLinux") {
            return Some(Cow::Borrowed(b"1"));
        }
        if is("IsWindows") {
            return Some(Cow::Borrowed(b"0"));
        }
        match self {
            BuiltInMacros::Basic if is("Iterating") || is("IsClusterAd") || is("LateMaterialization") => {
                Some(Cow::Borrowed(b"0"))
            }
            BuiltInMacros::Basic => None,
            BuiltInMacros::Iterating(turn) if is("Iterating") => {
                Some(Cow::Borrowed(if turn.is_single { b"0" } else { b"1" }))
            }
            // The reference loses the name of the rules file when a transform iterates.
            BuiltInMacros::Iterating(_) if is("RulesFile") => Some(Cow::Borrowed(b"")),
            BuiltInMacros::Iterating(turn) if is("Step") => number(turn.step),
            BuiltInMacros::Iterating(turn) if is("Row") || is("ItemIndex") => number(turn.row),
            BuiltInMacros::Iterating(turn) if is("XFormId") => number(turn.run_id),
            BuiltInMacros::Iterating(turn) => {
                let at = PLATFORM_NAMES.iter().position(|platform| is(platform))?;
                Some(Cow::Owned(turn.platform[at].to_vec()))
            }
        }
    }
}

/// Lookup of `$(NAME)` during a transform: `XFORM.NAME`, `NAME`, the predefined macros, `MY.attribute`, the
/// configuration.
pub struct MacroScope<'a> {
    /// Macros of the transform.
    pub macros: &'a MacroTable,
    /// Predefined macros, such as `$(Step)`.
    pub built_in: &'a BuiltInMacros,
    /// Ad that `$(MY.attribute)` refers to, or `None` if the text is only checked.
    pub ad: Option<&'a ClassAd>,
    /// Configuration in which other names are looked up, or `None`.
    pub config: Option<&'a dyn MacroSource>,
}

impl MacroSource for MacroScope<'_> {
    fn raw(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        if let Some(value) = self.find_own_macro(name) {
            return Some(value);
        }
        if let (Some(ad), Some(attribute)) = (self.ad, strip_my_prefix(name))
            && let Some(value) = attribute_text(ad, attribute)
        {
            return Some(value);
        }
        // An empty parameter is treated as undefined.
        self.config?.raw(name).filter(|value| !value.is_empty())
    }

    fn ad(&self) -> Option<&ClassAd> {
        self.ad
    }
}

impl MacroScope<'_> {
    /// Returns the value of a macro that the transform assigned or that is predefined, or `None`.
    fn find_own_macro(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let macros = self.macros;
        let prefixed = if macros.has_xform_names { macros.get(&[XFORM_PREFIX, name].concat()) } else { None };
        match prefixed.or_else(|| macros.get(name)) {
            Some(value) => Some(Cow::Borrowed(value)),
            None => self.built_in.value_of(name),
        }
    }
}

/// Returns the attribute of a name that begins with `MY.`, ignoring case, or `None`.
fn strip_my_prefix(name: &[u8]) -> Option<&[u8]> {
    caseless::starts_with(name, b"MY.").then(|| &name[3..])
}

/// Returns the text of `$(MY.attribute)`: a string without quotes, escapes and parentheses, any other
/// expression as it prints.
fn attribute_text<'a>(ad: &'a ClassAd, attribute: &[u8]) -> Option<Cow<'a, [u8]>> {
    if let Some(text) = ad.string(attribute) {
        return Some(Cow::Borrowed(text));
    }
    let expr = ad.get(attribute)?;
    Some(Cow::Owned(match expr.without_parentheses().as_literal() {
        Some(Value::Str(text)) => text.to_vec(),
        _ => expr.unparse_old().into(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_case_insensitive_and_states_are_restored() {
        let mut macros = MacroTable::default();
        macros.set(b"Abc", "1");
        let mark = macros.mark();
        macros.set(b"ABC", "2");
        macros.set(b"other", "3");
        assert_eq!(macros.get(b"abc"), Some(&b"2"[..]));
        macros.rewind(mark);
        assert_eq!(macros.get(b"abc"), Some(&b"1"[..]));
        assert_eq!(macros.get(b"other"), None);
    }

    #[test]
    fn a_thousand_names_are_all_found() {
        let mut macros = MacroTable::default();
        for n in 0..1000 {
            macros.set(format!("name{n}").as_bytes(), n.to_string());
        }
        for n in 0..1000 {
            assert_eq!(macros.get(format!("NAME{n}").as_bytes()), Some(n.to_string().as_bytes()));
        }
        assert_eq!(macros.get(b"name1000"), None);
    }

    #[test]
    fn the_prefixed_name_takes_precedence_and_hides_built_in_names() {
        let mut macros = MacroTable::default();
        macros.set(b"V", "plain");
        macros.set(b"XFORM.v", "own");
        fn scope(macros: &MacroTable) -> MacroScope<'_> {
            MacroScope { macros, built_in: &BuiltInMacros::Basic, ad: None, config: None }
        }
        assert_eq!(scope(&macros).raw(b"V").as_deref(), Some(&b"own"[..]));
        assert_eq!(scope(&macros).raw(b"iterating").as_deref(), Some(&b"0"[..]));
        assert_eq!(scope(&macros).raw(b"Step"), None);
        macros.set(b"Iterating", "7");
        assert_eq!(scope(&macros).raw(b"iterating").as_deref(), Some(&b"7"[..]));
    }
}
