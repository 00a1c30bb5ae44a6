//! Removal of leftovers of starters that were killed: processes, control groups, containers, mounts, loop devices,
//! directories.
//!
//! Every entry of a state file is verified: a process must have the recorded start time, a control group must be
//! below BASE_CGROUP, a container must have the label of this project, a directory must be directly in EXECUTE.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::probe::RuntimeProbe;
use super::state_file;
use super::{volume, volume_group};
use htc_base::process::Exit;
use htc_base::text::plural::counted;
use htc_base::world::World;
use htc_os::{cgroup, clock, directory_tree, mounts, process_table};
use htc_starter::container::{self, ContainerParameters};
use htc_starter::logical_volume::LogicalVolume;
use htc_starter::volume_group::VolumeGroup;
use htc_starter::{
    LeftoverRecord, container_from_recovery_file, find_unfinished_job, is_container_of_starter,
    starter_pid_from_name,
};

/// Maximum difference between the clock of process start times and that of file times.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(2);

/// Settings needed for cleaning.
#[derive(Clone, Debug, Default)]
pub struct ExecuteCleaner {
    /// Program and arguments in the DOCKER parameter; empty if it is not set.
    pub docker: Vec<BString>,
    /// Value of BASE_CGROUP.
    pub base_cgroup: BString,
    /// The volume group that starters create on a file, or `None`.
    pub group: Option<VolumeGroup>,
}

/// Leftover that was found, with the action taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanupFinding {
    /// The action taken, or the reason why it failed.
    pub line: String,
    /// True if the leftover could not be removed.
    pub remains: bool,
    /// The ad of the job that the line is about, or `None`.
    pub ad: Option<String>,
}

impl ExecuteCleaner {
    /// Creates the cleaner with the given settings; `base` is BASE_CGROUP.
    pub fn new(parameters: &ContainerParameters, base: BString, group: Option<VolumeGroup>) -> Self {
        ExecuteCleaner {
            docker: container::docker_program(parameters).unwrap_or_default(),
            base_cgroup: base,
            group,
        }
    }

    /// Removes the leftovers in EXECUTE of starters that have ended, or only those of the starter `only` if it is
    /// given. If `keeps_directories` is true, the caller removes the directories. Leftovers of starters whose EXECUTE
    /// no longer exists are removed as well.
    pub fn clean(
        &self,
        execute: &Path,
        only: Option<i32>,
        keeps_directories: bool,
        world: &dyn World,
    ) -> Vec<CleanupFinding> {
        let mut cleaning = CleanupRun { cleaner: self, world, findings: Vec::new() };
        cleaning.clean(execute, only, keeps_directories);
        cleaning.findings
    }
}

/// State of one cleaning run.
struct CleanupRun<'a> {
    cleaner: &'a ExecuteCleaner,
    world: &'a dyn World,
    findings: Vec<CleanupFinding>,
}

