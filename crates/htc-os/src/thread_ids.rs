//! System calls that change the ids of the calling thread only. The functions of the C library would change
//! the ids of all threads.

#![allow(unsafe_code)]

use std::io::Result;

use nix::libc;

/// Argument that leaves a real or saved id unchanged.
const UNCHANGED_ID: u32 = u32::MAX;

pub(super) fn set_groups(groups: &[u32]) -> Result<()> {
    // SAFETY: the kernel reads as many numbers as the slice has.
    check_status(unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) })
}

pub(super) fn set_effective_gid(gid: u32) -> Result<()> {
    // SAFETY: all arguments are numbers.
    check_status(unsafe { libc::syscall(libc::SYS_setresgid, UNCHANGED_ID, gid, UNCHANGED_ID) })
}

pub(super) fn set_effective_uid(uid: u32) -> Result<()> {
    // SAFETY: all arguments are numbers.
    check_status(unsafe { libc::syscall(libc::SYS_setresuid, UNCHANGED_ID, uid, UNCHANGED_ID) })
}

fn check_status(status: libc::c_long) -> Result<()> {
    if status == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
