//! Whether the program was started with standard output closed (`>&-`).
//!
//! The runtime of the language opens /dev/null in the place of a closed descriptor before `main`, after which nobody can
//! tell it from one that was asked for, and what is written is lost with success. So a function of the loader's list
//! looks earlier.

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

/// In the list of what the loader calls before `main`; it passes arguments, which a C function may leave alone.
// SAFETY: the section holds pointers to C functions, and `look` needs nothing that `main` would have to prepare.
#[used]
#[unsafe(link_section = ".init_array")]
static RECORD_STDOUT_AT_START: extern "C" fn() = record_stdout_state;

/// Whether standard output was closed when the program was started.
pub fn stdout_was_closed() -> bool {
    STDOUT_CLOSED_AT_START.load(Ordering::Relaxed)
}

/// Where standard output was closed, puts a descriptor in its place that nothing can be written to: a program that has
/// something to say fails with `EINVAL`, and one that has not does not. (`EBADF` would be taken for success.)
pub fn replace_closed_stdout() {
    if stdout_was_closed()
        && let Ok(refuses) = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
    {
        // Where this fails, output is lost as it would have been.
        let _ = nix::unistd::dup2_stdout(&refuses.0);
    }
}
