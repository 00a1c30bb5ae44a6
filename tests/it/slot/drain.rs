//! Tests of drains of a running execution point: their conditions, the requester, and the actions on completion.

use std::process::{Child, Output};

use crate::support::point::Point;

/// Starts an execution point that waits for work, with an open control socket.
fn waiting(point: Point) -> (Point, Child) {
    let control = point.path("control").display().to_string();
    let point = point.parameter("FetchWorkDelay = 300").arguments(["--control", &control]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "verdict"), ("verdict", "no work")]);
    (point, child)
}

/// Checks that a request is refused because of the state.
fn refused(output: &Output, expected: &str) {
    refused_with(1, output, expected);
}

fn refused_with(status: i32, output: &Output, expected: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    assert!(stderr.contains(expected), "{expected}: {stderr}");
}

fn stdout_of(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The messages are those of 25.14. However, 25.14 ignores an expression that does not parse, and drains the slots.
#[test]
fn a_drain_is_refused_if_its_check_is_false_or_invalid() {
    let (point, child) =
        waiting(Point::new().parameter("NUM_SLOTS_TYPE_1 = 2").parameter("SLOT_TYPE_1 = 50%"));
    refused(&point.ask(["drain", "--check", "SlotID < 2"]), "draining check expression is false on slot2@");
    refused(&point.ask(["drain", "--check", "NoSuch"]), "does not evaluate to a bool on slot1@");
    refused_with(
        2,
        &point.ask(["drain", "--check", "SlotID <"]),
        "the check is not a valid expression, so nothing is drained",
    );
    refused_with(
        2,
        &point.ask(["drain", "--start", "TARGET."]),
        "START is not a valid expression, so nothing is drained",
    );
    assert!(!stdout_of(&point.ask(["status"])).contains("drain"));
    assert_eq!(stdout_of(&point.ask(["drain", "-check", "SlotID < 9", "-reason", "a new kernel"])), "1\n");
    refused(&point.ask(["drain"]), "draining already in progress (10001)");
    let status = stdout_of(&point.ask(["status"]));
    let first = status.lines().next().unwrap();
    assert!(first.starts_with("graceful drain, request 1, started "), "{first}");
    assert!(first.contains("all jobs have left; reason: a new kernel; 2 of 2 slots drained"), "{first}");
    let rows: serde_json::Value = serde_json::from_str(&stdout_of(&point.ask(["status", "--json"]))).unwrap();
    assert_eq!(rows[1]["drain"]["reason"], "a new kernel");
    refused(&point.ask(["undrain", "--request-id", "99"]), "no matching draining request id 99 (10002)");
    assert!(point.ask(["undrain", "--request-id", "1"]).status.success());
    refused(&point.ask(["undrain"]), "undrain refused: the execution point is not draining");
    assert!(point.ask(["off"]).status.success());
    assert_eq!(point.end(child).status, Some(0));
}

#[test]
fn a_completed_drain_exits_restarts_or_reconfigures() {
    let (point, mut child) = waiting(Point::new());
    assert!(point.ask(["drain", "--reconfig-on-completion"]).status.success());
    point.wait_for(&mut child, &[("event", "note"), ("reason", "the configuration was reread")]);
    point.wait_for(&mut child, &[("event", "state"), ("reason", "no longer draining")]);
    assert!(point.ask(["drain", "--restart-on-completion"]).status.success());
    point.wait_for(
        &mut child,
        &[("event", "stop"), ("reason", "all slots are drained: the execution point restarts")],
    );
    let starts = || point.events().iter().filter(|event| event["event"] == "start").count();
    let begun = std::time::Instant::now();
    while starts() < 2 || !point.ask(["status"]).status.success() {
        assert!(begun.elapsed() < crate::support::children::LONG, "{:?}", point.events());
    }
    assert_eq!(stdout_of(&point.ask(["drain", "--exit-on-completion"])), "1\n");
    let run = point.end(child);
    assert_eq!(run.status, Some(99), "{}", run.stderr);
    assert_eq!(run.count(&[("event", "stop"), ("reason", "all slots are drained;")]), 1, "{}", run.stderr);
}

/// In 25.14, a START for draining applies only to partitionable slots (quirk `drain-start-useless`).
#[test]
fn a_drain_accepts_jobs_of_its_start_while_an_earlier_job_runs() {
    let job = |id: &str, more: &str| {
        format!("ClusterId = {id}\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n{more}\n")
    };
    let starter = "#!/bin/sh\ncat > \"$HOME/job.$$\"\n\
                   if grep -q 'ClusterId = 1$' \"$HOME/job.$$\"; then while [ ! -e \"$HOME/go\" ]; do sleep 0.02; done; fi\n\
                   cat \"$HOME/job.$$\"\necho 'ExitBySignal = false'\necho 'ExitCode = 0'\n";
    // The first job must go to the first slot, even if the other slot is faster.
    let fetch = "#!/bin/sh\nad=$(cat)\nfor file in \"$HOME\"/queue/*; do\n  [ -e \"$file\" ] || exit 0\n\
                 case $ad in *'SlotID = 2'*) [ \"${file##*/}\" = 1 ] && exit 0;; esac\n\
                 mv \"$file\" \"$HOME/taken/\" && exec cat \"$HOME/taken/${file##*/}\"\ndone\n";
    let point = Point::new()
        .hook("fetch", fetch)
        .parameter("NUM_SLOTS_TYPE_1 = 2")
        .parameter("SLOT_TYPE_1 = 50%")
        .parameter("MaxJobRetirementTime = 100000")
        // The second slot would also fetch the jobs, and refuse them.
        .parameter("FetchWorkDelay = SlotID == 1 ? 300 : 0")
        .hook("starter", starter)
        .job("1", &job("1", ""));
    let control = point.path("control").display().to_string();
    let mut point = point.arguments(["--control", &control]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "state"), ("activity", "Busy")]);
    assert_eq!(stdout_of(&point.ask(["drain", "--start", "TARGET.Short"])), "1\n");
    point.wait_for(&mut child, &[("event", "state"), ("state", "Drained")]);
    point = point.job("2", &job("2", "")).job("3", &job("3", "Short = true"));
    point.wait_for(&mut child, &[("event", "verdict"), ("job", "2.0"), ("verdict", "rejected")]);
    point.wait_for(&mut child, &[("event", "job"), ("job", "3.0"), ("verdict", "succeeded")]);
    std::fs::write(point.path("go"), "").unwrap();
    point.wait_for(&mut child, &[("event", "job"), ("job", "1.0"), ("verdict", "succeeded")]);
    point.wait_for(&mut child, &[("state", "Drained"), ("activity", "Idle")]);
    assert!(point.ask(["off"]).status.success());
    assert_eq!(point.end(child).status, Some(0));
}

