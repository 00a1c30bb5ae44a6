//! Detection of a standard output that was closed when the program was started (`>&-`).
//!
//! The Rust runtime opens /dev/null for a closed descriptor before `main`. After that it cannot be
//! distinguished from a requested /dev/null, and output is lost without an error. A function in the list of
//! initializers therefore checks the descriptor earlier.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;
use nix::sys::epoll::{Epoll, EpollCreateFlags};

static STDOUT_CLOSED_AT_START: AtomicBool = AtomicBool::new(false);

extern "C" fn record_stdout_state() {
    // SAFETY: F_GETFD touches no memory, whatever the descriptor is.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_CLOSED_AT_START.store(flags == -1, Ordering::Relaxed);
}

/// Entry in the list of functions that the loader calls before `main`. The loader passes arguments, which a C
/// function may ignore.
// SAFETY: the section contains pointers to C functions, and `record_stdout_state` needs nothing that `main`
// would have to prepare.
#[used]
#[unsafe(link_section = ".init_array")]
static RECORD_STDOUT_AT_START: extern "C" fn() = record_stdout_state;

/// Returns true if standard output was closed when the program was started.
pub fn stdout_was_closed() -> bool {
    STDOUT_CLOSED_AT_START.load(Ordering::Relaxed)
}

/// If standard output was closed, replaces it by a descriptor that cannot be written to: a program that
/// writes output then fails with `EINVAL`, and one without output succeeds. (The standard library treats
/// `EBADF` as success.)
pub fn replace_closed_stdout() {
    if stdout_was_closed()
        && let Ok(refuses) = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
    {
        // If this fails, the output is lost, as without it.
        let _ = nix::unistd::dup2_stdout(&refuses.0);
    }
}
