//! Summary of a simulation: used and lost time, waits, preemptions, and jobs that were never run, with the reasons.

use std::collections::BTreeMap;
use std::rc::Rc;

use htc_why::matching::JobGroupExplanation;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::state_activity::StateActivity;

/// Number of times that CPU time was lost for one cause, and the lost CPU seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LostTime {
    /// Number of occurrences.
    pub count: u64,
    /// Lost CPU seconds.
    pub cpu_seconds: f64,
}

/// Durations whose mean, median, percentile and maximum are reported. All durations are kept, so the results are
/// exact.
#[derive(Clone, Debug, Default)]
pub struct DurationSamples {
    seconds: Vec<f64>,
}

impl DurationSamples {
    /// Adds one duration, in seconds.
    pub fn add(&mut self, seconds: f64) {
        self.seconds.push(seconds);
    }

    /// Returns the statistics of the durations.
    pub fn wait_statistics(&self) -> WaitStatistics {
        let mut sorted = self.seconds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len();
        // Returns the smallest duration that `percent` per cent of the durations do not exceed. The index is
        // computed with integers to avoid rounding errors.
        let not_exceeded_by =
            |percent: usize| sorted.get((count * percent).div_ceil(100).max(1) - 1).copied();
        WaitStatistics {
            count: count as u64,
            mean: (count > 0).then(|| self.seconds.iter().sum::<f64>() / count as f64),
            median: not_exceeded_by(50),
            of_95_in_100: not_exceeded_by(95),
            longest: sorted.last().copied(),
        }
    }
}

/// Statistics of the times, in seconds, that jobs waited for their first start. The times are `None` if no job has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WaitStatistics {
    /// Number of jobs that have started.
    pub count: u64,
    /// Mean wait in seconds.
    pub mean: Option<f64>,
    /// Median of the waits in seconds.
    pub median: Option<f64>,
    /// 95th percentile of the waits in seconds.
    pub of_95_in_100: Option<f64>,
    /// Maximum wait in seconds.
    pub longest: Option<f64>,
}

/// Counts of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct JobCounts {
    /// Number of jobs that arrived.
    pub arrived: u64,
    /// Number of jobs that completed.
    pub completed: u64,
    /// Number of completed jobs with an exit status other than 0.
    pub failed: u64,
    /// Number of starts of jobs, including restarts.
    pub starts: u64,
    /// Number of times a job was preempted.
    pub preempted: u64,
    /// Number of times a job was suspended.
    pub suspended: u64,
    /// Number of jobs that were put on hold.
    pub held: u64,
    /// Number of jobs that were returned to the queue and dropped.
    pub dropped: u64,
    /// Number of jobs that are running at the end.
    pub running: u64,
    /// Number of jobs that are waiting at the end.
    pub waiting: u64,
    /// Number of jobs that were never started: they are waiting at the end, or were dropped.
    pub never_run: u64,
}

/// Statistics of an owner, a job group or all jobs.
#[derive(Clone, Debug, Default)]
pub struct JobStatistics {
    /// Counts of jobs.
    pub jobs: JobCounts,
    /// CPU seconds of runs in which the job completed.
    pub goodput: f64,
    /// CPU seconds of runs in which the job did not complete, and of suspensions.
    pub badput: f64,
    /// Times that jobs waited for their first start.
    pub waits: DurationSamples,
}

/// Statistics in the form that is printed.
#[derive(Clone, Debug, Serialize)]
pub struct JobStatisticsSummary {
    /// Name of the owner or group.
    pub name: String,
    /// Counts of jobs.
    #[serde(flatten)]
    pub jobs: JobCounts,
    /// CPU seconds of runs in which the job completed.
    pub goodput: f64,
    /// CPU seconds of runs in which the job did not complete, and of suspensions.
    pub badput: f64,
    /// Statistics of the times that jobs waited for their first start.
    pub waits: WaitStatistics,
}

/// Time that slots of one type have spent in each state.
#[derive(Clone, Debug, Serialize)]
pub struct SlotTypeSummary {
    /// Name of the slot type.
    pub name: String,
    /// Number of slots; each dynamic slot is counted when it first appears.
    pub slots: u64,
    /// Total time of all slots in seconds.
    pub seconds: f64,
    /// Time in seconds by `State/Activity`.
    pub states: BTreeMap<String, f64>,
    /// Number of times a job was preempted.
    pub preempted: u64,
    /// Number of times a job was suspended.
    pub suspended: u64,
}

