//! Tests of the effects of policies and related parameters in an emulated queue.

use nix::sys::signal::Signal;

use crate::support::place::{Place, RunResult, read_fifo, send, shell};

const SLEEPS: &str = "Cmd = \"/bin/sleep\"\nArguments = \"600\"";
/// Expression that is true once the job has started.
const RUNS: &str = "NumJobStarts > 0";

fn queue() -> Place {
    Place::new().option(&["--as", "shadow"]).parameter("PERIODIC_EXPR_INTERVAL = 1")
}

fn run(place: &Place, job: &str) -> RunResult {
    place.run(&format!("JobUniverse = 5\nShouldTransferFiles = \"NO\"\nUserLog = \"log\"\n{job}"))
}

fn log(place: &Place) -> String {
    std::fs::read_to_string(place.path("iwd/log")).unwrap_or_default()
}

fn assert_has(run: &RunResult, lines: &[&str]) {
    for line in lines {
        assert!(run.has(line), "{line}: {}\n{}", run.ad, run.stderr);
    }
}

#[test]
fn a_parameter_that_prevents_every_run_is_reported_first() {
    for name in [
        "STARTER_UPDATE_INTERVAL",
        "POLLING_INTERVAL",
        "PID_SNAPSHOT_INTERVAL",
        "MAX_TRANSFER_INPUT_MB",
        "MAX_REMAP_RECURSIONS",
        "PERIODIC_EXPR_INTERVAL",
        "SYSTEM_MAX_RELEASES",
        "MachineMaxVacateTime",
        "GRACEFULLY_REMOVE_JOBS",
    ] {
        let place = queue().parameter(&format!("{name} = x"));
        let job = format!(
            "{}\nJobUniverse = 5\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nUserLog = \"log\"",
            shell("echo")
        );
        let run = place.run(&job);
        assert_eq!(run.status, 3, "{name}: {}", run.stderr);
        assert!(run.stderr.contains(name), "{}", run.stderr);
        assert!(run.ad.is_empty() && log(&place).is_empty(), "{name}: {}{}", run.ad, log(&place));
    }
}

#[test]
fn an_invalid_policy_of_the_configuration_is_named() {
    let place = queue().parameter(
        "SYSTEM_PERIODIC_HOLD = (((\nSYSTEM_PERIODIC_REMOVE_NAMES = A\nSYSTEM_PERIODIC_REMOVE_A = 1 +",
    );
    let result = run(&place, &shell("exit 0"));
    assert_eq!(result.status, 0, "{}", result.stderr);
    for name in ["SYSTEM_PERIODIC_HOLD", "SYSTEM_PERIODIC_REMOVE_A"] {
        assert!(result.stderr.contains(&format!("{name} is not a valid expression")), "{}", result.stderr);
    }
}

#[test]
fn limits_of_transfers_may_be_expressions_over_the_job() {
    let place = queue()
        .parameter("MAX_TRANSFER_OUTPUT_MB = RequestMemory / 64\nMAX_TRANSFER_INPUT_MB = RequestMemory");
    let job = |memory: u32| {
        format!(
            "{}\nJobUniverse = 5\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\n\
             RequestMemory = {memory}",
            shell("head -c 1500000 /dev/zero > big")
        )
    };
    assert_has(&place.run(&job(64)), &["JobStatus = 5", "HoldReasonCode = 33"]);
    assert_has(&place.run(&job(128)), &["JobStatus = 4"]);
}

#[test]
fn a_remove_policy_after_the_end_completes_the_job() {
    for policy in [
        "PeriodicRemove = ExitCode is 3",
        "TimerRemove = 1",
        "PeriodicRemove = ExitCode is 3\nOnExitHold = true",
    ] {
        let place = Place::new().option(&["--as", "shadow"]).parameter("PERIODIC_EXPR_INTERVAL = 0");
        let result = run(&place, &format!("{}\n{policy}", shell("exit 3")));
        assert_has(&result, &["JobStatus = 4", "ExitCode = 3", "TerminationPending = true"]);
        assert!(log(&place).contains("\n005 (") && !log(&place).contains("\n009 ("), "{}", log(&place));
    }
}

