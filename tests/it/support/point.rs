//! Execution point in an empty directory, whose hooks and fake starter are shell scripts, and whose events are JSON.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::children::{LONG, write_executable};

/// Fake starter that prints the job which it received, with exit status 0 added, as the real starter does.
const STARTER: &str = "#!/bin/sh\ncat > \"$HOME/job.$$\"\ncat \"$HOME/job.$$\"\n\
                       echo 'ExitBySignal = false'\necho 'ExitCode = 0'\n";

/// Fetch hook that returns the files of `queue/*` in order, one per call. It is atomic, so that each slot gets another job.
const FETCH: &str = "#!/bin/sh\nfor file in \"$HOME\"/queue/*; do\n  [ -e \"$file\" ] || exit 0\n\
                     mv \"$file\" \"$HOME/taken/\" 2>/dev/null || continue\n\
                     exec cat \"$HOME/taken/${file##*/}\"\ndone\n";

/// Directory of an execution point.
pub(crate) struct Point {
    home: tempfile::TempDir,
    parameters: Vec<String>,
    pub(crate) arguments: Vec<String>,
    /// Path of the configuration on the command line [default: absolute].
    pub(crate) config_name: PathBuf,
    /// Destination of events [default: the file `events`].
    pub(crate) events_to: Option<String>,
}

/// Result of a run.
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stderr: String,
    pub(crate) events: Vec<Value>,
}

