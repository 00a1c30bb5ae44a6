//! Start of starters and interpretation of their results (`ARCHITECTURE.md`, "Slot runner and sibling starter").

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::relay::EventRelay;
use super::starter_program::StarterProgram;
use crate::events::{LOST_WITH_STARTER, NOT_STARTED};
use crate::starter::{hand_over, job_note};
use htc_base::process::{AncestorStamp, ChildSpec, Exit, LeftoverPolicy, Stdio};
use htc_classad::{Value, format};
use htc_slot::{AcceptedJobId, SlotKey, StarterId, StarterLaunch};

/// Maximum size of a job's result ad, in bytes.
const MAX_RESULT_SIZE: usize = 16 << 20;

/// Starter that is running.
#[derive(Debug)]
pub(super) struct RunningStarter {
    pub starter: StarterId,
    /// The fetched job that the starter runs, or `None` if the job was not fetched.
    pub accepted: Option<AcceptedJobId>,
    /// True if the starter runs the backfill client instead of a job.
    pub backfill: bool,
    pub slot: SlotKey,
    /// The slot's name when the starter was started. Kept because a dynamic slot may be removed before its starter
    /// ends.
    pub slot_name: String,
    pub job: String,
    pub pid: u32,
    /// Private directory of this starter.
    pub directory: PathBuf,
    /// Directory that contains the starter's scratch directory.
    pub execute: Option<PathBuf>,
    /// True if the job came with a request at the control socket, not from a hook.
    pub requested: bool,
    /// Relay for the starter's events, or `None` if the starter writes them itself.
    pub relay: Option<EventRelay>,
}

/// End of a starter's job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StarterJobEnd {
    Exited(i64),
    Signalled(i64),
    /// The job was not started.
    NotStarted,
    /// The starter was killed, so the result of its job is unknown.
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
            StarterJobEnd::NotStarted => f.write_str(NOT_STARTED),
            StarterJobEnd::Lost => f.write_str(LOST_WITH_STARTER),
        }
    }
}

/// Returns the path of the file that describes the job. The starter removes that file when it has ended properly,
/// after calling JOB_EXIT.
pub(super) fn job_note_path(private: &Path, starter: StarterId) -> PathBuf {
    job_note(&private.join(starter.0.to_string()))
}

/// Creates the private directory of a starter.
pub(super) fn prepare(private: &Path, call: &StarterLaunch) -> io::Result<PathBuf> {
    let directory = private.join(call.starter.0.to_string());
    fs::DirBuilder::new().mode(0o700).create(&directory)?;
    hand_over(&directory, call.stdin.len())?;
    if let Some(ad) = &call.machine_ad {
        fs::write(directory.join("machine.ad"), ad)?;
    }
    Ok(directory)
}

/// Describes the child process of a starter. `environment` is the environment of hooks. Signals are blocked until the
/// starter of this project can handle them, because an earlier signal would kill it before it has called a hook.
pub(super) fn starter_child_spec(
    program: &StarterProgram,
    call: &StarterLaunch,
    environment: Vec<BString>,
    marker: AncestorStamp,
) -> ChildSpec {
    let mut spec = ChildSpec::new(&program.path);
    if !program.foreign {
        spec.blocked_signals = crate::starter::handled_signals();
    }
    spec.argv.extend(call.arguments.iter().cloned());
    spec.env = environment;
    spec.stdio =
        [Stdio::Bytes(call.stdin.clone()), Stdio::Capture { limit: MAX_RESULT_SIZE }, Stdio::Inherit];
    spec.leftover_policy = LeftoverPolicy::Kill;
    spec.ancestor_stamp = Some(marker);
    spec
}

/// Determines the end of the job from the starter's output and exit status; `foreign` is true for a starter of
/// another project.
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

/// Returns the reason attribute of the job for messages about its end, or `None` if the starter printed none.
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
