//! Copying of one file: the size is fixed when the file is opened, holes are preserved, and at most a given number of
//! bytes is copied.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::libc;
use nix::unistd::{Whence, lseek64};

/// Maximum size in bytes of a file that is copied with one read and one write.
const SMALL_FILE_SIZE: u64 = 64 * 1024;

/// File opened for sending.
pub(super) struct SourceFile {
    file: File,
    /// Size in bytes; 0 for anything but a regular file.
    pub(super) size: u64,
    sparse: bool,
}

impl SourceFile {
    /// Opens a file for sending without blocking. Anything but a regular file is sent as an empty file, as the
    /// reference sends devices.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let status = file.metadata()?;
        if status.is_dir() {
            return Err(Errno::EISDIR.into());
        }
        let size = if status.is_file() { status.len() } else { 0 };
        Ok(SourceFile { file, size, sparse: status.blocks().saturating_mul(512) < size })
    }

    /// Copies at most `bytes` bytes from the beginning of the file; returns the number of bytes that were copied.
    pub(super) fn copy_to(&mut self, target: &mut File, bytes: u64) -> io::Result<u64> {
        if bytes <= SMALL_FILE_SIZE && !self.sparse {
            // A small file is copied with as few system calls as possible, because there may be many.
            let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
            (&self.file).take(bytes).read_to_end(&mut content)?;
            target.write_all(&content)?;
            return Ok(content.len() as u64);
        }
        if !self.sparse {
            return io::copy(&mut (&self.file).take(bytes), target);
        }
        let end = i64::try_from(bytes).unwrap_or(i64::MAX);
        let mut at = 0;
        while at < end {
            // A file system without support for holes reports the whole file as data. After the last data, the error
            // is ENXIO.
            let Ok(data) = lseek64(&self.file, at, Whence::SeekData) else { break };
            if data >= end {
                break;
            }
            let hole = lseek64(&self.file, data, Whence::SeekHole)?.min(end);
            self.file.seek(SeekFrom::Start(data.unsigned_abs()))?;
            target.seek(SeekFrom::Start(data.unsigned_abs()))?;
            let length = (hole - data).unsigned_abs();
            if io::copy(&mut (&self.file).take(length), target)? < length {
                break;
            }
            at = hole;
        }
        target.set_len(bytes)?;
        Ok(bytes)
    }
}

/// File opened for writing.
pub(super) struct TargetFile {
    pub(super) file: File,
    /// True if the file did not exist before.
    is_new: bool,
}

impl TargetFile {
    /// Creates a file, or empties an existing one, for writing.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // `O_NONBLOCK` keeps `open` from waiting for a reader of a FIFO.
        options.write(true).mode(0o600).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        match options.clone().create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = options.create(true).truncate(true).open(path)?;
                Ok(TargetFile { file, is_new: false })
            }
            created => Ok(TargetFile { file: created?, is_new: true }),
        }
    }

    /// Sets the mode of the file, except of an existing file that is not a regular file, such as /dev/null.
    pub(super) fn set_mode(&self, mode: u32) {
        if self.is_new || self.file.metadata().is_ok_and(|status| status.is_file()) {
            drop(self.file.set_permissions(std::fs::Permissions::from_mode(mode & 0o777)));
        }
    }
}
