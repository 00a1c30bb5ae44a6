//! Warnings about conditions that only the negotiator checks, so that an accepted job may still have to wait: its last
//! refusal, concurrency limits and quotas of groups.

use rustc_hash::FxHashSet;

use crate::classad::{ClassAd, Context as AdContext};
use crate::config::{Config, ConfigView};
use crate::job::Universe;
use crate::job::attr::JOB_UNIVERSE;
use crate::runner::slot::CandidateSlots;
use crate::text::plural::counted;
use crate::world::World;

use super::job_stream::job_name;

/// Maximum number of jobs for which warnings about conditions outside of their ads are printed.
const MAX_NAMED_JOBS: usize = 3;

/// Maximum number of concurrency limits, and of accounting groups, that a message names.
const MAX_NAMED_LIMITS: usize = 3;

/// Returns the warnings about conditions of the negotiator for these jobs.
pub(super) fn notes_about_jobs(jobs: &[ClassAd], slots: &CandidateSlots, world: &dyn World) -> Vec<String> {
    let mut notes: Vec<String> = limits_note(jobs, world).into_iter().collect();
    if let CandidateSlots::Configured { config, .. } = slots {
        notes.extend(quota_notes(jobs, config, world));
    }
    notes
}

/// Returns reasons why matching jobs wait although all conditions of ads are true: the last refusal by the negotiator,
/// machines that are asleep, and parallel jobs, which need several slots.
pub(super) fn conditions_beyond_ads(
    jobs: &[ClassAd],
    slots: &CandidateSlots,
    world: &dyn World,
) -> Vec<String> {
    let mut notes = Vec::new();
    for (job, number) in jobs.iter().zip(1..).take(MAX_NAMED_JOBS) {
        let (name, job_context) = (job_name(job, number, world), AdContext::new(world).my(job));
        if let Some(reason) = job_context.string("LastRejMatchReason") {
            notes.push(format!("job {name}: the negotiator's last reason to refuse it was: {reason}"));
        }
        if job_context.int(JOB_UNIVERSE) == Some(Universe::Parallel.number()) {
            notes.push(format!(
                "job {name}: a job of the parallel universe waits for several slots at once, and only for those whose \
                 DedicatedScheduler is its access point"
            ));
        }
    }
    if let CandidateSlots::Ads(pool) = slots {
        let is_offline = |ad: &ClassAd| AdContext::new(world).my(ad).boolean("Offline") == Some(true);
        let offline: Vec<_> =
            pool.ads.iter().filter(|(_, ad)| is_offline(ad)).map(|(name, _)| name).collect();
        if let [first, ..] = offline[..] {
            let slots = counted(offline.len(), "slot");
            notes.push(format!(
                "{slots} of machines that are asleep (Offline), such as {first}, must wake up first"
            ));
        }
    }
    notes
}

/// Returns a note that the negotiator also checks concurrency limits, whose use is not in any ad; or `None` if no job
/// has limits.
fn limits_note(jobs: &[ClassAd], world: &dyn World) -> Option<String> {
    let (mut limits, mut known) = (Vec::new(), FxHashSet::default());
    for job in jobs {
        let limit_list =
            AdContext::new(world).my(job).string("ConcurrencyLimits").unwrap_or_default().to_string();
        for limit in limit_list.split(',').map(str::trim).filter(|limit| !limit.is_empty()) {
            if known.insert(limit.to_ascii_lowercase()) {
                limits.push(limit.to_owned());
            }
        }
    }
    let more = match limits.len().saturating_sub(MAX_NAMED_LIMITS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    limits.truncate(MAX_NAMED_LIMITS);
    (!limits.is_empty()).then(|| {
        format!(
            "ConcurrencyLimits ({}{more}) are not compared: the negotiator counts the running jobs of the pool against \
             NAME_LIMIT or CONCURRENCY_LIMIT_DEFAULT",
            limits.join(", ")
        )
    })
}

/// Returns notes about the quotas of the jobs' accounting groups. There are none if the configuration defines no
/// groups.
fn quota_notes(jobs: &[ClassAd], config: &Config, world: &dyn World) -> Vec<String> {
    let view = config.view(world);
    let Some(names) = view.list("GROUP_NAMES").ok().flatten() else { return Vec::new() };
    let names: Vec<String> = names.value.iter().map(ToString::to_string).collect();
    let (mut groups, mut known) = (Vec::new(), FxHashSet::default());
    for group in jobs.iter().filter_map(|job| accounting_group(job, world)) {
        if known.insert(group.to_ascii_lowercase()) {
            groups.push(group);
        }
    }
    let mut notes: Vec<String> =
        groups.iter().take(MAX_NAMED_LIMITS).map(|group| quota_note(group, &names, &view)).collect();
    let more = groups.len().saturating_sub(MAX_NAMED_LIMITS);
    if more > 0 {
        notes.push(format!("quotas of {} are not compared either", counted(more, "more accounting group")));
    }
    notes
}

/// Returns the accounting group of a job: AccountingGroup without the user after the last dot (`GetAssignedGroup`).
fn accounting_group(job: &ClassAd, world: &dyn World) -> Option<String> {
    let job_context = AdContext::new(world).my(job);
    let submitter = job_context.string("AccountingGroup").map(|name| name.to_string());
    let of_submitter = submitter.and_then(|name| {
        let name = name.split('@').next().unwrap_or_default().to_owned();
        name.rsplit_once('.').map(|(group, _)| group.to_owned())
    });
    let group = of_submitter.or_else(|| job_context.string("AcctGroup").map(|name| name.to_string()));
    group.filter(|group| !group.is_empty())
}

/// Returns the note about one accounting group, with its quota.
fn quota_note(group: &str, names: &[String], view: &ConfigView<'_>) -> String {
    // A group that is not defined belongs to its nearest ancestor that is defined.
    let levels = std::iter::successors(Some(group), |group| group.rsplit_once('.').map(|(above, _)| above));
    let known = levels.filter_map(|level| names.iter().find(|name| name.eq_ignore_ascii_case(level))).next();
    let Some(known) = known else {
        return format!(
            "AccountingGroup: GROUP_NAMES does not contain {group}, so the negotiator treats the job as one without a group"
        );
    };
    let setting = ["GROUP_QUOTA_", "GROUP_QUOTA_DYNAMIC_"].iter().find_map(|prefix| {
        let name = format!("{prefix}{known}");
        view.text(&name).map(|value| format!("{name} = {value}"))
    });
    let surplus =
        view.flag(&format!("GROUP_ACCEPT_SURPLUS_{known}"), view.flag("GROUP_ACCEPT_SURPLUS", false));
    let quota = setting.unwrap_or_else(|| format!("GROUP_QUOTA_{known} is not set, which means 0"));
    let more = if surplus { "and more if other groups do not use theirs" } else { "and no more" };
    format!(
        "AccountingGroup: the quota of {known} is not compared: the negotiator gives its jobs this part of the pool, {more} \
         ({quota})"
    )
}
