//! Removes what starters that were killed have left: processes, control groups, containers, mounts, loop devices, directories.
//!
//! Nothing of what a state file says is believed without a look: a process has to have been started when it says, a group has to lie
//! below BASE_CGROUP, a container has to bear our label, a directory has to be one of EXECUTE itself.

use std::fs;
use std::path::Path;

use bstr::{BString, ByteSlice};
use nix::libc;

use super::probe;
use super::state_file;
use crate::os::{cgroup, mounts, process_table, tree};
use crate::process::Exit;
use crate::starter::container::{self, ContainerKnobs};
use crate::starter::{Left, container_of_recovery, is_container_of, starter_of};
use crate::world::World;

/// What the cleaning needs of the configuration.
#[derive(Clone, Debug, Default)]
pub struct Cleaner {
    /// The words of the DOCKER knob; empty where there is none.
    pub docker: Vec<BString>,
    /// BASE_CGROUP.
    pub base: BString,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaned {
    /// What was done, or could not be.
    pub line: String,
    /// Whether something stays.
    pub stays: bool,
}

fn done(line: String) -> Cleaned {
    Cleaned { line, stays: false }
}

fn stays(line: String) -> Cleaned {
    Cleaned { line, stays: true }
}

impl Cleaner {
    /// Reads what it needs.
    pub fn new(knobs: &ContainerKnobs, base: BString) -> Self {
        Cleaner { docker: container::docker_program(knobs).unwrap_or_default(), base }
    }

    /// Cleans EXECUTE of what starters that are gone have left; `only` those of this one. Directories are left to the caller where
    /// `keeps_directories`.
    pub fn clean(
        &self,
        execute: &Path,
        only: Option<i32>,
        keeps_directories: bool,
        world: &dyn World,
    ) -> Vec<Cleaned> {
        let mut told = Vec::new();
        let mut seen = Vec::new();
        let own = fs::canonicalize(execute).unwrap_or_else(|_| execute.to_owned());
        for directory in [execute, Path::new(state_file::OF_ROOT)] {
            for (path, pid) in state_file::all_in(directory) {
                if only.is_some_and(|only| only != pid) {
                    continue;
                }
                match state_file::read(&path) {
                    Ok(None) => seen.push(pid),
                    Ok(Some(records)) if is_of(&records, &own) => {
                        let before = told.len();
                        self.of_records(pid, &records, world, &mut told);
                        if told[before..].iter().all(|one| !one.stays) {
                            state_file::remove(&path);
                        }
                    }
                    Ok(Some(_)) => {}
                    Err(error) => told.push(stays(format!("'{}' is not used: {error}", path.display()))),
                }
            }
        }
        self.of_directories(&own, only, &seen, keeps_directories, world, &mut told);
        told
    }

    fn of_records(&self, pid: i32, records: &[Left], world: &dyn World, told: &mut Vec<Cleaned>) {
        let starter = records.iter().find_map(|record| match record {
            Left::Starter { pid: of, started, uid, .. } if *of == pid => Some((*started, *uid)),
            _ => None,
        });
        // A starter that lives holds its file; this is one whose lock has been removed.
        if starter
            .is_some_and(|(started, _)| process_table::read(pid).is_some_and(|one| one.started == started))
        {
            return;
        }
        for record in records {
            let Left::Process { pid, started } = record else { continue };
            let there = process_table::read(*pid).filter(|one| one.started == *started && !one.is_zombie());
            if there.is_some() {
                kill_tree(*pid);
                told.push(done(format!("killed process {pid} of a job, with what it had started")));
            }
        }
        self.remove_groups(records, told);
        for record in records {
            if let Left::Container { name } = record {
                self.remove_container(pid, name, world, told);
            }
        }
        if let Some((started, uid)) = starter {
            let marked = process_table::marked_by(pid, started, uid);
            for process in &marked {
                kill_tree(*process);
            }
            if !marked.is_empty() {
                told.push(done(format!("killed {} processes that a job had hidden", marked.len())));
            }
        }
    }

    /// One line for what is one group in several hierarchies.
    fn remove_groups(&self, records: &[Left], told: &mut Vec<Cleaned>) {
        let mut removed = Vec::new();
        for record in records {
            let Left::Group { directory } = record else { continue };
            match cgroup::remove_left(directory, &self.base.to_str_lossy()) {
                Ok(true) => removed.push(directory.display()),
                Ok(false) => {}
                Err(error) => {
                    let shown = directory.display();
                    told.push(stays(format!("cannot remove the control group '{shown}': {error}")));
                }
            }
        }
        match removed.as_slice() {
            [] => {}
            [one] => told.push(done(format!("removed the control group '{one}'"))),
            [one, others @ ..] => {
                told.push(done(format!(
                    "removed the control group '{one}' and {} more of its name",
                    others.len()
                )));
            }
        }
    }

