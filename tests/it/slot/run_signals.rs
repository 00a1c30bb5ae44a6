//! Tests of signals and limits that end jobs, hooks and the slot runner.

use crate::support::point::Point;
use nix::sys::signal::Signal;
use std::process::Child;

use super::run::{JOB, signal};

#[test]
fn an_endless_hook_is_killed_with_its_family_at_its_limit() {
    let hook = "#!/bin/sh\nsleep 1000 &\necho $! > \"$HOME/out/child\"\nwait\n";
    let point = Point::new().hook("fetch", hook).arguments(["--once", "--hook-timeout", "0.3"]);
    let run = point.run();
    assert_eq!(run.status, Some(1), "a job may be lost: {}", run.stderr);
    assert_eq!(run.count(&[("event", "hook-failed"), ("reason", "--hook-timeout")]), 1);
    let pid: i32 = std::fs::read_to_string(point.path("out/child")).unwrap().trim().parse().unwrap();
    assert!(!crate::support::children::is_alive(pid));
}

#[test]
fn when_the_slot_runner_is_killed_its_starters_evict_their_jobs() {
    let as_root = nix::unistd::geteuid().is_root();
    // The job runs as nobody, because a starter that changes its ids loses the kernel's parent-death signal.
    let job = format!(
        "ClusterId = 1\nProcId = 0\nCmd = \"/bin/sh\"\nArguments = \"-c 'echo $$ > $HOME_OUT/pid; exec sleep 1000'\"\n\
         Environment = \"HOME_OUT=@OUT@\"\nIwd = \"/tmp\"\n{}",
        if as_root { "Owner = \"nobody\"\nOsUser = \"nobody\"\n" } else { "" }
    );
    let point = Point::new();
    let out = point.path("out").to_str().unwrap().to_owned();
    let job = job.replace("@OUT@", &out);
    let point = point
        .job("1", &job)
        .hook("exit", &format!("#!/bin/sh\ncat > /dev/null\necho $1 > '{out}/exit'\n"))
        .parameter(&format!("STARTER = {}", env!("CARGO_BIN_EXE_htc-starter-run")))
        .parameter("STARTER_DEFAULT_JOB_HOOK_KEYWORD = T")
        .parameter("T_HOOK_JOB_EXIT = $(CONFIG_ROOT)/hooks/exit")
        .arguments([]);
    let mut child = point.start();
    let read =
        |name: &str| std::fs::read_to_string(point.path(name)).ok().filter(|text| text.ends_with('\n'));
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let begun = std::time::Instant::now();
        while !done() {
            assert!(begun.elapsed() < crate::support::children::LONG, "{what}: {:?}", point.events());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    point.wait_for(&mut child, BUSY);
    wait("the job begins", &|| read("out/pid").is_some());
    let pid: i32 = read("out/pid").unwrap().trim().parse().unwrap();
    signal(&child, Signal::SIGKILL);
    child.wait().unwrap();
    wait("the job is gone", &|| !crate::support::children::is_alive(pid));
    wait("the exit hook is called", &|| read("out/exit").is_some());
    assert_eq!(read("out/exit").unwrap(), "evict\n");
    wait("the scratch directory is gone", &|| std::fs::read_dir(point.path("execute")).unwrap().count() == 0);
}

/// Starter that records the signal that ends it.
const PATIENT: &str = "#!/bin/sh\ncat > /dev/null\ntrap 'echo TERM >> \"$HOME/signals\"; exit 0' TERM\n\
                       trap 'echo QUIT >> \"$HOME/signals\"; exit 0' QUIT\n: > \"$HOME/ready\"\nwhile :; do sleep 0.05; done\n";

/// Starter that ignores SIGTERM.
const STUBBORN: &str = "#!/bin/sh\ncat > /dev/null\ntrap 'echo TERM >> \"$HOME/signals\"' TERM\n\
                        trap 'echo QUIT >> \"$HOME/signals\"; exit 0' QUIT\n: > \"$HOME/ready\"\nwhile :; do sleep 0.05; done\n";

fn signals(point: &Point) -> String {
    std::fs::read_to_string(point.path("signals")).unwrap_or_default()
}

const BUSY: &[(&str, &str)] = &[("event", "state"), ("activity", "Busy")];

/// Waits until the starter handles signals.
fn wait_until_busy(point: &Point, child: &mut Child) {
    point.wait_for(child, BUSY);
    let begun = std::time::Instant::now();
    while !point.path("ready").exists() {
        assert!(begun.elapsed() < crate::support::children::LONG, "the starter never was ready");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn sigterm_vacates_a_job() {
    let point = Point::new().job("1", JOB).hook("starter", PATIENT).arguments([]);
    let mut child = point.start();
    wait_until_busy(&point, &mut child);
    signal(&child, Signal::SIGTERM);
    let run = point.end(child);
    assert_eq!(signals(&point), "TERM\n");
    assert!(
        run.states("slot1")
            .ends_with("Claimed/Busy Claimed/Retiring Preempting/Vacating Owner/Idle Unclaimed/Idle")
    );
    assert_eq!(point.recorded_files("evict.").iter().filter(|text| text.contains("-----")).count(), 1);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
}

#[test]
fn a_job_is_killed_after_its_vacate_time() {
    let point = Point::new()
        .job("1", JOB)
        .hook("starter", STUBBORN)
        .parameter("MachineMaxVacateTime = 1")
        .arguments([]);
    let mut child = point.start();
    wait_until_busy(&point, &mut child);
    signal(&child, Signal::SIGTERM);
    point.end(child);
    assert_eq!(signals(&point), "TERM\nQUIT\n");
}

#[test]
fn sigquit_and_a_second_sigterm_kill_at_once() {
    for (first, second) in [(Signal::SIGQUIT, None), (Signal::SIGTERM, Some(Signal::SIGINT))] {
        let point = Point::new().job("1", JOB).hook("starter", STUBBORN).arguments([]);
        let mut child = point.start();
        wait_until_busy(&point, &mut child);
        signal(&child, first);
        if let Some(second) = second {
            point.wait_for(&mut child, &[("activity", "Vacating")]);
            signal(&child, second);
        }
        point.end(child);
        assert!(signals(&point).ends_with("QUIT\n"), "{}", signals(&point));
    }
}

/// The queue must learn that a job was given up, so its hook runs to its end even in a fast shutdown.
#[test]
fn a_fast_shutdown_waits_for_the_evict_claim_hook() {
    let evict = "#!/bin/sh\ncat > /dev/null\nsleep 1\n: > \"$HOME/out/evicted\"\n";
    let point = Point::new().job("1", JOB).hook("starter", STUBBORN).hook("evict", evict).arguments([]);
    let mut child = point.start();
    wait_until_busy(&point, &mut child);
    signal(&child, Signal::SIGQUIT);
    let run = point.end(child);
    assert!(point.path("out/evicted").exists(), "{}", run.stderr);
    assert_eq!(run.count(&[("event", "hook-end"), ("hook", "EVICT_CLAIM"), ("exit", "exited 0")]), 1);
}

#[test]
fn a_starter_that_ignores_everything_is_killed_with_its_family() {
    let starter = "#!/bin/sh\ncat > /dev/null\ntrap '' TERM QUIT\nsleep 1000 &\necho $! > \"$HOME/child\"\n\
                   : > \"$HOME/ready\"\nwhile :; do sleep 0.05; done\n";
    let point = Point::new()
        .job("1", JOB)
        .hook("starter", starter)
        .parameter("MachineMaxVacateTime = 0")
        .parameter("KILLING_TIMEOUT = 1")
        .arguments([]);
    let mut child = point.start();
    wait_until_busy(&point, &mut child);
    signal(&child, Signal::SIGTERM);
    let run = point.end(child);
    assert!(run.stderr.contains("it is killed with all its processes"), "{}", run.stderr);
    let pid: i32 = std::fs::read_to_string(point.path("child")).unwrap().trim().parse().unwrap();
    assert!(!crate::support::children::is_alive(pid));
}

#[test]
fn a_better_job_replaces_the_running_one_and_is_lost_in_the_reference() {
    for (quirks, runs) in [("none", 1), ("reference", 0)] {
        let starter = "#!/bin/sh\nif grep -q 'ClusterId = 2'; then echo better >> \"$HOME/out/better\"; exit 0; fi\n\
                       trap 'exit 0' TERM QUIT\nfor i in 1 2 3 4 5 6 7 8 9 0; do sleep 0.3; done\n";
        let point = Point::new()
            .job("1", &format!("{JOB}Prio = 1\n"))
            .job("2", &format!("{JOB}ClusterId = 2\nProcId = 0\nPrio = 2\n"))
            .hook("starter", starter)
            .parameter("RANK = Prio")
            .parameter("UPDATE_INTERVAL = 1")
            .arguments(["--quirks", quirks, "--max-jobs", "2"]);
        let run = point.run();
        assert_eq!(point.recorded_files("better").len(), runs, "{quirks}: {}", run.stderr);
        assert_eq!(point.recorded_files("reply.words"), ["accept\naccept\n"], "{quirks}");
    }
}

#[test]
fn requests_reach_a_running_execution_point_through_its_socket() {
    let point = Point::new().job("1", JOB).hook("starter", PATIENT);
    let control = point.path("control").display().to_string();
    let point = point.arguments(["--control", &control]);
    let mut child = point.start();
    wait_until_busy(&point, &mut child);
    let status = point.ask(["status", "--json"]);
    assert!(String::from_utf8_lossy(&status.stdout).contains("\"activity\": \"Busy\""), "{status:?}");
    assert!(point.ask(["vacate", "slot1"]).status.success());
    point.wait_for(&mut child, &[("state", "Owner"), ("reason", "no claim is waiting")]);
    assert!(point.ask(["drain", "--fast"]).status.success());
    point.wait_for(&mut child, &[("state", "Drained"), ("activity", "Idle")]);
    assert!(point.ask(["undrain"]).status.success());
    point.wait_for(&mut child, &[("event", "state"), ("reason", "no longer draining")]);
    // A client that sends nothing, and one that sends an invalid request, do not block other clients.
    let _silent = std::os::unix::net::UnixStream::connect(point.path("control")).unwrap();
    let mut rude = std::os::unix::net::UnixStream::connect(point.path("control")).unwrap();
    std::io::Write::write_all(&mut rude, b"dance\n").unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut rude, &mut answer).unwrap();
    assert!(answer.contains("JSON"), "{answer}");
    assert!(point.ask(["off", "--fast"]).status.success());
    let run = point.end(child);
    assert_eq!(signals(&point), "TERM\n");
    assert!(!point.path("control").exists());
    assert!(run.status.is_some());
    assert_eq!(point.ask(["status"]).status.code(), Some(3));
}

#[test]
fn sighup_rereads_the_configuration_unless_it_is_invalid() {
    let point = Point::new().parameter("START = True").arguments([]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "verdict"), ("verdict", "no work")]);
    let config = std::fs::read_to_string(point.path("config")).unwrap();
    std::fs::write(point.path("config"), format!("{config}START = (\n")).unwrap();
    signal(&child, Signal::SIGHUP);
    point.wait_for(&mut child, &[("event", "warning"), ("reason", "the old configuration stays")]);
    std::fs::write(point.path("config"), format!("{config}START = Memory < 10\n")).unwrap();
    signal(&child, Signal::SIGHUP);
    point.wait_for(&mut child, &[("event", "note"), ("reason", "was reread")]);
    signal(&child, Signal::SIGTERM);
    assert_eq!(point.end(child).status, Some(0));
}

