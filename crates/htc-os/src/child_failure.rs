//! Failure of a child between clone and exec. As `child` requires, the code here does not allocate or lock.

use std::ffi::c_int;

use nix::errno::Errno;
use nix::libc;

use super::spawn_error::SpawnStage;

/// Step in which the child failed, with the error number and the index of the file concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChildFailure {
    pub(super) stage: SpawnStage,
    pub(super) errno: c_int,
    pub(super) index: usize,
}

impl ChildFailure {
    /// Returns true if the child would have to wait for a process to open the other end of a FIFO.
    pub(super) fn is_blocked_on_fifo(self) -> bool {
        self.errno == libc::EAGAIN
            && matches!(self.stage, SpawnStage::Stdin | SpawnStage::Stdout | SpawnStage::Stderr)
    }
}

/// Returns the failure of the last system call.
pub(super) fn failure_of_last_call(stage: SpawnStage, index: usize) -> ChildFailure {
    // The parent sleeps until exec, so errno was set by the child.
    ChildFailure { stage, errno: Errno::last_raw(), index }
}

/// Converts the return value of a system call, which is negative on failure, to a result.
pub(super) fn check_result(result: c_int, stage: SpawnStage, index: usize) -> Result<(), ChildFailure> {
    if result < 0 { Err(failure_of_last_call(stage, index)) } else { Ok(()) }
}
