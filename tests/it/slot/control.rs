//! Tests of the control socket of `htc-slot-run`, and of the messages of its verbs about unknown slots.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Output};
use std::time::Instant;

use crate::support::children::LONG;
use crate::support::point::Point;

/// Starts an execution point that waits for work, with an open control socket.
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

/// Returns the processor time of a process, in ticks of 10 ms.
fn busy(child: &Child) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap().split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn says(output: &Output, status: i32, expected: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    assert!(stderr.contains(expected), "{expected}: {stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

fn connect(path: &Path, count: usize) -> Vec<UnixStream> {
    (0..count).map(|_| UnixStream::connect(path).unwrap()).collect()
}

/// Regression test: the 17th client was watched and then dropped, so that the event loop used all processor time.
#[test]
fn many_clients_at_once_leak_nothing_and_block_nothing() {
    let (point, child) = waiting(Point::new().parameter("FetchWorkDelay = 300"));
    let path = point.path("control");
    let before = descriptors(&child);
    for _ in 0..3 {
        drop(connect(&path, 40));
        assert!(point.ask(["status"]).status.success());
    }
    assert!(descriptors(&child) <= before + 1, "{before} and then {}", descriptors(&child));
    // Connections of silent clients are closed when others come, so later clients are served at once.
    let silent = connect(&path, 200);
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
fn an_unknown_slot_is_an_error_in_every_verb() {
    let (point, child) = waiting(Point::new().parameter("FetchWorkDelay = 300"));
    for verb in ["status", "vacate", "suspend", "continue"] {
        says(&point.ask([verb, "slto1"]), 2, "there is no slot 'slto1'; did you mean slot1?");
    }
    says(&point.ask(["status", "drain"]), 2, "drain is a verb, which must come first");
    let status = point.ask(["status", "SLOT1", "--json"]);
    let rows: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!((rows[0]["slot"].as_str(), rows.as_array().unwrap().len()), (Some("slot1"), 1));
    let lines = String::from_utf8(point.ask(["status", "--jsonl"]).stdout).unwrap();
    assert!(lines.starts_with("{\"slot\":\"slot1\"") && lines.ends_with("}\n"), "{lines}");
    assert!(point.ask(["off"]).status.success());
    assert_eq!(point.end(child).status, Some(0));
}

/// The verbs for a running execution point are in the help, and their names in condor tools get a hint.
#[test]
fn every_verb_is_in_the_help_and_verbs_of_other_tools_have_a_hint() {
    let told = |words: &[&str]| {
        let output =
            std::process::Command::new(env!("CARGO_BIN_EXE_htc-slot-run")).args(words).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let verbs = [
        "status",
        "match",
        "claim",
        "activate",
        "alive",
        "hold",
        "suspend",
        "continue",
        "vacate",
        "deactivate",
        "release-claim",
        "drain",
        "undrain",
        "reconfig",
        "off",
        "doctor",
    ];
    let (_, help) = told(&["--help"]);
    let (_, all) = told(&["--help-all"]);
    for verb in verbs {
        assert!(help.contains(verb), "{verb}: {help}");
        assert!(all.lines().any(|line| line.trim_start().starts_with(&format!("{verb} "))), "{verb}: {all}");
    }
    for (word, own) in
        [("cancel-drain", "undrain"), ("evict", "vacate"), ("restart", "reconfig"), ("stop", "off")]
    {
        let (status, message) = told(&[word, "--control", "x"]);
        assert_eq!(status, Some(2), "{message}");
        assert!(message.contains(&format!("hint: use '{own}'")), "{message}");
    }
}

const EVICT_TOGETHER: &str = "#!/bin/sh\nd=${0%/*}/../out\ncat > $d/evict.$$\n\
                              while set -- $d/evict.*; [ $# -lt 2 ]; do sleep 0.05; done\n";

/// A job of higher rank that waits for the retirement of the current job has no starter yet. Regression test: the loss of such a
/// job was not reported.
#[test]
fn waiting_and_running_jobs_of_a_killed_runner_are_returned() {
    let job = |id: u32| {
        format!("ClusterId = {id}\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\nPrio = {id}\n")
    };
    let mut point = Point::new()
        .job("1", &job(1))
        .hook("starter", "#!/bin/sh\ncat > /dev/null\nexec sleep 1000\n")
        // Each of two evict hooks waits for the other, so they must be called in parallel.
        .hook("evict", EVICT_TOGETHER)
        .parameter("RANK = Prio")
        .parameter("MaxJobRetirementTime = 100000")
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
    for job in ["1.0", "2.0"] {
        let back = [
            ("hook", "EVICT_CLAIM"),
            ("job", job),
            ("reason", "accepted it and was killed: its queue is notified"),
        ];
        assert_eq!(run.count(&back), 1, "{job}: {}", run.stderr);
        let id = format!("ClusterId = {}\n", &job[..1]);
        assert_eq!(
            point.recorded_files("evict").iter().filter(|text| text.contains(&id)).count(),
            1,
            "{job}"
        );
    }
}

/// The starter ends the job when the runner is gone, but no hook can report this.
#[test]
fn a_job_of_a_queue_without_job_exit_is_returned_after_a_crash() {
    use std::os::unix::fs::PermissionsExt;
    let starter = env!("CARGO_BIN_EXE_htc-starter-run");
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/sleep\"\nArgs = \"600\"\nUser = \"nobody\"\n";
    let point = Point::new().job("1", job).arguments(["--starter", starter]);
    std::fs::set_permissions(point.path("execute"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "state"), ("activity", "Busy")]);
    child.kill().unwrap();
    child.wait().unwrap();
    let run = point.arguments(["--once", "--starter", starter]).run();
    let back = [
        ("hook", "EVICT_CLAIM"),
        ("job", "1.0"),
        ("reason", "accepted it and was killed: its queue is notified"),
    ];
    assert_eq!(run.count(&back), 1, "{}", run.stderr);
}

/// Starter that reports the end of its job when it gets SIGTERM, or when the file `go` exists.
const WAITING: &str = "#!/bin/sh\ncat > \"$HOME/job\"\ntrap 'exit 0' TERM\n\
                       while [ ! -e \"$HOME/go\" ]; do sleep 0.02; done\nrm \"$HOME/go\"\ncat \"$HOME/job\"\n\
                       echo 'ExitBySignal = false'\necho 'ExitCode = 0'\n";

/// Starts an execution point that does not fetch work.
fn unasked(point: Point) -> (Point, Child) {
    let control = point.path("control").display().to_string();
    let point = point.parameter("STARTD_JOB_HOOK_KEYWORD =").arguments(["--control", &control]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "state"), ("state", "Unclaimed")]);
    (point, child)
}

fn stdout(output: &Output) -> &str {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::str::from_utf8(&output.stdout).unwrap()
}

fn state(point: &Point, slot: &str) -> String {
    let rows = point.ask(["status", slot, "--json"]);
    let rows: serde_json::Value = serde_json::from_slice(&rows.stdout).unwrap();
    format!("{}/{}", rows[0]["state"].as_str().unwrap(), rows[0]["activity"].as_str().unwrap())
}

#[test]
fn verbs_do_the_schedds_part_from_match_to_release() {
    let (point, mut child) = unasked(Point::new().hook("starter", WAITING));
    let job = "ClusterId = 7\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"alice\"\nUser = \"alice@here\"\nRequestCpus = 1\nRequestMemory = 1\nRequestDisk = 1\nStrange = \"\\x\"\nPlace = \"$$(Name) $$([TARGET.SlotID + 1])\"\n";
    std::fs::write(point.path("job.ad"), job).unwrap();
    let ad = point.path("job.ad").display().to_string();
    says(&point.ask(["alive", "slot1"]), 1, "slot1 is Unclaimed/Idle: it is not claimed");
    says(
        &point.ask(["activate", "slot1", "--ads", &ad]),
        1,
        "activation refused: the slot is Unclaimed/Idle",
    );
    assert_eq!(stdout(&point.ask(["match", "slot1"])), "");
    assert_eq!(state(&point, "slot1"), "Matched/Idle");
    let claimed = point.ask(["claim", "slot1", "--ads", &ad, "--lease", "600", "--schedd", "here"]);
    assert_eq!(stdout(&claimed), "slot1\n");
    assert_eq!(state(&point, "slot1"), "Claimed/Idle");
    std::fs::write(point.path("held.ad"), format!("{job}Nowhere = \"$$(NoSuchThing)\"\n")).unwrap();
    let held = point.path("held.ad").display().to_string();
    says(
        &point.ask(["activate", "slot1", "--ads", &held]),
        1,
        "Cannot expand $$ expression (NoSuchThing). The schedd of a pool would hold the job",
    );
    for verb in ["alive", "activate", "suspend", "continue", "hold"] {
        let output = match verb {
            "activate" => point.ask([verb, "slot1", "--ads", &ad]),
            "hold" => {
                point.wait_for(&mut child, &[("event", "state"), ("reason", "asked to continue")]);
                crate::support::waiting::wait_until("the job runs", || point.path("job").exists());
                point.ask([verb, "slot1", "--reason", "too loud"])
            }
            _ => point.ask([verb, "slot1"]),
        };
        assert_eq!(stdout(&output), "", "{verb}");
    }
    point.wait_for(&mut child, &[("event", "job"), ("job", "7.0")]);
    let given = std::fs::read_to_string(point.path("job")).unwrap();
    assert!(given.contains("Strange = \"\\x\""));
    assert!(given.contains("Place = \"slot1@") && given.contains(" 2\"\n"), "{given}");
    assert!(given.contains("\nCpusProvisioned = "), "{given}");
    assert_eq!(stdout(&point.ask(["release-claim", "slot1"])), "");
    point.wait_for(&mut child, &[("event", "claim"), ("verdict", "given up")]);
    assert!(point.ask(["off", "--fast"]).status.success());
    let run = point.end(child);
    assert_eq!(run.count(&[("event", "job"), ("job", "7.0")]), 1);
    // The quirk applies only to fetched jobs.
    assert_eq!(run.count(&[("verdict", "machine-ad-empty")]), 0);
}

#[test]
fn a_claim_of_a_partitionable_slot_names_the_dynamic_slot_it_gets() {
    let (point, child) = unasked(Point::new().parameter("SLOT_TYPE_1_PARTITIONABLE = True"));
    std::fs::write(
        point.path("job.ad"),
        "ClusterId = 7\nProcId = 0\nRequestCpus = 1\nRequestMemory = 8\nRequestDisk = 1\n",
    )
    .unwrap();
    let ad = point.path("job.ad").display().to_string();
    assert_eq!(stdout(&point.ask(["match", "slot1"])), "");
    assert_eq!(stdout(&point.ask(["claim", "slot1", "--ads", &ad])), "slot1_1\n");
    let more = point.path("more.ad").display().to_string();
    let asks = |slot: &str, attribute: &str, expected: &str| {
        std::fs::write(&more, format!("{}{attribute}\n", std::fs::read_to_string(&ad).unwrap())).unwrap();
        let claimed = point.ask(["claim", "slot1", "--ads", &more]);
        assert_eq!(String::from_utf8_lossy(&claimed.stdout), format!("{slot}\n"));
        let stderr = String::from_utf8_lossy(&claimed.stderr).into_owned();
        assert!(stderr.contains(expected), "{stderr}");
    };
    asks(
        "slot1_2",
        "_condor_NUM_DYNAMIC_SLOTS = 3",
        "a pool would create 3 dynamic slots, but this command creates one",
    );
    let refused = point.ask(["claim", "slot1", "--ads", &ad]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("claim refused: "));
    assert_eq!(stdout(&point.ask(["release-claim", "slot1_1"])), "");
    let whole = "_condor_CLAIM_PARTITIONABLE_SLOT";
    asks("slot1_1", &format!("{whole} = true"), &format!("{whole} has no effect: with ENABLE_CLAIMABLE"));
    assert!(point.ask(["off", "--fast"]).status.success());
    assert_eq!(point.end(child).status, Some(0));
}

#[test]
fn a_claim_that_replaces_another_says_so() {
    let (point, child) = unasked(Point::new());
    let ad = point.path("job.ad").display().to_string();
    let claim = |cluster: u32, owner: &str| {
        let job = format!(
            "ClusterId = {cluster}\nProcId = 0\nOwner = \"{owner}\"\nRequestCpus = 1\nRequestMemory = 8\nRequestDisk = 1\n"
        );
        std::fs::write(&ad, job).unwrap();
        let claimed = point.ask(["claim", "slot1", "--ads", &ad]);
        assert_eq!(String::from_utf8_lossy(&claimed.stdout), "slot1\n");
        String::from_utf8_lossy(&claimed.stderr).into_owned()
    };
    assert!(!claim(7, "bob").contains("was claimed"));
    let text = claim(8, "eve");
    assert!(text.contains("slot1 was claimed for job 7.0 of bob"), "{text}");
    assert!(point.ask(["off", "--fast"]).status.success());
    assert_eq!(point.end(child).status, Some(0));
}

/// A startd of 25.14 changes the slot to Claimed for a moment, and does not inform the claimer.
#[test]
fn a_claim_that_policy_would_end_at_once_is_refused() {
    let point = Point::new();
    let socket = point.path("control").display().to_string();
    let point = point
        .parameter("STARTD_JOB_HOOK_KEYWORD =")
        .parameter("IS_OWNER = True")
        .arguments(["--control", &socket]);
    let child = point.start();
    crate::support::waiting::wait_until("the socket answers", || point.ask(["status"]).status.success());
    std::fs::write(
        point.path("job.ad"),
        "ClusterId = 7\nProcId = 0\nRequestCpus = 1\nRequestMemory = 8\nRequestDisk = 1\n",
    )
    .unwrap();
    let ad = point.path("job.ad").display().to_string();
    says(
        &point.ask(["claim", "slot1", "--ads", &ad]),
        1,
        "claim refused: slot1 is Owner/Idle: its policy would end the claim at once",
    );
    assert!(point.ask(["off", "--fast"]).status.success());
    assert_eq!(point.end(child).status, Some(0));
}

#[test]
fn no_ad_and_several_ads_are_refused_with_a_line() {
    let (point, child) = unasked(Point::new());
    let ad = point.path("job.ad").display().to_string();
    for (text, expected) in [
        ("ClusterId = 1\nrubbish\n", "job.ad:2:1: "),
        ("ClusterId = 1\nCmd = (\n", "job.ad:2:"),
        ("ClusterId = 1\n\nClusterId = 2\n", "job.ad: there are 2 ads, but a claim is for one job"),
        ("\n", "no ad found"),
    ] {
        std::fs::write(point.path("job.ad"), text).unwrap();
        for verb in ["claim", "activate"] {
            says(&point.ask([verb, "slot1", "--ads", &ad]), 3, expected);
        }
    }
    assert_eq!(state(&point, "slot1"), "Unclaimed/Idle");
    assert!(point.ask(["off", "--fast"]).status.success());
    assert_eq!(point.end(child).status, Some(0));
}

#[test]
fn a_waiting_claim_is_described_in_status() {
    let point = Point::new()
        .hook("starter", WAITING)
        .parameter("RANK = TARGET.Prio\nMaxJobRetirementTime = 600\nMachineMaxVacateTime = 5");
    let (point, child) = unasked(point);
    let ad = |prio: u32| {
        let path = point.path("job.ad");
        let job = "ClusterId = 7\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"alice\"\nUser = \"alice@here\"\nRequestCpus = 1\n";
        std::fs::write(&path, format!("{job}RequestMemory = 1\nRequestDisk = 1\nPrio = {prio}\n")).unwrap();
        path.display().to_string()
    };
    assert_eq!(stdout(&point.ask(["claim", "slot1", "--ads", &ad(1)])), "slot1\n");
    assert_eq!(stdout(&point.ask(["activate", "slot1", "--ads", &ad(1)])), "");
    for (prio, expected) in
        [(1, "its rank 1 equals that of the current claim"), (5, "its rank 5 is higher than 1")]
    {
        let waits = point.ask(["claim", "slot1", "--ads", &ad(prio)]);
        says(&waits, 0, &format!("slot1: the claim waits for the end of the current claim: {expected}"));
        says(&waits, 0, "the slot is Claimed/Retiring with job 7.0, which has ");
    }
    says(&point.ask(["claim", "slot1", "--ads", &ad(2)]), 1, "claim refused: rank 2 is less than 5");
    assert!(point.ask(["off", "--fast"]).status.success());
    assert_eq!(point.end(child).status, Some(1));
}

#[test]
fn a_reason_of_several_lines_is_one_line_of_status() {
    let (point, child) = unasked(Point::new());
    assert!(point.ask(["drain", "--reason", "two\nlines\x1b[1m"]).status.success());
    let told = point.ask(["status"]);
    let told = stdout(&told);
    assert_eq!(told.lines().count(), 3, "{told}");
    assert!(told.contains(": two\\nlines\\u{1b}[1m; "), "{told}");
    assert!(point.ask(["off", "--fast"]).status.success());
    assert_eq!(point.end(child).status, Some(0));
}

#[test]
fn an_unsafe_or_missing_socket_is_one_message() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let point = Point::new();
    let long = point.path(&"x".repeat(120)).display().to_string();
    std::fs::write(point.path("file"), "").unwrap();
    symlink(point.path("file"), point.path("link")).unwrap();
    std::fs::create_dir(point.path("open")).unwrap();
    std::fs::set_permissions(point.path("open"), std::fs::Permissions::from_mode(0o777)).unwrap();
    drop(std::os::unix::net::UnixListener::bind(point.path("dead")).unwrap());
    let path = |name: &str| point.path(name).display().to_string();
    let cases = [
        (long, "use a shorter one", "use a shorter one"),
        (path("file"), "it is not a socket: remove it", "it is not a socket"),
        (path("link"), "it is a link: remove it", "it is a symbolic link, which is not followed"),
        (path("open/control"), "can be written by others", "No such file"),
        (path("dead"), "", ": the execution point has ended"),
    ];
    for (socket, listening, asking) in cases {
        let asked = point.query().args(["status", "--control", &socket]).output().unwrap();
        says(&asked, 3, asking);
        assert_eq!(String::from_utf8_lossy(&asked.stderr).matches("htc-slot-run:").count(), 1);
        let run = point.command().args(["--control", &socket]).output().unwrap();
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert!(stderr.contains(listening), "{socket}: {stderr}");
        assert_eq!(run.status.success(), listening.is_empty(), "{socket}: {stderr}");
    }
}