#[test]
fn a_job_is_vacated_with_the_codes_of_the_policy_before_it_is_held() {
    let both = format!("{SLEEPS}\nPeriodicHold = {RUNS}\nPeriodicVacate = {RUNS}\nPeriodicVacateSubCode = 7");
    let result = run(&queue(), &both);
    assert_has(&result, &["JobStatus = 1", "VacateReasonCode = 1000", "VacateReasonSubCode = 7"]);
    let place =
        queue().parameter(&format!("SYSTEM_PERIODIC_VACATE = {RUNS}\nSYSTEM_PERIODIC_VACATE_SUBCODE = 9"));
    let result = run(&place, SLEEPS);
    assert_has(&result, &["JobStatus = 1", "VacateReasonCode = 1001", "VacateReasonSubCode = 9"]);
    assert!(log(&place).contains("Job was evicted. Code 1001 Subcode 9\n"), "{}", log(&place));
}

#[test]
fn a_job_without_graceful_removal_is_killed_at_once() {
    let deaf = shell("trap : TERM; echo up > pipe; while :; do sleep 600 & wait; done");
    for (parameter, more, signal) in [
        ("GRACEFULLY_REMOVE_JOBS = false", "", 9),
        ("", "WantGracefulRemoval = false", 9),
        ("GRACEFULLY_REMOVE_JOBS = false", "WantGracefulRemoval = true", 15),
    ] {
        let place = queue().parameter(parameter);
        let job = if signal == 9 { &deaf } else { SLEEPS };
        let pipe = (signal == 9).then(|| place.pipe());
        let told = format!("{job}\nPeriodicRemove = {RUNS}\n{more}");
        let ad = format!("JobUniverse = 5\nShouldTransferFiles = \"NO\"\n{told}");
        let child = place.start(&ad);
        pipe.iter().for_each(|pipe| drop(read_fifo(pipe)));
        let run = place.finish(child);
        assert_has(&run, &["JobStatus = 3", &format!("ExitSignal = {signal}")]);
    }
}

#[test]
fn the_queue_ad_counts_committed_time_and_has_no_starter_attributes() {
    let place = queue();
    let pipe = place.pipe();
    let ad = format!(
        "JobUniverse = 5\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\n\
         Out = \"out\"\nErr = \"err\"\nUserLog = \"log\"\n{}",
        shell(&format!("echo up > {}; exec sleep 600", pipe.display()))
    );
    let child = place.start(&ad);
    read_fifo(&pipe);
    send(&child, Signal::SIGTSTP);
    crate::support::waiting::wait_until("event 010", || log(&place).contains("\n010 ("));
    send(&child, Signal::SIGCONT);
    crate::support::waiting::wait_until("event 011", || log(&place).contains("\n011 ("));
    send(&child, Signal::SIGTERM);
    let run = place.finish(child);
    assert_has(&run, &["LastSuspensionTime = 0", "TotalSuspensions = 1"]);
    for name in ["CumulativeSuspensionTime", "CumulativeSlotTime", "StatsLifetimeStarter"] {
        assert!(run.ad.contains(&format!("\n{name} = ")), "{name}: {}", run.ad);
    }
    // A shadow does not send these attributes to the queue.
    for name in ["UncommittedSuspensionTime", "ShadowBday", "JobLastCheckpointTime"] {
        assert!(!run.ad.contains(&format!("\n{name} = ")), "{name}: {}", run.ad);
    }
    let place = queue();
    let run = place.run(&ad.replace(&format!("echo up > {}; exec sleep 600", pipe.display()), "exit 0"));
    assert_has(&run, &["JobStatus = 4", "TerminationPending = true"]);
    let expected =
        ["CommittedTime", "CommittedSlotTime", "JobFinishedHookDone", "StdoutMtime", "StderrMtime"];
    for name in expected {
        assert!(run.ad.contains(&format!("{name} = ")), "{name}: {}", run.ad);
    }
    for name in ["JobState", "JobPid", "NumPids", "JobDuration", "StatsLifetime"] {
        assert!(!run.ad.lines().any(|line| line.starts_with(&format!("{name} = "))), "{name}: {}", run.ad);
    }
}

