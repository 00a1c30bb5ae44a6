//! Scratch directory of a job: created for the job's account, and removed regardless of what the job has put into it.
//!
//! Reference: `Starter::createTempExecuteDir`, `removeTempExecuteDir` of `starter.cpp`. With nested directories (the
//! default of 25.14) `dir_<pid>` contains `htcondor` (for the starter), `user` (owned by the job, closed to others)
//! and `scratch` (the job's scratch directory).

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::volume::{self, ScratchVolume};
use htc_base::process::ProcessIdentity;
use htc_os::files::{self, HeldDirectory, make_directory};
use htc_os::identity::run_as;
use htc_os::{directory_tree, mounts};
use htc_starter::ScratchFile;

/// Location and owner of a job's scratch directory.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// The directory in EXECUTE that is created and removed.
    pub top: PathBuf,
    /// The scratch directory itself: `top`, or the directory `scratch` in it.
    pub scratch: PathBuf,
    /// Mode of the scratch directory.
    pub mode: u32,
    /// The job's account, or `None` for the account of this program.
    pub owner: Option<ProcessIdentity>,
    /// The account of the daemons if this program is root, or `None` for the account of this program.
    pub condor: Option<ProcessIdentity>,
    /// Path to which the scratch directory is moved at the end instead of being removed
    /// (STARTER_MOVE_WORKING_DIR_ON_EXIT), or `None`.
    pub move_to: Option<PathBuf>,
    /// Time to wait before the scratch directory is removed (STARTER_REMOVE_EXECUTE_DIR_DELAY_TIME).
    pub delay: Duration,
    /// File system of limited size for the scratch directory, or `None` for no limit.
    pub volume: Option<ScratchVolume>,
    /// True if the directory is created as the daemons' account, as in 25.14. If false, root creates it in any
    /// EXECUTE.
    pub made_as_condor: bool,
    /// True to leave the modes of files unchanged if something cannot be removed. 25.14 changes them (quirk
    /// `unremovable-scratch-silent`).
    pub keeps_modes: bool,
}

/// Error from creating a directory or file.
#[derive(Debug)]
pub struct SandboxError {
    /// The directory or file.
    pub path: PathBuf,
    /// The cause.
    pub error: io::Error,
}

impl Sandbox {
    /// Returns the modification time of a file in the scratch directory, as seen by the job's account, or `None`.
    pub(super) fn modification_time(&self, name: &str) -> Option<i64> {
        let path = self.scratch.join(name);
        let metadata = run_as(self.owner.as_ref(), || fs::metadata(path)).flatten();
        metadata.ok().map(|metadata| metadata.mtime())
    }

    /// Creates the directories. If a separate file system was requested but cannot be created, returns the reason.
    ///
    /// # Errors
    /// Fails for the first directory that cannot be created or entered; the directories before it exist.
    pub fn make(&self) -> Result<Option<String>, SandboxError> {
        let fail = |path: &Path, error: io::Error| SandboxError { path: path.to_owned(), error };
        let daemon = self.outer_owner();
        if self.made_as_condor {
            // Root can write anywhere, but 25.14 creates the first directory as the daemons' account only.
            let probe = run_as(daemon, || make_directory(&self.top, 0o755, None));
            probe.flatten().map_err(|error| fail(&self.top, error))?;
            fs::remove_dir(&self.top).map_err(|error| fail(&self.top, error))?;
        }
        // A directory is given to its owner through its descriptor, and only when it is complete, because the owner
        // can replace the contents from then on.
        let mut top = HeldDirectory::make(&self.top).map_err(|error| fail(&self.top, error))?;
        let no_volume = self.volume.as_ref().and_then(|volume| volume.make(&self.top, &top).err());
        if self.volume.is_some() && no_volume.is_none() {
            top = top.reopen().map_err(|error| fail(&self.top, error))?;
            drop(fs::remove_dir(self.top.join("lost+found")));
        }
        let (mode, owner) = if self.scratch == self.top {
            (self.mode, self.owner.as_ref())
        } else {
            let inner = [
                ("htcondor", 0o755, daemon),
                ("user", 0o700, self.owner.as_ref()),
                ("scratch", self.mode, self.owner.as_ref()),
            ];
            for (name, mode, owner) in inner {
                let made = top
                    .make_subdirectory(name.as_ref())
                    .and_then(|made| made.set_mode_and_owner(mode, owner));
                made.map_err(|error| fail(&self.top.join(name), error))?;
            }
            (0o755, daemon)
        };
        top.set_mode_and_owner(mode, owner).map_err(|error| fail(&self.top, error))?;
        // The job starts in the scratch directory. Its account may not be able to enter a parent directory.
        let entered = run_as(self.owner.as_ref(), || fs::read_dir(&self.scratch).map(drop));
        entered.flatten().map_err(|error| fail(&self.scratch, error))?;
        Ok(no_volume)
    }

