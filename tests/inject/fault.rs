//! Faults: a system call that fails with an errno, or at which a signal arrives.

use std::fmt;

use crate::dice::Dice;

/// Effect that is injected at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The call is not made and fails with this errno.
    Error(&'static str),
    /// The call is made, and this signal arrives.
    Signal(&'static str),
}

/// The processes in which calls are counted and fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// The program, its threads, and its children until they execute another program.
    Program,
    /// All processes, among them helpers that execute the program again.
    All,
}

/// Fault at the Nth call of a kind in each process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) call: String,
    pub(crate) number: usize,
    pub(crate) effect: Effect,
    pub(crate) scope: Scope,
}

impl Fault {
    /// Returns the value of strace's option `-e`.
    pub(crate) fn expression(&self) -> String {
        let (call, number) = (&self.call, self.number);
        match self.effect {
            Effect::Error(errno) => format!("inject={call}:error={errno}:when={number}"),
            Effect::Signal(signal) => format!("inject={call}:signal={signal}:when={number}"),
        }
    }

    /// Parses the text that [`fmt::Display`] writes, such as `openat:EMFILE:12` or `all:read:SIGTERM:3`.
    pub(crate) fn parse(text: &str) -> Option<Fault> {
        let (scope, text) = match text.strip_prefix("all:") {
            Some(rest) => (Scope::All, rest),
            None => (Scope::Program, text),
        };
        let mut parts = text.split(':');
        let (call, effect, number) = (parts.next()?, parts.next()?, parts.next()?.parse().ok()?);
        let effect = match SIGNALS.iter().find(|signal| **signal == effect) {
            Some(signal) => Effect::Signal(signal),
            None => Effect::Error(ERRNOS.iter().find(|errno| **errno == effect)?),
        };
        Some(Fault { call: call.to_owned(), number, effect, scope })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = if self.scope == Scope::All { "all:" } else { "" };
        let (Effect::Error(name) | Effect::Signal(name)) = self.effect;
        write!(f, "{scope}{}:{name}:{}", self.call, self.number)
    }
}

/// Signals that arrive at calls. STOP and TSTP are missing because a stopped program waits by definition.
const SIGNALS: [&str; 14] = [
    "SIGTERM",
    "SIGINT",
    "SIGQUIT",
    "SIGHUP",
    "SIGUSR1",
    "SIGUSR2",
    "SIGALRM",
    "SIGPIPE",
    "SIGCHLD",
    "SIGXFSZ",
    "SIGCONT",
    "SIGWINCH",
    "SIGVTALRM",
    "SIGKILL",
];

/// Errnos that may be sampled for any call; each is possible for most of them on some file system or kernel.
const SAMPLED_ERRNOS: [&str; 10] =
    ["EIO", "EACCES", "ENOMEM", "EINTR", "ENOSPC", "EMFILE", "EAGAIN", "ENOENT", "EPERM", "EROFS"];

/// All errnos that a fault can have.
const ERRNOS: [&str; 22] = [
    "EIO",
    "EACCES",
    "ENOMEM",
    "EINTR",
    "ENOSPC",
    "EMFILE",
    "EAGAIN",
    "ENOENT",
    "EPERM",
    "EROFS",
    "ENOTTY",
    "ESPIPE",
    "EADDRINUSE",
    "ENOLCK",
    "ECONNREFUSED",
    "ECONNRESET",
    "ENOSYS",
    "EINVAL",
    "ECHILD",
    "ENOBUFS",
    "ESRCH",
    "EXDEV",
];

/// Returns the most likely errno of a call, or `None` if it cannot fail in practice. `close` is missing because the
/// injected call is not made: the descriptor would stay open, which no kernel does.
pub(crate) fn likely_errno(call: &str) -> Option<&'static str> {
    Some(match call {
        "openat" | "open" | "pipe2" | "pipe" | "socket" | "socketpair" | "accept4" | "accept" | "dup"
        | "dup2" | "dup3" | "fcntl" | "signalfd4" | "pidfd_open" | "epoll_create1" | "inotify_init1"
        | "timerfd_create" | "memfd_create" => "EMFILE",
        "read" | "pread64" | "readv" | "getdents64" | "statx" | "newfstatat" | "fstat" | "stat" | "lstat"
        | "fsync" | "fdatasync" | "ftruncate" | "unlink" | "unlinkat" | "rmdir" | "readlink"
        | "readlinkat" | "syncfs" | "copy_file_range" | "sendfile" | "splice" => "EIO",
        "write" | "pwrite64" | "writev" | "mkdir" | "mkdirat" | "rename" | "renameat" | "renameat2"
        | "symlink" | "symlinkat" | "link" | "linkat" | "fallocate" | "mknodat" => "ENOSPC",
        "mmap" | "mprotect" | "mremap" | "execve" => "ENOMEM",
        "clone" | "clone3" | "vfork" | "fork" | "setresuid" | "setreuid" | "setuid" => "EAGAIN",
        "chmod" | "fchmod" | "fchmodat" | "fchmodat2" | "chown" | "fchown" | "fchownat" | "lchown"
        | "utimensat" | "setgroups" | "setresgid" | "setregid" | "setgid" | "prlimit64" | "mount"
        | "umount2" | "unshare" | "setns" | "kill" | "setsid" | "setpgid" | "setpriority"
        | "pidfd_send_signal" => "EPERM",
        "chdir" | "fchdir" | "access" | "faccessat2" | "statfs" | "fstatfs" | "getcwd" => "EACCES",
        "poll" | "ppoll" | "pselect6" | "select" | "epoll_wait" | "wait4" | "waitid" | "clock_nanosleep"
        | "nanosleep" => "EINTR",
        "ioctl" => "ENOTTY",
        "lseek" => "ESPIPE",
        "bind" | "listen" => "EADDRINUSE",
        "flock" => "ENOLCK",
        "connect" => "ECONNREFUSED",
        "sendto" | "sendmsg" | "sendmmsg" => "ENOBUFS",
        "recvfrom" | "recvmsg" => "ECONNRESET",
        "getsockname" | "getsockopt" | "setsockopt" | "getpeername" => "ENOBUFS",
        "prctl" | "sched_getaffinity" => "EINVAL",
        "getrandom" | "close_range" | "sysinfo" => "ENOSYS",
        _ => return None,
    })
}

/// Returns another effect for a call, from the sequence of random numbers. `poll` fails with few errnos: with any other the
/// runtime of Rust aborts before the program begins.
pub(crate) fn sampled_effect(call: &str, dice: &mut Dice) -> Effect {
    let sides = SIGNALS.len() + SAMPLED_ERRNOS.len();
    let side = dice.next(sides as u64) as usize;
    match SIGNALS.get(side) {
        Some(signal) => Effect::Signal(signal),
        None => match (call, SAMPLED_ERRNOS[side - SIGNALS.len()]) {
            ("poll" | "ppoll", errno) if errno != "EINTR" => Effect::Error("ENOMEM"),
            (_, errno) => Effect::Error(errno),
        },
    }
}

#[test]
fn a_fault_is_read_as_it_is_printed() {
    for text in ["openat:EMFILE:12", "all:read:SIGTERM:3"] {
        assert_eq!(Fault::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(Fault::parse("openat:NOTHING:1"), None);
    assert_eq!(Fault::parse("read:EIO:2").unwrap().expression(), "inject=read:error=EIO:when=2");
}