#[test]
fn checkpoints_are_numbered() {
    let place = queue();
    let run = place.run(&format!(
        "JobUniverse = 5\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\n\
         WantFTOnCheckpoint = true\nSuccessCheckpointExitCode = 85\nTransferCheckpoint = \"ck\"\n{}",
        shell("if [ -f ck ]; then exit 0; else echo > ck; exit 85; fi")
    ));
    assert_has(&run, &["JobStatus = 4", "CheckpointNumber = 0"]);
    assert!(run.ad.contains("\nCommittedTime = "), "{}", run.ad);
}

/// As in a schedd's starter, a failed upload is a temporary failure (`VanillaProc::restartCheckpointedJob`).
#[test]
fn a_job_continues_from_its_checkpoint_without_file_transfer_too() {
    let place = queue();
    let more = "WantFTOnCheckpoint = true\nSuccessCheckpointExitCode = 85";
    let steps = "cd $_CONDOR_SCRATCH_DIR; echo >> steps; [ $(wc -l < steps) = 3 ] || exit 85";
    let result = run(&place, &format!("{}\n{more}", shell(steps)));
    assert_eq!(result.status, 0, "{}", result.stderr);
    assert_has(&result, &["JobStatus = 4", "ExitCode = 0"]);
    assert_eq!(result.stderr.matches("continues from its checkpoint").count(), 1, "{}", result.stderr);
    assert!(!result.stderr.contains("without a shadow"), "{}", result.stderr);
    assert_eq!(log(&place).matches("\n001 ").count(), 1, "{}", log(&place));
}

#[test]
fn holds_and_removals_are_reported_with_the_reason() {
    let hold = "OnExitHold = ExitCode == 7\nOnExitHoldReason = \"seven\"\nOnExitHoldSubCode = 42";
    let result = run(&queue(), &format!("{}\n{hold}", shell("exit 7")));
    assert!(result.stderr.contains("the job is held (code 3, subcode 42): seven\n"), "{}", result.stderr);
    let place = queue();
    let result = place.run("Iwd = \"/no/such\"\nCmd = \"/bin/true\"");
    assert_eq!(result.status, 1, "{}", result.stderr);
    assert!(
        result.stderr.contains("the job is held (code 14, subcode 2): Cannot access initial"),
        "{}",
        result.stderr
    );
    let result = run(&queue(), &format!("{SLEEPS}\nPeriodicRemove = {RUNS}"));
    assert!(
        result.stderr.contains("the job is removed: The job attribute PeriodicRemove"),
        "{}",
        result.stderr
    );
}

#[test]
fn a_job_held_or_removed_by_policy_counts_as_vacated() {
    for policy in ["PeriodicRemove", "PeriodicHold"] {
        let result = run(&queue(), &format!("{SLEEPS}\n{policy} = {RUNS}"));
        let vacated = "NumVacatesByReason = [ ClaimDeactivated = 1 ]";
        assert_has(&result, &["NumVacates = 1", vacated, "VacateReason = \"Claim deactivated\""]);
        assert!(result.ad.contains("\nLastVacateTime = "), "{policy}: {}", result.ad);
    }
}

#[test]
fn the_queue_never_gets_the_disk_usage_of_a_job_whose_post_script_failed() {
    let place = queue().parameter("STARTER_ALLOW_JOB_PRE_AND_POST_CMD = true");
    let transfers =
        "ShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false";
    let post = "PostCmd = \"/bin/false\"\nSuccessPostExitCode = 3\nOut = \"out\"\nErr = \"err\"";
    let run = place.run(&format!("JobUniverse = 5\n{}\n{transfers}\n{post}", shell("exit 0")));
    assert_has(&run, &["HoldReasonCode = 44", "PostExitCode = 1"]);
    for name in ["ScratchDirFileCount", "StdoutMtime", "StderrMtime", "ExecuteDirWasEncrypted"] {
        assert!(!run.ad.contains(&format!("\n{name} = ")), "{name}: {}", run.ad);
    }
}

