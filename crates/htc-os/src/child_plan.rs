//! All that a child does between its making and its program, laid down before it exists.

use std::ffi::{CString, c_int};

use htc_base::process::{Namespaces, ProcessIdentity, ResourceLimitKind, SessionMode};

/// What becomes of one of the child's first three descriptors.
pub(super) enum ChildStandardFile {
    /// Not open.
    Closed,
    /// A duplicate of this descriptor of ours.
    DuplicateOf(c_int),
    /// The same as descriptor 1.
    Stdout,
    /// This file, opened by the child under its own identity.
    Open {
        /// Its path.
        path: CString,
        /// Flags of `open`.
        flags: c_int,
    },
}

/// A resource limit as the kernel takes it; the hard value is read from the present limit where it is `None`.
pub(super) struct RawResourceLimit {
    /// Which.
    pub(super) kind: ResourceLimitKind,
    /// Soft value, `RLIM_INFINITY` for none.
    pub(super) soft: u64,
    /// Hard value.
    pub(super) hard: Option<u64>,
}

/// The ancestor marker, whose text needs the child's own pid.
pub(super) struct AncestorMarker {
    /// Where in `Plan::env` it stands.
    pub(super) env_index: usize,
    /// `_CONDOR_ANCESTOR_<parent>=`.
    pub(super) prefix: Vec<u8>,
    /// `:<time>:<random>`.
    pub(super) suffix: Vec<u8>,
}

/// All that the child does, made before it exists.
pub(super) struct ChildPlan {
    pub(super) program: CString,
    pub(super) argv: Vec<CString>,
    pub(super) env: Vec<CString>,
    pub(super) marker: Option<AncestorMarker>,
    pub(super) session: SessionMode,
    /// Our own pid when the child is to be killed at our end.
    pub(super) parent_to_die_with: Option<i32>,
    /// Open `cgroup.procs` files to write `0` into.
    pub(super) cgroups: Vec<c_int>,
    /// Its own namespaces.
    pub(super) namespaces: Namespaces,
    /// What goes into `uid_map` and `gid_map` of the user namespace that a network of its own takes without root.
    pub(super) id_maps: Option<[CString; 2]>,
    /// Directories bound over others.
    pub(super) mounts: Vec<(CString, CString)>,
    /// Whether /dev/shm is a new file system.
    pub(super) private_shm: bool,
    pub(super) limits: Vec<RawResourceLimit>,
    /// The nice value wanted, if it is to change.
    pub(super) nice: Option<c_int>,
    pub(super) umask: u32,
    pub(super) identity: Option<ProcessIdentity>,
    pub(super) standard_files: [ChildStandardFile; 3],
    /// Descriptors that stay open under their own number.
    pub(super) kept_descriptors: Vec<c_int>,
    pub(super) cwd: Option<CString>,
    pub(super) blocked_signals: Vec<c_int>,
    pub(super) ignore_sigpipe: bool,
    /// Where a child writes why it gave up that may wait for the other end of a FIFO. Nobody waits for it: it has memory
    /// of its own and is killed as any other. `None`: the parent sleeps, and such a FIFO is EAGAIN.
    pub(super) failure_report_fd: Option<c_int>,
}
