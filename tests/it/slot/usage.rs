//! Tests that slots see the resource usage of their jobs while the jobs run.

use std::os::unix::fs::PermissionsExt;

use crate::support::point::Point;

const BUSY: &str = "ClusterId = 1\nProcId = 0\nJobUniverse = 5\nUser = \"nobody@x\"\nOwner = \"nobody\"\nIwd = \"/tmp\"\n\
                    Cmd = \"/bin/sh\"\nArguments = \"-c 'while :; do :; done'\"";

fn suspends(policy: &str) {
    suspends_with(policy, &|point| point);
}

fn suspends_with(policy: &str, with: &dyn Fn(Point) -> Point) {
    let lines = ["WANT_SUSPEND = True", "CONTINUE = False", "PREEMPT = False", "POLLING_INTERVAL = 1"];
    // On a busy machine, the first update may come before the job has executed its program.
    let intervals = ["STARTER_INITIAL_UPDATE_INTERVAL = 1", "STARTER_UPDATE_INTERVAL = 1"];
    let lines = lines.into_iter().chain(intervals).chain(["NUM_SLOTS = 1"]);
    let point = with(lines.fold(Point::new(), |point, line| point.parameter(line)));
    let starter = format!("STARTER = {}", env!("CARGO_BIN_EXE_htc-starter-run"));
    let point = point.parameter(&starter).parameter(&format!("SUSPEND = {policy}")).job("busy", BUSY);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "state"), ("state", "Claimed"), ("activity", "Suspended")]);
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(child.id().cast_signed()),
        nix::sys::signal::Signal::SIGQUIT,
    )
    .unwrap();
    point.end(child);
}

/// Regression test: CpusUsage and CondorLoadAvg were always 0.
#[test]
fn a_slot_publishes_the_processor_time_of_its_job() {
    suspends("CpusUsage > 0.1 && ImageSize > 100 && LoadAvg - CondorLoadAvg < 1000");
}

/// The disk use of docker's job images is published; a startd determines it one interval after its start. Regression test: no ad
/// had it.
#[test]
fn a_slot_publishes_the_size_of_dockers_job_images() {
    let home = tempfile::tempdir().unwrap();
    let docker = home.path().join("docker");
    let text = "#!/bin/sh\ncase $1 in images) echo htcondor.org/a/x:1 aa 3MB; echo other:1 bb 9GB;; esac\n";
    crate::support::children::write_executable(&docker, text.as_bytes());
    suspends_with("DockerCachedImageSizeMb == 3", &|point| {
        point
            .parameter(&format!("DOCKER = {}", docker.display()))
            .parameter("DOCKER_CACHE_ADVERTISE_INTERVAL = 1")
    });
}

/// Regression test: the slot ad never contained what the starter reports about the job.
#[test]
fn a_slot_uses_the_updates_of_its_starter() {
    suspends("ResidentSetSize > 0 && MemoryUsage >= 1");
}

/// In 25.14 the starter of a fetched job does not report to the startd.
#[test]
fn with_reference_quirks_a_slot_ignores_the_updates() {
    let lines = [
        "WANT_SUSPEND = True",
        "CONTINUE = False",
        "PREEMPT = False",
        "SUSPEND = ResidentSetSize > 0 || MemoryUsage >= 0",
        "POLLING_INTERVAL = 1",
        "UPDATE_INTERVAL = 1",
        "STARTER_INITIAL_UPDATE_INTERVAL = 1",
        "STARTER_UPDATE_INTERVAL = 1",
    ];
    let mut point = lines.into_iter().fold(Point::new(), |point, line| point.parameter(line));
    point = point.parameter(&format!("STARTER = {}", env!("CARGO_BIN_EXE_htc-starter-run")));
    point = point.job("sleeps", &BUSY.replace("while :; do :; done", "sleep 4"));
    // If root runs the test, the starter creates the scratch directory as the job's account.
    std::fs::set_permissions(point.path("execute"), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let words = ["--max-jobs", "1", "--timeout", "60", "--quirks", "reference"];
    point.arguments = words.map(str::to_owned).to_vec();
    let run = point.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(run.count(&[("event", "state"), ("activity", "Busy")]), 1, "{}", run.stderr);
    assert_eq!(run.count(&[("event", "state"), ("activity", "Suspended")]), 0, "{}", run.stderr);
}
