//! What is in the file system, seen with the rights that we have just now.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use bstr::{BString, ByteSlice};

use htc_base::process::Identity;
use htc_hook::transfer::{Catalogue, Kind, Seen, SenderFiles};
use htc_os::identity::acting_as;

/// The file system itself.
pub(super) struct Disk;

impl SenderFiles for Disk {
    fn look(&self, path: &[u8]) -> Result<Seen, i32> {
        let path = path.to_path_lossy();
        let (status, link) = (|| {
            let status = fs::symlink_metadata(&path)?;
            match status.is_symlink() {
                true => Ok((fs::metadata(&path)?, true)),
                false => Ok((status, false)),
            }
        })()
        .map_err(errno)?;
        let kind = match status.file_type() {
            kind if kind.is_dir() => Kind::Directory,
            kind if kind.is_socket() || kind.is_fifo() => Kind::Other,
            _ => Kind::File,
        };
        Ok(Seen { kind, link, mode: status.mode() & 0o7777, size: status.len(), modified: modified(&status) })
    }

    fn names(&self, directory: &[u8]) -> Result<Vec<BString>, i32> {
        let entries = fs::read_dir(directory.to_path_lossy()).map_err(errno)?;
        Ok(entries.flatten().map(|entry| entry.file_name().into_vec().into()).collect())
    }
}

/// The system's number of an error.
pub(super) fn errno(error: io::Error) -> i32 {
    error.raw_os_error().unwrap_or(nix::libc::EIO)
}

fn modified(status: &fs::Metadata) -> i64 {
    status.mtime().saturating_mul(1_000_000_000).saturating_add(status.mtime_nsec())
}

/// What is in a directory now, seen by an account.
///
/// # Errors
/// The directory cannot be read.
pub fn catalogue(directory: &Path, reader: Option<&Identity>) -> io::Result<Catalogue> {
    acting_as(reader, || {
        let mut all = Catalogue::new();
        for entry in fs::read_dir(directory)?.flatten() {
            // As the listing later sees it: links followed.
            if let Ok(status) = fs::metadata(entry.path()) {
                all.push((entry.file_name().into_vec().into(), modified(&status), status.len()));
            }
        }
        Ok(all)
    })?
}
