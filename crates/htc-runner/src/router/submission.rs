//! Submission of routed jobs through a command, which reads the ad from standard input and prints the id of the new
//! job.
//!
//! A file records each attempt while its outcome is unknown, so that neither this router nor one started after a
//! crash submits a job twice.

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::options::RouterOptions;
use crate::hook_call::HookCall;
use htc_base::job::JobId;
use htc_base::process::{ChildSpec, Exit, LeftoverPolicy, SessionMode, Stdio};
use htc_base::time::MonotonicTime;
use htc_classad::ClassAd;
use htc_classad::format::long;

/// Maximum number of bytes kept of the command's output.
const MAX_OUTPUT: usize = 64 << 10;
/// Text between the number of jobs and the number of the cluster in the output of condor_submit.
const SUBMITTED_PHRASE: &str = " job(s) submitted to cluster ";
/// Prefix of the names of the files that record attempts, followed by the id of the source job.
const NOTE_PREFIX: &str = ".submitting.";

/// Submit command that is running.
pub(super) struct Submission {
    /// Source job of the submitted job.
    pub source: JobId,
    /// Ad of the submitted job.
    pub ad: ClassAd,
    /// Time at which the command gets SIGTERM, or SIGKILL if it already got SIGTERM; `None` for no limit.
    pub deadline: Option<MonotonicTime>,
    /// True if the command got SIGTERM: a failure then does not show whether it submitted the job.
    pub asked_to_end: bool,
    /// X.509 proxy that was copied for the submitted job, or `None`.
    pub proxy: Option<PathBuf>,
}

/// Reason why a submission has no job id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SubmissionError {
    /// Nothing was submitted.
    Failed(String),
    /// The outcome is unknown: the job may have been submitted.
    Unclear(String),
}

/// Returns the path of the file that records an attempt to submit the routed job of `source`.
pub(super) fn note_path(directory: &Path, source: JobId) -> PathBuf {
    directory.join(format!("{NOTE_PREFIX}{source}"))
}

/// Returns the source job of a recorded attempt from its file name, or `None` if the file does not record an attempt.
pub(super) fn source_job_of_file(name: &str) -> Option<JobId> {
    JobId::parse_key(name.strip_prefix(NOTE_PREFIX)?.as_bytes()).filter(|id| id.is_job())
}

/// Describes the child process for a submit command.
pub(super) fn submit_child_spec(argv: &[BString], ad: &ClassAd, options: &RouterOptions<'_>) -> ChildSpec {
    let world = options.world;
    let mut spec =
        ChildSpec::new(argv.first().map(|name| name.to_path_lossy().into_owned()).unwrap_or_default());
    spec.argv = argv.to_vec();
    let entry = |(name, value): &(BString, BString)| [name.as_slice(), value].join(&b'=').into();
    spec.env = options.environment.variables().iter().map(entry).collect();
    let captured = Stdio::Capture { limit: MAX_OUTPUT };
    spec.stdio = [Stdio::Bytes(long::print(ad)), captured.clone(), captured];
    spec.session = SessionMode::NewSession;
    spec.ancestor_stamp = Some(HookCall::new_family_marker(world.now(), world.random()));
    // The command may leave a process behind that manages the submitted job.
    spec.leftover_policy = LeftoverPolicy::Keep;
    spec
}

/// Interprets the end of a submit command; `got_sigterm` is true if the command got SIGTERM.
pub(super) fn parse_outcome(exit: Exit, stdout: &[u8], got_sigterm: bool) -> Result<JobId, SubmissionError> {
    match exit {
        Exit::Code(0) => {}
        _ if got_sigterm => {
            return Err(SubmissionError::Unclear("the submit command took too long and was killed".into()));
        }
        // A shell exits with 128 plus the number of the signal that ended its command.
        Exit::Signal { .. } | Exit::Code(129..) => {
            return Err(SubmissionError::Unclear(format!("the submit command {exit}")));
        }
        Exit::Code(_) => return Err(SubmissionError::Failed(format!("the submit command {exit}"))),
    }
    parse_submitted_id(stdout).ok_or_else(|| {
        let text = stdout.trim();
        SubmissionError::Unclear(format!(
            "the submit command printed neither CLUSTER.PROC nor 'N job(s) submitted to cluster C.' but '{}'",
            text[..text.len().min(80)].as_bstr()
        ))
    })
}

/// Returns the id printed by a submit command: `CLUSTER.PROC` or, like condor_submit, only the cluster, for its first
/// job.
fn parse_submitted_id(stdout: &[u8]) -> Option<JobId> {
    if let Some(id) = JobId::parse(stdout.trim()).filter(|id| id.is_job()) {
        return Some(id);
    }
    let mut clusters = stdout.lines().filter_map(|line| {
        let (count, rest) = line.trim().split_once_str(SUBMITTED_PHRASE)?;
        let cluster = rest.strip_suffix(b".")?;
        let number = |text: &[u8]| text.to_str().ok()?.parse::<i32>().ok().filter(|&number| number > 0);
        number(count)?;
        number(cluster)
    });
    let cluster = clusters.next()?;
    // With several clusters it is unknown which cluster contains the routed job.
    clusters.all(|other| other == cluster).then(|| JobId::new(cluster, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_id_or_condor_submit_output_identifies_the_copy() {
        let id = |text: &str| parse_outcome(Exit::Code(0), text.as_bytes(), false).ok();
        assert_eq!(id("7.2\n"), Some(JobId::new(7, 2)));
        assert_eq!(id("Submitting job(s).\n1 job(s) submitted to cluster 5.\n"), Some(JobId::new(5, 0)));
        for unreadable in
            ["", "7", "submitted", "0 job(s) submitted to cluster 5.", "-1 job(s) submitted to cluster 5."]
        {
            let unclear = parse_outcome(Exit::Code(0), unreadable.as_bytes(), false);
            assert!(matches!(unclear, Err(SubmissionError::Unclear(_))), "{unreadable}");
        }
        assert_eq!(id("1 job(s) submitted to cluster 5.\n1 job(s) submitted to cluster 6.\n"), None);
    }

    #[test]
    fn only_a_command_that_failed_by_itself_has_submitted_nothing() {
        let is_failure = |exit, got_sigterm| {
            matches!(parse_outcome(exit, b"", got_sigterm), Err(SubmissionError::Failed(_)))
        };
        assert!(is_failure(Exit::Code(1), false) && is_failure(Exit::Code(127), false));
        assert!(!is_failure(Exit::Code(1), true) && !is_failure(Exit::Code(143), false));
        assert!(!is_failure(Exit::Signal { number: 9, core_dumped: false }, false));
        // A command that got SIGTERM may still print its result.
        assert_eq!(parse_outcome(Exit::Code(0), b"7.0", true), Ok(JobId::new(7, 0)));
    }
}
