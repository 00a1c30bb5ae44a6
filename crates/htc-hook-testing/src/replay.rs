//! Recorded calls as calls that can be judged, or made again.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use bstr::ByteSlice;

use super::call::{CallEnding, CallOutcome, HookExecution, call_hook};
use super::call_setup::{CallError, CallSetup};
use super::caller::{call_timeout, caller_environment};
use super::case::Case;
use super::judge::judge_call;
use super::record::CallRecord;
use super::verdict::Verdict;
use htc_base::quirks::QuirkMode;
use htc_hook::HookType;
use htc_os::{Reactor, RealWorld};
use htc_runner::hook_environment::ConfigSelection;

/// How recorded calls are judged again, or made again.
pub struct Replay {
    /// Only those of this type; one that does not tell its type is taken for it.
    pub only: Option<HookType>,
    /// Whether the jobs come from a schedd.
    pub with_shadow: bool,
    /// The hook that is called with each recorded input.
    pub hook: Option<PathBuf>,
    /// How long it may take at the most.
    pub timeout: Option<Duration>,
    /// What the hook is told of the configuration.
    pub configuration: ConfigSelection,
    /// Deviations.
    pub quirks: QuirkMode,
    /// What is outside.
    pub world: Rc<RealWorld>,
}

/// What came of a record.
pub enum ReplayOutcome {
    /// It says too little, or is not asked for.
    Skipped(SkipReason),
    /// It was judged, and where another hook is tried that, too.
    Judged(Box<JudgedReplay>),
    /// A signal came for the program.
    Interrupted(i32),
}

/// Why a record is not replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// It does not tell its type.
    Untyped,
    /// It is of another type.
    OtherType,
    /// Its input was not kept as a whole.
    NoInput,
}

/// A recorded call, judged again.
pub struct JudgedReplay {
    /// Its type.
    pub hook: HookType,
    /// What its caller decides on the recorded answer.
    pub before: Verdict,
    /// What it decides on the answer of the hook that is tried.
    pub after: Option<Verdict>,
    /// How long the recorded call took.
    pub took: Duration,
}

impl JudgedReplay {
    /// Whether the hook that is tried leads to something else.
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
    /// Judges one record, and makes its call again where a hook is tried.
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
        // Messages that name the hook are not to differ for that.
        let before = judged(&setup.case, &outcome, &setup.path);
        Ok(match repeat_call(&setup, reactor, record)? {
            Ok(outcome) => {
                let after = Some(judged(&setup.case, &outcome, &setup.path));
                ReplayOutcome::Judged(Box::new(JudgedReplay { hook, before, after, took }))
            }
            Err(signal) => ReplayOutcome::Interrupted(signal),
        })
    }

    /// The recorded call with another hook.
    fn build_setup(&self, record: &CallRecord, case: Case, hook: &Path) -> CallSetup {
        let mut daemon = caller_environment(&*self.world, &self.configuration, self.quirks);
        // What the site's environment gave the hook is part of the recording; addresses and scratch directories are not.
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

/// Makes a recorded call again; the signal that interrupted it, if one did.
fn repeat_call(
    setup: &CallSetup,
    reactor: &mut Reactor,
    record: &CallRecord,
) -> Result<Result<CallOutcome, i32>, CallError> {
    if let Some(outcome) = setup.refused_outcome() {
        return Ok(Ok(outcome));
    }
    let place = setup.create_directories()?;
    let spec = setup.child_spec(&place, setup.hook_environment(&place))?;
    let outcome = call_hook(reactor, spec, Some(setup.patience), &mut |_| {})?;
    Ok(outcome.map(|outcome| restore_scratch_path(outcome, place.scratch.as_deref(), record)))
}

/// The case that a recorded call was: its ads are those it read.
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
    // "<KEYWORD>_HOOK_<TYPE>" is how recorders name a call.
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

/// The outcome of a call made again, as it would have been where the recorded one was made: a hook that tells its scratch
/// directory gives the same answer there.
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

/// How a recorded call ended, its output cut where its caller would have stopped reading.
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
    // One that never ended was waited for as long as its caller waits, however long the recording shows it.
    let took = match (record.exit, case.caller_waits) {
        (None, Some(waits)) => waits,
        _ => Duration::try_from_secs_f64(record.seconds.max(0.0)).unwrap_or_default(),
    };
    CallOutcome { ending: CallEnding::Ran(ended), took }
}