#[test]
fn invalid_daemon_ids_are_refused() {
    for (ids, text) in [
        ("abc", "CONDOR_IDS is 'abc'"),
        ("99999", "CONDOR_IDS is '99999'"),
        ("4000000.4000000", "no account of this machine has the uid 4000000"),
    ] {
        let place = Place::new().parameter(&format!("CONDOR_IDS = {ids}"));
        let run = place.run(&shell("exit 0"));
        assert_eq!(run.status, 3, "{}", run.stderr);
        assert!(run.stderr.contains(text) && run.ad.is_empty(), "{}", run.stderr);
    }
    let mut place = Place::new();
    place.environment.push(("CONDOR_IDS".to_owned(), "x".to_owned()));
    let run = place.run(&shell("exit 0"));
    assert!(run.status == 3 && run.stderr.contains("CONDOR_IDS is 'x' (environment)"), "{}", run.stderr);
}

#[test]
fn a_job_with_newer_output_is_skipped_if_skip_if_dataflow_is_set() {
    let place = queue();
    let cmd = place.path("iwd/job.sh");
    crate::support::children::write_executable(&cmd, b"#!/bin/sh\necho > ran\n");
    let at = |name: &str, seconds: i64| {
        std::fs::write(place.path(name), "x").unwrap();
        let file = std::fs::File::options().write(true).open(place.path(name)).unwrap();
        let moment = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.unsigned_abs());
        file.set_modified(moment).unwrap();
    };
    at("iwd/in", 1000);
    let command = std::fs::File::options().read(true).open(&cmd).unwrap();
    command.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(900)).unwrap();
    let ad = format!(
        "JobUniverse = 5\nCmd = \"{}\"\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\n\
         TransferInput = \"in\"\nTransferOutput = \"made\"\nUserLog = \"log\"\nSkipIfDataflow = true",
        cmd.display()
    );
    at("iwd/made", 1001);
    let run = place.run(&ad);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_has(&run, &["JobStatus = 4", "ExitCode = 0", "DataflowJobSkipped = true"]);
    let events: Vec<String> = log(&place)
        .lines()
        .filter(|line| line.get(3..5) == Some(" ("))
        .map(|line| line[..3].to_owned())
        .collect();
    assert_eq!(events, ["000", "046", "005"]);
    assert!(log(&place).contains("Dataflow job was skipped.\n...\n"), "{}", log(&place));
    // A file of the same age does not count as newer.
    at("iwd/made", 1000);
    let run =
        place.run(&ad.replace("TransferOutput = \"made\"", "TransferOutput = \"made\"\nOnExitHold = true"));
    assert_has(&run, &["DataflowJobSkipped = false", "JobStatus = 5"]);
}

