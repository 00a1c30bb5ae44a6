//! The helper: sees, reads and writes files, each with the rights of whose they are.
//!
//! It is a process of its own, so that a starter stays awake whatever a file system does, and can end it. It has no more
//! rights than those of the two accounts: what belongs to neither cannot be read, written or replaced.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::limits;
use super::sender_files::{Disk, errno};
use super::store::{Source, Target};
use htc_base::process::Identity;
use htc_hook::transfer::{
    Expanded, Item, Kind, OF_DIRECTORY, Refused, Remaps, TransferResult, TransferTask, expand, url,
};
use htc_os::identity::acting_as;

/// Carries a task.
///
/// # Errors
/// An account cannot be taken on; nothing was carried then.
pub fn carry(task: &TransferTask) -> io::Result<TransferResult> {
    let (reader, writer) = (identity(&task.reader), identity(&task.writer));
    // Never as root for somebody else's files: without an account of the caller's we are the caller.
    if reader == writer {
        return acting_as(reader.as_ref(), || Carrier::new(task, None, None).carry())?;
    }
    Carrier::new(task, reader, writer).carry()
}

fn identity(account: &Option<(u32, u32, Vec<u32>)>) -> Option<Identity> {
    account.as_ref().map(|(uid, gid, groups)| Identity { uid: *uid, gid: *gid, groups: groups.clone() })
}

struct Carrier<'a> {
    task: &'a TransferTask,
    reader: Option<Identity>,
    writer: Option<Identity>,
    remaps: Remaps,
    result: TransferResult,
    /// Standard files, which are not counted among what is stored.
    standard: Vec<BString>,
    /// The directory that a rule had made last: many files go to one.
    made: Option<PathBuf>,
}

impl<'a> Carrier<'a> {
    fn new(task: &'a TransferTask, reader: Option<Identity>, writer: Option<Identity>) -> Self {
        let standard = [htc_hook::transfer::STDOUT, htc_hook::transfer::STDERR].map(BString::from).to_vec();
        Carrier {
            task,
            reader,
            writer,
            remaps: task.rules(),
            result: TransferResult::default(),
            standard,
            made: None,
        }
    }

    fn carry(mut self) -> io::Result<TransferResult> {
        let Expanded { items, unread, left_out } =
            acting_as(self.reader.as_ref(), || expand(self.task, &Disk))?;
        (self.result.unread, self.result.left_out) = (unread, left_out);
        if self.task.makes_target && !self.task.only_urls {
            let target = path(&self.task.target);
            if let Err(error) = self.make(&target)? {
                self.unstored(Refused::OutputDirectory { path: shown(&target), errno: errno(error) });
            }
        }
        for item in &items {
            if item.is_from_url() {
                let local = join(&self.task.target, &item.name());
                self.result.urls.push((item.source.clone(), local));
            } else if let Some(to) = &item.to_url {
                let is_directory = item.seen.is_some_and(|seen| seen.kind == Kind::Directory);
                if !is_directory {
                    let local = self.task.path_of(&item.source);
                    self.result.urls.push((to.clone(), local));
                }
            } else if !self.task.only_urls {
                self.item(item)?;
            }
        }
        Ok(self.result)
    }

