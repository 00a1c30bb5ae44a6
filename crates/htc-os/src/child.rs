//! Creation and reaping of child processes by the few system calls that need `unsafe`.
//!
//! A child is created with `clone(CLONE_VM | CLONE_VFORK)`, as in `posix_spawn`: the parent's memory is not copied,
//! however large it is, and the parent sleeps until the child has executed its program or failed. The child reports a
//! failure by writing to the shared memory. The parent can therefore distinguish a program that could not be executed
//! from a program that exited with status 127. Between clone and exec, the child allocates nothing, takes no lock and
//! calls only thin wrappers of system calls.

#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::libc;

use htc_base::process::{ProcessIdentity, ProcessUsage, ResourceLimitKind, SessionMode};

use super::child_failure::{ChildFailure, check_result, failure_of_last_call};
use super::child_plan::{AncestorMarker, ChildPlan, ChildStandardFile, RawResourceLimit};
use super::namespace::{self, to_digits};
use super::spawn_error::SpawnStage;

/// Children that this module created and has not reaped yet. There is one set for the whole process, because the
/// kernel also has one list of children per process. The set distinguishes our own children from orphans that
/// were reparented to this process, so that reaping orphans never takes the exit status of a child that another
/// part of the program waits for.
static UNREAPED_CHILDREN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn lock_unreaped_children() -> MutexGuard<'static, BTreeSet<i32>> {
    UNREAPED_CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes those pids from `pids` that belong to children created and not yet reaped by this process.
pub(super) fn exclude_own_children(pids: &mut Vec<i32>) {
    let children = lock_unreaped_children();
    pids.retain(|pid| !children.contains(pid));
}

/// Memory for the child's stack between clone and exec.
pub(super) struct ChildStack(Vec<u128>);

impl ChildStack {
    pub(super) fn new() -> Self {
        ChildStack(vec![0; 64 * 1024 / size_of::<u128>()])
    }
}

/// Plan of a child, converted to the pointers that system calls take, so that the child need not allocate memory.
struct RawChildPlan<'a> {
    plan: &'a ChildPlan,
    argv: Vec<*const c_char>,
    env: Vec<*const c_char>,
    marker: Vec<u8>,
    limits: Vec<(c_int, libc::rlimit)>,
    mask: libc::sigset_t,
    failure: Option<ChildFailure>,
}

/// Result of a `clone` that succeeded.
#[derive(Clone, Copy)]
pub(super) enum ChildStart {
    /// Process id of the child, which runs the program.
    Running(i32),
    /// Failure of the child, which ended before or in `execve` and has been reaped.
    Failed(ChildFailure),
}

/// Starts a child.
///
/// # Errors
/// Returns the error of `clone`.
pub(super) fn start_child(plan: &ChildPlan, stack: &mut ChildStack) -> io::Result<ChildStart> {
    let mut shared = RawChildPlan {
        plan,
        argv: to_pointers(&plan.argv),
        env: to_pointers(&plan.env),
        marker: Vec::new(),
        limits: plan.limits.iter().map(to_rlimit).collect(),
        mask: to_signal_set(&plan.blocked_signals),
        failure: None,
    };
    if let Some(marker) = &plan.marker {
        shared.marker = vec![0; marker.prefix.len() + marker.suffix.len() + 24];
        shared.marker[..marker.prefix.len()].copy_from_slice(&marker.prefix);
        shared.env[marker.env_index] = shared.marker.as_ptr().cast();
    }
    // SAFETY: an all-zero set is valid storage for sigfillset and pthread_sigmask, which fill it.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // All signals are blocked, so that none of our signal handlers runs in the child, which shares our
    // memory.
    // SAFETY: the pointers are to live locals.
    unsafe {
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
    }
    let top = stack.0.as_mut_ptr_range().end;
    // The lock is held during the call, so that no other thread treats the new child as an orphan.
    let mut children = lock_unreaped_children();
    let shares = if plan.failure_report_fd.is_some() { 0 } else { libc::CLONE_VM | libc::CLONE_VFORK };
    let flags = shares | namespace::clone_flags(plan) | libc::SIGCHLD;
    // SAFETY: the stack outlives the call, because CLONE_VFORK blocks us until the child no longer uses the
    // stack; only the child uses `shared` during that time. Without the two flags, the child has a copy of all
    // memory. `child_main` neither returns nor unwinds.
    let pid = unsafe { libc::clone(child_main, top.cast(), flags, (&raw mut shared).cast()) };
    let error = io::Error::last_os_error();
    // SAFETY: `before` was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut()) };
    if pid < 0 {
        return Err(error);
    }
    // SAFETY: a volatile read, because the child wrote through a raw pointer, which the compiler does not know
    // about.
    match unsafe { ptr::read_volatile(&raw const shared.failure) } {
        None => {
            children.insert(pid);
            Ok(ChildStart::Running(pid))
        }
        Some(failure) => {
            drop(children);
            while let Err(error) = reap_process(pid, true) {
                if error.raw_os_error() != Some(libc::EINTR) {
                    break;
                }
            }
            Ok(ChildStart::Failed(failure))
        }
    }
}