/// Counts of one hook's calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HookCounts {
    /// Type of the hook.
    pub hook: String,
    /// Number of calls.
    pub calls: u64,
    /// Number of calls that returned an accepted job.
    pub accepted: u64,
    /// Number of calls that returned a rejected job.
    pub rejected: u64,
    /// Number of calls that returned no output.
    pub nothing: u64,
    /// Number of calls whose output was not a valid job.
    pub bad: u64,
    /// Number of calls that could not be executed, timed out or never ended.
    pub failed: u64,
}

/// Jobs of one kind that were never started, with the reasons why slots refused them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeverRunJobs {
    /// Number of the job kind.
    #[serde(skip)]
    pub kind: u32,
    /// Name of the job group.
    pub jobs: String,
    /// Owner of the jobs.
    pub owner: String,
    /// Number of jobs.
    pub count: u64,
    /// Reasons why the slots that are large enough refuse the jobs, the most frequent first; empty if none of the
    /// jobs was offered to a slot.
    pub why: Vec<String>,
    /// Reason why all slots would refuse the jobs even without other jobs, and what to change; `None` if a slot would
    /// accept them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<JobGroupExplanation>,
    /// Types of the slots that are large enough, each with the configuration number of its machine.
    #[serde(skip)]
    pub fits: Vec<(u32, usize)>,
}

/// Transition of slots between two states, and its number of occurrences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transition {
    /// State and activity before the transition, as `State/Activity`.
    pub from: String,
    /// State and activity after the transition, as `State/Activity`.
    pub to: String,
    /// Number of occurrences.
    pub count: u64,
}

/// Summary of a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Start time, in epoch seconds.
    pub start: i64,
    /// Length of the simulated time in seconds.
    pub length: f64,
    /// Random seed.
    pub seed: u64,
    /// Number of machines.
    pub machines: u64,
    /// Number of slots, not counting dynamic slots.
    pub slots: u64,
    /// Total number of processors.
    pub cpus: f64,
    /// Fraction of all CPU time in which a job was running.
    pub utilisation: f64,
    /// Fraction of all CPU time used by runs in which the job completed.
    pub goodput: f64,
    /// CPU time lost, by cause: evictions, suspensions, and runs that have not completed at the end.
    pub badput: BTreeMap<String, LostTime>,
    /// Counts of all jobs.
    pub jobs: JobCounts,
    /// Times that jobs waited for their first start, for jobs that were started.
    pub waits: WaitStatistics,
    /// Longest wait of a job that was never started, in seconds; 0 if all jobs were started.
    pub longest_unstarted: f64,
    /// Statistics by owner.
    pub owners: Vec<JobStatisticsSummary>,
    /// Statistics by job group.
    pub groups: Vec<JobStatisticsSummary>,
    /// Statistics by slot type.
    pub slot_types: Vec<SlotTypeSummary>,
    /// Counts by hook.
    pub hooks: Vec<HookCounts>,
    /// Jobs that were never started, by kind.
    pub never_run: Vec<NeverRunJobs>,
    /// Transitions of slots between states.
    pub transitions: Vec<Transition>,
    /// Reason why the simulation ended early, or `None`.
    pub ended: Option<String>,
    /// Warnings of the machines, each with its number of occurrences.
    pub warnings: BTreeMap<String, u64>,
}

impl Summary {
    /// Returns true if all counts of the two summaries are equal. Their warnings and their reasons for jobs that were
    /// never started may differ.
    pub fn has_same_counts(&self, other: &Summary) -> bool {
        let counted = |summary: &Summary| {
            let mut all = serde_json::to_value(summary).ok()?;
            for key in ["warnings", "never_run"] {
                all.as_object_mut()?.remove(key);
            }
            Some(all)
        };
        counted(self) == counted(other)
    }
}

