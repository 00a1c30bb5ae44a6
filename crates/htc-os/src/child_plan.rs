//! Plan of everything that a child does between its creation and the execution of its program.

use std::ffi::{CString, c_int};

use htc_base::process::{Namespaces, ProcessIdentity, ResourceLimitKind, SessionMode};

/// Preparation of one of the child's three standard descriptors.
pub(super) enum ChildStandardFile {
    /// The descriptor is closed.
    Closed,
    /// The descriptor is a duplicate of this descriptor of the parent.
    DuplicateOf(c_int),
    /// The descriptor is a duplicate of descriptor 1.
    Stdout,
    /// The child opens this file with the permissions of its own account.
    Open {
        /// Path of the file.
        path: CString,
        /// Flags of `open`.
        flags: c_int,
    },
}

/// Resource limit with values in the form that the kernel takes.
pub(super) struct RawResourceLimit {
    /// Kind of the limit.
    pub(super) kind: ResourceLimitKind,
    /// Soft limit; `RLIM_INFINITY` means no limit.
    pub(super) soft: u64,
    /// Hard limit, or `None` to keep the current hard limit.
    pub(super) hard: Option<u64>,
}

/// Ancestor marker, whose text contains the child's own pid.
pub(super) struct AncestorMarker {
    /// Index of the marker in `ChildPlan::env`.
    pub(super) env_index: usize,
    /// Text before the child's pid: `_CONDOR_ANCESTOR_<parent>=`.
    pub(super) prefix: Vec<u8>,
    /// Text after the child's pid: `:<time>:<random>`.
    pub(super) suffix: Vec<u8>,
}

/// Plan of a child, prepared before the child exists.
pub(super) struct ChildPlan {
    pub(super) program: CString,
    pub(super) argv: Vec<CString>,
    pub(super) env: Vec<CString>,
    pub(super) marker: Option<AncestorMarker>,
    pub(super) session: SessionMode,
    /// Pid of this process, or `None`. If set, the kernel kills the child when this process exits.
    pub(super) parent_to_die_with: Option<i32>,
    /// Open `cgroup.procs` files. The child enters each group by writing `0`.
    pub(super) cgroups: Vec<c_int>,
    /// Private namespaces of the child.
    pub(super) namespaces: Namespaces,
    /// Contents of `uid_map` and `gid_map` for the user namespace that a private network requires if we are
    /// not root, or `None`.
    pub(super) id_maps: Option<[CString; 2]>,
    /// Bind mounts: pairs of source and target directory.
    pub(super) mounts: Vec<(CString, CString)>,
    /// True to mount a new file system on /dev/shm.
    pub(super) private_shm: bool,
    pub(super) limits: Vec<RawResourceLimit>,
    /// New nice value, or `None` to keep the current one.
    pub(super) nice: Option<c_int>,
    pub(super) umask: u32,
    pub(super) identity: Option<ProcessIdentity>,
    pub(super) standard_files: [ChildStandardFile; 3],
    /// Descriptors of the parent that stay open in the child under the same numbers.
    pub(super) kept_descriptors: Vec<c_int>,
    pub(super) cwd: Option<CString>,
    pub(super) blocked_signals: Vec<c_int>,
    pub(super) ignore_sigpipe: bool,
    /// Descriptor to which the child writes its failure, for a child that may wait for the other end of a
    /// FIFO. The parent does not sleep until such a child has executed its program; the child has a copy of
    /// the memory, and it is killed like any running child. With `None`, the parent sleeps until exec, and
    /// opening a FIFO fails with EAGAIN.
    pub(super) failure_report_fd: Option<c_int>,
}
