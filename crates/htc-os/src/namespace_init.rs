//! The first process of a PID namespace: it starts the job, hands signals on to it, reaps what is orphaned, and writes down how the
//! job ended, since its own end cannot tell of a signal.
//!
//! Reference: `condor_pid_ns_init.cpp`. Nothing of the namespace outlives it.

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

/// The variable that names the file.
pub const STATUS_FILE_VARIABLE: &str = "_CONDOR_PID_NS_INIT_STATUS_FILENAME";

/// Signals whose handlers would be undone by what they are about, and those that nobody can handle.
const SIGNALS_NOT_FORWARDED: [i32; 6] =
    [libc::SIGKILL, libc::SIGSTOP, libc::SIGCHLD, libc::SIGILL, libc::SIGSEGV, libc::SIGFPE];

/// How the job in the namespace ended, as the file says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceJobStatus {
    /// The status as `waitpid` packs it.
    Exited(i32),
    /// The program could not be executed: the number of the error.
    ExecFailed(i32),
}

/// Reads what the file says; nothing where it is cut or somebody else has written it.
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

/// Runs the words as a program and ends when it does; returns the status to end with.
///
/// # Errors
/// Nothing can be waited for.
pub fn run_as_init(words: &[BString]) -> io::Result<u8> {
    let status_file = std::env::var_os(STATUS_FILE_VARIABLE);
    let say = |word: &str, number: i32| {
        if let Some(path) = &status_file {
            // What cannot be written is seen by who reads it.
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
    let Some(program) = words.first() else { return Ok(2) };
    let env = std::env::vars_os()
        .map(|(name, value)| BString::from([name.as_bytes(), b"=", value.as_bytes()].concat()))
        .collect();
    let spec = ChildSpec {
        argv: words.to_vec(),
        env,
        stdio: [Stdio::Inherit, Stdio::Inherit, Stdio::Inherit],
        session: SessionMode::Inherit,
        leftover_policy: LeftoverPolicy::Keep,
        ..ChildSpec::new(Path::new(OsStr::from_bytes(program)))
    };
    let child = match reactor.spawn(spec) {
        Ok(child) => child,
        Err(error) => {
            say("ExecFailed", error.errno());
            return Ok(0);
        }
    };
    loop {
        match reactor.next_event(None)? {
            ReactorEvent::Signal(number) => reactor.send_signal(child, number, SignalScope::Process),
            ReactorEvent::Exited { exit, .. } => {
                say("Exited", exit.to_raw());
                // As `WEXITSTATUS` of it: nothing of a signal.
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
    fn what_it_wrote_is_read_and_nothing_else() {
        assert_eq!(parse_status_file(b"Exited: 1280\n"), Some(NamespaceJobStatus::Exited(1280)));
        assert_eq!(parse_status_file(b"ExecFailed: 2\n"), Some(NamespaceJobStatus::ExecFailed(2)));
        for text in [&b""[..], b"Exited: ", b"Exited", b"Stopped: 3\n", b"\xff: 1"] {
            assert_eq!(parse_status_file(text), None);
        }
    }
}
