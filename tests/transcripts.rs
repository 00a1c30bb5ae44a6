//! The recorded sessions of the real daemons, replayed against our programs.

#[path = "harness/mod.rs"]
mod harness;

use std::path::{Path, PathBuf};

use harness::transcript::{Options, replay, report};

/// Recordings of whole fetch-work sessions and of the starter alone.
const FETCH_AND_EXECUTE: [&str; 12] =
    ["s01", "s02", "s03", "s04", "s05", "s06", "s13", "s14", "s15", "s17", "s22", "s32"];

#[test]
fn recorded_fetch_work_sessions_are_reproduced() {
    let (Some(slot), Some(_)) =
        (option_env!("CARGO_BIN_EXE_htc-slot-run"), option_env!("CARGO_BIN_EXE_htc-starter-run"))
    else {
        println!("skipped: the runners are not built");
        return;
    };
    let Some(directories) = recordings(&FETCH_AND_EXECUTE) else {
        println!("skipped: no recordings (set HTC_SHARED to the directory that holds transcripts/)");
        return;
    };
    let programs = Path::new(slot).parent().unwrap().to_owned();
    let outcomes = replay(&directories, &Options { programs, parallel: 16, keep: false, only: None });
    assert!(report(&outcomes), "differences from the recordings, see above");
}

#[test]
fn recorded_lives_of_routed_jobs_are_reproduced() {
    let Some(mut directories) = recordings(&["r"]) else {
        println!("skipped: no recordings (set HTC_SHARED to the directory that holds transcripts/)");
        return;
    };
    directories.retain(|directory| directory.join("JobRouterLog.extract").exists());
    let options = Options { programs: PathBuf::new(), parallel: 4, keep: false, only: None };
    assert!(report(&replay(&directories, &options)), "differences from the recordings, see above");
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
