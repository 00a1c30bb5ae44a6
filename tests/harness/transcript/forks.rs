//! Programs that the harness writes and starts. A process that another thread forks holds a copy of each open descriptor
//! until it executes its program, and a program that is open for writing cannot be executed ("Text file busy"). So no file
//! is written while a process is forked.

use std::io;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{PoisonError, RwLock};

/// Lock that is held shared while a file is written, and exclusively while a process is forked.
static FORKS: RwLock<()> = RwLock::new(());

/// Writes a file while no process is forked.
pub fn write_file<T>(write: impl FnOnce() -> T) -> T {
    let _none = FORKS.read().unwrap_or_else(PoisonError::into_inner);
    write()
}

/// Starts a program while no file is written. It has executed the program when this returns.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    let _alone = FORKS.write().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

/// Runs a program and returns its output.
pub fn output(command: &mut Command) -> io::Result<Output> {
    spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))?.wait_with_output()
}

/// Runs a program and returns its status.
pub fn status(command: &mut Command) -> io::Result<ExitStatus> {
    spawn(command)?.wait()
}
