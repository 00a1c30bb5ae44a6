//! `examples/pool`: the quickstart next to a real execution point. None is installed where these tests run,
//! so its messages are tested, and its comparison with a fake `condor_master`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

fn run(path: &Path) -> (bool, String, String) {
    let programs = Path::new(env!("CARGO_BIN_EXE_htc-slot-run")).parent().unwrap();
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pool/run"))
        .env("HTC_PROGRAMS", programs)
        .env("PATH", format!("{}:{}", path.display(), std::env::var("PATH").unwrap_or_default()))
        .env("TMPDIR", path)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

/// Returns a directory for programs that precede all others on PATH; root's jobs run as nobody, who needs
/// access to it.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    place
}

#[test]
fn the_comparison_without_a_pool_lists_its_steps() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|place| place.join("condor_master").exists()) {
        println!("skipped: HTCondor is installed here");
        return;
    }
    let place = place();
    let (good, output, _) = run(place.path());
    assert!(good && output.contains("condor_master -f") && output.contains("compare"), "{output}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "the copies are left behind");
}

/// Log of a startd 25.14 about a slot that ran one job; its steps are the same as ours.
const START_LOG: &str = "\
11/23/26 17:40:39 slot1: Changing state: Owner -> Unclaimed
11/23/26 17:40:41 slot1: Changing activity: Idle -> Benchmarking
11/23/26 17:40:41 slot1: Changing activity: Benchmarking -> Idle
11/23/26 17:40:41 slot1: Changing state: Unclaimed -> Claimed
11/23/26 17:40:41 slot1: Changing activity: Idle -> Busy
11/23/26 17:40:43 slot1: Changing activity: Busy -> Idle
11/23/26 17:40:43 slot1: Changing state and activity: Claimed/Idle -> Preempting/Vacating
11/23/26 17:40:43 slot1: Changing state and activity: Preempting/Vacating -> Owner/Idle
11/23/26 17:40:43 slot1: Changing state: Owner -> Unclaimed
";

#[test]
fn equal_and_different_pools_are_distinguished() {
    let other_states = START_LOG.replace("Idle -> Busy", "Idle -> Suspended");
    let cases = [
        ("", START_LOG, true),
        ("", &other_states, false),
        ("", "", true),
        ("chmod a-x \"${CONDOR_CONFIG%/*}\"/hooks/job_exit; ", START_LOG, false),
    ];
    // In parallel, because they mostly wait.
    std::thread::scope(|scope| {
        for (quirk, start_log, same) in cases {
            scope.spawn(move || compared(quirk, start_log, same));
        }
    });
}

/// Runs the quickstart next to a pool that logs this about its slots, after something else.
fn compared(quirk: &str, start_log: &str, same: bool) {
    let place = place();
    let master = place.path().join("condor_master");
    let told = if start_log.is_empty() {
        String::new()
    } else {
        format!("cat >\"${{CONDOR_CONFIG%/*}}/log/StartLog\" <<'LOG'\n{start_log}LOG\n")
    };
    let text = format!(
        "#!/bin/sh\n{told}{quirk}exec htc-slot-run --quirks reference --config-file \"$CONDOR_CONFIG\" --once --idle-exit 3\n"
    );
    fs::write(&master, text).unwrap();
    fs::set_permissions(&master, fs::Permissions::from_mode(0o755)).unwrap();
    let (good, output, complained) = run(place.path());
    assert_eq!(good, same, "{output}{complained}");
    assert_eq!(output.contains("the pool has the same results"), same, "{output}{complained}");
    assert_eq!(complained.contains("are not compared"), start_log.is_empty(), "{complained}");
}