fn to_pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

fn to_rlimit(limit: &RawResourceLimit) -> (c_int, libc::rlimit) {
    let kind = match limit.kind {
        ResourceLimitKind::Core => libc::RLIMIT_CORE,
        ResourceLimitKind::Cpu => libc::RLIMIT_CPU,
        ResourceLimitKind::FileSize => libc::RLIMIT_FSIZE,
        ResourceLimitKind::Data => libc::RLIMIT_DATA,
        ResourceLimitKind::Stack => libc::RLIMIT_STACK,
        ResourceLimitKind::AddressSpace => libc::RLIMIT_AS,
    };
    let mut current = libc::rlimit { rlim_cur: limit.soft, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `current` is a live local.
    unsafe { libc::getrlimit(kind, &mut current) };
    let hard = limit.hard.unwrap_or(current.rlim_max);
    (kind as c_int, libc::rlimit { rlim_cur: limit.soft.min(hard), rlim_max: hard })
}

fn to_signal_set(signals: &[c_int]) -> libc::sigset_t {
    // SAFETY: zero is valid storage; sigemptyset and sigaddset only write into that storage, and sigaddset
    // rejects invalid numbers.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for &signal in signals {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// Entry point of the child. From here to `execve`, the child makes only async-signal-safe calls: it does not
/// allocate, panic or return.
extern "C" fn child_main(argument: *mut c_void) -> c_int {
    // SAFETY: `start_child` passes a `RawChildPlan` that lives until the child execs or exits, and does not access
    // the plan during that time.
    let shared = unsafe { &mut *argument.cast::<RawChildPlan<'_>>() };
    let failure = match prepare_child(shared) {
        Err(failure) => failure,
        Ok(()) => {
            // SAFETY: the path is a C string, both arrays end with a null pointer, and all three are alive.
            unsafe { libc::execve(shared.plan.program.as_ptr(), shared.argv.as_ptr(), shared.env.as_ptr()) };
            failure_of_last_call(SpawnStage::Execute, 0)
        }
    };
    // SAFETY: a volatile write, because the compiler sees no other reader of the memory; the descriptor is open
    // and belongs to the plan.
    unsafe {
        match shared.plan.failure_report_fd {
            Some(report) => {
                let words = [failure.stage as c_int, failure.errno];
                libc::write(report, words.as_ptr().cast(), size_of_val(&words));
            }
            None => ptr::write_volatile(&raw mut shared.failure, Some(failure)),
        }
        libc::_exit(127)
    }
}

/// Reads the failure that a child wrote to its failure pipe ([`ChildPlan::failure_report_fd`]), or returns `None`
/// if the child wrote nothing.
pub(super) fn read_failure(report: std::os::fd::OwnedFd) -> Option<ChildFailure> {
    use std::io::Read;
    let mut words = [0; 2 * size_of::<c_int>()];
    std::fs::File::from(report).read_exact(&mut words).ok()?;
    let (stage, errno) = words.split_first_chunk().zip(words.last_chunk())?;
    let (stage, errno) = (c_int::from_ne_bytes(*stage.0), c_int::from_ne_bytes(*errno));
    let stage = [SpawnStage::Stdin, SpawnStage::Stdout, SpawnStage::Stderr, SpawnStage::WorkingDirectory]
        .into_iter()
        .find(|known| *known as c_int == stage);
    Some(ChildFailure { stage: stage.unwrap_or(SpawnStage::Execute), errno, index: 0 })
}

fn enter_session(session: SessionMode) -> Result<(), ChildFailure> {
    // SAFETY: plain system calls.
    unsafe {
        match session {
            SessionMode::Inherit => Ok(()),
            SessionMode::ForegroundGroup => {
                check_result(libc::setpgid(0, 0), SpawnStage::Session, 0)?;
                // The kernel lets a background process become the foreground group only while SIGTTOU is ignored.
                // Without a terminal, tcsetpgrp has no effect.
                libc::signal(libc::SIGTTOU, libc::SIG_IGN);
                libc::tcsetpgrp(0, libc::getpid());
                libc::signal(libc::SIGTTOU, libc::SIG_DFL);
                Ok(())
            }
            SessionMode::NewGroup => check_result(libc::setpgid(0, 0), SpawnStage::Session, 0),
            SessionMode::JoinGroup(group) => check_result(libc::setpgid(0, group), SpawnStage::Session, 0),
            SessionMode::NewSession => check_result(libc::setsid(), SpawnStage::Session, 0),
        }
    }
}

/// Switches the child to another account with raw system calls, because the library functions would also change
/// all threads of the parent. With `for_good`, the real and saved ids change too, so that the switch cannot be
/// undone.
fn switch_to_account(identity: &ProcessIdentity, for_good: bool) -> Result<(), ChildFailure> {
    let (gid, uid, groups) = (identity.gid, identity.uid, &identity.groups);
    // The kernel does not change an id that is passed as -1.
    let other = |id: u32| if for_good { id } else { u32::MAX };
    // SAFETY: plain system calls on values that live in the plan.
    unsafe {
        let set = libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr());
        check_result(set as c_int, SpawnStage::Identity, 0)?;
        check_result(
            libc::syscall(libc::SYS_setresgid, other(gid), gid, other(gid)) as c_int,
            SpawnStage::Identity,
            1,
        )?;
        check_result(
            libc::syscall(libc::SYS_setresuid, other(uid), uid, other(uid)) as c_int,
            SpawnStage::Identity,
            2,
        )
    }
}

fn prepare_child(shared: &mut RawChildPlan<'_>) -> Result<(), ChildFailure> {
    let plan = shared.plan;
    reset_signals(plan.ignore_sigpipe);
    let pid = namespace::outer_pid(plan);
    namespace::map_user(plan)?;
    enter_session(plan.session)?;
    // SAFETY: plain system calls on values that live in the plan.
    unsafe {
        for (index, &group) in plan.cgroups.iter().enumerate() {
            check_result(libc::write(group, c"0".as_ptr().cast(), 1) as c_int, SpawnStage::Cgroup, index)?;
        }
        libc::umask(plan.umask);
    }
    if plan.failure_report_fd.is_some() {
        // SAFETY: a plain system call on a set that lives in `shared`. All our signal handlers have been reset by
        // now.
        let set = unsafe { libc::sigprocmask(libc::SIG_SETMASK, &shared.mask, ptr::null_mut()) };
        check_result(set, SpawnStage::Execute, 0)?;
    }
    // The standard files are opened before the mounts are set up, so that a mount over their directory does not
    // hide the files. `OsProc::StartJob` even opens the files before the process exists.
    let opened = set_up_standard_files(plan)?;
    namespace::set_up_mounts(plan)?;
    // SAFETY: plain system calls on values that live in the plan.
    unsafe {
        for (index, (kind, limit)) in shared.limits.iter().enumerate() {
            check_result(libc::setrlimit(*kind as _, limit), SpawnStage::Limit, index)?;
        }
        if let Some(nice) = plan.nice {
            check_result(libc::setpriority(libc::PRIO_PROCESS, 0, nice), SpawnStage::Nice, 0)?;
        }
    }
    if let Some(identity) = &plan.identity {
        switch_to_account(identity, true)?;
    }
    // SAFETY: plain system calls on values that live in the plan.
    unsafe {
        // This call comes after the change of identity, because changing the identity would reset the
        // parent-death signal.
        if let Some(parent) = plan.parent_to_die_with {
            check_result(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), SpawnStage::Session, 0)?;
            // The parent may have exited before prctl was called. In its own PID namespace, a process cannot see
            // its parent's pid.
            if !plan.namespaces.private_pids && libc::getppid() != parent {
                libc::_exit(127);
            }
        }
        if let Some(cwd) = &plan.cwd {
            check_result(libc::chdir(cwd.as_ptr()), SpawnStage::WorkingDirectory, 0)?;
        }
        if let Some(fifo) = opened {
            check_result(libc::access(plan.program.as_ptr(), libc::X_OK), SpawnStage::Execute, 0)?;
            return Err(fifo);
        }
        if let Some(marker) = &plan.marker {
            complete_marker(&mut shared.marker, marker, pid);
        }
        check_result(
            libc::sigprocmask(libc::SIG_SETMASK, &shared.mask, ptr::null_mut()),
            SpawnStage::Execute,
            0,
        )
    }
}

/// Sets up the child's standard files with the permissions of the child's account. Returns the failure of a FIFO whose
/// other end is not open yet, instead of reporting it at once, because the caller reports other errors first.
fn set_up_standard_files(plan: &ChildPlan) -> Result<Option<ChildFailure>, ChildFailure> {
    let opens = plan.standard_files.iter().any(|one| matches!(one, ChildStandardFile::Open { .. }));
    let placed = match plan.identity.as_ref().filter(|_| opens) {
        None => set_up_descriptors(plan),
        Some(identity) => {
            switch_to_account(identity, false)?;
            let placed = set_up_descriptors(plan);
            restore_own_identity()?;
            placed
        }
    };
    match placed {
        Ok(()) => Ok(None),
        Err(failure) if failure.is_blocked_on_fifo() && plan.failure_report_fd.is_none() => Ok(Some(failure)),
        Err(failure) => Err(failure),
    }
}

/// Restores the effective ids of this program. The supplementary groups stay changed, because mounting does not
/// depend on groups.
fn restore_own_identity() -> Result<(), ChildFailure> {
    // SAFETY: plain system calls.
    unsafe {
        let (uid, gid) = (libc::getuid(), libc::getgid());
        check_result(
            libc::syscall(libc::SYS_setresuid, u32::MAX, uid, u32::MAX) as c_int,
            SpawnStage::Identity,
            2,
        )?;
        check_result(
            libc::syscall(libc::SYS_setresgid, u32::MAX, gid, u32::MAX) as c_int,
            SpawnStage::Identity,
            1,
        )
    }
}

/// Resets all signals to their default action, because exec resets handlers but leaves ignored signals ignored.
fn reset_signals(ignore_sigpipe: bool) {
    for signal in 1..=64 {
        let ignore = signal == libc::SIGPIPE && ignore_sigpipe;
        // SAFETY: neither SIG_IGN nor SIG_DFL is a handler that could run; the call rejects numbers of signals
        // that do not exist.
        unsafe { libc::signal(signal, if ignore { libc::SIG_IGN } else { libc::SIG_DFL }) };
    }
}

/// Sets up the three standard descriptors, and marks all others to be closed at exec.
fn set_up_descriptors(plan: &ChildPlan) -> Result<(), ChildFailure> {
    const STAGES: [SpawnStage; 3] = [SpawnStage::Stdin, SpawnStage::Stdout, SpawnStage::Stderr];
    let mut sources = [-1; 3];
    let mut waiting = None;
    // SAFETY: plain system calls; the descriptor table is the child's own.
    unsafe {
        for ((standard, source), stage) in plan.standard_files.iter().zip(&mut sources).zip(STAGES) {
            *source = match standard {
                ChildStandardFile::Closed | ChildStandardFile::Stdout => continue,
                // A source descriptor below 3 might be overwritten by another standard file before it is used.
                ChildStandardFile::DuplicateOf(descriptor) if *descriptor < 3 => {
                    libc::fcntl(*descriptor, libc::F_DUPFD_CLOEXEC, 3)
                }
                ChildStandardFile::DuplicateOf(descriptor) => *descriptor,
                ChildStandardFile::Open { path, flags } => {
                    open_for_child(path, *flags, plan.failure_report_fd.is_some())
                }
            };
            if *source < 0 && plan.failure_report_fd.is_none() {
                let failure = failure_of_last_call(stage, 0);
                if failure.errno == libc::EAGAIN {
                    waiting.get_or_insert(failure);
                    continue;
                }
            }
            check_result(*source, stage, 0)?;
            if *source < 3 {
                *source = libc::fcntl(*source, libc::F_DUPFD_CLOEXEC, 3);
                check_result(*source, stage, 0)?;
            }
        }
        if let Some(failure) = waiting {
            return Err(failure);
        }
        for ((target, source), stage) in (0..).zip(sources).zip(STAGES) {
            if matches!(plan.standard_files[target as usize], ChildStandardFile::Stdout) {
                check_result(libc::dup2(1, target), stage, 0)?;
            } else if source < 0 {
                libc::close(target);
            } else {
                check_result(libc::dup2(source, target), stage, 0)?;
            }
        }
        close_other_descriptors();
        for &descriptor in &plan.kept_descriptors {
            // The only possible error is EBADF.
            if libc::fcntl(descriptor, libc::F_SETFD, 0) < 0 {
                return Err(ChildFailure { stage: SpawnStage::Execute, errno: libc::EBADF, index: 0 });
            }
        }
    }
    Ok(())
}

/// Opens a file for the child. While the parent sleeps until exec, a FIFO fails with EAGAIN without being opened,
/// because opening it could block, or the process at its other end could mistake the child for its reader.
fn open_for_child(path: &CString, flags: c_int, waits: bool) -> c_int {
    let always = flags | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: plain system calls; zero is valid storage for stat, and errno is ours.
    unsafe {
        if waits {
            return libc::open(path.as_ptr(), always, 0o666);
        }
        let mut status: libc::stat = std::mem::zeroed();
        if libc::stat(path.as_ptr(), &mut status) == 0 && status.st_mode & libc::S_IFMT == libc::S_IFIFO {
            *libc::__errno_location() = libc::EAGAIN;
            return -1;
        }
        let descriptor = libc::open(path.as_ptr(), always | libc::O_NONBLOCK, 0o666);
        if descriptor >= 0 {
            libc::fcntl(descriptor, libc::F_SETFL, flags & libc::O_APPEND);
        }
        descriptor
    }
}

fn close_other_descriptors() {
    const CLOSE_RANGE_CLOEXEC: c_int = 4;
    // SAFETY: plain system calls.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3, u32::MAX, CLOSE_RANGE_CLOEXEC) < 0 {
            let mut limit = libc::rlimit { rlim_cur: 1024, rlim_max: 1024 };
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
            for descriptor in 3..limit.rlim_cur.min(65_536) as c_int {
                libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
    }
}

/// Appends the child's pid to the prefix of the ancestor marker.
fn complete_marker(text: &mut [u8], marker: &AncestorMarker, pid: i32) {
    let mut buffer = [0; 11];
    let tail = to_digits(pid, &mut buffer).chain(&marker.suffix).chain(&[0]);
    for (place, byte) in text.iter_mut().skip(marker.prefix.len()).zip(tail) {
        *place = *byte;
    }
}

/// Child process that has ended and been reaped.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReapedChild {
    /// Exit status as returned by `waitpid`.
    pub(super) status: i32,
    pub(super) usage: ProcessUsage,
}

