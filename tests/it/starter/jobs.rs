//! Tests of `htc-starter-run` with real hooks and unusual jobs.

use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Stdio;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::children::{is_alive, write_executable};
use crate::support::place::{Place, read_fifo, send, shell, wait_for_delivery};

#[test]
fn a_job_runs_between_its_hooks_and_its_ad_has_the_outcome() {
    let place = Place::new().with_recording_hooks();
    let run =
        place.run(&format!("{}\nOut = \"out\"\nSiteNote = x + 1", shell("pwd; echo job >> calls; exit 3")));
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert_eq!(run.calls, "prepare\njob\nexit exit\n");
    for line in
        ["ExitCode = 3", "ExitBySignal = false", "JobState = \"Exited\"", "SiteNote = x + 1", "NumPids = 0"]
    {
        assert!(run.has(line), "{line} in\n{}", run.ad);
    }
    // The exit hook got the same ad, but without the JobStatus that it has in a queue, and with ExitReason.
    let reason = "ExitReason = \"exited normally with status 3\"\n";
    let exit = fs::read_to_string(place.path("iwd/calls.exit")).unwrap();
    assert!(exit.contains(reason), "{exit}");
    assert_eq!(exit.replace(reason, "") + "\n", run.ad.replace("JobStatus = 4\n", ""));
    assert_eq!(
        fs::read_to_string(place.path("iwd/out")).unwrap().trim(),
        place.path("iwd").to_str().unwrap()
    );
    assert!(run.left.is_empty(), "{:?}", run.left);
}

#[test]
fn image_size_is_never_smaller_than_resident_set_size() {
    // One job ends before its usage is measured again; the other has mapped its libraries by then.
    for command in ["true", "sleep 0.3"] {
        let run = Place::new().with_recording_hooks().run(&shell(command));
        let number = |name: &str| -> u64 {
            let line = run.ad.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            line.unwrap_or_else(|| panic!("{name} in\n{}", run.ad)).parse().unwrap()
        };
        let (image, resident) = (number("ImageSize"), number("ResidentSetSize"));
        assert!(resident > 0 && image >= resident, "{command}: {image} < {resident}");
    }
}

#[test]
fn output_of_the_prepare_hook_changes_the_job_and_its_status_decides() {
    let place = Place::new().with_recording_hooks().hook(
        "PREPARE_JOB",
        "cat >/dev/null; echo 'Arguments = \"changed\"'; echo 'HookStatusCode = 0'; exit 9",
    );
    let job = "Cmd = \"/bin/echo\"\nArguments = \"first\"\nOut = \"out\"";
    let run = place.run(job);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(fs::read_to_string(place.path("iwd/out")).unwrap(), "changed\n");

    let place = Place::new().with_recording_hooks().hook(
        "PREPARE_JOB",
        "cat >/dev/null; echo 'HookStatusCode = 5'; echo 'HookStatusMessage = \"no licence\"'",
    );
    let run = place.run(job);
    assert_eq!((run.status, run.calls.as_str(), run.ad.as_str()), (1, "exit evict\n", ""));
    assert!(
        run.stderr.contains("PREPARE_JOB (PREPARE_JOB) failed (reported status 005): no licence"),
        "{}",
        run.stderr
    );
    assert!(!place.path("iwd/out").exists());
}

#[test]
fn the_ad_file_has_the_prepare_hooks_changes_except_in_25_14() {
    let hook = "cat >/dev/null; echo 'Licence = 7'";
    let job = shell("grep -c ^Licence $_CONDOR_JOB_AD");
    let place = Place::new().hook("PREPARE_JOB", hook);
    place.run(&format!("{job}\nOut = \"out\""));
    assert_eq!(fs::read_to_string(place.path("iwd/out")).unwrap(), "1\n");
    let place = Place::new().hook("PREPARE_JOB", hook).option(&["--quirks", "reference"]);
    let run = place.run(&format!("{job}\nOut = \"out\""));
    assert_eq!(fs::read_to_string(place.path("iwd/out")).unwrap(), "0\n", "{}", run.stderr);
}