    /// Returns the owner of the directories around the scratch directory. If EXECUTE is world-writable, all
    /// directories belong to the job's account (`createTempExecuteDir`).
    pub fn outer_owner(&self) -> Option<&ProcessIdentity> {
        let execute = self.top.parent().and_then(|execute| fs::metadata(execute).ok());
        let open_to_all = execute.is_some_and(|execute| execute.permissions().mode() & 0o002 != 0);
        if open_to_all { self.owner.as_ref() } else { self.condor.as_ref() }
    }

    /// Writes a file to the scratch directory as the job's account, with mode 0644. A symbolic link made by the job
    /// is not followed.
    ///
    /// # Errors
    /// Fails on errors of the file system.
    pub fn write(&self, file: &ScratchFile) -> Result<(), SandboxError> {
        let path = self.scratch.join(file.name);
        let replaced = run_as(self.owner.as_ref(), || files::replace_file(&path, &file.bytes, 0o644, None));
        replaced.flatten().map_err(|error| SandboxError { path, error })
    }

    /// Creates the directories that will be mounted over others. Skips a pair whose target is not a directory, and
    /// returns the other pairs.
    pub fn make_mount_sources(&self, wanted: &[(PathBuf, PathBuf)]) -> io::Result<Vec<(PathBuf, PathBuf)>> {
        let mut mounts = Vec::new();
        for (source, target) in wanted.iter().filter(|(_, target)| target.is_dir()) {
            let make = || fs::DirBuilder::new().recursive(true).mode(0o700).create(source);
            run_as(self.owner.as_ref(), make)??;
            mounts.push((source.clone(), target.clone()));
        }
        Ok(mounts)
    }

    /// Returns the path of `dir_<pid>.recover` next to the directory; that file names the starter's container.
    pub fn recovery_file_path(&self) -> PathBuf {
        let mut path = self.top.as_os_str().to_owned();
        path.push(".recover");
        path.into()
    }

    /// Removes the directory with all its contents, or moves the scratch directory if the configuration asks for
    /// that. Returns the paths that remain.
    pub fn remove(&self) -> Vec<PathBuf> {
        if self.top.exists() {
            std::thread::sleep(self.delay);
        }
        drop(fs::remove_file(self.recovery_file_path()));
        if let Some(place) = &self.move_to {
            let mover = self.condor.as_ref().filter(|_| self.made_as_condor);
            let moved = run_as(mover, || fs::rename(&self.top, place)).flatten();
            return if moved.is_err() && self.top.exists() { vec![self.top.clone()] } else { Vec::new() };
        }
        if self.volume.as_ref().is_some_and(|volume| volume.remove(&self.top).is_err()) {
            return vec![self.top.clone(), volume::image_path(&self.top)];
        }
        if nix::unistd::geteuid().is_root() {
            // File systems that the job has mounted are unmounted. If that fails, the directory remains and is
            // reported.
            drop(mounts::unmount_below(&self.top));
        }
        let mut remains = directory_tree::remove_tree(&self.top);
        if !remains.is_empty() && self.owner.is_some() {
            // On a file system that maps root to another account, perhaps only the owner can remove the directory.
            drop(run_as(self.owner.as_ref(), || directory_tree::remove_tree(&self.scratch)));
            remains = directory_tree::remove_tree(&self.top);
        }
        if !remains.is_empty() && !self.keeps_modes {
            // The modes are those that remain after the `chmod -R` of 25.14.
            directory_tree::make_directories_private(&self.top);
        }
        remains.into_iter().map(|unremoved| unremoved.path).collect()
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
            move_to: None,
            delay: Duration::ZERO,
            volume: None,
            made_as_condor: false,
            keeps_modes: true,
        }
    }

    #[test]
    fn the_scratch_directory_is_moved_on_exit_if_configured() {
        let home = tempfile::tempdir().unwrap();
        let mut sandbox = sandbox(home.path());
        sandbox.make().unwrap();
        fs::write(sandbox.scratch.join("kept"), "x").unwrap();
        sandbox.move_to = Some(home.path().join("no/such/place"));
        assert_eq!(sandbox.remove(), [sandbox.top.clone()], "it stays where it cannot be moved");
        sandbox.move_to = Some(home.path().join("moved"));
        assert!(sandbox.remove().is_empty());
        assert!(home.path().join("moved/scratch/kept").is_file());
        assert!(sandbox.remove().is_empty(), "nothing is there any more");
    }

    #[test]
    fn nested_directories_have_their_modes_and_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let sandbox = sandbox(home.path());
        sandbox.make().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&sandbox.top), 0o755);
        assert_eq!(mode(&sandbox.scratch), 0o700);
        assert_eq!(mode(&sandbox.top.join("user")), 0o700);
        sandbox.write(&ScratchFile { name: ".job.ad", bytes: b"A = 1\n".to_vec() }).unwrap();
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
        sandbox.write(&ScratchFile { name: ".job.ad", bytes: b"A = 1\n".to_vec() }).unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "keep");
    }

    #[test]
    fn an_existing_directory_is_a_failure_with_its_path() {
        let home = tempfile::tempdir().unwrap();
        let sandbox = sandbox(home.path());
        fs::create_dir(&sandbox.top).unwrap();
        assert_eq!(sandbox.make().unwrap_err().path, sandbox.top);
    }
}
