//! Ads read and written: every form, streams of them, and the memory of what was read before.

pub(crate) mod delimiter;
pub mod format;
pub(crate) mod lines;
pub(crate) mod memo;
mod skeleton;
pub mod stream;
