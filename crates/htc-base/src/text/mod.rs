//! Small text tools that every room shares: numbers and printf; and those that ads are read with
//! ([`htc_classad::text`]): spans into sources, caseless comparison, list wildcards, quoting.
//!
//! Text is bytes here. HTCondor never looks at encodings, so nothing is ever re-encoded.

pub mod control_characters;
pub mod count;
pub mod number;
pub mod printf;
pub mod table;
pub mod words;

pub use htc_classad::text::{
    arguments, calendar, caret, caseless, environment, list, similar_names, space, span, strftime,
};
pub use span::{LineCounter, Position, Span};
pub use words::words;

/// The name of a parameter without what stands before its last dot: the daemon or the local name that it is for.
pub fn unqualified_name(name: &[u8]) -> &[u8] {
    memchr::memrchr(b'.', name).map_or(name, |dot| &name[dot + 1..])
}
