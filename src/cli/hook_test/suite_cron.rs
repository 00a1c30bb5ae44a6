//! A case of a suite that is a cron job of a startd or schedd: the same runner as that of `startd-cron`, and what the ad of
//! the slot or schedd has become.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::cron::{self, CronArgs};
use super::cron_play::{plan, surroundings};
use super::one;
use super::options::Shared;
use super::suite_case::{self, Laid, Wanted};
use super::suite_compare::{self, Done};
use crate::classad::ClassAd;
use crate::cli::common::Problem;
use crate::hook::cron_job::{CronManager, CronMode};
use crate::os::{RealWorld, clock};
use crate::quirks::Quirks;
use crate::runner::hook_test;
use crate::runner::hook_test::suite::{CaseText, SuiteCase};
use crate::runner::hook_test::{CronHeard, CronPlay, Pause, PlayEvent, samples};
use crate::slot::cron_ads::advertised;

/// A cron job that can be played.
pub(super) struct CronReady {
    manager: CronManager,
    args: CronArgs,
    program: PathBuf,
    mode: Option<CronMode>,
    quirks: Quirks,
    patience: Duration,
    ad: ClassAd,
    wanted: Wanted,
    _files: Option<TempDir>,
}

/// Whose cron jobs the type names.
pub(super) fn manager(kind: &str) -> Option<CronManager> {
    match kind {
        "startd-cron" => Some(CronManager::Startd),
        "schedd-cron" => Some(CronManager::Schedd),
        "benchmark" => Some(CronManager::Benchmarks),
        _ => None,
    }
}

/// Refuses a case of a hook that says what only cron jobs have.
pub(super) fn is_for_hooks(text: &CaseText) -> anyhow::Result<()> {
    let said = [
        ("prefix", text.prefix.is_some()),
        ("mode", text.mode.is_some()),
        ("runs", text.runs.is_some()),
        ("slots", text.slots.is_some()),
        ("metrics", text.metrics.is_some()),
    ];
    match said.iter().find(|one| one.1) {
        Some((name, _)) => {
            Err(Problem::unreadable(format!("{name} is for startd-cron and schedd-cron")).into())
        }
        None => Ok(()),
    }
}

/// Makes the cron job of a case, and the ad that it publishes into.
pub(super) fn prepare(manager: CronManager, laid: Laid, base: &Path) -> anyhow::Result<CronReady> {
    let Laid { text, path, files, timeout, quirks, wanted } = laid;
    if wanted.expect.stdout.is_some() {
        let problem = "stdout of a cron job is read in blocks: say with 'result' what the ad must have";
        return Err(Problem::unreadable(problem).into());
    }
    if manager == CronManager::Schedd && (text.sample_slot.is_some() || text.slots.is_some()) {
        let problem = "a schedd has no slots: sample_slot and slots are for startd-cron";
        return Err(Problem::unreadable(problem).into());
    }
    if text.runs == Some(0) {
        return Err(Problem::unreadable("runs = 0: expected a number above 0").into());
    }
    let mode = text
        .mode
        .as_deref()
        .map(|mode| {
            CronMode::from_name(mode.as_bytes()).ok_or_else(|| {
                let known = "Periodic, WaitForExit, OneShot or OnDemand";
                Problem::unreadable(format!("mode = '{mode}': expected {known}"))
            })
        })
        .transpose()?;
    let mut ad = match (suite_case::given(&text.slot, &text.slot_file, base)?, &text.sample_slot) {
        (Some(ad), _) => ad,
        (None, Some(kind)) => {
            samples::slot(kind).ok_or_else(|| Problem::unreadable(format!("no sample slot '{kind}'")))?
        }
        (None, None) if manager == CronManager::Schedd => samples::schedd(),
        (None, None) => cron::sample(1),
    };
    suite_case::change(&text, &mut ad)?;
    let args = CronArgs {
        words: text.words.unwrap_or_default(),
        name: text.keyword,
        prefix: text.prefix.unwrap_or_default(),
        slots: text.slots.unwrap_or_default(),
        metrics: text.metrics.unwrap_or_default(),
        runs: text.runs.unwrap_or(1),
        env: text.env.iter().flatten().map(|(name, value)| format!("{name}={value}")).collect(),
        path_prepend: text.path_prepend.iter().flatten().map(|one| base.join(one)).collect(),
        ..CronArgs::default()
    };
    let patience = hook_test::patience(None, timeout);
    Ok(CronReady { manager, args, program: path, mode, quirks, patience, ad, wanted, _files: files })
}

/// Plays the job of a case to its end; the signal that ended it early, if one came.
pub(super) fn run(
    cli: &Shared,
    case: &SuiteCase,
    ready: CronReady,
    world: &RealWorld,
) -> anyhow::Result<Result<Done, i32>> {
    let CronReady { manager, args, program, mode, quirks, patience, ad, wanted, _files } = ready;
    let list = cron::single(&args, &program, mode)?;
    let slots = [ad];
    let (surroundings, _log) = surroundings(cli, (manager, quirks), &args, world)?;
    let mut reactor = one::reactor()?;
    let began = clock::tick();
    let mut play = CronPlay::new(plan(&args, patience), surroundings, (&slots, world), &mut reactor);
    let mut heard = CronHeard::default();
    let mut hear = |_: &CronPlay<'_>, event: &PlayEvent| {
        if let PlayEvent::Told(told) = event {
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
    let merged = cron::merged(play.ads(), manager, &mut after, world);
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
    Ok(Ok(suite_compare::done(case, &wanted, before, outcome, judged, &heard.findings(), world)))
}
