//! Tests of jobs that attack their starter with leftovers, names, unreadable files and signals.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

use crate::support::place::{Place, RunResult, shell};

fn transferring(place: Place) -> Place {
    place.option(&["--as", "shadow"])
}

fn run(place: &Place, script: &str, more: &str) -> RunResult {
    place.run(&format!(
        "{}\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\nJobUniverse = 5\n{more}",
        shell(script)
    ))
}

#[test]
fn links_out_of_the_sandbox_transfer_only_readable_files() {
    let is_root = nix::unistd::geteuid().is_root();
    let place = transferring(Place::new());
    let secret = place.path("secret");
    fs::write(&secret, "root's own").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let script = format!(
        "ln -s {0} secret; ln -s /etc etc; ln -s /etc/shadow shadow; mkdir d; ln -s /etc d/etc; ln -s {0} d/secret; echo ok > plain",
        secret.display()
    );
    let result = run(&place, &script, "");
    assert!(result.left.is_empty(), "{:?}", result.left);
    let mut found = Vec::new();
    let mut open = vec![place.path("iwd")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else if let Ok(text) = fs::read(entry.path()) {
                // Without root, the job runs as the owner of the secret, who may read it.
                assert!(
                    !is_root || !text.windows(10).any(|part| part == b"root's own"),
                    "{:?}\n{}",
                    entry.path(),
                    result.stderr
                );
                found.push(entry.file_name());
            }
        }
    }
    if is_root {
        assert!(!found.iter().any(|name| name == "passwd"), "{found:?}");
    }
}

#[test]
fn file_names_of_any_bytes_are_preserved_and_break_no_message() {
    let place = transferring(Place::new());
    let script = r#"n=$(printf "a\nb"); echo 1 > "$n"; echo 2 > "c d"; echo 3 > "$(printf "\377x")"; echo 4 > "-rf"; echo 5 > "e\"f"; echo 6 > "$(printf "\033[31m")""#;
    let result = run(&place, script, "");
    assert!(result.has("JobStatus = 4"), "{}\n{}", result.ad, result.stderr);
    use std::os::unix::ffi::OsStrExt;
    for (name, text) in [
        (&b"a\nb"[..], "1\n"),
        (b"c d", "2\n"),
        (b"\xffx", "3\n"),
        (b"-rf", "4\n"),
        (b"e\"f", "5\n"),
        (b"\x1b[31m", "6\n"),
    ] {
        let path = place.path("iwd").join(std::ffi::OsStr::from_bytes(name));
        assert_eq!(fs::read_to_string(&path).unwrap_or_default(), text, "{}", result.stderr);
    }
    assert!(!result.stderr.contains('\x1b'), "{:?}", result.stderr);
}

#[test]
fn unreadable_directories_are_removed_too() {
    let place = Place::new();
    let script = "cd $_CONDOR_SCRATCH_DIR; mkdir -p a/b/c; echo x > a/b/c/d; chmod 000 a/b/c a/b a; mkdir e; echo > e/f; chmod 500 e; chmod 000 .";
    let result = place.run(&shell(script));
    assert_eq!(result.status, 0, "{}", result.stderr);
    assert!(result.left.is_empty(), "{:?}\n{}", result.left, result.stderr);
    // Output in an unreadable directory cannot be transferred, which is reported and does not prevent the end of the job.
    let place = transferring(Place::new());
    let result = run(
        &place,
        "mkdir closed; echo x > closed/x; chmod 000 closed; echo y > y",
        "TransferOutput = \"closed, y\"",
    );
    assert!(result.left.is_empty(), "{:?}", result.left);
    assert_eq!(
        fs::read_to_string(place.path("iwd/y")).unwrap_or_default(),
        "y\n",
        "{}\n{}",
        result.stderr,
        result.ad
    );
}

#[test]
fn sockets_and_pipes_in_the_scratch_directory_block_nothing() {
    let place = transferring(Place::new());
    let script = "mkfifo pipe out2; mkdir d; mkfifo d/pipe; \
                  python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind(\\\"sock\\\")\" 2>/dev/null; echo ok > plain";
    let result = run(&place, script, "");
    assert!(result.left.is_empty(), "{:?}", result.left);
    assert_eq!(fs::read_to_string(place.path("iwd/plain")).unwrap_or_default(), "ok\n", "{}", result.stderr);
    for name in ["pipe", "sock"] {
        let there = fs::symlink_metadata(place.path("iwd").join(name));
        assert!(!there.is_ok_and(|status| status.file_type().is_fifo() || status.file_type().is_socket()));
    }
    // A FIFO that the job names as output is a file that cannot be transferred.
    let place = transferring(Place::new());
    let result = run(&place, "mkfifo pipe", "TransferOutput = \"pipe\"");
    assert!(result.left.is_empty() && !result.ad.is_empty(), "{:?} {}", result.left, result.stderr);
}

