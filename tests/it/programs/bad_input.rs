//! Tests of faults of hooks, configuration and disk in `htc-slot-run`: each gives a clear message, and the event loop continues.

use std::process::{Command, Stdio};

use crate::support::point::Point;

const JOB: &str = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";

/// Creates an execution point whose slot 1 has working hooks and a job, while slot 2 calls the hook `bad`.
fn beside_a_good_slot() -> Point {
    Point::new()
        .parameter("NUM_SLOTS_TYPE_1 = 2")
        .parameter("SLOT_TYPE_1 = 50%")
        .parameter("SLOT2_JOB_HOOK_KEYWORD = BAD")
        .parameter("BAD_HOOK_FETCH_WORK = $(CONFIG_ROOT)/hooks/bad")
        .job("1", JOB)
}

fn goes_on(point: &Point, output: &str) {
    check_good_slot(point, 0, output);
}

/// Checks that the job of slot 1 succeeds, that the message is printed, and the exit status. `status` is 1 if a hook could not be
/// called, because it is then unknown whether there was work.
fn check_good_slot(point: &Point, status: i32, output: &str) {
    let run = point.run();
    assert_eq!(run.status, Some(status), "{}", run.stderr);
    assert!(run.stderr.contains(output), "'{output}' is not in\n{}", run.stderr);
    assert_eq!(
        run.count(&[("event", "job"), ("slot", "slot1"), ("verdict", "succeeded")]),
        1,
        "{}",
        run.stderr
    );
}

#[test]
fn a_missing_hook_is_named() {
    check_good_slot(&beside_a_good_slot(), 1, "hooks/bad' refused: No such file or directory");
}

#[test]
fn a_keyword_without_any_definition_is_named() {
    let point = beside_a_good_slot().parameter("SLOT2_JOB_HOOK_KEYWORD = NOPE");
    goes_on(&point, "slot2 has the keyword NOPE, but NOPE_HOOK_FETCH_WORK is not defined");
}

#[test]
fn slots_without_a_keyword_are_reported() {
    let run = Point::new().parameter("STARTD_JOB_HOOK_KEYWORD =").run();
    assert_eq!(run.status, Some(0));
    assert!(run.stderr.contains("set STARTD_JOB_HOOK_KEYWORD"), "{}", run.stderr);
}

#[test]
fn a_hundred_megabytes_of_output_are_truncated_and_reported() {
    let hook = "#!/bin/sh\nyes 'A = 1' | head -c 100000000\n";
    goes_on(&beside_a_good_slot().hook("bad", hook), "longer than PIPE_BUFFER_MAX, 10240 bytes");
    // Nothing reads the output of the other hooks.
    let noisy = "#!/bin/sh\ncat > /dev/null\nhead -c 100000000 /dev/zero\n: > \"$HOME/out/done\"\n";
    let run = Point::new().job("1", JOB).hook("reply", noisy).hook("evict", noisy).run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
}

/// The ad is larger than a pipe's buffer, but the program must not wait until the hook reads it.
#[test]
fn an_ad_that_the_hook_does_not_read_blocks_nothing() {
    let deaf = "#!/bin/sh\nsleep 0.3\n";
    let point = beside_a_good_slot()
        .hook("bad", deaf)
        .hook("reply", deaf)
        .hook("evict", deaf)
        .parameter("STARTD_ATTRS = BIG")
        .parameter(&format!("BIG = \"{}\"", "x".repeat(300_000)));
    goes_on(&point, "slot2: verdict FETCH_WORK: no work");
}

#[test]
fn events_lost_on_a_full_disk_are_reported_once_and_work_continues() {
    let point = Point::new().job("1", JOB);
    let mut command = point.command();
    std::os::unix::fs::symlink("/dev/full", point.path("events")).unwrap();
    let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert_eq!(stderr.matches("No space left on device").count(), 1, "{stderr}");
    assert!(stderr.contains("job 1.0: succeeded"), "{stderr}");
}

/// The disk with the starter's directory is full: the job is lost, which is reported and determines the exit status. A journal is
/// stored on another disk.
#[test]
fn a_full_disk_fails_the_job_and_not_the_event_loop() {
    let point = Point::new().job("1", JOB).job("2", JOB);
    let open_to_all = point.path("log/htc-slot-run");
    std::fs::create_dir_all(&open_to_all).unwrap();
    std::fs::set_permissions(&open_to_all, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    std::fs::create_dir(point.path("tiny")).unwrap();
    let ours = point.command();
    let mount = "mount -t tmpfs -o size=16k none \"$0\" && mkdir -m 1777 \"$0/d\" && \
                 head -c 100000 /dev/zero > \"$0/fill\" 2>/dev/null; export TMPDIR=\"$0/d\"; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", mount]).arg(point.path("tiny")).arg(ours.get_program());
    command.args(ours.get_args()).env_clear();
    command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if !Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success()) {
        println!("skipped: no mount namespace can be made here");
        return;
    }
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let run = point.end(child);
    assert_eq!(run.status, Some(1), "{}", run.stderr);
    let expected = [("event", "warning"), ("reason", "tiny/d/htc-slot-run.")];
    assert_eq!(run.count(&expected), 2, "{}", run.stderr);
    assert!(run.stderr.contains("No space left on device"), "{}", run.stderr);
    assert_eq!(run.count(&[("event", "verdict"), ("verdict", "no work")]), 1, "{}", run.stderr);
}

/// `htc-hook-test fetch` reports the same attributes.
#[test]
fn attributes_without_effect_in_fetched_jobs_are_reported_once() {
    let job = |id: u32| {
        format!(
            "ClusterId = {id}\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\nRequirments = true\nIwd = 3\n"
        )
    };
    let run = Point::new().job("1", &job(1)).job("2", &job(2)).run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    for said in
        ["FETCH_WORK: no daemon reads Requirments; did you mean Requirements?", "Iwd must be a string"]
    {
        assert_eq!(run.stderr.matches(said).count(), 1, "{said}: {}", run.stderr);
    }
}

/// Regression test: only settings in the site's own files were reported, not those of templates.
#[test]
fn unsupported_settings_of_a_template_are_named() {
    let run = Point::new().parameter("use POLICY : UWCS_DESKTOP").run();
    let warning = run.stderr.lines().find(|line| line.contains("PERIODIC_CHECKPOINT is unsupported here"));
    let warning = warning.unwrap_or_else(|| panic!("{}", run.stderr));
    assert!(warning.contains("use POLICY:UWCS_DESKTOP"), "{warning}");
}
