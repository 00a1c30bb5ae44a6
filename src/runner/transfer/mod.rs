//! Carries out what `transfer` plans: a helper process copies, plugins are children of the starter.
//!
//! [`carry()`] is what the helper does; [`Course`] is one transfer from its first task to its last plugin.

mod carry;
mod course;
mod limits;
mod sender_files;
mod store;

pub use carry::carry;
pub use course::{Answer, Course, KnownPlugins, Step, plugin_data};
pub use sender_files::catalogue;
