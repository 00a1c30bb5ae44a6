//! Control group of a job, across all hierarchies.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::libc;

use super::hierarchy::{Hierarchy, mounted_hierarchies};
use super::usage::GroupUsage;
use super::v1::CgroupV1;
use super::v2::CgroupV2;
use super::version::{CgroupVersion, LimitedResource, read_number};
use crate::{child, process_table};
use htc_base::process::ControlGroupSpec;

/// Maximum time to wait until a group can be removed after its processes have been killed.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Share of the machine's maximum number of processes that a job may have, in percent; systemd uses the same
/// share for a unit.
const PROCESS_LIMIT_PERCENT: u64 = 15;

/// Control group of one job.
pub struct ControlGroup {
    in_hierarchies: Vec<HierarchyDirectories>,
}

/// Directories of the group in one hierarchy.
struct HierarchyDirectories {
    version: &'static dyn CgroupVersion,
    controllers: Vec<String>,
    /// Directories of the group, outermost first. Limits are set in the first directory, and processes are
    /// placed in the last.
    directories: Vec<PathBuf>,
    /// Parent directories that were created for this group, outermost first. They are removed together with
    /// the last group in them.
    created_parents: Vec<PathBuf>,
}

impl HierarchyDirectories {
    fn limit_directory(&self) -> &Path {
        self.directories.first().map_or(Path::new(""), PathBuf::as_path)
    }

    fn process_directory(&self) -> &Path {
        self.directories.last().map_or(Path::new(""), PathBuf::as_path)
    }

    fn has_controller(&self, controller: &str) -> bool {
        self.controllers.iter().any(|name| name == controller)
    }
}

/// Setting of a control group that limits or protects a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupSetting {
    /// Memory limit, in bytes.
    Memory,
    /// Memory that the kernel does not reclaim, in bytes.
    MemoryLow,
    /// Limit of memory and swap space, in bytes.
    MemoryAndSwap,
    /// CPU weight.
    Cpu,
    /// Maximum number of processes.
    Processes,
    /// Device that processes cannot open.
    Device,
}

/// Result of applying a setting to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettingResult {
    /// Setting that was applied.
    pub setting: GroupSetting,
    /// Requested value.
    pub wanted: u64,
    /// Value reported by the kernel, or the reason why the setting does not apply.
    pub actual: Result<u64, String>,
}

/// Error that prevents the creation of a control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupCreationError {
    /// Reason in one line.
    pub reason: String,
}

impl ControlGroup {
    /// Creates the group in every hierarchy in which this is possible and sets its limits. The results also
    /// contain settings that could not be applied. If a group with this name exists and has no processes, it
    /// is created anew, so that its counters start at zero; if it has processes, it is left unchanged, and
    /// the new group is named `other_name`. `note` is called with each directory before the directory is
    /// created.
    ///
    /// # Errors
    /// Fails if the group cannot be created in any hierarchy.
    pub fn create(
        spec: &ControlGroupSpec,
        other_name: &str,
        note: &mut dyn FnMut(&Path),
    ) -> Result<(ControlGroup, Vec<GroupSettingResult>), GroupCreationError> {
        let mut found = mounted_hierarchies();
        if found.is_empty() {
            return Err(GroupCreationError { reason: "no control groups are mounted".to_owned() });
        }
        if spec.hidden_devices.is_empty() {
            // Each hierarchy costs about 50 microseconds per job, and the `devices` hierarchy is used only
            // for hidden devices.
            found.retain(|hierarchy| hierarchy.controllers != ["devices"]);
        }
        let there = existing_groups(&found, &spec.parent_group, &spec.name);
        let in_use = there.iter().any(|group| !processes_in_subtree(group).is_empty());
        let (name, stale) = match in_use {
            true => (other_name, self::existing_groups(&found, &spec.parent_group, other_name)),
            false => (spec.name.as_str(), there),
        };
        let mut group = ControlGroup { in_hierarchies: Vec::new() };
        let mut first_failure = None;
        for hierarchy in found {
            match create_in_hierarchy(&hierarchy, &spec.parent_group, name, &stale, note) {
                Ok(part) => group.in_hierarchies.push(part),
                Err((path, error)) => {
                    first_failure.get_or_insert_with(|| format!("cannot make '{}': {error}", path.display()));
                }
            }
        }
        if group.in_hierarchies.is_empty() {
            return Err(GroupCreationError { reason: first_failure.unwrap_or_default() });
        }
        let set = group.apply_limits(spec);
        group.delegate_to_account(spec);
        Ok((group, set))
    }

    fn find_hierarchy_with(&self, controller: &str) -> Option<&HierarchyDirectories> {
        self.in_hierarchies.iter().find(|part| part.has_controller(controller))
    }

