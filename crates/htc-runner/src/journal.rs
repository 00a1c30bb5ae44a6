//! Journals on disk: one file with one writer, in which each record is either complete or absent.
//!
//! When [`JournalFile::append`] returns, the record has been passed to the kernel, so it outlives the process. A
//! power failure may lose the last records; the loss is reported when the journal is read. The file has mode 0600 and
//! is opened only if it is not a symbolic link and no other account could replace it in its directory. It reserves
//! disk space for further records, so that they can be written even when the disk is full. The reserved space is
//! filled with zeros after the last record, so that file systems with delayed allocation allocate the blocks at once;
//! readers skip the zeros.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc::O_NOFOLLOW;
use nix::unistd::{geteuid, getpid};
use serde::Serialize;
use serde::de::DeserializeOwned;

use htc_hook::journal::{Journal, JournalEncodeError, encode_record, read_journal};
use htc_os::file_lock::ExclusiveLock;
use htc_os::process_table;

/// Space reserved on the disk for further records, in bytes.
const RESERVED_BYTES: usize = 64 << 10;
/// Suffix of the file whose lock marks the journal as in use, and which contains the writer's process id.
const LOCK_SUFFIX: &str = ".lock";
/// Time to wait for a lock whose holder has ended: a child that the holder forked may still have the lock until it
/// executes its program.
const INHERITED_LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Time to wait for a lock whose holder is alive: a holder that was killed may need a moment to end.
const HELD_LOCK_TIMEOUT: Duration = Duration::from_millis(200);
/// Suffix of a compacted journal before it replaces the original.
const COMPACTED_SUFFIX: &str = ".new";
/// Mode bits that let the group or other accounts write.
const OTHERS_WRITE_MASK: u32 = 0o022;
/// Mode bit of a directory in which accounts cannot replace each other's files.
const STICKY_BIT: u32 = 0o1000;

/// Error from opening, reading or writing a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process is writing the journal.
    #[error("'{}' is in use by {}", path.display(), holder_text(*pid))]
    InUse {
        /// Path of the journal.
        path: PathBuf,
        /// Process id of the writer, or `None` if it could not be read.
        pid: Option<i32>,
    },
    /// Another account could write the journal or replace it.
    #[error("'{}' is not safe: {why}", path.display())]
    Unsafe {
        /// The file or directory that is unsafe.
        path: PathBuf,
        /// Reason why the path is unsafe.
        why: &'static str,
    },
    /// A system call failed.
    #[error("cannot {verb} '{}'", path.display())]
    System {
        /// Verb for the operation that failed.
        verb: &'static str,
        /// The file or directory of the operation.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A record cannot be encoded.
    #[error(transparent)]
    Record(#[from] JournalEncodeError),
}

fn holder_text(pid: Option<i32>) -> String {
    pid.map_or_else(|| "another process".into(), |pid| format!("process {pid}"))
}

/// Journal that this process is writing.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    file: File,
    /// Offset of the next record.
    end: u64,
    /// Offset at which the reserved space ends.
    reserved: u64,
    _lock: ExclusiveLock,
}

