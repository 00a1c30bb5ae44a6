//! Starting starters, and what their results say (`ARCHITECTURE.md`, "Slot runner and sibling starter").

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::relay::EventRelay;
use super::starter_program::StarterProgram;
use crate::starter::{hand_over, job_note};
use htc_base::process::{AncestorStamp, ChildSpec, Exit, LeftoverPolicy, Stdio};
use htc_classad::{Value, format};
use htc_slot::{AcceptedJobId, SlotKey, StarterId, StarterLaunch};

/// What the result ad of a job may take.
const MAX_RESULT_SIZE: usize = 16 << 20;

/// A starter that runs.
#[derive(Debug)]
pub(super) struct RunningStarter {
    pub starter: StarterId,
    /// The fetched job that it runs.
    pub accepted: Option<AcceptedJobId>,
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
    pub relay: Option<EventRelay>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StarterJobEnd {
    Exited(i64),
    Signalled(i64),
    /// It was not started.
    NotStarted,
    /// Its starter was killed: nobody knows how far it came.
    Lost,
}

impl StarterJobEnd {
    pub(super) fn has_succeeded(&self) -> bool {
        *self == StarterJobEnd::Exited(0)
    }
}

impl std::fmt::Display for StarterJobEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StarterJobEnd::Exited(code) => write!(f, "exited {code}"),
            StarterJobEnd::Signalled(signal) => write!(f, "signalled {signal}"),
            StarterJobEnd::NotStarted => f.write_str("not started"),
            StarterJobEnd::Lost => f.write_str("lost with its starter"),
        }
    }
}

/// The note that a starter removes when it has come to an end, and JOB_EXIT has told so.
pub(super) fn job_note_path(private: &Path, starter: StarterId) -> PathBuf {
    job_note(&private.join(starter.0.to_string()))
}

/// Makes the private directory of a starter.
pub(super) fn prepare(private: &Path, call: &StarterLaunch) -> io::Result<PathBuf> {
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
pub(super) fn starter_child_spec(
    program: &StarterProgram,
    call: &StarterLaunch,
    environment: Vec<BString>,
    marker: AncestorStamp,
) -> ChildSpec {
    let mut spec = ChildSpec::new(&program.path);
    if !program.foreign {
        spec.blocked_signals = crate::starter::SIGNALS.to_vec();
    }
    spec.argv.extend(call.arguments.iter().cloned());
    spec.env = environment;
    spec.stdio =
        [Stdio::Bytes(call.stdin.clone()), Stdio::Capture { limit: MAX_RESULT_SIZE }, Stdio::Inherit];
    spec.leftover_policy = LeftoverPolicy::Kill;
    spec.ancestor_stamp = Some(marker);
    spec
}

/// What the starter's output and end say of its job.
pub(super) fn parse_job_end(output: &[u8], exit: Exit, foreign: bool) -> StarterJobEnd {
    let (ad, _) = format::long::parse(output);
    let number = |name: &str| match ad.literal(name) {
        Some(Value::Int(number)) => Some(number),
        _ => None,
    };
    let by_signal = matches!(ad.literal("ExitBySignal"), Some(Value::Bool(true)));
    match (number("ExitCode"), number("ExitSignal")) {
        (_, Some(signal)) if by_signal => StarterJobEnd::Signalled(signal),
        (Some(code), _) => StarterJobEnd::Exited(code),
        _ => match exit {
            Exit::Signal { .. } => StarterJobEnd::Lost,
            Exit::Code(code) if foreign => StarterJobEnd::Exited(i64::from(code)),
            Exit::Code(_) => StarterJobEnd::NotStarted,
        },
    }
}

/// The job's attributes for messages on how it ended, where the starter told them.
pub(super) fn job_end_reason(output: &[u8]) -> Option<String> {
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
            assert_eq!(parse_job_end(b"", killed, foreign).to_string(), "lost with its starter");
            assert_eq!(parse_job_end(ad, killed, foreign), StarterJobEnd::Exited(3));
        }
        assert_eq!(parse_job_end(b"", Exit::Code(1), false), StarterJobEnd::NotStarted);
        assert_eq!(parse_job_end(b"", Exit::Code(1), true), StarterJobEnd::Exited(1));
    }
}
