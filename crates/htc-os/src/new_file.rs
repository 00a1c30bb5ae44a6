//! Output to a file that keeps its old content until the new content is complete.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Output file that is being written. If it is dropped without [`NewFile::commit`], the target keeps its old
/// content.
#[derive(Debug)]
pub enum NewFile {
    /// The output is written to the target directly, because the target is new, a pipe or a device and so has
    /// no content to lose.
    Direct(File),
    /// The output is written to a temporary file, which is renamed to the target when it is complete.
    Temporary(NamedTempFile, PathBuf),
    /// The output is written to a temporary file, whose content is copied to the target when it is complete.
    /// Used if the target has several hard links, belongs to another account, or is in a directory in which
    /// we cannot create files.
    CopyBack {
        /// Temporary file.
        new: File,
        /// Target, to which the content is copied.
        old: File,
    },
}

impl NewFile {
    /// Creates an output file for a target.
    ///
    /// # Errors
    /// Fails if the target cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let Some(status) = fs::metadata(path).ok().filter(|status| status.is_file() && status.len() > 0)
        else {
            return File::create(path).map(NewFile::Direct);
        };
        // Opening the target now reports early if it cannot be written.
        let old = OpenOptions::new().write(true).open(path)?;
        match create_temporary_beside(path, &status) {
            Some((file, target)) => Ok(NewFile::Temporary(file, target)),
            None => Ok(NewFile::CopyBack { new: tempfile::tempfile()?, old }),
        }
    }

    /// Replaces the old content of the target by the complete new content.
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn commit(self) -> io::Result<()> {
        match self {
            NewFile::Direct(_) => Ok(()),
            NewFile::Temporary(file, target) => file.persist(target).map(drop).map_err(|error| error.error),
            NewFile::CopyBack { mut new, mut old } => {
                new.rewind()?;
                old.set_len(0)?;
                io::copy(&mut new, &mut old).map(drop)
            }
        }
    }

    /// Returns the open file to which the new content must be written.
    pub fn file(&mut self) -> &mut File {
        match self {
            NewFile::Direct(file) | NewFile::CopyBack { new: file, .. } => file,
            NewFile::Temporary(file, _) => file.as_file_mut(),
        }
    }
}

/// Creates a temporary file with the permissions of the target in the target's directory. Returns the
/// temporary file and the path of the target after resolving links.
fn create_temporary_beside(path: &Path, status: &Metadata) -> Option<(NamedTempFile, PathBuf)> {
    let target = fs::canonicalize(path).ok().filter(|_| status.nlink() == 1)?;
    let file = tempfile::Builder::new().prefix(".htc-out.").tempfile_in(target.parent()?).ok()?;
    let own = file.as_file().metadata().ok()?;
    if (own.uid(), own.gid()) != (status.uid(), status.gid()) {
        return None;
    }
    file.as_file().set_permissions(status.permissions()).ok()?;
    Some((file, target))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn the_old_content_remains_until_the_new_one_is_complete() {
        let place = tempfile::tempdir().unwrap();
        let [plain, link, linked, twice] =
            ["plain", "link", "linked", "twice"].map(|name| place.path().join(name));
        for file in [&plain, &linked, &twice] {
            fs::write(file, "old").unwrap();
        }
        symlink("linked", &link).unwrap();
        fs::hard_link(&twice, place.path().join("other")).unwrap();
        fs::set_permissions(&plain, fs::Permissions::from_mode(0o640)).unwrap();
        for file in [&plain, &link, &twice] {
            let mut new = NewFile::create(file).unwrap();
            new.file().write_all(b"abandoned").unwrap();
            drop(new);
            assert_eq!(fs::read(file).unwrap(), b"old");
            let mut new = NewFile::create(file).unwrap();
            new.file().write_all(b"new").unwrap();
            assert_eq!(fs::read(file).unwrap(), b"old");
            new.commit().unwrap();
            assert_eq!(fs::read(file).unwrap(), b"new");
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&plain).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read(place.path().join("other")).unwrap(), b"new");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 5);
        NewFile::create(Path::new("/dev/null")).unwrap().file().write_all(b"x").unwrap();
        assert!(NewFile::create(&place.path().join("none").join("file")).is_err());
    }
}
