//! Copying, renaming and removing attributes within an ad, without converting their values to expressions.

use super::{ClassAd, NameIndex, StoredValue};
use crate::syntax::name;
use crate::syntax::scalar::TextRange;

impl ClassAd {
    /// Sets the attribute `to` to the value of `from`, which may come from the chained parent. Returns false if `from` does not
    /// exist or `to` is not a valid name. If `to` exists, the spelling of its name is kept, as with [`ClassAd::insert`].
    ///
    /// ```
    /// use htc_classad::ClassAd;
    /// let mut ad = ClassAd::from([("RequestCpus", 4)]);
    /// assert!(ad.copy_within("RequestCpus", "OriginalCpus"));
    /// ad.set("RequestCpus", 1);
    /// assert_eq!(ad.to_string(), "[ RequestCpus = 1; OriginalCpus = 4 ]");
    /// assert!(!ad.copy_within("NoSuchName", "Copy"));
    /// ```
    pub fn copy_within(&mut self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> bool {
        let (from, to) = (from.as_ref(), to.as_ref());
        name::check(to).is_ok() && self.copy_attribute(from, to)
    }

    fn copy_attribute(&mut self, from: &[u8], to: &[u8]) -> bool {
        let Some(at) = self.find(from, name::hash(from)) else {
            let Some(expr) = self.get(from) else { return false };
            self.put_expr(to, expr);
            return true;
        };
        let hash = name::hash(to);
        let existing = self.find(to, hash);
        if existing == Some(at) {
            return true;
        }
        let slot = match (&self.entries[at].value, existing) {
            (StoredValue::Str(_) | StoredValue::QuotedLine(_), None) => {
                self.copy_string(at, to, hash);
                return true;
            }
            (StoredValue::Str(_) | StoredValue::QuotedLine(_), Some(_)) => {
                self.compact_if_needed();
                let (StoredValue::Str(text) | StoredValue::QuotedLine(text)) = self.entries[at].value else {
                    return false;
                };
                let copy = TextRange { start: self.text.len() as u32, len: text.len };
                self.text.extend_from_within(text.start as usize..text.start as usize + text.len as usize);
                StoredValue::Str(copy)
            }
            (other, _) => other.clone(),
        };
        match existing {
            Some(existing) => self.replace_value(existing, slot),
            None => self.put_new(to, hash, slot),
        }
        true
    }

    /// Moves the value of the attribute `from` to `to`. Returns false if `from` does not exist or `to` is not a valid name. If
    /// the chained parent also has `from`, that attribute is hidden, as with [`ClassAd::remove`].
    ///
    /// ```
    /// use htc_classad::ClassAd;
    /// let mut ad = ClassAd::from([("Cpus", 4)]);
    /// assert!(ad.rename("cpus", "RequestCpus"));
    /// assert_eq!(ad.to_string(), "[ RequestCpus = 4 ]");
    /// ```
    pub fn rename(&mut self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> bool {
        let (from, to) = (from.as_ref(), to.as_ref());
        name::check(to).is_ok() && self.rename_attribute(from, to)
    }

    fn rename_attribute(&mut self, from: &[u8], to: &[u8]) -> bool {
        if self.parent.is_some() {
            let Some(expr) = self.remove(from) else { return false };
            self.put_expr(to, expr);
            return true;
        }
        let Some(at) = self.find(from, name::hash(from)) else { return false };
        let hash = name::hash(to);
        match self.find(to, hash).filter(|&other| other != at) {
            Some(other) => {
                self.split_off_name(at);
                let value = std::mem::replace(&mut self.entries[at].value, StoredValue::Undefined);
                self.replace_value(other, value);
                self.remove_entry(at);
            }
            None => {
                self.rename_entry(at, to);
                let old = std::mem::replace(&mut self.hashes[at], hash);
                if let Some(index) = &mut self.index {
                    index.remove(old, at as u32);
                    index.insert(hash, at as u32);
                    if index.needs_rebuild() {
                        **index = NameIndex::build(&self.hashes);
                    }
                }
            }
        }
        true
    }

    /// Removes an attribute as [`ClassAd::remove`] does, but does not return its value. Returns false if the ad does not have
    /// the attribute.
    ///
    /// ```
    /// use htc_classad::ClassAd;
    /// let mut ad = ClassAd::from([("Cpus", 4)]);
    /// assert!(ad.discard("CPUS") && !ad.discard("CPUS"));
    /// assert!(ad.is_empty());
    /// ```
    pub fn discard(&mut self, name: impl AsRef<[u8]>) -> bool {
        let name = name.as_ref();
        if self.parent.is_some() {
            return self.remove(name).is_some();
        }
        let found = self.find(name, name::hash(name));
        if let Some(at) = found {
            self.remove_entry(at);
        }
        found.is_some()
    }

    /// Removes the entry at index `at`.
    pub(super) fn remove_entry(&mut self, at: usize) {
        self.discard_entry_text(at);
        let hash = self.hashes.swap_remove(at);
        self.entries.swap_remove(at);
        let last = self.hashes.len();
        if let Some(index) = &mut self.index {
            index.remove(hash, at as u32);
            if at < last {
                index.renumber(self.hashes[at], last as u32, at as u32);
            }
            if index.needs_rebuild() {
                **index = NameIndex::build(&self.hashes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ad_io::format::long;

    /// Performs the operation `what` by removing expressions and inserting them again, for comparison.
    fn apply_with_expressions(ad: &mut ClassAd, what: &str, from: &str, to: &str) -> bool {
        let found = if what == "copy" { ad.get(from) } else { ad.remove(from) };
        match (what, found) {
            (_, None) => false,
            ("discard", Some(_)) => true,
            (_, Some(expr)) => {
                ad.insert(to, expr);
                true
            }
        }
    }

    #[test]
    fn moves_within_an_ad_equal_removal_and_insertion() {
        let lines: Vec<String> =
            (0..80).map(|n| format!("Name{n} = {}", ["1", "\"text\"", "a + 1", "2.5"][n % 4])).collect();
        for few in [6, 80] {
            for with_parent in [false, true] {
                let mut quick = ClassAd::new();
                lines[..few]
                    .iter()
                    .for_each(|line| drop(quick.insert_line(line.as_bytes()).expect("a line")));
                if with_parent {
                    let mut parent = ClassAd::new();
                    parent.set("NAME1", "hidden");
                    parent.set("Above", "from above");
                    quick.chain(Some(Arc::new(parent)));
                }
                let mut slow = quick.clone();
                for (what, from, to) in [
                    ("copy", "Name1", "Copy"),
                    ("copy", "NAME1", "name0"),
                    ("copy", "name5", "Name5"),
                    ("copy", "Above", "Below"),
                    ("copy", "none", "Name3"),
                    ("rename", "Name1", "New"),
                    ("rename", "name2", "NAME2"),
                    ("rename", "name3", "Name5"),
                    ("rename", "none", "Name4"),
                    ("discard", "NAME4", ""),
                    ("discard", "none", ""),
                    ("copy", "Name5", "Last"),
                ] {
                    let done = match what {
                        "copy" => quick.copy_within(from.as_bytes(), to.as_bytes()),
                        "rename" => quick.rename(from.as_bytes(), to.as_bytes()),
                        _ => quick.discard(from.as_bytes()),
                    };
                    assert_eq!(done, apply_with_expressions(&mut slow, what, from, to), "{what} {from} {to}");
                    assert_eq!(long::print(&quick), long::print(&slow), "{what} {from} {to}");
                    assert!(quick.names().all(|name| quick.contains(name)), "{what} {from} {to}");
                }
            }
        }
    }

    #[test]
    fn memory_of_copied_texts_is_reclaimed() {
        let mut ad = ClassAd::new();
        ad.set("A", "some longer text".repeat(10));
        for _ in 0..10_000 {
            ad.copy_within(b"A", b"B");
            ad.rename(b"B", b"C");
            ad.copy_within(b"C", b"A");
        }
        assert!(ad.text.len() < 40_000, "{}", ad.text.len());
        assert_eq!(ad.string("a"), ad.string("c"));
    }
}
