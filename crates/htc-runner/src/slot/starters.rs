//! Starting starters, and what their results say (`ARCHITECTURE.md`, "Slot runner and sibling starter").

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::relay::Relay;
use super::starter_program::StarterProgram;
use crate::starter::{hand_over, job_note};
use htc_base::process::{Ancestor, ChildSpec, Exit, LeftBehind, Stdio};
use htc_classad::{Value, format};
use htc_slot::{AcceptedJob, SlotKey, StarterCall, StarterId};

/// What the result ad of a job may take.
const RESULT_LIMIT: usize = 16 << 20;

/// A starter that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub starter: StarterId,
    /// The fetched job that it runs.
    pub accepted: Option<AcceptedJob>,
    /// Whether it runs the backfill client, and no job.
    pub backfill: bool,
    pub slot: SlotKey,
    /// The slot's name at its start: a dynamic slot may be gone before it.
    pub slot_name: String,
    pub job: String,
    pub pid: u32,
    /// Its private directory.
    pub directory: PathBuf,
    /// Where its scratch directory stands.
    pub execute: Option<PathBuf>,
    /// Whether somebody has claimed the slot for the job, and no hook has fetched it.
    pub requested: bool,
    /// Where it tells its events, if to us.
    pub relay: Option<Relay>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Exited(i64),
    Signalled(i64),
    /// It was not started.
    NotStarted,
    /// Its starter was killed: nobody knows how far it came.
    Lost,
}

impl Ended {
    pub(super) fn succeeded(&self) -> bool {
        *self == Ended::Exited(0)
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::Exited(code) => write!(f, "exited {code}"),
            Ended::Signalled(signal) => write!(f, "signalled {signal}"),
            Ended::NotStarted => f.write_str("not started"),
            Ended::Lost => f.write_str("lost with its starter"),
        }
    }
}

/// The note that a starter removes when it has come to an end, and JOB_EXIT has told so.
pub(super) fn note(private: &Path, starter: StarterId) -> PathBuf {
    job_note(&private.join(starter.0.to_string()))
}

/// Makes the private directory of a starter.
pub(super) fn prepare(private: &Path, call: &StarterCall) -> io::Result<PathBuf> {
    let directory = private.join(call.starter.0.to_string());
    fs::DirBuilder::new().mode(0o700).create(&directory)?;
    hand_over(&directory, call.stdin.len())?;
    if let Some(ad) = &call.machine_ad {
        fs::write(directory.join("machine.ad"), ad)?;
    }
    Ok(directory)
}

/// The child that a starter is. `environment` is that of our hooks. Signals wait until our own starter can take them: one that
/// came at once would end it before it had called a hook.
pub(super) fn spec(
    program: &StarterProgram,
    call: &StarterCall,
    environment: Vec<BString>,
    marker: Ancestor,
) -> ChildSpec {
    let mut spec = ChildSpec::new(&program.path);
    if !program.foreign {
        spec.blocked_signals = crate::starter::SIGNALS.to_vec();
    }
    spec.argv.extend(call.arguments.iter().cloned());
    spec.env = environment;
    spec.stdio = [Stdio::Bytes(call.stdin.clone()), Stdio::Capture { limit: RESULT_LIMIT }, Stdio::Inherit];
    spec.left_behind = LeftBehind::Killed;
    spec.ancestor = Some(marker);
    spec
}

/// What the starter's output and end say of its job.
pub(super) fn ended(output: &[u8], exit: Exit, foreign: bool) -> Ended {
    let (ad, _) = format::long::parse(output);
    let number = |name: &str| match ad.literal(name) {
        Some(Value::Int(number)) => Some(number),
        _ => None,
    };
    let by_signal = matches!(ad.literal("ExitBySignal"), Some(Value::Bool(true)));
    match (number("ExitCode"), number("ExitSignal")) {
        (_, Some(signal)) if by_signal => Ended::Signalled(signal),
        (Some(code), _) => Ended::Exited(code),
        _ => match exit {
            Exit::Signal { .. } => Ended::Lost,
            Exit::Code(code) if foreign => Ended::Exited(i64::from(code)),
            Exit::Code(_) => Ended::NotStarted,
        },
    }
}

/// The job's attributes for messages on how it ended, where the starter told them.
pub(super) fn why(output: &[u8]) -> Option<String> {
    let (ad, _) = format::long::parse(output);
    for name in ["HoldReason", "VacateReason", "ExitReason"] {
        if let Some(text) = ad.string(name) {
            return Some(text.to_str_lossy().into_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_whose_starter_was_killed_may_have_run() {
        let killed = Exit::Signal { number: 9, core_dumped: false };
        let ad = b"ExitBySignal = false\nExitCode = 3\n";
        for foreign in [false, true] {
            assert_eq!(ended(b"", killed, foreign).to_string(), "lost with its starter");
            assert_eq!(ended(ad, killed, foreign), Ended::Exited(3));
        }
        assert_eq!(ended(b"", Exit::Code(1), false), Ended::NotStarted);
        assert_eq!(ended(b"", Exit::Code(1), true), Ended::Exited(1));
    }
}