impl JournalFile {
    /// Opens or creates a journal and reads its contents. New records are added after the last complete line.
    ///
    /// # Errors
    /// Fails if another process is writing the journal, if another account could change it, or on errors of the
    /// system.
    pub fn open<T: DeserializeOwned>(path: &Path) -> Result<(Self, Journal<T>), JournalError> {
        check_directory(path)?;
        let lock = lock(path)?;
        let mut file = open_owned_file(path, OpenOptions::new().read(true).write(true).create(true))?;
        let bytes = read_content(&mut file).map_err(system_error("read", path))?;
        let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1) as u64;
        if end < bytes.len() as u64 {
            file.set_len(end).map_err(system_error("remove an incomplete record", path))?;
        }
        let mut opened = JournalFile { path: path.into(), file, end, reserved: 0, _lock: lock };
        opened.reserve();
        Ok((opened, read_journal(&bytes)))
    }

    /// Reads a journal whose writer has ended, even if a child of the writer that has not executed a program yet
    /// still holds the lock.
    ///
    /// # Errors
    /// Fails if another account could change the journal, or on errors of the system.
    pub fn peek<T: DeserializeOwned>(path: &Path) -> Result<Journal<T>, JournalError> {
        check_directory(path)?;
        let mut file = open_owned_file(path, OpenOptions::new().read(true).write(true))?;
        let bytes = read_content(&mut file).map_err(system_error("read", path))?;
        Ok(read_journal(&bytes))
    }

    /// Adds a record. After an error the journal is unchanged, and the call may be repeated.
    ///
    /// # Errors
    /// Fails if the disk is full or broken, or if the record cannot be encoded as JSON.
    pub fn append<T: Serialize>(&mut self, record: &T) -> Result<(), JournalError> {
        let line = encode_record(record)?;
        if let Err(error) = self.file.write_all_at(&line, self.end) {
            // A partial line would be reported as damage. If truncating fails, the next record overwrites the
            // partial line.
            let _ = self.file.set_len(self.end);
            return Err(system_error("write to", &self.path)(error));
        }
        self.end += line.len() as u64;
        if self.end + RESERVED_BYTES as u64 / 2 > self.reserved {
            self.reserve();
        }
        Ok(())
    }

    /// Replaces the contents by the given records. After an error the journal is unchanged.
    ///
    /// # Errors
    /// Fails if the disk is full or broken, or if a record cannot be encoded as JSON.
    pub fn compact<'a, T: Serialize + 'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a T>,
    ) -> Result<(), JournalError> {
        let path = path_with_suffix(&self.path, COMPACTED_SUFFIX);
        let mut bytes = Vec::new();
        for record in records {
            bytes.extend(encode_record(record)?);
        }
        let mut options = OpenOptions::new();
        // The file is truncated only after checking that it belongs to this program.
        let mut file = open_owned_file(&path, options.read(true).write(true).create(true).truncate(false))?;
        let put = |file: &mut File| {
            file.set_len(0)?;
            file.write_all(&bytes)?;
            file.sync_data()?;
            std::fs::rename(&path, &self.path)?;
            // Unless the directory is synchronised, a power failure could bring the old file back without the
            // records that follow.
            sync_directory(&self.path);
            Ok(())
        };
        if let Err(error) = put(&mut file) {
            let _ = std::fs::remove_file(&path);
            return Err(system_error("write", &path)(error));
        }
        self.file = file;
        self.end = bytes.len() as u64;
        self.reserved = 0;
        self.reserve();
        Ok(())
    }

    /// Returns the length in bytes. A program that writes often compacts the journal when its length exceeds a limit.
    pub fn len(&self) -> u64 {
        self.end
    }

    /// Returns true if the journal is empty.
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// Reserves disk space if the disk has enough; if not, [`JournalFile::append`] fails once the disk is full.
    fn reserve(&mut self) {
        if self.file.write_all_at(&[0; RESERVED_BYTES], self.end).is_ok() {
            self.reserved = self.end + RESERVED_BYTES as u64;
        }
    }
}

impl Drop for JournalFile {
    /// Releases the reserved space.
    fn drop(&mut self) {
        let _ = self.file.set_len(self.end);
    }
}

/// Reads the records of a journal without the reserved space.
fn read_content(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(end);
    Ok(bytes)
}

fn system_error(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> JournalError {
    let path = path.to_owned();
    move |source| JournalError::System { verb, path, source }
}

fn path_with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Synchronises the directory of a file with the disk. Errors are ignored: file systems that do not support this
/// write directories immediately.
pub(crate) fn sync_directory(path: &Path) {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    drop(File::open(directory).and_then(|directory| directory.sync_all()));
}

/// Checks that only this account and root can replace the file in its directory.
fn check_directory(path: &Path) -> Result<(), JournalError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let status = std::fs::metadata(directory).map_err(system_error("look at", directory))?;
    let unsafe_for = |why| Err(JournalError::Unsafe { path: directory.into(), why });
    if status.uid() != geteuid().as_raw() && status.uid() != 0 {
        return unsafe_for("the directory belongs to another account");
    }
    if status.mode() & OTHERS_WRITE_MASK != 0 && status.mode() & STICKY_BIT == 0 {
        return unsafe_for("other accounts can write the directory");
    }
    Ok(())
}

/// Opens a regular file that belongs to this account alone, and sets its mode to 0600.
fn open_owned_file(path: &Path, options: &mut OpenOptions) -> Result<File, JournalError> {
    let file = options.mode(0o600).custom_flags(O_NOFOLLOW).open(path).map_err(|error| {
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ELOOP) => JournalError::Unsafe { path: path.into(), why: "it is a link" },
            _ => system_error("open", path)(error),
        }
    })?;
    let status = file.metadata().map_err(system_error("look at", path))?;
    if status.nlink() == 0 {
        // The owner of the file has just removed it.
        return Err(system_error("open", path)(io::ErrorKind::NotFound.into()));
    }
    if let Some(why) = wrong_owner_reason(&status) {
        return Err(JournalError::Unsafe { path: path.into(), why });
    }
    file.set_permissions(Permissions::from_mode(0o600)).map_err(system_error("set the mode of", path))?;
    Ok(file)
}

fn wrong_owner_reason(status: &Metadata) -> Option<&'static str> {
    if !status.is_file() {
        return Some("it is not a regular file");
    }
    if status.uid() != geteuid().as_raw() {
        return Some("it belongs to another account");
    }
    (status.nlink() != 1).then_some("it has more than one hard link")
}

