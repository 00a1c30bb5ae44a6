//! File transfer of a job without file access: which files are transferred, by which plugin, and how failures
//! are reported.
//!
//! [`TransferRequest`] is the transfer that a job ad asks for. A [`TransferTask`] describes one direction of one
//! transfer as plain data; [`expand_file_list`] determines its files from the sender's file system ([`SenderFiles`]).
//! [`TransferPlugins`] maps URL schemes to plugins and implements their protocol. A [`TransferFailure`] has the codes
//! and messages of the reference. The crate `htc-runner` performs the transfer.
//!
//! Reference: `file_transfer.cpp`, `jic_shadow.cpp`, `baseshadow.cpp`.

mod expand;
mod failure;
mod outcome;
mod plugin;
mod plugin_call;
mod plugin_records;
mod remaps;
mod request;
mod tally;
mod task;
pub mod url;

pub use expand::{
    ExpandedFileList, SenderFileInfo, SenderFileKind, SenderFiles, TransferItem, expand_file_list,
};
pub use failure::{DOWNLOAD_FILE_ERROR, FailureSide, TransferFailure, TransferRetry, UPLOAD_FILE_ERROR};
pub use outcome::TransferOutcome;
pub use plugin::{MultiFilePluginSettings, TransferPlugin, TransferPlugins, plugin_name};
pub use plugin_call::{PluginCall, PluginExit, PluginFailure, PluginResult, UrlFile};
pub use plugin_records::{PluginRecords, TransferClass};
pub use remaps::{DEFAULT_MAX_REMAP_RECURSIONS, RemapCycle, Remaps};
pub use request::{
    JOB_STDERR_FILE, JOB_STDOUT_FILE, OutputFiles, TransferRequest, TransferRequestError,
    WhenToTransferOutput,
};
pub use tally::{DIRECTORY_OVERHEAD_BYTES, TransferTally};
pub use task::{
    DirectorySnapshot, FileList, FileTransferError, TransferKind, TransferTask, TransferTaskResult,
};
