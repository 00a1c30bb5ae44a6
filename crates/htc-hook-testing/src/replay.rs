//! Replay of recorded calls: judges the recorded output again, or repeats the call with another hook.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use bstr::ByteSlice;

use super::call::{CallEnding, CallOutcome, HookExecution, call_hook};
use super::call_setup::{CallError, CallSetup};
use super::caller::{call_timeout, caller_environment};
use super::case::Case;
use super::interruptible::Interruptible;
use super::judge::judge_call;
use super::record::CallRecord;
use super::verdict::Verdict;
use htc_base::quirks::QuirkMode;
use htc_hook::HookType;
use htc_os::{Reactor, RealWorld};
use htc_runner::hook_environment::ConfigSelection;

/// Settings for replaying recorded calls.
pub struct Replay {
    /// Hook type to replay, or `None` for all types. A record of unknown type is treated as having this type.
    pub only: Option<HookType>,
    /// True if the jobs come from a schedd, so that starters have a shadow.
    pub with_shadow: bool,
    /// Hook to call with each recorded input, or `None` to judge only the recorded output.
    pub hook: Option<PathBuf>,
    /// Maximum duration of a call, or `None` for the default limit.
    pub timeout: Option<Duration>,
    /// Selection of the configuration that the hook gets in its environment.
    pub configuration: ConfigSelection,
    /// Quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
    /// Access to the operating system.
    pub world: Rc<RealWorld>,
}

/// Outcome of replaying a record.
pub enum ReplayOutcome {
    /// The record was skipped.
    Skipped(SkipReason),
    /// The recorded output was judged, and the output of the other hook if one is given.
    Judged(Box<JudgedReplay>),
    /// A signal interrupted the call of the other hook.
    Interrupted(i32),
}

/// Reason why a record was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// The hook type of the record is unknown.
    Untyped,
    /// The hook type of the record is not the one to be replayed.
    OtherType,
    /// The record does not contain the whole input.
    NoInput,
}

/// Verdicts on a record that was replayed.
pub struct JudgedReplay {
    /// Hook type.
    pub hook: HookType,
    /// Verdict on the recorded output.
    pub before: Verdict,
    /// Verdict on the output of the other hook, or `None` if no other hook is given.
    pub after: Option<Verdict>,
    /// Duration of the recorded call.
    pub took: Duration,
}

impl JudgedReplay {
    /// Returns true if the output of the other hook leads to a different verdict.
    pub fn is_changed(&self) -> bool {
        let before = &self.before;
        self.after.as_ref().is_some_and(|after| {
            before.decision != after.decision
                || before.reason != after.reason
                || before.hold != after.hold
                || before.changes != after.changes
        })
    }
}

impl Replay {
    /// Judges the output of one record. If another hook is given, also calls that hook with the recorded input and
    /// judges its output.
    ///
    /// # Errors
    /// The call cannot be made.
    pub fn replay(&self, record: &CallRecord, reactor: &mut Reactor) -> Result<ReplayOutcome, CallError> {
        let Some(hook) = record.hook.or(self.only) else {
            return Ok(ReplayOutcome::Skipped(SkipReason::Untyped));
        };
        if self.only.is_some_and(|only| only != hook) {
            return Ok(ReplayOutcome::Skipped(SkipReason::OtherType));
        }
        if !record.has_input {
            return Ok(ReplayOutcome::Skipped(SkipReason::NoInput));
        }
        let mut case = case_from_record(record, hook);
        case.with_shadow |= self.with_shadow;
        let outcome = outcome_from_record(record, &case);
        let took = outcome.took;
        let judged = |case: &Case, outcome: &CallOutcome, path: &[u8]| {
            judge_call(case, outcome, path.as_bstr(), &*self.world, self.quirks)
        };
        let Some(tried) = &self.hook else {
            let path = record.argv.first().cloned().unwrap_or_default();
            let before = judged(&case, &outcome, &path);
            return Ok(ReplayOutcome::Judged(Box::new(JudgedReplay { hook, before, after: None, took })));
        };
        let setup = self.build_setup(record, case, tried);
        // Both verdicts are made with the path of the other hook, so that messages that contain the path do not
        // differ.
        let before = judged(&setup.case, &outcome, &setup.path);
        Ok(match repeat_call(&setup, reactor, record)? {
            Interruptible::Finished(outcome) => {
                let after = Some(judged(&setup.case, &outcome, &setup.path));
                ReplayOutcome::Judged(Box::new(JudgedReplay { hook, before, after, took }))
            }
            Interruptible::Interrupted(signal) => ReplayOutcome::Interrupted(signal),
        })
    }

