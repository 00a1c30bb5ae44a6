//! The kernel: children, signals, pipes, process families, accounts, files. It knows processes and knows no slot.
//!
//! [`Reactor`] is the one loop of a program; [`RealWorld`] is what evaluation and configuration see of the outside.
//! `unsafe` stands in `child`, `namespace`, `thread_ids` and, for a question to the kernel each, in `standard` and `wake_on_lan`.

pub mod accounting;
pub mod adapter;
pub mod cgroup;
mod child;
mod child_failure;
mod child_plan;
pub mod clock;
pub mod disk_usage;
mod enough;
mod event;
pub mod family;
pub mod file_lock;
pub mod files;
pub mod identity;
mod interrupts;
mod machine;
pub mod mounts;
mod namespace;
pub mod namespace_init;
mod new_file;
mod outlet;
mod overwrite;
mod pipes;
mod portions;
pub mod process_table;
mod reactor;
mod real_world;
mod running;
mod signals;
mod spawn;
mod spawn_error;
mod standard;
pub mod terminal;
mod thread_ids;
pub mod tracking;
pub mod tree;
mod wake_on_lan;
mod whole;

pub use child::duplicate;
pub use enough::{Enough, Until};
pub use event::{Captured, ChildId, Event, Given, Leftover, Stream, Token};
pub use family::Whom;
pub use new_file::NewFile;
pub use outlet::Outlet;
pub use overwrite::overwritten;
pub use portions::{threads, work_off};
pub use reactor::{Interest, Reactor};
pub use real_world::{RealWorld, SharedMaps, local_time};
pub use signals::sigpipe_was_ignored;
pub use spawn::interpreter_of;
pub use spawn_error::{SpawnError, Stage, strerror};
pub use standard::{refuse_closed_stdout, stdout_was_closed};
pub use whole::read_whole;
