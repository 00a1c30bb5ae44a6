//! Transfer helper: lists, reads and writes files, each as the account of the file's owner.
//!
//! The helper is a separate process, so that a file system that hangs never blocks the starter, and the starter can
//! kill the helper. The helper acts only as the job's account and the owner's account: files that these accounts
//! cannot access are never read, written or replaced.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::directory_limits;
use super::file_copy::{SourceFile, TargetFile};
use super::sender_files::{DiskFiles, errno};
use htc_base::process::ProcessIdentity;
use htc_hook::transfer::{
    DIRECTORY_OVERHEAD_BYTES, ExpandedFileList, FileTransferError, Remaps, SenderFileKind, TransferItem,
    TransferTask, TransferTaskResult, expand_file_list, url,
};
use htc_os::identity::run_as;

/// Executes a task.
///
/// # Errors
/// Fails if the process cannot change to an account; nothing has been transferred then.
pub fn execute_task(task: &TransferTask) -> io::Result<TransferTaskResult> {
    let (reader, writer) = (identity(&task.reader), identity(&task.writer));
    // Files are accessed as the given accounts, never as root. Without a given account, the process keeps its own.
    if reader == writer {
        return run_as(reader.as_ref(), || TaskExecutor::new(task, None, None).execute())?;
    }
    TaskExecutor::new(task, reader, writer).execute()
}

fn identity(account: &Option<(u32, u32, Vec<u32>)>) -> Option<ProcessIdentity> {
    account.as_ref().map(|(uid, gid, groups)| ProcessIdentity {
        uid: *uid,
        gid: *gid,
        groups: groups.clone(),
    })
}

struct TaskExecutor<'a> {
    task: &'a TransferTask,
    reader: Option<ProcessIdentity>,
    writer: Option<ProcessIdentity>,
    remaps: Remaps,
    result: TransferTaskResult,
    /// Names of standard files, which are not counted among the stored files.
    standard: Vec<BString>,
    /// The directory that was last created for a remap rule: many files have the same destination.
    last_made_directory: Option<PathBuf>,
}

impl<'a> TaskExecutor<'a> {
    fn new(task: &'a TransferTask, reader: Option<ProcessIdentity>, writer: Option<ProcessIdentity>) -> Self {
        let standard = [htc_hook::transfer::JOB_STDOUT_FILE, htc_hook::transfer::JOB_STDERR_FILE]
            .map(BString::from)
            .to_vec();
        TaskExecutor {
            task,
            reader,
            writer,
            remaps: task.target_remaps(),
            result: TransferTaskResult::default(),
            standard,
            last_made_directory: None,
        }
    }

    fn execute(mut self) -> io::Result<TransferTaskResult> {
        let ExpandedFileList { items, unread, left_out } =
            run_as(self.reader.as_ref(), || expand_file_list(self.task, &DiskFiles))?;
        (self.result.unread, self.result.left_out) = (unread, left_out);
        if self.task.makes_target && !self.task.only_urls {
            let target = path(&self.task.target);
            if let Err(error) = self.make_private_directory(&target)? {
                self.record_unstored(FileTransferError::OutputDirectory {
                    path: path_bytes(&target),
                    errno: errno(error),
                });
            }
        }
        for item in &items {
            if item.is_from_url() {
                let local = join(&self.task.target, &item.target_name());
                self.result.urls.push((item.source.clone(), local));
            } else if let Some(to) = &item.to_url {
                let is_directory = item.file.is_some_and(|seen| seen.kind == SenderFileKind::Directory);
                if !is_directory {
                    let local = self.task.source_path(&item.source);
                    self.result.urls.push((to.clone(), local));
                }
            } else if !self.task.only_urls {
                self.transfer_item(item)?;
            }
        }
        Ok(self.result)
    }

