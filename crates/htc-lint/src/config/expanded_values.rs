//! Cache of the expanded values of macros, so that each one is expanded once.
//!
//! Without it, expanding all values of a chain of macros takes quadratic time.

use bstr::BString;
use rustc_hash::FxHashMap;

use htc_base::text::caseless;
use htc_config::ConfigView;
use htc_config::expand::MAX_LENGTH;
use htc_config::macro_reference::{MacroFunction, MacroReference, next_reference};

/// Size of the cached values, in bytes, above which the cache is emptied: the values of a long chain may become longer
/// and longer.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// Number of replacements up to which an expansion certainly stays within its limits.
const MAX_REPLACEMENTS: usize = 100_000;

/// Cached values by the names of the macros, in lower case.
#[derive(Default)]
pub(super) struct ExpandedValues {
    values: FxHashMap<Vec<u8>, KnownValue>,
    kept_bytes: usize,
}

/// Cached value of a macro.
#[derive(Clone)]
enum KnownValue {
    /// The value is being expanded. A reference to it from another value is circular.
    InProgress,
    /// The expanded value, with the number of references that were replaced.
    Expanded(BString, usize),
    /// The value cannot be expanded here: it contains more than plain references, refers to itself, or is too long.
    Other,
}

impl ExpandedValues {
    /// Returns the expanded value of a macro, or `None` if only `ConfigView::expand_raw` can expand it.
    pub(super) fn expand(&mut self, view: &ConfigView<'_>, name: &[u8]) -> Option<BString> {
        if self.kept_bytes > MAX_KEPT_BYTES {
            *self = ExpandedValues::default();
        }
        let wanted = name.to_ascii_lowercase();
        let mut waiting = vec![wanted.clone()];
        // No recursion, because chains may be long.
        while let Some(name) = waiting.pop() {
            let known = self.values.get(&name);
            if matches!(known, Some(KnownValue::Expanded(..) | KnownValue::Other)) {
                continue;
            }
            let is_new = known.is_none();
            let raw = view.raw_bytes(&name).unwrap_or_default();
            let references = plain_references(&raw);
            if is_new {
                let needed = references.iter().flatten().map(|found| found.name_and_default(&raw).0);
                let missing =
                    needed.map(<[u8]>::to_ascii_lowercase).filter(|it| !self.values.contains_key(it));
                let missing: Vec<Vec<u8>> = missing.collect();
                if !missing.is_empty() {
                    self.values.insert(name.clone(), KnownValue::InProgress);
                    waiting.push(name);
                    waiting.extend(missing);
                    continue;
                }
            }
            let value = references.and_then(|references| self.replace(&raw, &references));
            let value = value.map_or(KnownValue::Other, |(text, count)| KnownValue::Expanded(text, count));
            self.remember_value(name, value);
            if self.kept_bytes > 2 * MAX_KEPT_BYTES {
                *self = ExpandedValues::default();
                return None;
            }
        }
        match self.values.get(&wanted) {
            Some(KnownValue::Expanded(text, _)) => Some(text.clone()),
            _ => None,
        }
    }

    fn remember_value(&mut self, name: Vec<u8>, value: KnownValue) {
        let length = if let KnownValue::Expanded(text, _) = &value { text.len() } else { 0 };
        self.kept_bytes += name.len() + length + size_of::<(Vec<u8>, KnownValue)>();
        self.values.insert(name, value);
    }

    /// Returns a value with its references replaced, and the number of replacements, or `None` if not all values are
    /// known or the result is too long.
    fn replace(&self, raw: &[u8], references: &[MacroReference]) -> Option<(BString, usize)> {
        let (mut text, mut at, mut count) = (BString::default(), 0, references.len());
        for found in references {
            text.extend_from_slice(&raw[at..found.dollar]);
            at = found.end;
            let (name, default) = found.name_and_default(raw);
            let KnownValue::Expanded(value, inner) = self.values.get(&name.to_ascii_lowercase())? else {
                return None;
            };
            count = count.saturating_add(*inner);
            // The default of a reference is used only if the value is empty before its expansion. A value that is
            // not empty but expands to nothing is therefore not handled here.
            match default {
                Some(_) if value.is_empty() && *inner > 0 => return None,
                Some(default) if value.is_empty() => text.extend_from_slice(default),
                _ => text.extend_from_slice(value),
            }
            if text.len() > MAX_LENGTH / 16 || count > MAX_REPLACEMENTS {
                return None;
            }
        }
        text.extend_from_slice(&raw[at..]);
        Some((text, count))
    }
}

/// Returns the references of a value, or `None` if it contains more than plain ones: functions, defaults with
/// references, dollars that may become part of a reference.
fn plain_references(raw: &[u8]) -> Option<Vec<MacroReference>> {
    let mut references = Vec::new();
    let mut at = 0;
    while let Some(found) = next_reference(raw, at, &mut None, |_, _| true) {
        let (name, _) = found.name_and_default(raw);
        if found.function != MacroFunction::Plain || caseless::eq(name, b"DOLLAR") {
            return None;
        }
        at = found.end;
        references.push(found);
    }
    (memchr::memchr_iter(b'$', raw).count() == references.len()).then_some(references)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LintSubject;
    use htc_config::{Config, LoadOptions, LookupContext};
    use htc_os::RealWorld;

    /// Expands all values of random configurations in both ways.
    #[test]
    fn values_are_as_after_a_complete_expansion() {
        let mut state = 5u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        let world = RealWorld::new();
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("condor_config");
        let (mut known, mut errors) = (0, 0);
        for _ in 0..60 {
            let mut text = String::new();
            for name in 0..12 {
                let words: String = (0..next(4))
                    .map(|_| match (next(9), next(14)) {
                        (0, other) => format!("$(M{other}:a b)"),
                        (1, other) => format!("$(M{other}:$(M{name}))"),
                        (2, _) => "$$(x)".to_owned(),
                        (3, _) => "$(DOLLAR)".to_owned(),
                        (4, other) => format!("$($(M{other}))"),
                        (5, other) => format!("$INT(M{other})"),
                        (6, _) => "M3".to_owned(),
                        (_, other) => format!("x$(m{other})"),
                    })
                    .collect();
                text.push_str(&format!("M{name} = {words}\n"));
            }
            std::fs::write(&file, text).unwrap();
            let options =
                LoadOptions { file: Some(file.clone()), user_file: false, ..LoadOptions::default() };
            let config = Config::load_partially(&world, &LookupContext::default(), &options).config;
            let subject = LintSubject::new(&config, &world);
            for entry in subject.user_written_entries() {
                let whole = subject.view.expand_raw(&entry.name, entry.raw());
                assert_eq!(subject.expand_entry(entry), whole, "{entry:?}");
                errors += usize::from(whole.is_err());
                known += usize::from(ExpandedValues::default().expand(&subject.view, &entry.name).is_some());
            }
        }
        assert!(known > 200 && errors > 20, "{known} {errors}");
    }
}