#[test]
fn status_shows_job_owner_and_fetches_and_watch_runs_to_the_end() {
    let (point, child) = waiting(Point::new());
    let status = stdout_of(&point.ask(["status"]));
    for word in ["OWNER", "FETCH IN", "HOOKS", "LAST FETCH", "no work"] {
        assert!(status.contains(word), "{word}: {status}");
    }
    let rows: serde_json::Value = serde_json::from_str(&stdout_of(&point.ask(["status", "--json"]))).unwrap();
    assert!(rows[0]["fetch_in"].as_u64().is_some_and(|seconds| (1..=300).contains(&seconds)), "{rows}");
    assert_eq!(rows[0]["verdict"], "no work");
    let control = point.path("control");
    let watch = std::process::Command::new(env!("CARGO_BIN_EXE_htc-slot-run"))
        .args(["status", "--jsonl", "--watch=0.1", "--control"])
        .arg(&control)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut watch = watch;
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(watch.stdout.take().unwrap()));
    for _ in 0..3 {
        assert!(lines.next().unwrap().unwrap().contains("\"slot\":\"slot1\""));
    }
    assert!(point.ask(["off"]).status.success());
    assert_eq!(point.end(child).status, Some(0));
    lines.for_each(drop);
    assert!(watch.wait().unwrap().success());
}
