//! A file transfer in one direction as plain data, and its result.

use bstr::BString;
use serde::{Deserialize, Serialize};

/// Direction of a file transfer, and the occasion for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransferKind {
    /// Transfer to the execution point.
    Input,
    /// Transfer from the execution point at the end of the job.
    Output,
    /// Transfer of a checkpoint from the execution point. A job that is restarted continues from its checkpoint.
    /// Checkpoints are numbered from 0.
    Checkpoint(u32),
    /// Transfer from the execution point, for a job that did not end as its ad requires (WhenToTransferOutput =
    /// ON_SUCCESS).
    Failure,
    /// Transfer to the spool when the job is evicted; the spool keeps the files for the next run.
    Evicted,
}

impl TransferKind {
    /// Returns true if files are sent to the execution point.
    pub fn is_input(self) -> bool {
        self == TransferKind::Input
    }
}

/// Listing of the scratch directory after the input transfer: names, modification times in nanoseconds, sizes in bytes.
pub type DirectorySnapshot = Vec<(BString, i64, u64)>;

/// Choice of the files to transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileList {
    /// Files with these names.
    Named(Vec<BString>),
    /// Files directly in the directory that are new or changed since the snapshot, and the files in `also`.
    Changed {
        /// Snapshot to which the directory is compared.
        since: DirectorySnapshot,
        /// Files and directories that are transferred even if they have not changed.
        also: Vec<BString>,
    },
}

/// Transfer that a helper process performs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferTask {
    /// Direction of the transfer.
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
    /// Executable of the job: (name in the list, name at the destination). The receiver makes this file executable.
    pub executable: Option<(BString, BString)>,
    /// Rename rules that apply at the destination, including rules that map to URLs.
    pub remaps: Vec<(BString, BString)>,
    /// Rules of TransferOutputRemaps alone. Files that these rules map to a URL are uploaded.
    pub uploads: Vec<(BString, BString)>,
    /// Value of MAX_REMAP_RECURSIONS.
    pub most_remaps: usize,
    /// URL below which everything is uploaded (OutputDestination), or `None`.
    pub destination: Option<BString>,
    /// Standard output and error of the final output: (name in the list, name in the job ad). With
    /// [`TransferTask::destination`], they are uploaded only to names in the job ad that are URLs.
    pub renamed: Vec<(BString, BString)>,
    /// Maximum number of bytes of all files, or `None`.
    pub limit: Option<u64>,
    /// True if directories that a rule names are created (ALLOW_TRANSFER_REMAP_TO_MKDIR).
    pub makes_directories: bool,
    /// True if the destination directory itself is created.
    pub makes_target: bool,
    /// True to report only the files that are transferred by URL, without copying anything.
    pub only_urls: bool,
    /// Account that reads the files: uid, gid, groups. `None` means the helper's own account.
    pub reader: Option<(u32, u32, Vec<u32>)>,
    /// Account that writes the files: uid, gid, groups. `None` means the helper's own account.
    pub writer: Option<(u32, u32, Vec<u32>)>,
    /// Directories that the access point may read and write (LIMIT_DIRECTORY_ACCESS); empty for all directories.
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
    /// The file exceeds the rest of the byte limit.
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
    /// OutputDirectory of the job could not be created.
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
    /// A rename rule maps a file to a URL, but the receiver has to store the file.
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
    /// Error for the first file that could not be sent.
    pub first_unsent: Option<FileTransferError>,
    /// Error for the first file that could not be stored.
    pub unstored: Option<FileTransferError>,
    /// Names at the top level of the destination (SpooledOutputFiles).
    pub stored: Vec<BString>,
    /// Directories that could not be read and were sent as empty directories.
    pub unread: Vec<BString>,
    /// Names in transferred directories that were skipped because they do not resolve to a file, such as dangling
    /// links.
    pub left_out: Vec<BString>,
}
