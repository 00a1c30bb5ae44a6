//! Preparation of a suite case that calls a hook: reads the ads and creates the directories of the call.

use std::path::Path;
use std::rc::Rc;

use super::call_directories::CallDirectories;
use super::call_setup::{CallError, CallSetup};
use super::caller;
use super::case::{Case, known_argument_words};
use super::case_error::CaseError;
use super::samples;
use super::scratch_directory::ScratchDirectory;
use super::suite::{CaseText, SuiteCase};
use super::suite_case::{ParsedExpectations, PreparedCase, SuiteSettings, apply_changes, read_given_ad};
use htc_hook::HookType;
use htc_os::RealWorld;

/// Hook case that is ready to be called.
pub(super) struct CallableHookCase {
    pub setup: CallSetup,
    pub directories: CallDirectories,
    /// Directory with the files of the case, kept until the case has ended.
    pub _files: Option<ScratchDirectory>,
    pub wanted: ParsedExpectations,
}

/// Prepares the call of a hook. If `spare` contains the directories of a finished call, they are reused.
pub(super) fn prepare_hook_case(
    how: &SuiteSettings,
    prepared: PreparedCase,
    hook: HookType,
    case: &SuiteCase,
    world: &Rc<RealWorld>,
    spare: Option<CallDirectories>,
) -> Result<CallableHookCase, CaseError> {
    let base = case.base.as_path();
    let PreparedCase { text, path, files, timeout, quirks, wanted } = prepared;
    let built = build_case(&text, hook, base)?;
    let extra = text.env.iter().flatten();
    let setup = CallSetup {
        settings: caller::default_settings(),
        daemon: caller::caller_environment(&**world, &how.configuration, quirks),
        extra_variables: extra.map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect(),
        path_prefixes: text.path_prepend.iter().flatten().map(|one| base.join(one)).collect(),
        patience: caller::call_timeout(built.caller_waits, timeout),
        ..CallSetup::without_hook(Rc::clone(world), built, quirks)
    };
    let setup = setup.with_hook_path(&path);
    let place = match spare {
        Some(spare) => {
            spare.reuse_or_create(&setup.case, &setup.verdict_inputs()).map_err(CallError::Directories)?
        }
        None => setup.create_directories()?,
    };
    Ok(CallableHookCase { setup, directories: place, _files: files, wanted })
}

/// Creates the inputs of the call from the keys of the case, with its ads.
fn build_case(text: &CaseText, hook: HookType, base: &Path) -> Result<Case, CaseError> {
    let mut case = Case::new(hook);
    let read_ad = |inline: &Option<String>, file: &Option<String>| read_given_ad(inline, file, base);
    if let Some(kind) = &text.sample_job {
        case.job = samples::job_ad(kind).ok_or_else(|| CaseError::Sample("job", kind.clone()))?;
    }
    if let Some(kind) = &text.sample_slot {
        case.slot = samples::slot_ad(kind).ok_or_else(|| CaseError::Sample("slot", kind.clone()))?;
    }
    if let Some(job) = read_ad(&text.job, &text.job_file)? {
        case.job = job;
    }
    if let Some(slot) = read_ad(&text.slot, &text.slot_file)? {
        case.slot = slot;
    }
    case.routed = match read_ad(&text.routed, &None)? {
        Some(routed) => routed,
        None => samples::routed_job_ad(&case.job, &case.route.name),
    };
    let subject = match hook {
        HookType::FetchWork => &mut case.slot,
        HookType::RouterUpdateJobInfo | HookType::JobCleanup => &mut case.routed,
        _ => &mut case.job,
    };
    apply_changes(text, subject)?;
    if let Some(words) = &text.words {
        let (word, rest) = match (known_argument_words(hook), words.split_first()) {
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
