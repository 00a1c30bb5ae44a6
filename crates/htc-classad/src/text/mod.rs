//! Text tools for ads and their users: ranges in sources, carets, case-insensitive comparison, wildcards in lists,
//! and the two syntaxes of job arguments and environments.
//!
//! All text is bytes: HTCondor ignores encodings, so nothing is ever re-encoded.

pub mod arguments;
pub mod calendar;
pub mod caret;
pub mod caseless;
pub mod environment;
pub mod list;
pub mod plural;
pub mod similar_names;
pub mod space;
pub mod span;
pub mod strftime;

pub use span::{LineCounter, Position, Span};
