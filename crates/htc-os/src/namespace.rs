//! Private mount, PID and network namespaces of a child. All functions run between clone and exec under the
//! rules of `child`: they do not allocate or lock, and call only thin wrappers of system calls.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_int};
use std::ptr;

use nix::errno::Errno;
use nix::libc;

use htc_base::process::ProcessIdentity;

use super::child_failure::{ChildFailure, check_result, failure_of_last_call};
use super::child_plan::ChildPlan;
use super::spawn_error::SpawnStage;

/// Returns the flags of `clone` that create the child's namespaces.
pub(super) fn clone_flags(plan: &ChildPlan) -> c_int {
    let processes = if plan.namespaces.private_pids { libc::CLONE_NEWPID } else { 0 };
    let network = if plan.namespaces.no_network { libc::CLONE_NEWNET } else { 0 };
    let user = if plan.id_maps.is_some() { libc::CLONE_NEWUSER } else { 0 };
    processes | network | user
}

/// Returns the child's pid in the parent's PID namespace. A child in its own PID namespace reads this pid from
/// /proc, which at this point still belongs to the parent's namespace.
pub(super) fn outer_pid(plan: &ChildPlan) -> c_int {
    // SAFETY: plain system calls; the buffer is a live local.
    unsafe {
        if !plan.namespaces.private_pids {
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

/// Maps our user id and group id to themselves in the child's user namespace.
pub(super) fn map_user(plan: &ChildPlan) -> Result<(), ChildFailure> {
    let Some([user, group]) = &plan.id_maps else { return Ok(()) };
    write_proc_file(c"/proc/self/uid_map", user)?;
    // An unprivileged process may write `gid_map` only after it has disabled setgroups.
    write_proc_file(c"/proc/self/setgroups", c"deny")?;
    write_proc_file(c"/proc/self/gid_map", group)
}

fn write_proc_file(path: &CStr, text: &CStr) -> Result<(), ChildFailure> {
    // SAFETY: plain system calls on strings that end in a null byte.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        check_result(file, SpawnStage::Namespace, 0)?;
        let written = libc::write(file, text.as_ptr().cast(), text.count_bytes());
        let done = if written < 0 { Err(failure_of_last_call(SpawnStage::Namespace, 0)) } else { Ok(()) };
        libc::close(file);
        done
    }
}

/// Sets up a private mount namespace with bound directories, a private /dev/shm if requested, and the /proc
/// of a PID namespace.
pub(super) fn set_up_mounts(plan: &ChildPlan) -> Result<(), ChildFailure> {
    if !plan.private_shm && plan.mounts.is_empty() && !plan.namespaces.private_pids {
        return Ok(());
    }
    // SAFETY: plain system calls on strings that live in the plan.
    unsafe {
        check_result(libc::unshare(libc::CLONE_NEWNS), SpawnStage::Namespace, 0)?;
        // Without this, our mounts would propagate to the parent's namespace on machines where / is a shared
        // mount.
        if make_slave(c"/") < 0 {
            check_result(make_slave_outside_chroot(plan), SpawnStage::Namespace, 0)?;
        }
        for (index, (source, target)) in plan.mounts.iter().enumerate() {
            check_result(bind_directory(source, target, plan.identity.as_ref()), SpawnStage::Mount, index)?;
        }
        if plan.private_shm {
            // The reference also mounts /dev/shm in this way, and the child continues even if the mount fails
            // (`AddDevShmMapping`).
            let shm = c"/dev/shm".as_ptr();
            libc::mount(shm, shm, c"tmpfs".as_ptr(), 0, ptr::null());
        }
        if plan.namespaces.private_pids {
            let proc = c"proc".as_ptr();
            check_result(
                libc::mount(proc, c"/proc".as_ptr(), proc, 0, ptr::null()),
                SpawnStage::Namespace,
                0,
            )?;
        }
    }
    Ok(())
}

/// Prevents mounts below a path from propagating to other namespaces. The path must be a mount point.
fn make_slave(path: &CStr) -> c_int {
    let none = ptr::null();
    // SAFETY: a plain system call on strings that end in a null byte.
    unsafe { libc::mount(none, path.as_ptr(), none, libc::MS_REC | libc::MS_SLAVE, ptr::null()) }
}

/// Prevents mounts from propagating to other namespaces if we are in a chroot whose `/` is an ordinary
/// directory. Propagation can only be changed at the root of a mount, which is outside of the chroot, so the
/// child leaves the chroot for this one call and then returns to it.
fn make_slave_outside_chroot(plan: &ChildPlan) -> c_int {
    // If the root directory is not above the working directory, `..` leads out of the chroot.
    let subdirectory = plan.mounts.first().map_or(c"/proc", |(_, target)| target.as_c_str());
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: plain system calls on strings that live in the plan or are static.
    unsafe {
        let (root, cwd) = (libc::open(c"/".as_ptr(), flags), libc::open(c".".as_ptr(), flags));
        if root < 0 || cwd < 0 || libc::fchdir(root) < 0 || libc::chroot(subdirectory.as_ptr()) < 0 {
            return -1;
        }
        // A path has fewer components than this number. At the root of the namespace, `..` is the same directory.
        for _ in 0..libc::PATH_MAX / 2 {
            libc::chdir(c"..".as_ptr());
        }
        let changed = make_slave(c".");
        let errno = Errno::last_raw();
        if libc::fchdir(root) < 0 || libc::chroot(c".".as_ptr()) < 0 || libc::fchdir(cwd) < 0 {
            // The child must not continue outside of its chroot.
            libc::_exit(127);
        }
        libc::close(root);
        libc::close(cwd);
        Errno::set_raw(errno);
        changed
    }
}

/// Binds the directory `source` over the directory `target`. The source is opened with the permissions of the account
/// that will use the mount, because that account may have replaced the source by a link to a directory that it cannot
/// access.
fn bind_directory(source: &CString, target: &CString, identity: Option<&ProcessIdentity>) -> c_int {
    let mut path = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
    let mut from = source.as_ptr();
    // SAFETY: plain system calls on strings that live in the plan or in this function; the calls after `open`
    // do not change errno.
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
            for (place, digit) in path.iter_mut().skip(14).zip(to_digits(descriptor, &mut [0; 11])) {
                *place = *digit;
            }
            from = path.as_ptr().cast();
        }
        libc::mount(from, target.as_ptr(), ptr::null(), libc::MS_BIND | libc::MS_REC, ptr::null())
    }
}

/// Writes the digits of a nonnegative number to the buffer and returns an iterator over these digits.
pub(super) fn to_digits(number: c_int, buffer: &mut [u8; 11]) -> impl Iterator<Item = &u8> {
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
