//! Tests of the local universe under a schedd: its starter sends the signals, writes the log and ends as in 25.14.

use nix::sys::signal::Signal;

use crate::support::place::{Place, RunResult, read_fifo, send, shell};

const JOB: &str = "JobUniverse = 12\nUserLog = \"log\"\nOut = \"out\"\nKillSig = \"SIGTERM\"\nRemoveKillSig = \"SIGUSR1\"\n\
                   HoldKillSig = \"SIGUSR2\"";
const SLEEPS: &str = "Cmd = \"/bin/sleep\"\nArguments = \"600\"";

fn local() -> Place {
    Place::new().option(&["--as", "local"]).parameter("PERIODIC_EXPR_INTERVAL = 1")
}

/// Creates the same place with the command line of a schedd.
fn daemon() -> Place {
    let place = Place::new().parameter("PERIODIC_EXPR_INTERVAL = 1");
    let words = ["-job-input-ad", "-", "-schedd-addr", "<127.0.0.1:9>", "-job-output-ad", "-"];
    Place { tool: true, ..place.option(&words) }
}

fn log(place: &Place) -> String {
    std::fs::read_to_string(place.path("iwd/log")).unwrap_or_default()
}

/// Returns the numbers of the events in the log, in order.
fn events(place: &Place) -> Vec<String> {
    let log = log(place);
    let heads = log.lines().filter(|line| line.get(3..5) == Some(" ("));
    heads.map(|line| line[..3].to_owned()).collect()
}

fn assert_ends(place: &Place, run: &RunResult, lines: &[&str], numbers: &[&str]) {
    for line in lines {
        assert!(run.has(line), "{line}: {}\n{}", run.ad, run.stderr);
    }
    assert_eq!(events(place), numbers, "{}", log(place));
    assert!(!log(place).contains("Code 100"), "{}", log(place));
    assert!(!run.stderr.contains("quirk") && run.left.is_empty(), "{}", run.stderr);
}

#[test]
fn policies_send_their_signals_and_the_starter_logs_each_end() {
    let cases: [(&str, i32, &[&str], &[&str]); 3] = [
        ("Hold", 12, &["JobStatus = 5", "HoldReasonCode = 3"], &["000", "001", "004", "012"]),
        ("Remove", 10, &["JobStatus = 3"], &["000", "001", "004", "009"]),
        ("Vacate", 10, &["JobStatus = 1"], &["000", "001", "004"]),
    ];
    for (kind, signal, lines, numbers) in cases {
        for quirks in ["none", "reference"] {
            let place = local().with_recording_hooks().option(&["--quirks", quirks]);
            let run =
                place.run(&format!("{JOB}\n{SLEEPS}\nPeriodic{kind} = JobCurrentStartExecutingDate > 0"));
            if quirks == "none" {
                assert_ends(&place, &run, lines, numbers);
            }
            assert_eq!(events(&place), numbers, "{kind}: {}", run.stderr);
            // The hook gets the exit status; in the queue, only completed jobs have it.
            let exit = std::fs::read_to_string(place.path("iwd/calls.exit")).unwrap();
            assert!(exit.contains(&format!("ExitSignal = {signal}\n")), "{exit}");
            assert!(!run.ad.contains("ExitSignal"), "{}", run.ad);
            let requeued = log(&place).contains("Job terminated and was requeued");
            assert_eq!(requeued, kind == "Vacate", "{}", log(&place));
            assert!(!run.ad.contains("VacateReason"), "{}", run.ad);
        }
    }
}

#[test]
fn a_policy_that_vacates_says_why_in_the_log_and_in_the_ad() {
    let place = local();
    let policy = "PeriodicVacate = JobCurrentStartExecutingDate > 0\nPeriodicVacateReason = \"off we go\"";
    let run = place.run(&format!("{JOB}\n{SLEEPS}\n{policy}"));
    assert!(run.has("RequeueReason = \"off we go\""), "{}", run.ad);
    assert!(log(&place).contains("\t(0) Abnormal termination (signal 10)\n"), "{}", log(&place));
    assert!(log(&place).contains("\toff we go\n"), "{}", log(&place));
}

