//! A job's group over all hierarchies.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::libc;

use super::hierarchy::{Hierarchy, hierarchies};
use super::usage::Counts;
use super::v1::V1;
use super::v2::V2;
use super::version::{Limited, Version, number};
use crate::{child, process_table};
use htc_base::process::GroupSpec;

/// How long a group whose processes have been killed is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// How much of the processes that the machine can have a job may have, in percent: what systemd gives a unit.
const PART_OF_PROCESSES: u64 = 15;

/// The group of one job.
pub struct Group {
    parts: Vec<Part>,
}

/// Its directories in one hierarchy.
struct Part {
    version: &'static dyn Version,
    controllers: Vec<String>,
    /// Outermost first: limits stand in the first, processes in the last.
    made: Vec<PathBuf>,
    /// Groups around it that were not there before, outermost first; they go with the last of those in them.
    around: Vec<PathBuf>,
}

impl Part {
    fn outer(&self) -> &Path {
        self.made.first().map_or(Path::new(""), PathBuf::as_path)
    }

    fn inner(&self) -> &Path {
        self.made.last().map_or(Path::new(""), PathBuf::as_path)
    }

    fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|name| name == controller)
    }
}

/// Something that was to be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Memory, in bytes.
    Memory,
    /// Memory kept for it, in bytes.
    MemoryLow,
    /// Memory and swap space, in bytes.
    MemoryAndSwap,
    /// Share of the processors.
    Cpu,
    /// Number of processes.
    Processes,
    /// A device that cannot be opened.
    Device,
}

/// What became of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Which.
    pub rule: Rule,
    /// What was to be.
    pub wanted: u64,
    /// What the kernel says it is; or why there is no such limit.
    pub is: Result<u64, String>,
}

/// Why there is no group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoGroup {
    /// In one line.
    pub why: String,
}

impl Group {
    /// Makes the group in every hierarchy where that can be done and sets its limits; what could not be set is told with the
    /// others. One that stands there empty is made anew, so that counts begin at nothing; one in use is left to whoever uses it, and
    /// this one gets `other_name`. `note` hears of each directory before it is made.
    ///
    /// # Errors
    /// It can be made nowhere.
    pub fn make(
        spec: &GroupSpec,
        other_name: &str,
        note: &mut dyn FnMut(&Path),
    ) -> Result<(Group, Vec<Set>), NoGroup> {
        let mut found = hierarchies();
        if found.is_empty() {
            return Err(NoGroup { why: "no control groups are mounted".to_owned() });
        }
        if spec.hidden.is_empty() {
            // Each hierarchy costs some fifty microseconds a job, and this one is there for what is hidden alone.
            found.retain(|hierarchy| hierarchy.controllers != ["devices"]);
        }
        let there = there(&found, &spec.base, &spec.name);
        let in_use = there.iter().any(|group| !members_below(group).is_empty());
        let (name, stale) = match in_use {
            true => (other_name, self::there(&found, &spec.base, other_name)),
            false => (spec.name.as_str(), there),
        };
        let mut group = Group { parts: Vec::new() };
        let mut first_failure = None;
        for hierarchy in found {
            match make_in(&hierarchy, (&spec.base, name), &stale, note) {
                Ok(part) => group.parts.push(part),
                Err((path, error)) => {
                    first_failure.get_or_insert_with(|| format!("cannot make '{}': {error}", path.display()));
                }
            }
        }
        if group.parts.is_empty() {
            return Err(NoGroup { why: first_failure.unwrap_or_default() });
        }
        let set = group.limit(spec);
        group.delegate(spec);
        Ok((group, set))
    }

