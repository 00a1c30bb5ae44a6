//! Complete description of a child process to be spawned.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

/// Specification of a child process. Nothing is inherited implicitly: environment, descriptors, umask and limits are all
/// specified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildSpec {
    /// The file to execute; never searched for in PATH.
    pub program: PathBuf,
    /// All arguments, `argv[0]` first.
    pub argv: Vec<BString>,
    /// The whole environment, each entry `NAME=value`, in order.
    pub env: Vec<BString>,
    /// True if the kernel kills the child when the thread that spawned it ends for any reason; for children that the caller
    /// waits for.
    pub dies_with_parent: bool,
    /// Working directory, entered with the new identity, or `None` to keep the caller's.
    pub cwd: Option<PathBuf>,
    /// Account that the child runs as, or `None` to keep the caller's.
    pub identity: Option<ProcessIdentity>,
    /// Descriptors 0, 1 and 2.
    pub stdio: [Stdio; 3],
    /// Session and process group.
    pub session: SessionMode,
    /// File mode mask.
    pub umask: u32,
    /// Increment of the nice value.
    pub nice: i32,
    /// Resource limits set before exec.
    pub limits: Vec<ResourceLimit>,
    /// True if SIGPIPE stays ignored, as in HTCondor's jobs and hooks.
    pub ignore_sigpipe: bool,
    /// Signals that stay blocked, as in HTCondor's hooks (quirk `hooks-spawned-as-daemons`).
    pub blocked_signals: Vec<i32>,
    /// Bind mounts in a private mount namespace: (source, target); needs root.
    pub mounts: Vec<(PathBuf, PathBuf)>,
    /// True for a new, empty /dev/shm in that namespace, which exists until its last process ends.
    pub private_shm: bool,
    /// Private namespaces.
    pub namespaces: Namespaces,
    /// Group that no other process has, which identifies the process family; one of [`ProcessIdentity::groups`]. `None` for no
    /// such group.
    pub tracking_group: Option<u32>,
    /// Control groups (directories) that the child enters.
    pub cgroups: Vec<PathBuf>,
    /// Further descriptors of the caller that stay open under the same number; all others are closed.
    pub inherited_descriptors: Vec<i32>,
    /// HTCondor's ancestor marker to add to the environment, after those of older generations, or `None`.
    pub ancestor_stamp: Option<AncestorStamp>,
    /// Time to keep reading its pipes after it has exited, if a process that it left behind holds them open. Zero, as for
    /// all hooks, means that only output written before the exit counts.
    pub drain_timeout: Duration,
    /// Policy for processes that the child leaves behind.
    pub leftover_policy: LeftoverPolicy,
    /// True to read and discard output over the limit of a `Stdio::Capture`, so that a verbose child can finish, instead
    /// of closing the pipe at once. The pipe of a child that never stops is closed nevertheless.
    pub discards_excess_output: bool,
}

/// Variable part of `_CONDOR_ANCESTOR_<parent's pid>=<child's pid>:<time>:<random>`, which identifies the members of a process
/// family (`env.cpp`, pidenvid). The pids are added when the child is spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AncestorStamp {
    /// Seconds since the epoch.
    pub time: i64,
    /// Random number.
    pub random: u32,
}

/// Private namespaces of a child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Namespaces {
    /// True if the child is the first process of a new PID namespace, with a /proc that shows nothing else; all processes in it
    /// end with the child. Needs root.
    pub private_pids: bool,
    /// True if it has no network except a loopback device that is down. Without root, it gets a user namespace as well.
    pub no_network: bool,
}

/// Policy for processes that a child leaves behind when it exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftoverPolicy {
    /// Kill them before the exit is reported: for hooks of startd and router, and for jobs.
    Kill,
    /// Keep them until the caller kills them or shuts down: for hooks of starter and shadow.
    Keep,
}

impl ChildSpec {
    /// Creates a child that runs `program` with its path as the only argument, an empty environment, /dev/null for its
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

/// User and groups of a process, as numeric ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

/// Kind of a standard descriptor of the child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdio {
    /// `/dev/null`.
    Null,
    /// The descriptor is closed, as in some of HTCondor's hooks (quirk `closed-stdio`).
    Closed,
    /// The caller's descriptor with the same number.
    Inherit,
    /// Standard input only: these bytes, then end of file. Written without blocking the caller.
    Bytes(Vec<u8>),
    /// Standard output or error only: read by the caller, at most `limit` bytes; then the pipe is closed, unless
    /// [`ChildSpec::discards_excess_output`] is set.
    Capture {
        /// Bytes kept.
        limit: usize,
    },
    /// Standard output or error only: passed to the caller piece by piece.
    Stream,
    /// Standard error only: the same target as standard output.
    Stdout,
    /// Another descriptor of the caller.
    Descriptor(i32),
    /// A file, opened with the child's identity, relative to the caller's working directory. For a FIFO, the child waits for
    /// the other end before its program is executed.
    File {
        /// Its path.
        path: PathBuf,
        /// True to open it for writing (created with mode 0666 less umask) instead of reading.
        write: bool,
        /// True to truncate the file first.
        truncate: bool,
        /// True to append every write.
        append: bool,
    },
}

/// Session and process group of a child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionMode {
    /// The caller's session and process group.
    Inherit,
    /// A new process group in the caller's session, in the foreground of the caller's terminal.
    ForegroundGroup,
    /// A new process group in the caller's session, which others can join: for a placeholder process, which spawns no
    /// processes.
    NewGroup,
    /// The process group with this leader in the caller's session.
    JoinGroup(i32),
    /// A new session.
    #[default]
    NewSession,
}

impl SessionMode {
    /// True if all processes in the child's session or process group descend from the child.
    pub fn owns_processes(self) -> bool {
        matches!(self, SessionMode::NewSession | SessionMode::ForegroundGroup)
    }
}

/// Resource limit of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceLimit {
    /// The limited resource.
    pub kind: ResourceLimitKind,
    /// Soft limit, or `None` for unlimited.
    pub soft: Option<u64>,
    /// Hard limit, or `None` to keep the current one.
    pub hard: Option<u64>,
}

/// Resource limits that the starter sets.
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
