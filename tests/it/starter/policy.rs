//! Tests of the effects of policies and related parameters in an emulated queue.

use nix::sys::signal::Signal;

use crate::support::place::{Place, Ran, heard, send, shell};

const SLEEPS: &str = "Cmd = \"/bin/sleep\"\nArguments = \"600\"";
/// Expression that is true once the job has started.
const RUNS: &str = "NumJobStarts > 0";

fn queue() -> Place {
    Place::new().option(&["--as", "shadow"]).knob("PERIODIC_EXPR_INTERVAL = 1")
}

fn run(place: &Place, job: &str) -> Ran {
    place.run(&format!("JobUniverse = 5\nShouldTransferFiles = \"NO\"\nUserLog = \"log\"\n{job}"))
}

fn log(place: &Place) -> String {
    std::fs::read_to_string(place.path("iwd/log")).unwrap_or_default()
}

fn assert_has(ran: &Ran, lines: &[&str]) {
    for line in lines {
        assert!(ran.has(line), "{line}: {}\n{}", ran.ad, ran.told);
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
        let place = queue().knob(&format!("{name} = x"));
        let job = format!(
            "{}\nJobUniverse = 5\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nUserLog = \"log\"",
            shell("echo")
        );
        let ran = place.run(&job);
        assert_eq!(ran.status, 3, "{name}: {}", ran.told);
        assert!(ran.told.contains(name), "{}", ran.told);
        assert!(ran.ad.is_empty() && log(&place).is_empty(), "{name}: {}{}", ran.ad, log(&place));
    }
}

#[test]
fn an_invalid_policy_of_the_configuration_is_named() {
    let place = queue()
        .knob("SYSTEM_PERIODIC_HOLD = (((\nSYSTEM_PERIODIC_REMOVE_NAMES = A\nSYSTEM_PERIODIC_REMOVE_A = 1 +");
    let ran = run(&place, &shell("exit 0"));
    assert_eq!(ran.status, 0, "{}", ran.told);
    for name in ["SYSTEM_PERIODIC_HOLD", "SYSTEM_PERIODIC_REMOVE_A"] {
        assert!(ran.told.contains(&format!("{name} is not a valid expression")), "{}", ran.told);
    }
}

#[test]
fn limits_of_transfers_may_be_expressions_over_the_job() {
    let place =
        queue().knob("MAX_TRANSFER_OUTPUT_MB = RequestMemory / 64\nMAX_TRANSFER_INPUT_MB = RequestMemory");
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
        let place = Place::new().option(&["--as", "shadow"]).knob("PERIODIC_EXPR_INTERVAL = 0");
        let ran = run(&place, &format!("{}\n{policy}", shell("exit 3")));
        assert_has(&ran, &["JobStatus = 4", "ExitCode = 3", "TerminationPending = true"]);
        assert!(log(&place).contains("\n005 (") && !log(&place).contains("\n009 ("), "{}", log(&place));
    }
}

#[test]
fn a_job_is_vacated_with_the_codes_of_the_policy_before_it_is_held() {
    let both = format!("{SLEEPS}\nPeriodicHold = {RUNS}\nPeriodicVacate = {RUNS}\nPeriodicVacateSubCode = 7");
    let ran = run(&queue(), &both);
    assert_has(&ran, &["JobStatus = 1", "VacateReasonCode = 1000", "VacateReasonSubCode = 7"]);
    let place = queue().knob(&format!("SYSTEM_PERIODIC_VACATE = {RUNS}\nSYSTEM_PERIODIC_VACATE_SUBCODE = 9"));
    let ran = run(&place, SLEEPS);
    assert_has(&ran, &["JobStatus = 1", "VacateReasonCode = 1001", "VacateReasonSubCode = 9"]);
    assert!(log(&place).contains("Job was evicted. Code 1001 Subcode 9\n"), "{}", log(&place));
}

