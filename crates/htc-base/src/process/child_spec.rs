//! Complete description of a child process to be spawned.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

/// Specification of a child process. The child inherits nothing implicitly: its environment, descriptors, umask and limits are
/// all specified here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildSpec {
    /// File to execute, which is never searched in PATH.
    pub program: PathBuf,
    /// All arguments, starting with `argv[0]`.
    pub argv: Vec<BString>,
    /// Complete environment in order, each entry in the form `NAME=value`.
    pub env: Vec<BString>,
    /// True if the kernel kills the child when the thread that spawned the child ends for any reason. Used for children that
    /// the caller waits for.
    pub dies_with_parent: bool,
    /// Working directory, or `None` to keep the caller's. The child enters the directory after changing to its account.
    pub cwd: Option<PathBuf>,
    /// Account that the child runs as, or `None` to keep the caller's.
    pub identity: Option<ProcessIdentity>,
    /// Standard input, output and error.
    pub stdio: [Stdio; 3],
    /// Session and process group.
    pub session: SessionMode,
    /// Umask.
    pub umask: u32,
    /// Amount that is added to the nice value.
    pub nice: i32,
    /// Resource limits that are set before exec.
    pub limits: Vec<ResourceLimit>,
    /// True to keep SIGPIPE ignored, as HTCondor's jobs and hooks have it.
    pub ignore_sigpipe: bool,
    /// Signals to keep blocked, as HTCondor's hooks have them (quirk `hooks-spawned-as-daemons`).
    pub blocked_signals: Vec<i32>,
    /// Bind mounts (source, target) in a private mount namespace, which require root.
    pub mounts: Vec<(PathBuf, PathBuf)>,
    /// True to mount a new, empty /dev/shm in the private mount namespace; it exists until the last process of the namespace
    /// ends.
    pub private_shm: bool,
    /// Private namespaces.
    pub namespaces: Namespaces,
    /// Group that identifies the process family because no other process has it; also contained in [`ProcessIdentity::groups`].
    /// `None` if the family has no such group.
    pub tracking_group: Option<u32>,
    /// Control groups (directories) that the child enters.
    pub cgroups: Vec<PathBuf>,
    /// Other descriptors of the caller that the child gets under the same numbers; all remaining descriptors are closed.
    pub inherited_descriptors: Vec<i32>,
    /// HTCondor's ancestor marker, which is added to the environment after the markers of older generations, or `None`.
    pub ancestor_stamp: Option<AncestorStamp>,
    /// Time for which the child's pipes are still read after its exit if a leftover process holds them open. If zero,
    /// as for all hooks, only output that was written before the exit is used.
    pub drain_timeout: Duration,
    /// Policy for processes that outlive the child.
    pub leftover_policy: LeftoverPolicy,
    /// True to read and discard output that exceeds the limit of a [`Stdio::Capture`], so that a verbose child can finish;
    /// false to close the pipe at the limit. The discarded output is limited as well, so the pipe of a child that never stops
    /// writing is closed eventually.
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

/// Private namespaces of a child process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Namespaces {
    /// True if the child is the first process of a new PID namespace, in which /proc shows only the processes of the namespace.
    /// All processes of the namespace end with the child. Requires root.
    pub private_pids: bool,
    /// True if the child has no network except a loopback device that is down. Without root, the child also gets a user
    /// namespace.
    pub no_network: bool,
}

/// Policy for processes that are still running when the child that created them exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftoverPolicy {
    /// Kill the processes before the child's exit is reported: used for hooks of startd and router, and for jobs.
    Kill,
    /// Keep the processes until the caller kills them or shuts down: used for hooks of starter and shadow.
    Keep,
}

impl ChildSpec {
    /// Creates a child that runs `program` in a new session, with the path as the only argument, an empty environment, and
    /// /dev/null as its standard files.
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
    /// The descriptor is `/dev/null`.
    Null,
    /// The descriptor is closed, as in some of HTCondor's hooks (quirk `closed-stdio`).
    Closed,
    /// The descriptor is the caller's descriptor with the same number.
    Inherit,
    /// Standard input only: the child reads these bytes, then end of file. The caller is never blocked by writing them.
    Bytes(Vec<u8>),
    /// Standard output or error only: the caller collects the output up to `limit` bytes. The pipe is then closed, unless
    /// [`ChildSpec::discards_excess_output`] is set.
    Capture {
        /// Maximum number of bytes that are kept.
        limit: usize,
    },
    /// Standard output or error only: the caller gets the output piece by piece.
    Stream,
    /// Standard error only: the descriptor is a duplicate of standard output.
    Stdout,
    /// The descriptor is a duplicate of this descriptor of the caller.
    Descriptor(i32),
    /// The descriptor is a file, which the child opens with its own identity; a relative path starts at the caller's working
    /// directory. If the file is a FIFO, the child waits for the process at the other end before it executes its program.
    File {
        /// Path of the file.
        path: PathBuf,
        /// True to open the file for writing, false to open it for reading. A new file has mode 0666 minus the umask.
        write: bool,
        /// True to truncate the file first.
        truncate: bool,
        /// True to open the file in append mode.
        append: bool,
    },
}

/// Session and process group of a child process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionMode {
    /// The child stays in the caller's session and process group.
    Inherit,
    /// The child gets a new process group in the caller's session, which becomes the foreground group of the caller's terminal.
    ForegroundGroup,
    /// The child gets a new process group in the caller's session, which later children can join. Used for a placeholder
    /// process that spawns no processes.
    NewGroup,
    /// The child joins the process group with this leader in the caller's session.
    JoinGroup(i32),
    /// The child gets a new session.
    #[default]
    NewSession,
}

impl SessionMode {
    /// Returns true if the child's session or process group contains no processes except the child and its descendants.
    pub fn owns_processes(self) -> bool {
        matches!(self, SessionMode::NewSession | SessionMode::ForegroundGroup)
    }
}

/// Resource limit of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceLimit {
    /// The limited resource.
    pub kind: ResourceLimitKind,
    /// Soft limit, or `None` for no limit.
    pub soft: Option<u64>,
    /// Hard limit, or `None` to keep the current hard limit.
    pub hard: Option<u64>,
}

/// Kind of resource limit that the starter sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceLimitKind {
    /// Maximum size of core files, in bytes.
    Core,
    /// Maximum CPU time, in seconds.
    Cpu,
    /// Maximum size of a file that the process writes, in bytes.
    FileSize,
    /// Maximum size of the data segment, in bytes.
    Data,
    /// Maximum size of the stack, in bytes.
    Stack,
    /// Maximum size of the address space, in bytes.
    AddressSpace,
}
