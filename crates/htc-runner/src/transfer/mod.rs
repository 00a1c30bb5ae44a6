//! Execution of planned file transfers: a helper process copies files, and plugins are children of the starter.
//!
//! The helper calls [`execute_task`]; a [`TransferSession`] is one transfer from its first task to its last plugin.

mod directory_limits;
mod file_copy;
mod sender_files;
mod session;
mod task_executor;

pub use sender_files::read_catalogue;
pub use session::{
    KnownPlugins, PluginCallEnd, TransferSession, TransferStep, TransferStepResult, plugin_data,
};
pub use task_executor::execute_task;
