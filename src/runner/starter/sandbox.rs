//! The scratch directory of a job: made for its account, removed whatever the job has put into it.
//!
//! Reference: `Starter::createTempExecuteDir`, `removeTempExecuteDir` of `starter.cpp`. With nested directories (the
//! default of 25) `dir_<pid>` holds `htcondor` (ours), `user` (the job's, closed) and `scratch` (the job's).

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::os::files::{self, make_directory};
use crate::os::identity::acting_as;
use crate::process::Identity;
use crate::starter::File;

/// Where the scratch directory is and whose.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// The directory to be made and removed, below EXECUTE.
    pub top: PathBuf,
    /// The scratch directory proper: `top`, or `scratch` in it.
    pub scratch: PathBuf,
    /// Mode of the scratch directory.
    pub mode: u32,
    /// The job's account; `None` is our own.
    pub owner: Option<Identity>,
    /// The account that daemons run as where we are root; `None` is our own.
    pub condor: Option<Identity>,
    /// Whether modes are left as they are when something cannot be removed, as 25.14 does not (quirk
    /// `unremovable-scratch-silent`).
    pub keeps_modes: bool,
}

/// What could not be made, and why.
#[derive(Debug)]
pub struct Failure {
    /// Which directory or file.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl Sandbox {
    /// Makes the directories.
    ///
    /// # Errors
    /// The first that cannot be made; those before it are there.
    pub fn make(&self) -> Result<(), Failure> {
        let make = |path: &Path, mode: u32, owner: Option<&Identity>| {
            make_directory(path, mode, owner).map_err(|error| Failure { path: path.to_owned(), error })
        };
        if self.scratch == self.top {
            return make(&self.top, self.mode, self.owner.as_ref());
        }
        make(&self.top, 0o755, self.condor.as_ref())?;
        make(&self.top.join("htcondor"), 0o755, self.condor.as_ref())?;
        make(&self.top.join("user"), 0o700, self.owner.as_ref())?;
        make(&self.scratch, self.mode, self.owner.as_ref())
    }

    /// Writes a file into the scratch directory as the job's account, mode 0644, never through a link that the job made.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, file: &File) -> Result<(), Failure> {
        let path = self.scratch.join(file.name);
        let replaced = acting_as(self.owner.as_ref(), || files::replace(&path, &file.bytes, 0o644, None));
        replaced.and_then(|replaced| replaced).map_err(|error| Failure { path, error })
    }

    /// Makes the directories that are bound over others, and leaves out those whose target is none.
    pub fn mounts(&self, wanted: &[(PathBuf, PathBuf)]) -> io::Result<Vec<(PathBuf, PathBuf)>> {
        let mut mounts = Vec::new();
        for (source, target) in wanted.iter().filter(|(_, target)| target.is_dir()) {
            let make = || fs::DirBuilder::new().recursive(true).mode(0o700).create(source);
            acting_as(self.owner.as_ref(), make)??;
            mounts.push((source.clone(), target.clone()));
        }
        Ok(mounts)
    }

    /// Removes everything; what stays is told.
    pub fn remove(&self) -> Vec<PathBuf> {
        let mut remains = files::remove_tree(&self.top);
        if !remains.is_empty() && self.owner.is_some() {
            // Where root may not (a file system that knows no root of ours) the owner may.
            drop(acting_as(self.owner.as_ref(), || files::remove_tree(&self.scratch)));
            remains = files::remove_tree(&self.top);
        }
        if !remains.is_empty() && !self.keeps_modes {
            close_directories(&self.top);
        }
        remains.into_iter().map(|unremoved| unremoved.path).collect()
    }
}

/// What 25.14 does to directories that stay: 0700, as its `chmod -R` left them.
fn close_directories(root: &Path) {
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        drop(fs::set_permissions(&path, fs::Permissions::from_mode(0o700)));
        let entries = fs::read_dir(&path).into_iter().flatten().flatten();
        waiting.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sandbox(home: &Path) -> Sandbox {
        let top = home.join("dir_7");
        Sandbox {
            scratch: top.join("scratch"),
            top,
            mode: 0o700,
            owner: None,
            condor: None,
            keeps_modes: true,
        }
    }

    #[test]
    fn nested_directories_have_their_modes_and_go_away() {
        let home = tempfile::tempdir().unwrap();
        let sandbox = sandbox(home.path());
        sandbox.make().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&sandbox.top), 0o755);
        assert_eq!(mode(&sandbox.scratch), 0o700);
        assert_eq!(mode(&sandbox.top.join("user")), 0o700);
        sandbox.write(&File { name: ".job.ad", bytes: b"A = 1\n".to_vec() }).unwrap();
        assert_eq!(mode(&sandbox.scratch.join(".job.ad")), 0o644);
        assert!(sandbox.remove().is_empty());
        assert!(!sandbox.top.exists());
    }

    #[test]
    fn a_link_in_place_of_a_file_is_replaced_and_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let sandbox = sandbox(home.path());
        sandbox.make().unwrap();
        let outside = home.path().join("outside");
        fs::write(&outside, "keep").unwrap();
        std::os::unix::fs::symlink(&outside, sandbox.scratch.join(".job.ad")).unwrap();
        sandbox.write(&File { name: ".job.ad", bytes: b"A = 1\n".to_vec() }).unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "keep");
    }

    #[test]
    fn a_directory_that_is_there_already_is_a_failure_with_its_path() {
        let home = tempfile::tempdir().unwrap();
        let sandbox = sandbox(home.path());
        fs::create_dir(&sandbox.top).unwrap();
        assert_eq!(sandbox.make().unwrap_err().path, sandbox.top);
    }
}
