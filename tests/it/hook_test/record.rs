//! Tests of `htc-hook-test record` and `replay`: a recorded hook behaves like the hook itself, and a repeated call gets the same
//! verdict.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::hook_test::calls::{program, run, text};
use crate::support::children::write_executable;

/// Starts a hook through a recorder, in a shell that first executes `before`.
fn start(home: &Path, hook: &str, before: &str, input: Stdio) -> Option<Child> {
    write_executable(&home.join("h"), format!("#!/bin/sh\n{hook}\n").as_bytes());
    let line = format!("{before}\nexec \"$0\" record --into calls --type prepare -- ./h one");
    let child = Command::new("/bin/sh")
        .args(["-c", &line])
        .arg(program()?)
        .current_dir(home)
        .env("CONDOR_PRIVATE_INHERIT", "SessionKey:secret")
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    Some(child.unwrap())
}

/// Returns the directory of the only record.
fn record(home: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(home.join("calls")).unwrap();
    let place = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none());
    place
}

/// Returns the high-water mark of a running process's memory, in KiB.
fn peak(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[test]
fn recorded_endless_output_ends_without_a_reader_and_uses_little_memory() {
    let home = tempfile::tempdir().unwrap();
    let Some(mut child) = start(home.path(), "exec yes", "", Stdio::null()) else { return };
    let mut buffer = vec![0; 1 << 20];
    let mut stdout = child.stdout.take().unwrap();
    for _ in 0..100 {
        stdout.read_exact(&mut buffer).unwrap();
    }
    let used = peak(&child);
    assert!(used < 64 * 1024, "{used} KiB");
    drop(stdout);
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(13), "the hook dies as it would without a recorder: {status:?}");
    let kept = std::fs::metadata(record(home.path()).join("stdout")).unwrap().len();
    assert!(kept < 9 << 20, "{kept} bytes are kept");
}

#[test]
fn a_long_input_is_passed_on_and_its_beginning_is_recorded() {
    let home = tempfile::tempdir().unwrap();
    let Some(mut child) = start(home.path(), "wc -c", "", Stdio::piped()) else { return };
    let mut stdin = child.stdin.take().unwrap();
    for _ in 0..70 {
        stdin.write_all(&vec![b'x'; 1 << 20]).unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout).trim(), (70u32 << 20).to_string());
    assert!(std::fs::metadata(record(home.path()).join("stdin")).unwrap().len() < 9 << 20);
    let output = run(home.path(), &["replay", "calls"]).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stderr).contains("1 skipped: input not recorded completely"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_recorded_hook_may_answer_without_reading_its_input() {
    let home = tempfile::tempdir().unwrap();
    let Some(mut child) = start(home.path(), "read line; echo \"$line\"", "", Stdio::piped()) else { return };
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"A = 1\nB = 2\n").unwrap();
    let mut answer = String::new();
    child.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
    assert_eq!((answer.as_str(), child.wait().unwrap().code()), ("A = 1\n", Some(0)));
    drop(stdin);
    assert_eq!(std::fs::read(record(home.path()).join("stdin")).unwrap(), b"A = 1\nB = 2\n");
}

#[test]
fn signals_and_descriptors_of_the_caller_reach_a_recorded_hook() {
    let look = "grep SigIgn /proc/self/status | tail -c 6; [ -e /proc/self/fd/7 ] && echo seven";
    for (before, said) in [("", "0000\n"), ("trap '' PIPE; exec 7</dev/null", "1000\nseven\n")] {
        let home = tempfile::tempdir().unwrap();
        let Some(child) = start(home.path(), look, before, Stdio::null()) else { return };
        let output = child.wait_with_output().unwrap();
        assert!(text(&output.stdout).ends_with(said), "{before}: {}", text(&output.stdout));
    }
}

#[test]
fn records_are_private_and_contain_no_session_key() {
    let home = tempfile::tempdir().unwrap();
    let hook = "cat >/dev/null; echo \"A = \\\"$CONDOR_PRIVATE_INHERIT\\\"\"";
    let Some(child) = start(home.path(), hook, "umask 0", Stdio::null()) else { return };
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), "A = \"SessionKey:secret\"\n", "the hook itself gets it");
    let place = record(home.path());
    let env = std::fs::read_to_string(place.join("env")).unwrap();
    assert!(env.contains("CONDOR_PRIVATE_INHERIT=(not kept)") && !env.contains("secret"), "{env}");
    for path in [home.path().join("calls"), place.clone(), place.join("env"), place.join("stdin")] {
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{path:?}");
    }
}

