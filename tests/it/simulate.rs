//! Scenarios of `tests/data/slot`: policies on a clock moved by hand, compared line by line.

use std::path::Path;
use std::process::Command;

#[test]
fn every_scenario_takes_the_recorded_course() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/slot");
    let mut scenarios = 0;
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        scenarios += 1;
        let output = Command::new(env!("CARGO_BIN_EXE_htc-slot-run"))
            .args(["simulate", "--no-env", "--config-file"])
            .args([&directory.join("plain.conf"), &path])
            .env_clear()
            .output()
            .unwrap();
        assert!(output.status.success(), "{}: {output:?}", path.display());
        // Warnings name what differs from a real pool; their words may change.
        let text = String::from_utf8(output.stdout).unwrap();
        let ours: Vec<&str> = text.lines().filter(|line| !line.contains(" warning")).collect();
        let wanted = std::fs::read_to_string(path.with_extension("out")).unwrap();
        let wanted: Vec<&str> = wanted.lines().collect();
        assert_eq!(ours, wanted, "{}", path.display());
    }
    assert!(scenarios >= 4);
}

#[test]
fn a_scenario_that_means_nothing_is_told_with_its_place() {
    let home = tempfile::tempdir().unwrap();
    for (text, said) in [
        ("until = 10\n[[event]]\nat = 1\ncommand = \"dance\"\n", "no command 'dance'"),
        ("until = \"soon\"\n", "1:9"),
        ("[[job]]\n", "missing field"),
    ] {
        let path = home.path().join("scenario.toml");
        std::fs::write(&path, text).unwrap();
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/slot/plain.conf");
        let output = Command::new(env!("CARGO_BIN_EXE_htc-slot-run"))
            .args(["simulate", "--no-env", "--config-file"])
            .args([&config, &path])
            .env_clear()
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains(said), "'{said}' is not in\n{stderr}");
    }
}
