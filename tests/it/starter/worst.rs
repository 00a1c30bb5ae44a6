//! Tests of invalid input, faulty hooks and unusual environments of `htc-starter-run`: the message is clear, the decision is that
//! of the reference, and no process or scratch directory is left behind.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use crate::support::children::is_alive;
use crate::support::place::{Place, RunResult, read_fifo, send, shell};

/// Script part of a hook that starts a process in a separate session and leaves it running, with the hook's outputs open. The
/// process id is stored in the file of pids.
const GRANDCHILD: &str =
    "setsid sh -c 'echo $$ >> $CALLS.pids; exec sleep 600' & while ! [ -s $CALLS.pids ]; do sleep 0.01; done";

/// Checks that the run left nothing behind.
fn clean(place: &Place, run: &RunResult) {
    assert!(run.left.is_empty(), "{:?}", run.left);
    for pid in fs::read_to_string(place.path("iwd/calls.pids")).unwrap_or_default().lines() {
        assert!(!is_alive(pid.trim().parse().unwrap()), "{pid} lives\n{}", run.stderr);
    }
}

fn hooks(prepare: &str, update: &str, exit: &str) -> Place {
    Place::new()
        .with_recording_hooks()
        .hook("PREPARE_JOB", prepare)
        .hook("UPDATE_JOB_INFO", update)
        .hook("JOB_EXIT", exit)
}

#[test]
fn a_job_without_a_command_or_directory_is_refused_or_fails_clearly() {
    for (ad, text) in [("Arguments = \"1\"", "no string Cmd"), ("Cmd = undefined", "no string Cmd")] {
        let place = Place::new().with_recording_hooks();
        let run = place.run(ad);
        assert_eq!((run.status, run.ad.as_str()), (1, ""), "{}", run.stderr);
        assert!(run.stderr.contains(text), "{}", run.stderr);
        assert_eq!(run.calls, "exit evict\n");
        clean(&place, &run);
    }
}

#[test]
fn output_of_hooks_is_truncated_and_the_read_part_is_used() {
    // PREPARE_JOB reads nothing and prints 100 MB. Its output is truncated, so by default it is not used.
    let flood = "echo \"Arguments = \\\"-c 'exit 3'\\\"\"; head -c 100000000 /dev/zero | tr '\\0' x 2>/dev/null; exit 0";
    let place = hooks(flood, "exec cat /dev/zero", "exec cat /dev/zero >&2")
        .parameter("FARM_HOOK_JOB_EXIT_TIMEOUT = 1");
    let run = place.run("Cmd = \"/bin/sh\"\nArguments = \"-c 'exit 2'\"");
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("answer-cut-accepted"), "{}", run.stderr);
    assert!(run.stderr.lines().all(|line| line.len() < 4000), "a message holds an excerpt alone");
    clean(&place, &run);
    let place = place.option(&["--quirks", "reference", "--job-output-ad", "-"]);
    let run = place.run(&shell("exit 2"));
    // 25.14 uses the line before the large output.
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.has("ExitCode = 3"), "{}\n{}", run.ad, run.stderr);
    clean(&place, &run);
}

#[test]
fn hooks_killed_by_a_signal_fail_only_if_their_output_is_used() {
    let place = hooks("kill -KILL $$", "kill -KILL $$", "echo exit $1 >> $CALLS; kill -KILL $$");
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!((run.status, run.calls.as_str()), (1, "exit evict\n"), "{}", run.stderr);
    assert!(run.stderr.contains("PREPARE_JOB (PREPARE_JOB) failed (died with signal 9"), "{}", run.stderr);
    clean(&place, &run);
    let place = hooks("exit 0", "kill -KILL $$", "echo exit $1 >> $CALLS; kill -KILL $$");
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!((run.status, run.calls.as_str()), (0, "exit exit\n"), "{}", run.stderr);
    clean(&place, &run);
}

#[test]
fn grandchildren_of_hooks_block_nothing_and_end_with_the_starter() {
    let hook = format!("{GRANDCHILD}; echo $1 >> $CALLS");
    let place = hooks(&hook, &hook, &hook);
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!(run.status, 0, "{}", run.stderr);
    // The starter does not wait for the last update hook, which may write its line after `exit`.
    assert!(run.calls.lines().any(|line| line == "exit"), "{}", run.calls);
    assert!(fs::read_to_string(place.path("iwd/calls.pids")).unwrap().lines().count() >= 2);
    clean(&place, &run);
}

