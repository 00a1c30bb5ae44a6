//! Copies one file: size as it was when it was opened, holes kept, never more than may go.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::libc;
use nix::unistd::{Whence, lseek64};

/// A file that is opened to be sent.
pub(super) struct Source {
    file: File,
    /// Its size, 0 for a device.
    pub(super) size: u64,
    sparse: bool,
}

impl Source {
    /// Opens what is to be sent. Nobody is waited for: what is no regular file is sent as an empty one, as the reference
    /// sends devices.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let status = file.metadata()?;
        if status.is_dir() {
            return Err(Errno::EISDIR.into());
        }
        let size = if status.is_file() { status.len() } else { 0 };
        Ok(Source { file, size, sparse: status.blocks().saturating_mul(512) < size })
    }

    /// Copies the first bytes; as many as were there.
    pub(super) fn copy_to(&mut self, target: &mut File, bytes: u64) -> io::Result<u64> {
        if !self.sparse {
            return io::copy(&mut (&self.file).take(bytes), target);
        }
        let end = i64::try_from(bytes).unwrap_or(i64::MAX);
        let mut at = 0;
        while at < end {
            // A file system that knows no holes says that all of it is data; behind the last data there is nothing (ENXIO).
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

/// Opens what is to be written, empty.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Nobody is waited for who might read a FIFO.
    options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(path)
}

/// Gives it its mode. What is no file of ours, such as /dev/null, keeps its own.
pub(super) fn give_mode(target: &File, mode: u32) {
    if target.metadata().is_ok_and(|status| status.is_file()) {
        drop(target.set_permissions(std::fs::Permissions::from_mode(mode & 0o777)));
    }
}
