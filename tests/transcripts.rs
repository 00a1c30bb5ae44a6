//! The recorded sessions of the real daemons, replayed against our programs.

#![allow(
    clippy::print_stdout,
    reason = "a test says why it is skipped, also where a function of its own does it"
)]

#[path = "harness/mod.rs"]
mod harness;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use harness::transcript::{Options, processes, replay, report};

/// Recordings of whole fetch-work sessions and of the starter alone.
const FETCH_AND_EXECUTE: [&str; 14] =
    ["s01", "s02", "s03", "s04", "s05", "s06", "s12", "s13", "s14", "s15", "s17", "s22", "s28", "s32"];

/// Recordings of what slots do with policy, commands, bad hooks, cron jobs and new configurations, and of their ads. s35 takes
/// six minutes and is left to the example.
const SLOTS: [&str; 19] = [
    "s07", "s08", "s09", "s10", "s11", "s16", "s18", "s19", "s20", "s21", "s24", "s25", "s26", "s27", "s29",
    "s30", "s31", "s33", "s34",
];

/// Recordings of the starter by hand, one small case after the other.
const STARTER_ALONE: [&str; 22] = [
    "c01", "c02", "c03", "c04", "c05", "c06", "c07", "c08", "c09", "c10", "c11", "c12", "c13", "c20", "c20b",
    "c21", "c22", "c23", "c24", "c34", "c40", "c41",
];

#[test]
fn recorded_slots_are_reproduced() {
    reproduce(&SLOTS, 16);
}

#[test]
fn recorded_fetch_work_sessions_are_reproduced() {
    reproduce(&FETCH_AND_EXECUTE, 16);
}

#[test]
fn recorded_runs_of_the_starter_by_hand_are_reproduced() {
    // Signals are sent at times, so that not too many run at once.
    reproduce(&STARTER_ALONE, 3);
}

fn reproduce(prefixes: &[&str], parallel: usize) {
    let (Some(slot), Some(_)) =
        (option_env!("CARGO_BIN_EXE_htc-slot-run"), option_env!("CARGO_BIN_EXE_htc-starter-run"))
    else {
        println!("skipped: the runners are not built");
        return;
    };
    let Some(directories) = recordings(prefixes) else {
        println!("skipped: no recordings (set HTC_SHARED to the directory that holds transcripts/)");
        return;
    };
    let programs = Path::new(slot).parent().map_or_else(PathBuf::new, Path::to_owned);
    let outcomes = replay(&directories, &Options { programs, parallel, keep: false, only: None, case: None });
    assert!(report(&outcomes), "differences from the recordings, see above");
}

#[test]
fn recorded_lives_of_routed_jobs_are_reproduced() {
    let Some(mut directories) = recordings(&["r"]) else {
        println!("skipped: no recordings (set HTC_SHARED to the directory that holds transcripts/)");
        return;
    };
    directories.retain(|directory| directory.join("JobRouterLog.extract").exists());
    let options = Options { programs: PathBuf::new(), parallel: 4, keep: false, only: None, case: None };
    assert!(report(&replay(&directories, &options)), "differences from the recordings, see above");
}

/// A starter that is killed leaves its job, suspended perhaps: the replay ends and tells it (c12, `suspend-at-exec`).
#[test]
fn what_still_runs_in_the_directory_of_a_replay_is_ended_and_told() {
    let place = tempfile::tempdir().expect("a directory");
    let script = "kill -STOP $$; exit 7";
    let mut left =
        Command::new("/bin/sh").args(["-c", script]).current_dir(place.path()).spawn().expect("a shell");
    let stat = format!("/proc/{}/stat", left.id());
    while !std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T ")) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(processes::end_leftovers(place.path()), [format!("/bin/sh -c {script}")]);
    assert_eq!(left.wait().expect("its end").signal(), Some(9));
    assert!(processes::end_leftovers(place.path()).is_empty());
}

/// The scenario directories whose names begin so.
fn recordings(prefixes: &[&str]) -> Option<Vec<PathBuf>> {
    let shared = std::env::var_os("HTC_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let entries = std::fs::read_dir(shared.join("transcripts")).ok()?;
    let mut directories: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    directories.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        prefixes.iter().any(|prefix| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| prefix.len() == 1 || !rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    });
    directories.sort();
    Some(directories)
}