/// Reaps a child of this process; no other function calls wait. Returns `None` if the child has not ended, and
/// the error ECHILD if the process is not a child of this process.
pub(super) fn reap_process(pid: i32, block: bool) -> io::Result<Option<ReapedChild>> {
    let mut status = 0;
    // The lock is held during the call, so that a new child with the same pid is not removed from the set.
    let guard = (!block).then(lock_unreaped_children);
    let (reaped, usage) = loop {
        // SAFETY: zero is a valid rusage; the pointers are to live locals.
        let (reaped, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            let options = if block { 0 } else { libc::WNOHANG };
            (libc::wait4(pid, &mut status, options, &mut usage), usage)
        };
        // If a signal interrupted the call, wait again: the state of the process is still unknown.
        if reaped >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break (reaped, usage);
        }
    };
    match reaped {
        0 => Ok(None),
        reaped if reaped < 0 => Err(io::Error::last_os_error()),
        reaped => {
            if let Some(mut children) = guard {
                children.remove(&reaped);
            }
            Ok(Some(ReapedChild { status, usage: to_usage(&usage) }))
        }
    }
}

/// Returns a child of this process that has ended, without reaping the child, because another part of the program
/// may wait for it. One system call checks all children.
pub(super) fn find_ended_child() -> Option<i32> {
    // SAFETY: zero is a valid siginfo_t, which waitid fills; the pointer is to a live local.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        (libc::waitid(libc::P_ALL, 0, &mut info, options) == 0).then(|| info.si_pid()).filter(|pid| *pid > 0)
    }
}

fn to_usage(usage: &libc::rusage) -> ProcessUsage {
    let time = |time: libc::timeval| {
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_usec.unsigned_abs() as u32 * 1000)
    };
    ProcessUsage {
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        max_rss_kib: usage.ru_maxrss.unsigned_abs(),
        block_reads: usage.ru_inblock.unsigned_abs(),
        block_writes: usage.ru_oublock.unsigned_abs(),
    }
}

/// Sends a signal with any number, including real-time and invalid numbers. A negative pid stands for a process
/// group.
pub(super) fn send_signal(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: a plain system call.
    if unsafe { libc::kill(pid, signal) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Opens a descriptor that becomes readable when the process ends.
pub(super) fn open_pidfd(pid: i32) -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: a plain system call; the descriptor is new and owned by nothing else.
    unsafe {
        let descriptor = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(std::os::fd::OwnedFd::from_raw_fd(descriptor as c_int))
    }
}
