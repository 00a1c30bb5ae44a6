//! A case of a suite that is a call of a hook, made ready: its ads read, its place laid out.

use std::path::Path;
use std::rc::Rc;

use tempfile::TempDir;

use super::caller;
use super::case::{Case, known_words};
use super::place::Place;
use super::samples;
use super::setup::{CallError, Setup};
use super::suite::{CaseText, SuiteCase};
use super::suite_case::{Laid, SuiteSettings, Wanted, change, given};
use super::suite_error::CaseError;
use htc_hook::HookType;
use htc_os::RealWorld;

/// A case that can be called.
pub(super) struct Ready {
    pub setup: Setup,
    pub place: Place,
    /// Files of the case; kept until it is over.
    pub _files: Option<TempDir>,
    pub wanted: Wanted,
}

/// Makes the call of a hook ready, in the place of an earlier one where there is one.
pub(super) fn prepare(
    how: &SuiteSettings,
    laid: Laid,
    hook: HookType,
    (case, world): (&SuiteCase, &Rc<RealWorld>),
    spare: Option<Place>,
) -> Result<Ready, CaseError> {
    let base = case.base.as_path();
    let Laid { text, path, files, timeout, quirks, wanted } = laid;
    let built = build(&text, hook, base)?;
    let extra = text.env.iter().flatten();
    let setup = Setup {
        settings: caller::default_settings(),
        daemon: caller::caller_environment(&**world, &how.configuration, quirks),
        extra: extra.map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect(),
        prepend: text.path_prepend.iter().flatten().map(|one| base.join(one)).collect(),
        patience: caller::patience(built.caller_waits, timeout),
        ..Setup::plain(Rc::clone(world), built, quirks)
    };
    let setup = setup.of(&path);
    let place = match spare {
        Some(spare) => spare.renew(&setup.case, &setup.around()).map_err(CallError::Place)?,
        None => setup.place()?,
    };
    Ok(Ready { setup, place, _files: files, wanted })
}

/// The case with its ads.
fn build(text: &CaseText, hook: HookType, base: &Path) -> Result<Case, CaseError> {
    let mut case = Case::new(hook);
    let given = |inline: &Option<String>, file: &Option<String>| given(inline, file, base);
    if let Some(kind) = &text.sample_job {
        case.job = samples::job(kind).ok_or_else(|| CaseError::Sample("job", kind.clone()))?;
    }
    if let Some(kind) = &text.sample_slot {
        case.slot = samples::slot(kind).ok_or_else(|| CaseError::Sample("slot", kind.clone()))?;
    }
    if let Some(job) = given(&text.job, &text.job_file)? {
        case.job = job;
    }
    if let Some(slot) = given(&text.slot, &text.slot_file)? {
        case.slot = slot;
    }
    case.routed = match given(&text.routed, &None)? {
        Some(routed) => routed,
        None => samples::routed(&case.job, &case.route.name),
    };
    let subject = match hook {
        HookType::FetchWork => &mut case.slot,
        HookType::RouterUpdateJobInfo | HookType::JobCleanup => &mut case.routed,
        _ => &mut case.job,
    };
    change(text, subject)?;
    if let Some(words) = &text.words {
        let (word, rest) = match (known_words(hook), words.split_first()) {
            (Some(known), Some((word, rest))) => (Some((word, known)), rest),
            _ => (None, words.as_slice()),
        };
        if let Some((word, known)) = word {
            if !known.contains(&word.as_str()) {
                return Err(CaseError::Word(word.clone(), known.join(", ")));
            }
            case.word = word.as_str().into();
        }
        case.arguments = rest.iter().map(|word| word.as_str().into()).collect();
    }
    case.with_shadow |= text.shadow.unwrap_or(false);
    case.keyword = text.keyword.as_deref().unwrap_or_default().into();
    Ok(case)
}
