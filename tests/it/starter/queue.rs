//! Tests of an emulated queue: reasons to hold a job before it runs, and messages about jobs that remain in the queue.

use crate::support::place::{Place, RunResult, read_fifo, send, shell};

fn run(place: &Place, script: &str, more: &str) -> RunResult {
    place.run(&format!(
        "{}\nShouldTransferFiles = \"NO\"\nJobUniverse = 5\nUserLog = \"log\"\nOut = \"out\"\n{more}",
        shell(script)
    ))
}

fn queue() -> Place {
    Place::new().option(&["--as", "shadow"])
}

#[test]
fn a_job_gets_its_requested_group_if_its_owner_is_a_member() {
    if !nix::unistd::geteuid().is_root() {
        let result = run(&queue(), "exit 0", "PrimaryUnixGroup = \"nogroup\"");
        assert!(result.stderr.contains("PrimaryUnixGroup needs root"), "{}", result.stderr);
        return;
    }
    let place = queue();
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    let own = nix::unistd::Group::from_gid(nobody.gid).unwrap().unwrap().name;
    let result = run(&place, "id -g", &format!("PrimaryUnixGroup = \"{own}\""));
    assert!(result.has("JobStatus = 4"), "{}\n{}", result.ad, result.stderr);
    assert_eq!(std::fs::read_to_string(place.path("iwd/out")).unwrap(), format!("{}\n", nobody.gid));
    for group in ["root", "no-such-group", "", "a\nb"] {
        let place = queue().with_recording_hooks();
        let result = run(&place, "exit 0", &format!("PrimaryUnixGroup = \"{}\"", group.replace('\n', "\\n")));
        assert!(
            result.has("JobStatus = 5") && result.has("HoldReasonCode = 49"),
            "{group}: {}\n{}",
            result.ad,
            result.stderr
        );
        assert_eq!(result.calls, "");
        let log = std::fs::read_to_string(place.path("iwd/log")).unwrap();
        assert!(
            log.contains("\tCode 49 Subcode 0\n") && log.lines().all(|line| !line.starts_with("001 (")),
            "{log}"
        );
    }
}

#[test]
fn remaining_tries_and_attributes_without_effect_are_reported() {
    let policy = "JobMaxRetries = 2\nOnExitRemove = NumJobCompletions > JobMaxRetries || ExitCode =?= 0";
    let result = run(&queue(), "exit 3", policy);
    assert!(result.has("JobStatus = 1"), "{}", result.ad);
    assert!(
        result.stderr.contains("(OnExitRemove is not true, try 1 of 3); --until done would run it again"),
        "{}",
        result.stderr
    );
    let result = run(&queue().option(&["--until", "done"]), "exit 3", policy);
    assert!(
        result.has("JobStatus = 4") && result.has("NumJobCompletions = 3"),
        "{}\n{}",
        result.ad,
        result.stderr
    );
    let result = run(&queue(), "exit 3", "JobMaxRetries = 2");
    assert!(result.has("JobStatus = 4"), "{}", result.ad);
    assert!(result.stderr.contains("JobMaxRetries alone has no effect"), "{}", result.stderr);
}

#[test]
fn a_killed_shadow_hook_is_waited_for_and_its_output_reported() {
    let place = queue()
        .hook("SHADOW_PREPARE_JOB", "echo waiting >&2; echo > $CALLS.up; exec sleep 600")
        .parameter("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM");
    let pipe = place.pipe();
    std::fs::rename(pipe, place.path("iwd/calls.up")).unwrap();
    let ad = format!("{}\nShouldTransferFiles = \"NO\"", shell("exit 0"));
    let child = place.start(&ad);
    read_fifo(&place.path("iwd/calls.up"));
    send(&child, nix::sys::signal::Signal::SIGTERM);
    let run = place.finish(child);
    assert!(
        run.stderr.contains("it was asked to end; it printed on standard error: waiting"),
        "{}",
        run.stderr
    );
    assert!(run.left.is_empty());
}

/// Returns the commands of a hook that appends its input to a file in Iwd.
fn noting(place: &Place, file: &str) -> String {
    format!("cat >> {}", place.path("iwd").join(file).display())
}

