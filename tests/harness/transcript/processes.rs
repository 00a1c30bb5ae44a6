//! Processes in the directory of a replay: leftovers of a run are found, reported and killed.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Maximum time until a killed process is gone.
const KILL_LIMIT: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Returns the processes that run a program of the directory or have it as their working directory.
fn inside(directory: &Path) -> Vec<(Pid, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let leads_there = |link: &str| {
            fs::read_link(entry.path().join(link)).is_ok_and(|target| target.starts_with(directory))
        };
        if leads_there("cwd") || leads_there("exe") {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            found.push((Pid::from_raw(pid), words.trim_end().to_owned()));
        }
    }
    found
}

/// Waits until no process runs in the directory, up to a limit; returns the command lines of those that
/// remain.
pub fn wait_for_none(directory: &Path, limit: Duration) -> Vec<String> {
    let until = Instant::now() + limit;
    loop {
        let left = inside(directory);
        if left.is_empty() || Instant::now() >= until {
            return left.into_iter().map(|(_, words)| words).collect();
        }
        sleep(LOOK_AGAIN);
    }
}

/// Kills the processes that a program has left, and returns their command lines, which should be none.
/// Processes that are about to end do not count.
pub fn end_leftovers(directory: &Path) -> Vec<String> {
    let left = wait_for_none(directory, KILL_LIMIT);
    end_all(directory);
    left
}

/// Kills all processes there, including stopped ones.
pub fn end_all(directory: &Path) {
    let until = Instant::now() + KILL_LIMIT;
    loop {
        let left = inside(directory);
        if left.is_empty() || Instant::now() >= until {
            return;
        }
        for (pid, _) in left {
            let _ = kill(pid, Signal::SIGKILL);
        }
        sleep(LOOK_AGAIN);
    }
}
