//! System calls about this process itself that need `unsafe`: its signals, nice value and descriptors.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr;

use nix::libc;

/// Returns true if a signal has its default action: it has no handler and is not ignored. SIGHUP is ignored
/// under `nohup`.
pub(super) fn has_default_action(signal: i32) -> bool {
    // SAFETY: zero is valid storage, which sigaction fills; the call changes no action.
    unsafe {
        let mut current: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &mut current) == 0 && current.sa_sigaction == libc::SIG_DFL
    }
}

/// Returns the nice value of this process.
pub(super) fn own_nice_value() -> i32 {
    // SAFETY: a plain system call; an error of −1 cannot occur for the calling process.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// Duplicates an open descriptor of this process, given by its number. Children do not inherit the duplicate.
///
/// # Errors
/// Fails if no descriptor with this number is open.
pub fn duplicate_descriptor(descriptor: c_int) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: the number is used in one system call, which fails if no descriptor with this number is open.
    unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()
}

/// Returns true if a descriptor with this number is open in this process.
///
/// Used only for numbers that the user specified (`Stdio::Descriptor`).
pub(super) fn is_descriptor_open(descriptor: i32) -> bool {
    // SAFETY: a plain system call.
    unsafe { libc::fcntl(descriptor, libc::F_GETFD) >= 0 }
}

/// Returns the number of unread bytes in a pipe.
pub(super) fn pending_bytes(pipe: std::os::fd::BorrowedFd<'_>) -> usize {
    use std::os::fd::AsRawFd;
    let mut count: c_int = 0;
    // SAFETY: FIONREAD writes one int to the given address, and the int outlives the call.
    let done = unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut count) };
    if done == 0 { usize::try_from(count).unwrap_or(0) } else { 0 }
}

/// True if SIGPIPE was ignored when the program was started. The Rust runtime always ignores SIGPIPE before
/// `main` runs.
static SIGPIPE_WAS_IGNORED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Pointer to `record_sigpipe_state` in the section of functions that the C library calls before the Rust
/// runtime is set up.
// SAFETY: the section contains pointers to functions that are called once; their arguments can be ignored.
#[used]
#[unsafe(link_section = ".init_array")]
static RECORD_SIGPIPE_AT_START: extern "C" fn() = record_sigpipe_state;

extern "C" fn record_sigpipe_state() {
    // SAFETY: only reads the current action; all bits zero is a valid value of this plain structure.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, ptr::null(), &raw mut action);
        action.sa_sigaction
    };
    SIGPIPE_WAS_IGNORED.store(action == libc::SIG_IGN, std::sync::atomic::Ordering::Relaxed);
}

/// Returns true if the program was started with SIGPIPE ignored.
pub(super) fn sigpipe_was_ignored() -> bool {
    SIGPIPE_WAS_IGNORED.load(std::sync::atomic::Ordering::Relaxed)
}
