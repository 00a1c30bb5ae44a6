//! A file transfer in one direction as plain data, and its result.

use bstr::BString;
use serde::{Deserialize, Serialize};

/// Direction and occasion of a file transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransferKind {
    /// To the execution point.
    Input,
    /// From the execution point, at the end of the job.
    Output,
    /// From the execution point, as a checkpoint from which the job continues; numbered from 0.
    Checkpoint(u32),
    /// From the execution point, of a job that did not end as its ad requires (WhenToTransferOutput = ON_SUCCESS).
    Failure,
    /// To the spool, of a job that is evicted; the files are kept for the next run.
    Evicted,
}

impl TransferKind {
    /// Returns true if files are sent to the execution point.
    pub fn is_input(self) -> bool {
        self == TransferKind::Input
    }
}

/// Content of the scratch directory after the input transfer: names, modification times in nanoseconds, sizes in bytes.
pub type DirectorySnapshot = Vec<(BString, i64, u64)>;

/// Files to transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileList {
    /// The named files.
    Named(Vec<BString>),
    /// Files directly in the directory that are new or changed since the snapshot, and those of `also`.
    Changed {
        /// Snapshot to compare with.
        since: DirectorySnapshot,
        /// Files and directories sent even if they have not changed.
        also: Vec<BString>,
    },
}

/// Transfer to be performed by a helper process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferTask {
    /// Direction.
    pub way: TransferKind,
    /// Files to transfer.
    pub list: FileList,
    /// Directory in which relative names of the list are resolved.
    pub base: BString,
    /// Destination directory.
    pub target: BString,
    /// Value of the attribute `PreserveRelativePaths`.
    pub preserve: bool,
    /// Base names that are never transferred.
    pub except: Vec<BString>,
    /// Executable of the job: (name in the list, name at the destination). It is made executable.
    pub executable: Option<(BString, BString)>,
    /// Rename rules applied at the destination, including those to URLs.
    pub remaps: Vec<(BString, BString)>,
    /// Rules of TransferOutputRemaps alone: files that they map to a URL are uploaded.
    pub uploads: Vec<(BString, BString)>,
    /// Value of MAX_REMAP_RECURSIONS.
    pub most_remaps: usize,
    /// URL below which everything is uploaded (OutputDestination).
    pub destination: Option<BString>,
    /// Names of the list, with the names used below [`TransferTask::destination`].
    pub renamed: Vec<(BString, BString)>,
    /// Maximum number of bytes.
    pub limit: Option<u64>,
    /// True if directories named by a rule are created (ALLOW_TRANSFER_REMAP_TO_MKDIR).
    pub makes_directories: bool,
    /// True if the destination directory itself is created.
    pub makes_target: bool,
    /// True to report only the files that are transferred by URL, without copying anything.
    pub only_urls: bool,
    /// Account that reads: uid, gid, groups; `None` is the helper's own.
    pub reader: Option<(u32, u32, Vec<u32>)>,
    /// Account that writes: uid, gid, groups; `None` is the helper's own.
    pub writer: Option<(u32, u32, Vec<u32>)>,
    /// Directories that the access point may read and write (LIMIT_DIRECTORY_ACCESS); if empty, all.
    pub allowed: Vec<BString>,
}

/// Failure to transfer a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileTransferError {
    /// The file could not be read.
    Reading {
        /// Path of the file.
        path: BString,
        /// Error number of the system.
        errno: i32,
        /// True if the path is a symbolic link to a directory.
        link: bool,
    },
    /// The file exceeds the remaining limit.
    TooLarge {
        /// Path of the file.
        path: BString,
        /// Size in bytes.
        size: u64,
    },
    /// The file could not be written.
    Writing {
        /// Path of the file.
        path: BString,
        /// Error number of the system.
        errno: i32,
    },
    /// A directory could not be created.
    Directory {
        /// Path of the directory.
        path: BString,
        /// Error number of the system.
        errno: i32,
    },
    /// The directory for the job's output could not be created.
    OutputDirectory {
        /// Path of the directory.
        path: BString,
        /// Error number of the system.
        errno: i32,
    },
    /// The name points outside the destination directory.
    Illegal(BString),
    /// The rename rules contain a cycle.
    Cycle(BString),
    /// A rename rule maps a file that the receiver stores to a URL.
    ToUrl(BString),
}

/// Result of a transfer task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferTaskResult {
    /// Number of bytes transferred: file contents, plus four for each directory.
    pub bytes: u64,
    /// Number of directories.
    pub directories: u64,
    /// Number of files.
    pub files: u64,
    /// Files transferred by URL: (URL, path of the file).
    pub urls: Vec<(BString, BString)>,
    /// Number of files that could not be sent.
    pub unsent: u64,
    /// First file that could not be sent.
    pub first_unsent: Option<FileTransferError>,
    /// First file that could not be stored.
    pub unstored: Option<FileTransferError>,
    /// Names at the top level of the destination (SpooledOutputFiles).
    pub stored: Vec<BString>,
    /// Directories that could not be read and were sent as empty ones.
    pub unread: Vec<BString>,
    /// Names in transferred directories that do not resolve to a file, such as dangling links, and were skipped.
    pub left_out: Vec<BString>,
}
