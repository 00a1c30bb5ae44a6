//! Tests of reports by `htc-slot-run` about slots that do not run: `--dry-run`, `ads`, `explain`; and of their agreement with
//! `htc-hook-test fetch` for the same configuration.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::children::write_executable;
use crate::support::point::Point;

fn run(point: &Point, words: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = point.query();
    let mut child = command
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read its input may have ended already.
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
fn a_keyword_without_a_fetch_hook_is_reported_only_for_planned_slots() {
    let point = Point::new().parameter("SLOT1_JOB_HOOK_KEYWORD = NONE").arguments([]);
    let point = point
        .parameter("SLOT_TYPE_1 = 100%")
        .parameter("NUM_SLOTS_TYPE_1 = 1")
        .parameter("SLOT_TYPE_1_PARTITIONABLE = true");
    let (_, _, err) = run(&point, &["-n"], "");
    let told: Vec<&str> = err.lines().filter(|line| line.contains("NONE_HOOK_FETCH_WORK")).collect();
    let expected = "slot1 has the keyword NONE, but NONE_HOOK_FETCH_WORK is not defined: it fetches no work";
    assert!(told.len() == 1 && told[0].ends_with(expected), "{err}");
}

#[test]
fn json_of_the_slot_verbs_is_an_array() {
    let point = Point::new().parameter("NUM_SLOTS_TYPE_1 = 2").parameter("SLOT_TYPE_1 = 50%").arguments([]);
    let job = "ClusterId = 3\nProcId = 1\nRequestMemory = 1\n\nClusterId = 4\nRequestMemory = 9999\n";
    let (status, out, err) = run(&point, &["ads", "--json"], "");
    assert_eq!((status, array(&out).len()), (Some(0), 2), "{err}");
    assert_eq!(array(&out)[1]["SlotID"], 2);
    let (status, out, _) = run(&point, &["ads", "slot2", "--jsonl"], "");
    assert_eq!((status, out.lines().count()), (Some(0), 1), "{out}");
    let (status, out, _) = run(&point, &["--dry-run", "--json"], "");
    assert_eq!((status, array(&out)[0]["slot"].as_str()), (Some(0), Some("slot1")), "{out}");
    let point = point.parameter("START = RequestMemory < 100");
    let (status, out, err) = run(&point, &["explain", "--json"], job);
    assert_eq!((status, array(&out).len()), (Some(1), 4), "{err}");
    assert_eq!((&array(&out)[0]["accepted"], &array(&out)[3]["accepted"]), (&true.into(), &false.into()));
    assert_eq!(array(&out)[2]["job"], "4.0");
    let (_, out, _) = run(&point, &["explain", "--jsonl"], job);
    assert!(out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{out}");
}

#[test]
fn slots_that_cannot_be_used_are_a_failure() {
    let point = Point::new().parameter("SLOT_TYPE_1 = cpus=9, memory=50%").arguments(["--dry-run"]);
    let (status, out, _) = run(&point, &[], "");
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("broken: Not enough Cpus"), "{out}");
    let point = Point::new().parameter("EXECUTE = /no/such/place").arguments(["--dry-run"]);
    let (status, out, err) = run(&point, &[], "");
    assert_eq!(status, Some(1), "{out}");
    let expected = "Error accessing execute directory /no/such/place specified in the configuration setting EXECUTE: \
                  (errno=2) No such file or directory";
    assert!(out.contains(&format!("broken: {expected}")) && !out.contains("Not enough Disk"), "{out}");
    assert!(err.contains("create that directory"), "{err}");
    let (_, out, _) = run(&point.arguments([]), &["ads"], "");
    assert!(out.contains("SlotBrokenCode = 3\n"), "{out}");
}

/// Compares the slot runner and `htc-hook-test` for configurations that are combined from parts: the same slot must give the same
/// verdict.
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
            point = point.parameter(line);
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

/// Creates two slots, the second of which has its own directory.
fn two_slots(own: &str, disk: &str) -> Point {
    Point::new()
        .parameter("NUM_SLOTS_TYPE_1 = 2")
        .parameter(&format!("SLOT_TYPE_1 = cpus=1,mem=50%,disk={disk}"))
        .parameter(&format!("SLOT2_EXECUTE = {own}"))
        .arguments([])
}

/// Returns the value of a slot's attribute that `ads` prints.
fn of_slot(ads: &str, slot: &str, name: &str) -> String {
    let ad = ads
        .split("\n\n")
        .find(|ad| ad.contains(&format!("Name = \"{slot}@")))
        .unwrap_or_else(|| panic!("{ads}"));
    let begin = format!("{name} = ");
    let line = ad.lines().find_map(|line| line.strip_prefix(&begin));
    line.unwrap_or_else(|| panic!("no {name}: {ad}")).to_owned()
}

/// Regression test: the message was `slots made: 1 of 2: Not enough Disk`.
#[test]
fn a_slot_shares_the_disk_of_its_own_execute_directory() {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &std::path::Path| std::fs::metadata(path).map(|it| it.dev()).ok();
    let point = two_slots("/dev/shm", "100%");
    let other = device(std::path::Path::new("/dev/shm"));
    if other.is_none() || other == device(&point.path("execute")) {
        println!("skipped: /dev/shm is no file system of its own");
        return;
    }
    let (_, ads, err) = run(&point, &["ads"], "");
    assert!(!err.contains("Not enough Disk"), "{err}");
    let volumes = ["slot1", "slot2"].map(|slot| of_slot(&ads, slot, "ExecuteVolume"));
    assert_ne!(volumes[0], volumes[1], "{ads}");
    assert_eq!(volumes[1], format!("\"{}\"", other.unwrap()));
    for slot in ["slot1", "slot2"] {
        assert_eq!(of_slot(&ads, slot, "TotalDisk"), of_slot(&ads, slot, "Disk"), "{ads}");
    }
    // Slots on the same disk still share it.
    let (_, _, err) = run(&two_slots("$(CONFIG_ROOT)/log", "100%"), &["ads"], "");
    assert!(err.contains("1 of 2 slots created: Not enough Disk"), "{err}");
    // DISK is the disk space of all slots together.
    let (_, ads, _) = run(&two_slots("/dev/shm", "25%").parameter("DISK = 4000000"), &["ads"], "");
    assert_eq!(of_slot(&ads, "slot2", "Disk"), "1000000");
    assert_eq!(of_slot(&ads, "slot2", "TotalDisk"), "2000000");
}

/// Regression test: the slot looked usable, and each job that it accepted was lost.
#[test]
fn a_slot_whose_execute_directory_is_missing_is_broken() {
    let point = two_slots("/no/such/place", "25%");
    let (_, ads, err) = run(&point, &["ads"], "");
    let reason = "Error accessing execute directory /no/such/place specified in the configuration setting SLOT2_EXECUTE: \
                  (errno=2) No such file or directory";
    assert_eq!(of_slot(&ads, "slot2", "SlotBrokenCode"), "3");
    assert_eq!(of_slot(&ads, "slot2", "SlotBrokenReason"), format!("\"{reason}\""));
    assert_eq!(of_slot(&ads, "slot2", "Cpus"), "0");
    assert!(
        !ads.split("\n\n").any(|ad| ad.contains("Name = \"slot1@") && ad.contains("SlotBrokenCode")),
        "{ads}"
    );
    assert!(err.contains(&format!("slot 2 cannot be used: {reason}; create that directory")), "{err}");
}

#[test]
fn a_dry_run_ends_with_1_if_a_requested_slot_cannot_be_made() {
    for (shares, status) in [("cpus=1", 0), ("cpus=2", 1), ("cpus=3", 1)] {
        let point =
            Point::new().parameter("NUM_SLOTS_TYPE_1 = 2").parameter(&format!("SLOT_TYPE_1 = {shares}"));
        let (ended, out, err) = run(&point.arguments([]), &["-n"], "");
        assert_eq!(ended, Some(status), "{shares}: {out}{err}");
    }
}

/// A startd exits with this value. Making 0 slots of that type, and other slots instead, would be a guess.
#[test]
fn an_invalid_number_of_slots_is_refused() {
    for count in ["two", "0x2"] {
        let point = Point::new().parameter(&format!("NUM_SLOTS_TYPE_1 = {count}"));
        let (ended, out, err) = run(&point.arguments([]), &["-n"], "");
        assert_eq!(ended, Some(3), "{count}: {out}{err}");
        assert!(err.contains("NUM_SLOTS_TYPE_1"), "{err}");
    }
}

/// Regression test: the value was used without a message.
#[test]
fn a_fetch_delay_that_is_not_a_number_is_named() {
    for (delay, named) in
        [("\"abc\"", true), ("undefined", true), ("7", false), ("State is undefined", false)]
    {
        let point = Point::new().parameter(&format!("FetchWorkDelay = {delay}"));
        let (_, _, err) = run(&point.arguments([]), &["-n"], "");
        assert_eq!(err.contains("FetchWorkDelay is not a number"), named, "{delay}: {err}");
    }
}
