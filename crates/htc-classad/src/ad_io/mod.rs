//! Ads read and written: every form, streams of them, and the memory of what was read before.

pub(crate) mod delimiter;
mod expr_template;
pub mod format;
pub(crate) mod line_memo;
pub(crate) mod line_reader;
pub mod stream;
