//! Clauses that rule out slots for jobs.

use serde::Serialize;

use super::clauses::ClauseSide;

/// Attribute that a clause reads and that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingAttribute {
    /// Name of the missing attribute.
    pub name: String,
    /// Number of slots that have the attribute.
    pub slots_with: usize,
    /// Names of some of the slots.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

/// Clause that rules out slots for a group of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// Side whose ad contains the clause.
    pub side: ClauseSide,
    /// Attribute that contains the clause, such as START.
    pub attribute: String,
    /// Text of the clause.
    pub clause: String,
    /// Number of slots that the clause refuses.
    pub refuses: usize,
    /// Number of slots that only this clause refuses.
    pub alone: usize,
    /// Place where a configuration sets the attribute, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Sentence that says why the clause is not true.
    pub sentence: String,
    /// The sentence with shorter lists of values, the longest first.
    #[serde(skip)]
    pub shorter_sentences: Vec<String>,
    /// Other clauses that compare the same attributes and refuse the same slots.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub equivalent: Vec<String>,
    /// Missing attributes that the clause reads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingAttribute>,
}

impl Cause {
    /// Returns the longest form of the sentence that has at most `max` characters, or the shortest form.
    pub fn sentence_within(&self, max: usize) -> &str {
        longest_within(&self.sentence, &self.shorter_sentences, max)
    }
}

/// Returns the first of the forms of a sentence, from the longest to the shortest, that has at most `max` characters,
/// or the shortest one.
pub(super) fn longest_within<'a>(sentence: &'a str, shorter: &'a [String], max: usize) -> &'a str {
    let mut forms = std::iter::once(sentence).chain(shorter.iter().map(String::as_str));
    let last = shorter.last().map_or(sentence, String::as_str);
    forms.find(|form| form.chars().count() <= max).unwrap_or(last)
}
