//! Directory for runs of `htc-starter-run`: configuration, hooks, and the job's directory.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::children::write_executable;

/// Time after which a program is considered to hang.
const HANG_LIMIT: Duration = Duration::from_secs(200);

/// The account of jobs if the tests run as root.
const NOBODY: u32 = 65534;

/// Directory with a configuration, hooks and the job's directory. If root runs the tests, hooks and jobs run as `nobody`,
/// otherwise as the caller.
pub(crate) struct Place {
    pub(crate) home: tempfile::TempDir,
    pub(crate) parameters: String,
    pub(crate) options: Vec<String>,
    pub(crate) tool: bool,
    pub(crate) environment: Vec<(String, String)>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let place = Place {
            home,
            parameters: String::new(),
            options: Vec::new(),
            tool: false,
            environment: Vec::new(),
        };
        for name in ["hooks", "execute", "iwd"] {
            fs::create_dir(place.path(name)).unwrap();
        }
        place.chown_to_nobody("iwd");
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn chown_to_nobody(&self, name: &str) {
        if nix::unistd::geteuid().is_root() {
            chown(self.path(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// Adds a hook for the keyword FARM. `$CALLS` in the script is a file to which all hooks can append.
    pub(crate) fn hook(mut self, name: &str, script: &str) -> Self {
        let path = self.path(&format!("hooks/{name}"));
        let script = script.replace("$CALLS", self.path("iwd/calls").to_str().unwrap());
        write_executable(&path, format!("#!/bin/sh\n{script}\n").as_bytes());
        self.parameters += &format!("FARM_HOOK_{name} = {}\n", path.display());
        self
    }

    /// Adds PREPARE_JOB, UPDATE_JOB_INFO and JOB_EXIT hooks that record their calls and arguments.
    pub(crate) fn with_recording_hooks(self) -> Self {
        self.hook("PREPARE_JOB", "cat >/dev/null; echo prepare >> $CALLS")
            .hook("UPDATE_JOB_INFO", "cat >/dev/null")
            .hook("JOB_EXIT", "cat >$CALLS.exit; echo exit $1 >> $CALLS")
    }

    pub(crate) fn parameter(mut self, line: &str) -> Self {
        self.parameters += line;
        self.parameters += "\n";
        self
    }

    pub(crate) fn option(mut self, words: &[&str]) -> Self {
        self.options.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    /// Returns the command that runs the program with this configuration.
    pub(crate) fn command(&self) -> Command {
        self.command_with(self.options.iter().map(String::as_str))
    }

    /// Returns the command with `--clean`. Options about a job are left out, because it runs no job.
    pub(crate) fn clean_command(&self) -> Command {
        let mut words = Vec::new();
        let mut options = self.options.iter().map(String::as_str);
        while let Some(option) = options.next() {
            match option {
                "--as" | "--control" => drop(options.next()),
                other => words.push(other),
            }
        }
        self.command_with(words.into_iter().chain(["--clean"]))
    }

    fn command_with<'a>(&self, options: impl Iterator<Item = &'a str>) -> Command {
        let config = self.path("condor_config");
        let execute = self.path("execute");
        let text = format!(
            // CONDOR_IDS is set, so that the test does not depend on the machine's account for HTCondor's daemons.
            "LOCAL_DIR = {}\nEXECUTE = {}\nCONDOR_IDS = 0.0\nSTARTER_DEFAULT_JOB_HOOK_KEYWORD = FARM\n{}",
            self.home.path().display(),
            execute.display(),
            self.parameters
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_htc-starter-run"));
        if self.tool {
            command.arg0("condor_starter");
        }
        command
            .args(options)
            .current_dir(self.home.path())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("CONDOR_CONFIG", &config)
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Adds the attributes that every job has in these tests.
    pub(crate) fn complete_ad(&self, ad: &str) -> String {
        format!(
            "ClusterId = 7\nProcId = 1\nUser = \"nobody@example.org\"\nIwd = \"{}\"\n{ad}\n",
            self.path("iwd").display()
        )
    }

    pub(crate) fn start(&self, ad: &str) -> Child {
        let mut child = self.command().spawn().unwrap();
        let ad = self.complete_ad(ad);
        // A program that refuses its command line does not read its input.
        let _ = child.stdin.take().unwrap().write_all(ad.as_bytes());
        child
    }

    pub(crate) fn run(&self, ad: &str) -> RunResult {
        self.finish(self.start(ad))
    }

    pub(crate) fn finish(&self, child: Child) -> RunResult {
        let Output { status, stdout, stderr } = ended(child);
        assert_eq!(status.signal(), None, "{}", String::from_utf8_lossy(&stderr));
        let left: Vec<_> = fs::read_dir(self.path("execute")).unwrap().flatten().map(|e| e.path()).collect();
        RunResult {
            status: status.code().unwrap(),
            ad: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            calls: fs::read_to_string(self.path("iwd/calls")).unwrap_or_default(),
            left,
        }
    }

    /// Creates a FIFO by which a job reports that it runs; [`read_fifo`] waits for the report.
    pub(crate) fn pipe(&self) -> PathBuf {
        let path = self.path("iwd/pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::from_bits_truncate(0o666)).unwrap();
        self.chown_to_nobody("iwd/pipe");
        path
    }
}

/// Waits for the end of a program. A program that hangs is killed, so that its test fails with the program's messages.
fn ended(child: Child) -> Output {
    let pid = Pid::from_raw(child.id().cast_signed());
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if waits.recv_timeout(HANG_LIMIT) == Err(RecvTimeoutError::Timeout) {
            let _ = kill(pid, Signal::SIGKILL);
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(done);
    watch.join().unwrap();
    output
}

/// Waits until a process writes to the FIFO and closes it; returns the text.
///
/// # Panics
/// Panics if no process does so in time.
pub(crate) fn read_fifo(pipe: &Path) -> String {
    // A blocking open would wait forever if the process ended before opening the FIFO.
    let flags = OFlag::O_NONBLOCK.bits();
    let mut file = fs::OpenOptions::new().read(true).custom_flags(flags).open(pipe).unwrap();
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let limit = PollTimeout::try_from(HANG_LIMIT).unwrap();
        let ready = poll(&mut [PollFd::new(file.as_fd(), PollFlags::POLLIN)], limit).unwrap();
        assert!(ready > 0, "nothing was written to {} in {HANG_LIMIT:?}", pipe.display());
        match file.read(&mut buffer) {
            Ok(0) => return String::from_utf8(bytes).unwrap(),
            Ok(count) => bytes.extend(&buffer[..count]),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}"),
        }
    }
}

pub(crate) fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

/// Waits until a process has received a signal.
pub(crate) fn wait_for_delivery(child: &Child, signal: Signal) {
    let waits = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let pending = |line: &str| {
            let mask = line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:"));
            mask.is_some_and(|mask| {
                u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal as i32 - 1) & 1 == 1
            })
        };
        status.lines().any(pending)
    };
    while waits() {
        std::thread::yield_now();
    }
}

pub(crate) struct RunResult {
    pub(crate) status: i32,
    pub(crate) ad: String,
    pub(crate) stderr: String,
    pub(crate) calls: String,
    pub(crate) left: Vec<PathBuf>,
}

impl RunResult {
    pub(crate) fn has(&self, line: &str) -> bool {
        self.ad.lines().any(|one| one == line)
    }
}

pub(crate) fn shell(script: &str) -> String {
    format!("Cmd = \"/bin/sh\"\nArguments = \"-c '{}'\"", script.replace('\'', "''").replace('"', "\\\""))
}
