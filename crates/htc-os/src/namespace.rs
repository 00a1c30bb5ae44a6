//! Namespaces of a child: mounts, processes and network of its own. All of it runs between clone and exec, as `child` says:
//! no allocation, no lock, nothing but thin wrappers of system calls.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_int};
use std::ptr;

use nix::libc;

use htc_base::process::Identity;

use super::child_failure::{Failure, check, failed};
use super::child_plan::Plan;
use super::spawn_error::Stage;

/// What `clone` is told of them.
pub(super) fn flags(plan: &Plan) -> c_int {
    let processes = if plan.namespaces.processes { libc::CLONE_NEWPID } else { 0 };
    let network = if plan.namespaces.network { libc::CLONE_NEWNET } else { 0 };
    let user = if plan.maps.is_some() { libc::CLONE_NEWUSER } else { 0 };
    processes | network | user
}

/// Our pid as our maker knows it. In a PID namespace that is read off /proc, which is still our maker's.
pub(super) fn outer_pid(plan: &Plan) -> c_int {
    // SAFETY: plain system calls; the buffer is a live local.
    unsafe {
        if !plan.namespaces.processes {
            return libc::getpid();
        }
        let mut text = [0u8; 12];
        let length = libc::readlink(c"/proc/self".as_ptr(), text.as_mut_ptr().cast(), text.len());
        let digits = text.iter().take(usize::try_from(length).unwrap_or(0));
        digits.fold(0, |number: c_int, digit| {
            number.wrapping_mul(10).wrapping_add(c_int::from(digit.wrapping_sub(b'0')))
        })
    }
}

/// Makes us in our user namespace who we are outside.
pub(super) fn map_user(plan: &Plan) -> Result<(), Failure> {
    let Some([user, group]) = &plan.maps else { return Ok(()) };
    write(c"/proc/self/uid_map", user)?;
    // The kernel wants that before it takes the map of somebody without rights.
    write(c"/proc/self/setgroups", c"deny")?;
    write(c"/proc/self/gid_map", group)
}

fn write(path: &CStr, text: &CStr) -> Result<(), Failure> {
    // SAFETY: plain system calls on strings that end in a null byte.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        check(file, Stage::Namespace, 0)?;
        let written = libc::write(file, text.as_ptr().cast(), text.count_bytes());
        let done = if written < 0 { Err(failed(Stage::Namespace, 0)) } else { Ok(()) };
        libc::close(file);
        done
    }
}

/// A private mount namespace with directories bound over others, a /dev/shm of its own where that is wished, and the /proc
/// of a PID namespace.
pub(super) fn mount(plan: &Plan) -> Result<(), Failure> {
    if !plan.private_shm && plan.mounts.is_empty() && !plan.namespaces.processes {
        return Ok(());
    }
    let none = ptr::null();
    // SAFETY: plain system calls on strings that live in the plan.
    unsafe {
        check(libc::unshare(libc::CLONE_NEWNS), Stage::Mount, 0)?;
        // Otherwise our mounts would show in the parent's namespace on machines where / is shared.
        let flags = libc::MS_REC | libc::MS_SLAVE;
        check(libc::mount(none, c"/".as_ptr(), none, flags, ptr::null()), Stage::Mount, 0)?;
        for (index, (source, target)) in plan.mounts.iter().enumerate() {
            check(bind_one(source, target, plan.identity.as_ref()), Stage::Mount, index)?;
        }
        if plan.private_shm {
            // As the reference mounts it; where there is none the child goes on without (`AddDevShmMapping`).
            let shm = c"/dev/shm".as_ptr();
            libc::mount(shm, shm, c"tmpfs".as_ptr(), 0, ptr::null());
        }
        if plan.namespaces.processes {
            let proc = c"proc".as_ptr();
            check(libc::mount(proc, c"/proc".as_ptr(), proc, 0, ptr::null()), Stage::Namespace, 0)?;
        }
    }
    Ok(())
}

/// Binds one directory over another. It is opened with the rights of the account that is to use it: that account may have
/// put a link in its place, which must not show it what it could not get at by itself.
fn bind_one(source: &CString, target: &CString, identity: Option<&Identity>) -> c_int {
    let mut path = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
    let mut from = source.as_ptr();
    // SAFETY: plain system calls on strings that live in the plan or here; the last change no errno.
    unsafe {
        if let Some(identity) = identity {
            libc::syscall(libc::SYS_setgroups, identity.groups.len(), identity.groups.as_ptr());
            libc::setfsgid(identity.gid);
            libc::setfsuid(identity.uid);
            let descriptor = libc::open(from, libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC);
            libc::setfsuid(libc::geteuid());
            libc::setfsgid(libc::getegid());
            if descriptor < 0 {
                return descriptor;
            }
            for (place, digit) in path.iter_mut().skip(14).zip(digits(descriptor, &mut [0; 11])) {
                *place = *digit;
            }
            from = path.as_ptr().cast();
        }
        libc::mount(from, target.as_ptr(), ptr::null(), libc::MS_BIND | libc::MS_REC, ptr::null())
    }
}

/// The digits of a number that is not negative.
pub(super) fn digits(number: c_int, buffer: &mut [u8; 11]) -> impl Iterator<Item = &u8> {
    let mut rest = number.unsigned_abs();
    let mut count = 0;
    for place in buffer.iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    buffer.iter().skip(11 - count)
}
