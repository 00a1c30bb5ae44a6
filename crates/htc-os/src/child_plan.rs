//! Plan of everything that a child does between its creation and the execution of its program.

use std::ffi::{CString, c_int};

use htc_base::process::{Namespaces, ProcessIdentity, ResourceLimitKind, SessionMode};

/// Set-up of one of the child's first three descriptors.
pub(super) enum ChildStandardFile {
    /// The descriptor is closed.
    Closed,
    /// The descriptor is a duplicate of this descriptor of ours.
    DuplicateOf(c_int),
    /// The descriptor is a duplicate of descriptor 1.
    Stdout,
    /// The child opens this file with the rights of its own account.
    Open {
        /// Path of the file.
        path: CString,
        /// Flags of `open`.
        flags: c_int,
    },
}

/// Resource limit in the form that the kernel takes; if `hard` is `None`, the current hard limit is kept.
pub(super) struct RawResourceLimit {
    /// Kind of the limit.
    pub(super) kind: ResourceLimitKind,
    /// Soft limit, `RLIM_INFINITY` for none.
    pub(super) soft: u64,
    /// Hard limit.
    pub(super) hard: Option<u64>,
}

/// Ancestor marker, whose text contains the child's own pid.
pub(super) struct AncestorMarker {
    /// Index in `ChildPlan::env`.
    pub(super) env_index: usize,
    /// `_CONDOR_ANCESTOR_<parent>=`.
    pub(super) prefix: Vec<u8>,
    /// `:<time>:<random>`.
    pub(super) suffix: Vec<u8>,
}

/// Plan of a child, prepared before the child exists.
pub(super) struct ChildPlan {
    pub(super) program: CString,
    pub(super) argv: Vec<CString>,
    pub(super) env: Vec<CString>,
    pub(super) marker: Option<AncestorMarker>,
    pub(super) session: SessionMode,
    /// Our own pid, if the child is to be killed when we exit.
    pub(super) parent_to_die_with: Option<i32>,
    /// Open `cgroup.procs` files, to which the child writes `0`.
    pub(super) cgroups: Vec<c_int>,
    /// Private namespaces of the child.
    pub(super) namespaces: Namespaces,
    /// Contents of `uid_map` and `gid_map` of the user namespace that a private network requires without
    /// root.
    pub(super) id_maps: Option<[CString; 2]>,
    /// Directories to be bound over others.
    pub(super) mounts: Vec<(CString, CString)>,
    /// True if /dev/shm is a new file system.
    pub(super) private_shm: bool,
    pub(super) limits: Vec<RawResourceLimit>,
    /// New nice value, or `None` to keep the current one.
    pub(super) nice: Option<c_int>,
    pub(super) umask: u32,
    pub(super) identity: Option<ProcessIdentity>,
    pub(super) standard_files: [ChildStandardFile; 3],
    /// Descriptors that stay open under their own numbers.
    pub(super) kept_descriptors: Vec<c_int>,
    pub(super) cwd: Option<CString>,
    pub(super) blocked_signals: Vec<c_int>,
    pub(super) ignore_sigpipe: bool,
    /// Descriptor to which a child that may wait for the other end of a FIFO writes a failure. The parent
    /// does not wait for such a child: it has its own memory and is killed like any other. With `None` the
    /// parent sleeps, and such a FIFO results in EAGAIN.
    pub(super) failure_report_fd: Option<c_int>,
}
