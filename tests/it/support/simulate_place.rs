//! Directory in which `htc-slot-run` simulates scenarios and answers questions about them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// Configuration of two slots that fetch work every minute.
pub(crate) const CONFIG: &str = "NETWORK_INTERFACE = 127.0.0.1
DISK = 1000000
NUM_CPUS = 2
MEMORY = 2000
NUM_SLOTS_TYPE_1 = 2
SLOT_TYPE_1 = 50%
SLOT_TYPE_1_PARTITIONABLE = False
FetchWorkDelay = 60
";

/// Returns the program under test, or another build of it for tests that take long without optimisation.
fn program() -> OsString {
    std::env::var_os("SIMULATE_WITH").unwrap_or_else(|| env!("CARGO_BIN_EXE_htc-slot-run").into())
}

/// Directory with a configuration, `c.conf`.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new(config: &str) -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        place.write("c.conf", config);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the command that runs the program with these arguments and this configuration, without settings from the
    /// environment.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(words)
            .args(["--no-env", "--config-file", "c.conf"])
            .current_dir(self.0.path())
            .env_clear()
            .env("TZ", "UTC");
        command
    }

    /// Returns exit status, standard output and standard error of a run.
    pub(crate) fn run(&self, words: &[&str]) -> (i32, String, String) {
        let output = self.command(words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }

    /// Simulates a scenario with these arguments; returns exit status, standard output and standard error.
    pub(crate) fn play(&self, scenario: &str, words: &[&str]) -> (i32, String, String) {
        self.write("s.toml", scenario);
        self.run(&[&["simulate", "s.toml"], words].concat())
    }

    /// Returns standard output of a run that must succeed without messages.
    pub(crate) fn stdout_of(&self, words: &[&str]) -> String {
        let (status, output, stderr) = self.run(words);
        assert_eq!((status, stderr.as_str()), (0, ""), "{words:?}: {output}");
        output
    }

    /// Returns the only JSON element that a run prints, which must succeed.
    pub(crate) fn row(&self, words: &[&str]) -> Value {
        let mut rows: Vec<Value> = serde_json::from_str(&self.stdout_of(words)).unwrap();
        assert_eq!(rows.len(), 1, "{words:?}");
        rows.remove(0)
    }

    /// Returns the summary of a scenario, which must succeed without messages. The summary must be the same with
    /// `--every-poll`.
    pub(crate) fn summary(&self, scenario: &str, words: &[&str]) -> Value {
        self.write("s.toml", scenario);
        let row = |more: &[&str]| self.row(&[&["simulate", "s.toml", "--json"], words, more].concat());
        let (lazy, naive) = (row(&[]), row(&["--every-poll"]));
        assert_eq!(lazy, naive, "{scenario}");
        lazy
    }
}
