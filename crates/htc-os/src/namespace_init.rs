//! First process of a PID namespace. It starts the job, forwards signals to the job, reaps orphans, and
//! writes the job's exit status to a file, because its own exit status cannot represent a signal.
//!
//! Reference: `condor_pid_ns_init.cpp`. When the first process exits, the kernel kills all other processes of
//! the namespace.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use bstr::BString;
use nix::libc;

use super::{Reactor, ReactorEvent, SignalScope};
use htc_base::process::{ChildSpec, LeftoverPolicy, SessionMode, Stdio};

/// Environment variable with the path of the status file.
pub const STATUS_FILE_VARIABLE: &str = "_CONDOR_PID_NS_INIT_STATUS_FILENAME";

/// Signals that are not forwarded to the job: KILL and STOP cannot be handled, CHLD is used by the reactor,
/// and after a handler of ILL, SEGV or FPE the faulting instruction would run again.
const SIGNALS_NOT_FORWARDED: [i32; 6] =
    [libc::SIGKILL, libc::SIGSTOP, libc::SIGCHLD, libc::SIGILL, libc::SIGSEGV, libc::SIGFPE];

/// Result of a job in a PID namespace, as recorded in the status file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceJobStatus {
    /// The job ended with this status, in the encoding of `waitpid`.
    Exited(i32),
    /// The job's program could not be executed; the value is the error number.
    ExecFailed(i32),
}

/// Parses the status file. Returns `None` if it is incomplete or in another format.
pub fn parse_status_file(text: &[u8]) -> Option<NamespaceJobStatus> {
    let text = std::str::from_utf8(text).ok()?;
    let (word, number) = text.trim_end().split_once(": ")?;
    let number = number.parse().ok()?;
    match word {
        "Exited" => Some(NamespaceJobStatus::Exited(number)),
        "ExecFailed" => Some(NamespaceJobStatus::ExecFailed(number)),
        _ => None,
    }
}

/// Runs a command until it ends, and returns the exit status with which this process should exit. `argv` has the
/// program and its arguments.
///
/// # Errors
/// Fails if the reactor cannot be created or fails.
pub fn run_as_init(argv: &[BString]) -> io::Result<u8> {
    let status_file = std::env::var_os(STATUS_FILE_VARIABLE);
    let write_status = |word: &str, number: i32| {
        if let Some(path) = &status_file {
            // An error is ignored here, because the starter notices that the status file is missing.
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).custom_flags(libc::O_NOFOLLOW);
            drop(options.open(path).and_then(|mut file| writeln!(file, "{word}: {number}")));
        }
    };
    if let Some(path) = &status_file {
        drop(std::fs::remove_file(path));
    }
    let signals: Vec<i32> = (1..32).filter(|signal| !SIGNALS_NOT_FORWARDED.contains(signal)).collect();
    let mut reactor = Reactor::new(&signals)?;
    let Some(program) = argv.first() else { return Ok(2) };
    let env = std::env::vars_os()
        .map(|(name, value)| BString::from([name.as_bytes(), b"=", value.as_bytes()].concat()))
        .collect();
    let spec = ChildSpec {
        argv: argv.to_vec(),
        env,
        stdio: [Stdio::Inherit, Stdio::Inherit, Stdio::Inherit],
        session: SessionMode::Inherit,
        leftover_policy: LeftoverPolicy::Keep,
        ..ChildSpec::new(Path::new(OsStr::from_bytes(program)))
    };
    let child = match reactor.spawn(spec) {
        Ok(child) => child,
        Err(error) => {
            write_status("ExecFailed", error.errno());
            return Ok(0);
        }
    };
    loop {
        match reactor.next_event(None)? {
            ReactorEvent::Signal(number) => reactor.send_signal(child, number, SignalScope::Process),
            ReactorEvent::Exited { exit, .. } => {
                write_status("Exited", exit.to_raw());
                // This is the value of `WEXITSTATUS`, which is 0 if the job was killed by a signal.
                return Ok(u8::try_from(exit.to_raw() >> 8).unwrap_or(0));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_complete_status_is_read() {
        assert_eq!(parse_status_file(b"Exited: 1280\n"), Some(NamespaceJobStatus::Exited(1280)));
        assert_eq!(parse_status_file(b"ExecFailed: 2\n"), Some(NamespaceJobStatus::ExecFailed(2)));
        for text in [&b""[..], b"Exited: ", b"Exited", b"Stopped: 3\n", b"\xff: 1"] {
            assert_eq!(parse_status_file(text), None);
        }
    }
}
