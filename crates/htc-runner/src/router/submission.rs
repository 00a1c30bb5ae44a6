//! Copies that are submitted through a command: the ad on its standard input, the id of the new job on its output.
//!
//! A file notes each attempt while its outcome is not known, so that nobody submits a second time what may have been
//! submitted: neither this router nor one that is started after a crash.

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::options::RouterOptions;
use crate::hook_call::HookCall;
use htc_base::job::JobId;
use htc_base::process::{ChildSpec, Exit, LeftoverPolicy, SessionMode, Stdio};
use htc_base::time::MonotonicTime;
use htc_classad::ClassAd;
use htc_classad::format::long;

/// How much of the command's output is kept, in bytes.
const MAX_OUTPUT: usize = 64 << 10;
/// What condor_submit says between two numbers.
const SUBMITTED_PHRASE: &str = " job(s) submitted to cluster ";
/// What the names of notes begin with; the id of the source follows.
const NOTE_PREFIX: &str = ".submitting.";

/// A submit command under way.
pub(super) struct Submission {
    /// Of which job the copy is.
    pub source: JobId,
    /// The copy.
    pub ad: ClassAd,
    /// When it is told to end, or killed if it has been told.
    pub deadline: Option<MonotonicTime>,
    /// Whether it was told to end: then a failure says nothing of what it did before.
    pub asked_to_end: bool,
    /// The proxy that was copied for it.
    pub proxy: Option<PathBuf>,
}

/// Why there is no id of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SubmissionError {
    /// Nothing was submitted.
    Failed(String),
    /// It may have been submitted.
    Unclear(String),
}

/// The note of an attempt for a source.
pub(super) fn note_path(directory: &Path, source: JobId) -> PathBuf {
    directory.join(format!("{NOTE_PREFIX}{source}"))
}

/// The source that a note is of, by the name of its file.
pub(super) fn source_of_note(name: &str) -> Option<JobId> {
    JobId::parse_key(name.strip_prefix(NOTE_PREFIX)?.as_bytes()).filter(|id| id.is_job())
}

/// The child that a command is.
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
    // A command may leave a process behind that carries the job on.
    spec.leftover_policy = LeftoverPolicy::Keep;
    spec
}

/// What came of a command that has ended.
pub(super) fn parse_outcome(exit: Exit, stdout: &[u8], told: bool) -> Result<JobId, SubmissionError> {
    match exit {
        Exit::Code(0) => {}
        _ if told => {
            return Err(SubmissionError::Unclear("the submit command took too long and was ended".into()));
        }
        // A shell reports in this way that a signal ended its command.
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

/// The id that a submit command prints: `CLUSTER.PROC`, or as condor_submit does the cluster alone, whose first job it is.
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
    // Which of several clusters is the copy nobody knows.
    clusters.all(|other| other == cluster).then(|| JobId::new(cluster, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_the_words_of_condor_submit_name_the_copy() {
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
        let is_failure =
            |exit, told| matches!(parse_outcome(exit, b"", told), Err(SubmissionError::Failed(_)));
        assert!(is_failure(Exit::Code(1), false) && is_failure(Exit::Code(127), false));
        assert!(!is_failure(Exit::Code(1), true) && !is_failure(Exit::Code(143), false));
        assert!(!is_failure(Exit::Signal { number: 9, core_dumped: false }, false));
        // Told to end it may still say what it did.
        assert_eq!(parse_outcome(Exit::Code(0), b"7.0", true), Ok(JobId::new(7, 0)));
    }
}
