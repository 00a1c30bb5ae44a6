//! Execution of one hook call and the report about it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::ByteSlice;

use super::call::{CallEnding, CallOutcome, CallProgress, call_hook};
use super::call_directories::CallDirectories;
use super::call_findings::find_problems;
use super::call_setup::{CallError, CallSetup};
use super::case::Case;
use super::finding::Finding;
use super::interruptible::Interruptible;
use super::judge::judge_call;
use super::process_facts::describe_process;
use super::record::CallRecord;
use super::spawn_dependence::SpawnDependence;
use super::unsupported::find_unsupported;
use super::verdict::Verdict;
use htc_base::process::ChildSpec;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_os::Reactor;
use htc_starter::job_info;

/// Maximum number of bytes of a script that are read to find commands in it.
const MAX_SCRIPT_BYTES: u64 = 256 * 1024;

/// Report of one hook call.
pub struct CallReport {
    /// Inputs of the call, with the ads as completed by the caller.
    pub case: Case,
    /// Record of the call, for storing and replaying it.
    pub record: CallRecord,
    /// Directory that contains all directories of the call; each call has its own.
    pub root: PathBuf,
    /// Scratch directory of the job, for starter hooks only.
    pub scratch: Option<PathBuf>,
    /// Outcome of the call.
    pub outcome: CallOutcome,
    /// Verdict of the caller.
    pub verdict: Verdict,
    /// Verdict that the other setting of `--quirks` would give.
    pub other_quirks_verdict: Verdict,
    /// Findings about the hook.
    pub findings: Vec<Finding>,
}

impl CallReport {
    /// Returns the resulting ads for use by other programs: without paths below the directories of the call, which
    /// are removed.
    pub fn ads_for_next_program(&self) -> Vec<ClassAd> {
        let mut ads = self.verdict.result_ads.clone();
        if let Some(scratch) = &self.scratch {
            ads.iter_mut().for_each(|ad| job_info::remove_scratch_paths(ad, scratch));
        }
        ads
    }

    /// Writes the record of the call below a directory, under the next free number.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn write_record(&self, directory: &Path) -> Result<(), CallError> {
        let kept = self.record.write_below(directory);
        kept.map(drop).map_err(|error| CallError::WriteRecord(directory.to_owned(), error))
    }
}

/// Hook call that has been prepared and has not ended.
pub struct PendingCall {
    place: CallDirectories,
    record: CallRecord,
}

impl CallSetup {
    /// Prepares a call; returns it with the description of its child process.
    ///
    /// # Errors
    /// The call cannot be made.
    pub fn begin_call(&self) -> Result<(PendingCall, ChildSpec), CallError> {
        let place = self.create_directories()?;
        let environment = self.hook_environment(&place);
        let mut record = CallRecord {
            name: self.case.hook.name().to_owned(),
            hook: Some(self.case.hook),
            argv: std::iter::once(self.path.clone()).chain(self.case.all_arguments(self.quirks)).collect(),
            env: environment.entries(),
            stdin: place.case().input(self.quirks),
            ..CallRecord::default()
        };
        record.add_case(&self.case);
        let spec = self.child_spec(&place, environment)?;
        record.facts = describe_process(&spec);
        record.began = Some(self.world.now().epoch_seconds_f64());
        Ok((PendingCall { place, record }, spec))
    }

    /// Returns the outcome of the call if the caller refuses to run the hook, or `None` if it does not.
    pub fn refused_outcome(&self) -> Option<CallOutcome> {
        let reason = self.refusal.clone()?;
        Some(CallOutcome { ending: CallEnding::Refused { reason }, took: Duration::ZERO })
    }

    /// Creates the report of a call that has ended, including the verdict.
    pub fn end_call(&self, begun: PendingCall, outcome: CallOutcome) -> CallReport {
        let PendingCall { place, mut record } = begun;
        record.add_outcome(&outcome);
        let judged = |quirks| judge_call(place.case(), &outcome, &self.path, &*self.world, quirks);
        let mut mine = judged(self.quirks);
        let mut other = judged(self.quirks.opposite());
        let mut findings = find_problems(place.case(), &outcome, &mine);
        findings.extend(find_unsupported(place.case(), &mine, &*self.world));
        let spawned = SpawnDependence { case: place.case(), outcome: &outcome, quirks: self.quirks };
        findings.extend(spawned.findings(&self.read_script(&place)));
        spawned.adapt_verdicts(&mut mine, &mut other);
        let (case, root, scratch) = (place.case().clone(), place.root().to_owned(), place.scratch.clone());
        CallReport {
            case,
            record,
            root,
            scratch,
            outcome,
            verdict: mine,
            other_quirks_verdict: other,
            findings,
        }
    }

    /// Returns the beginning of the hook's file, or an empty string if the file cannot be read.
    fn read_script(&self, place: &CallDirectories) -> Vec<u8> {
        let path = place.directory.join(self.path.to_path_lossy());
        self.world.read_file(&path, Some(MAX_SCRIPT_BYTES)).unwrap_or_default()
    }

    /// Makes the call and returns its report. If a signal interrupts the call, returns the signal instead.
    ///
    /// # Errors
    /// The call cannot be made.
    pub fn run_call(
        &self,
        reactor: &mut Reactor,
        mut observe: impl FnMut(CallProgress<'_>),
    ) -> Result<Interruptible<CallReport>, CallError> {
        let (begun, spec) = self.begin_call()?;
        if let Some(outcome) = self.refused_outcome() {
            return Ok(Interruptible::Finished(self.end_call(begun, outcome)));
        }
        let outcome = call_hook(reactor, spec, Some(self.patience), &mut observe)?;
        Ok(outcome.map(|outcome| self.end_call(begun, outcome)))
    }
}