#[test]
fn a_job_without_graceful_removal_is_killed_at_once() {
    let deaf = shell("trap : TERM; echo up > pipe; while :; do sleep 600 & wait; done");
    for (knob, more, signal) in [
        ("GRACEFULLY_REMOVE_JOBS = false", "", 9),
        ("", "WantGracefulRemoval = false", 9),
        ("GRACEFULLY_REMOVE_JOBS = false", "WantGracefulRemoval = true", 15),
    ] {
        let place = queue().knob(knob);
        let job = if signal == 9 { &deaf } else { SLEEPS };
        let pipe = (signal == 9).then(|| place.pipe());
        let told = format!("{job}\nPeriodicRemove = {RUNS}\n{more}");
        let ad = format!("JobUniverse = 5\nShouldTransferFiles = \"NO\"\n{told}");
        let child = place.start(&ad);
        pipe.iter().for_each(|pipe| drop(heard(pipe)));
        let ran = place.finish(child);
        assert_has(&ran, &["JobStatus = 3", &format!("ExitSignal = {signal}")]);
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
    heard(&pipe);
    send(&child, Signal::SIGTSTP);
    crate::support::waiting::wait_until("event 010", || log(&place).contains("\n010 ("));
    send(&child, Signal::SIGCONT);
    crate::support::waiting::wait_until("event 011", || log(&place).contains("\n011 ("));
    send(&child, Signal::SIGTERM);
    let ran = place.finish(child);
    assert_has(&ran, &["LastSuspensionTime = 0", "TotalSuspensions = 1"]);
    for name in ["CumulativeSuspensionTime", "CumulativeSlotTime", "StatsLifetimeStarter"] {
        assert!(ran.ad.contains(&format!("\n{name} = ")), "{name}: {}", ran.ad);
    }
    // A shadow does not send these attributes to the queue.
    for name in ["UncommittedSuspensionTime", "ShadowBday", "JobLastCheckpointTime"] {
        assert!(!ran.ad.contains(&format!("\n{name} = ")), "{name}: {}", ran.ad);
    }
    let place = queue();
    let ran = place.run(&ad.replace(&format!("echo up > {}; exec sleep 600", pipe.display()), "exit 0"));
    assert_has(&ran, &["JobStatus = 4", "TerminationPending = true"]);
    let expected =
        ["CommittedTime", "CommittedSlotTime", "JobFinishedHookDone", "StdoutMtime", "StderrMtime"];
    for name in expected {
        assert!(ran.ad.contains(&format!("{name} = ")), "{name}: {}", ran.ad);
    }
    for name in ["JobState", "JobPid", "NumPids", "JobDuration", "StatsLifetime"] {
        assert!(!ran.ad.lines().any(|line| line.starts_with(&format!("{name} = "))), "{name}: {}", ran.ad);
    }
}

#[test]
fn checkpoints_are_numbered() {
    let place = queue();
    let ran = place.run(&format!(
        "JobUniverse = 5\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\n\
         WantFTOnCheckpoint = true\nSuccessCheckpointExitCode = 85\nTransferCheckpoint = \"ck\"\n{}",
        shell("if [ -f ck ]; then exit 0; else echo > ck; exit 85; fi")
    ));
    assert_has(&ran, &["JobStatus = 4", "CheckpointNumber = 0"]);
    assert!(ran.ad.contains("\nCommittedTime = "), "{}", ran.ad);
}

/// As in a schedd's starter, a failed upload is a temporary failure (`VanillaProc::restartCheckpointedJob`).
#[test]
fn a_job_continues_from_its_checkpoint_without_file_transfer_too() {
    let place = queue();
    let more = "WantFTOnCheckpoint = true\nSuccessCheckpointExitCode = 85";
    let steps = "cd $_CONDOR_SCRATCH_DIR; echo >> steps; [ $(wc -l < steps) = 3 ] || exit 85";
    let ran = run(&place, &format!("{}\n{more}", shell(steps)));
    assert_eq!(ran.status, 0, "{}", ran.told);
    assert_has(&ran, &["JobStatus = 4", "ExitCode = 0"]);
    assert_eq!(ran.told.matches("continues from its checkpoint").count(), 1, "{}", ran.told);
    assert!(!ran.told.contains("without a shadow"), "{}", ran.told);
    assert_eq!(log(&place).matches("\n001 ").count(), 1, "{}", log(&place));
}

#[test]
fn holds_and_removals_are_reported_with_the_reason() {
    let hold = "OnExitHold = ExitCode == 7\nOnExitHoldReason = \"seven\"\nOnExitHoldSubCode = 42";
    let ran = run(&queue(), &format!("{}\n{hold}", shell("exit 7")));
    assert!(ran.told.contains("the job is held (code 3, subcode 42): seven\n"), "{}", ran.told);
    let place = queue();
    let ran = place.run("Iwd = \"/no/such\"\nCmd = \"/bin/true\"");
    assert_eq!(ran.status, 1, "{}", ran.told);
    assert!(ran.told.contains("the job is held (code 14, subcode 2): Cannot access initial"), "{}", ran.told);
    let ran = run(&queue(), &format!("{SLEEPS}\nPeriodicRemove = {RUNS}"));
    assert!(ran.told.contains("the job is removed: The job attribute PeriodicRemove"), "{}", ran.told);
}

#[test]
fn a_job_held_or_removed_by_policy_counts_as_vacated() {
    for policy in ["PeriodicRemove", "PeriodicHold"] {
        let ran = run(&queue(), &format!("{SLEEPS}\n{policy} = {RUNS}"));
        let vacated = "NumVacatesByReason = [ ClaimDeactivated = 1 ]";
        assert_has(&ran, &["NumVacates = 1", vacated, "VacateReason = \"Claim deactivated\""]);
        assert!(ran.ad.contains("\nLastVacateTime = "), "{policy}: {}", ran.ad);
    }
}

#[test]
fn the_queue_never_gets_the_disk_usage_of_a_job_whose_post_script_failed() {
    let place = queue().knob("STARTER_ALLOW_JOB_PRE_AND_POST_CMD = true");
    let transfers =
        "ShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false";
    let post = "PostCmd = \"/bin/false\"\nSuccessPostExitCode = 3\nOut = \"out\"\nErr = \"err\"";
    let ran = place.run(&format!("JobUniverse = 5\n{}\n{transfers}\n{post}", shell("exit 0")));
    assert_has(&ran, &["HoldReasonCode = 44", "PostExitCode = 1"]);
    for name in ["ScratchDirFileCount", "StdoutMtime", "StderrMtime", "ExecuteDirWasEncrypted"] {
        assert!(!ran.ad.contains(&format!("\n{name} = ")), "{name}: {}", ran.ad);
    }
}

#[test]
fn invalid_daemon_ids_are_refused() {
    for (ids, text) in [
        ("abc", "CONDOR_IDS is 'abc'"),
        ("99999", "CONDOR_IDS is '99999'"),
        ("4000000.4000000", "no account of this machine has the uid 4000000"),
    ] {
        let place = Place::new().knob(&format!("CONDOR_IDS = {ids}"));
        let ran = place.run(&shell("exit 0"));
        assert_eq!(ran.status, 3, "{}", ran.told);
        assert!(ran.told.contains(text) && ran.ad.is_empty(), "{}", ran.told);
    }
    let mut place = Place::new();
    place.environment.push(("CONDOR_IDS".to_owned(), "x".to_owned()));
    let ran = place.run(&shell("exit 0"));
    assert!(ran.status == 3 && ran.told.contains("CONDOR_IDS is 'x' (environment)"), "{}", ran.told);
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
    let ran = place.run(&ad);
    assert_eq!(ran.status, 0, "{}", ran.told);
    assert_has(&ran, &["JobStatus = 4", "ExitCode = 0", "DataflowJobSkipped = true"]);
    let events: Vec<String> = log(&place)
        .lines()
        .filter(|line| line.get(3..5) == Some(" ("))
        .map(|line| line[..3].to_owned())
        .collect();
    assert_eq!(events, ["000", "046", "005"]);
    assert!(log(&place).contains("Dataflow job was skipped.\n...\n"), "{}", log(&place));
    // A file of the same age does not count as newer.
    at("iwd/made", 1000);
    let ran =
        place.run(&ad.replace("TransferOutput = \"made\"", "TransferOutput = \"made\"\nOnExitHold = true"));
    assert_has(&ran, &["DataflowJobSkipped = false", "JobStatus = 5"]);
}

#[test]
fn the_access_point_uses_only_permitted_directories() {
    let place = queue();
    std::fs::create_dir(place.path("iwd/open")).unwrap();
    place.give("iwd/open");
    std::fs::write(place.path("iwd/open/in"), "x").unwrap();
    std::fs::write(place.path("secret"), "x").unwrap();
    let knob = format!("LIMIT_DIRECTORY_ACCESS = {}", place.path("iwd").display());
    let place = place.knob(&knob);
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
    let ran = place.run(&job(&secret, &format!("{open}/made")));
    assert_has(&ran, &["JobStatus = 5", "HoldReasonCode = 13"]);
    assert!(ran.ad.contains("(errno 13) Permission denied"), "{}", ran.ad);
    let outside = tempfile::tempdir().unwrap();
    std::fs::set_permissions(outside.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let ran = place.run(&job("open/in", &format!("{}/made", outside.path().display())));
    assert_has(&ran, &["JobStatus = 5", "HoldReasonCode = 12"]);
    assert!(std::fs::read_dir(outside.path()).unwrap().next().is_none());
}

#[test]
fn settings_without_effect_here_are_named() {
    let ran = run(&queue().knob("RECONNECT_BACKOFF_FACTOR = 3"), &shell("exit 0"));
    let text = "RECONNECT_BACKOFF_FACTOR has no effect here: its use by the shadow is unsupported";
    assert!(ran.told.contains(text), "{}", ran.told);
    let ran = Place::new().knob("RECONNECT_BACKOFF_FACTOR = 3").run(&shell("exit 0"));
    assert!(
        ran.told.contains("RECONNECT_BACKOFF_FACTOR has no effect here: it configures shadow"),
        "{}",
        ran.told
    );
    let ran = Place::new().knob("DOCKER_RUN_AS_ROOT = true").run(&shell("exit 0"));
    assert!(ran.told.contains("it configures a starter built with"), "{}", ran.told);
    let place = Place::new().option(&["--param", "RUN_FILETRANSFER_PLUGINS_WITH_ROOT=true"]);
    let ran = place.run(&shell("exit 0"));
    assert!(ran.told.contains("(command line)") && !ran.told.contains("<Over>"), "{}", ran.told);
}

/// A real pool also holds such a job at the first update of its starter.
#[test]
fn periodic_policies_are_evaluated_at_each_update_of_the_starter() {
    for (policy, code) in
        [("PeriodicHold = JobCurrentStartExecutingDate > 0", 3), ("AllowedExecuteDuration = 0", 47)]
    {
        // The interval of policies is still one minute.
        let place = queue().knob("STARTER_INITIAL_UPDATE_INTERVAL = 2");
        let ran = run(&place, &format!("{}\n{policy}", shell("exec sleep 600")));
        let code = format!("HoldReasonCode = {code}");
        assert_has(&ran, &["JobStatus = 5", &code]);
        assert!(!ran.ad.contains("\nExitCode = "), "{}", ran.ad);
    }
    // The first update comes before the job starts to run.
    let ran = run(&queue(), &format!("{}\nPeriodicRemove = JobStatus == 2", shell("exec sleep 600")));
    assert_has(&ran, &["JobStatus = 3"]);
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
            .knob("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_SHADOW_PREPARE_JOB_TIMEOUT = 2");
        let ran = run(&place, &format!("{}\nNumVacates = 0", shell("exit 0")));
        if message.contains("127") {
            assert_has(&ran, &["JobStatus = 5", "HoldReasonCode = 48"]);
            continue;
        }
        let (last, reason) = (
            format!("LastShadowException = \"{message}\""),
            format!("VacateReason = \"Shadow Exception: {message}\""),
        );
        let codes = ["JobStatus = 1", "VacateReasonCode = 1002", "VacateReasonSubCode = 0", "NumVacates = 1"];
        assert_has(&ran, &codes);
        assert_has(&ran, &[&last, &reason, "NumVacatesPreExecution = 1"]);
        assert_has(&ran, &["NumVacatesByReason = [ ShadowException = 1 ]"]);
        assert!(ran.ad.contains("\nLastVacateTime = "), "{}", ran.ad);
        let text = format!(
            " Shadow exception!\n\t{message}\n\t0  -  Run Bytes Sent By Job\n\t0  -  Run Bytes Received By Job\n..."
        );
        let log = log(&place);
        assert!(log.contains("\n007 (007.001.000) ") && log.contains(&text), "{log}\n{}", ran.told);
        assert!(!log.contains("\n004 ") && !log.contains("\n021 "), "{log}");
    }
}