#[test]
fn a_killed_prepare_hook_leaves_its_output_and_no_process() {
    let hook = format!("{GRANDCHILD}; echo 'HookStatusMessage=\"no image\"'; echo waiting >&2; sleep 600");
    let place = hooks(&hook, "exit 0", "echo exit $1 >> $CALLS").option(&["--hook-timeout", "0.5"]);
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!((run.status, run.calls.as_str()), (1, "exit evict\n"), "{}", run.stderr);
    assert!(run.stderr.contains("its output was: HookStatusMessage=\"no image\""), "{}", run.stderr);
    assert!(run.stderr.contains("hook stderr PREPARE_JOB job 7.1: waiting"), "{}", run.stderr);
    clean(&place, &run);
}

#[test]
fn a_successful_hook_with_error_output_has_not_failed() {
    let place = hooks("echo note >&2", "exit 0", "exit 0");
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!(run.status, 0);
    assert!(run.stderr.contains("hook stderr PREPARE_JOB job 7.1: note"), "{}", run.stderr);
    assert!(!run.stderr.contains("hook failed"), "{}", run.stderr);
}

#[test]
fn hanging_update_hooks_end_with_the_starter() {
    let place = hooks("exit 0", "echo $$ >> $CALLS.pids; exec sleep 600", "exit 0")
        .parameter("STARTER_INITIAL_UPDATE_INTERVAL = 1")
        .parameter("STARTER_UPDATE_INTERVAL = 1");
    let run = place.run(&shell("while [ $(cat calls.pids | wc -l) -lt 3 ]; do sleep 0.05; done; exit 0"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    clean(&place, &run);
}

#[test]
fn a_hook_that_closes_everything_and_reads_nothing_ends_normally() {
    let place =
        hooks("exec 0<&- 1>&- 2>&-; exit 0", "exec 0<&-; exit 0", "exec 0<&-; echo exit $1 >> $CALLS");
    let big: String = (0..20_000).map(|number| format!("Extra{number} = \"{number}\"\n")).collect();
    let run = place.run(&format!("Cmd = \"/bin/true\"\n{big}"));
    assert_eq!((run.status, run.calls.as_str()), (0, "exit exit\n"), "{}", run.stderr);
    assert!(run.has("Extra19999 = \"19999\""));
    clean(&place, &run);
}

#[test]
fn sigquit_kills_the_job_with_its_family_at_once() {
    let place = Place::new().with_recording_hooks();
    let pipe = place.pipe();
    let child = place.start(&shell(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ >> calls.pids; echo > pipe; exec sleep 600' & while :; do wait; done",
    ));
    read_fifo(&pipe);
    send(&child, Signal::SIGQUIT);
    let run = place.finish(child);
    assert!(run.has("ExitSignal = 9"), "{}\n{}", run.ad, run.stderr);
    assert!(run.calls.ends_with("exit evict\n"), "{}", run.calls);
    clean(&place, &run);
}

#[test]
fn sigquit_while_a_hook_hangs_ends_the_hook_and_starts_no_job() {
    let place =
        hooks("echo $$ >> $CALLS.pids; echo > $CALLS.up; exec sleep 600", "exit 0", "echo exit $1 >> $CALLS");
    let pipe = place.pipe();
    fs::rename(pipe, place.path("iwd/calls.up")).unwrap();
    let child = place.start("Cmd = \"/bin/true\"");
    read_fifo(&place.path("iwd/calls.up"));
    send(&child, Signal::SIGQUIT);
    let run = place.finish(child);
    assert_eq!((run.status, run.calls.as_str()), (1, "exit evict\n"), "{}", run.stderr);
    clean(&place, &run);
}

#[test]
fn closed_standard_input_is_not_a_job_and_closed_outputs_are_harmless() {
    let place = Place::new().with_recording_hooks();
    let program = env!("CARGO_BIN_EXE_htc-starter-run");
    let ad = place.path("job.ad");
    fs::write(&ad, place.complete_ad(&shell("echo job >> calls; exit 0"))).unwrap();
    let with = |script: &str| {
        let configured = place.command();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, program]).arg(&ad).current_dir(place.path("iwd"));
        configured.get_envs().for_each(|(name, value)| {
            command.env(name, value.unwrap_or_default());
        });
        command.output().unwrap()
    };
    let output = with("exec \"$0\" <&-");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("standard input"), "{stderr}");
    let output = with("exec \"$0\" --ads \"$1\" <&- >&- 2>&-");
    // It is a failure of the program that it cannot print the ad; the job and its hooks have run.
    assert_eq!(output.status.code(), Some(125), "{:?}", output.status);
    assert_eq!(fs::read_to_string(place.path("iwd/calls")).unwrap(), "prepare\njob\nexit exit\n");
    assert!(fs::read_dir(place.path("execute")).unwrap().next().is_none());
}