    fn apply_limits(&self, spec: &ControlGroupSpec) -> Vec<GroupSettingResult> {
        let processes = spec.limits_processes.then(|| self.process_limit());
        let swap = LimitedResource::Swap { memory: spec.memory_limit.unwrap_or(0) };
        let wanted = [
            (GroupSetting::Memory, LimitedResource::Memory, "memory", spec.memory_limit),
            (GroupSetting::MemoryLow, LimitedResource::MemoryLow, "memory", spec.memory_low),
            (GroupSetting::MemoryAndSwap, swap, "memory", spec.memory_and_swap_limit),
            (
                GroupSetting::Cpu,
                LimitedResource::Cpu,
                "cpu",
                Some(spec.cpu_weight).filter(|weight| *weight > 0),
            ),
            (GroupSetting::Processes, LimitedResource::Processes, "pids", processes),
        ];
        let mut set = Vec::new();
        for (rule, limited, controller, value) in wanted {
            let Some(value) = value else { continue };
            let is = match self.find_hierarchy_with(controller) {
                None => Err(format!("there is no controller '{controller}'")),
                Some(part) => match part.version.set_limit(part.limit_directory(), limited, value) {
                    Ok(Some(is)) => Ok(is),
                    Ok(None) => Err("the kernel has no such limit here".to_owned()),
                    Err(error) => Err(error.to_string()),
                },
            };
            set.push(GroupSettingResult { setting: rule, wanted: value, actual: is });
        }
        for device in &spec.hidden_devices {
            let wanted = u64::from(device.major) << 32 | u64::from(device.minor);
            let mut is = Err("there is no controller 'devices'".to_owned());
            for part in &self.in_hierarchies {
                match part.version.deny_device(part.limit_directory(), *device) {
                    Ok(true) => is = Ok(wanted),
                    Ok(false) => {}
                    Err(error) => is = is.map_err(|_| error.to_string()),
                }
            }
            set.push(GroupSettingResult { setting: GroupSetting::Device, wanted, actual: is });
        }
        set
    }

    /// Returns the maximum number of processes for a job: a percentage of the limit of the machine or of the
    /// parent group.
    fn process_limit(&self) -> u64 {
        let parent_limit = self
            .find_hierarchy_with("pids")
            .and_then(|part| read_number(&part.limit_directory().parent()?.join("pids.max")));
        let all = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"]
            .map(|path| read_number(Path::new(path)));
        let most = all.into_iter().chain([parent_limit]).flatten().min().unwrap_or(32_768);
        (most.saturating_mul(PROCESS_LIMIT_PERCENT) / 100).max(1)
    }

    /// Permits the account of the job to create subgroups.
    fn delegate_to_account(&self, spec: &ControlGroupSpec) {
        let Some((uid, gid)) = spec.delegated_to else { return };
        for part in &self.in_hierarchies {
            let files = part.version.delegated_files().iter().map(|name| part.limit_directory().join(name));
            for path in files.chain([part.limit_directory().to_owned()]) {
                drop(std::os::unix::fs::chown(path, Some(uid), Some(gid)));
            }
        }
    }

    /// Returns the directories of the groups into which the job's process is placed.
    pub fn process_directories(&self) -> Vec<PathBuf> {
        self.in_hierarchies.iter().map(|part| part.process_directory().to_owned()).collect()
    }