/// One process listens and never answers, and another never sends the ad of a job.
#[test]
fn timeout_ends_every_verb_that_waits_with_one_message_and_124() {
    let point = Point::new();
    let silent = std::os::unix::net::UnixListener::bind(point.path("silent")).unwrap();
    nix::unistd::mkfifo(&point.path("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let path = |name: &str| point.path(name).display().to_string();
    let (silent_path, fifo) = (path("silent"), path("fifo"));
    let verbs: [&[&str]; 9] = [
        &["status"],
        &["status", "--watch", "2"],
        &["suspend", "slot1"],
        &["alive", "slot1"],
        &["release-claim", "slot1"],
        &["drain"],
        &["off"],
        &["reconfig"],
        &["claim", "slot1", "--ads", &fifo],
    ];
    for words in verbs {
        let mut command = point.query();
        let asked =
            command.args(words).args(["--control", &silent_path, "--timeout", "0.3"]).output().unwrap();
        says(&asked, 124, "the time limit (--timeout) expired before an answer arrived");
        assert_eq!(String::from_utf8_lossy(&asked.stderr).lines().count(), 1, "{words:?}");
    }
    let asked = point.query().args(["explain", "--ads", &fifo, "--timeout", "3"]).output().unwrap();
    says(&asked, 124, "the time limit (--timeout) expired before all slots were compared");
    drop(silent);
}

/// An error is reported even if the time limit ends. If the time limit kills a program, it is reported as the cause.
#[test]
fn timeout_does_not_hide_configuration_errors() {
    let run = |line: &str, verb: &str| {
        let point = Point::new().parameter(line);
        point.query().args([verb, "--timeout", "0.3"]).output().unwrap()
    };
    let hangs = "MACHINE_RESOURCE_INVENTORY_X = /bin/sleep 60";
    for verb in ["run", "ads", "doctor"] {
        says(&run(hangs, verb), 124, "the time limit (--timeout) expired before there were slots: ");
    }
    // No program runs here that could exceed the time limit.
    let point = Point::new().parameter("STARTER = /nowhere/starter\nSLOT_TYPE_1 = cpus=x/0");
    let output = point.query().args(["ads", "--timeout", "0.001"]).output().unwrap();
    says(&output, 3, "SLOT_TYPE_1");
}

/// A client that sends an incomplete line is disconnected after some seconds.
#[test]
fn without_control_the_socket_is_in_log_and_found_by_the_same_configuration() {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;
    let point = Point::new().parameter("FetchWorkDelay = 300").arguments([]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "verdict"), ("verdict", "no work")]);
    let socket = point.path("log/htc-slot-run/control");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
    let config = point.path("config").display().to_string();
    let status = |words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_htc-slot-run"));
        command.args(words).args(["--config-file", &config]).output().unwrap()
    };
    assert!(stdout(&status(&["status"])).contains("Unclaimed"));
    let mut half = UnixStream::connect(&socket).unwrap();
    half.write_all(b"{\"command\":").unwrap();
    let mut cut = UnixStream::connect(&socket).unwrap();
    cut.write_all(b"{\"command\":\"claim\",\"slot\":\"slot1\",\"ad_length\":50}\nA = 1\n").unwrap();
    cut.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    cut.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("the job ad is incomplete"), "{answer}");
    half.set_read_timeout(Some(LONG)).unwrap();
    assert_eq!(half.read(&mut [0; 8]).unwrap(), 0);
    assert!(stdout(&status(&["off"])).is_empty());
    assert_eq!(point.end(child).status, Some(0));
    assert!(!socket.exists());
}