    fn transfer_item(&mut self, item: &TransferItem) -> io::Result<()> {
        let executable = self.task.executable.as_ref().filter(|(source, _)| *source == item.source);
        let name = executable.map_or_else(|| item.target_name(), |(_, name)| name.clone());
        let target = self.resolve_target(&name)?;
        self.result.files += 1;
        let refused = match item.file {
            Some(seen) if seen.kind == SenderFileKind::Directory && !seen.link => {
                self.result.bytes += DIRECTORY_OVERHEAD_BYTES;
                self.result.directories += 1;
                if let Some(target) = &target {
                    let made = run_as(self.writer.as_ref(), || {
                        self.check(false, target).and_then(|()| make_directory(target, seen.mode))
                    })?;
                    if let Err(error) = made {
                        self.record_unstored(FileTransferError::Directory {
                            path: path_bytes(target),
                            errno: errno(error),
                        });
                    }
                }
                None
            }
            Some(seen) => {
                let mode = if executable.is_some() { 0o755 } else { seen.mode };
                self.transfer_file(item, target.as_deref(), mode)?
            }
            None => Some(self.unreadable_reason(item)?),
        };
        match refused {
            Some(refused) => {
                self.result.unsent += 1;
                self.result.first_unsent.get_or_insert(refused);
            }
            None if !name.contains(&b'/') && !self.standard.contains(&name) => self.result.stored.push(name),
            None => {}
        }
        Ok(())
    }

    /// Returns the error for a file that cannot be read.
    fn unreadable_reason(&self, item: &TransferItem) -> io::Result<FileTransferError> {
        let path = self.task.source_path(&item.source);
        let looked = run_as(self.reader.as_ref(), || fs::metadata(path.to_path_lossy()))?;
        let errno = looked.err().map_or(nix::libc::ENOENT, errno);
        Ok(FileTransferError::Reading { path, errno, link: false })
    }

    fn transfer_file(
        &mut self,
        item: &TransferItem,
        target: Option<&Path>,
        mode: u32,
    ) -> io::Result<Option<FileTransferError>> {
        let path = self.task.source_path(&item.source);
        let link = item.file.is_some_and(|seen| seen.kind == SenderFileKind::Directory);
        let there = path.to_path_lossy();
        let source = run_as(self.reader.as_ref(), || {
            self.check(true, &there).and_then(|()| SourceFile::open(&there))
        })?;
        let made = match target.filter(|_| !link) {
            Some(target) => match run_as(self.writer.as_ref(), || {
                self.check(false, target).and_then(|()| TargetFile::create(target))
            })? {
                Ok(file) => Some((target, file)),
                Err(error) => {
                    self.record_unstored(FileTransferError::Writing {
                        path: path_bytes(target),
                        errno: errno(error),
                    });
                    None
                }
            },
            None => None,
        };
        let mut source = match source {
            Ok(source) if !link => source,
            // The empty file that the receiver has created remains.
            opened => {
                let errno = opened.err().filter(|_| !link).map_or(nix::libc::EISDIR, errno);
                return Ok(Some(FileTransferError::Reading { path, errno, link }));
            }
        };
        let left = self.task.limit.map(|limit| limit.saturating_sub(self.result.bytes));
        let bytes = left.map_or(source.size, |left| left.min(source.size));
        let mut copied = bytes;
        if let Some((target, mut made)) = made {
            // Both files are open, so copying needs no further permissions.
            match source.copy_to(&mut made.file, bytes) {
                Ok(count) => copied = count,
                Err(error) if is_target_error(&error) => {
                    self.record_unstored(FileTransferError::Writing {
                        path: path_bytes(target),
                        errno: errno(error),
                    });
                }
                Err(error) => {
                    return Ok(Some(FileTransferError::Reading { path, errno: errno(error), link: false }));
                }
            }
            run_as(self.writer.as_ref(), || made.set_mode(mode))?;
        }
        self.result.bytes += copied;
        Ok((bytes < source.size).then_some(FileTransferError::TooLarge { path, size: source.size }))
    }

