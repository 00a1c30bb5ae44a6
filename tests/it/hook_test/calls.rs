//! Calls of `htc-hook-test` for tests: in a directory, with a minimal environment and no input.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Returns the path of the program, or `None` if it was not built.
pub(crate) fn program() -> Option<PathBuf> {
    let path = option_env!("CARGO_BIN_EXE_htc-hook-test").map(PathBuf::from);
    if path.is_none() {
        println!("skipped: htc-hook-test is not built");
    }
    path
}

pub(crate) fn command(directory: &Path, words: &[&str]) -> Option<Command> {
    let mut command = Command::new(program()?);
    command.args(words).current_dir(directory).env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    Some(command)
}

/// Runs the program to its end.
pub(crate) fn run(directory: &Path, words: &[&str]) -> Option<Output> {
    Some(command(directory, words)?.output().unwrap())
}

/// Returns exit status, standard output and standard error of a call.
pub(crate) fn status_and_output(directory: &Path, words: &[&str]) -> Option<(i32, String, String)> {
    let output = run(directory, words)?;
    Some((output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr)))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
