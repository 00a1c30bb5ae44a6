//! Small text tools that every room shares: numbers, quantities and printf; and those that ads are read with
//! ([`htc_classad::text`]): spans into sources, caseless comparison, list wildcards, quoting.
//!
//! Text is bytes here. HTCondor never looks at encodings, so nothing is ever re-encoded.

pub mod number;
pub mod printf;
pub mod quantity;
pub(crate) mod table;

pub use htc_classad::text::{
    arguments, calendar, caret, caseless, environment, list, similar, span, strftime,
};
pub use span::{LineCounter, Position, Span};
