//! Plain data types and text functions shared by the crates of `htc-hooks`; no system calls.
//!
//! [`world::World`] is the interface to everything outside the process; [`quirks`] is the table of cases in which HTCondor
//! 25.14 differs from its manual; [`process`] has the specification of child processes and their exit status.

mod fixable_error;
pub mod job;
pub mod process;
pub mod quirks;
pub mod text;
pub mod time;
pub mod world;

pub use fixable_error::FixableError;