    fn item(&mut self, item: &Item) -> io::Result<()> {
        let executable = self.task.executable.as_ref().filter(|(source, _)| *source == item.source);
        let name = executable.map_or_else(|| item.name(), |(_, name)| name.clone());
        let target = self.target(&name)?;
        self.result.files += 1;
        let refused = match item.seen {
            Some(seen) if seen.kind == Kind::Directory && !seen.link => {
                self.result.bytes += OF_DIRECTORY;
                self.result.directories += 1;
                if let Some(target) = &target {
                    let made = acting_as(self.writer.as_ref(), || {
                        self.check(false, target).and_then(|()| make_directory(target, seen.mode))
                    })?;
                    if let Err(error) = made {
                        self.unstored(Refused::Directory { path: shown(target), errno: errno(error) });
                    }
                }
                None
            }
            Some(seen) => {
                let mode = if executable.is_some() { 0o755 } else { seen.mode };
                self.file(item, target.as_deref(), mode)?
            }
            None => Some(self.unreadable(item)?),
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

    /// What is not there, or cannot be seen.
    fn unreadable(&self, item: &Item) -> io::Result<Refused> {
        let path = self.task.path_of(&item.source);
        let looked = acting_as(self.reader.as_ref(), || fs::metadata(path.to_path_lossy()))?;
        let errno = looked.err().map_or(nix::libc::ENOENT, errno);
        Ok(Refused::Reading { path, errno, link: false })
    }

    fn file(&mut self, item: &Item, target: Option<&Path>, mode: u32) -> io::Result<Option<Refused>> {
        let path = self.task.path_of(&item.source);
        let link = item.seen.is_some_and(|seen| seen.kind == Kind::Directory);
        let there = path.to_path_lossy();
        let source =
            acting_as(self.reader.as_ref(), || self.check(true, &there).and_then(|()| Source::open(&there)))?;
        let made = match target.filter(|_| !link) {
            Some(target) => match acting_as(self.writer.as_ref(), || {
                self.check(false, target).and_then(|()| Target::create(target))
            })? {
                Ok(file) => Some((target, file)),
                Err(error) => {
                    self.unstored(Refused::Writing { path: shown(target), errno: errno(error) });
                    None
                }
            },
            None => None,
        };
        let mut source = match source {
            Ok(source) if !link => source,
            // What the other side has made of it by then stays, empty.
            opened => {
                let errno = opened.err().filter(|_| !link).map_or(nix::libc::EISDIR, errno);
                return Ok(Some(Refused::Reading { path, errno, link }));
            }
        };
        let left = self.task.limit.map(|limit| limit.saturating_sub(self.result.bytes));
        let bytes = left.map_or(source.size, |left| left.min(source.size));
        let mut copied = bytes;
        if let Some((target, mut made)) = made {
            // Descriptors are open: no right is needed any more.
            match source.copy_to(&mut made.file, bytes) {
                Ok(count) => copied = count,
                Err(error) if is_of_target(&error) => {
                    self.unstored(Refused::Writing { path: shown(target), errno: errno(error) });
                }
                Err(error) => return Ok(Some(Refused::Reading { path, errno: errno(error), link: false })),
            }
            acting_as(self.writer.as_ref(), || made.give_mode(mode))?;
        }
        self.result.bytes += copied;
        Ok((bytes < source.size).then_some(Refused::TooLarge { path, size: source.size }))
    }

    /// Where something is stored; `None`: nowhere, which is noted.
    fn target(&mut self, name: &BString) -> io::Result<Option<PathBuf>> {
        if !is_legal(name) {
            self.unstored(Refused::Illegal(name.clone()));
            return Ok(None);
        }
        let base = self.task.target.clone();
        match self.remaps.find(name, self.task.most_remaps) {
            Err(cycle) => self.unstored(Refused::Cycle(cycle.0)),
            Ok(Some(target)) if url::is_url(&target) => self.unstored(Refused::ToUrl(target)),
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

    /// Makes the directories above a path that a rule leads to.
    fn make_above(&mut self, path: &Path) -> io::Result<()> {
        let Some(above) = path.parent().filter(|above| self.made.as_deref() != Some(*above)) else {
            return Ok(());
        };
        match self.make(above)? {
            Ok(()) => self.made = Some(above.to_owned()),
            Err(error) => self.unstored(Refused::Directory { path: shown(above), errno: errno(error) }),
        }
        Ok(())
    }

    /// Makes a directory and those above it, each for the job's account alone (`shadow_safe_mkdir`).
    fn make(&self, directory: &Path) -> io::Result<io::Result<()>> {
        acting_as(self.writer.as_ref(), || {
            // What is made of it lies below the first that is there.
            let there = directory.ancestors().find(|path| path.exists()).unwrap_or(directory);
            if !self.task.way.is_input() {
                limits::check_directory(&self.task.allowed, there)?;
            }
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
        })
    }

    /// Whether the access point lets this be read or written: it reads what goes in and writes what comes back.
    fn check(&self, reads: bool, path: &Path) -> io::Result<()> {
        match self.task.way.is_input() == reads {
            true => limits::check(&self.task.allowed, path),
            false => Ok(()),
        }
    }

    fn unstored(&mut self, refused: Refused) {
        self.result.unstored.get_or_insert(refused);
    }
}

/// A name that stays in the directory (`LegalPathInSandbox`).
fn is_legal(name: &[u8]) -> bool {
    !name.is_empty() && !name.starts_with(b"/") && name.split_str("/").all(|part| part != b"..")
}

/// Whether it is the target that failed: who reads gets no such errors.
fn is_of_target(error: &io::Error) -> bool {
    use nix::libc::{EDQUOT, EFBIG, ENOSPC, EPIPE, EROFS};
    matches!(error.raw_os_error(), Some(ENOSPC | EDQUOT | EFBIG | EROFS | EPIPE))
}

/// A directory with exactly its mode; one that is there stays as it is, something else in its place goes.
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
    // One that its owner could not fill would fail with the first file in it.
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o777))
}

fn join(above: &[u8], name: &[u8]) -> BString {
    [above, b"/", name].concat().into()
}

fn path(name: &[u8]) -> PathBuf {
    name.to_path_lossy().into_owned()
}

fn shown(path: &Path) -> BString {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().into()
}