#[test]
fn hooks_get_the_place_of_the_job_and_its_original_paths() {
    let place = queue();
    let (update, exit) = (noting(&place, "updates"), noting(&place, "exit"));
    let place = place.hook("UPDATE_JOB_INFO", &update).hook("JOB_EXIT", &exit);
    let place = place.parameter("STARTER_UPDATE_INTERVAL = 7");
    let ad = format!(
        "{}\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\nJobUniverse = 5",
        shell("exit 0")
    );
    let run = place.run(&ad);
    assert!(run.has("JobStatus = 4"), "{}\n{}", run.ad, run.stderr);
    let read = |file: &str| std::fs::read_to_string(place.path("iwd").join(file)).unwrap();
    let (updates, exit) = (read("updates"), read("exit"));
    for longest in ["-1", "70"] {
        let line = format!("_condor_JOBINFO_MAXINTERVAL = {longest}\n");
        assert_eq!(updates.matches(&line).count(), 1, "{updates}");
    }
    assert_eq!(updates.matches("CondorScratchDir = \"").count(), 2, "{updates}");
    let iwd = format!("OrigIwd = \"{}\"\n", place.path("iwd").display());
    assert!(exit.contains("OrigCmd = \"/bin/sh\"\n") && exit.contains(&iwd), "{exit}");
    for told_to_the_shadow in ["CondorScratchDir", "ExecuteDirWasEncrypted", "ScratchDirFileCount"] {
        assert!(!exit.contains(told_to_the_shadow), "{exit}");
    }
    assert!(
        run.has("ExecuteDirWasEncrypted = false") && run.ad.contains("ScratchDirFileCount = "),
        "{}",
        run.ad
    );
}

#[test]
fn the_exit_hook_of_a_vacated_job_gets_the_startds_reason() {
    let place = queue();
    let exit = noting(&place, "exit");
    let place = place.hook("JOB_EXIT", &exit).parameter("PERIODIC_EXPR_INTERVAL = 1");
    let result = run(&place, "exec sleep 600", "PeriodicHold = JobStatus == 2");
    assert!(
        result.has("JobStatus = 5") && result.has("HoldReasonCode = 3"),
        "{}\n{}",
        result.ad,
        result.stderr
    );
    let exit = std::fs::read_to_string(place.path("iwd/exit")).unwrap();
    assert!(exit.contains("VacateReason = \"Claim deactivated\"\nVacateReasonCode = 1009\n"), "{exit}");
}

#[test]
fn a_prepare_hook_that_requeues_the_job_gives_no_subcode() {
    for (script, how) in
        [("echo HookStatusCode = 300", "reported status 300"), ("kill -KILL $$", "died with signal 9")]
    {
        let place = queue().hook("PREPARE_JOB", script);
        let result = run(&place, "exit 0", "");
        assert!(
            result.has("JobStatus = 1") && result.has("VacateReasonSubCode = 0"),
            "{}\n{}",
            result.ad,
            result.stderr
        );
        let log = std::fs::read_to_string(place.path("iwd/log")).unwrap();
        assert!(log.contains("Job was evicted. Code 1007 Subcode 0\n") && log.contains(how), "{log}");
    }
}

#[test]
fn the_exit_hook_gets_hold_or_remove_after_a_policy() {
    for (policy, word, left) in [
        ("PeriodicHold = JobStatus == 2", "hold", "JobStatus = 5"),
        ("PeriodicRemove = JobStatus == 2", "remove", "JobStatus = 3"),
        // Without WantGracefulRemoval, the job gets no soft kill before the hard one.
        ("PeriodicHold = JobStatus == 2\nWantGracefulRemoval = false", "hold", "JobStatus = 5"),
        ("PeriodicVacate = JobStatus == 2", "evict", "JobStatus = 1"),
    ] {
        for quirks in ["none", "reference"] {
            let place = queue()
                .with_recording_hooks()
                .parameter("PERIODIC_EXPR_INTERVAL = 1")
                .option(&["--quirks", quirks]);
            let result = run(&place, "exec sleep 600", policy);
            let word = if quirks == "none" { word } else { "evict" };
            // The end may be requested while the prepare hook runs, so that the hook writes its line later.
            let is_called = result.calls.lines().any(|line| line == format!("exit {word}"));
            assert!(is_called, "{policy}: {}\n{}", result.calls, result.stderr);
            assert!(result.has(left), "{policy}: {}\n{}", result.ad, result.stderr);
            let stderr =
                result.stderr.contains("JOB_EXIT is called with `evict` after condor_hold and condor_rm");
            assert_eq!(stderr, word != "evict", "{policy}: {}", result.stderr);
        }
    }
}