    /// Returns the processes in the group and its subgroups. Only one hierarchy is read, because only root
    /// could have moved a process out of a group.
    pub fn members(&self) -> Vec<i32> {
        let mut all: Vec<i32> = self
            .in_hierarchies
            .iter()
            .take(1)
            .flat_map(|part| processes_in_subtree(part.limit_directory()))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the resource usage of the group.
    pub fn usage(&self) -> GroupUsage {
        let mut counts = GroupUsage::default();
        for part in &self.in_hierarchies {
            part.version.add_usage(part.limit_directory(), &part.controllers, &mut counts);
        }
        counts
    }

    /// Returns true if the kernel has killed a process of the group because memory was exhausted. Version 2
    /// kills the whole group, so the result is true only if the job's own process was killed as well
    /// (reference: `has_been_oom_killed`).
    pub fn has_been_oom_killed(&self, job_was_killed: bool) -> bool {
        self.find_hierarchy_with("memory").is_some_and(|part| {
            part.version.oom_kill_count(part.limit_directory()) > 0
                && (job_was_killed || !part.version.kills_whole_group())
        })
    }

    /// Sends a signal to every process in the group. For SIGKILL the group is frozen if possible, so that its
    /// processes cannot fork.
    pub fn send_signal(&self, signal: i32) {
        if signal == libc::SIGKILL {
            return self.kill();
        }
        for pid in self.members() {
            drop(child::send_signal(pid, signal));
        }
    }

    /// Kills all processes in the group.
    pub fn kill(&self) {
        for part in &self.in_hierarchies {
            kill_subtree(part.version, part.limit_directory());
        }
    }

    /// Kills the remaining processes in the group and removes the group.
    ///
    /// # Errors
    /// Returns a directory that could not be removed, with the error.
    pub fn remove(&mut self) -> Result<(), (PathBuf, io::Error)> {
        let mut failure = None;
        for part in std::mem::take(&mut self.in_hierarchies) {
            if let Err(error) = remove_group_tree(part.version, part.limit_directory()) {
                failure.get_or_insert((part.limit_directory().to_owned(), error));
            }
            for directory in part.created_parents.iter().rev() {
                // The removal fails if the directory contains the group of another job by now.
                drop(fs::remove_dir(directory));
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        drop(self.remove());
    }
}

/// Returns the directories of a hierarchy in which groups can be created, the best first. In version 2, this
/// is the parent of our own group, because a group with processes cannot have subgroups with controllers. In
/// version 1, this is the mount point, or our own group if we cannot write to the mount point.
fn candidate_parents(hierarchy: &Hierarchy) -> Vec<PathBuf> {
    match hierarchy.unified {
        true if hierarchy.own_group == hierarchy.mount_point => vec![hierarchy.mount_point.clone()],
        true => vec![hierarchy.own_group.parent().unwrap_or(&hierarchy.mount_point).to_owned()],
        false if hierarchy.own_group == hierarchy.mount_point => vec![hierarchy.mount_point.clone()],
        false => vec![hierarchy.mount_point.clone(), hierarchy.own_group.clone()],
    }
}

/// Returns the existing groups called `name` in these hierarchies, under the directory names of both
/// versions.
fn existing_groups(hierarchies: &[Hierarchy], base: &str, name: &str) -> Vec<PathBuf> {
    let places = hierarchies.iter().flat_map(candidate_parents);
    let groups = places
        .flat_map(|place| [name.to_owned(), format!("{name}.slice")].map(|name| place.join(base).join(name)));
    groups.filter(|group| group.is_dir()).collect()
}

fn create_in_hierarchy(
    hierarchy: &Hierarchy,
    base: &str,
    name: &str,
    stale: &[PathBuf],
    note: &mut dyn FnMut(&Path),
) -> Result<HierarchyDirectories, (PathBuf, io::Error)> {
    let version: &'static dyn CgroupVersion = if hierarchy.unified { &CgroupV2 } else { &CgroupV1 };
    let mut failure = None;
    for place in candidate_parents(hierarchy) {
        for stale in stale.iter().filter(|stale| stale.parent() == Some(&place.join(base))) {
            drop(remove_group_tree(version, stale));
        }
        let missing_parents = missing_directories(&place, base);
        // The directory is recorded before it is created: if this program is killed later, the record shows
        // what may be left behind.
        note(&place.join(base).join(version.outermost_name(name)));
        // Between the two steps of creating the group, another process may remove the parent directory.
        let mut made = (0..10).map(|_| version.create(&place, base, name));
        let is_missing =
            |made: &io::Result<_>| made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        match made.find(|made| !is_missing(made)).unwrap_or(Err(io::ErrorKind::NotFound.into())) {
            Ok(made) => {
                return Ok(HierarchyDirectories {
                    version,
                    controllers: hierarchy.controllers.clone(),
                    directories: made,
                    created_parents: missing_parents,
                });
            }
            Err(error) => {
                failure.get_or_insert((place.join(base).join(name), error));
            }
        }
    }
    Err(failure.unwrap_or_else(|| (hierarchy.mount_point.clone(), io::ErrorKind::NotFound.into())))
}

/// Returns the directories on the path `base` that do not exist yet, outermost first.
fn missing_directories(place: &Path, base: &str) -> Vec<PathBuf> {
    let mut path = place.to_owned();
    let mut all = Vec::new();
    for part in Path::new(base).components() {
        path.push(part);
        all.extend((!path.exists()).then(|| path.clone()));
    }
    all
}

/// Calls `visit` for all subgroups of a group, the deepest first. Each path starts at the open parent
/// directory, because a job can nest groups deeper than the kernel's limit on the length of paths.
fn visit_subgroups(group: &Path, visit: &mut dyn FnMut(&Path)) -> io::Result<()> {
    let open = |path: &Path| {
        fs::File::options().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)
    };
    let of = |open: &fs::File| PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
    let inside = |directory: &fs::File| -> Vec<OsString> {
        let entries = fs::read_dir(of(directory)).into_iter().flatten().flatten();
        let groups = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        groups.map(|entry| entry.file_name()).collect()
    };
    let mut at = open(group)?;
    let mut waiting = vec![inside(&at)];
    let mut names: Vec<OsString> = Vec::new();
    while let Some(list) = waiting.last_mut() {
        if let Some(name) = list.pop() {
            // A group that has been removed in the meantime has no subgroups.
            if let Ok(inner) = open(&of(&at).join(&name)) {
                waiting.push(inside(&inner));
                names.push(name);
                at = inner;
            }
            continue;
        }
        waiting.pop();
        if let Some(name) = names.pop() {
            at = open(&of(&at).join(".."))?;
            visit(&of(&at).join(name));
        }
    }
    Ok(())
}

/// Returns the processes in a group and its subgroups.
fn processes_in_subtree(group: &Path) -> Vec<i32> {
    let read = |directory: &Path| fs::read(directory.join("cgroup.procs")).unwrap_or_default();
    let mut members: Vec<i32> = process_table::parse_numbers(&read(group)).collect();
    // A group that has been removed has no processes.
    drop(visit_subgroups(group, &mut |inner| members.extend(process_table::parse_numbers(&read(inner)))));
    members
}

/// Kills all processes in a group and its subgroups, several times, to find processes that were forked in the
/// meantime.
fn kill_subtree(version: &dyn CgroupVersion, group: &Path) {
    if version.kill_all(group) {
        return;
    }
    let own = std::process::id().cast_signed();
    let frozen = version.set_frozen(group, true);
    for _ in 0..50 {
        let members = processes_in_subtree(group);
        for pid in members.iter().filter(|pid| **pid > 0 && **pid != own) {
            drop(child::send_signal(*pid, libc::SIGKILL));
        }
        if members.is_empty() || frozen {
            break;
        }
    }
    if frozen {
        version.set_frozen(group, false);
    }
}

/// Removes a group that a starter has left behind, and returns true if it existed. The group must be a
/// directory below the base in one of the hierarchies, and its path must not contain a link.
///
/// # Errors
/// Fails if the directory is not such a group, or cannot be removed.
pub fn remove_leftover_group(directory: &Path, base: &str) -> io::Result<bool> {
    if !directory.exists() {
        return Ok(false);
    }
    let refuse = |why: &str| Err(io::Error::other(why.to_owned()));
    if fs::canonicalize(directory)? != directory {
        return refuse("the path contains a symbolic link");
    }
    let found = mounted_hierarchies();
    let Some(hierarchy) = found.iter().find(|hierarchy| {
        let inside = directory.strip_prefix(&hierarchy.mount_point).ok();
        inside.is_some_and(|inside| {
            !base.is_empty() && inside.parent().is_some_and(|parent| is_within_base(parent, base))
        })
    }) else {
        return refuse("it is not in a control group below BASE_CGROUP");
    };
    let version: &'static dyn CgroupVersion = if hierarchy.unified { &CgroupV2 } else { &CgroupV1 };
    remove_group_tree(version, directory).map(|()| true)
}

/// Returns true if the path is `base` or below it.
fn is_within_base(place: &Path, base: &str) -> bool {
    let base: Vec<_> = Path::new(base).components().collect();
    let parts: Vec<_> = place.components().collect();
    parts.windows(base.len().max(1)).any(|window| window == base)
}

/// Kills all processes in a group, and removes the group with its subgroups.
pub(super) fn remove_group_tree(version: &dyn CgroupVersion, group: &Path) -> io::Result<()> {
    // Most groups have no subgroups and no processes, so removing the directory succeeds at once.
    if fs::remove_dir(group).is_ok() {
        return Ok(());
    }
    let until = Instant::now() + REMOVAL_TIMEOUT;
    loop {
        let mut failure = None;
        let visited = visit_subgroups(group, &mut |inner| {
            failure = failure.take().or(fs::remove_dir(inner).err());
        });
        match failure.or(visited.err()).or(fs::remove_dir(group).err()) {
            None => return Ok(()),
            Some(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Some(error) if Instant::now() >= until => return Err(error),
            Some(_) => kill_subtree(version, group),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_below_too_long_paths_are_visited_deepest_first() {
        let home = tempfile::tempdir().unwrap();
        let part = "g".repeat(200);
        let mut open = fs::File::open(home.path()).unwrap();
        for _ in 0..40 {
            let at = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
            fs::create_dir(at.join("aside")).unwrap();
            fs::create_dir(at.join(&part)).unwrap();
            open = fs::File::open(at.join(&part)).unwrap();
        }
        let mut removed = 0;
        visit_subgroups(home.path(), &mut |inner| removed += i32::from(fs::remove_dir(inner).is_ok()))
            .unwrap();
        assert_eq!((removed, fs::read_dir(home.path()).unwrap().count()), (80, 0));
    }
}
