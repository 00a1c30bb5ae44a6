//! `examples/slurm`, against the distribution's real Slurm where that is installed.

#![allow(clippy::print_stdout, reason = "a skipped test says why")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;
use std::process::Command;

/// Runs one of the examples with a cluster of its own; `None`, with a word, where something is missing.
fn example(script: &str, words: &[&str]) -> Option<String> {
    let (Some(slot), Some(_)) =
        (option_env!("CARGO_BIN_EXE_htc-slot-run"), option_env!("CARGO_BIN_EXE_htc-router-translate"))
    else {
        println!("skipped: the programs are not built");
        return None;
    };
    for program in ["munged", "slurmctld", "slurmd", "sbatch", "/usr/bin/python3"] {
        let look = format!("PATH=$PATH:/usr/sbin:/sbin command -v {program}");
        if !Command::new("/bin/sh").args(["-c", &look]).output().is_ok_and(|found| found.status.success()) {
            println!("skipped: no {program}");
            return None;
        }
    }
    let place = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(), open).unwrap();
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/slurm").join(script))
        .args(words)
        .env("HTC_PROGRAMS", Path::new(slot).parent().unwrap())
        .env("TMPDIR", place.path())
        .env_remove("SLURM_CONF")
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}{stderr}", output.status);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "something is left behind");
    Some(stdout.into_owned())
}

#[test]
fn routed_jobs_run_in_slurm_and_bring_their_ends_back() {
    let Some(told) = example("router/run", &[]) else { return };
    for (number, status) in [(1, 0), (2, 3), (3, 0)] {
        let line = format!("job {number} exited with status {status}, job ");
        assert!(told.lines().any(|found| found.starts_with(&line)), "no {line:?} in\n{told}");
    }
    assert!(told.contains("hello from Slurm"), "{told}");
}

#[test]
fn a_pilot_in_an_allocation_runs_the_jobs_of_a_queue() {
    let Some(told) = example("pilot/run", &["sqlite", "3"]) else { return };
    assert_eq!(told.matches("exited with status 0").count(), 3, "{told}");
}