#[test]
fn the_access_point_uses_only_permitted_directories() {
    let place = queue();
    std::fs::create_dir(place.path("iwd/open")).unwrap();
    place.chown_to_nobody("iwd/open");
    std::fs::write(place.path("iwd/open/in"), "x").unwrap();
    std::fs::write(place.path("secret"), "x").unwrap();
    let parameter = format!("LIMIT_DIRECTORY_ACCESS = {}", place.path("iwd").display());
    let place = place.parameter(&parameter);
    let job = |input: &str, remap: &str| {
        format!(
            "JobUniverse = 5\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\n\
             TransferInput = \"{input}\"\nTransferOutput = \"made\"\nTransferOutputRemaps = \"made={remap}\"\n{}",
            shell("echo > made")
        )
    };
    let open = place.path("iwd/open").display().to_string();
    assert_has(&place.run(&job("open/in", &format!("{open}/made"))), &["JobStatus = 4"]);
    let secret = place.path("secret").display().to_string();
    let run = place.run(&job(&secret, &format!("{open}/made")));
    assert_has(&run, &["JobStatus = 5", "HoldReasonCode = 13"]);
    assert!(run.ad.contains("(errno 13) Permission denied"), "{}", run.ad);
    let outside = tempfile::tempdir().unwrap();
    std::fs::set_permissions(outside.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let run = place.run(&job("open/in", &format!("{}/made", outside.path().display())));
    assert_has(&run, &["JobStatus = 5", "HoldReasonCode = 12"]);
    assert!(std::fs::read_dir(outside.path()).unwrap().next().is_none());
}

#[test]
fn settings_without_effect_here_are_named() {
    let result = run(&queue().parameter("RECONNECT_BACKOFF_FACTOR = 3"), &shell("exit 0"));
    let text = "RECONNECT_BACKOFF_FACTOR has no effect here: its use by the shadow is unsupported";
    assert!(result.stderr.contains(text), "{}", result.stderr);
    let result = Place::new().parameter("RECONNECT_BACKOFF_FACTOR = 3").run(&shell("exit 0"));
    assert!(
        result.stderr.contains("RECONNECT_BACKOFF_FACTOR has no effect here: it configures shadow"),
        "{}",
        result.stderr
    );
    let result = Place::new().parameter("DOCKER_RUN_AS_ROOT = true").run(&shell("exit 0"));
    assert!(result.stderr.contains("it configures a starter built with"), "{}", result.stderr);
    let place = Place::new().option(&["--param", "RUN_FILETRANSFER_PLUGINS_WITH_ROOT=true"]);
    let result = place.run(&shell("exit 0"));
    assert!(
        result.stderr.contains("(command line)") && !result.stderr.contains("<Over>"),
        "{}",
        result.stderr
    );
}

/// A real pool also holds such a job at the first update of its starter.
#[test]
fn periodic_policies_are_evaluated_at_each_update_of_the_starter() {
    for (policy, code) in
        [("PeriodicHold = JobCurrentStartExecutingDate > 0", 3), ("AllowedExecuteDuration = 0", 47)]
    {
        // The interval of policies is still one minute.
        let place = queue().parameter("STARTER_INITIAL_UPDATE_INTERVAL = 2");
        let result = run(&place, &format!("{}\n{policy}", shell("exec sleep 600")));
        let code = format!("HoldReasonCode = {code}");
        assert_has(&result, &["JobStatus = 5", &code]);
        assert!(!result.ad.contains("\nExitCode = "), "{}", result.ad);
    }
    // The first update comes before the job starts to run.
    let result = run(&queue(), &format!("{}\nPeriodicRemove = JobStatus == 2", shell("exec sleep 600")));
    assert_has(&result, &["JobStatus = 3"]);
}

/// HTCondor's `test_shadow_hook.py` expects the same result.
#[test]
fn a_shadow_hook_that_requeues_the_job_is_a_shadow_exception() {
    let reported = "SHADOW_PREPARE_JOB (SHADOW_PREPARE_JOB) failed (reported status 390): Kinda bad";
    let cases = [
        ("cat > /dev/null; echo HookStatusCode = 390; echo 'HookStatusMessage = \"Kinda bad\"'", reported),
        (
            "exec /no/such/program",
            "SHADOW_PREPARE_JOB (SHADOW_PREPARE_JOB) failed (exited with status 127): <no message>",
        ),
        ("cat > /dev/null; exec sleep 600", "Submit-side job hook execution timed out"),
    ];
    for (script, message) in cases {
        let place = queue()
            .hook("SHADOW_PREPARE_JOB", script)
            .parameter("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_SHADOW_PREPARE_JOB_TIMEOUT = 2");
        let result = run(&place, &format!("{}\nNumVacates = 0", shell("exit 0")));
        if message.contains("127") {
            assert_has(&result, &["JobStatus = 5", "HoldReasonCode = 48"]);
            continue;
        }
        let (last, reason) = (
            format!("LastShadowException = \"{message}\""),
            format!("VacateReason = \"Shadow Exception: {message}\""),
        );
        let codes = ["JobStatus = 1", "VacateReasonCode = 1002", "VacateReasonSubCode = 0", "NumVacates = 1"];
        assert_has(&result, &codes);
        assert_has(&result, &[&last, &reason, "NumVacatesPreExecution = 1"]);
        assert_has(&result, &["NumVacatesByReason = [ ShadowException = 1 ]"]);
        assert!(result.ad.contains("\nLastVacateTime = "), "{}", result.ad);
        let text = format!(
            " Shadow exception!\n\t{message}\n\t0  -  Run Bytes Sent By Job\n\t0  -  Run Bytes Received By Job\n..."
        );
        let log = log(&place);
        assert!(log.contains("\n007 (007.001.000) ") && log.contains(&text), "{log}\n{}", result.stderr);
        assert!(!log.contains("\n004 ") && !log.contains("\n021 "), "{log}");
    }
}