#[test]
fn signals_without_a_meaning_have_no_effect() {
    let point = Point::new().arguments([]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "verdict"), ("verdict", "no work")]);
    for number in [Signal::SIGUSR1, Signal::SIGUSR2] {
        signal(&child, number);
        crate::support::place::wait_for_delivery(&child, number);
        assert!(child.try_wait().unwrap().is_none(), "{number} ended it");
    }
    signal(&child, Signal::SIGTERM);
    assert_eq!(point.end(child).status, Some(0));
}

#[test]
fn timeout_kills_everything_and_is_status_124() {
    // On a busy machine, the starter may not run yet when the shorter limits end.
    let received = ["1", "8", "60"].into_iter().find_map(|limit| {
        let point = Point::new().job("1", JOB).hook("starter", STUBBORN).arguments(["--timeout", limit]);
        let run = point.run();
        assert_eq!(run.status, Some(124), "{}", run.stderr);
        Some(signals(&point)).filter(|received| !received.is_empty())
    });
    assert_eq!(received.as_deref(), Some("QUIT\n"));
}

/// The limit applies only to hooks for which 25.14 waits.
#[test]
fn hook_timeout_does_not_apply_to_hooks_that_nothing_waits_for() {
    let slow = "#!/bin/sh\ncat > /dev/null\nsleep 1.5\necho done >> \"$HOME/out/slow\"\n";
    let point = Point::new().job("1", JOB).hook("reply", slow).hook("evict", slow);
    let point = point.arguments(["--once", "--hook-timeout", "0.5"]);
    let run = point.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(point.recorded_files("slow"), ["done\ndone\n"], "{}", run.stderr);
}
