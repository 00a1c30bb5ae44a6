//! Carries out what `transfer` plans: a helper process copies, plugins are children of the starter.
//!
//! [`carry()`] is what the helper does; [`TransferSession`] is one transfer from its first task to its last plugin.

mod carry;
mod limits;
mod sender_files;
mod session;
mod store;

pub use carry::carry;
pub use sender_files::catalogue;
pub use session::{Answer, KnownPlugins, Step, TransferSession, plugin_data};
