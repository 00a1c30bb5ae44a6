//! Tests of each reason for which a job is held or refused, with its code or message.

use std::fs;

use crate::support::place::{Place, shell};

/// Creates an emulated access point that evaluates policies every second.
fn queue() -> Place {
    Place::new().option(&["--as", "shadow"]).parameter("PERIODIC_EXPR_INTERVAL = 1")
}

/// Reason for a hold: lines of the ad, the configuration, the code and its subcode.
type Cause = (&'static str, &'static str, i64, i64);

const HERE: &str = "ShouldTransferFiles = \"NO\"";
const SENT: &str =
    "ShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false";

fn held(place: &Place, ad: &str, code: i64, subcode: i64) {
    let run = place.run(ad);
    let output = format!("{ad}:\n{}{}", run.ad, run.stderr);
    assert!(run.has("JobStatus = 5"), "{output}");
    assert!(run.has(&format!("HoldReasonCode = {code}")), "{output}");
    assert!(run.has(&format!("HoldReasonSubCode = {subcode}")), "{output}");
    assert!(run.ad.contains("HoldReason = \""), "{output}");
    assert!(run.left.is_empty(), "{:?} {output}", run.left);
}

#[test]
fn a_job_with_bad_files_or_program_is_held_with_its_code() {
    let causes: [Cause; 7] = [
        ("Cmd = \"/no/such\"", "", 6, 2),
        ("Out = \"/no/such/out\"", "", 7, 2),
        ("In = \"/no/such\"", "", 8, 2),
        ("SENT\nTransferOutput = \"none\"", "", 12, 2),
        ("SENT\nTransferInput = \"none\"", "", 13, 2),
        ("Iwd = \"/no/such\"", "", 14, 2),
        (
            "SENT\nCheckpointExitCode = 85\nSuccessCheckpointExitCode = 85\nWantFTOnCheckpoint = true\nTransferCheckpoint = \"none\"\nArguments = \"-c 'exit 85'\"",
            "",
            36,
            -1,
        ),
    ];
    for (ad, parameter, code, subcode) in causes {
        let transfer = if ad.starts_with("SENT") { SENT } else { HERE };
        let ad = format!("{}\n{transfer}\n{}", shell("exit 0"), ad.replace("SENT\n", ""));
        held(&queue().parameter(parameter), &ad, code, subcode);
    }
}

#[test]
fn a_job_held_by_a_policy_has_the_code_of_the_policy() {
    let causes: [Cause; 6] = [
        ("OnExitHold = true\nOnExitHoldSubCode = 7", "", 3, 7),
        ("PeriodicHold = true", "", 3, 0),
        ("DeferralTime = 5", "", 20, 0),
        ("ExitCode = 0", "SYSTEM_PERIODIC_HOLD = true", 26, 0),
        ("AllowedJobDuration = 1", "", 46, 0),
        ("AllowedExecuteDuration = 1", "", 47, 0),
    ];
    for (ad, parameter, code, subcode) in causes {
        let script = if ad.starts_with("OnExit") { "exit 0" } else { "exec sleep 600" };
        held(&queue().parameter(parameter), &format!("{}\n{HERE}\n{ad}", shell(script)), code, subcode);
    }
}

#[test]
fn a_job_with_failed_hooks_or_scripts_is_held_with_their_code() {
    let ad = format!("{}\n{HERE}", shell("exit 0"));
    held(&queue().hook("PREPARE_JOB", "exit 3"), &ad, 19, 3);
    held(&queue().hook("PREPARE_JOB_BEFORE_TRANSFER", "exit 4"), &ad, 19, 4);
    let shadow = "SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM";
    held(&queue().hook("SHADOW_PREPARE_JOB", "exit 5").parameter(shadow), &ad, 48, 5);
    let scripts = "STARTER_ALLOW_JOB_PRE_AND_POST_CMD = true";
    for (when, code) in [("Pre", 43), ("Post", 44)] {
        let ad = format!("{ad}\n{when}Cmd = \"/bin/false\"\nSuccess{when}ExitCode = 0");
        held(&queue().parameter(scripts), &ad, code, 0);
    }
}

#[test]
fn a_refused_job_has_a_reason() {
    let root = nix::unistd::geteuid().is_root();
    let place = || Place::new().with_recording_hooks();
    let refused = |place: Place, ad: &str, reason: &str| {
        let run = place.run(ad);
        let output = format!("{ad}:\n{}{}", run.ad, run.stderr);
        assert!(run.status == 1 && run.stderr.contains(reason), "{reason}: {output}");
        assert!(!place.path("iwd/out").exists() && run.left.is_empty(), "{output}");
    };
    let job = format!("{}\nOut = \"out\"", shell("exit 0"));
    refused(place(), "Out = \"out\"", "the job ad has no string Cmd: nothing to run");
    refused(place(), &format!("{job}\nJobUniverse = 9"), "JobUniverse 9 (Grid)");
    refused(place(), &format!("{job}\nJobUniverse = 11"), "JobUniverse 11 (Parallel)");
    let hook = "FARM_HOOK_UPDATE_JOB_INFO = /no/such";
    refused(Place::new().parameter(hook), &job, "FARM_HOOK_UPDATE_JOB_INFO cannot be used");
    let late = "FARM_HOOK_JOB_EXIT_TIMEOUT = soon";
    refused(place().parameter(late), &job, "FARM_HOOK_JOB_EXIT_TIMEOUT cannot be used");
    let bad = format!("{job}\nShouldTransferFiles = \"PERHAPS\"");
    refused(place().option(&["--as", "shadow"]), &bad, "file transfer: ");
    if root {
        refused(place(), &format!("{job}\nUser = undefined"), "neither OsUser nor User");
        refused(place(), &format!("{job}\nUser = \"no-such-user@x\""), "no-such-user");
        refused(place(), &format!("{job}\nUser = \"root@x\""), "User is 'root', which is root");
    }
    let wrong = place().parameter(
        "STARTER_NUM_THREADS_ENV_VARS = x\nJOB_RENICE_INCREMENT = 5\nPID_SNAPSHOT_INTERVAL = soon",
    );
    let run = wrong.run(&job);
    assert!(run.status == 3 && run.stderr.contains("PID_SNAPSHOT_INTERVAL"), "{}", run.stderr);
    assert!(!fs::exists(wrong.path("iwd/out")).unwrap());
}