impl Point {
    /// Creates one static slot that fetches `queue/*`, with all hooks; its jobs end at once.
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let config_name = home.path().join("config");
        let point = Point {
            home,
            parameters: Vec::new(),
            arguments: vec!["--once".into()],
            config_name,
            events_to: None,
        };
        std::fs::set_permissions(point.path(""), std::fs::Permissions::from_mode(0o755)).unwrap();
        for directory in ["hooks", "execute", "log", "queue", "taken", "out"] {
            std::fs::create_dir(point.path(directory)).unwrap();
        }
        for directory in ["queue", "taken", "out", "log"] {
            std::fs::set_permissions(point.path(directory), std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        let tell = |name: &str| {
            format!("#!/bin/sh\ncat > \"$HOME/out/{name}.$$\"\necho \"$@\" >> \"$HOME/out/{name}.words\"\n")
        };
        point
            .hook("fetch", FETCH)
            .hook("reply", &tell("reply"))
            .hook("evict", &tell("evict"))
            .hook("starter", STARTER)
            .parameter("NUM_CPUS = 2")
            .parameter("MEMORY = 1024")
            .parameter("NUM_SLOTS_TYPE_1 = 1")
            .parameter("SLOT_TYPE_1 = 100%")
            .parameter("EXECUTE = $(CONFIG_ROOT)/execute")
            .parameter("LOG = $(CONFIG_ROOT)/log")
            .parameter("STARTER = $(CONFIG_ROOT)/hooks/starter")
            .parameter("STARTD_JOB_HOOK_KEYWORD = T")
            .parameter("T_HOOK_FETCH_WORK = $(CONFIG_ROOT)/hooks/fetch")
            .parameter("T_HOOK_REPLY_FETCH = $(CONFIG_ROOT)/hooks/reply")
            .parameter("T_HOOK_EVICT_CLAIM = $(CONFIG_ROOT)/hooks/evict")
            .parameter("FetchWorkDelay = 0")
            .parameter("POLLING_INTERVAL = 1")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Adds a line to the configuration. Later lines override earlier ones.
    pub(crate) fn parameter(mut self, line: &str) -> Self {
        self.parameters.push(line.to_owned());
        self
    }

    /// Writes an executable file below `hooks`. If it is a starter, it reports no abilities.
    pub(crate) fn hook(self, name: &str, text: &str) -> Self {
        let text = &match name {
            "starter" => text.replacen("#!/bin/sh\n", "#!/bin/sh\n[ \"$1\" = -classad ] && exit\n", 1),
            _ => text.to_owned(),
        };
        write_executable(&self.path("hooks").join(name), text.as_bytes());
        self
    }

    /// Adds a job to the queue.
    pub(crate) fn job(self, name: &str, ad: &str) -> Self {
        std::fs::write(self.path("queue").join(name), ad).unwrap();
        self
    }

    pub(crate) fn arguments<const N: usize>(mut self, arguments: [&str; N]) -> Self {
        self.arguments = arguments.map(str::to_owned).to_vec();
        self
    }

    /// Returns the command that runs the execution point.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.configured_command();
        command
            .arg("--events")
            .arg(self.events_to.clone().map_or_else(|| self.path("events").into_os_string(), Into::into))
            .args(&self.arguments);
        command
    }

    /// Returns the command for another verb, without the options that only a run has.
    pub(crate) fn query(&self) -> Command {
        let mut command = self.configured_command();
        command.args(self.arguments.iter().filter(|word| *word != "--once"));
        command
    }

    fn configured_command(&self) -> Command {
        let config = self.path("config");
        std::fs::write(&config, self.parameters.join("\n") + "\n").unwrap();
        let _ = std::fs::remove_file(self.path("events"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_htc-slot-run"));
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path())
            // If root runs the tests, the hooks need an unprivileged account.
            .env("CONDOR_IDS", "65534.65534")
            .arg("--config-file")
            .arg(&self.config_name)
            .stdin(Stdio::null());
        command
    }

    /// Runs the execution point to its end.
    pub(crate) fn run(&self) -> Run {
        let mut command = self.command();
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        self.end(child)
    }

    /// Starts the execution point in the background.
    pub(crate) fn start(&self) -> Child {
        self.command().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Waits for the end of the execution point.
    pub(crate) fn end(&self, child: Child) -> Run {
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        Run { status: status.code(), stderr, events: self.events() }
    }

    /// Returns the events that were written so far.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("events")).unwrap_or_default();
        // A line without a newline is still being written.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until an event with these keys and values was written.
    pub(crate) fn wait_for(&self, child: &mut Child, expected: &[(&str, &str)]) {
        let begun = Instant::now();
        while !self.events().iter().any(|event| is(event, expected)) {
            assert!(child.try_wait().unwrap().is_none(), "it ended before {expected:?}: {:?}", self.events());
            assert!(begun.elapsed() < LONG, "{expected:?} never came: {:?}", self.events());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the contents of all files in `out` whose names begin with `name`.
    pub(crate) fn recorded_files(&self, name: &str) -> Vec<String> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(self.path("out"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| file_name(path).starts_with(name))
            .collect();
        files.sort();
        files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
    }

    /// Sends a command through the control socket, and returns its output.
    pub(crate) fn ask<const N: usize>(&self, words: [&str; N]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_htc-slot-run"))
            .args(words)
            .args(["--control".as_ref(), self.path("control").as_os_str()])
            .output()
            .unwrap()
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Returns true if an event has these keys and values.
pub(crate) fn is(event: &Value, expected: &[(&str, &str)]) -> bool {
    expected
        .iter()
        .all(|(key, value)| event.get(key).and_then(Value::as_str).is_some_and(|text| text.contains(value)))
}

impl Run {
    /// Returns the number of events with these keys and values.
    pub(crate) fn count(&self, expected: &[(&str, &str)]) -> usize {
        self.events.iter().filter(|event| is(event, expected)).count()
    }

    /// Returns the states and activities that a slot has had.
    pub(crate) fn states(&self, slot: &str) -> String {
        let of_slot = self.events.iter().filter(|event| is(event, &[("event", "state"), ("slot", slot)]));
        let words: Vec<String> = of_slot
            .map(|event| {
                format!("{}/{}", event["state"].as_str().unwrap(), event["activity"].as_str().unwrap())
            })
            .collect();
        words.join(" ")
    }
}