#[test]
fn the_type_of_a_recorded_hook_is_guessed_or_given_later() {
    let home = tempfile::tempdir().unwrap();
    for name in ["prepare-hook", "site.sh"] {
        write_executable(&home.path().join(name), b"#!/bin/sh\ncat >/dev/null\n");
    }
    let Some(output) = run(home.path(), &["record", "--into", "guessed", "--", "./prepare-hook"]) else {
        return;
    };
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    let output = run(home.path(), &["replay", "guessed", "--type", "prepare"]).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let once = run(home.path(), &["record", "--into", "untyped", "--", "./site.sh"]).unwrap();
    assert!(text(&once.stderr).contains("cannot tell the hook type from"), "{}", text(&once.stderr));
    let twice = run(home.path(), &["record", "--into", "untyped", "--", "./site.sh"]).unwrap();
    assert!(twice.stderr.is_empty(), "it is said once: {}", text(&twice.stderr));
    let output = run(home.path(), &["replay", "untyped"]).unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("2 skipped: hook type unknown") && stderr.contains("--type"), "{stderr}");
    let output = run(home.path(), &["replay", "untyped", "--type", "exit"]).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(
        run(home.path(), &["record", "--into", "x", "--type", "no", "--", "./site.sh"])
            .unwrap()
            .status
            .code(),
        Some(2)
    );
}

/// Repeats a call that `--keep` has stored, with the same hook and with another one.
#[test]
fn a_replayed_call_differs_only_if_the_hook_differs() {
    let home = tempfile::tempdir().unwrap();
    let hook = |name: &str, text: &str| {
        write_executable(&home.path().join(name), format!("#!/bin/sh\ncat >/dev/null\n{text}\n").as_bytes());
    };
    hook("same", "");
    hook("scratch", "echo \"Where = \\\"$_CONDOR_SCRATCH_DIR/x\\\"\"");
    hook("one", "echo HookStatusMessage = '\"one\"'; exit 3");
    hook("two", "echo HookStatusMessage = '\"two\"'; exit 3");
    hook("writable", "");
    hook("plain", "");
    hook("edited", "echo 'A = 1'");
    let mode = |name: &str, mode: u32| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(home.path().join(name), permissions).unwrap();
    };
    write_executable(&home.path().join("broken"), b"#!/nonexistent/interpreter\n");
    mode("writable", 0o777);
    mode("plain", 0o644);
    for (number, kept, new, changed, words) in [
        (0, "same", "same", false, &["exit"][..]),
        (1, "same", "nonexistent", true, &["exit"]),
        (2, "same", "writable", true, &["exit"]),
        (3, "same", "plain", true, &["exit"]),
        (4, "scratch", "scratch", false, &["prepare"]),
        (5, "one", "one", false, &["prepare", "--shadow"]),
        (6, "one", "two", true, &["prepare", "--shadow"]),
        (8, "broken", "broken", false, &["prepare"]),
        (9, "broken", "same", true, &["prepare"]),
        (10, "writable", "writable", false, &["exit"]),
        (7, "edited", "edited", false, &["translate", "--edit-in-place", "--route", "Site1"]),
    ] {
        let into = format!("calls{number}");
        let kept = format!("./{kept}");
        let (kind, more) = words.split_first().unwrap();
        let words = [&[*kind, &kept, "--keep", &into], more].concat();
        let Some(called) = run(home.path(), &words) else { return };
        let output = run(home.path(), &["replay", &into, "--hook", new]).unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(i32::from(changed)), "{number}: {stderr}");
        assert!(stderr.contains(&format!("1 call, {} changed", u32::from(changed))), "{number}: {stderr}");
        let judged = run(home.path(), &["replay", &into]).unwrap();
        let word = called.stderr.split(|&byte| byte == b'\n').next().unwrap_or_default();
        assert_eq!(judged.status.code(), Some(0), "{}{}", text(&judged.stderr), text(word));
        assert!(number != 7 || text(&judged.stdout).contains("edited"), "{}", text(&judged.stdout));
    }
}

#[test]
fn a_hook_that_cannot_be_executed_is_recorded_as_such() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("prepare"), b"#!/nonexistent/interpreter\n");
    let Some(output) = run(home.path(), &["record", "--into", "calls", "--", "./prepare"]) else { return };
    assert_eq!(output.status.code(), Some(127), "{}", text(&output.stderr));
    // The daemon logs the message of the recorder, which contains the reason.
    write_executable(&home.path().join("text"), b"no program\n");
    let output = run(home.path(), &["record", "--into", "calls", "--", "./text"]).unwrap();
    assert_eq!(output.status.code(), Some(126), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("/text': Exec format error"), "{}", text(&output.stderr));
    let output = run(home.path(), &["replay", "calls"]).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("prepare-") && text(&output.stdout).contains(" not-started"));
}

#[test]
fn a_record_with_an_impossible_length_is_named() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("calls/001-h-1");
    std::fs::create_dir_all(&place).unwrap();
    let meta = "{\"hook\": \"h\", \"type\": \"prepare\", \"argv\": [\"/h\"], \"exit\": \"exited 0\", \"seconds\": 1e300}";
    std::fs::write(place.join("meta.json"), meta).unwrap();
    std::fs::write(place.join("stdin"), "A = 1\n").unwrap();
    let Some(output) = run(home.path(), &["replay", "calls"]) else { return };
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("001-h-1") && stderr.contains("1e300 seconds"), "{stderr}");
}