    fn remove_container(&self, starter: i32, name: &str, world: &dyn World, told: &mut Vec<Cleaned>) {
        if !is_container_of(name, starter) {
            return told.push(stays(format!("'{name}' is no container of the starter {starter}")));
        }
        if self.docker.is_empty() {
            return told.push(stays(format!("the container '{name}' may still be there: DOCKER is not set")));
        }
        match probe::one(&container::label_call(&self.docker, name), world) {
            Ok((Some(Exit::Code(0)), answer)) if answer.trim() == b"True" => {}
            Ok((Some(_), answer)) if no_such(&answer) => return,
            Ok((Some(Exit::Code(0)), _)) => {
                return told
                    .push(stays(format!("the container '{name}' does not bear the label of HTCondor")));
            }
            _ => return told.push(stays(format!("docker cannot be asked for the container '{name}'"))),
        }
        match probe::one(&container::remove_call(&self.docker, name), world) {
            Ok((Some(Exit::Code(0)), _)) => told.push(done(format!("removed the container '{name}'"))),
            Ok((Some(_), answer)) if no_such(&answer) => {}
            _ => told.push(stays(format!("cannot remove the container '{name}'"))),
        }
    }

    fn of_directories(
        &self,
        execute: &Path,
        only: Option<i32>,
        in_use: &[i32],
        keeps: bool,
        world: &dyn World,
        told: &mut Vec<Cleaned>,
    ) {
        for entry in fs::read_dir(execute).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(pid) = starter_of(&name) else { continue };
            let gone = || process_table::read(pid).is_none_or(|one| one.is_zombie());
            if only.is_some_and(|only| only != pid) || in_use.contains(&pid) || !(only.is_some() || gone()) {
                continue;
            }
            let path = entry.path();
            let kind = entry.file_type().ok();
            if kind.is_some_and(|kind| kind.is_dir()) {
                unmount(&path, told);
            }
            if name.ends_with(".recover") && kind.is_some_and(|kind| kind.is_file()) {
                self.of_recovery(pid, &path, world, told);
            }
            if keeps || name.ends_with(".left") || name.ends_with(".left.lock") {
                continue;
            }
            let remains = tree::remove_tree(&path);
            if remains.is_empty() {
                told.push(done(format!("removed '{}'", path.display())));
            }
            told.extend(
                remains
                    .iter()
                    .map(|left| stays(format!("cannot remove '{}': {}", left.path.display(), left.error))),
            );
        }
    }

    /// The file that 25.14 writes as well; whoever owns it can only have named a container of that starter that bears the label.
    fn of_recovery(&self, pid: i32, path: &Path, world: &dyn World, told: &mut Vec<Cleaned>) {
        let Ok(text) = crate::os::files::read_plain(path, 64 * 1024) else { return };
        if let Some(name) = container_of_recovery(&text) {
            let before = told.len();
            self.remove_container(pid, &name, world, told);
            // It was told of its state file.
            let mut known = told[..before].to_vec();
            known.extend(told.split_off(before));
            known.dedup();
            *told = known;
        }
    }
}

/// Whether a state file is about this execute directory.
fn is_of(records: &[Left], execute: &Path) -> bool {
    records.iter().any(|record| match record {
        Left::Starter { directory, .. } => directory
            .parent()
            .and_then(|parent| fs::canonicalize(parent).ok())
            .is_some_and(|parent| parent == execute),
        _ => false,
    })
}

fn no_such(answer: &[u8]) -> bool {
    answer.to_ascii_lowercase().contains_str("no such")
}

/// Kills a process and all below it.
pub fn kill_tree(pid: i32) {
    for member in process_table::descendants(pid).iter().map(|one| one.pid).chain([pid]) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(member), nix::sys::signal::SIGKILL);
    }
}

/// Takes away what is mounted below a directory, the innermost first, and never through a link.
fn unmount(below: &Path, told: &mut Vec<Cleaned>) {
    let all = mounts::list();
    for mount in all.iter().rev().filter(|mount| mount.target.starts_with(below)) {
        let flags =
            nix::mount::MntFlags::MNT_DETACH | nix::mount::MntFlags::from_bits_retain(libc::UMOUNT_NOFOLLOW);
        let target = mount.target.display();
        match nix::mount::umount2(&mount.target, flags) {
            Ok(()) => told.push(done(format!("unmounted '{target}'"))),
            Err(errno) => told.push(stays(format!("cannot unmount '{target}': {errno}"))),
        }
    }
}
