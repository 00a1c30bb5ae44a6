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

use harness::transcript::outcome::Standing;
use harness::transcript::{Options, processes, replay, report};

/// Recordings of the layout of slots and of their ads, which no clock decides.
const SLOTS: [&str; 2] = ["s30", "s31"];

/// Recordings of the starter by hand, one small case after the other.
const STARTER_ALONE: [&str; 23] = [
    "c01", "c02", "c03", "c04", "c05", "c06", "c07", "c08", "c09", "c10", "c11", "c12", "c13", "c20", "c20b",
    "c21", "c22", "c23", "c24", "c34", "c40", "c41", "s32",
];

/// Recordings of sessions in which whole seconds decide need a machine that does nothing else; `corpus transcript` plays them.
const QUIET: &str = "cargo run --example corpus -- transcript ../shared/transcripts/s*";

#[test]
fn recorded_layouts_of_slots_are_reproduced() {
    println!("not run here, since whole seconds decide in them: sessions of fetch-work and policy ({QUIET})");
    reproduce(&SLOTS, 16);
}

#[test]
fn recorded_runs_of_the_starter_by_hand_are_reproduced() {
    // Signals are sent at times, so that not too many run at once.
    reproduce(&STARTER_ALONE, 3);
}

#[test]
fn recorded_lives_of_routed_jobs_are_reproduced() {
    reproduce(&["r"], 4);
}

/// Replays the recordings whose names begin so, as far as there are any here.
fn reproduce(prefixes: &[&str], parallel: usize) {
    let slot = env!("CARGO_BIN_EXE_htc-slot-run");
    let Some(directories) = recordings(prefixes) else {
        println!("not run: no recordings in {} (HTC_SHARED names another place)", shared().display());
        return;
    };
    let programs = Path::new(slot).parent().map_or_else(PathBuf::new, Path::to_owned);
    let options = Options { programs, parallel, keep: false, counts_attempts: false, only: None, case: None };
    let outcomes = replay(&directories, &options);
    let good = report(&outcomes);
    if outcomes.iter().all(|outcome| outcome.standing() == Standing::NotHere) {
        println!("not run: {}", outcomes[0].not_here.as_deref().unwrap_or_default());
        return;
    }
    assert!(good, "differences from the recordings, or some could not be played, see above");
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

/// Where the recordings are.
fn shared() -> PathBuf {
    let shared = std::env::var_os("HTC_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    shared.join("transcripts")
}

/// The scenario directories whose names begin so.
fn recordings(prefixes: &[&str]) -> Option<Vec<PathBuf>> {
    let entries = std::fs::read_dir(shared()).ok()?;
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
