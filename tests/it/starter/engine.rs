//! Tests of jobs in containers of a real engine: podman called with docker's commands, and an image of one static program.
//! Skipped with the reason if there is no engine, or if it may not create containers.

#![allow(clippy::print_stdout, reason = "a skipped test says why")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use nix::sys::signal::Signal;

use crate::support::children::write_executable;
use crate::support::dice::Dice;
use crate::support::place::{Place, read_fifo, send};

/// Source of the static program in the image.
const PROGRAM: &str = r#"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void leave(int signal) { _exit(5); }
int main(int argc, char **argv) {
    char here[4096];
    signal(SIGTERM, leave);
    if (argc > 2 && !strcmp(argv[1], "exit")) return atoi(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "wait")) {
        int file = open(argv[2], O_WRONLY);
        if (write(file, "ready\n", 6) != 6) return 1;
        close(file);
        for (;;) pause();
    }
    printf("in %s as %d with %s\n", getcwd(here, sizeof here), getuid(), getenv("T_A"));
    return 0;
}
"#;

const IMAGE: &str = "htc-hooks-engine-test:1";

fn script() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/examples/containers/docker-by-podman").to_owned()
}

fn engine(words: &[&str]) -> Output {
    Command::new(script()).args(words).output().unwrap()
}

/// Creates the image once, and tests it. Returns the reason if this fails.
fn unavailable() -> Option<&'static String> {
    static MADE: OnceLock<Option<String>> = OnceLock::new();
    MADE.get_or_init(|| make().err()).as_ref()
}

fn check_success(what: &str, output: Output) -> Result<(), String> {
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Creates the archive that contains the image.
fn archive(place: &Path) -> Result<String, String> {
    let run = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).current_dir(place).output();
        check_success(program, output.map_err(|error| format!("{program}: {error}"))?)
    };
    run("podman", &["--version"])?;
    fs::write(place.join("job.c"), PROGRAM).unwrap();
    run("cc", &["-static", "-w", "-o", "job", "job.c"])?;
    run("tar", &["cf", "image.tar", "job"])?;
    Ok(place.join("image.tar").display().to_string())
}

fn make() -> Result<(), String> {
    let place = tempfile::tempdir().unwrap();
    let image = archive(place.path())?;
    // Otherwise the image of an earlier run would remain without a name.
    let old = Command::new("podman").args(["images", "--quiet", IMAGE]).output();
    let old = old.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    for id in old.lines() {
        let _ = Command::new("podman").args(["rmi", "--force", id]).output();
    }
    check_success("import", engine(&["import", &image, IMAGE]))?;
    let name = format!("htc-hooks-trial-{}", std::process::id());
    let made = check_success("create", engine(&["create", "--name", &name, IMAGE, "/job", "exit", "0"]));
    let run = made.and_then(|()| check_success("start", engine(&["start", "-a", &name])));
    engine(&["rm", "-f", &name]);
    run
}

