//! Plain data and small texts on which the crates of `htc-hooks` stand; no system call.
//!
//! [`world::World`] is the trait for everything outside; [`quirks`] is the table of places where HTCondor 25.14 loses what its
//! manual promises; [`process`] says what a child is to be and how it ended.

pub mod job;
pub mod process;
pub mod quirks;
pub mod text;
pub mod time;
pub mod world;
