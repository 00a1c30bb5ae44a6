//! Atomic replacement of a file's content.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::Path;

use tempfile::NamedTempFile;

/// Replaces the content of a file atomically: other processes always see either the complete old or the complete new
/// text, even after a crash.
///
/// The file keeps its owner, group and permissions. If `path` is a symbolic link, its target is replaced.
///
/// # Errors
/// Returns an error if a new file cannot be written in the same directory, or cannot get the same owner. The
/// old file is then unchanged.
pub(super) fn replace_file(path: &Path, text: &[u8]) -> io::Result<()> {
    let target = path.canonicalize()?;
    let directory = target.parent().unwrap_or(Path::new("/"));
    let status = target.metadata()?;
    let mut written = NamedTempFile::new_in(directory)?;
    written.write_all(text)?;
    let (new, file) = (written.as_file().metadata()?, written.as_file());
    if (new.uid(), new.gid()) != (status.uid(), status.gid()) {
        fchown(file, Some(status.uid()), Some(status.gid()))
            .map_err(|error| io::Error::new(error.kind(), format!("its owner cannot be kept: {error}")))?;
    }
    // The permissions are set after the owner, because changing the owner clears the set-user-ID and set-group-ID bits.
    file.set_permissions(status.permissions())?;
    file.sync_all()?;
    written.persist(&target).map_err(|error| error.error)?;
    // Some file systems cannot synchronise a directory. The new content is complete even without it.
    File::open(directory).and_then(|directory| directory.sync_all()).or(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn links_permissions_and_owners_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let (file, link) = (place.path().join("real/condor_config"), place.path().join("link"));
        fs::create_dir(place.path().join("real")).unwrap();
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        // Only root can change the owner of a file.
        let is_root = fchown(&File::open(&file).unwrap(), Some(65534), Some(65534)).is_ok();
        let before = fs::metadata(&file).unwrap();
        symlink("real/condor_config", &link).unwrap();
        replace_file(&link, b"new").unwrap();
        let after = fs::metadata(&file).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(after.mode() & 0o7777, 0o640);
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        assert_ne!(after.ino(), before.ino(), "the file is replaced, not written");
        assert_eq!(is_root, after.uid() == 65534);
        assert_eq!(fs::read_dir(place.path().join("real")).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_file_that_cannot_be_replaced_is_unchanged() {
        let place = tempfile::tempdir().unwrap();
        let missing = place.path().join("missing");
        assert_eq!(replace_file(&missing, b"new").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!missing.exists());
        let directory = place.path().join("directory");
        fs::create_dir(&directory).unwrap();
        replace_file(&directory, b"new").unwrap_err();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
