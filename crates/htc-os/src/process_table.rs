//! Processes of the machine as `/proc` shows them, in particular the descendants of this process.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bstr::BString;
use htc_base::process::ProcessInstance;
use rustc_hash::{FxHashMap, FxHashSet};

/// Flag of a process that has not executed a program since it was forked (`linux/sched.h`).
const PF_FORKNOEXEC: i64 = 0x40;

/// Process, with the fields of `/proc/<pid>/stat` that are used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: i32,
    /// Name of the program, at most 15 bytes.
    pub command: BString,
    /// State: `R`, `S`, `D`, `T`, `Z`, ...
    pub state: u8,
    /// True if the process has not executed a program since it was forked; its name is then still the name of
    /// its parent's program.
    pub only_forked: bool,
    /// Process id of the parent.
    pub parent: i32,
    /// Id of the process group.
    pub group: i32,
    /// Id of the session.
    pub session: i32,
    /// CPU time in user mode and in the kernel, in clock ticks.
    pub cpu_ticks: [u64; 2],
    /// Start time, in clock ticks after boot. It distinguishes processes that have the same pid one after the
    /// other.
    pub start_ticks: u64,
    /// Virtual size, in bytes.
    pub virtual_size: u64,
    /// Resident size, in pages.
    pub resident_pages: u64,
}

impl Process {
    /// Returns the pid and start time, which together identify the process.
    pub fn instance(&self) -> ProcessInstance {
        ProcessInstance { pid: self.pid, start_ticks: self.start_ticks }
    }

    /// Returns true if the process has ended but is not reaped yet.
    pub fn is_zombie(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

impl Process {
    /// Returns the start time, converted to wall-clock time, or `None` if it cannot be determined.
    pub fn start_time(&self) -> Option<SystemTime> {
        let text = fs::read_to_string("/proc/uptime").ok()?;
        let up = Duration::try_from_secs_f64(text.split_ascii_whitespace().next()?.parse().ok()?).ok()?;
        let age = up.saturating_sub(ticks_to_duration(self.start_ticks));
        SystemTime::now().checked_sub(age)
    }
}

/// Reads the data of one process, or returns `None` if the process no longer exists.
pub fn read_process(pid: i32) -> Option<Process> {
    let mut text = Vec::with_capacity(512);
    fs::File::open(format!("/proc/{pid}/stat")).ok()?.read_to_end(&mut text).ok()?;
    parse_stat(&text)
}

fn parse_stat(text: &[u8]) -> Option<Process> {
    // The name is in parentheses and may itself contain spaces and parentheses: it ends at the last closing
    // parenthesis.
    let open = memchr::memchr(b'(', text)?;
    let close = memchr::memrchr(b')', text)?;
    let pid = std::str::from_utf8(text.get(..open)?).ok()?.trim().parse().ok()?;
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let numbers: Vec<i64> = fields.take(21).map(|field| field.parse().unwrap_or(0)).collect();
    let number = |index: usize| numbers.get(index).copied();
    let id = |index: usize| number(index).and_then(|value| i32::try_from(value).ok());
    Some(Process {
        pid,
        command: BString::from(text.get(open + 1..close)?),
        state,
        only_forked: number(5)? & PF_FORKNOEXEC != 0,
        parent: id(0)?,
        group: id(1)?,
        session: id(2)?,
        cpu_ticks: [number(10)?.unsigned_abs(), number(11)?.unsigned_abs()],
        start_ticks: number(18)?.unsigned_abs(),
        virtual_size: number(19)?.unsigned_abs(),
        resident_pages: number(20)?.unsigned_abs(),
    })
}

/// Returns all descendants of the process `root`, including zombies but not `root` itself. Parents come
/// before their children.
///
/// Uses the kernel's lists of children if they are available (CONFIG_PROC_CHILDREN), or else searches all of
/// `/proc`.
pub fn descendants(root: i32) -> Vec<Process> {
    let Some(first) = child_pids(root) else { return descendants_by_parent(root) };
    let mut found = Vec::new();
    let mut waiting = first;
    let mut seen = FxHashSet::default();
    while let Some(pid) = waiting.pop() {
        if !seen.insert(pid) {
            continue;
        }
        if let Some(process) = read_process(pid) {
            found.push(process);
            waiting.extend(child_pids(pid).unwrap_or_default());
        }
    }
    found
}

/// Returns the children of all threads of a process, or `None` if the kernel does not provide lists of
/// children.
pub fn child_pids(pid: i32) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Some(found) };
    for thread in threads.flatten() {
        match fs::read(thread.path().join("children")) {
            Ok(text) => found.extend(parse_numbers(&text)),
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(found)
}

/// Returns the children of our main thread. The kernel makes orphans children of this thread, because this
/// process is their subreaper.
pub(super) fn adopted_pids(own: i32) -> Vec<i32> {
    match fs::read(format!("/proc/{own}/task/{own}/children")) {
        Ok(text) => parse_numbers(&text).collect(),
        Err(_) => {
            descendants_by_parent(own).iter().filter(|one| one.parent == own).map(|one| one.pid).collect()
        }
    }
}

/// Returns the numbers in a text, separated by whitespace.
pub(super) fn parse_numbers(text: &[u8]) -> impl Iterator<Item = i32> {
    text.split(u8::is_ascii_whitespace).filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok())
}

fn descendants_by_parent(root: i32) -> Vec<Process> {
    let mut known: FxHashMap<i32, Process> =
        all_pids().filter_map(read_process).map(|one| (one.pid, one)).collect();
    let mut children: FxHashMap<i32, Vec<i32>> = FxHashMap::default();
    for process in known.values() {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = Vec::new();
    let mut waiting = vec![root];
    while let Some(pid) = waiting.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            waiting.push(child);
            found.extend(known.remove(&child));
        }
    }
    found
}

