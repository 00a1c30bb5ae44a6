//! Tests of suites of `htc-hook-test` with cron jobs: failures are results, results are written, current results are accepted.

use crate::hook_test::calls::status_and_output;
use crate::support::children::write_executable;

const SUITE: &str = "[defaults]\nhook = \"job\"\n\
    [[case]]\nname = \"slot\"\ntype = \"startd-cron\"\nprefix = \"P_\"\nexpect = { result = [\"P_A == 1\"] }\n\
    [[case]]\nname = \"wrong\"\ntype = \"schedd-cron\"\nexpect = { verdict = \"not-started\", exit = 1 }\n\
    [[case]]\nname = \"hook\"\ntype = \"prepare\"\n\
    [[case]]\nname = \"attribute\"\ntype = \"schedd-cron\"\nexpect = { result = [\"A == 2\"] }\n";

#[test]
fn cron_cases_are_judged_reported_and_updated() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("job"), b"#!/bin/sh\necho 'A = 1'\n");
    std::fs::write(home.path().join("s.toml"), SUITE).unwrap();
    let Some((status, out, err)) =
        status_and_output(home.path(), &["run", "s.toml", "--tap", "--junit", "j.xml"])
    else {
        return;
    };
    assert_eq!(status, 1, "{out}{err}");
    let results: Vec<&str> = out.lines().filter(|line| line.contains("ok ")).collect();
    assert_eq!(
        results,
        ["ok 1 - s: slot", "not ok 2 - s: wrong", "ok 3 - s: hook", "not ok 4 - s: attribute"]
    );
    assert!(out.contains("#   - not-started\n#   + published (JOB: merged"), "{out}");
    assert!(out.contains("#   - exited 1\n#   + exited 0"), "{out}");
    let junit = std::fs::read_to_string(home.path().join("j.xml")).unwrap();
    assert!(junit.contains("tests=\"4\" failures=\"2\"") && junit.contains("name=\"wrong\""), "{junit}");
    let (_, out, _) =
        status_and_output(home.path(), &["run", "s.toml", "--json", "--filter", "slot"]).unwrap();
    let line: serde_json::Value = serde_json::from_str(out.trim()).unwrap();
    let line = &line[0];
    assert_eq!((&line["verdict"], &line["ok"]), (&"published".into(), &true.into()), "{out}");
    let (_, out, _) = status_and_output(home.path(), &["run", "s.toml", "--list"]).unwrap();
    assert_eq!(out, "s: slot\ns: wrong\ns: hook\ns: attribute\n");

    let (_, _, err) = status_and_output(home.path(), &["run", "s.toml", "--update"]).unwrap();
    assert!(err.contains("not updated, edit by hand: s: attribute: the expected result"), "{err}");
    let new = std::fs::read_to_string(home.path().join("s.toml")).unwrap();
    assert!(new.contains("expect = { verdict = \"published\", exit = 0 }"), "{new}");
    let (_, out, _) =
        status_and_output(home.path(), &["run", "s.toml", "--tap", "--filter", "wrong"]).unwrap();
    assert!(out.contains("ok 1 - s: wrong") && !out.contains("not ok"), "{out}");
}

#[test]
fn an_invalid_cron_case_fails_with_the_reason() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("job"), b"#!/bin/sh\necho 'A = 1'\n");
    for (kind, line, expected) in [
        ("startd-cron", "mode = \"Often\"", "mode = 'Often': expected Periodic"),
        ("startd-cron", "runs = 0", "runs = 0: expected a number above 0"),
        ("startd-cron", "metrics = \"MEAN:X\"", "'MEAN:X' is ignored; write SUM:"),
        (
            "startd-cron",
            "expect = { stdout = \"A = 1\" }",
            "'stdout' is not for cron jobs, whose output is read in blocks",
        ),
        ("startd-cron", "sample_slot = \"odd\"", "no sample slot 'odd'"),
        ("schedd-cron", "slots = [1]", "a schedd has no slots"),
        ("prepare", "prefix = \"A\"", "prefix is for startd-cron and schedd-cron"),
        ("update", "runs = 2", "runs is for startd-cron and schedd-cron"),
    ] {
        let text = format!("[[case]]\ntype = \"{kind}\"\nhook = \"job\"\n{line}\n");
        std::fs::write(home.path().join("s.toml"), text).unwrap();
        let Some((status, _, err)) = status_and_output(home.path(), &["run", "s.toml"]) else { return };
        assert!(status == 1 && err.contains(expected), "{line}: {err}");
    }
}

#[test]
fn the_first_suite_of_a_good_cron_job_passes() {
    let home = tempfile::tempdir().unwrap();
    for (name, kind) in [("gpu-cron", "startd-cron"), ("schedd-cron.sh", "schedd-cron")] {
        write_executable(&home.path().join(name), b"#!/bin/sh\necho 'A = 1'\n");
        let Some((_, suite, _)) = status_and_output(home.path(), &["init", name]) else { return };
        assert!(suite.contains(&format!("type = \"{kind}\"")), "{suite}");
        std::fs::write(home.path().join("s.toml"), suite).unwrap();
        let (status, out, err) = status_and_output(home.path(), &["run", "s.toml", "--tap"]).unwrap();
        assert_eq!(status, 0, "{name}: {out}{err}");
        assert!(out.lines().count() > 6, "{out}");
    }
}
