//! Where a child gave up between clone and exec. No allocation, no lock, as `child` says.

use std::ffi::c_int;

use nix::errno::Errno;
use nix::libc;

use super::spawn_error::SpawnStage;

/// Where a child gave up, why, and at which of several files.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChildFailure {
    pub(super) stage: SpawnStage,
    pub(super) errno: c_int,
    pub(super) index: usize,
}

impl ChildFailure {
    /// Whether the child would have to wait for the other end of a FIFO.
    pub(super) fn is_blocked_on_fifo(self) -> bool {
        self.errno == libc::EAGAIN
            && matches!(self.stage, SpawnStage::Stdin | SpawnStage::Stdout | SpawnStage::Stderr)
    }
}

/// The failure of the call just made.
pub(super) fn failure_of_last_call(stage: SpawnStage, index: usize) -> ChildFailure {
    // Ours while the parent sleeps.
    ChildFailure { stage, errno: Errno::last_raw(), index }
}

/// Turns a system call's result into ours.
pub(super) fn check_result(result: c_int, stage: SpawnStage, index: usize) -> Result<(), ChildFailure> {
    if result < 0 { Err(failure_of_last_call(stage, index)) } else { Ok(()) }
}