/// Counters of a running simulation.
#[derive(Default)]
pub struct SimulationCounters {
    /// Statistics of all jobs.
    pub all: JobStatistics,
    /// Statistics by owner.
    pub owners: FxHashMap<String, JobStatistics>,
    /// Statistics by job group.
    pub groups: FxHashMap<u32, JobStatistics>,
    /// CPU time lost, by cause.
    pub causes: BTreeMap<String, LostTime>,
    /// Numbers of transitions between states.
    pub transitions: BTreeMap<(StateActivity, StateActivity), u64>,
    /// Counts by slot type.
    pub types: BTreeMap<String, SlotTypeCounts>,
    /// Counts by hook, in the order FETCH_WORK, REPLY_FETCH, EVICT_CLAIM.
    pub hooks: [HookCounts; 3],
    /// Number of refusals for each job kind, by slot type and reason.
    pub refusals: FxHashMap<u32, BTreeMap<(Rc<str>, String), u64>>,
    /// Warnings of the machines, each with its number of occurrences.
    pub warnings: BTreeMap<String, u64>,
    /// CPU seconds in which a job was running.
    pub busy: f64,
}

/// Counts of one slot type.
#[derive(Clone, Debug, Default)]
pub struct SlotTypeCounts {
    /// Number of slots.
    pub slots: u64,
    /// Time in microseconds by state and activity.
    pub times: BTreeMap<StateActivity, u64>,
    /// Number of times a job was preempted.
    pub preempted: u64,
    /// Number of times a job was suspended.
    pub suspended: u64,
}

/// Maximum number of refusal reasons kept for one job kind.
const MAX_REASONS_PER_KIND: usize = 20;

impl SimulationCounters {
    /// Calls `update` for the statistics of all jobs, of the owner and of the job group.
    pub fn update_each(&mut self, owner: &str, group: u32, mut update: impl FnMut(&mut JobStatistics)) {
        update(&mut self.all);
        match self.owners.get_mut(owner) {
            Some(part) => update(part),
            None => update(self.owners.entry(owner.to_owned()).or_default()),
        }
        update(self.groups.entry(group).or_default());
    }

    /// Counts a refusal of a job of the given kind by a slot of the given type.
    pub fn count_refusal(&mut self, kind: u32, slot_type: &Rc<str>, reason: &str) {
        let reasons = self.refusals.entry(kind).or_default();
        let refusal = (slot_type.clone(), reason.to_owned());
        if reasons.len() < MAX_REASONS_PER_KIND || reasons.contains_key(&refusal) {
            *reasons.entry(refusal).or_default() += 1;
        }
    }

    /// Adds CPU time that was lost for a cause.
    pub fn add_lost_time(&mut self, cause: String, count: u64, cpu_seconds: f64) {
        let lost = self.causes.entry(cause).or_default();
        lost.count += count;
        lost.cpu_seconds += cpu_seconds;
    }

    /// Adds the CPU time for which a job was suspended in one run.
    pub fn add_suspended_time(&mut self, suspensions: u64, cpu_seconds: f64) {
        if suspensions > 0 {
            self.add_lost_time("suspended".to_owned(), suspensions, cpu_seconds);
        }
    }

    /// Adds the time that a slot of the given type has spent in a state.
    pub fn add_state_time(&mut self, slot_type: &str, state: StateActivity, micros: u64) {
        if let Some(count) = self.types.get_mut(slot_type) {
            *count.times.entry(state).or_default() += micros;
        }
    }
}

impl JobStatistics {
    /// Converts the statistics to the form that is printed.
    pub fn summarize(&self, name: String) -> JobStatisticsSummary {
        JobStatisticsSummary {
            name,
            jobs: self.jobs,
            goodput: self.goodput,
            badput: self.badput,
            waits: self.waits.wait_statistics(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact() {
        let mut spread = DurationSamples::default();
        (1..=1000).rev().for_each(|number| spread.add(f64::from(number)));
        let statistics = spread.wait_statistics();
        assert_eq!(
            (statistics.count, statistics.longest, statistics.mean),
            (1000, Some(1000.0), Some(500.5))
        );
        assert_eq!((statistics.median, statistics.of_95_in_100), (Some(500.0), Some(950.0)));
        assert_eq!(DurationSamples::default().wait_statistics(), WaitStatistics::default());
    }
}
