//! Which files of a job go where, by which plugin, and what a failure is called: everything about file transfer that can be
//! said without touching a file.
//!
//! [`Wishes`] is what a job's ad asks for. An [`Errand`] is one way of one transfer as plain data; [`expand`] says, by what
//! the sending side sees ([`Sight`]), which files that are. [`Plugins`] knows who fetches which URL and speaks their
//! protocol; a [`Failure`] has the codes and words of the reference. Who carries it out stands in `runner::transfer`.
//!
//! Reference: `file_transfer.cpp`, `jic_shadow.cpp`, `baseshadow.cpp`.

mod errand;
mod expand;
mod failure;
mod plugin;
mod plugin_call;
mod remaps;
mod tally;
mod transferred;
pub mod url;
mod wishes;

pub use errand::{Carried, Catalogue, Errand, List, Refused, Way};
pub use expand::{Item, Kind, Seen, Sight, expand};
pub use failure::{Failure, Side};
pub use plugin::{Plugin, Plugins};
pub use plugin_call::{Ended, PluginCall, PluginEnd, UrlFile};
pub use remaps::{Cycle, MOST_REMAPS, Remaps};
pub use tally::{OF_DIRECTORY, Tally};
pub use transferred::Transferred;
pub use wishes::{Mistake, Output, STDERR, STDOUT, When, Wishes};
