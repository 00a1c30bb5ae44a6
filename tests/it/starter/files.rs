//! Tests of how `htc-starter-run` handles files that a job or hook controls: FIFOs, links, outputs without an end or a reader.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use htc_hooks::os::process_table;
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;

use crate::support::place::{Place, send, shell};

fn fifo(place: &Place, name: &str) {
    nix::unistd::mkfifo(&place.path(name), Mode::from_bits_truncate(0o666)).unwrap();
    fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o666)).unwrap();
}

/// Waits until a child of the starter, which has not executed the job yet, waits for the other end of a FIFO.
fn until_it_waits(starter: &Child) {
    let begun = std::time::Instant::now();
    let waits = |pid: i32| {
        process_table::read_process(pid).is_some_and(|process| {
            process.parent == starter.id().cast_signed() && process.only_forked && process.state == b'S'
        })
    };
    let pids =
        || fs::read_dir("/proc").unwrap().flatten().filter_map(|at| at.file_name().to_str()?.parse().ok());
    while !pids().any(waits) {
        assert!(begun.elapsed() < crate::support::children::LONG, "nothing waits");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_wrapper_error_file_is_read_safely() {
    let place = Place::new();
    let secret = place.path("secret");
    fs::write(&secret, "the secret").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let file = "$_CONDOR_SCRATCH_DIR/.job_wrapper_failure";
    for command in [format!("ln -s {}", secret.display()), "mkfifo".to_owned(), "mkdir".to_owned()] {
        let run = place.run(&format!("{}\nStarterUserLog = \"log\"", shell(&format!("{command} {file}"))));
        assert_eq!(run.status, 1, "{command}: {}", run.stderr);
        assert!(
            run.stderr.contains("The job wrapper failed to execute the job: "),
            "{command}: {}",
            run.stderr
        );
        let log = fs::read_to_string(place.path("iwd/log")).unwrap();
        assert!(!run.stderr.contains("the secret") && !log.contains("the secret"), "{}\n{log}", run.stderr);
        assert!(run.left.is_empty());
    }
}

#[test]
fn hooks_with_much_output_run_to_their_end() {
    let much = "head -c 300000 /dev/zero | tr '\\0' x";
    let prepare = format!("cat >/dev/null; {much} >&2 || exit 9; echo prepare >> $CALLS");
    let exit = format!("cat >/dev/null; {much} | tee $CALLS.exit || exit 9; echo exit >> $CALLS");
    let place = Place::new().hook("PREPARE_JOB", &prepare).hook("JOB_EXIT", &exit);
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!((run.status, run.calls.as_str()), (0, "prepare\nexit\n"), "{}", run.stderr);
    assert_eq!(fs::metadata(place.path("iwd/calls.exit")).unwrap().len(), 300_000);
    // A hook that writes without an end is stopped.
    let run = Place::new().hook("PREPARE_JOB", "exec cat /dev/zero >&2").run("Cmd = \"/bin/true\"");
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("PREPARE_JOB (PREPARE_JOB) failed (died with signal 13"), "{}", run.stderr);
}

#[test]
fn a_job_waits_for_the_other_end_of_a_fifo() {
    let place = Place::new();
    for name in ["iwd/in", "iwd/out"] {
        fifo(&place, name);
    }
    let child = place.start(&format!("{}\nIn = \"in\"\nOut = \"out\"", shell("cat; echo end")));
    until_it_waits(&child);
    fs::write(place.path("iwd/in"), "hello\n").unwrap();
    assert_eq!(fs::read_to_string(place.path("iwd/out")).unwrap(), "hello\nend\n");
    let run = place.finish(child);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.left.is_empty());
}

#[test]
fn a_job_that_waits_for_a_fifo_can_be_ended() {
    let place = Place::new().with_recording_hooks();
    fifo(&place, "iwd/in");
    let mut child = place.start("Cmd = \"/bin/cat\"\nIn = \"in\"");
    // Messages are read until the job has its process id.
    let mut told = Vec::new();
    let mut stderr = child.stderr.take().unwrap();
    while !told.windows(7).any(|words| words == b"started") {
        let mut buffer = [0; 4096];
        let count = stderr.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "{}", String::from_utf8_lossy(&told));
        told.extend_from_slice(&buffer[..count]);
    }
    until_it_waits(&child);
    send(&child, Signal::SIGTERM);
    let rest = std::thread::spawn(move || stderr.read_to_end(&mut told).map(|_| told));
    let run = place.finish(child);
    let told = rest.join().unwrap().unwrap();
    assert_eq!(run.status, 1, "{}", String::from_utf8_lossy(&told));
    assert_eq!(run.calls, "prepare\nexit evict\n");
    assert!(run.left.is_empty());
}

#[test]
fn other_errors_are_reported_before_and_after_the_wait_for_a_fifo() {
    let place = Place::new().with_recording_hooks();
    fifo(&place, "iwd/in");
    let run = place.run("Cmd = \"/bin/cat\"\nIn = \"in\"\nOut = \"/no/such/place\"");
    assert_eq!((run.status, run.calls.as_str()), (1, "prepare\nexit evict\n"), "{}", run.stderr);
    assert!(run.stderr.contains("Failed to open '/no/such/place' as standard output"), "{}", run.stderr);
    let run = place.run("Cmd = \"/no/such/program\"\nIn = \"in\"");
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("Failed to execute '/no/such/program'"), "{}", run.stderr);
    // The kernel reports a missing interpreter only when the file is executed.
    crate::support::children::write_executable(&place.path("iwd/job"), b"#!/no/such/interpreter\n");
    let child = place.start("Cmd = \"job\"\nIn = \"in\"");
    // Opening the other end of the FIFO lets the job start; nothing is read.
    drop(fs::File::options().write(true).open(place.path("iwd/in")).unwrap());
    let run = place.finish(child);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("/no/such/interpreter"), "{}", run.stderr);
    assert!(run.calls.ends_with("exit evict\n"), "{}", run.calls);
}

