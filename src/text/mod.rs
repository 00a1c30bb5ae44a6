//! Small text tools that every room shares: spans into sources, caseless comparison, list wildcards, quantities,
//! and the two quoting languages of job arguments and environments.
//!
//! Text is bytes here. HTCondor never looks at encodings, so nothing is ever re-encoded.

pub mod arguments;
pub mod calendar;
pub mod caret;
pub mod caseless;
pub mod environment;
pub mod list;
pub mod number;
pub mod printf;
pub mod quantity;
pub mod similar;
pub mod span;
pub mod strftime;

pub use span::{LineCounter, Position, Span};
