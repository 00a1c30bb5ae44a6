//! Reading and writing of ads: all syntaxes, streams of ads, and the memo of what was read before.

pub(crate) mod delimiter;
mod expr_template;
pub mod format;
pub(crate) mod line_memo;
pub(crate) mod line_reader;
pub mod stream;
