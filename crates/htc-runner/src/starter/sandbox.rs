//! The scratch directory of a job: made for its account, removed whatever the job has put into it.
//!
//! Reference: `Starter::createTempExecuteDir`, `removeTempExecuteDir` of `starter.cpp`. With nested directories (the
//! default of 25) `dir_<pid>` holds `htcondor` (ours), `user` (the job's, closed) and `scratch` (the job's).

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
    pub owner: Option<ProcessIdentity>,
    /// The account that daemons run as where we are root; `None` is our own.
    pub condor: Option<ProcessIdentity>,
    /// Where it is moved to at the end instead of being removed (STARTER_MOVE_WORKING_DIR_ON_EXIT).
    pub move_to: Option<PathBuf>,
    /// How long it stays before that (STARTER_REMOVE_EXECUTE_DIR_DELAY_TIME).
    pub delay: Duration,
    /// Of what size it is, where it is a file system of its own; `None`: no limit.
    pub volume: Option<ScratchVolume>,
    /// Whether the account of daemons has to have the right to make it, as in 25.14; by default root makes it wherever it
    /// is to be.
    pub made_as_condor: bool,
    /// Whether modes are left as they are when something cannot be removed, as 25.14 does not (quirk
    /// `unremovable-scratch-silent`).
    pub keeps_modes: bool,
}

/// What could not be made, and why.
#[derive(Debug)]
pub struct SandboxError {
    /// Which directory or file.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl Sandbox {
    /// When a file in it was last written to, seen with the job's rights.
    pub(super) fn modification_time(&self, name: &str) -> Option<i64> {
        let path = self.scratch.join(name);
        let seen = run_as(self.owner.as_ref(), || fs::metadata(path)).flatten();
        seen.ok().map(|seen| seen.mtime())
    }

    /// Makes the directories. Returns why they are no file system of their own though that was wished.
    ///
    /// # Errors
    /// The first that cannot be made or entered; those before it are there.
    pub fn make(&self) -> Result<Option<String>, SandboxError> {
        let fail = |path: &Path, error: io::Error| SandboxError { path: path.to_owned(), error };
        let daemon = self.outer_owner();
        if self.made_as_condor {
            // Root may write anywhere; 25.14 makes the first directory with the rights of that account alone.
            let probe = run_as(daemon, || make_directory(&self.top, 0o755, None));
            probe.flatten().map_err(|error| fail(&self.top, error))?;
            fs::remove_dir(&self.top).map_err(|error| fail(&self.top, error))?;
        }
        // Each is given away only when all that belongs into it is there, and by its descriptor: its owner may put
        // anything into its place from then on.
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
                let made = top.make_in(name.as_ref()).and_then(|made| made.set_mode_and_owner(mode, owner));
                made.map_err(|error| fail(&self.top.join(name), error))?;
            }
            (0o755, daemon)
        };
        top.set_mode_and_owner(mode, owner).map_err(|error| fail(&self.top, error))?;
        // The job begins there: a directory above it may be closed to its account.
        let entered = run_as(self.owner.as_ref(), || fs::read_dir(&self.scratch).map(drop));
        entered.flatten().map_err(|error| fail(&self.scratch, error))?;
        Ok(no_volume)
    }

    /// Whose the directories around the job's own are: in a directory that anybody may write to, everything is the job's account's
    /// (`createTempExecuteDir`).
    pub fn outer_owner(&self) -> Option<&ProcessIdentity> {
        let execute = self.top.parent().and_then(|execute| fs::metadata(execute).ok());
        let open_to_all = execute.is_some_and(|execute| execute.permissions().mode() & 0o002 != 0);
        if open_to_all { self.owner.as_ref() } else { self.condor.as_ref() }
    }

    /// Writes a file into the scratch directory as the job's account, mode 0644, never through a link that the job made.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, file: &ScratchFile) -> Result<(), SandboxError> {
        let path = self.scratch.join(file.name);
        let replaced = run_as(self.owner.as_ref(), || files::replace_file(&path, &file.bytes, 0o644, None));
        replaced.flatten().map_err(|error| SandboxError { path, error })
    }

    /// Makes the directories that are bound over others, and leaves out those whose target is none.
    pub fn make_mount_sources(&self, wanted: &[(PathBuf, PathBuf)]) -> io::Result<Vec<(PathBuf, PathBuf)>> {
        let mut mounts = Vec::new();
        for (source, target) in wanted.iter().filter(|(_, target)| target.is_dir()) {
            let make = || fs::DirBuilder::new().recursive(true).mode(0o700).create(source);
            run_as(self.owner.as_ref(), make)??;
            mounts.push((source.clone(), target.clone()));
        }
        Ok(mounts)
    }

    /// `dir_<pid>.recover` beside the directory: which container is the starter's.
    pub fn recovery_file_path(&self) -> PathBuf {
        let mut path = self.top.as_os_str().to_owned();
        path.push(".recover");
        path.into()
    }

    /// Removes everything, or moves it where the configuration wants it kept; what stays is told.
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
            // What a job has mounted there and left. What stays of it is told as a part of the directory.
            drop(mounts::unmount_below(&self.top));
        }
        let mut remains = directory_tree::remove_tree(&self.top);
        if !remains.is_empty() && self.owner.is_some() {
            // Where root may not (a file system that knows no root of ours) the owner may.
            drop(run_as(self.owner.as_ref(), || directory_tree::remove_tree(&self.scratch)));
            remains = directory_tree::remove_tree(&self.top);
        }
        if !remains.is_empty() && !self.keeps_modes {
            // As the `chmod -R` of 25.14 leaves them.
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
    fn it_is_kept_under_another_name_where_that_is_wished() {
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
    fn nested_directories_have_their_modes_and_go_away() {
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
    fn a_directory_that_is_there_already_is_a_failure_with_its_path() {
        let home = tempfile::tempdir().unwrap();
        let sandbox = sandbox(home.path());
        fs::create_dir(&sandbox.top).unwrap();
        assert_eq!(sandbox.make().unwrap_err().path, sandbox.top);
    }
}
