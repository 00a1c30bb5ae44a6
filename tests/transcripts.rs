//! Replays the recorded sessions of real daemons with our programs.

#![allow(
    clippy::print_stdout,
    reason = "a test says why it is skipped, also where a function of its own does it"
)]

#[path = "harness/mod.rs"]
mod harness;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use harness::transcript::exceptions::Exceptions;
use harness::transcript::not_done::List;
use harness::transcript::outcome::{Outcome, total};
use harness::transcript::subject::Subject;
use harness::transcript::{Options, forks, listed_in_vain, processes, replay, report};

/// Recordings whose result does not depend on the clock: layouts of slots and their ads, policies in virtual
/// time, the starter run directly, lives of routed jobs, and jobs sent by a schedd.
const TIMELESS: [&str; 32] = [
    "p", "s23a", "s23b", "s23c", "s30", "s31", "s32", "c01", "c02", "c03", "c04", "c05", "c06", "c07", "c08",
    "c09", "c10", "c13", "c20", "c20b", "c21", "c22", "c23", "c24", "c34", "c36", "c36b", "c37", "c37b",
    "c40", "c41", "r",
];

/// The other recordings depend on whole seconds and need an otherwise idle machine.
const QUIET: &str = "cargo run --example corpus -- transcript --attempts 4 ../shared/transcripts/[cs]*";

/// Maximum percentage of recorded attributes that may be excluded from the comparison.
const EXCUSED_PERCENT: f64 = 2.0;

#[test]
fn recordings_that_do_not_depend_on_timing_are_reproduced() {
    println!(
        "not run here, since whole seconds decide in them: sessions, signals and deferred jobs ({QUIET})"
    );
    let Some(directories) = recordings(&TIMELESS) else {
        println!("not run: no recordings in {} (HTC_SHARED names another place)", shared().display());
        return;
    };
    let directories = spread(directories);
    let mut outcomes = play(&directories);
    for (outcome, directory) in outcomes.iter_mut().zip(&directories) {
        if is_session(directory) && outcome.not_here.is_none() && !outcome.standing().is_good() {
            // Real daemons have timers, which a busy machine delays, so a session that differs is repeated
            // with nothing else running.
            println!("again, alone: {}", directory.display());
            *outcome = replay(std::slice::from_ref(directory), &options(3)).remove(0);
        }
    }
    assert!(report(&outcomes), "differences from the recordings, or some could not be played, see above");
    let excused = total(&outcomes).values.excused_percent();
    assert!(excused < EXCUSED_PERCENT, "{excused:.2} % of the attributes are excused");
    let here = outcomes.iter().zip(&directories).filter(|(outcome, _)| outcome.not_here.is_none());
    let played: Vec<Subject> = here.map(|(_, directory)| Subject::of(directory)).collect();
    let idle = Exceptions::load().expect("the list").idle(&played);
    assert!(idle.is_empty(), "exceptions that nothing needs any more: {idle:#?}");
}

/// Returns true for a session of slots, which is played in real time.
fn is_session(recording: &Path) -> bool {
    recording.file_name().is_some_and(|name| name.as_bytes().starts_with(b"s"))
}

/// Distributes the sessions of slots, which mostly sleep, among the recordings that use the processor, so
/// that they take no extra time.
fn spread(directories: Vec<PathBuf>) -> Vec<PathBuf> {
    let (sleeping, busy): (Vec<PathBuf>, Vec<PathBuf>) =
        directories.into_iter().partition(|path| is_session(path));
    let mut sleeping = sleeping.into_iter();
    let mut all: Vec<PathBuf> =
        busy.into_iter().flat_map(|busy| [Some(busy), sleeping.next()]).flatten().collect();
    all.extend(sleeping);
    all
}

/// Copies a recording into a directory of another name; returns the original.
fn copy(name: &str, to: &Path) -> Option<PathBuf> {
    let from = recordings(&[name])?.into_iter().next()?;
    let done = |program: &str, words: &[&OsStr]| {
        let status = forks::status(Command::new(program).args(words));
        assert!(status.is_ok_and(|status| status.success()), "{program} {}", from.display());
    };
    done("cp", &["-r".as_ref(), from.as_os_str(), to.as_os_str()]);
    // Recordings may be read-only, and the copy is changed and removed.
    done("chmod", &["-R".as_ref(), "u+w".as_ref(), to.as_os_str()]);
    Some(from)
}

fn play(directories: &[PathBuf]) -> Vec<Outcome> {
    replay(directories, &options(1))
}

fn options(attempts: usize) -> Options {
    let programs =
        Path::new(env!("CARGO_BIN_EXE_htc-slot-run")).parent().map_or_else(PathBuf::new, Path::to_owned);
    Options { programs, parallel: 12, keep: false, attempts, only: None, case: None }
}

