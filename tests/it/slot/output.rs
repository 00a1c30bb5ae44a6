//! Tests of the output of the slot runner: ads of running slots, times before lines, and the reason for a long wait.

use crate::support::point::Point;

const STARTER: &str = env!("CARGO_BIN_EXE_htc-starter-run");

#[test]
fn status_prints_the_ads_of_running_slots_and_rows() {
    let control = |point: &Point| point.path("control").display().to_string();
    let point = Point::new()
        .parameter("STARTD_JOB_HOOK_KEYWORD =")
        .parameter("Colour = \"red\"")
        .parameter("STARTD_ATTRS = Colour");
    let socket = control(&point);
    let point = point.arguments(["--control", &socket]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "state"), ("state", "Unclaimed")]);
    let text = |output: std::process::Output| String::from_utf8(output.stdout).unwrap();
    let ads = text(point.ask(["status", "--long"]));
    let csv = text(point.ask(["status", "--csv"]));
    let json = text(point.ask(["status", "--json"]));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ads.contains("\nState = \"Unclaimed\"\n") && ads.contains("\nColour = \"red\"\n"), "{ads}");
    assert!(ads.ends_with("\n\n") && !ads.trim_end().contains("\n\n"), "{ads}");
    assert!(csv.starts_with("slot,state,activity") && csv.contains("\r\nslot1,Unclaimed,Idle"), "{csv}");
    assert!(!json.contains("Colour"), "the ad is printed on request only: {json}");
}

#[test]
fn lines_of_starters_begin_with_the_time_too() {
    use std::os::unix::fs::PermissionsExt;
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nUser = \"nobody\"\n";
    let point =
        Point::new().job("1", job).arguments(["--once", "--timestamps", "always", "--starter", STARTER]);
    std::fs::set_permissions(point.path("execute"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let run = point.run();
    // Warnings about the command line and the configuration have no time.
    let is_event =
        |line: &&str| line.contains("htc-starter-run: ") && !line.contains("htc-starter-run: warning:");
    let lines: Vec<&str> = run.stderr.lines().filter(is_event).collect();
    assert!(!lines.is_empty(), "{}", run.stderr);
    for line in lines {
        let digits = line.bytes().take(8).filter(u8::is_ascii_digit).count();
        assert_eq!(digits, 6, "{line}");
    }
}

#[test]
fn once_reports_a_long_wait_for_the_next_fetch() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    let point =
        Point::new().job("1", job).parameter("FetchWorkDelay = 3600").arguments(["--once", "--timeout", "8"]);
    let err = point.run().stderr;
    assert!(err.contains("--once waits 3") && err.contains("FetchWorkDelay"), "{err}");
}

#[test]
fn once_reports_a_long_wait_after_a_refused_job() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    let point = Point::new()
        .job("1", job)
        .parameter("FetchWorkDelay = 3600\nSTART = TARGET.Owner == \"ann\"")
        .arguments(["--once", "--timeout", "8"]);
    let err = point.run().stderr;
    assert!(err.contains("rejected: ") && err.contains("--once waits 3600 s"), "{err}");
}

#[test]
fn slots_can_be_queried_for_a_given_time() {
    let point = Point::new().parameter("START = time() > 2000000000").arguments([]);
    std::fs::write(
        point.path("job.ad"),
        "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nRequestMemory = 1\nRequestDisk = 1\n",
    )
    .unwrap();
    let explain = |now: &str| {
        let mut command = point.query();
        command.args(["explain", "--ads"]).arg(point.path("job.ad")).args(["--now", now]);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (early, out) = explain("1900000000");
    assert!(early == Some(1) && out.contains("refuses"), "{out}");
    let (late, out) = explain("2100000000");
    assert!(late == Some(0) && out.contains("accepts"), "{out}");
    let output = point.query().args(["ads", "--now", "2100000000"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nMyCurrentTime = 2100000000\n"));
}
