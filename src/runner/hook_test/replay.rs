//! Recorded calls as calls that can be judged, or made again.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use bstr::ByteSlice;

use super::call::{Ended, Ending, Outcome};
use super::case::Case;
use super::record::Record;
use crate::hook::HookType;

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
pub fn moved(mut outcome: Outcome, scratch: Option<&Path>, record: &Record) -> Outcome {
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