#[test]
fn the_status_of_a_job_does_not_depend_on_who_reads_its_ad() {
    let place = Place::new();
    let with = |stdout: Stdio, script: &str| {
        let mut child = place.command().stdout(stdout).spawn().unwrap();
        child.stdin.take().unwrap().write_all(place.complete_ad(&shell(script)).as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let gone = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(writer)
    };
    assert_eq!(with(gone(), "exit 3").0, Some(1));
    assert_eq!(with(gone(), "exit 0").0, Some(0));
    if Path::new("/dev/full").exists() {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (status, stderr) = with(full.into(), "exit 0");
        assert_eq!(status, Some(125), "{stderr}");
        assert!(stderr.contains("cannot write the job's ad to standard output"), "{stderr}");
    }
}

#[test]
fn the_xml_log_of_a_job_is_as_in_the_reference() {
    let log = |place: &Place, use_xml: &str, ad: &str| {
        let ad = format!("{ad}\nStarterUserLog = \"log\"\nStarterUserLogUseXML = {use_xml}");
        place.run(&ad);
        fs::read_to_string(place.path("iwd/log")).unwrap()
    };
    let failing = "Cmd = \"/no\\such\u{e9}\u{1}<x>\"";
    // These values are true for `LookupBool`, for which a string is not.
    for use_xml in ["true", "1", "0.5"] {
        let log = log(&Place::new(), use_xml, failing);
        let text = "<a n=\"ErrorMsg\"><s>Failed to execute '/no\\\\such\\303\\251\\001&lt;x&gt;'";
        assert!(log.contains(text), "{use_xml}: {log}");
        assert!(!log.contains("HoldReason"), "{log}");
    }
    assert!(log(&Place::new(), "\"true\"", failing).starts_with("001 ("));
    let place = Place::new().hook("PREPARE_JOB", "cat >/dev/null; echo 'HookStatusMessage = \"plain\"'");
    let log = log(&place, "true", "Cmd = \"/bin/true\"");
    assert!(log.contains("<a n=\"CriticalError\"><i>0</i></a>"), "{log}");
}

#[test]
fn universe_and_command_set_by_the_prepare_hook_apply() {
    for universe in [1, 7, 9, 11, 13] {
        let prepare = format!("cat >/dev/null; echo 'JobUniverse = {universe}'");
        let place = Place::new().hook("PREPARE_JOB", &prepare);
        let run = place.run(&shell("echo ran >> calls"));
        assert_eq!((run.status, run.calls.as_str()), (1, ""), "{universe}: {}", run.stderr);
        assert!(run.stderr.contains(&format!("doesn't support universe {universe} (")), "{}", run.stderr);
    }
    let place = Place::new().hook("PREPARE_JOB", "cat >/dev/null; echo 'Cmd = \"\"'");
    let run = place.run("Cmd = \"/bin/true\"\nArguments = \"one two\"");
    assert_eq!(run.status, 1, "{}", run.stderr);
    // The first argument takes the place of argv[0].
    let text = "Failed to execute '' with arguments two: (errno=2: 'No such file or directory')";
    assert!(run.stderr.contains(text), "{}", run.stderr);
}

#[test]
fn a_link_in_the_scratch_directory_is_removed_and_not_what_it_leads_to() {
    let place = Place::new();
    fs::create_dir(place.path("outside")).unwrap();
    fs::write(place.path("outside/file"), "keep").unwrap();
    symlink(place.path("outside"), place.path("iwd/link")).unwrap();
    let run = place.run(&shell(
        "cp -P link $_CONDOR_SCRATCH_DIR/a; mkdir $_CONDOR_SCRATCH_DIR/b; chmod 0 $_CONDOR_SCRATCH_DIR/b",
    ));
    assert_eq!((run.status, run.left.len()), (0, 0), "{}", run.stderr);
    assert_eq!(fs::read_to_string(place.path("outside/file")).unwrap(), "keep");
}

#[test]
fn files_of_a_job_have_the_modes_of_daemons_whatever_the_umask_of_the_caller() {
    let place = Place::new();
    let starter = place.command();
    let mut caller = Command::new("/bin/sh");
    caller
        .args(["-c", "umask 077; exec \"$@\"", "sh"])
        .arg(starter.get_program())
        .args(starter.get_args())
        .env_clear()
        .envs(starter.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(starter.get_current_dir().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = caller.spawn().unwrap();
    let ad =
        place.complete_ad(&format!("{}\nOut = \"out\"\nStarterUserLog = \"log\"", shell("echo x; : > made")));
    child.stdin.take().unwrap().write_all(ad.as_bytes()).unwrap();
    let run = place.finish(child);
    assert_eq!(run.status, 0, "{}", run.stderr);
    for name in ["log", "out", "made"] {
        let mode = fs::metadata(place.path("iwd").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "{name}");
    }
}
