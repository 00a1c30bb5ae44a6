//! Where a child gave up between clone and exec. No allocation, no lock, as `child` says.

use std::ffi::c_int;

use nix::errno::Errno;
use nix::libc;

use super::spawn_error::Stage;

/// Where a child gave up, why, and at which of several files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    pub(super) stage: Stage,
    pub(super) errno: c_int,
    pub(super) index: usize,
}

impl Failure {
    /// Whether the child would have to wait for the other end of a FIFO.
    pub(super) fn is_fifo(self) -> bool {
        self.errno == libc::EAGAIN && matches!(self.stage, Stage::Stdin | Stage::Stdout | Stage::Stderr)
    }
}

/// The failure of the call just made.
pub(super) fn failed(stage: Stage, index: usize) -> Failure {
    // Ours while the parent sleeps.
    Failure { stage, errno: Errno::last_raw(), index }
}

/// Turns a system call's result into ours.
pub(super) fn check(result: c_int, stage: Stage, index: usize) -> Result<(), Failure> {
    if result < 0 { Err(failed(stage, index)) } else { Ok(()) }
}