    /// Returns the path at which a file is stored. If the file cannot be stored, records the failure and returns
    /// `None`.
    fn resolve_target(&mut self, name: &BString) -> io::Result<Option<PathBuf>> {
        if !is_within_scratch(name) {
            self.record_unstored(FileTransferError::Illegal(name.clone()));
            return Ok(None);
        }
        let base = self.task.target.clone();
        match self.remaps.find_target(name, self.task.most_remaps) {
            Err(cycle) => self.record_unstored(FileTransferError::Cycle(cycle.0)),
            Ok(Some(target)) if url::is_url(&target) => {
                self.record_unstored(FileTransferError::ToUrl(target))
            }
            Ok(Some(target)) if target.starts_with(b"/") => return Ok(Some(path(&target))),
            Ok(Some(target)) => {
                let path = path(&join(&base, &target));
                if target.contains(&b'/') && self.task.makes_directories {
                    self.make_above(&path)?;
                }
                return Ok(Some(path));
            }
            Ok(None) => return Ok(Some(path(&join(&base, name)))),
        }
        Ok(None)
    }

    /// Creates the missing parent directories of a path to which a remap rule leads.
    fn make_above(&mut self, path: &Path) -> io::Result<()> {
        let Some(above) = path.parent().filter(|above| self.last_made_directory.as_deref() != Some(*above))
        else {
            return Ok(());
        };
        match self.make_private_directory(above)? {
            Ok(()) => self.last_made_directory = Some(above.to_owned()),
            Err(error) => self.record_unstored(FileTransferError::Directory {
                path: path_bytes(above),
                errno: errno(error),
            }),
        }
        Ok(())
    }

    /// Creates a directory and its missing parents as the receiving account, with mode 0700 (`shadow_safe_mkdir`).
    fn make_private_directory(&self, directory: &Path) -> io::Result<io::Result<()>> {
        run_as(self.writer.as_ref(), || {
            // The first ancestor that exists is checked, because the new directories are created below it.
            let there = directory.ancestors().find(|path| path.exists()).unwrap_or(directory);
            if !self.task.way.is_input() {
                directory_limits::check_directory(&self.task.allowed, there)?;
            }
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
        })
    }

    /// Checks that the access point permits reading an input file or writing an output file.
    fn check(&self, reads: bool, path: &Path) -> io::Result<()> {
        match self.task.way.is_input() == reads {
            true => directory_limits::check(&self.task.allowed, path),
            false => Ok(()),
        }
    }

    fn record_unstored(&mut self, refused: FileTransferError) {
        self.result.unstored.get_or_insert(refused);
    }
}

/// Returns true if a file name does not lead out of the scratch directory (`LegalPathInSandbox`).
fn is_within_scratch(name: &[u8]) -> bool {
    !name.is_empty() && !name.starts_with(b"/") && name.split_str("/").all(|part| part != b"..")
}

/// Returns true for errors that only writing produces.
fn is_target_error(error: &io::Error) -> bool {
    use nix::libc::{EDQUOT, EFBIG, ENOSPC, EPIPE, EROFS};
    matches!(error.raw_os_error(), Some(ENOSPC | EDQUOT | EFBIG | EROFS | EPIPE))
}

/// Creates a directory with exactly the given mode. An existing directory is kept; anything else at the path is
/// removed.
fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let make = || fs::DirBuilder::new().mode(0o700).create(path);
    match make() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if fs::metadata(path).is_ok_and(|status| status.is_dir()) {
                return Ok(());
            }
            fs::remove_file(path)?;
            make()?;
        }
        made => made?,
    }
    // The mode may keep even the owner from writing to the directory; writing its first file then fails and is
    // reported.
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o777))
}

fn join(above: &[u8], name: &[u8]) -> BString {
    [above, b"/", name].concat().into()
}

fn path(name: &[u8]) -> PathBuf {
    name.to_path_lossy().into_owned()
}

fn path_bytes(path: &Path) -> BString {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().into()
}
