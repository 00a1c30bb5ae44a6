//! The control socket of `htc-slot-run`, and what its verbs say of slots that are not there.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Output};
use std::time::Instant;

use super::point::Point;
use super::sandbox::LONG;

/// A point that waits for work, with its socket open.
fn waiting(point: Point) -> (Point, Child) {
    let control = point.path("control").display().to_string();
    let point = point.arguments(["--control", &control]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "verdict"), ("verdict", "no work")]);
    (point, child)
}

fn descriptors(child: &Child) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().count()
}

/// Processor time in ticks of 10 ms.
fn busy(child: &Child) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap().split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn says(output: &Output, status: i32, wanted: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    assert!(stderr.contains(wanted), "{wanted}: {stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

fn connect(path: &Path, count: usize) -> Vec<UnixStream> {
    (0..count).map(|_| UnixStream::connect(path).unwrap()).collect()
}

/// Seen on 8b17ada: the 17th client was watched and dropped, and the runner looked at it for ever.
#[test]
fn many_clients_at_once_leak_nothing_and_keep_nobody_busy() {
    let (point, child) = waiting(Point::new().knob("FetchWorkDelay = 300"));
    let path = point.path("control");
    let before = descriptors(&child);
    for _ in 0..3 {
        drop(connect(&path, 40));
        assert!(point.ask(["status"]).status.success());
    }
    assert!(descriptors(&child) <= before + 1, "{before} and then {}", descriptors(&child));
    // Silent clients hold a place for a few seconds only; whoever comes behind them is answered all the same.
    let silent = connect(&path, 40);
    let (begun, used) = (Instant::now(), busy(&child));
    assert!(point.ask(["status"]).status.success());
    assert!(begun.elapsed() < LONG);
    assert!(busy(&child) - used < 200, "it was busy for {} ticks", busy(&child) - used);
    drop(silent);
    assert!(point.ask(["off"]).status.success());
    let run = point.end(child);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
}

#[test]
fn a_slot_that_is_not_there_is_an_error_in_every_verb() {
    let (point, child) = waiting(Point::new().knob("FetchWorkDelay = 300"));
    for verb in ["status", "vacate", "suspend", "continue"] {
        says(&point.ask([verb, "slto1"]), 2, "there is no slot 'slto1'; did you mean slot1?");
    }
    says(&point.ask(["status", "drain"]), 2, "drain is a verb, which comes first");
    let status = point.ask(["status", "SLOT1", "--json"]);
    let rows: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!((rows[0]["slot"].as_str(), rows.as_array().unwrap().len()), (Some("slot1"), 1));
    let lines = String::from_utf8(point.ask(["status", "--jsonl"]).stdout).unwrap();
    assert!(lines.starts_with("{\"slot\":\"slot1\"") && lines.ends_with("}\n"), "{lines}");
    assert!(point.ask(["off"]).status.success());
    assert_eq!(point.end(child).status, Some(0));
}

/// The verbs of an execution point that runs are found, also by the words of the condor tools.
#[test]
fn every_verb_stands_in_the_help_and_those_of_other_tools_have_a_hint() {
    let told = |words: &[&str]| {
        let output =
            std::process::Command::new(env!("CARGO_BIN_EXE_htc-slot-run")).args(words).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let verbs = ["status", "vacate", "suspend", "continue", "drain", "undrain", "reconfig", "off"];
    let (_, help) = told(&["--help"]);
    let (_, all) = told(&["--help-all"]);
    for verb in verbs {
        assert!(help.contains(verb), "{verb}: {help}");
        assert!(all.lines().any(|line| line.trim_start().starts_with(&format!("{verb} "))), "{verb}: {all}");
    }
    for (word, own) in
        [("cancel-drain", "undrain"), ("evict", "vacate"), ("restart", "reconfig"), ("stop", "off")]
    {
        let (status, said) = told(&[word, "--control", "x"]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(&format!("hint: here it is '{own}'")), "{said}");
    }
}

/// A job of higher rank that waits for the retirement of the present one has no starter yet. Seen on 8b17ada: nobody said that it
/// was lost.
#[test]
fn a_job_that_waits_for_its_slot_when_the_runner_is_killed_is_told_by_the_next() {
    let job = |id: u32| {
        format!("ClusterId = {id}\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\nPrio = {id}\n")
    };
    let mut point = Point::new()
        .job("1", &job(1))
        .hook("starter", "#!/bin/sh\ncat > /dev/null\nexec sleep 1000\n")
        .knob("RANK = Prio")
        .knob("MaxJobRetirementTime = 100000")
        .arguments([]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "state"), ("activity", "Busy")]);
    point = point.job("2", &job(2));
    point.wait_for(&mut child, &[("event", "verdict"), ("job", "2.0"), ("verdict", "accepted")]);
    point.wait_for(&mut child, &[("event", "state"), ("activity", "Retiring")]);
    child.kill().unwrap();
    child.wait().unwrap();
    let point = point.arguments(["--once"]);
    let run = point.run();
    let wanted = "a run that was killed had accepted job 2.0 for slot1, which waited for it: it is lost";
    assert!(run.stderr.contains(wanted), "{}", run.stderr);
    assert!(run.stderr.contains("had accepted job 1.0 in slot1: its starter did not"), "{}", run.stderr);
}
