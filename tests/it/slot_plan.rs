//! What `htc-slot-run` says of slots without running them: `--dry-run`, `ads`, `explain`; and that `htc-hook-test fetch` says
//! the same of the same configuration.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::children::write_executable;
use super::point::Point;

fn run(point: &Point, words: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = point.command();
    let mut child = command
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Who reads nothing has ended by now.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    read(child.wait_with_output().unwrap())
}

fn read(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn array(text: &str) -> Vec<Value> {
    let Ok(Value::Array(rows)) = serde_json::from_str(text) else { panic!("no array: {text}") };
    rows
}

#[test]
fn a_keyword_without_a_fetch_hook_is_told_of_the_slot_and_of_no_slot_that_is_never_made() {
    let point = Point::new().knob("SLOT1_JOB_HOOK_KEYWORD = NONE").arguments([]);
    let point = point
        .knob("SLOT_TYPE_1 = 100%")
        .knob("NUM_SLOTS_TYPE_1 = 1")
        .knob("SLOT_TYPE_1_PARTITIONABLE = true");
    let (_, _, err) = run(&point, &["-n"], "");
    let told: Vec<&str> = err.lines().filter(|line| line.contains("NONE_HOOK_FETCH_WORK")).collect();
    let wanted = "slot1 has the keyword NONE, but NONE_HOOK_FETCH_WORK is not defined: it fetches no work";
    assert!(told.len() == 1 && told[0].ends_with(wanted), "{err}");
}

#[test]
fn where_json_is_asked_for_an_array_comes() {
    let point = Point::new().knob("NUM_SLOTS_TYPE_1 = 2").knob("SLOT_TYPE_1 = 50%").arguments([]);
    let job = "ClusterId = 3\nProcId = 1\nRequestMemory = 1\n\nClusterId = 4\nRequestMemory = 9999\n";
    let (status, out, err) = run(&point, &["ads", "--json"], "");
    assert_eq!((status, array(&out).len()), (Some(0), 2), "{err}");
    assert_eq!(array(&out)[1]["SlotID"], 2);
    let (status, out, _) = run(&point, &["ads", "slot2", "--jsonl"], "");
    assert_eq!((status, out.lines().count()), (Some(0), 1), "{out}");
    let (status, out, _) = run(&point, &["--dry-run", "--json"], "");
    assert_eq!((status, array(&out)[0]["slot"].as_str()), (Some(0), Some("slot1")), "{out}");
    let point = point.knob("START = RequestMemory < 100");
    let (status, out, err) = run(&point, &["explain", "--json"], job);
    assert_eq!((status, array(&out).len()), (Some(1), 4), "{err}");
    assert_eq!((&array(&out)[0]["accepted"], &array(&out)[3]["accepted"]), (&true.into(), &false.into()));
    assert_eq!(array(&out)[2]["job"], "4.0");
    let (_, out, _) = run(&point, &["explain", "--jsonl"], job);
    assert!(out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{out}");
}

#[test]
fn slots_that_cannot_be_used_are_no_success() {
    let point = Point::new().knob("SLOT_TYPE_1 = cpus=9, memory=50%").arguments(["--dry-run"]);
    let (status, out, _) = run(&point, &[], "");
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("broken: Not enough Cpus"), "{out}");
    let point = Point::new().knob("EXECUTE = /no/such/place").arguments(["--dry-run"]);
    let (status, out, err) = run(&point, &[], "");
    assert_eq!(status, Some(1), "{out}");
    let wanted = "Error accessing execute directory /no/such/place specified in the configuration setting EXECUTE: \
                  (errno=2) No such file or directory";
    assert!(out.contains(&format!("broken: {wanted}")) && !out.contains("Not enough Disk"), "{out}");
    assert!(err.contains("make that directory"), "{err}");
    let (_, out, _) = run(&point.arguments([]), &["ads"], "");
    assert!(out.contains("SlotBrokenCode = 3\n"), "{out}");
}

/// The slot runner and the hook exerciser, over configurations made of parts: the same slot, the same answer.
#[test]
fn a_fetch_hook_is_judged_by_the_slots_of_its_configuration() {
    let parts: [&[&str]; 4] = [
        &[
            "NUM_SLOTS_TYPE_1 = 1",
            "NUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_1 = 50%",
            "NUM_SLOTS_TYPE_1 = 1\nMEMORY = 300",
        ],
        &["", "SLOT_TYPE_1_PARTITIONABLE = true"],
        &["", "START = TARGET.RequestMemory < 500", "START = Owner == \"alice\""],
        &["", "SLOT_TYPE_1_START = Memory > 600", "SLOT1_START = Owner =!= \"alice\""],
    ];
    let jobs = [
        "",
        "RequestCpus = 1\nRequestMemory = 400\nRequestDisk = 1\n",
        "RequestCpus = 1\nRequestMemory = 400\nRequestDisk = 1\nOwner = \"alice\"\n",
        "RequestCpus = 2\nRequestMemory = 700\nRequestDisk = 1\n",
    ];
    let (mut taken, mut refused) = (0, 0);
    for number in 0..54 {
        let [a, b, c, d] = [number % 3, number / 3 % 2, number / 6 % 3, number / 18];
        let lines = [parts[0][a], parts[1][b], parts[2][c], parts[3][d]];
        let mut point = Point::new().arguments([]);
        for line in lines {
            point = point.knob(line);
        }
        let job = format!("ClusterId = 1\nCmd = \"/bin/true\"\n{}", jobs[number % jobs.len()]);
        write_executable(&point.path("hooks/fetch"), format!("#!/bin/sh\ncat <<end\n{job}end\n").as_bytes());
        let (_, out, err) = run(&point, &["explain", "--json", "slot1"], &job);
        let offer = array(&out).pop().unwrap_or_else(|| panic!("{err}"));
        let output = Command::new(env!("CARGO_BIN_EXE_htc-hook-test"))
            .env_clear()
            .args(["fetch", "--json", "--config-file"])
            .arg(point.path("config"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (_, out, err) = read(output);
        let report = array(&out).pop().unwrap_or_else(|| panic!("{err}"));
        let decision = report["verdict"]["decision"].as_str().unwrap();
        let accepts = offer["accepted"].as_bool().unwrap();
        assert_eq!(decision, if accepts { "accepted" } else { "rejected" }, "{lines:?} {job}: {offer} {err}");
        if accepts {
            taken += 1;
        } else {
            assert_eq!(report["verdict"]["reason"], offer["reason"], "{lines:?} {job}");
            refused += 1;
        }
    }
    assert!(taken > 5 && refused > 5, "{taken} taken, {refused} refused");
}
