//! A case of a suite that is a cron job of a startd or schedd: the same runner as that of `startd-cron`, and what the ad of
//! the slot or schedd has become.

use std::path::{Path, PathBuf};

use bstr::BString;
use tempfile::TempDir;

use super::caller;
use super::cron_heard::CronHeard;
use super::cron_play::{CronPlan, CronPlay, Pause, PlayEvent};
use super::cron_single::{SingleCron, cron_surroundings, merged, sample_slot};
use super::samples;
use super::setup::put_variables;
use super::suite::{CaseText, SuiteCase};
use super::suite_case::{Laid, SuiteSettings, Wanted, change, given};
use super::suite_compare::{self, Came, Done};
use super::suite_error::CaseError;
use htc_base::quirks::Quirks;
use htc_classad::ClassAd;
use htc_hook::cron_job::{CronManager, CronMode};
use htc_os::{Reactor, RealWorld, clock};
use htc_slot::cron_ads::advertised;

/// A cron job that can be played.
pub(super) struct CronReady {
    manager: CronManager,
    job: SingleCron,
    program: PathBuf,
    plan: CronPlan,
    extra: Vec<(BString, BString)>,
    prepend: Vec<PathBuf>,
    quirks: Quirks,
    ad: ClassAd,
    wanted: Wanted,
    _files: Option<TempDir>,
}

/// Whose cron jobs the type names.
pub fn manager(kind: &str) -> Option<CronManager> {
    match kind {
        "startd-cron" => Some(CronManager::Startd),
        "schedd-cron" => Some(CronManager::Schedd),
        "benchmark" => Some(CronManager::Benchmarks),
        _ => None,
    }
}

/// Refuses a case of a hook that says what only cron jobs have.
pub(super) fn is_for_hooks(text: &CaseText) -> Result<(), CaseError> {
    let said = [
        ("prefix", text.prefix.is_some()),
        ("mode", text.mode.is_some()),
        ("runs", text.runs.is_some()),
        ("slots", text.slots.is_some()),
        ("metrics", text.metrics.is_some()),
    ];
    match said.iter().find(|one| one.1) {
        Some((name, _)) => Err(CaseError::NotOfHooks(name)),
        None => Ok(()),
    }
}

/// Makes the cron job of a case, and the ad that it publishes into.
pub(super) fn prepare(manager: CronManager, laid: Laid, base: &Path) -> Result<CronReady, CaseError> {
    let Laid { text, path, files, timeout, quirks, wanted } = laid;
    if wanted.expect.stdout.is_some() {
        return Err(CaseError::CronOutput);
    }
    if manager == CronManager::Schedd && (text.sample_slot.is_some() || text.slots.is_some()) {
        return Err(CaseError::SlotsOfSchedd);
    }
    if text.runs == Some(0) {
        return Err(CaseError::NoRuns);
    }
    let mode = text
        .mode
        .as_deref()
        .map(|mode| CronMode::from_name(mode.as_bytes()).ok_or_else(|| CaseError::Mode(mode.to_owned())))
        .transpose()?;
    let mut ad = match (given(&text.slot, &text.slot_file, base)?, &text.sample_slot) {
        (Some(ad), _) => ad,
        (None, Some(kind)) => samples::slot(kind).ok_or_else(|| CaseError::Sample("slot", kind.clone()))?,
        (None, None) if manager == CronManager::Schedd => samples::schedd(),
        (None, None) => sample_slot(1),
    };
    change(&text, &mut ad)?;
    let job = SingleCron {
        words: text.words.unwrap_or_default(),
        name: text.keyword,
        prefix: text.prefix.unwrap_or_default(),
        slots: text.slots.unwrap_or_default(),
        metrics: text.metrics.unwrap_or_default(),
        mode,
        periodic: false,
    };
    let extra = text.env.iter().flatten();
    let extra = extra.map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect();
    let prepend = text.path_prepend.iter().flatten().map(|one| base.join(one)).collect();
    let plan = CronPlan {
        runs: text.runs.unwrap_or(1),
        seconds: None,
        reconfig: Vec::new(),
        job_begins: None,
        patience: caller::patience(None, timeout),
    };
    Ok(CronReady { manager, job, program: path, plan, extra, prepend, quirks, ad, wanted, _files: files })
}

/// Plays the job of a case to its end; the signal that ended it early, if one came.
pub(super) fn run(
    how: &SuiteSettings,
    case: &SuiteCase,
    ready: CronReady,
    (world, reactor): (&RealWorld, &mut Reactor),
) -> Result<Result<Done, i32>, CaseError> {
    let CronReady { manager, job, program, plan, extra, prepend, quirks, ad, wanted, _files } = ready;
    let list = job.list(&program).map_err(CaseError::Metrics)?;
    let slots = [ad];
    // Cron jobs get no keys of daemons, in the reference neither.
    let mut environment = caller::caller_environment(world, &how.configuration, Quirks::None);
    put_variables(&mut environment, &extra, &prepend);
    let (surroundings, _log) = cron_surroundings(manager, environment, None, quirks)?;
    let began = clock::tick();
    let mut play = CronPlay::new(plan, surroundings, (&slots, world), reactor);
    let mut heard = CronHeard::default();
    let mut hear = |_: &CronPlay<'_>, event: &PlayEvent| {
        if let PlayEvent::Notice(told) = event {
            heard.hear(told);
        }
    };
    play.configure(list, &mut hear);
    if let Pause::Over(Some(signal)) = play.run(&mut hear)? {
        return Ok(Err(signal));
    }
    let took = clock::tick().since(began);
    let [before] = &slots;
    let mut after = before.clone();
    let merged = merged(play.ads(), manager, &mut after, world);
    if manager == CronManager::Startd {
        advertised(
            &mut after,
            i64::try_from(play.elapsed().as_secs()).unwrap_or(i64::MAX).max(1),
            false,
            world,
        );
    }
    let judged = heard.verdict(after, &merged);
    let outcome = heard.outcome(took);
    let came = Came { subject: before, outcome, judged, findings: &heard.findings() };
    Ok(Ok(suite_compare::done(case, &wanted, came, world)))
}