/// r13 has its own exceptions, and all cases of c24 are listed as not done.
#[test]
fn a_recording_gives_the_same_under_another_name() {
    let place = tempfile::tempdir().expect("a directory");
    for name in ["r13", "c24"] {
        let other = place.path().join(format!("x99-{name}-other"));
        let Some(own) = copy(name, &other) else { return };
        let outcomes = play(&[own, other]);
        let shown = |outcome: &Outcome| {
            format!("{:?} {:?} {:?}", outcome.standing(), outcome.counts, outcome.not_done)
        };
        assert!(outcomes[0].standing().is_good(), "{:?}", outcomes[0].differences);
        assert_eq!(shown(&outcomes[0]), shown(&outcomes[1]));
    }
}

#[test]
fn one_changed_answer_of_a_recording_is_the_one_difference() {
    let place = tempfile::tempdir().expect("a directory");
    let other = place.path().join("flipped");
    let Some(_) = copy("r02", &other) else { return };
    let stdin = other.join("hooks/002-TRANSLATE_JOB/stdin");
    let text = std::fs::read_to_string(&stdin).expect("what the hook read");
    std::fs::write(&stdin, text.replacen("sleep' '4", "sleep' '5", 1)).expect("written");
    let outcomes = play(&[other]);
    let told: Vec<String> = outcomes[0].differences.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("002-TRANSLATE_JOB") && told[0].contains("sleep' '5"), "{told:?}");
}

/// Changes a result of the starter run directly, of slots in virtual time, and of an execution point whose
/// files are not listed.
#[test]
fn one_changed_answer_of_a_case_or_of_a_slot_is_the_one_difference() {
    let place = tempfile::tempdir().expect("a directory");
    let flips = [
        ("c01", "cases/002-v1-empty/exit", "exited 0", "exited 1"),
        ("p34", "events.jsonl", "\"to\": \"Claimed/Retiring\"", "\"to\": \"Claimed/Suspended\""),
    ];
    for (name, file, from, to) in flips {
        let other = place.path().join(name);
        let Some(_) = copy(name, &other) else { return };
        let text = std::fs::read_to_string(other.join(file)).expect(file);
        assert!(text.contains(from), "{name}");
        std::fs::write(other.join(file), text.replacen(from, to, 1)).expect("written");
        let outcomes = play(&[other]);
        if outcomes[0].not_here.is_some() {
            continue;
        }
        let told: Vec<String> = outcomes[0].differences.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{name}: {told:?}");
    }
}

/// Checks that every title in a list is that of a recording, and that every case exists in its recording,
/// even if it is not replayed here.
#[test]
fn listed_recordings_exist() {
    let Some(directories) = recordings(&["s", "c", "p", "r"]) else {
        return println!("not run: no recordings in {}", shared().display());
    };
    let titles: Vec<String> =
        directories.iter().map(|directory| Subject::of(directory).title().to_owned()).collect();
    let not_done = List::load().expect("the list");
    let exceptions = Exceptions::load().expect("the list");
    let listed = not_done.entries().map(|entry| entry.recording.as_str());
    let listed = listed.chain(exceptions.titles());
    let unknown: Vec<&str> = listed.filter(|title| !titles.iter().any(|known| known == title)).collect();
    assert!(unknown.is_empty(), "no recordings of these titles: {unknown:#?}");
    let in_vain = directories.iter().map(|directory| listed_in_vain(directory).expect("a recording"));
    let in_vain: Vec<String> = in_vain.flatten().map(|difference| difference.to_string()).collect();
    assert!(in_vain.is_empty(), "no such cases: {in_vain:#?}");
}

/// A starter that is killed leaves its job, which may be suspended: the replay ends and reports it (c12,
/// `suspend-at-exec`).
#[test]
fn leftover_processes_of_a_replay_are_ended_and_reported() {
    let place = tempfile::tempdir().expect("a directory");
    let script = "kill -STOP $$; exit 7";
    let mut left =
        Command::new("/bin/sh").args(["-c", script]).current_dir(place.path()).spawn().expect("a shell");
    let stat = format!("/proc/{}/stat", left.id());
    let begun = std::time::Instant::now();
    while !std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T ")) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not stop");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(processes::end_leftovers(place.path()), [format!("/bin/sh -c {script}")]);
    assert_eq!(left.wait().expect("its end").signal(), Some(9));
    assert!(processes::end_leftovers(place.path()).is_empty());
}

/// Returns the directory of the recordings.
fn shared() -> PathBuf {
    let shared = std::env::var_os("HTC_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    shared.join("transcripts")
}

/// Returns the recordings whose names begin with one of the prefixes.
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