impl CleanupRun<'_> {
    fn add_removed(&mut self, line: String) {
        self.findings.push(CleanupFinding { line, remains: false, ad: None });
    }

    fn add_remaining(&mut self, line: String) {
        self.findings.push(CleanupFinding { line, remains: true, ad: None });
    }

    fn clean(&mut self, execute: &Path, only: Option<i32>, keeps_directories: bool) {
        let mut seen = Vec::new();
        let own = fs::canonicalize(execute).unwrap_or_else(|_| execute.to_owned());
        for directory in [execute, Path::new(state_file::ROOT_DIRECTORY)] {
            for (path, pid) in state_file::list_state_files(directory) {
                if only.is_some_and(|only| only != pid) {
                    continue;
                }
                match state_file::read(&path, pid) {
                    Ok(None) => seen.push(pid),
                    Ok(Some(records)) if only.is_none() && is_directory_gone(&records) => {
                        self.clean_orphaned_starter(&path, pid, &records);
                    }
                    Ok(Some(records)) if is_about_directory(&records, &own) => {
                        let before = self.findings.len();
                        let gone = self.clean_recorded_starter(pid, &records);
                        if gone && self.findings[before..].iter().all(|one| !one.remains) {
                            state_file::remove(&path);
                        }
                    }
                    // A state file without records belongs to a starter that was killed before it had created
                    // anything.
                    Ok(Some(records)) if records.is_empty() => state_file::remove(&path),
                    Ok(Some(_)) => {}
                    Err(error) => self.add_remaining(format!("'{}' is not used: {error}", path.display())),
                }
            }
        }
        if only.is_none() {
            state_file::remove_orphaned_locks(Path::new(state_file::ROOT_DIRECTORY));
            self.clean_volume_group();
        }
        self.clean_directories(&own, only, &seen, keeps_directories);
    }

    /// Removes the volume group that a killed starter has left on a file, if the configuration names that file and
    /// this process is root.
    fn clean_volume_group(&mut self) {
        let Some(group) = self.cleaner.group.as_ref().filter(|_| self.world.effective_uid() == 0) else {
            return;
        };
        let file = group.file.display();
        match volume_group::remove_abandoned_group(group) {
            Ok(false) => {}
            Ok(true) => self.add_removed(format!("removed the volume group '{}' on '{file}'", group.name)),
            Err(why) => {
                self.add_remaining(format!(
                    "cannot remove the volume group '{}' on '{file}': {why}",
                    group.name
                ));
            }
        }
    }

    /// Cleans up after a starter whose EXECUTE no longer exists. Reports only what was removed: the queue of the
    /// starter's job is unknown, and leftovers that cannot be removed with the current configuration may be removable
    /// with another one.
    fn clean_orphaned_starter(&mut self, path: &Path, pid: i32, records: &[LeftoverRecord]) {
        let mut alone = CleanupRun { findings: Vec::new(), ..*self };
        let gone = alone.clean_recorded_starter(pid, records);
        if gone && alone.findings.iter().all(|one| !one.remains) {
            state_file::remove(path);
        }
        self.findings.extend(alone.findings.into_iter().filter(|one| !one.remains && one.ad.is_none()));
    }

    /// Cleans up after a starter. Returns false, without any change, if the starter is still alive.
    fn clean_recorded_starter(&mut self, pid: i32, records: &[LeftoverRecord]) -> bool {
        let starter = records.iter().find_map(|record| match record {
            LeftoverRecord::Starter { pid: of, started, uid, .. } if *of == pid => Some((*started, *uid)),
            _ => None,
        });
        // A live starter usually holds the lock of its state file, but a user may have removed the lock file.
        if starter.is_some_and(|(started, _)| is_still_alive(pid, started)) {
            return false;
        }
        if let Some(job) = find_unfinished_job(records) {
            self.findings.push(CleanupFinding { line: job.line, remains: false, ad: Some(job.ad) });
        }
        for record in records {
            let LeftoverRecord::Process { pid, started } = record else { continue };
            let there = process_table::read_process(*pid)
                .filter(|one| one.start_ticks == *started && !one.is_zombie());
            if there.is_some() {
                kill_tree(*pid);
                self.add_removed(format!(
                    "killed process {pid} of a job, and all processes that it had started"
                ));
            }
        }
        for record in records {
            if let (LeftoverRecord::TrackingGroup { gid }, Some((since, uid))) = (record, starter) {
                self.kill_tracked(*gid, since, uid);
            }
        }
        self.remove_groups(records);
        for record in records {
            match record {
                LeftoverRecord::Container { name } => self.remove_container(pid, name),
                LeftoverRecord::Volume { group, name } => self.remove_volume(pid, group, name),
                LeftoverRecord::Pull { image, own } => self.remove_partial_image(image, own),
                _ => {}
            }
        }
        if let Some((started, uid)) = starter {
            let marked = process_table::find_by_ancestor_marker(pid, started, uid);
            for process in &marked {
                kill_tree(*process);
            }
            if !marked.is_empty() {
                self.add_removed(format!(
                    "killed {} that had escaped from a job's process tree",
                    counted(marked.len(), "process")
                ));
            }
        }
        true
    }

    /// Removes control groups, and reports one line for a group that exists in several hierarchies.
    fn remove_groups(&mut self, records: &[LeftoverRecord]) {
        let mut removed = Vec::new();
        for record in records {
            let LeftoverRecord::Group { directory } = record else { continue };
            match cgroup::remove_leftover_group(directory, &self.cleaner.base_cgroup.to_str_lossy()) {
                Ok(true) => removed.push(directory.display()),
                Ok(false) => {}
                Err(error) => {
                    let shown = directory.display();
                    self.add_remaining(format!("cannot remove the control group '{shown}': {error}"));
                }
            }
        }
        match removed.as_slice() {
            [] => {}
            [one] => self.add_removed(format!("removed the control group '{one}'")),
            [one, others @ ..] => {
                self.add_removed(format!(
                    "removed the control group '{one}' and {} more of the same name",
                    others.len()
                ));
            }
        }
    }

    fn remove_container(&mut self, starter: i32, name: &str) {
        if !is_container_of_starter(name, starter) {
            return self.add_remaining(format!("'{name}' is not a container of the starter {starter}"));
        }
        if self.cleaner.docker.is_empty() {
            return self.add_remaining(format!("the container '{name}' may still exist: DOCKER is not set"));
        }
        match RuntimeProbe::with_own_environment(self.world)
            .run_single_query(&container::has_label_call(&self.cleaner.docker, name))
        {
            Ok((Some(Exit::Code(0)), answer)) if answer.trim() == b"True" => {}
            Ok((Some(_), answer)) if is_not_found_answer(&answer) => return,
            Ok((Some(Exit::Code(0)), _)) => {
                return self.add_remaining(format!("the container '{name}' does not have HTCondor's label"));
            }
            _ => return self.add_remaining(format!("cannot query docker about the container '{name}'")),
        }
        match RuntimeProbe::with_own_environment(self.world)
            .run_single_query(&container::remove_call(&self.cleaner.docker, name))
        {
            Ok((Some(Exit::Code(0)), _)) => self.add_removed(format!("removed the container '{name}'")),
            Ok((Some(_), answer)) if is_not_found_answer(&answer) => {}
            _ => self.add_remaining(format!("cannot remove the container '{name}'")),
        }
    }

    /// Removes an image whose pull was interrupted before the image got the tag `own_tag` of this project. An image
    /// with that tag is kept for further jobs.
    fn remove_partial_image(&mut self, image: &str, own_tag: &str) {
        if self.cleaner.docker.is_empty() || image.starts_with('-') {
            return self
                .add_remaining(format!("the image '{image}' may still exist: cannot query docker about it"));
        }
        let Ok((Some(Exit::Code(0)), answer)) = RuntimeProbe::with_own_environment(self.world)
            .run_single_query(&container::list_all_images_call(&self.cleaner.docker))
        else {
            return self.add_remaining(format!("cannot query docker about the image '{image}'"));
        };
        let images = container::parse_images(&answer);
        let is_there = |name: &str| images.iter().any(|one| one.name == name);
        if !is_there(image) || is_there(own_tag) {
            return;
        }
        match RuntimeProbe::with_own_environment(self.world)
            .run_single_query(&container::untag_call(&self.cleaner.docker, image))
        {
            Ok((Some(Exit::Code(0)), _)) => {
                self.add_removed(format!("removed the image '{image}', which was being pulled for a job"));
            }
            _ => self.add_remaining(format!("cannot remove the image '{image}', which was being pulled")),
        }
    }

    fn clean_directories(&mut self, execute: &Path, only: Option<i32>, in_use: &[i32], keeps: bool) {
        for entry in fs::read_dir(execute).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(pid) = starter_pid_from_name(&name) else { continue };
            let path = entry.path();
            let of_gone = || only.is_some() || is_starter_gone(&path, pid);
            if only.is_some_and(|only| only != pid) || in_use.contains(&pid) || !of_gone() {
                continue;
            }
            let kind = entry.file_type().ok();
            if kind.is_some_and(|kind| kind.is_dir()) {
                self.unmount(&path);
            }
            if name.ends_with(".recover") && kind.is_some_and(|kind| kind.is_file()) {
                self.clean_recovery_file(pid, &path);
            }
            if name.ends_with(".left.lock") && !path.with_extension("").exists() {
                // The starter was killed after removing its state file and before removing the lock of that file.
                drop(fs::remove_file(&path));
            }
            if name.ends_with(".disk") {
                match volume::detach(&path) {
                    Ok(0) => {}
                    Ok(_) => self.add_removed(format!("detached the loop device of '{}'", path.display())),
                    Err(why) => self.add_remaining(format!("'{}': {why}", path.display())),
                }
            }
            if keeps || name.ends_with(".left") || name.ends_with(".left.lock") {
                continue;
            }
            let remains = directory_tree::remove_tree(&path);
            if remains.is_empty() {
                self.add_removed(format!("removed '{}'", path.display()));
            }
            for left in remains {
                self.add_remaining(format!("cannot remove '{}': {}", left.path.display(), left.error));
            }
        }
    }

    /// Handles the recovery file, which 25.14 writes as well. Only a container of that starter with the label of this
    /// project is removed, so a forged file does no harm.
    fn clean_recovery_file(&mut self, pid: i32, path: &Path) {
        let Ok(text) = htc_os::files::read_regular_file(path, 64 * 1024) else { return };
        if let Some(name) = container_from_recovery_file(&text) {
            self.remove_container(pid, &name);
            // If the state file also names the container, the container was reported already.
            self.findings.dedup();
        }
    }

    /// Unmounts and removes a logical volume; a volume that does not exist has been removed already.
    fn remove_volume(&mut self, starter: i32, group: &str, name: &str) {
        let Some(volume) = LogicalVolume::from_leftover(group, name, starter) else {
            return self.add_remaining(format!("'{group}/{name}' is not a volume of the starter {starter}"));
        };
        // 25.14 also checks whether the encryption device of the volume exists.
        let encrypted = fs::symlink_metadata(volume.encrypted_device()).is_ok();
        let volume = volume.with_encryption(encrypted);
        let device = volume.mounted_device();
        let of_it = |mount: &&mounts::Mount| mount.source.to_path_lossy() == device.as_path();
        for mount in mounts::list_mounts().iter().filter(of_it) {
            self.report_unmount(&mount.target, mounts::unmount(mount));
        }
        if fs::symlink_metadata(&device).is_err() {
            return;
        }
        match volume::remove_logical_volume(&volume) {
            Ok(()) => self.add_removed(format!("removed the logical volume '{group}/{name}'")),
            Err(why) => {
                self.add_remaining(format!("cannot remove the logical volume '{group}/{name}': {why}"))
            }
        }
    }

    /// Kills the processes with a tracking group that was reserved for one job: only those of the job's account that
    /// are not older than the starter.
    fn kill_tracked(&mut self, gid: u32, since: u64, uid: u32) {
        let tracked: Vec<i32> = process_table::all_pids()
            .filter(|pid| {
                process_table::owner_uid(*pid) == Some(uid)
                    && process_table::supplementary_groups(*pid).contains(&gid)
            })
            .filter(|pid| {
                process_table::read_process(*pid)
                    .is_some_and(|one| one.start_ticks >= since && !one.is_zombie())
            })
            .collect();
        tracked.iter().copied().for_each(kill_tree);
        if !tracked.is_empty() {
            self.add_removed(format!(
                "killed {} of the group {gid}, which was reserved for a job",
                counted(tracked.len(), "process")
            ));
        }
    }

    /// Unmounts everything that is mounted on a directory or below it.
    fn unmount(&mut self, below: &Path) {
        for (target, result) in mounts::unmount_below(below) {
            self.report_unmount(&target, result);
        }
    }

    fn report_unmount(&mut self, target: &Path, result: nix::Result<()>) {
        let target = target.display();
        match result {
            Ok(()) => self.add_removed(format!("unmounted '{target}'")),
            Err(errno) => self.add_remaining(format!("cannot unmount '{target}': {errno}")),
        }
    }
}

