//! Workloads: small runs of one program, and the contract that holds whatever fails.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::fault::Effect;
use crate::strace::{self, CommandLine, FaultedRun};

/// Run of one program in a separate directory.
pub(crate) trait Workload {
    fn name(&self) -> &'static str;

    /// Fills an empty directory.
    fn prepare(&self, home: &Path);

    /// Returns the command line of the program.
    fn command(&self, home: &Path, quiet: bool) -> CommandLine;

    /// Returns true if the program executes itself as a helper.
    fn has_helpers(&self) -> bool {
        false
    }

    /// Starts the program again without a fault, and returns the violations of the contract.
    fn judge(&self, home: &Path, run: &FaultedRun, quiet: bool) -> Vec<String>;
}

/// Returns the parent of the control groups of this process's jobs.
pub(crate) fn cgroup_base() -> String {
    format!("htc-hooks-inject-{}", std::process::id())
}

/// Checks what holds for each program: no panic, no hang, no death except by a signal that ends any program.
///
/// A program may abort if it gets no memory, and a signal may end it before it has begun (`has_begun`). A fault that
/// happens in each child, so that no child can ever be started, may let a runner try forever.
pub(crate) fn judge_program(run: &FaultedRun, has_begun: bool) -> Vec<String> {
    let mut violations = Vec::new();
    if run.hung && run.hits < ENDLESS {
        violations.push("it hung".to_owned());
    }
    let code = run.code();
    let call = run.fault.as_ref().map_or("", |fault| &fault.call);
    if matches!(call, "mmap" | "mprotect" | "mremap" | "brk") && matches!(code, 127 | 134 | 139) {
        return violations;
    }
    if run.stderr.contains("panicked at") {
        violations.push("it panicked".to_owned());
    }
    let signal = match run.fault.as_ref().map(|fault| fault.effect) {
        Some(Effect::Signal(name)) => name.parse::<Signal>().ok(),
        _ => None,
    };
    let ended_early = signal.is_some_and(|signal| code == 128 + signal as i32) && !has_begun;
    if code > 128 && code != 137 && !run.hung && !ended_early {
        violations.push(format!("a signal ended it: status {code}"));
    }
    violations
}

/// Number of processes with a fault from which on a run without end is not a hang.
const ENDLESS: usize = 8;

/// Returns true if the fault is a signal that requests the program's end.
pub(crate) fn is_asked_to_end(run: &FaultedRun) -> bool {
    matches!(run.fault.as_ref().map(|fault| fault.effect), Some(Effect::Signal(name)) if name != "SIGKILL")
}

/// Checks that nothing is left after the next start.
pub(crate) fn judge_leftovers(home: &Path, emptied: &[&str]) -> Vec<String> {
    let mut violations = Vec::new();
    for directory in emptied {
        let names = names(&home.join(directory));
        if !names.is_empty() {
            violations.push(format!("left in {directory}: {names:?}"));
        }
    }
    let processes = strace::processes(home);
    if !processes.is_empty() {
        violations.push(format!("processes are left: {processes:?}"));
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if mounts.contains(&*home.to_string_lossy()) {
        violations.push("mounts are left".to_owned());
    }
    let groups = control_groups(&cgroup_base());
    if !groups.is_empty() {
        violations.push(format!("control groups are left: {groups:?}"));
    }
    violations
}

/// Returns the control groups below a base.
fn control_groups(base: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![(PathBuf::from("/sys/fs/cgroup"), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth < 4 {
                if entry.file_name() == base {
                    let groups = fs::read_dir(&path).into_iter().flatten().flatten();
                    found.extend(groups.map(|entry| entry.path()).filter(|path| path.is_dir()));
                }
                waiting.push((path, depth + 1));
            }
        }
    }
    found
}

/// Removes the base of the control groups.
pub(crate) fn remove_cgroup_base() {
    let mut waiting = vec![(PathBuf::from("/sys/fs/cgroup"), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth < 4 {
                if entry.file_name() == *cgroup_base() {
                    let _ = fs::remove_dir(entry.path());
                } else {
                    waiting.push((entry.path(), depth + 1));
                }
            }
        }
    }
}

/// Returns the sorted names in a directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Reads a file of JSON events. A line that was cut off by a kill or a full disk is skipped.
pub(crate) fn events(path: &Path) -> Vec<Value> {
    let text = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Creates directories; those that hooks and jobs write are open to all accounts, because root runs both as nobody.
pub(crate) fn make_directories(home: &Path, closed: &[&str], open: &[&str]) {
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(home, 0o755);
    for (names, bits) in [(closed, 0o755), (open, 0o777)] {
        for name in names {
            let path = home.join(name);
            fs::create_dir_all(&path).unwrap();
            mode(&path, bits);
        }
    }
}

/// Writes an executable script.
pub(crate) fn write_script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the account of jobs: nobody if root runs the tests.
pub(crate) fn account() -> String {
    if nix::unistd::geteuid().is_root() {
        return "nobody".to_owned();
    }
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten();
    user.map_or_else(|| "nobody".to_owned(), |user| user.name)
}
