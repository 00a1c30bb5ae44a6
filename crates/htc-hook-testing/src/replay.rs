//! Recorded calls as calls that can be judged, or made again.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use bstr::ByteSlice;

use super::call::{Ended, Ending, Outcome, call};
use super::caller::{caller_environment, patience};
use super::case::Case;
use super::judge::verdict;
use super::record::Record;
use super::setup::{CallError, Setup};
use super::verdict::Verdict;
use htc_base::quirks::Quirks;
use htc_hook::HookType;
use htc_os::{Reactor, RealWorld};
use htc_runner::hook_environment::ConfigChoice;

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
    pub configuration: ConfigChoice,
    /// Deviations.
    pub quirks: Quirks,
    /// What is outside.
    pub world: Rc<RealWorld>,
}

/// What came of a record.
pub enum Replayed {
    /// It says too little, or is not asked for.
    LeftOut(LeftOut),
    /// It was judged, and where another hook is tried that, too.
    Judged(Box<Judged>),
    /// A signal came for the program.
    Interrupted(i32),
}

/// Why a record is not replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// It does not tell its type.
    Untyped,
    /// It is of another type.
    OtherType,
    /// Its input was not kept as a whole.
    NoInput,
}

/// A recorded call, judged again.
pub struct Judged {
    /// Its type.
    pub hook: HookType,
    /// What its caller decides on the recorded answer.
    pub before: Verdict,
    /// What it decides on the answer of the hook that is tried.
    pub after: Option<Verdict>,
    /// How long the recorded call took.
    pub took: Duration,
}

impl Judged {
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
    pub fn replay(&self, record: &Record, reactor: &mut Reactor) -> Result<Replayed, CallError> {
        let Some(hook) = record.hook.or(self.only) else { return Ok(Replayed::LeftOut(LeftOut::Untyped)) };
        if self.only.is_some_and(|only| only != hook) {
            return Ok(Replayed::LeftOut(LeftOut::OtherType));
        }
        if !record.has_input {
            return Ok(Replayed::LeftOut(LeftOut::NoInput));
        }
        let mut case = case_of(record, hook);
        case.with_shadow |= self.with_shadow;
        let outcome = outcome_of(record, &case);
        let took = outcome.took;
        let judged = |case: &Case, outcome: &Outcome, path: &[u8]| {
            verdict(case, outcome, path.as_bstr(), &*self.world, self.quirks)
        };
        let Some(tried) = &self.hook else {
            let path = record.argv.first().cloned().unwrap_or_default();
            let before = judged(&case, &outcome, &path);
            return Ok(Replayed::Judged(Box::new(Judged { hook, before, after: None, took })));
        };
        let setup = self.setup(record, case, tried);
        // Messages that name the hook are not to differ for that.
        let before = judged(&setup.case, &outcome, &setup.path);
        Ok(match again(&setup, reactor, record)? {
            Ok(outcome) => {
                let after = Some(judged(&setup.case, &outcome, &setup.path));
                Replayed::Judged(Box::new(Judged { hook, before, after, took }))
            }
            Err(signal) => Replayed::Interrupted(signal),
        })
    }

    /// The recorded call with another hook.
    fn setup(&self, record: &Record, case: Case, hook: &Path) -> Setup {
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
        let patience = patience(case.caller_waits, self.timeout);
        Setup { daemon, patience, ..Setup::plain(Rc::clone(&self.world), case, self.quirks) }.of(&path)
    }
}

/// Makes a recorded call again; the signal that interrupted it, if one did.
fn again(setup: &Setup, reactor: &mut Reactor, record: &Record) -> Result<Result<Outcome, i32>, CallError> {
    if let Some(outcome) = setup.refused() {
        return Ok(Ok(outcome));
    }
    let place = setup.place()?;
    let spec = setup.child(&place, setup.environment(&place))?;
    let outcome = call(reactor, spec, Some(setup.patience), &mut |_| {})?;
    Ok(outcome.map(|outcome| moved(outcome, place.scratch.as_deref(), record)))
}

/// The case that a recorded call was: its ads are those it read.
pub fn case_of(record: &Record, hook: HookType) -> Case {
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
fn moved(mut outcome: Outcome, scratch: Option<&Path>, record: &Record) -> Outcome {
    let name = b"_CONDOR_SCRATCH_DIR=";
    let recorded = record.env.iter().find_map(|entry| entry.strip_prefix(name));
    if let (Ending::Ran(ended), Some(scratch), Some(recorded)) = (&mut outcome.ending, scratch, recorded)
        && !recorded.is_empty()
    {
        let here = scratch.as_os_str().as_bytes();
        ended.stdout = ended.stdout.replace(here, recorded);
        ended.stderr = ended.stderr.replace(here, recorded);
    }
    outcome
}

/// How a recorded call ended, its output cut where its caller would have stopped reading.
pub fn outcome_of(record: &Record, case: &Case) -> Outcome {
    if let Some(ending) = &record.never_began {
        return Outcome { ending: ending.clone(), took: Duration::ZERO };
    }
    let cut = record.stdout.len() >= case.output_limit;
    let read = record.stdout.len().min(case.output_limit);
    let ended = Ended {
        exit: record.exit,
        stdout: record.stdout[..read].to_vec(),
        cut,
        stderr: record.stderr.clone(),
        ..Ended::default()
    };
    // One that never ended was waited for as long as its caller waits, however long the recording shows it.
    let took = match (record.exit, case.caller_waits) {
        (None, Some(waits)) => waits,
        _ => Duration::try_from_secs_f64(record.seconds.max(0.0)).unwrap_or_default(),
    };
    Outcome { ending: Ending::Ran(ended), took }
}
