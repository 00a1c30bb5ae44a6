//! Detection of a standard output that was closed when the program was started (`>&-`).
//!
//! Before `main`, the Rust runtime opens /dev/null for a closed descriptor. From then on, a closed standard
//! output looks like a redirection to /dev/null, and output is lost without an error. A function that the
//! loader calls as an initializer therefore checks the descriptor before the runtime does.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;
use nix::sys::epoll::{Epoll, EpollCreateFlags};

static STDOUT_CLOSED_AT_START: AtomicBool = AtomicBool::new(false);

extern "C" fn record_stdout_state() {
    // SAFETY: F_GETFD accesses no memory, whatever the descriptor refers to.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_CLOSED_AT_START.store(flags == -1, Ordering::Relaxed);
}

/// Pointer to `record_stdout_state` in the section of functions that the loader calls before `main`. The
/// loader passes arguments, which a C function may ignore.
// SAFETY: the section contains pointers to C functions, and `record_stdout_state` needs nothing that `main`
// would have to prepare.
#[used]
#[unsafe(link_section = ".init_array")]
static RECORD_STDOUT_AT_START: extern "C" fn() = record_stdout_state;

/// Returns true if standard output was closed when the program was started.
pub fn stdout_was_closed() -> bool {
    STDOUT_CLOSED_AT_START.load(Ordering::Relaxed)
}

/// If standard output was closed at the start, replaces it by a descriptor that cannot be written to: writing
/// output then fails with `EINVAL`, and a program that writes nothing succeeds. A closed descriptor would not
/// cause an error, because the standard library ignores `EBADF`.
pub fn replace_closed_stdout() {
    if stdout_was_closed()
        && let Ok(refuses) = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
    {
        // If dup2 fails, output is lost without an error, as it would be without this function.
        let _ = nix::unistd::dup2_stdout(&refuses.0);
    }
}
