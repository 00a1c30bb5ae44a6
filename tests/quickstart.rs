//! The quickstart of the README: its table is what a first user sees.

#![allow(clippy::print_stdout, reason = "a skipped test says why")]

use std::path::Path;
use std::process::Command;

/// The words of the table that do not change: which slot took a job, and so its keyword, does.
const TABLE: [&str; 4] = [
    "1-succeeds    done      exited with status 0",
    "2-exits-3     failed    exited with status 3",
    "3-dies        failed    died by signal 15",
    "4-too-big     failed    refused by START: RequestMemory = 65536",
];

#[test]
fn the_quickstart_fetches_four_jobs_and_tells_what_became_of_them() {
    let (Some(slot), Some(_)) =
        (option_env!("CARGO_BIN_EXE_htc-slot-run"), option_env!("CARGO_BIN_EXE_htc-starter-run"))
    else {
        println!("skipped: the runners are not built");
        return;
    };
    let programs = Path::new(slot).parent().unwrap();
    let place = tempfile::tempdir().unwrap();
    // Root runs the jobs as nobody, who has to get into the directory.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(), open).unwrap();
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart/run"))
        .env("HTC_PROGRAMS", programs)
        .env("TMPDIR", place.path())
        .output()
        .unwrap();
    let (table, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{table}{said}", output.status);
    for line in TABLE {
        assert!(table.lines().any(|printed| printed.starts_with(line)), "no {line:?} in\n{table}{said}");
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "the copy is left behind");
}
