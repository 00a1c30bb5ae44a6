//! Failure of a child between clone and exec. No allocation and no lock, as required by `child`.

use std::ffi::c_int;

use nix::errno::Errno;
use nix::libc;

use super::spawn_error::SpawnStage;

/// Failed step of a child, with the error number and the index of the file concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChildFailure {
    pub(super) stage: SpawnStage,
    pub(super) errno: c_int,
    pub(super) index: usize,
}

impl ChildFailure {
    /// Returns true if the child would have to wait for the other end of a FIFO.
    pub(super) fn is_blocked_on_fifo(self) -> bool {
        self.errno == libc::EAGAIN
            && matches!(self.stage, SpawnStage::Stdin | SpawnStage::Stdout | SpawnStage::Stderr)
    }
}

/// Returns the failure of the last system call.
pub(super) fn failure_of_last_call(stage: SpawnStage, index: usize) -> ChildFailure {
    // The parent sleeps meanwhile, so that errno is that of the child.
    ChildFailure { stage, errno: Errno::last_raw(), index }
}

/// Converts the result of a system call.
pub(super) fn check_result(result: c_int, stage: SpawnStage, index: usize) -> Result<(), ChildFailure> {
    if result < 0 { Err(failure_of_last_call(stage, index)) } else { Ok(()) }
}