#[test]
fn sigterm_sends_the_kill_signal_and_the_exit_hook_gets_evict() {
    let place = Place::new().with_recording_hooks();
    let pipe = place.pipe();
    let script = "trap 'kill $!; exit 4' USR2; echo up > pipe; sleep 600 & wait";
    let child = place.start(&format!("{}\nKillSig = \"SIGUSR2\"", shell(script)));
    assert_eq!(read_fifo(&pipe), "up\n");
    send(&child, Signal::SIGTERM);
    let run = place.finish(child);
    assert!(run.has("ExitCode = 4"), "{}\n{}", run.ad, run.stderr);
    assert_eq!(run.calls, "prepare\nexit evict\n");
    assert!(run.left.is_empty());
}

#[test]
fn a_job_that_ignores_sigterm_dies_at_the_second_one_with_all_its_children() {
    let place = Place::new().with_recording_hooks();
    let pipe = place.pipe();
    let child =
        place.start(&shell("trap '' TERM; setsid sleep 600 & echo $! > pipe; while :; do wait; done"));
    let orphan: i32 = read_fifo(&pipe).trim().parse().unwrap();
    assert!(is_alive(orphan));
    send(&child, Signal::SIGTERM);
    send(&child, Signal::SIGTERM);
    // Pending signals of one kind count as one. Further signals do no harm until the job is gone.
    while place.path("execute").read_dir().unwrap().next().is_some() && is_alive(orphan) {
        let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
        std::thread::yield_now();
    }
    let run = place.finish(child);
    assert!(run.has("ExitSignal = 9") && run.has("ExitReason = \"died on signal 9 (Killed)\""), "{}", run.ad);
    assert!(!is_alive(orphan));
}

#[test]
fn an_exit_hook_that_hangs_is_not_waited_for_longer_than_its_time_out() {
    let place = Place::new().hook("JOB_EXIT", "exec sleep 600").parameter("FARM_HOOK_JOB_EXIT_TIMEOUT = 1");
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("ran longer than its time limit"), "{}", run.stderr);
}

#[test]
fn a_negative_time_out_has_passed_and_an_invalid_one_refuses_the_job() {
    let place = Place::new().hook("JOB_EXIT", "exec sleep 600").parameter("FARM_HOOK_JOB_EXIT_TIMEOUT = -5");
    let run = place.run("Cmd = \"/bin/true\"");
    assert!(
        run.has("ExitCode = 0") && run.stderr.contains("ran longer than its time limit"),
        "{}",
        run.stderr
    );
    let place = Place::new().hook("JOB_EXIT", "exit 0").parameter("FARM_HOOK_JOB_EXIT_TIMEOUT = abc");
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!((run.status, run.ad.as_str()), (1, ""));
    assert!(run.stderr.contains("FARM_HOOK_JOB_EXIT_TIMEOUT cannot be used: 'abc'"), "{}", run.stderr);
}

#[test]
fn after_sighup_the_references_hooks_start_in_the_log_directory() {
    for (quirks, directory) in [("reference", "log"), ("none", "scratch")] {
        let place = Place::new()
            .hook("JOB_EXIT", "pwd >> $CALLS")
            .parameter("LOG = $(LOCAL_DIR)/log")
            .option(&["--quirks", quirks]);
        fs::create_dir(place.path("log")).unwrap();
        fs::set_permissions(place.path("log"), fs::Permissions::from_mode(0o755)).unwrap();
        let pipe = place.pipe();
        let child = place.start(&shell("echo up > pipe; sleep 600"));
        assert_eq!(read_fifo(&pipe), "up\n");
        send(&child, Signal::SIGHUP);
        wait_for_delivery(&child, Signal::SIGHUP);
        send(&child, Signal::SIGTERM);
        let run = place.finish(child);
        assert!(run.calls.trim().ends_with(directory), "{quirks}: {}\n{}", run.calls, run.stderr);
    }
}

