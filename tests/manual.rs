//! Runs the examples of the help and the man pages in a shell, in a copy of `tests/data/manual`.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use htc_hooks::cli::PROGRAMS;
use htc_hooks::cli::common::{Example, ExamplePrecondition};

/// Number of examples that run at the same time.
const THREADS: usize = 4;

/// Time limit for the start of the slots and for one example.
const PATIENCE: Duration = Duration::from_secs(120);

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Directory in which one example runs.
struct Place<'a> {
    directory: tempfile::TempDir,
    path: &'a OsStr,
}

impl Place<'_> {
    fn new(path: &OsStr) -> Place<'_> {
        let directory = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        copy(&root.join("tests/data/manual"), directory.path()).unwrap();
        Place { directory, path }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", line])
            .current_dir(self.directory.path())
            .env_clear()
            .env("PATH", self.path)
            .env("HOME", self.directory.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("htc-slot-run/control")
    }
}

/// Running slots, which are stopped at the end of the example.
struct RunningSlots(Child);

impl RunningSlots {
    fn start(place: &Place<'_>) -> RunningSlots {
        let mut command = place.command("exec htc-slot-run --config-file slots.conf --quiet");
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let slots = RunningSlots(child);
        let started = Instant::now();
        while !place.run("htc-slot-run status --config-file slots.conf").status.success() {
            assert!(started.elapsed() < PATIENCE, "no answer at {}", place.socket().display());
            std::thread::sleep(Duration::from_millis(50));
        }
        slots
    }
}

impl Drop for RunningSlots {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.0.id()).unwrap());
        for signal in [nix::sys::signal::Signal::SIGQUIT, nix::sys::signal::Signal::SIGKILL] {
            let _ = nix::sys::signal::kill(pid, signal);
            let asked = Instant::now();
            while asked.elapsed() < Duration::from_secs(20) {
                if !matches!(self.0.try_wait(), Ok(None)) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// Runs an example and returns what is wrong, or `None`.
fn run_example(example: &Example, path: &OsStr) -> Option<String> {
    let place = Place::new(path);
    let (_slots, before) = match example.setting {
        ExamplePrecondition::Files => (None, &[][..]),
        ExamplePrecondition::After(lines) => (None, lines),
        ExamplePrecondition::Slots(lines) => (Some(RunningSlots::start(&place)), lines),
    };
    let described = |line: &str, expected: u8, output: &Output| {
        format!(
            "{line}\n{}, expected {expected}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    };
    for line in before {
        let output = place.run(line);
        if !output.status.success() {
            return Some(described(line, 0, &output));
        }
    }
    // A job takes a moment to start.
    let started = Instant::now();
    loop {
        let output = place.run(example.line);
        if output.status.code() == Some(i32::from(example.status)) {
            return None;
        }
        if before.is_empty() || started.elapsed() > Duration::from_secs(10) {
            return Some(described(example.line, example.status, &output));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn manual_examples_end_with_their_exit_status() {
    // The programs are in the parent directory of the test's binary.
    let tests = std::env::current_exe().unwrap();
    let programs = tests.parent().and_then(Path::parent).unwrap();
    let path = std::env::join_paths([programs, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let examples: Vec<&Example> = PROGRAMS
        .iter()
        .flat_map(|program| {
            let of_verbs = program.manual.verbs.iter().flat_map(|verb| verb.examples);
            program.manual.examples.iter().chain(of_verbs)
        })
        .collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(example) = examples.get(next.fetch_add(1, Ordering::Relaxed)) {
                    wrong.lock().unwrap().extend(run_example(example, &path));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} examples:\n{}", wrong.len(), examples.len(), wrong.join("\n"));
}
