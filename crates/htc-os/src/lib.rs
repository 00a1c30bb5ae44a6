//! Interface to the kernel: child processes, signals, pipes, process families, accounts, files. This crate
//! does not know about slots.
//!
//! [`Reactor`] is the main loop of a program. [`RealWorld`] gives evaluation and configuration access to the
//! machine. `unsafe` is used in `child`, `own_process`, `namespace` and `thread_ids`, and for one system call
//! each in `closed_stdout` and `wake_on_lan`.

pub mod accounting;
mod bounded_read;
pub mod cgroup;
mod child;
mod child_failure;
mod child_plan;
pub mod clock;
mod closed_stdout;
pub mod directory_tree;
pub mod disk_usage;
pub mod file_lock;
pub mod files;
pub mod identity;
mod interrupts;
mod line_output;
mod machine_info;
pub mod mounts;
mod namespace;
pub mod namespace_init;
pub mod network_adapter;
mod new_file;
mod overwrite;
mod own_process;
mod parallel_batches;
mod pipes;
pub mod process_family;
pub mod process_table;
mod reactor;
mod reactor_event;
mod real_world;
mod running_child;
mod signals;
mod spawn;
mod spawn_error;
mod stop_flag;
pub mod terminal;
mod thread_ids;
pub mod tracking_group;
mod wake_on_lan;

pub use bounded_read::{read_at_most, read_whole};
pub use closed_stdout::{replace_closed_stdout, stdout_was_closed};
pub use line_output::LineOutput;
pub use new_file::NewFile;
pub use overwrite::find_overwritten_input;
pub use own_process::duplicate_descriptor;
pub use parallel_batches::{process_in_parallel, thread_count};
pub use process_family::SignalScope;
pub use reactor::{Interest, Reactor};
pub use reactor_event::{
    CapturedOutput, ChildId, LeftoverProcess, OutputStream, ReactorEvent, StdinDelivery, WatchToken,
};
pub use real_world::{RealWorld, SharedUserMaps, local_utc_offset};
pub use signals::{ENDING_SIGNALS, block_file_size_signal, sigpipe_was_ignored};
pub use spawn::interpreter_of;
pub use spawn_error::{SpawnError, SpawnStage, strerror};
pub use stop_flag::{StopFlag, StoppableReader};
