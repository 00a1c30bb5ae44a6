//! Text tools for all crates, such as numbers and `printf`. The tools for parsing ads are in [`htc_classad::text`]:
//! spans in sources, case-insensitive comparison, wildcards in lists, quoting.
//!
//! All text is bytes: HTCondor ignores encodings, so nothing is ever re-encoded.

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

/// Returns the last part of a parameter's name, after the prefix for a daemon or local name that ends with a dot.
pub fn unqualified_name(name: &[u8]) -> &[u8] {
    memchr::memrchr(b'.', name).map_or(name, |dot| &name[dot + 1..])
}