    /// Creates the setup for a call of another hook with the inputs of a record.
    fn build_setup(&self, record: &CallRecord, case: Case, hook: &Path) -> CallSetup {
        let mut daemon = caller_environment(&*self.world, &self.configuration, self.quirks);
        // Variables of the recorded environment are kept, except those for addresses, directories and the
        // configuration.
        for entry in &record.env {
            let Some(at) = memchr::memchr(b'=', entry) else { continue };
            let (name, value) = (&entry[..at], &entry[at + 1..]);
            let stale = [&b"CONDOR_"[..], b"_CONDOR_", b"TMP", b"TEMP", b"HOME", b"PATH", b"BATCH"]
                .iter()
                .any(|prefix| name.starts_with(prefix));
            if !stale {
                daemon.variables.set(name, value);
            }
        }
        let path = std::path::absolute(hook).unwrap_or_else(|_| hook.to_owned());
        let patience = call_timeout(case.caller_waits, self.timeout);
        CallSetup { daemon, patience, ..CallSetup::without_hook(Rc::clone(&self.world), case, self.quirks) }
            .with_hook_path(&path)
    }
}

/// Calls the other hook with the inputs of a record. If a signal interrupts the call, returns the signal.
fn repeat_call(
    setup: &CallSetup,
    reactor: &mut Reactor,
    record: &CallRecord,
) -> Result<Interruptible<CallOutcome>, CallError> {
    if let Some(outcome) = setup.refused_outcome() {
        return Ok(Interruptible::Finished(outcome));
    }
    let place = setup.create_directories()?;
    let spec = setup.child_spec(&place, setup.hook_environment(&place))?;
    let outcome = call_hook(reactor, spec, Some(setup.patience), &mut |_| {})?;
    Ok(outcome.map(|outcome| restore_scratch_path(outcome, place.scratch.as_deref(), record)))
}

/// Creates the case of a recorded call, with the ads from its input.
pub fn case_from_record(record: &CallRecord, hook: HookType) -> Case {
    let mut case = Case::new(hook);
    case.read_input(&record.stdin);
    if let Some((word, rest)) = record.argv.get(1..).and_then(<[_]>::split_first) {
        case.arguments = match hook {
            HookType::ReplyFetch | HookType::JobExit => {
                case.word = word.clone();
                rest.to_vec()
            }
            _ => record.argv[1..].to_vec(),
        };
    }
    // A recorder calls a hook "<KEYWORD>_HOOK_<TYPE>" in the name of the record.
    let mut words = record.name.split('-');
    let name = words.nth(1).unwrap_or(&record.name);
    if let Some((keyword, _)) = name.split_once("_HOOK_") {
        case.keyword = keyword.into();
    }
    if let Some(keyword) = &record.keyword {
        case.keyword = keyword.clone();
    }
    case.with_shadow = record.with_shadow.unwrap_or(case.with_shadow);
    if let Some(route) = &record.route {
        case.route = route.clone();
    }
    case
}

/// Replaces the scratch directory in the output of a repeated call by that of the recorded call, so that a hook that
/// prints the directory gives the same output.
fn restore_scratch_path(
    mut outcome: CallOutcome,
    scratch: Option<&Path>,
    record: &CallRecord,
) -> CallOutcome {
    let name = b"_CONDOR_SCRATCH_DIR=";
    let recorded = record.env.iter().find_map(|entry| entry.strip_prefix(name));
    if let (CallEnding::Ran(ended), Some(scratch), Some(recorded)) = (&mut outcome.ending, scratch, recorded)
        && !recorded.is_empty()
    {
        let here = scratch.as_os_str().as_bytes();
        ended.stdout = ended.stdout.replace(here, recorded);
        ended.stderr = ended.stderr.replace(here, recorded);
    }
    outcome
}

/// Returns the outcome of a recorded call, with its output truncated at the caller's limit.
pub fn outcome_from_record(record: &CallRecord, case: &Case) -> CallOutcome {
    if let Some(ending) = &record.never_began {
        return CallOutcome { ending: ending.clone(), took: Duration::ZERO };
    }
    let cut = record.stdout.len() >= case.output_limit;
    let read = record.stdout.len().min(case.output_limit);
    let ended = HookExecution {
        exit: record.exit,
        stdout: record.stdout[..read].to_vec(),
        cut,
        stderr: record.stderr.clone(),
        ..HookExecution::default()
    };
    // The caller waited for a hook that never ended until its timeout, whatever duration was recorded.
    let took = match (record.exit, case.caller_waits) {
        (None, Some(waits)) => waits,
        _ => Duration::try_from_secs_f64(record.seconds.max(0.0)).unwrap_or_default(),
    };
    CallOutcome { ending: CallEnding::Ran(ended), took }
}
