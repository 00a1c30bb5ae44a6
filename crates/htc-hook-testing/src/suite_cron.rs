//! Suite cases that run a cron job of a startd or schedd in the session that `startd-cron` uses, and compare the
//! resulting ad of the slot or schedd.

use std::path::{Path, PathBuf};

use bstr::BString;

use super::call_setup::set_variables;
use super::caller;
use super::case_error::CaseError;
use super::cron_observations::CronObservations;
use super::cron_session::{CronPlan, CronSession, CronSessionEvent, SessionPause};
use super::cron_values::published_value_findings;
use super::interruptible::Interruptible;
use super::samples;
use super::scratch_directory::ScratchDirectory;
use super::standalone_cron::{StandaloneCronJob, cron_surroundings, merge_published, sample_slot};
use super::suite::{CaseText, SuiteCase};
use super::suite_case::{ParsedExpectations, PreparedCase, SuiteSettings, apply_changes, read_given_ad};
use super::suite_compare::{self, CallResult, CaseResult};
use htc_base::quirks::QuirkMode;
use htc_classad::ClassAd;
use htc_hook::cron_job::{CronManager, CronMode};
use htc_os::{Reactor, RealWorld, clock};
use htc_slot::cron_ads::convert_usage_for_sending;

/// Cron job of a case that is ready to be run.
pub(super) struct CallableCronCase {
    manager: CronManager,
    job: StandaloneCronJob,
    program: PathBuf,
    plan: CronPlan,
    extra: Vec<(BString, BString)>,
    prepend: Vec<PathBuf>,
    quirks: QuirkMode,
    ad: ClassAd,
    wanted: ParsedExpectations,
    _files: Option<ScratchDirectory>,
}

/// Returns the cron manager of a case type, or `None` for other types.
pub fn parse_cron_manager(kind: &str) -> Option<CronManager> {
    match kind {
        "startd-cron" => Some(CronManager::Startd),
        "schedd-cron" => Some(CronManager::Schedd),
        "benchmark" => Some(CronManager::Benchmarks),
        _ => None,
    }
}

/// Rejects a hook case that has keys which are valid only for cron jobs.
pub(super) fn refuse_cron_keys(text: &CaseText) -> Result<(), CaseError> {
    let cron_keys = [
        ("prefix", text.prefix.is_some()),
        ("mode", text.mode.is_some()),
        ("runs", text.runs.is_some()),
        ("slots", text.slots.is_some()),
        ("metrics", text.metrics.is_some()),
    ];
    match cron_keys.iter().find(|one| one.1) {
        Some((name, _)) => Err(CaseError::OnlyForCron(name)),
        None => Ok(()),
    }
}

/// Prepares the cron job of a case, and the ad to which its attributes are published.
pub(super) fn prepare_cron_case(
    manager: CronManager,
    prepared: PreparedCase,
    base: &Path,
) -> Result<CallableCronCase, CaseError> {
    let PreparedCase { text, path, files, timeout, quirks, wanted } = prepared;
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
    let mut ad = match (read_given_ad(&text.slot, &text.slot_file, base)?, &text.sample_slot) {
        (Some(ad), _) => ad,
        (None, Some(kind)) => {
            samples::slot_ad(kind).ok_or_else(|| CaseError::Sample("slot", kind.clone()))?
        }
        (None, None) if manager == CronManager::Schedd => samples::schedd_ad(),
        (None, None) => sample_slot(1),
    };
    apply_changes(&text, &mut ad)?;
    let job = StandaloneCronJob {
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
        patience: caller::call_timeout(None, timeout),
        time_limit: timeout,
    };
    Ok(CallableCronCase {
        manager,
        job,
        program: path,
        plan,
        extra,
        prepend,
        quirks,
        ad,
        wanted,
        _files: files,
    })
}

/// Runs the cron job of a case to its end and returns the result, or the number of the signal that interrupted it.
pub(super) fn run_cron_case(
    how: &SuiteSettings,
    case: &SuiteCase,
    ready: CallableCronCase,
    world: &RealWorld,
    reactor: &mut Reactor,
) -> Result<Interruptible<CaseResult>, CaseError> {
    let CallableCronCase { manager, job, program, plan, extra, prepend, quirks, ad, wanted, _files } = ready;
    let list = job.to_cron_list(&program).map_err(CaseError::Metrics)?;
    let slots = [ad];
    // Cron jobs do not get the daemon's session keys (CONDOR_PRIVATE_...), and neither do those of 25.14.
    let mut environment = caller::caller_environment(world, &how.configuration, QuirkMode::Manual);
    set_variables(&mut environment, &extra, &prepend);
    let (surroundings, _log) = cron_surroundings(manager, environment, None, quirks)?;
    let began = clock::monotonic_now();
    let mut session = CronSession::new(plan, surroundings, &slots, world, reactor);
    let mut observations = CronObservations::default();
    let mut record_event = |_: &CronSession<'_>, event: &CronSessionEvent| match event {
        CronSessionEvent::Notice(notice) => observations.record_notice(notice),
        CronSessionEvent::SignalsCaller(number) => observations.record_caller_signal(*number),
        CronSessionEvent::OnDemand(_) | CronSessionEvent::JobBegins | CronSessionEvent::Killed(_) => {}
    };
    session.configure(list, &mut record_event);
    if let SessionPause::Ended(Some(signal)) = session.run(&mut record_event)? {
        return Ok(Interruptible::Interrupted(signal));
    }
    let took = clock::monotonic_now().since(began);
    let [before] = &slots;
    let mut after = before.clone();
    let merged = merge_published(session.published_ads(), manager, &mut after, world);
    if manager == CronManager::Startd {
        convert_usage_for_sending(
            &mut after,
            i64::try_from(session.elapsed().as_secs()).unwrap_or(i64::MAX).max(1),
            false,
            world,
        );
    }
    let mut findings = observations.findings();
    findings.extend(published_value_findings(session.published_ads(), before));
    let verdict = observations.verdict(after, &merged);
    let outcome = observations.outcome(took);
    let result_of_call = CallResult { subject: before, outcome, verdict, findings: &findings };
    let result = suite_compare::compare_with_expectations(case, &wanted, result_of_call, world);
    Ok(Interruptible::Finished(result))
}
