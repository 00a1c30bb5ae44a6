//! The ids of the calling thread alone, which only the kernel's own calls change: those of the C library change all threads.

#![allow(unsafe_code)]

use std::io::Result;

use nix::libc;

/// Leaves a real or saved id as it is.
const SAME: u32 = u32::MAX;

pub(super) fn groups(groups: &[u32]) -> Result<()> {
    // SAFETY: the kernel reads as many numbers as the slice has.
    told(unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) })
}

pub(super) fn effective_gid(gid: u32) -> Result<()> {
    // SAFETY: numbers only.
    told(unsafe { libc::syscall(libc::SYS_setresgid, SAME, gid, SAME) })
}

pub(super) fn effective_uid(uid: u32) -> Result<()> {
    // SAFETY: numbers only.
    told(unsafe { libc::syscall(libc::SYS_setresuid, SAME, uid, SAME) })
}

fn told(status: libc::c_long) -> Result<()> {
    if status == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