/// Returns the ids of all processes of the machine.
pub fn all_pids() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
}

/// Returns the supplementary groups of a process; empty if they cannot be read.
pub fn supplementary_groups(pid: i32) -> Vec<u32> {
    let text = fs::read(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"Groups:"));
    parse_numbers(line.unwrap_or_default()).filter_map(|number| u32::try_from(number).ok()).collect()
}

/// Returns the user id of a process, or `None` if the process no longer exists.
pub fn owner_uid(pid: i32) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(format!("/proc/{pid}")).ok().map(|status| status.uid())
}

/// Returns true if the environment with which a process was started contains the entry `text` (`NAME=value`).
pub(super) fn has_environment_variable(pid: i32, text: &[u8]) -> bool {
    read_environment(pid).split(|&byte| byte == 0).any(|variable| variable == text)
}

/// Returns true if an entry of a process's environment begins with `beginning`. Returns `None` if the process
/// has no environment, as for a moment during an exec.
pub(super) fn has_variable_with_prefix(pid: i32, beginning: &[u8]) -> Option<bool> {
    let environment = read_environment(pid);
    let mut variables = environment.split(|&byte| byte == 0);
    (!environment.is_empty()).then(|| variables.any(|variable| variable.starts_with(beginning)))
}

/// Returns true if a process is in the middle of an exec: it then has neither arguments nor an environment
/// for a moment.
pub(super) fn is_in_exec(pid: i32) -> bool {
    read_environment(pid).is_empty()
        && fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words.is_empty())
        && read_process(pid).is_some_and(|process| !process.is_zombie())
}

/// Returns the processes of the account `uid` that were created below a daemon that has ended. They have the
/// daemon's ancestor marker and started no earlier than the daemon (`started`).
pub fn find_by_ancestor_marker(daemon: i32, started: u64, uid: u32) -> Vec<i32> {
    let marker = format!("_CONDOR_ANCESTOR_{daemon}=");
    let own = |pid: i32| owner_uid(pid) == Some(uid);
    let later =
        |pid: i32| read_process(pid).is_some_and(|one| one.start_ticks >= started && !one.is_zombie());
    all_pids()
        .filter(|pid| {
            own(*pid) && later(*pid) && has_variable_with_prefix(*pid, marker.as_bytes()) == Some(true)
        })
        .collect()
}

/// Returns the environment with which a process was started, or an empty string if it cannot be read.
fn read_environment(pid: i32) -> Vec<u8> {
    // The kernel's limit on the environment is several megabytes.
    let mut environment = Vec::new();
    let Ok(file) = fs::File::open(format!("/proc/{pid}/environ")) else { return environment };
    if file.take(4 << 20).read_to_end(&mut environment).is_err() {
        environment.clear();
    }
    environment
}

/// Returns true if a process has the pipe with this inode open.
pub(super) fn has_pipe_open(pid: i32, inode: u64) -> bool {
    let pipe = format!("pipe:[{inode}]");
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    descriptors
        .flatten()
        .any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == Path::new(&pipe)))
}

/// Converts clock ticks, as counted in `/proc`, to a duration.
pub(super) fn ticks_to_duration(count: u64) -> Duration {
    let per_second = sysconf(nix::unistd::SysconfVar::CLK_TCK).unwrap_or(100);
    Duration::from_micros(count.saturating_mul(1_000_000) / per_second.max(1))
}

/// Returns the value of a system configuration variable, or `None` if it is not available.
pub(super) fn sysconf(variable: nix::unistd::SysconfVar) -> Option<u64> {
    u64::try_from(nix::unistd::sysconf(variable).ok().flatten()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_blanks_and_brackets_is_parsed() {
        let text =
            b"17 (a) b (c) S 1 17 17 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 900 4096 3 18446744073709551615";
        let process = parse_stat(text).unwrap();
        assert_eq!(process.command, "a) b (c");
        assert_eq!((process.pid, process.parent, process.group, process.session), (17, 1, 17, 17));
        assert_eq!((process.cpu_ticks, process.start_ticks), ([5, 6], 900));
        assert_eq!((process.virtual_size, process.resident_pages), (4096, 3));
        assert_eq!(parse_stat(b"17 (cut"), None);
    }

    #[test]
    fn both_searches_for_descendants_find_none_for_a_lone_process() {
        // Pid 1 of a container or machine is not a descendant of the test process: it is an ancestor, or the
        // test process itself.
        let own = std::process::id() as i32;
        assert!(own == 1 || descendants_by_parent(1).iter().any(|one| one.pid == own));
    }

    #[test]
    fn this_process_is_found() {
        let own = read_process(std::process::id() as i32).unwrap();
        assert_eq!(own.pid, std::process::id() as i32);
        assert!(own.resident_pages > 0 && own.virtual_size > 0);
    }
}
