//! Shared text tools: numbers and printf; the tools for parsing ads are in [`htc_classad::text`]: spans into sources,
//! case-insensitive comparison, list wildcards, quoting.
//!
//! Text is bytes: HTCondor ignores encodings, so nothing is ever re-encoded.

pub mod control_characters;
pub mod count;
pub mod number;
pub mod printf;
pub mod table;
pub mod words;

pub use htc_classad::text::{
    arguments, calendar, caret, caseless, environment, list, plural, similar_names, space, span, strftime,
};
pub use span::{LineCounter, Position, Span};
pub use words::words;

/// Returns the name of a parameter after its last dot, without the prefix for a daemon or local name.
pub fn unqualified_name(name: &[u8]) -> &[u8] {
    memchr::memrchr(b'.', name).map_or(name, |dot| &name[dot + 1..])
}