#[test]
fn a_job_that_removes_its_own_directory_ends_like_any_other() {
    for script in
        ["rm -rf $_CONDOR_SCRATCH_DIR", "cd /; rm -rf $_CONDOR_SCRATCH_DIR; ln -s /etc $_CONDOR_SCRATCH_DIR"]
    {
        let place = Place::new().with_recording_hooks();
        let result = place.run(&shell(&format!("{script}; exit 3")));
        assert!(result.has("ExitCode = 3"), "{}\n{}", result.ad, result.stderr);
        assert_eq!(result.calls, "prepare\nexit exit\n", "{}", result.stderr);
        assert!(result.left.is_empty(), "{:?}", result.left);
        let place = transferring(Place::new());
        let result = run(&place, script, "TransferOutput = \"x\"");
        assert!(result.has("JobStatus = 5"), "{}\n{}", result.ad, result.stderr);
        assert!(result.left.is_empty(), "{:?}", result.left);
    }
    assert!(std::path::Path::new("/etc/passwd").exists());
}

#[test]
fn a_job_that_stops_itself_and_ignores_signals_is_killed() {
    let place = Place::new().with_recording_hooks().parameter("SHUTDOWN_GRACEFUL_TIMEOUT = 1");
    let pipe = place.pipe();
    let child = place.start(&shell("trap \"\" TERM; echo > pipe; kill -STOP $$; sleep 600"));
    crate::support::place::read_fifo(&pipe);
    crate::support::place::send(&child, nix::sys::signal::Signal::SIGTERM);
    let run = place.finish(child);
    assert!(run.has("ExitSignal = 9"), "{}\n{}", run.ad, run.stderr);
    assert_eq!(run.calls, "prepare\nexit evict\n");
    assert!(run.left.is_empty(), "{:?}", run.left);
}

#[test]
fn a_sparse_file_of_ten_gigabytes_exceeds_the_disk_limit() {
    let place = transferring(Place::new());
    let result = run(&place, "truncate -s 10G big", "MaxTransferOutputMB = 100");
    assert!(
        result.has("JobStatus = 5") && result.has("HoldReasonCode = 33"),
        "{}\n{}",
        result.ad,
        result.stderr
    );
    assert!(result.left.is_empty(), "{:?}", result.left);
    let came = fs::metadata(place.path("iwd/big")).map_or(0, |status| status.len());
    assert!(came <= 100 << 20, "{came}");
}

#[test]
fn output_does_not_follow_links_at_its_destination() {
    let place = transferring(Place::new());
    let outside = place.path("outside");
    fs::write(&outside, "keep").unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&outside, place.path("iwd/made")).unwrap();
    let result = run(&place, "echo new > made", "");
    assert!(result.left.is_empty(), "{:?}", result.left);
    if nix::unistd::geteuid().is_root() {
        assert_eq!(fs::read_to_string(&outside).unwrap(), "keep", "{}", result.stderr);
    }
}

#[test]
fn hooks_are_called_after_a_job_has_closed_its_scratch_directory() {
    for close in ["chmod 000 .", "chmod 100 ."] {
        let place = Place::new()
            .hook("JOB_EXIT", "cat > /dev/null; echo exit $1 $(pwd) $(ls -a | grep -c .job.ad) >> $CALLS")
            .hook("UPDATE_JOB_INFO", "grep -q ^JobState && echo update >> $CALLS")
            .parameter("STARTER_INITIAL_UPDATE_INTERVAL = 600");
        let run = place.run(&shell(&format!("cd $_CONDOR_SCRATCH_DIR; {close}")));
        assert_eq!(run.status, 0, "{}", run.stderr);
        let exits: Vec<&str> = run.calls.lines().filter(|line| line.starts_with("exit ")).collect();
        assert_eq!(exits.len(), 1, "{}\n{}", run.calls, run.stderr);
        assert!(exits[0].ends_with(" 1") && exits[0].contains("/execute/"), "{close}: {}", exits[0]);
        assert!(run.calls.contains("update\n"), "{}\n{}", run.calls, run.stderr);
        assert!(run.left.is_empty(), "{:?}\n{}", run.left, run.stderr);
    }
}