#[test]
fn a_full_disk_is_reported_and_nothing_is_left_on_it() {
    // Outputs, the job's log and the result ad are on a device that is always full.
    let place = Place::new().with_recording_hooks().option(&["--job-output-ad", "/dev/full"]);
    let result = place
        .run(&format!("{}\nOut = \"/dev/full\"\nStarterUserLog = \"/dev/full\"", shell("echo x || exit 5")));
    assert!(
        result.stderr.contains("the job's log '/dev/full' cannot be written: No space left"),
        "{}",
        result.stderr
    );
    assert!(
        result.stderr.contains("cannot write the result ad to '/dev/full': No space left"),
        "{}",
        result.stderr
    );
    assert_eq!(result.status, 125, "the ad that was asked for is nowhere: {}", result.stderr);
    assert!(
        result.calls.ends_with("job\nexit exit\n") || result.calls.ends_with("exit exit\n"),
        "{}",
        result.calls
    );
    clean(&place, &result);

    // EXECUTE is on a file system of one page, in which the directories fit but the ads do not.
    let place = Place::new().with_recording_hooks();
    let execute = place.path("execute");
    let mount = format!(
        "mount -t tmpfs -o size=4k,mode=1777 none {0} && dd if=/dev/zero of={0}/filler bs=4096 count=1 2>/dev/null; \"$@\"; \
         status=$?; ls {0}; rm -f {0}/filler; exit $status",
        execute.display()
    );
    let run = |options: &[&str]| {
        let configured = place.command();
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", &mount, "sh", env!("CARGO_BIN_EXE_htc-starter-run")])
            .args(options);
        configured.get_envs().for_each(|(name, value)| {
            command.env(name, value.unwrap_or_default());
        });
        let mut child = command
            .current_dir(place.path("iwd"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ad = place.complete_ad("Cmd = \"/bin/true\"");
        let _ = child.stdin.take().unwrap().write_all(ad.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let may_mount =
        Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success());
    if !may_mount {
        println!("skipped: a file system that is full can be mounted by root alone");
        return;
    }
    let (status, left, report) = run(&[]);
    assert_eq!((status, left.as_str()), (1, "filler\n"), "{report}");
    assert!(report.contains("cannot write") && report.contains("No space left"), "{report}");
    assert!(fs::read_to_string(place.path("iwd/calls")).unwrap().ends_with("exit evict\n"), "{report}");
    assert!(report.matches("if this starter is killed, its leftover").count() <= 1, "{report}");
    // The loss of events is reported as well.
    let events = format!("{}/events", execute.display());
    let (_, _, report) = run(&["--events", &events]);
    assert!(report.contains("events: the disk was full"), "{report}");
    // 25.14 runs the job even so.
    let (status, left, report) = run(&["--quirks", "reference", "--job-output-ad", "-"]);
    assert_eq!(status, 0, "{report}");
    assert!(left.contains("ExitCode = 0\n") && left.ends_with("filler\n"), "{left}\n{report}");
}

#[test]
fn execute_decides_the_owner_of_the_scratch_directory() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let owner =
        || shell("stat -c %u $_CONDOR_SCRATCH_DIR/../htcondor $_CONDOR_SCRATCH_DIR") + "\nOut = \"out\"";
    let place = Place::new().parameter("CONDOR_IDS = 2.2");
    let with_mode = |mode: u32, place: &Place| {
        fs::set_permissions(place.path("execute"), fs::Permissions::from_mode(mode)).unwrap();
        let run = place.run(&owner());
        clean(place, &run);
        (run.status, fs::read_to_string(place.path("iwd/out")).unwrap_or_default(), run.stderr)
    };
    let (status, owners, stderr) = with_mode(0o755, &place);
    assert_eq!((status, owners.as_str()), (0, "2\n65534\n"), "{stderr}");
    // If all accounts may write to EXECUTE, the whole scratch directory belongs to the account of the job.
    let (status, owners, stderr) = with_mode(0o1777, &place);
    assert_eq!((status, owners.as_str()), (0, "65534\n65534\n"), "{stderr}");
    let (status, _, stderr) = with_mode(0o700, &place);
    assert_eq!(status, 1);
    assert!(
        stderr.contains("cannot create the scratch directory") && stderr.contains("Permission denied"),
        "{stderr}"
    );
    // In EXECUTE, 25.14 has only the rights of the daemons' account.
    let place = Place::new().parameter("CONDOR_IDS = 2.2").option(&["--quirks", "reference"]);
    let (status, _, stderr) = with_mode(0o755, &place);
    assert_eq!(status, 1);
    assert!(stderr.contains("Permission denied"), "{stderr}");
}

#[test]
fn a_file_without_an_option_gets_a_hint() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("job.ad"), "Cmd = \"/bin/true\"\n").unwrap();
    let program = env!("CARGO_BIN_EXE_htc-starter-run");
    for (word, is_hinted) in [("job.ad", true), ("no.ad", false)] {
        let output = Command::new(program).arg(word).current_dir(place.path()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert_eq!(stderr.contains("hint: --ads job.ad reads the ads of the file\n"), is_hinted, "{stderr}");
    }
}
