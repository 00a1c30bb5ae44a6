//! Tests of `htc-router-translate compare` for rule sets: commands that it runs, files that it reads, and differences.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::router::transform_verb::{ADS, call, place};

/// Compares the files `rules` and `other`.
fn compare(place: &Path, more: &[&str]) -> (i32, String, String) {
    let words = [&["compare", "rules", "other", "--ads", "ads", "--generate", "50"], more].concat();
    call("htc-router-translate", &words, place, "")
}

fn with_other(rules: &str, other: &str) -> tempfile::TempDir {
    let place = place(rules, ADS);
    fs::write(place.path().join("other"), other).unwrap();
    place
}

#[test]
fn commands_are_run_only_when_asked_to_and_once() {
    for rules in [
        "SET Y 1\ninclude command : ./script\n",
        "SET Y 1\nif defined MY.A\n include : ./script |\nendif\n",
        "SET Y 1\ninclude ifexist command : ./script\n",
        "SET Y \"$(Item)\"\nTRANSFORM from ./script |\n",
    ] {
        let place = with_other(rules, "SET Y 1\n");
        let place = place.path();
        let script = place.join("script");
        fs::write(&script, "#!/bin/sh\necho ran >> ran\necho 'SET X 1'\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let (status, out, stderr) = compare(place, &[]);
        assert_eq!((status, out.as_str()), (3, ""), "{rules}{stderr}");
        assert!(stderr.contains("rules run commands only with --exec"), "{rules}{stderr}");
        assert!(!place.join("ran").exists(), "{rules}");
        let (status, out, stderr) = compare(place, &["--exec"]);
        assert_eq!(status, 1, "{rules}{out}{stderr}");
        assert_eq!(fs::read_to_string(place.join("ran")).unwrap(), "ran\n", "{rules}");
    }
}

#[test]
fn rules_that_iterate_are_compared_turn_by_turn() {
    let place = with_other("SET X $(Step)\nTRANSFORM 3\n", "SET X $(Step) + 0\nTRANSFORM 3\n");
    let (status, out, stderr) = compare(place.path(), &[]);
    assert_eq!(status, 1, "{stderr}");
    assert!(out.contains("turn 2:\n") && out.contains("X = 2") && out.contains("X = 2 + 0"), "{out}");
    fs::write(place.path().join("other"), "N = $(Step)\nSET X $(N)\nTRANSFORM 3\n").unwrap();
    let (status, out, stderr) = compare(place.path(), &[]);
    assert_eq!(status, 0, "{out}{stderr}");
    assert!(
        out.starts_with("no difference found in ") && out.ends_with(" ads; no condition depends on them\n"),
        "{out}"
    );
    fs::write(place.path().join("other"), "SET X $(Step)\nTRANSFORM 4\n").unwrap();
    let (status, out, stderr) = compare(place.path(), &[]);
    assert_eq!(status, 1, "{stderr}");
    assert!(out.contains("the first makes 3 from each ad, the second 4"), "{out}");
    let (_, json, _) = compare(place.path(), &["--json"]);
    let record: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(record[0]["left"]["ads"].as_array().unwrap().len(), 3, "{json}");
}

#[test]
fn included_rules_are_compared_as_they_are() {
    let place = with_other("include : a\n", "include : b\n");
    fs::write(place.path().join("a"), "SET X A + 1\n").unwrap();
    fs::write(place.path().join("b"), "SET X A + 1\n").unwrap();
    assert_eq!(compare(place.path(), &[]).0, 0);
    fs::write(place.path().join("b"), "SET X A + 2\n").unwrap();
    let (status, out, stderr) = compare(place.path(), &[]);
    assert_eq!(status, 1, "{stderr}");
    assert!(out.contains("A + 2"), "{out}");
}