    fn part(&self, controller: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.has(controller))
    }

    fn limit(&self, spec: &GroupSpec) -> Vec<Set> {
        let processes = spec.limits_processes.then(|| self.processes());
        let swap = Limited::Swap { memory: spec.memory.unwrap_or(0) };
        let wanted = [
            (Rule::Memory, Limited::Memory, "memory", spec.memory),
            (Rule::MemoryLow, Limited::MemoryLow, "memory", spec.memory_low),
            (Rule::MemoryAndSwap, swap, "memory", spec.memory_and_swap),
            (Rule::Cpu, Limited::Cpu, "cpu", Some(spec.cpu_weight).filter(|weight| *weight > 0)),
            (Rule::Processes, Limited::Processes, "pids", processes),
        ];
        let mut set = Vec::new();
        for (rule, limited, controller, value) in wanted {
            let Some(value) = value else { continue };
            let is = match self.part(controller) {
                None => Err(format!("there is no controller '{controller}'")),
                Some(part) => match part.version.limit(part.outer(), limited, value) {
                    Ok(Some(is)) => Ok(is),
                    Ok(None) => Err("the kernel has no such limit here".to_owned()),
                    Err(error) => Err(error.to_string()),
                },
            };
            set.push(Set { rule, wanted: value, is });
        }
        for device in &spec.hidden {
            let wanted = u64::from(device.0) << 32 | u64::from(device.1);
            let mut is = Err("there is no controller 'devices'".to_owned());
            for part in &self.parts {
                match part.version.hide(part.outer(), *device) {
                    Ok(true) => is = Ok(wanted),
                    Ok(false) => {}
                    Err(error) => is = is.map_err(|_| error.to_string()),
                }
            }
            set.push(Set { rule: Rule::Device, wanted, is });
        }
        set
    }

    /// How many processes a job may have: a part of what the machine can have, or of what the group above may.
    fn processes(&self) -> u64 {
        let above = self.part("pids").and_then(|part| number(&part.outer().parent()?.join("pids.max")));
        let all =
            ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"].map(|path| number(Path::new(path)));
        let most = all.into_iter().chain([above]).flatten().min().unwrap_or(32_768);
        (most.saturating_mul(PART_OF_PROCESSES) / 100).max(1)
    }

    /// Lets the job's account make groups in its own.
    fn delegate(&self, spec: &GroupSpec) {
        let Some((uid, gid)) = spec.delegated_to else { return };
        for part in &self.parts {
            let files = part.version.delegated().iter().map(|name| part.outer().join(name));
            for path in files.chain([part.outer().to_owned()]) {
                drop(std::os::unix::fs::chown(path, Some(uid), Some(gid)));
            }
        }
    }

    /// The directories that the job's process enters.
    pub fn entered(&self) -> Vec<PathBuf> {
        self.parts.iter().map(|part| part.inner().to_owned()).collect()
    }

    /// The processes in it and below it. All of them are in each hierarchy: only root could take one out of one.
    pub fn members(&self) -> Vec<i32> {
        let mut all: Vec<i32> =
            self.parts.iter().take(1).flat_map(|part| members_below(part.outer())).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What it used.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for part in &self.parts {
            part.version.count(part.outer(), &part.controllers, &mut counts);
        }
        counts
    }

    /// Whether the kernel has killed in it for lack of memory. In version 2 all of a group is killed, so that the job's process
    /// has to have been (`has_been_oom_killed`).
    pub fn killed_for_memory(&self, job_was_killed: bool) -> bool {
        self.part("memory").is_some_and(|part| {
            part.version.memory_kills(part.outer()) > 0 && (job_was_killed || !part.version.kills_all())
        })
    }

    /// Sends a signal to every process in it. For SIGKILL nothing can be forked meanwhile where it can be frozen.
    pub fn signal(&self, signal: i32) {
        if signal == libc::SIGKILL {
            return self.kill();
        }
        for pid in self.members() {
            drop(child::send(pid, signal));
        }
    }

    /// Kills everything in it.
    pub fn kill(&self) {
        for part in &self.parts {
            kill_in(part.version, part.outer());
        }
    }

    /// Kills what is left in it and removes it.
    ///
    /// # Errors
    /// A directory that stays, and why.
    pub fn remove(&mut self) -> Result<(), (PathBuf, io::Error)> {
        let mut failure = None;
        for part in std::mem::take(&mut self.parts) {
            if let Err(error) = remove_tree(part.version, part.outer()) {
                failure.get_or_insert((part.outer().to_owned(), error));
            }
            for directory in part.around.iter().rev() {
                // Another job's group may be in it by now.
                drop(fs::remove_dir(directory));
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        drop(self.remove());
    }
}

/// Where groups are made in a hierarchy, the best first. Version 2: beside our own, as no group that holds processes has
/// groups with controllers below it. Version 1: at the top, else below our own where only that is given to us.
fn places(hierarchy: &Hierarchy) -> Vec<PathBuf> {
    match hierarchy.unified {
        true if hierarchy.own == hierarchy.mounted => vec![hierarchy.mounted.clone()],
        true => vec![hierarchy.own.parent().unwrap_or(&hierarchy.mounted).to_owned()],
        false if hierarchy.own == hierarchy.mounted => vec![hierarchy.mounted.clone()],
        false => vec![hierarchy.mounted.clone(), hierarchy.own.clone()],
    }
}

/// The groups of this name that stand in these hierarchies, as both versions would have made them.
fn there(hierarchies: &[Hierarchy], base: &str, name: &str) -> Vec<PathBuf> {
    let places = hierarchies.iter().flat_map(places);
    let groups = places
        .flat_map(|place| [name.to_owned(), format!("{name}.slice")].map(|name| place.join(base).join(name)));
    groups.filter(|group| group.is_dir()).collect()
}

fn make_in(
    hierarchy: &Hierarchy,
    (base, name): (&str, &str),
    stale: &[PathBuf],
    note: &mut dyn FnMut(&Path),
) -> Result<Part, (PathBuf, io::Error)> {
    let version: &'static dyn Version = if hierarchy.unified { &V2 } else { &V1 };
    let mut failure = None;
    for place in places(hierarchy) {
        for stale in stale.iter().filter(|stale| stale.parent() == Some(&place.join(base))) {
            drop(remove_tree(version, stale));
        }
        let around = missing(&place, base);
        // Who is killed from here on has said what may be left.
        note(&place.join(base).join(version.outermost(name)));
        // What is around it may be removed by others between the two steps of making it.
        let mut made = (0..10).map(|_| version.make(&place, base, name));
        let gone =
            |made: &io::Result<_>| made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        match made.find(|made| !gone(made)).unwrap_or(Err(io::ErrorKind::NotFound.into())) {
            Ok(made) => {
                return Ok(Part { version, controllers: hierarchy.controllers.clone(), made, around });
            }
            Err(error) => {
                failure.get_or_insert((place.join(base).join(name), error));
            }
        }
    }
    Err(failure.unwrap_or_else(|| (hierarchy.mounted.clone(), io::ErrorKind::NotFound.into())))
}

/// The directories of the base that are not there yet, outermost first.
fn missing(place: &Path, base: &str) -> Vec<PathBuf> {
    let mut path = place.to_owned();
    let mut all = Vec::new();
    for part in Path::new(base).components() {
        path.push(part);
        all.extend((!path.exists()).then(|| path.clone()));
    }
    all
}

/// Visits all groups below one, the deepest first: each by a path that leads through the open directory around it, as a job can
/// nest them deeper than the kernel takes paths.
fn visit_below(group: &Path, visit: &mut dyn FnMut(&Path)) -> io::Result<()> {
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
            // One that is gone meanwhile holds nothing.
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

/// The processes in a group and below it.
fn members_below(group: &Path) -> Vec<i32> {
    let read = |directory: &Path| fs::read(directory.join("cgroup.procs")).unwrap_or_default();
    let mut members: Vec<i32> = process_table::numbers(&read(group)).collect();
    // What is gone has none.
    drop(visit_below(group, &mut |inner| members.extend(process_table::numbers(&read(inner)))));
    members
}

/// Kills everything in a group and below it, round by round: one that forks is found again.
fn kill_in(version: &dyn Version, group: &Path) {
    if version.kill(group) {
        return;
    }
    let own = std::process::id().cast_signed();
    let frozen = version.freeze(group, true);
    for _ in 0..50 {
        let members = members_below(group);
        for pid in members.iter().filter(|pid| **pid > 0 && **pid != own) {
            drop(child::send(*pid, libc::SIGKILL));
        }
        if members.is_empty() || frozen {
            break;
        }
    }
    if frozen {
        version.freeze(group, false);
    }
}

/// Removes a group that a starter has left, if it is there: a directory in one of the hierarchies, below the base, that no link
/// leads to.
///
/// # Errors
/// It is no such directory, or stays.
pub fn remove_left(directory: &Path, base: &str) -> io::Result<bool> {
    if !directory.exists() {
        return Ok(false);
    }
    let refuse = |why: &str| Err(io::Error::other(why.to_owned()));
    if fs::canonicalize(directory)? != directory {
        return refuse("a link leads there");
    }
    let found = hierarchies();
    let Some(hierarchy) = found.iter().find(|hierarchy| {
        let inside = directory.strip_prefix(&hierarchy.mounted).ok();
        inside.is_some_and(|inside| {
            !base.is_empty() && inside.parent().is_some_and(|parent| below(parent, base))
        })
    }) else {
        return refuse("it lies in no control group below BASE_CGROUP");
    };
    let version: &'static dyn Version = if hierarchy.unified { &V2 } else { &V1 };
    remove_tree(version, directory).map(|()| true)
}

/// Whether a place is that of the base, or within it.
fn below(place: &Path, base: &str) -> bool {
    let base: Vec<_> = Path::new(base).components().collect();
    let parts: Vec<_> = place.components().collect();
    parts.windows(base.len().max(1)).any(|window| window == base)
}

/// Empties a group and removes it with all below it.
pub(super) fn remove_tree(version: &dyn Version, group: &Path) -> io::Result<()> {
    // Most have nothing below them.
    if fs::remove_dir(group).is_ok() {
        return Ok(());
    }
    let until = Instant::now() + PATIENCE;
    loop {
        let mut failure = None;
        let visited = visit_below(group, &mut |inner| {
            failure = failure.take().or(fs::remove_dir(inner).err());
        });
        match failure.or(visited.err()).or(fs::remove_dir(group).err()) {
            None => return Ok(()),
            Some(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Some(error) if Instant::now() >= until => return Err(error),
            Some(_) => kill_in(version, group),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_deeper_than_paths_reach_are_visited_from_the_deepest() {
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
        visit_below(home.path(), &mut |inner| removed += i32::from(fs::remove_dir(inner).is_ok())).unwrap();
        assert_eq!((removed, fs::read_dir(home.path()).unwrap().count()), (80, 0));
    }
}