#[test]
fn cases_in_which_25_14_waits_forever_end_here() {
    for quirks in ["none", "reference"] {
        let ended = |place: Place, ad: &str, quirk: &str| {
            let run = place.option(&["--quirks", quirks]).run(ad);
            assert!(run.stderr.contains(quirk), "{quirks}: {}", run.stderr);
            run
        };
        let place = Place::new().hook("JOB_EXIT", "");
        write_executable(&place.path("hooks/JOB_EXIT"), b"#!/no/such/interpreter\n");
        assert_eq!(ended(place, "Cmd = \"/bin/true\"", "exit-hook-unspawnable-hangs").status, 0);
        let again = "Cmd = \"/bin/true\"\nWantFTOnCheckpoint = true";
        assert_eq!(ended(Place::new(), again, "checkpoint-exit-loops").status, 0);
        let trapped = ended(Place::new(), &shell("kill -TRAP $$"), "sigtrap-hangs");
        assert!(trapped.has("ExitSignal = 5"), "{quirks}: {}", trapped.ad);
    }
}

#[test]
fn a_hanging_prepare_hook_is_killed_after_hook_timeout() {
    let place = Place::new()
        .with_recording_hooks()
        .hook("PREPARE_JOB", "exec sleep 600")
        .option(&["--hook-timeout", "0.2"]);
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!((run.status, run.calls.as_str()), (1, "exit evict\n"), "{}", run.stderr);
}

#[test]
fn the_worst_jobs_leave_nothing_behind() {
    let jobs = [
        // The job has many children in separate sessions, which outlive it and keep its outputs open.
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do env -i /usr/bin/setsid /bin/sleep 600 & done; exit 0",
        "rm -rf $_CONDOR_SCRATCH_DIR/.job.ad $_CONDOR_SCRATCH_DIR/.machine.ad; exit 0",
        "cd $_CONDOR_SCRATCH_DIR && ln -sf /etc/passwd .job.ad && mkdir -p a/b && touch a/b/c && chmod 000 a/b && chmod 000 a; exit 0",
        "exec 0<&- 1>&- 2>&-; exit 0",
        "kill -KILL -$$",
        "head -c 30000000 /dev/zero >&2; exit 0",
    ];
    for script in jobs {
        let place = Place::new().with_recording_hooks();
        let run = place.run(&format!("{}\nErr = \"/dev/null\"", shell(script)));
        assert!(run.has("JobState = \"Exited\""), "{script}: {}\n{}", run.ad, run.stderr);
        assert!(run.left.is_empty(), "{script}: {:?}", run.left);
        assert!(run.calls.ends_with("exit exit\n"), "{script}: {}", run.calls);
    }
    assert!(fs::read_to_string("/etc/passwd").unwrap().contains("root"));
}

#[test]
fn jobs_that_cannot_start_have_the_references_message() {
    // No account can write below this path, not even root.
    let closed = "/proc/self/attr/x/out";
    let cases = [
        (
            "Cmd = \"/no/such\"".to_owned(),
            "Failed to execute '/no/such': (errno=2: 'No such file or directory')",
        ),
        (
            "Cmd = \"/bin/true\"\nIwd = \"/no/such\"".to_owned(),
            "Cannot access initial working directory \"/no/such\"",
        ),
        (format!("Cmd = \"/bin/true\"\nOut = \"{closed}\""), "as standard output: "),
        (
            "Cmd = \"/bin/true\"\nIn = \"missing\"".to_owned(),
            "as standard input: No such file or directory (errno 2)",
        ),
        ("Cmd = \"/bin/true\"\nArguments = \"a 'b\"".to_owned(), "Unbalanced quote starting here: 'b"),
        (
            "Cmd = \"/bin/true\"\nEnvironment = \"A=1 B\"".to_owned(),
            "Missing '=' after environment variable 'B'",
        ),
        ("Cmd = 5".to_owned(), "no string Cmd"),
        ("Cmd = \"/bin/true\"\nJobUniverse = 7".to_owned(), "JobUniverse 7"),
    ];
    for (ad, text) in cases {
        let place = Place::new().with_recording_hooks();
        let run = place.run(&ad);
        assert_eq!((run.status, run.ad.as_str()), (1, ""), "{ad}: {}", run.stderr);
        assert!(run.stderr.contains(text), "{ad}: {}", run.stderr);
        assert!(run.calls.ends_with("exit evict\n"), "{ad}: {}\n{}", run.calls, run.stderr);
        assert!(run.left.is_empty(), "{ad}");
    }
}

