//! Tests of damaged queue logs, event logs, rules files and ads of any kind: each ends with status 3, whatever is answered from the
//! rest, and at the first error with `--strict-input`.

use std::path::Path;
use std::process::Command;

const EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");
const STATUS: &str = env!("CARGO_BIN_EXE_htc-router-status");
const TRANSLATE: &str = env!("CARGO_BIN_EXE_htc-router-translate");
const STARTER: &str = env!("CARGO_BIN_EXE_htc-starter-run");
const DUMP: &str = env!("CARGO_BIN_EXE_htc-config-dump");

const QUEUE_LOG: &str = "107 1 CreationTimestamp 1700000000\n101 001.0 Job Machine\n103 001.0 ClusterId 1\n103 001.0 ProcId 0\n\
    103 001.0 JobStatus 1\n103 001.0 RequestMemory (1\ngarbage\n103 001.0 Owner \"ann\"\n";
const JOB: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nJobUniverse = 5\nCmd = \"/bin/true\"\nIwd = \"/tmp\"\n";
const SUBMIT: &str = "000 (001.000.000) 2026-11-30 08:00:00 Job submitted from host: <192.0.2.1:9>\n";
const ROUTER: &str =
    "JOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=end\n  REQUIREMENTS true\n  UNIVERSE vanilla\n@end\n";

struct ProgramResult {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(place: &Path, program: &str, words: &[&str]) -> ProgramResult {
    let output = Command::new(program)
        .args(words)
        .current_dir(place)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    ProgramResult {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn place_with(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(place.path().join(name), text).unwrap();
    }
    place
}

#[test]
fn a_damaged_queue_log_is_an_error_for_every_reader() {
    let place = place_with(&[
        ("queue.log", QUEUE_LOG.as_bytes()),
        ("one.ad", JOB.as_bytes()),
        ("router.config", ROUTER.as_bytes()),
    ]);
    let readers: [(&str, &[&str]); 4] = [
        (EVAL, &["--ads", "queue.log", "--count"]),
        (STATUS, &["queue.log"]),
        (TRANSLATE, &["match", "--config-file", "router.config", "queue.log"]),
        (TRANSLATE, &["match", "--config-file", "router.config", "--queue-log", "queue.log", "one.ad"]),
    ];
    for (program, words) in readers {
        let ended = run(place.path(), program, words);
        assert_eq!(ended.status, Some(3), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("queue.log:6:1: value of 1.0"), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("queue.log:7:1: "), "{words:?}: {}", ended.stderr);
        assert!(!ended.stdout.is_empty(), "{words:?}: nothing is answered from the rest");
        let strict = run(place.path(), program, &[words, &["--strict-input"]].concat());
        assert_eq!((strict.status, strict.stdout.as_str()), (Some(3), ""), "{words:?}: {}", strict.stderr);
        assert!(!strict.stderr.contains("queue.log:7"), "{words:?}: {}", strict.stderr);
    }
}

#[test]
fn a_damaged_event_log_and_job_ads_are_errors() {
    let place = place_with(&[
        ("events", format!("{SUBMIT}...\n999 bad\n...\n{SUBMIT}...\n").as_bytes()),
        ("cut", SUBMIT.as_bytes()),
        ("jobs.json", br#"[{"ClusterId": 1, "Cmd": "/bin/true"}]"#),
        ("jobs.xml", b"<classads><c><a n=\"ClusterId\"><i>1</i></a></c></classads>"),
        ("mixed.json", br#"[{"EventTypeNumber": 0, "MyType": "SubmitEvent"}, {"ClusterId": 1}]"#),
    ]);
    let read = |words: &[&str]| run(place.path(), STARTER, &[&["--jsonl"], words].concat());
    let damaged = read(&["--events-of", "events"]);
    assert!(damaged.status == Some(3) && damaged.stdout.lines().count() == 2, "{}", damaged.stderr);
    assert!(damaged.stderr.contains("events:3:1: an event begins with"), "{}", damaged.stderr);
    let strict = read(&["--strict-input", "--events-of", "events"]);
    assert!(strict.status == Some(3) && strict.stdout.lines().count() == 1, "{}", strict.stderr);
    let cut = read(&["--events-of", "cut"]);
    assert!(cut.status == Some(3) && cut.stderr.contains("cut:1:1: "), "{}", cut.stderr);
    for jobs in ["jobs.json", "jobs.xml"] {
        let refused = read(&["--events-of", jobs]);
        assert_eq!((refused.status, refused.stdout.as_str()), (Some(3), ""), "{jobs}: {}", refused.stderr);
        assert!(refused.stderr.contains("has no EventTypeNumber"), "{jobs}: {}", refused.stderr);
    }
    let mixed = read(&["--events-of", "mixed.json"]);
    assert!(mixed.status == Some(3) && mixed.stdout.lines().count() == 1, "{}", mixed.stderr);
    assert!(mixed.stderr.contains("ad 2 is not an event"), "{}", mixed.stderr);
}

#[test]
fn nul_bytes_in_rules_are_refused() {
    let place = place_with(&[("nuls", &[0; 3000]), ("rules", b"SET A 1\nSET B 2\0\n"), ("one.ad", JOB.as_bytes())]);
    for (file, words) in [
        ("nuls", &["lint", "--rules", "nuls"][..]),
        ("nuls", &["transform", "--rules", "nuls", "one.ad"]),
        ("nuls", &["compare", "nuls", "nuls"]),
        ("rules", &["transform", "--rules", "rules", "one.ad"]),
    ] {
        let ended = run(place.path(), TRANSLATE, words);
        assert_eq!((ended.status, ended.stdout.as_str()), (Some(3), ""), "{words:?}: {}", ended.stderr);
        let line = if file == "nuls" { 1 } else { 2 };
        assert!(ended.stderr.contains(&format!("{file}:{line}: a NUL byte")), "{words:?}: {}", ended.stderr);
    }
}

#[test]
fn bad_lines_of_an_operand_decide_the_status() {
    let place = place_with(&[("bad.ad", b"A = (1\nB = true\n"), ("router.config", ROUTER.as_bytes())]);
    let bad = run(place.path(), EVAL, &["-e", "--my-file", "bad.ad", "B"]);
    assert!(bad.status == Some(3) && bad.stderr.contains("bad.ad:1:"), "{}", bad.stderr);
    let bad = run(place.path(), EVAL, &["--target-file", "bad.ad", "TARGET.B"]);
    assert!(bad.status == Some(3) && bad.stdout == "true\n", "{}", bad.stderr);
    let refused = run(place.path(), EVAL, &["--my-file", "router.config", "A"]);
    assert_eq!((refused.status, refused.stdout.as_str()), (Some(3), ""), "{}", refused.stderr);
}

#[test]
fn lint_checks_each_ad_of_a_file_and_refuses_other_files() {
    let second = JOB.replace("ClusterId = 1", "ClusterId = 2").replace("Iwd = \"/tmp\"\n", "");
    let place = place_with(&[
        ("jobs.ads", format!("{JOB}\n{second}").as_bytes()),
        ("router.config", ROUTER.as_bytes()),
    ]);
    let ended = run(place.path(), DUMP, &["lint", "--ads", "jobs.ads"]);
    assert!(!ended.stdout.contains("was given in line"), "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("Iwd is missing").count(), 1, "{}", ended.stdout);
    assert!(ended.stdout.contains("jobs.ads:8:"), "{}", ended.stdout);
    let refused = run(place.path(), DUMP, &["lint", "--ads", "router.config"]);
    assert!(refused.status == Some(3) && refused.stderr.contains("is not a file of ads"), "{}", refused.stderr);
}