#[test]
fn job_exit_gets_exit_after_a_vacate_by_policy() {
    for (kind, word) in [("Vacate", "exit"), ("Remove", "remove"), ("Hold", "hold")] {
        let place = local().with_recording_hooks();
        let run = place.run(&format!("{JOB}\n{SLEEPS}\nPeriodic{kind} = JobCurrentStartExecutingDate > 0"));
        let calls = std::fs::read_to_string(place.path("iwd/calls")).unwrap();
        assert_eq!(calls, format!("prepare\nexit {word}\n"), "{}", run.stderr);
    }
}

#[test]
fn a_local_job_that_ignores_its_signal_is_waited_for_forever() {
    let place = local().with_recording_hooks().parameter("MachineMaxVacateTime = 1");
    let script = "trap : USR1; echo up; n=0; while [ $n -lt 30 ]; do sleep 0.1; n=$((n+1)); done; exit 7";
    let run =
        place.run(&format!("{JOB}\n{}\nPeriodicRemove = JobCurrentStartExecutingDate > 0", shell(script)));
    let exit = std::fs::read_to_string(place.path("iwd/calls.exit")).unwrap();
    assert!(
        run.has("JobStatus = 3") && exit.contains("\nExitCode = 7\n"),
        "{}\n{exit}\n{}",
        run.ad,
        run.stderr
    );
}

#[test]
fn policies_at_the_exit_have_events_of_the_starter() {
    let place = local();
    let run = place.run(&format!("{JOB}\n{}\nOnExitHold = true", shell("exit 3")));
    assert_ends(&place, &run, &["JobStatus = 5", "HoldReasonCode = 3"], &["000", "001", "004", "012"]);
    let place = local();
    let run = place.run(&format!("{JOB}\n{}\nOnExitRemove = false", shell("exit 3")));
    assert_ends(&place, &run, &["JobStatus = 1"], &["000", "001", "004"]);
    assert!(log(&place).contains("\t(1) Normal termination (return value 3)\n"), "{}", log(&place));
    // A policy that would have removed the running job has no effect after its end.
    let place = local();
    let run = place.run(&format!("{JOB}\n{}\nPeriodicRemove = ExitCode is 3", shell("exit 3")));
    assert_ends(&place, &run, &["JobStatus = 4"], &["000", "001", "005"]);
}

#[test]
fn signals_of_the_schedd_remove_the_job_or_send_it_back() {
    let cases: [(Signal, &str, &[&str], &str); 2] = [
        (Signal::SIGUSR1, "JobStatus = 3", &["000", "001", "004", "009"], "Job was evicted."),
        (Signal::SIGTERM, "JobStatus = 1", &["000", "001", "004"], "terminated and was requeued"),
    ];
    for (signal, status, numbers, text) in cases {
        let place = local();
        let pipe = place.pipe();
        let child = place.start(&format!("{JOB}\n{}", shell("echo up > pipe; exec sleep 600")));
        read_fifo(&pipe);
        send(&child, signal);
        let run = place.finish(child);
        assert!(run.has(status), "{signal}: {}\n{}", run.ad, run.stderr);
        assert_eq!(events(&place), numbers, "{signal}: {}", log(&place));
        assert!(log(&place).contains(text), "{signal}: {}", log(&place));
        assert!(!run.ad.contains("VacateReason"), "{}", run.ad);
    }
}

#[test]
fn a_job_whose_log_cannot_be_opened_is_held_and_not_run() {
    for options in [&["--as", "local"][..], &["--as", "shadow"]] {
        let place = Place::new().option(options);
        let universe = if options[1] == "local" { 12 } else { 5 };
        let run = place.run(&format!(
            "JobUniverse = {universe}\nShouldTransferFiles = \"NO\"\nUserLog = \".\"\n{}",
            shell("echo > ran")
        ));
        assert!(run.has("JobStatus = 5") && run.has("HoldReasonCode = 22"), "{}\n{}", run.ad, run.stderr);
        assert!(run.has("HoldReason = \"Failed to initialize user log\""), "{}", run.ad);
        assert!(run.stderr.contains("cannot be opened") && !place.path("iwd/ran").exists(), "{}", run.stderr);
    }
}

