//! One way of one transfer as plain data, and what was carried.

use bstr::BString;
use serde::{Deserialize, Serialize};

/// Which way files go, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransferKind {
    /// To the execution point.
    Input,
    /// Back.
    Output,
    /// Back, of a job that is to go on from there; the number counts from 0.
    Checkpoint(u32),
    /// Back, of a job that did not end as its ad promises.
    Failure,
    /// To where it is kept for the next run, of a job that has to leave its slot.
    Evicted,
}

impl TransferKind {
    /// Whether files go to the execution point.
    pub fn is_input(self) -> bool {
        self == TransferKind::Input
    }
}

/// What was in the scratch directory when the input was there: names, modification times in nanoseconds, sizes in bytes.
pub type DirectorySnapshot = Vec<(BString, i64, u64)>;

/// Which files are to go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileList {
    /// These.
    Named(Vec<BString>),
    /// Files of the directory itself that are new or changed since, and these.
    Changed {
        /// What was there.
        since: DirectorySnapshot,
        /// Sent whether they changed or not, directories too.
        also: Vec<BString>,
    },
}

/// What a helper is to carry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferTask {
    /// Which way.
    pub way: TransferKind,
    /// Which files.
    pub list: FileList,
    /// Where relative names of the list lie.
    pub base: BString,
    /// Where they go.
    pub target: BString,
    /// PreserveRelativePaths.
    pub preserve: bool,
    /// Base names that never go.
    pub except: Vec<BString>,
    /// The job's program: (its name in the list, its name there). It becomes executable.
    pub executable: Option<(BString, BString)>,
    /// Rules for names at the target, and what goes to a URL.
    pub remaps: Vec<(BString, BString)>,
    /// The rules of the ad alone: what they lead to a URL is uploaded.
    pub uploads: Vec<(BString, BString)>,
    /// MAX_REMAP_RECURSIONS.
    pub most_remaps: usize,
    /// Everything goes below this URL.
    pub destination: Option<BString>,
    /// Names of the list with the names that [`TransferTask::destination`] uses instead.
    pub renamed: Vec<(BString, BString)>,
    /// As many bytes at most.
    pub limit: Option<u64>,
    /// Whether directories that a rule names are made (ALLOW_TRANSFER_REMAP_TO_MKDIR).
    pub makes_directories: bool,
    /// Whether the target itself is made.
    pub makes_target: bool,
    /// Says only what goes to URLs, and carries nothing.
    pub only_urls: bool,
    /// The account that reads: user id, group id, groups; `None` is the helper's own.
    pub reader: Option<(u32, u32, Vec<u32>)>,
    /// The account that writes.
    pub writer: Option<(u32, u32, Vec<u32>)>,
    /// Directories in which the access point reads and writes alone (LIMIT_DIRECTORY_ACCESS); none: everywhere.
    pub allowed: Vec<BString>,
}

/// A file that could not be carried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileTransferError {
    /// It could not be read.
    Reading {
        /// Its path.
        path: BString,
        /// The system's error.
        errno: i32,
        /// Whether it is a link to a directory.
        link: bool,
    },
    /// It is larger than what may still go.
    TooLarge {
        /// Its path.
        path: BString,
        /// Its size in bytes.
        size: u64,
    },
    /// It could not be written.
    Writing {
        /// Its path.
        path: BString,
        /// The system's error.
        errno: i32,
    },
    /// A directory could not be made.
    Directory {
        /// Its path.
        path: BString,
        /// The system's error.
        errno: i32,
    },
    /// The directory of the job's output could not be made.
    OutputDirectory {
        /// Its path.
        path: BString,
        /// The system's error.
        errno: i32,
    },
    /// Its name leaves the directory.
    Illegal(BString),
    /// Rules go in a circle.
    Cycle(BString),
    /// A rule for what the other side stores leads to a URL.
    ToUrl(BString),
}

/// What came of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferTaskResult {
    /// Bytes that went over: of files, and four for each directory.
    pub bytes: u64,
    /// Directories.
    pub directories: u64,
    /// Files.
    pub files: u64,
    /// What goes to or comes from URLs: (URL, path of the file).
    pub urls: Vec<(BString, BString)>,
    /// How many the sender could not send, and the first of them.
    pub unsent: u64,
    /// The first that could not be sent.
    pub first_unsent: Option<FileTransferError>,
    /// The first that could not be stored.
    pub unstored: Option<FileTransferError>,
    /// Names at the top of the target (SpooledOutputFiles).
    pub stored: Vec<BString>,
    /// Directories that could not be read, and went as empty ones.
    pub unread: Vec<BString>,
    /// Names in transferred directories that lead to no file, such as dangling links, and were left out.
    pub left_out: Vec<BString>,
}