/// Takes the lock, which is a separate file because compacting replaces the journal.
///
/// A child that the holder has forked keeps the lock until the child executes its program, even if the holder was
/// killed meanwhile. Therefore a lock whose holder has ended will be free in a moment, and this function waits for
/// it.
fn lock(path: &Path) -> Result<ExclusiveLock, JournalError> {
    let place = path_with_suffix(path, LOCK_SUFFIX);
    let begun = Instant::now();
    loop {
        // The file is truncated only when it is locked: until then it contains the process id of the other holder.
        let file =
            open_owned_file(&place, OpenOptions::new().read(true).write(true).create(true).truncate(false))?;
        let (mut file, error) = match ExclusiveLock::try_acquire(file) {
            Ok(lock) => {
                write_holder(&lock);
                return Ok(lock);
            }
            Err(refusal) => refusal,
        };
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(system_error("lock", &place)(error));
        }
        let mut text = String::new();
        let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
        let patience =
            if pid.is_some_and(has_process_ended) { INHERITED_LOCK_TIMEOUT } else { HELD_LOCK_TIMEOUT };
        if begun.elapsed() >= patience {
            return Err(JournalError::InUse { path: path.into(), pid });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Writes the id of this process into the lock file.
fn write_holder(lock: &ExclusiveLock) {
    let note = format!("{}\n", getpid());
    // An empty file is not truncated: some file systems flush a file immediately if it is written after truncation.
    let is_empty = lock.metadata().is_ok_and(|status| status.len() == 0);
    let cut = if is_empty { Ok(()) } else { lock.set_len(0) };
    let written = cut.and_then(|()| lock.write_all_at(note.as_bytes(), 0));
    // If the write failed, another process cannot report which process holds the lock, which is harmless.
    drop(written);
}

/// Returns true if the process has ended, whether or not it has been reaped.
fn has_process_ended(pid: i32) -> bool {
    process_table::read_process(pid).is_none_or(|process| process.is_zombie())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use htc_hook::journal::JournalFlaw;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        (directory, path)
    }

    fn records(path: &Path) -> Vec<u32> {
        JournalFile::open(path).unwrap().1.records
    }

    #[test]
    fn records_are_read_when_the_journal_is_opened_again() {
        let (_directory, path) = place();
        let (mut journal, before) = JournalFile::open::<u32>(&path).unwrap();
        assert!(before.records.is_empty() && before.damage.is_empty() && journal.is_empty());
        for record in 0..5000 {
            journal.append(&record).unwrap();
        }
        drop(journal);
        assert_eq!(records(&path), (0..5000).collect::<Vec<_>>());
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn an_incomplete_last_record_is_reported_once_and_overwritten() {
        let (_directory, path) = place();
        JournalFile::open::<u32>(&path).unwrap().0.append(&1).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&encode_record(&"a long record that is cut").unwrap()[..30]).unwrap();
        let (mut journal, read) = JournalFile::open::<u32>(&path).unwrap();
        assert_eq!(read.records, [1]);
        assert_eq!(
            read.damage.iter().map(|damage| &damage.flaw).collect::<Vec<_>>(),
            [&JournalFlaw::Truncated]
        );
        journal.append(&2).unwrap();
        drop(journal);
        let (_, again) = JournalFile::open::<u32>(&path).unwrap();
        assert_eq!((again.records, again.damage), (vec![1, 2], vec![]));
    }

    #[test]
    fn reserved_space_after_the_last_record_is_not_damage() {
        let (_directory, path) = place();
        let (mut journal, _) = JournalFile::open::<u32>(&path).unwrap();
        journal.append(&1).unwrap();
        let size = || path.metadata().unwrap().len();
        assert!(size() > journal.len() + RESERVED_BYTES as u64 / 2);
        // Opens the journal like a process that starts after the writer was killed.
        let found = JournalFile::peek::<u32>(&path).unwrap();
        assert_eq!((found.records, found.damage), (vec![1], vec![]));
        let other = path.with_file_name("killed");
        std::fs::copy(&path, &other).unwrap();
        let (_, found) = JournalFile::open::<u32>(&other).unwrap();
        assert_eq!((found.records, found.damage), (vec![1], vec![]));
        let length = journal.len();
        drop(journal);
        assert_eq!(size(), length, "it is given back");
    }

    #[test]
    fn a_second_writer_gets_the_pid_of_the_first() {
        let (_directory, path) = place();
        let (mut first, _) = JournalFile::open::<u32>(&path).unwrap();
        first.compact(&[7]).unwrap();
        let error = JournalFile::open::<u32>(&path).unwrap_err().to_string();
        assert_eq!(error, format!("'{}' is in use by process {}", path.display(), std::process::id()));
        drop(first);
        assert_eq!(records(&path), [7]);
    }

    #[test]
    fn a_lock_held_by_a_child_of_a_dead_process_is_waited_for() {
        let (_directory, path) = place();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let held = lock(&path).unwrap();
        held.set_len(0).unwrap();
        held.write_all_at(format!("{}\n", ended.id()).as_bytes(), 0).unwrap();
        let other = std::thread::spawn({
            let path = path.clone();
            move || lock(&path).map(drop)
        });
        std::thread::sleep(2 * HELD_LOCK_TIMEOUT);
        assert!(!other.is_finished());
        drop(held);
        other.join().unwrap().unwrap();
    }

    #[test]
    fn compaction_keeps_the_given_records_and_appending_continues() {
        let (_directory, path) = place();
        let (mut journal, _) = JournalFile::open::<u32>(&path).unwrap();
        for record in 0..100 {
            journal.append(&record).unwrap();
        }
        let before = journal.len();
        journal.compact(&[98, 99]).unwrap();
        assert!(journal.len() < before / 10);
        journal.append(&100).unwrap();
        drop(journal);
        assert_eq!(records(&path), [98, 99, 100]);
    }

    /// After a kill or a power failure during compaction, either the old journal still exists, possibly with a part
    /// of the new file next to it, or only the new journal exists.
    #[test]
    fn compaction_may_be_interrupted_at_any_point() {
        let (_directory, path) = place();
        let new_path = path_with_suffix(&path, COMPACTED_SUFFIX);
        let all: Vec<u32> = (0..9).collect();
        let (mut journal, _) = JournalFile::open::<u32>(&path).unwrap();
        all.iter().for_each(|record| journal.append(record).unwrap());
        let old = std::fs::read(&path).unwrap();
        journal.compact(&all[7..]).unwrap();
        let length = usize::try_from(journal.len()).unwrap();
        let compacted = std::fs::read(&path).unwrap();
        drop(journal);
        for written in [0, 1, length / 2, length - 1, length] {
            std::fs::write(&path, &old).unwrap();
            std::fs::write(&new_path, &compacted[..written]).unwrap();
            std::fs::set_permissions(&new_path, Permissions::from_mode(0o600)).unwrap();
            let (mut journal, read) = JournalFile::open::<u32>(&path).unwrap();
            assert_eq!((&read.records, read.damage), (&all, vec![]), "{written} bytes");
            journal.compact(&all[7..]).unwrap();
            journal.append(&9).unwrap();
            drop(journal);
            assert_eq!(records(&path), [7, 8, 9], "{written} bytes");
            assert!(!new_path.exists());
        }
    }

    /// The test runs its own executable again with a file size limit of 8 or 16 KiB (shells differ in the unit).
    #[test]
    fn after_a_full_disk_the_journal_continues_with_the_next_record() {
        const INNER: &str = "HTC_TEST_FULL_DISK";
        if let Some(path) = std::env::var_os(INNER) {
            let (mut journal, read) = JournalFile::open::<String>(path.as_ref()).unwrap();
            assert!(read.damage.is_empty());
            let long = "x".repeat(900);
            let refused = std::iter::repeat_with(|| journal.append(&long)).find_map(Result::err).unwrap();
            assert!(refused.to_string().starts_with("cannot write to"), "{refused}");
            let full = journal.len();
            journal.append(&"a short one still fits".to_owned()).unwrap();
            assert!(full > 4096 && journal.len() <= 16384);
            return;
        }
        let (_directory, path) = place();
        let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact --test-threads=1 \"$1\"";
        let name = "journal::tests::after_a_full_disk_the_journal_continues_with_the_next_record";
        let output = std::process::Command::new("sh")
            .args(["-c", script])
            .args([std::env::current_exe().unwrap().as_os_str(), name.as_ref()])
            .env(INNER, &path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        let (_, read) = JournalFile::open::<String>(&path).unwrap();
        assert!(read.damage.is_empty() && read.records.len() > 4);
        assert_eq!(read.records.last().unwrap(), "a short one still fits");
    }

    #[test]
    fn links_second_names_and_open_directories_are_refused() {
        let (directory, path) = place();
        let other = directory.path().join("other");
        std::fs::write(&other, "do not touch").unwrap();
        let why = |path: &Path| JournalFile::open::<u32>(path).unwrap_err().to_string();
        symlink(&other, &path).unwrap();
        assert!(why(&path).ends_with("is not safe: it is a link"), "{}", why(&path));
        std::fs::remove_file(&path).unwrap();
        std::fs::hard_link(&other, &path).unwrap();
        assert!(why(&path).ends_with("is not safe: it has more than one hard link"), "{}", why(&path));
        let open = directory.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        assert!(why(&open.join("journal")).ends_with("other accounts can write the directory"));
        assert_eq!(std::fs::read(&other).unwrap(), b"do not touch");
    }
}
