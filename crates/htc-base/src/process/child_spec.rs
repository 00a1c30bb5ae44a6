//! The full description of a child process before it exists.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

/// A child to be made. Nothing is inherited by accident: environment, descriptors, mask and limits are all given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildSpec {
    /// The file to execute; never searched for in PATH.
    pub program: PathBuf,
    /// All arguments, `argv[0]` first.
    pub argv: Vec<BString>,
    /// The whole environment, each entry `NAME=value`, in order.
    pub env: Vec<BString>,
    /// Whether the kernel kills it when the thread that made it ends, however that comes: for what a program waits for.
    pub dies_with_parent: bool,
    /// Working directory; entered under the new identity.
    pub cwd: Option<PathBuf>,
    /// The account it runs as; `None` keeps the caller's.
    pub identity: Option<ProcessIdentity>,
    /// Descriptors 0, 1 and 2.
    pub stdio: [Stdio; 3],
    /// Session and process group.
    pub session: SessionMode,
    /// File mode mask.
    pub umask: u32,
    /// Added to the nice value.
    pub nice: i32,
    /// Resource limits set before exec.
    pub limits: Vec<ResourceLimit>,
    /// Whether SIGPIPE stays ignored, as HTCondor leaves it for jobs and hooks.
    pub ignore_sigpipe: bool,
    /// Signals that stay blocked, as HTCondor leaves them for hooks (quirk `hooks-spawned-as-daemons`).
    pub blocked_signals: Vec<i32>,
    /// Directories bound over others in a private mount namespace: (source, target); needs root.
    pub mounts: Vec<(PathBuf, PathBuf)>,
    /// Whether /dev/shm is a new, empty file system in that namespace, which goes with the last of its processes.
    pub private_shm: bool,
    /// Namespaces that are its own.
    pub namespaces: Namespaces,
    /// A group that nobody else has, by which its family is known; one of [`ProcessIdentity::groups`].
    pub tracking_group: Option<u32>,
    /// Control groups (directories) that it enters.
    pub cgroups: Vec<PathBuf>,
    /// Further descriptors of the caller that stay open under their number; all others are closed.
    pub inherited_descriptors: Vec<i32>,
    /// Adds HTCondor's ancestor marker to the environment, after those of older generations.
    pub ancestor_stamp: Option<AncestorStamp>,
    /// How long its pipes are read on after its end when something it left behind still holds them. Zero, as for all
    /// hooks: what has been written by then counts, nothing later.
    pub drain_timeout: Duration,
    /// What becomes of processes that it leaves behind.
    pub leftover_policy: LeftoverPolicy,
    /// Whether what exceeds the limit of a `Stdio::Capture` is read and dropped, so that a child that says much comes to
    /// its end, instead of the pipe being closed at once. One that never stops has its pipe closed all the same.
    pub discards_excess_output: bool,
}

/// The changing part of `_CONDOR_ANCESTOR_<parent's pid>=<child's pid>:<time>:<random>`, by which members of a process
/// family are known (`env.cpp`, pidenvid). The pids are put in when the child is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AncestorStamp {
    /// Seconds since the epoch.
    pub time: i64,
    /// Any number.
    pub random: u32,
}

/// The namespaces that a child does not share with its maker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Namespaces {
    /// It is the first process of a new one, with a /proc that shows nothing else; all in it end with it. Needs root.
    pub private_pids: bool,
    /// It has no network but a loopback device that is down. Without root it is in a user namespace too.
    pub no_network: bool,
}

/// What becomes of the processes that a child leaves behind when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftoverPolicy {
    /// They are killed before its end is reported: hooks of startd and router, jobs.
    Kill,
    /// They live on until the caller kills them or shuts down: hooks of starter and shadow.
    Keep,
}

impl ChildSpec {
    /// A child that runs `program` with that path as its only argument, an empty environment, /dev/null for its
    /// descriptors, in its own session.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        use std::os::unix::ffi::OsStrExt;
        let program = program.into();
        let argv = vec![BString::from(program.as_os_str().as_bytes())];
        ChildSpec {
            program,
            argv,
            env: Vec::new(),
            dies_with_parent: false,
            cwd: None,
            identity: None,
            stdio: [Stdio::Null, Stdio::Null, Stdio::Null],
            session: SessionMode::NewSession,
            umask: 0o022,
            nice: 0,
            limits: Vec::new(),
            ignore_sigpipe: false,
            blocked_signals: Vec::new(),
            mounts: Vec::new(),
            private_shm: false,
            namespaces: Namespaces::default(),
            tracking_group: None,
            cgroups: Vec::new(),
            inherited_descriptors: Vec::new(),
            ancestor_stamp: None,
            drain_timeout: Duration::ZERO,
            leftover_policy: LeftoverPolicy::Kill,
            discards_excess_output: false,
        }
    }
}

/// An account as the kernel knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

/// What a descriptor of the child is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdio {
    /// `/dev/null`.
    Null,
    /// Not open at all, as HTCondor leaves it in some hooks (quirk `closed-stdio`).
    Closed,
    /// The caller's own descriptor of that number.
    Inherit,
    /// Standard input only: these bytes, then end of file. Written without ever blocking the caller.
    Bytes(Vec<u8>),
    /// Standard output or error only: read by the caller, at most `limit` bytes; then the pipe is closed, unless
    /// [`ChildSpec::discards_excess_output`].
    Capture {
        /// Bytes kept.
        limit: usize,
    },
    /// Standard output or error only: handed to the caller piece by piece as it comes.
    Stream,
    /// Standard error only: wherever standard output goes.
    Stdout,
    /// Another descriptor of the caller.
    Descriptor(i32),
    /// A file, opened under the child's identity, relative to the caller's working directory. For the other
    /// end of a FIFO the child waits; its program is executed only then.
    File {
        /// Its path.
        path: PathBuf,
        /// Opened for writing (created, mode 0666 less umask) rather than reading.
        write: bool,
        /// Emptied first.
        truncate: bool,
        /// Every write goes to the end.
        append: bool,
    },
}

/// Session and process group of a child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionMode {
    /// Those of the caller.
    Inherit,
    /// A new process group in the caller's session, for which what is typed at the caller's terminal is.
    ForegroundGroup,
    /// A new process group in the caller's session, which others can join: that of a bystander, who makes no processes.
    NewGroup,
    /// The process group that this process leads in the caller's session.
    JoinGroup(i32),
    /// A new session.
    #[default]
    NewSession,
}

impl SessionMode {
    /// Whether processes in the session or group of the child are of its making.
    pub fn owns_processes(self) -> bool {
        matches!(self, SessionMode::NewSession | SessionMode::ForegroundGroup)
    }
}

/// One resource limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceLimit {
    /// Which.
    pub kind: ResourceLimitKind,
    /// Soft value; `None` is unlimited.
    pub soft: Option<u64>,
    /// Hard value: `None` leaves the present one.
    pub hard: Option<u64>,
}

/// The resource limits the starter sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceLimitKind {
    /// Size of core files in bytes.
    Core,
    /// Processor seconds.
    Cpu,
    /// Size of a written file in bytes.
    FileSize,
    /// Data segment in bytes.
    Data,
    /// Stack in bytes.
    Stack,
    /// Address space in bytes.
    AddressSpace,
}
