//! Tests of `htc-starter-run --control`: authorized users hold, remove and suspend a job.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Output};

use crate::support::children::LONG;
use crate::support::place::{Place, RunResult, read_fifo, shell};

/// Creates a place with a directory for the socket that only the current account can write.
fn place() -> Place {
    let place = Place::new().with_recording_hooks();
    fs::create_dir(place.path("own")).unwrap();
    let socket = place.path("own/control").display().to_string();
    place.option(&["--control", &socket])
}

/// Starts a job that reports that it runs, and that runs until it is ended.
fn start(place: &Place, more: &str) -> Child {
    let pipe = place.pipe();
    let script = "trap \"exit 3\" TERM; echo runs > pipe; while :; do sleep 1 & wait; done";
    let child = place.start(&format!("{}\nStarterUserLog = \"log\"\n{more}", shell(script)));
    assert_eq!(read_fifo(&pipe), "runs\n");
    child
}

fn ask(place: &Place, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htc-starter-run"));
    command.arg("--control").arg(place.path("own/control")).arg("--ask").args(words).output().unwrap()
}

fn done(place: &Place, words: &[&str]) -> String {
    let Output { status, stdout, stderr } = ask(place, words);
    assert_eq!((status.code(), String::from_utf8_lossy(&stderr).as_ref()), (Some(0), ""), "{words:?}");
    String::from_utf8(stdout).unwrap()
}

/// Checks that a request is refused because of the state.
fn refused(place: &Place, words: &[&str], text: &str) {
    refused_with(1, place, words, text);
}

fn refused_with(expected: i32, place: &Place, words: &[&str], text: &str) {
    let Output { status, stderr, .. } = ask(place, words);
    let err = String::from_utf8_lossy(&stderr);
    assert!(status.code() == Some(expected) && err.contains(text), "{words:?}: {status} {err}");
    assert_eq!(err.matches("htc-starter-run:").count(), 1, "{err}");
}

fn exit_ad(place: &Place) -> String {
    fs::read_to_string(place.path("iwd/calls.exit")).unwrap()
}

#[test]
fn a_job_is_held_with_reason_and_codes_that_the_exit_hook_sees() {
    let place = place();
    let child = start(&place, "");
    let mode = place.path("own/control").metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o600);
    assert_eq!(done(&place, &["status"]), "7.1 running\n");
    assert_eq!(done(&place, &["hold", "--reason", "no room", "--code", "26", "--subcode", "-2"]), "");
    let run = place.finish(child);
    assert!(run.calls.ends_with("exit hold\n"), "{}", run.calls);
    let ad = exit_ad(&place);
    assert!(
        ad.contains("VacateReason = \"no room (by user root)\"") || !nix::unistd::geteuid().is_root(),
        "{ad}"
    );
    assert!(ad.contains("VacateReasonCode = 26") && ad.contains("VacateReasonSubCode = -2"), "{ad}");
    assert!(run.left.is_empty() && !place.path("own/control").exists());
}

#[test]
fn a_job_is_removed_vacated_and_killed() {
    for (words, said, ended) in [
        (&["remove"][..], "exit remove\n", "ExitCode = 3"),
        (&["soft"], "exit evict\n", "ExitCode = 3"),
        (&["hard"], "exit evict\n", "ExitSignal = 9"),
    ] {
        let place = place();
        let child = start(&place, "");
        done(&place, words);
        let run = place.finish(child);
        assert!(run.calls.ends_with(said), "{words:?}: {}", run.calls);
        assert!(run.has(ended), "{words:?}: {}", run.ad);
    }
}

#[test]
fn a_job_is_suspended_continued_and_updated_on_request() {
    let place = place().option(&["--job-update-ad", "update"]);
    let child = start(&place, "");
    done(&place, &["suspend"]);
    assert_eq!(done(&place, &["status"]), "7.1 suspended\n");
    done(&place, &["continue"]);
    done(&place, &["update"]);
    assert_eq!(done(&place, &["status"]), "7.1 running\n");
    done(&place, &["hard"]);
    place.finish(child);
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    assert!(log.contains("\n010 (") && log.contains("\n011 ("), "{log}");
}