/// Returns true if a starter has left something in EXECUTE, or has a state file there. The check must be cheap,
/// because it is made for each of possibly hundreds of running starters.
pub fn has_leftovers(execute: &Path, starter: i32) -> bool {
    let top = format!("dir_{starter}");
    let state = state_file::name_of(starter);
    let recovery = format!("{top}.recover");
    [top.as_str(), &state, &recovery].iter().any(|name| fs::symlink_metadata(execute.join(name)).is_ok())
        || Path::new(state_file::ROOT_DIRECTORY).join(state).exists()
}

/// Returns true if the starter that created a directory in EXECUTE, or a file next to one, has ended: its process has
/// ended, whether or not it was reaped, or its process id belongs to another process.
pub fn is_starter_gone(path: &Path, pid: i32) -> bool {
    let Some(process) = process_table::read_process(pid).filter(|one| !one.is_zombie()) else { return true };
    let Ok(status) = fs::symlink_metadata(path) else { return true };
    // A file that is older than the process was not created by it. After a change of the clock, the starter's own
    // file may also seem older, so a process that works in EXECUTE is still considered the starter.
    let works_there = || {
        let at = fs::read_link(format!("/proc/{pid}/cwd"));
        path.parent().is_some_and(|execute| at.is_ok_and(|at| at.starts_with(execute)))
    };
    let made = status.created().or_else(|_| status.modified());
    match (made, process.start_time()) {
        (Ok(made), Some(started)) => made + CLOCK_TOLERANCE < started && !works_there(),
        _ => false,
    }
}

