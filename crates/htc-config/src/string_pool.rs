//! The strings that the reference copies into its string pool, in order. `-stats` reports their size
//! (`condor_config.cpp`, `_allocation_pool`; `config.cpp`, `insert_macro`).

use bstr::{BStr, BString};

use crate::defaults;

/// The copied strings. Each takes its length plus a zero byte; empty strings are not copied.
#[derive(Clone, Debug, Default)]
pub struct StringPool(Vec<BString>);

impl StringPool {
    /// Adds a copied text.
    pub(crate) fn push(&mut self, text: &[u8]) {
        if !text.is_empty() {
            self.0.push(text.into());
        }
    }

    /// Removes the last text.
    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    /// Adds the texts of a new entry of the table: its name is copied unless it is spelled as in the table of
    /// defaults, its value unless it is the default.
    pub(crate) fn push_entry(&mut self, name: &[u8], value: &[u8], matches_default: bool) {
        let known = match memchr::memchr(b'.', name) {
            Some(_) => None,
            None => defaults::find(name),
        };
        if known.is_none_or(|known| known.name() != name) {
            self.push(name);
        }
        if !matches_default {
            self.push(value);
        }
    }

    /// Returns the size of all texts, in bytes.
    pub fn total_bytes(&self) -> usize {
        self.0.iter().map(|text| text.len() + 1).sum()
    }

    /// Returns all texts in their order.
    pub fn texts(&self) -> impl Iterator<Item = &BStr> {
        self.0.iter().map(|text| text.as_ref())
    }
}
