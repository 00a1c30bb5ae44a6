//! Which files of a job go where, by which plugin, and what a failure is called: everything about file transfer that can be
//! said without touching a file.
//!
//! [`TransferRequest`] is what a job's ad asks for. A [`TransferTask`] is one way of one transfer as plain data; [`expand`] says, by what
//! the sending side sees ([`SenderFiles`]), which files that are. [`Plugins`] knows who fetches which URL and speaks their
//! protocol; a [`Failure`] has the codes and words of the reference. Who carries it out stands in `runner::transfer`.
//!
//! Reference: `file_transfer.cpp`, `jic_shadow.cpp`, `baseshadow.cpp`.

mod expand;
mod failure;
mod plugin;
mod plugin_call;
mod remaps;
mod request;
mod tally;
mod task;
mod transferred;
pub mod url;

pub use expand::{Expanded, Item, Kind, Seen, SenderFiles, expand};
pub use failure::{DOWNLOAD_FILE_ERROR, Failure, Side, UPLOAD_FILE_ERROR};
pub use plugin::{ListPlugins, Plugin, Plugins, name_of};
pub use plugin_call::{Ended, PluginCall, PluginEnd, UrlFile};
pub use remaps::{Cycle, MOST_REMAPS, Remaps};
pub use request::{Mistake, Output, STDERR, STDOUT, TransferRequest, When};
pub use tally::{OF_DIRECTORY, Tally};
pub use task::{Catalogue, List, Refused, TransferResult, TransferTask, Way};
pub use transferred::Transferred;