/// Creates a place whose docker is podman, or returns `None` if podman is not available.
fn place() -> Option<Place> {
    if let Some(reason) = unavailable() {
        println!("skipped: no container engine here: {reason}");
        return None;
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let mut place = Place::new().with_recording_hooks().parameter(&format!("DOCKER = {}", script()));
    place.environment.push(("HOME".to_owned(), home));
    place.environment.push(("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()));
    Some(place)
}

fn job(arguments: &str) -> String {
    format!(
        "Cmd = \"/job\"\nArguments = \"{arguments}\"\nEnvironment = \"T_A=1\"\nOut = \"out\"\nErr = \"err\"\n\
         WantDocker = true\nDockerImage = \"{IMAGE}\""
    )
}

/// Returns the containers of this test that still exist.
fn left(name: &str) -> String {
    String::from_utf8_lossy(&engine(&["ps", "-a", "--filter", &format!("name={name}")]).stdout).into_owned()
}

#[test]
fn a_job_runs_in_a_real_container_that_is_removed() {
    let Some(place) = place() else { return };
    // Other tests run their own containers in parallel.
    let run = place.run(&format!("{}\nProcId = 41", job("x")));
    let out = fs::read_to_string(place.path("iwd/out")).unwrap_or_default();
    let err = fs::read_to_string(place.path("iwd/err")).unwrap_or_default();
    assert_eq!(run.status, 0, "{out}{err}{}", run.stderr);
    let uid = if nix::unistd::geteuid().is_root() { 65534 } else { nix::unistd::geteuid().as_raw() };
    assert_eq!(out, format!("in {} as {uid} with 1\n", place.path("iwd").display()), "{err}{}", run.stderr);
    assert!(!left("HTCJob7_41__PID").contains("HTCJob"), "{}", left("HTCJob7_41__PID"));
    assert!(run.left.is_empty());
    let run = place.run(&job("exit 3"));
    assert!(run.has("ExitCode = 3"), "{}{}", run.ad, run.stderr);
    assert_eq!(run.status, 1);
}

#[test]
fn a_job_in_a_real_container_is_ended_by_its_signal() {
    let Some(place) = place() else { return };
    let pipe = place.pipe();
    let child = place.start(&job(&format!("wait {}", pipe.display())));
    assert_eq!(read_fifo(&pipe), "ready\n");
    send(&child, Signal::SIGTERM);
    let run = place.finish(child);
    assert!(run.has("ExitCode = 5"), "{}{}", run.ad, run.stderr);
    assert!(run.calls.ends_with("exit evict\n"), "{}", run.calls);
}

#[test]
fn cleaning_removes_the_real_container_of_a_starter_that_was_killed() {
    let Some(place) = place() else { return };
    let pipe = place.pipe();
    let mut child = place.start(&format!("{}\nProcId = 43", job(&format!("wait {}", pipe.display()))));
    assert_eq!(read_fifo(&pipe), "ready\n");
    send(&child, Signal::SIGKILL);
    child.wait().unwrap();
    assert!(left("HTCJob7_43__PID").contains("HTCJob"), "nothing was left");
    let output = place.clean_command().output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert!(text.contains("removed the container 'HTCJob7_43__PID"), "{text}");
    assert!(!left("HTCJob7_43__PID").contains("HTCJob"), "{text}");
    assert_eq!(fs::read_dir(place.path("execute")).unwrap().count(), 0, "{text}");
}

/// Jobs in containers are asked to end, or killed with or without their starter, at random times: while the image is checked, or
/// while the container is created, started, run or removed. There are 6 trials; for more, use `HTC_HOOKS_RANDOM_ENDS=200 cargo
/// test --test it containers_ended`.
#[test]
fn clean_finds_all_leftovers_of_killed_containers() {
    let Some(place) = place() else { return };
    let count = std::env::var("HTC_HOOKS_RANDOM_ENDS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    // Images are identified by their ids, because a job gives its image a name.
    let images = || -> BTreeSet<String> {
        let ids = engine(&["images", "--quiet"]).stdout;
        String::from_utf8_lossy(&ids).lines().map(str::to_owned).collect()
    };
    let before = images();
    let pipe = place.pipe();
    let ad = format!("{}\nProcId = 45", job(&format!("wait {}", pipe.display())));
    let name = "HTCJob7_45__PID";
    let clock = std::time::Instant::now();
    let child = place.start(&ad);
    assert_eq!(read_fifo(&pipe), "ready\n");
    let whole = u64::try_from(clock.elapsed().as_millis()).unwrap();
    send(&child, Signal::SIGTERM);
    assert!(place.finish(child).has("ExitCode = 5"));
    let mut dice = Dice(13);
    let mut counts = [0; 4];
    for trial in 0..count {
        let end = usize::try_from(dice.next(4)).unwrap();
        counts[end] += 1;
        // The FIFO has a reader, so that the job does not wait for one.
        let reader = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let mut child = place.start(&ad);
        // The test does not synchronize with the job, because it needs random times.
        std::thread::sleep(std::time::Duration::from_millis(dice.next(whole + whole / 2)));
        let signal = [Signal::SIGTERM, Signal::SIGQUIT, Signal::SIGKILL, Signal::SIGTERM][end];
        send(&child, signal);
        if end == 3 {
            // A second signal is sent while the job ends.
            std::thread::sleep(std::time::Duration::from_millis(dice.next(whole)));
            send(&child, Signal::SIGKILL);
        }
        child.wait().unwrap();
        let output = place.clean_command().output().unwrap();
        let report =
            format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        assert_eq!(output.status.code(), Some(0), "{trial}, {signal}: {report}");
        assert!(!left(name).contains("HTCJob"), "{trial}, {signal}: {report}{}", left(name));
        assert_eq!(fs::read_dir(place.path("execute")).unwrap().count(), 0, "{trial}, {signal}: {report}");
        drop(reader);
    }
    println!("TERM, QUIT, KILL, TERM and KILL: {counts:?}");
    assert_eq!(images(), before, "no image came or went");
}

#[test]
fn a_command_missing_in_the_image_is_reported_and_nothing_is_left() {
    let Some(place) = place() else { return };
    let run = place.run(&job("x").replace("/job", "/no/such/job"));
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.left.is_empty() && run.calls.contains("exit "), "{}", run.calls);
}

#[test]
fn the_job_runs_in_the_image_that_the_example_hook_chooses() {
    let Some(place) = place() else { return };
    let hook = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/containers/pick-image");
    let place = place.parameter(&format!("FARM_HOOK_PREPARE_JOB = {hook}"));
    let ad = format!("Cmd = \"/job\"\nArguments = \"exit 4\"\nWantSoftware = \"{IMAGE}\"");
    let run = place.run(&ad);
    assert!(run.has("ExitCode = 4"), "{}{}", run.ad, run.stderr);
}

/// Uid and gid of `nobody`.
const NOBODY: u32 = 65534;

/// Ordinary user whose podman directories are below a place.
struct User {
    place: Place,
}

impl User {
    /// Creates the user, with the image of the tests.
    fn new() -> Result<Self, String> {
        let place = Place::new().with_recording_hooks();
        // The home directory of the account does not exist, so another one is set.
        let docker = format!("#!/bin/sh\nHOME={} exec {} \"$@\"\n", place.path("home").display(), script());
        write_executable(&place.path("docker"), docker.as_bytes());
        let parameter = format!("DOCKER = {}", place.path("docker").display());
        let user = User { place: place.parameter(&parameter) };
        for name in ["home", "run"] {
            fs::create_dir(user.place.path(name)).unwrap();
            user.place.chown_to_nobody(name);
        }
        user.place.chown_to_nobody("execute");
        let image = archive(user.place.home.path())?;
        let output = user.of(Command::new(script()).args(["import", &image, IMAGE])).output().unwrap();
        check_success("import", output).map(|()| user)
    }

    fn of<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .uid(NOBODY)
            .gid(NOBODY)
            .env_clear()
            .env("HOME", self.place.path("home"))
            .env("XDG_RUNTIME_DIR", self.place.path("run"))
            .env("CONDOR_CONFIG", self.place.path("condor_config"))
            .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
            .current_dir("/")
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // Podman keeps a process for the user's namespaces. Its files belong to subordinate ids, so only podman can remove them.
        for words in [&["system", "reset", "--force"][..], &["system", "migrate"]] {
            drop(self.of(Command::new("podman").args(words)).output());
        }
    }
}

#[test]
fn an_ordinary_user_runs_jobs_in_containers_of_a_real_engine() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: the other tests of this file run as an ordinary user already");
    }
    let user = match User::new() {
        Ok(user) => user,
        Err(reason) => return println!("skipped: no container engine for an ordinary user: {reason}"),
    };
    let name = "htc-hooks-trial";
    let trial =
        [&["create", "--name", name, IMAGE, "/job", "exit", "0"][..], &["start", "-a", name], &["rm", name]];
    for words in trial {
        let output = user.of(Command::new(script()).args(words)).output().unwrap();
        if let Err(reason) = check_success(words[0], output) {
            return println!("skipped: no container engine for an ordinary user: {reason}");
        }
    }
    let run = |arguments: &str| {
        let mut command = user.place.command();
        user.of(&mut command);
        let mut child = command.spawn().unwrap();
        let ad = user.place.complete_ad(&job(arguments));
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), ad.as_bytes()).unwrap();
        user.place.finish(child)
    };
    let result = run("x");
    let out = fs::read_to_string(user.place.path("iwd/out")).unwrap_or_default();
    assert_eq!(result.status, 0, "{out}{}", result.stderr);
    let iwd = user.place.path("iwd").display().to_string();
    // In the container, the job has the user's own uid.
    let is_himself = |uid: &str| out == format!("in {iwd} as {uid} with 1\n");
    assert!(is_himself("0") || is_himself("65534"), "{out}{}", result.stderr);
    assert!(
        result.left.is_empty() && result.calls == "prepare\nexit exit\n",
        "{}{:?}",
        result.calls,
        result.left
    );
    let result = run("exit 3");
    assert!(result.has("ExitCode = 3") && result.status == 1, "{}{}", result.ad, result.stderr);
}
