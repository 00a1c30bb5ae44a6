//! Small text tools that ads need and that their users need with them: spans into sources, carets, caseless comparison, list
//! wildcards, and the two quoting languages of job arguments and environments.
//!
//! Text is bytes here. HTCondor never looks at encodings, so nothing is ever re-encoded.

pub mod arguments;
pub mod calendar;
pub mod caret;
pub mod caseless;
pub mod environment;
pub mod list;
pub mod similar_names;
pub mod space;
pub mod span;
pub mod strftime;

pub use span::{LineCounter, Position, Span};