#[test]
fn a_job_whose_keyword_has_an_unusable_hook_does_not_start() {
    let plain = |name: &str, mode: u32| {
        let place = Place::new().with_recording_hooks();
        fs::write(place.path("hooks/bad"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(place.path("hooks/bad"), fs::Permissions::from_mode(mode)).unwrap();
        let path = place.path("hooks/bad");
        place.parameter(&format!("OWN_HOOK_{name} = {}", path.display()))
    };
    let job = "Cmd = \"/bin/true\"\nHookKeyword = \"Own\"";
    for name in ["PREPARE_JOB", "PREPARE_JOB_BEFORE_TRANSFER", "UPDATE_JOB_INFO", "JOB_EXIT"] {
        for (mode, reason) in
            [(0o644, "its owner has no execute permission"), (0o757, "the file is world-writable")]
        {
            for quirks in ["none", "reference"] {
                let run = plain(name, mode).option(&["--quirks", quirks]).run(job);
                assert_eq!((run.status, run.ad.as_str(), run.calls.as_str()), (1, "", ""), "{}", run.stderr);
                assert!(
                    run.stderr.contains(&format!("Own_HOOK_{name} cannot be used: ")),
                    "{name}: {}",
                    run.stderr
                );
                assert!(run.stderr.contains(reason) && run.left.is_empty(), "{name}: {}", run.stderr);
            }
        }
        let missing = format!("OWN_HOOK_{name} = /no/such");
        let run = Place::new().with_recording_hooks().parameter(&missing).run(job);
        assert_eq!((run.status, run.ad.as_str()), (1, ""), "{}", run.stderr);
        assert!(run.stderr.contains("No such file or directory"), "{}", run.stderr);
    }
    // Without any starter hook, the configuration's own keyword is used, as the manual says.
    let run = plain("FETCH_WORK", 0o644).run(job);
    assert_eq!((run.status, run.calls.as_str()), (0, "prepare\nexit exit\n"), "{}", run.stderr);
}

#[test]
fn bad_input_is_reported_and_skipped_or_refused() {
    let place = Place::new();
    let run = place.run("garbage\nCmd = \"/bin/true\"\nX = (");
    assert_eq!(run.status, 3, "{}", run.stderr);
    assert!(run.stderr.contains("2 lines of the job ad cannot be read"), "{}", run.stderr);
    let place = Place::new().option(&["--quirks", "reference"]);
    let run = place.run("garbage\nCmd = \"/bin/true\"\nX = (");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("the line is skipped"), "{}", run.stderr);
    let place = Place::new().option(&["--strict-input"]);
    let run = place.run("garbage\nCmd = \"/bin/true\"");
    assert_eq!(run.status, 3, "{}", run.stderr);
    let place = Place::new().option(&["--ads", "/dev/null"]);
    let run = place.run("");
    assert_eq!(run.status, 3, "{}", run.stderr);
    let place = Place::new().hook("PREPARE_JOB", "exit 0");
    fs::set_permissions(place.path("hooks/PREPARE_JOB"), fs::Permissions::from_mode(0o757)).unwrap();
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!(run.status, 1);
    assert!(run.stderr.contains("FARM_HOOK_PREPARE_JOB cannot be used"), "{}", run.stderr);
}

#[test]
fn as_condor_starter_options_statuses_and_output_are_the_daemons() {
    let mut place = Place::new().with_recording_hooks().option(&[
        "-f",
        "-a",
        "slot2",
        "-job-input-ad",
        "-",
        "-job-output-ad",
        "-",
    ]);
    place.tool = true;
    let run = place.run(&format!("{}\nOut = \"out\"", shell("echo $_CONDOR_SLOT; exit 3")));
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert!(run.has("ExitCode = 3") && !run.ad.contains("Cmd"), "{}", run.ad);
    assert_eq!(fs::read_to_string(place.path("iwd/out")).unwrap(), "slot2\n");
    place.options = vec!["-f".to_owned(), "-job-nonsense".to_owned()];
    assert_eq!(place.run("").status, 1);
}

/// Opens a socket that starters inherit, with the same descriptor number.
fn inherited_socket(path: &Path) -> UnixListener {
    let socket = UnixListener::bind(path).unwrap();
    fcntl(&socket, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
    socket
}

/// Sends one line and disconnects.
fn order(path: &Path, line: &str) {
    UnixStream::connect(path).unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
}

#[test]
fn requests_that_arrive_before_the_starter_listens_are_handled() {
    let mut place = Place::new().with_recording_hooks().option(&["-f", "-job-input-ad", "-"]);
    place.tool = true;
    fs::create_dir(place.path("private")).unwrap();
    let socket = inherited_socket(&place.path("private/control"));
    for line in [
        "nonsense",
        r#"{"command":"suspend"}"#,
        r#"{"command":"continue"}"#,
        r#"{"command":"hard","reason":"off","code":1013}"#,
    ] {
        order(&place.path("private/control"), line);
    }
    place.environment = vec![
        ("_HTC_STARTER_DIR".to_owned(), place.path("private").display().to_string()),
        ("_HTC_STARTER_OPTIONS".to_owned(), format!("--control fd:{}", socket.as_raw_fd())),
    ];
    let run = place.finish(place.start(&shell("exec sleep 600")));
    assert!(run.left.is_empty());
    // PREPARE_JOB runs in parallel, and its line may be the last one.
    assert!(run.calls.lines().any(|call| call == "exit evict"), "{} {}", run.calls, run.stderr);
}

#[test]
fn a_descriptor_that_is_not_a_listening_socket_is_one_message() {
    for (number, reason) in
        [("99", "Bad file descriptor"), ("0", "operation on non-socket"), ("x", "expected fd:N")]
    {
        let place = Place::new().option(&["--control", &format!("fd:{number}")]);
        let run = place.run(&shell("exit 0"));
        assert_eq!(run.status, 3, "{}", run.stderr);
        assert!(run.stderr.to_lowercase().contains(&reason.to_lowercase()), "{number}: {}", run.stderr);
    }
}

#[test]
fn the_slot_runner_passes_options_slot_ad_and_vacate_reason() {
    let mut place = Place::new().with_recording_hooks().option(&["-f", "-job-input-ad", "-"]);
    let pipe = place.pipe();
    place.tool = true;
    fs::create_dir(place.path("private")).unwrap();
    fs::write(place.path("private/machine.ad"), "Cpus = 3\n").unwrap();
    let socket = inherited_socket(&place.path("private/control"));
    let events = place.path("events");
    place.environment = vec![
        ("_HTC_STARTER_DIR".to_owned(), place.path("private").display().to_string()),
        (
            "_HTC_STARTER_OPTIONS".to_owned(),
            format!("--events {} --slot-name slot1_2 --control fd:{}", events.display(), socket.as_raw_fd()),
        ),
    ];
    let child = place.start(&shell("echo $OMP_NUM_THREADS ${_HTC_STARTER_DIR-unset} > pipe; exec sleep 600"));
    assert_eq!(read_fifo(&pipe), "3 unset\n");
    order(&place.path("private/control"), r#"{"command":"soft","reason":"PREEMPT","code":1011,"subcode":0}"#);
    let run = place.finish(child);
    assert_eq!(run.status, 0);
    assert!(run.has("VacateReasonCode = 1011") && run.has("ExitSignal = 15"), "{}", run.ad);
    let lines = fs::read_to_string(events).unwrap();
    assert!(lines.lines().all(|line| line.contains("\"slot\":\"slot1_2\"")), "{lines}");
    assert!(lines.contains("\"verdict\":\"evict\""), "{lines}");
}

#[test]
fn a_job_that_must_end_during_its_prepare_hook_never_starts() {
    let place = Place::new().with_recording_hooks();
    let pipe = place.pipe();
    let place = place.hook("PREPARE_JOB", "echo up > $CALLS.pipe; exec sleep 600");
    fs::rename(&pipe, place.path("iwd/calls.pipe")).unwrap();
    let child = place.start("Cmd = \"/bin/true\"");
    assert_eq!(read_fifo(&place.path("iwd/calls.pipe")), "up\n");
    send(&child, Signal::SIGTERM);
    let run = place.finish(child);
    assert_eq!((run.status, run.calls.as_str(), run.ad.as_str()), (1, "exit evict\n", ""), "{}", run.stderr);
    assert!(run.stderr.contains("not started: the job was asked to end before it started"), "{}", run.stderr);
    assert!(run.left.is_empty());
}

#[test]
fn a_job_is_suspended_and_continued() {
    let place = Place::new();
    let pipe = place.pipe();
    let child = place.start(&shell("echo $$ > pipe; read line < pipe; exit 6"));
    let job: i32 = read_fifo(&pipe).trim().parse().unwrap();
    let is_stopped =
        || htc_hooks::os::process_table::read_process(job).is_some_and(|process| process.state == b'T');
    send(&child, Signal::SIGTSTP);
    crate::support::waiting::wait_until("the job is stopped", is_stopped);
    send(&child, Signal::SIGCONT);
    crate::support::waiting::wait_until("the job runs again", || !is_stopped());
    fs::write(&pipe, "go\n").unwrap();
    let run = place.finish(child);
    assert!(run.has("ExitCode = 6"), "{}", run.stderr);
    assert!(run.stderr.contains("suspended") && run.stderr.contains("continued"), "{}", run.stderr);
}

#[test]
fn the_jobs_own_log_has_the_events_of_the_reference() {
    let place = Place::new();
    let run = place.run(&format!("{}\nStarterUserLog = \"log\"", shell("exit 2")));
    assert_eq!(run.status, 1, "{}", run.stderr);
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    assert!(log.starts_with("001 (007.001.000) "), "{log}");
    assert!(log.contains("\n...\n005 (007.001.000) "), "{log}");
    assert!(log.contains("\n\t(1) Normal termination (return value 2)\n"), "{log}");
}

#[test]
fn a_time_limit_ends_the_job_with_its_own_status() {
    let place = Place::new().with_recording_hooks().option(&["--timeout", "0.3"]);
    let run = place.run("Cmd = \"/bin/sleep\"\nArguments = \"600\"");
    assert_eq!((run.status, run.calls.as_str()), (124, "prepare\nexit evict\n"), "{}", run.stderr);
}

/// Some editors begin a file with a byte order mark (BOM), and a comment may precede an ad in any form.
#[test]
fn a_job_is_read_without_its_byte_order_mark_in_each_form() {
    for form in ["long", "json", "new"] {
        for start in ["", "\u{feff}", "# made by hand\n"] {
            let place = Place::new();
            let iwd = place.path("iwd").display().to_string();
            let (cmd, user) = ("/bin/true", "nobody@example.org");
            let text = match form {
                "long" => format!(
                    "ClusterId = 77\nProcId = 3\nCmd = \"{cmd}\"\nUser = \"{user}\"\nIwd = \"{iwd}\"\n"
                ),
                "json" => format!(
                    "{{ \"ClusterId\": 77, \"ProcId\": 3, \"Cmd\": \"{cmd}\", \"User\": \"{user}\",\n\"Iwd\": \"{iwd}\" }}\n"
                ),
                _ => format!(
                    "[ ClusterId = 77; ProcId = 3; Cmd = \"{cmd}\"; User = \"{user}\";\nIwd = \"{iwd}\" ]\n"
                ),
            };
            let file = place.path("job");
            fs::write(&file, format!("{start}{text}")).unwrap();
            let output = place.command().arg("--ads").arg(&file).stdin(Stdio::null()).output().unwrap();
            let (ad, err) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{form} {start:?}: {ad}{err}");
            assert!(ad.lines().any(|line| line == "ClusterId = 77"), "{form} {start:?}: {ad}{err}");
            assert!(!ad.contains('\u{feff}') && err.contains("job 77.3"), "{form} {start:?}: {ad}{err}");
        }
    }
}