/// Returns true if the records of a state file are about the directory `execute`.
fn is_about_directory(records: &[LeftoverRecord], execute: &Path) -> bool {
    records.iter().any(|record| match record {
        LeftoverRecord::Starter { directory, .. } => directory
            .parent()
            .and_then(|parent| fs::canonicalize(parent).ok())
            .is_some_and(|parent| parent == execute),
        _ => false,
    })
}

/// Returns true if the execute directory named in a state file no longer exists.
fn is_directory_gone(records: &[LeftoverRecord]) -> bool {
    records.iter().any(|record| match record {
        LeftoverRecord::Starter { directory, .. } => {
            directory.parent().is_some_and(|parent| !parent.exists())
        }
        _ => false,
    })
}

fn is_not_found_answer(answer: &[u8]) -> bool {
    answer.to_ascii_lowercase().contains_str("no such")
}

/// Time to wait for the end of killed processes, which may still be in a system call.
const KILL_WAIT: Duration = Duration::from_secs(2);

/// Kills a process and its descendants, and waits up to `KILL_WAIT` until they are gone.
pub fn kill_tree(pid: i32) {
    let members: Vec<i32> = process_table::descendants(pid).iter().map(|one| one.pid).chain([pid]).collect();
    for member in &members {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(*member), nix::sys::signal::SIGKILL);
    }
    let until = clock::monotonic_now().plus(KILL_WAIT);
    let lives = |pid: &i32| process_table::read_process(*pid).is_some_and(|one| !one.is_zombie());
    while clock::monotonic_now() < until && members.iter().any(lives) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns true if a process still exists after `KILL_WAIT`. A killed process is given this time because it releases
/// its files before it ends, and remains in the process table until it is reaped.
fn is_still_alive(pid: i32, started: u64) -> bool {
    let lives =
        || process_table::read_process(pid).is_some_and(|one| one.start_ticks == started && !one.is_zombie());
    let until = clock::monotonic_now().plus(KILL_WAIT);
    while lives() && clock::monotonic_now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    lives()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_belongs_only_to_a_process_older_than_it() {
        let place = tempfile::tempdir().unwrap();
        let own = std::process::id().cast_signed();
        assert!(!is_starter_gone(place.path(), own));
        // The file was created long before this process started.
        assert!(is_starter_gone(Path::new("/usr/bin"), own));
        assert!(is_starter_gone(&place.path().join("no"), own));
    }

    #[test]
    fn a_zombie_counts_as_ended() {
        let place = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id().cast_signed();
        let zombie = || process_table::read_process(pid).is_some_and(|one| one.is_zombie());
        while !zombie() {
            std::thread::yield_now();
        }
        assert!(is_starter_gone(place.path(), pid));
        child.wait().unwrap();
    }
}
