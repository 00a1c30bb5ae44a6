//! Carries out what `transfer` plans: a helper process copies, plugins are children of the starter.
//!
//! [`execute_task`] is what the helper does; [`TransferSession`] is one transfer from its first task to its last plugin.

mod directory_limits;
mod file_copy;
mod sender_files;
mod session;
mod task_executor;

pub use sender_files::read_catalogue;
pub use session::{KnownPlugins, TransferSession, TransferStep, TransferStepResult, plugin_data};
pub use task_executor::execute_task;