#[test]
fn invalid_requests_are_refused_and_do_not_affect_the_job() {
    let place = place();
    let child = start(&place, "");
    refused_with(2, &place, &["holt"], "did you mean hold?");
    refused_with(2, &place, &["hold", "--code", "1000"], "use 1 to 999");
    refused(&place, &["release"], "--as shadow");
    let say = |text: &[u8]| {
        let mut stream = UnixStream::connect(place.path("own/control")).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let _ = stream.write_all(text);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    assert!(say(b"nonsense\n").contains("a request must be one JSON object"));
    assert!(say(&[b'x'; 100_000]).contains("it is too long"));
    assert!(say(b"{\"command\": \"status\"}").contains("\"running\""), "a line may lack its end");
    assert_eq!(say(b""), "");
    let _half = UnixStream::connect(place.path("own/control")).unwrap();
    assert_eq!(done(&place, &["status"]), "7.1 running\n");
    done(&place, &["hard"]);
    place.finish(child);
}

#[test]
fn an_unsafe_socket_is_one_message_and_no_job_runs() {
    let cases: [(&str, &str); 4] = [
        ("link", "it is a link: remove it"),
        ("file", "it is not a socket: remove it"),
        ("open/control", "can be written by others"),
        ("long", "use a shorter one"),
    ];
    for (name, text) in cases {
        let place = Place::new();
        fs::write(place.path("file"), "").unwrap();
        std::os::unix::fs::symlink(place.path("file"), place.path("link")).unwrap();
        fs::create_dir(place.path("open")).unwrap();
        fs::set_permissions(place.path("open"), fs::Permissions::from_mode(0o777)).unwrap();
        let socket = if name == "long" { "x".repeat(110) } else { name.to_owned() };
        let path = place.path(&socket).display().to_string();
        let run = place.option(&["--control", &path]).run("Cmd = \"/bin/touch\"\nArguments = \"ran\"");
        assert!(run.stderr.contains(text) && run.status == 3, "{name}: {} {}", run.status, run.stderr);
        assert!(run.left.is_empty());
    }
    // A socket on which no process listens is replaced.
    let place = place();
    drop(UnixListener::bind(place.path("own/control")).unwrap());
    refused_with(3, &place, &["status"], ": the starter has ended");
    let child = start(&place, "");
    done(&place, &["hard"]);
    place.finish(child);
}

fn shadow(until: &str) -> Place {
    place().option(&["--as", "shadow", "--until", until])
}

const QUEUED: &str = "ShouldTransferFiles = \"NO\"\nUserLog = \"log\"";

fn events(place: &Place) -> Vec<String> {
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    let starts = log.lines().filter(|line| line.get(3..5) == Some(" ("));
    starts.map(|line| line[..3].to_owned()).filter(|number| number != "006").collect()
}

fn held(run: &RunResult, code: i64) {
    assert!(
        run.has("JobStatus = 5") && run.has(&format!("HoldReasonCode = {code}")),
        "{}\n{}",
        run.ad,
        run.stderr
    );
}

#[test]
fn a_job_of_a_queue_is_held_and_its_log_says_so() {
    let place = shadow("1");
    let child = start(&place, QUEUED);
    done(&place, &["hold", "--reason", "no room"]);
    let run = place.finish(child);
    held(&run, 1);
    assert_eq!(events(&place), ["000", "001", "004", "012"]);
    assert!(run.ad.contains("HoldReason = \"no room (by user "), "{}", run.ad);
}

#[test]
fn a_held_job_is_released_runs_again_and_is_removed() {
    let place = shadow("done");
    let child = start(&place, QUEUED);
    done(&place, &["hold"]);
    let state = || done(&place, &["status"]);
    while state() != "7.1 held\n" {
        std::thread::yield_now();
    }
    refused(&place, &["hold"], "the job is already held");
    refused(&place, &["suspend"], "no job is running");
    done(&place, &["release", "--reason", "room again"]);
    assert_eq!(read_fifo(&place.path("iwd/pipe")), "runs\n");
    done(&place, &["remove"]);
    let run = place.finish(child);
    assert!(run.has("JobStatus = 3"), "{}\n{}", run.ad, run.stderr);
    assert_eq!(events(&place), ["000", "001", "004", "012", "013", "001", "004", "009"]);
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    assert!(log.contains("\troom again (by user ") && log.contains("\tvia condor_rm (by user "), "{log}");
}

#[test]
fn a_request_during_a_hook_does_not_cancel_its_time_limit() {
    let place = shadow("done").hook("SHADOW_PREPARE_JOB", "echo up > $CALLS.pipe; exec sleep 600");
    let place = place.option(&["--hook-timeout", "3"]).parameter("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM");
    let pipe = place.pipe();
    fs::rename(&pipe, place.path("iwd/calls.pipe")).unwrap();
    let child = place.start(&format!("{}\n{QUEUED}", shell("exit 0")));
    assert_eq!(read_fifo(&place.path("iwd/calls.pipe")), "up\n");
    let mut stream = UnixStream::connect(place.path("own/control")).unwrap();
    stream.write_all(b"{\"command\": \"status\"}\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("preparing"), "{answer}");
    // A client that connects and sends nothing does not affect other requests.
    let silent = UnixStream::connect(place.path("own/control")).unwrap();
    refused(&place, &["release"], "the job is not held");
    refused(&place, &["suspend"], "no job is running");
    // The job is prepared again, and the FIFO receives a report each time.
    assert_eq!(read_fifo(&place.path("iwd/calls.pipe")), "up\n");
    drop(silent);
    done(&place, &["remove"]);
    let run = place.finish(child);
    assert!(run.has("JobStatus = 3"), "{}", run.ad);
    assert!(run.stderr.contains("the hook ran longer than its time limit"), "{}", run.stderr);
}

#[test]
fn the_time_limit_includes_all_runs_and_pauses() {
    let limited = |until: &str| Place::new().option(&["--as", "shadow", "--until", until, "--timeout", "1"]);
    let job = |more: &str| format!("{}\nJobUniverse = 5\n{more}", shell("exit 0"));
    let ended = |place: Place, more: &str, state: &str| {
        let run = place.run(&job(more));
        assert_eq!(run.status, 124, "{}", run.stderr);
        assert!(run.has(&format!("JobStatus = {state}")), "{}", run.ad);
        assert!(run.left.is_empty(), "{:?}", run.left);
        run.stderr
    };
    let hook = limited("done").hook("SHADOW_PREPARE_JOB", "exec sleep 600");
    ended(hook.parameter("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM"), "", "1");
    ended(limited("done"), "OnExitHold = true\nPeriodicRelease = false", "5");
    // Each of many runs records its start in the state file.
    let told = ended(limited("1000000"), "OnExitRemove = false", "1");
    assert!(!told.contains("will not be found"), "{told}");
    let told = ended(limited("done"), "OnExitRemove = false", "1");
    assert!(!told.contains("will not be found"), "{told}");
}

#[test]
fn a_job_without_its_parent_ends_after_the_orphan_grace() {
    let place = Place::new().with_recording_hooks().option(&["--orphan-grace", "0"]);
    let pipe = place.pipe();
    fs::write(place.path("job.ad"), place.complete_ad(&shell("echo runs > pipe; exec sleep 1000"))).unwrap();
    let starter = place.command();
    let words: Vec<String> = starter.get_args().map(|word| format!("'{}'", word.to_string_lossy())).collect();
    // Only the starter has the writing end open, so a reader learns when the starter is gone.
    let ended = place.path("ended");
    nix::unistd::mkfifo(&ended, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    let script = format!(
        "'{}' {} --ads job.ad >/dev/null 2>told </dev/null 8>'{}' & read line < '{}'; exit 0",
        env!("CARGO_BIN_EXE_htc-starter-run"),
        words.join(" "),
        ended.display(),
        pipe.display(),
    );
    let mut parent = Command::new("/bin/sh")
        .args(["-c", &script])
        .current_dir(place.home.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("CONDOR_CONFIG", place.path("condor_config"))
        .spawn()
        .unwrap();
    assert_eq!(read_fifo(&ended), "");
    assert!(parent.wait().unwrap().success());
    let calls = fs::read_to_string(place.path("iwd/calls")).unwrap();
    assert!(calls.ends_with("exit evict\n"), "{calls}");
    assert!(
        fs::read_to_string(place.path("told"))
            .unwrap()
            .contains("the process that started this program has ended: ending the job")
    );
}

#[test]
fn the_log_of_a_job_is_read_as_ads_in_each_format() {
    let mut told = Vec::new();
    for form in ["", "UserLogUseXML = 1", "UserLogUseXML = 2"] {
        let place = Place::new().option(&["--as", "shadow"]);
        let run = place.run(&format!(
            "{}\n{QUEUED}\nJobAdInformationAttrs = \"Cmd,ClusterId\"\n{form}",
            shell("exit 3")
        ));
        assert!(run.has("ExitCode = 3"), "{}\n{}", run.ad, run.stderr);
        let read = |words: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_htc-starter-run"));
            command.arg("--events-of").arg(place.path("iwd/log")).args(words).output().unwrap()
        };
        let Output { status, stdout, stderr } = read(&[]);
        let ads = String::from_utf8(stdout).unwrap();
        assert_eq!((status.code(), String::from_utf8_lossy(&stderr).as_ref()), (Some(0), ""), "{form}");
        assert!(
            ads.contains("MyType = \"JobTerminatedEvent\"") && ads.contains("ReturnValue = 3"),
            "{form}: {ads}"
        );
        assert!(ads.contains("TriggerEventTypeName = \"ULOG_SUBMIT\""), "{form}: {ads}");
        let numbers = ads.lines().filter_map(|line| line.strip_prefix("EventTypeNumber = "));
        told.push(numbers.filter(|number| *number != "6").map(str::to_owned).collect::<Vec<_>>());
        let lines = String::from_utf8(read(&["--jsonl"]).stdout).unwrap();
        assert!(lines.lines().all(|line| line.starts_with('{') && line.ends_with('}')), "{form}: {lines}");
        let array = read(&["--json"]).stdout;
        assert!(serde_json::from_slice::<Vec<serde_json::Value>>(&array).is_ok_and(|all| !all.is_empty()));
    }
    let first: Vec<&str> = told[0].iter().map(String::as_str).collect();
    assert_eq!(first[..4], ["0", "28", "1", "28"], "{told:?}");
    assert_eq!(told[1][..4], told[0][..4]);
    assert_eq!(told[2][..4], told[0][..4]);
}

#[test]
fn a_damaged_log_is_read_partly_and_its_error_is_reported() {
    let place = Place::new();
    for (text, said, events) in [
        ("", "", 0),
        ("\n \n", "", 0),
        (
            "nonsense\n...\n012 (007.000.000) 2026-11-21 00:47:08 Job was held.\n\tno\n\tCode 1 Subcode 0\n...\n",
            "expected NUMBER (CLUSTER.PROC.SUBPROC) TIME",
            1,
        ),
        ("012 (007.000.000) 2026-11-21 00:47:08 Job was held.\n", "ends in the middle of an event", 0),
        ("<c>\n    <a n=\"EventTypeNumber\"><i>0</i></a>\n", "", 1),
        ("{ \"Proc\": 0, ", "", 0),
    ] {
        let log = place.path("log");
        fs::write(&log, text).unwrap();
        let read = Command::new(env!("CARGO_BIN_EXE_htc-starter-run"))
            .arg("--events-of")
            .arg(&log)
            .output()
            .unwrap();
        let (ads, stderr) = (String::from_utf8_lossy(&read.stdout), String::from_utf8_lossy(&read.stderr));
        assert!(read.status.code().is_some_and(|code| code <= 3), "{text:?}: {stderr}");
        if !said.is_empty() {
            assert!(stderr.contains(said) && read.status.code() == Some(3), "{text:?}: {stderr}");
            assert_eq!(ads.matches("EventTypeNumber = ").count(), events, "{text:?}: {ads}");
        }
    }
    let missing = Command::new(env!("CARGO_BIN_EXE_htc-starter-run"))
        .args(["--events-of", "/no/such"])
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(3));
}

#[test]
fn clean_removes_what_a_killed_run_kept_for_its_job() {
    let mut place = shadow("done");
    fs::create_dir(place.path("tmp")).unwrap();
    let tmp = place.path("tmp").display().to_string();
    place.environment.push(("TMPDIR".to_owned(), tmp));
    let mut child = start(&place, QUEUED);
    let tmp = place.path("tmp");
    let spools = || {
        let all = fs::read_dir(&tmp).unwrap().flatten();
        all.filter(|entry| entry.file_name().to_string_lossy().starts_with("htc-spool.")).count()
    };
    assert_eq!(spools(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(spools(), 1);
    place.options = vec!["--clean".to_owned()];
    let cleaned = place.command().output().unwrap();
    assert_eq!(
        (cleaned.status.code(), spools()),
        (Some(0), 0),
        "{}",
        String::from_utf8_lossy(&cleaned.stderr)
    );
}

#[test]
fn json_output_is_valid_with_every_option() {
    let array = |words: &[&str]| {
        let output = Place::new().option(words).command().output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        serde_json::from_str::<Vec<serde_json::Value>>(&text)
            .unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"))
    };
    assert_eq!(array(&["--classad", "--json"])[0]["HasFileTransfer"], true);
    assert!(array(&["--clean", "--json"]).is_empty());
    let run = Place::new().option(&["--json"]).run("Cmd = \"/no/such/program\"");
    assert_eq!((run.status, run.ad.as_str()), (1, "[\n]\n"), "{}", run.stderr);
}

#[test]
fn the_exit_hook_of_a_queued_job_gets_the_users_request() {
    for (quirks, words) in [("none", ["hold", "remove", "evict"]), ("reference", ["evict"; 3])] {
        for (ask, word) in ["hold", "remove", "soft"].into_iter().zip(words) {
            let place = place().option(&["--as", "shadow", "--until", "1", "--quirks", quirks]);
            let child = start(&place, "ShouldTransferFiles = \"NO\"\nJobUniverse = 5");
            done(&place, &[ask]);
            let run = place.finish(child);
            assert!(run.calls.ends_with(&format!("exit {word}\n")), "{ask}: {}\n{}", run.calls, run.stderr);
        }
    }
}
