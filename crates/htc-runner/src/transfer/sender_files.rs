//! Access of a transfer's sender to the file system, as the account under which the process currently runs.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use bstr::{BString, ByteSlice};

use htc_base::process::ProcessIdentity;
use htc_hook::transfer::{DirectorySnapshot, SenderFileInfo, SenderFileKind, SenderFiles};
use htc_os::identity::run_as;

/// The real file system.
pub(super) struct DiskFiles;

impl SenderFiles for DiskFiles {
    fn stat(&self, path: &[u8]) -> Result<SenderFileInfo, i32> {
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
            kind if kind.is_dir() => SenderFileKind::Directory,
            kind if kind.is_socket() || kind.is_fifo() => SenderFileKind::Other,
            _ => SenderFileKind::File,
        };
        Ok(SenderFileInfo {
            kind,
            link,
            mode: status.mode() & 0o7777,
            size: status.len(),
            modified: modification_nanoseconds(&status),
        })
    }

    fn list_directory(&self, directory: &[u8]) -> Result<Vec<BString>, i32> {
        let entries = fs::read_dir(directory.to_path_lossy()).map_err(errno)?;
        Ok(entries.flatten().map(|entry| entry.file_name().into_vec().into()).collect())
    }
}

/// Returns the error number of an I/O error.
pub(super) fn errno(error: io::Error) -> i32 {
    error.raw_os_error().unwrap_or(nix::libc::EIO)
}

fn modification_nanoseconds(status: &fs::Metadata) -> i64 {
    status.mtime().saturating_mul(1_000_000_000).saturating_add(status.mtime_nsec())
}

/// Returns the contents of a directory as seen by an account.
///
/// # Errors
/// Fails if the directory cannot be read.
pub fn read_catalogue(directory: &Path, reader: Option<&ProcessIdentity>) -> io::Result<DirectorySnapshot> {
    run_as(reader, || {
        let mut all = DirectorySnapshot::new();
        for entry in fs::read_dir(directory)?.flatten() {
            // Symbolic links are followed, because the later listing, which is compared with this one, follows them
            // as well.
            if let Ok(status) = fs::metadata(entry.path()) {
                all.push((
                    entry.file_name().into_vec().into(),
                    modification_nanoseconds(&status),
                    status.len(),
                ));
            }
        }
        Ok(all)
    })?
}