#[test]
fn the_daemon_ends_with_the_statuses_of_the_real_one() {
    let cases = [
        (SLEEPS, "PeriodicHold = JobCurrentStartExecutingDate > 0", 112),
        (SLEEPS, "PeriodicRemove = JobCurrentStartExecutingDate > 0", 113),
        (SLEEPS, "PeriodicVacate = JobCurrentStartExecutingDate > 0", 107),
        ("Cmd = \"/bin/true\"", "DeferralTime = 1000", 114),
        ("Cmd = \"/bin/true\"", "UserLog = \".\"", 112),
        ("Cmd = \"/bin/true\"", "PeriodicRemove = ExitCode is 0", 100),
    ];
    for (job, more, status) in cases {
        let place = daemon();
        let run = place.run(&format!("{JOB}\n{job}\n{more}"));
        assert_eq!(run.status, status, "{more}: {}", run.stderr);
        if status == 114 {
            assert_eq!(events(&place), ["000", "004", "012"], "{}", log(&place));
        }
    }
}

/// A real schedd has run this job three times.
#[test]
fn starts_are_counted_in_the_queue_and_the_starter_of_a_run_knows_those_before() {
    let place = local().option(&["--until", "5"]);
    let ad = "NumJobStarts = 0\nNumJobCompletions = 0\nOnExitRemove = NumJobStarts >= 2";
    let run = place.run(&format!("{JOB}\n{}\n{ad}", shell("echo ran >> runs; exit 1")));
    assert_eq!(std::fs::read_to_string(place.path("iwd/runs")).unwrap().lines().count(), 3, "{}", run.stderr);
    assert!(run.has("JobStatus = 4") && run.has("NumJobStarts = 3"), "{}\n{}", run.ad, run.stderr);
}

#[test]
fn max_retries_limits_a_local_job_that_25_14_runs_forever() {
    let policy = "JobMaxRetries = 2\nOnExitRemove = NumJobCompletions > JobMaxRetries || ExitCode is 0\nNumJobCompletions = 0";
    for (quirks, runs, status) in [("none", 3, "JobStatus = 4"), ("reference", 5, "JobStatus = 1")] {
        let place = local().option(&["--until", "5", "--quirks", quirks]);
        let run = place.run(&format!("{JOB}\n{}\n{policy}", shell("echo ran >> runs; exit 1")));
        let ran_so_often = std::fs::read_to_string(place.path("iwd/runs")).unwrap().lines().count();
        assert_eq!(ran_so_often, runs, "{quirks}: {}", run.stderr);
        assert!(run.has(status), "{quirks}: {}", run.ad);
        assert!(
            run.has(&format!("NumJobCompletions = {}", if quirks == "none" { 3 } else { 0 })),
            "{}",
            run.ad
        );
        let report_count = run.stderr.matches("(local-completions-uncounted)").count();
        assert_eq!(report_count, usize::from(quirks == "none"), "{}", run.stderr);
    }
}

/// The result is that of a real schedd.
#[test]
fn a_local_job_is_held_for_its_last_reason_without_exit_attributes() {
    let place = local();
    let run = place
        .run(&format!("JobUniverse = 12\nUserLog = \"log\"\nIn = \"no/in\"\nOut = \"no/out\"\n{SLEEPS}"));
    assert!(run.has("JobStatus = 5") && run.has("HoldReasonCode = 7"), "{}\n{}", run.ad, run.stderr);
    assert!(run.ad.contains("as standard output"), "{}", run.ad);
    assert!(log(&place).contains("as standard input"), "{}", log(&place));
    let place = local();
    let ad = "ExitBySignal = false\nOnExitHold = ExitSignal is 11\nNumJobStarts = 0";
    let run = place.run(&format!("{JOB}\n{}\n{ad}", shell("kill -SEGV $$")));
    assert!(run.has("JobStatus = 5") && run.has("HoldReasonCode = 3"), "{}\n{}", run.ad, run.stderr);
    assert!(run.has("ExitBySignal = false") && !run.ad.contains("\nExitSignal = "), "{}", run.ad);
    assert!(run.has("NumJobStarts = 1"), "{}", run.ad);
}
