//! What came of a simulation, in numbers: used and lost time, waits, preemptions, jobs that never ran and why.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use serde::Serialize;

use htc_slot::{Activity, SlotState};

/// A count and the processor seconds that belong to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LostTime {
    /// How often.
    pub count: u64,
    /// Seconds of processors.
    pub cpu_seconds: f64,
}

/// Durations of which mean, extremes and quantiles are reported. All of them are kept, so that each number is exact.
#[derive(Clone, Debug, Default)]
pub struct DurationSamples {
    seconds: Vec<f64>,
}

impl DurationSamples {
    /// Adds one duration, in seconds.
    pub fn add(&mut self, seconds: f64) {
        self.seconds.push(seconds);
    }

    /// Returns the numbers that are reported.
    pub fn wait_statistics(&self) -> WaitStatistics {
        let mut sorted = self.seconds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len();
        // The smallest duration that so many per cent of all do not exceed; without rounding errors of a product.
        let not_exceeded_by =
            |percent: usize| sorted.get((count * percent).div_ceil(100).max(1) - 1).copied().unwrap_or(0.0);
        WaitStatistics {
            count: count as u64,
            mean: if count == 0 { 0.0 } else { self.seconds.iter().sum::<f64>() / count as f64 },
            median: not_exceeded_by(50),
            of_95_in_100: not_exceeded_by(95),
            longest: sorted.last().copied().unwrap_or(0.0),
        }
    }
}

/// How long jobs waited for their first start, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WaitStatistics {
    /// How many have begun.
    pub count: u64,
    /// On average.
    pub mean: f64,
    /// Half of them not longer.
    pub median: f64,
    /// 95 of 100 not longer.
    pub of_95_in_100: f64,
    /// The longest.
    pub longest: f64,
}

/// Counts of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct JobCounts {
    /// That came.
    pub arrived: u64,
    /// That came to their end.
    pub completed: u64,
    /// Of these with another status than 0.
    pub failed: u64,
    /// Starts, of jobs that began anew as well.
    pub starts: u64,
    /// That had to leave before their end.
    pub preempted: u64,
    /// That were suspended.
    pub suspended: u64,
    /// That were put on hold.
    pub held: u64,
    /// That came back and are not fetched again.
    pub dropped: u64,
    /// That run at the end.
    pub running: u64,
    /// That wait at the end.
    pub waiting: u64,
    /// Of these that have never run.
    pub never_run: u64,
}

/// What is counted of an owner, a kind of jobs or a type of slots.
#[derive(Clone, Debug, Default)]
pub struct JobStatistics {
    /// Jobs.
    pub jobs: JobCounts,
    /// Processor seconds of runs that came to their end.
    pub goodput: f64,
    /// Processor seconds of runs that did not.
    pub badput: f64,
    /// Waits.
    pub waits: DurationSamples,
}

/// The same as it is written.
#[derive(Clone, Debug, Serialize)]
pub struct JobStatisticsSummary {
    /// Of whom.
    pub name: String,
    /// Jobs.
    #[serde(flatten)]
    pub jobs: JobCounts,
    /// Processor seconds of runs that came to their end.
    pub goodput: f64,
    /// Processor seconds of runs that did not.
    pub badput: f64,
    /// Waits for the first start.
    pub waits: WaitStatistics,
}

/// Seconds that slots of one type have spent in their states.
#[derive(Clone, Debug, Serialize)]
pub struct SlotTypeSummary {
    /// The type.
    pub name: String,
    /// How many slots, dynamic ones as far as there were at a time.
    pub slots: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Seconds by `State/Activity`.
    pub states: BTreeMap<String, f64>,
    /// Jobs that had to leave.
    pub preempted: u64,
    /// Jobs that were suspended.
    pub suspended: u64,
}

/// Calls of one hook.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HookCounts {
    /// Its type.
    pub hook: String,
    /// Calls.
    pub calls: u64,
    /// That brought a job which was accepted.
    pub accepted: u64,
    /// That brought a job which was refused.
    pub rejected: u64,
    /// That brought nothing.
    pub nothing: u64,
    /// Whose answer was no job.
    pub bad: u64,
    /// That could not be run, ran too long or never ended.
    pub failed: u64,
}

/// Jobs of one kind that have never run, and what slots said to them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeverRunJobs {
    /// The number of the kind.
    #[serde(skip)]
    pub kind: u32,
    /// Of which group.
    pub jobs: String,
    /// Of which owner.
    pub owner: String,
    /// How many.
    pub count: u64,
    /// What slots said that are large enough, the most frequent first; empty where no slot was offered one.
    pub why: Vec<String>,
    /// Types of the slots that are large enough, with the configurations of their machines.
    #[serde(skip)]
    pub fits: Vec<(u32, usize)>,
}

/// A transition and how often it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transition {
    /// `State/Activity` before.
    pub from: String,
    /// `State/Activity` after.
    pub to: String,
    /// How often.
    pub count: u64,
}

/// What came of a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// When it began, in seconds since the epoch.
    pub start: i64,
    /// How long it lasted, in seconds.
    pub length: f64,
    /// What chance began with.
    pub seed: u64,
    /// Machines.
    pub machines: u64,
    /// Slots that are not dynamic.
    pub slots: u64,
    /// Processors.
    pub cpus: f64,
    /// Part of all processor time in which a job ran.
    pub utilisation: f64,
    /// Part of all processor time that went into runs that came to their end.
    pub goodput: f64,
    /// Processor seconds lost, by cause.
    pub badput: BTreeMap<String, LostTime>,
    /// Jobs.
    pub jobs: JobCounts,
    /// Waits for the first start, of the jobs that have started.
    pub waits: WaitStatistics,
    /// How long the first of the jobs that have never started has waited, in seconds; 0 if all have started.
    pub longest_unstarted: f64,
    /// By owner.
    pub owners: Vec<JobStatisticsSummary>,
    /// By group of jobs.
    pub groups: Vec<JobStatisticsSummary>,
    /// By type of slot.
    pub slot_types: Vec<SlotTypeSummary>,
    /// By hook.
    pub hooks: Vec<HookCounts>,
    /// Jobs that have never run.
    pub never_run: Vec<NeverRunJobs>,
    /// Changes of slots.
    pub transitions: Vec<Transition>,
    /// Why it ended before its time, where it did.
    pub ended: Option<String>,
    /// What the machines warned of, with how often.
    pub warnings: BTreeMap<String, u64>,
}

impl Summary {
    /// Whether the same was counted; why jobs have not run may be told in other words.
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

/// Number of a pair of state and activity.
pub type StateActivity = (SlotState, Activity);

/// Counts while a simulation runs.
#[derive(Default)]
pub struct SimulationCounters {
    /// Jobs in all.
    pub all: JobStatistics,
    /// By owner.
    pub owners: FxHashMap<String, JobStatistics>,
    /// By group.
    pub groups: FxHashMap<u32, JobStatistics>,
    /// By cause.
    pub causes: BTreeMap<String, LostTime>,
    /// Changes.
    pub transitions: BTreeMap<(StateActivity, StateActivity), u64>,
    /// By type of slot: slots, microseconds by state, jobs that had to leave, jobs that were suspended.
    pub types: BTreeMap<String, SlotTypeCounts>,
    /// Hooks, in the order FETCH_WORK, REPLY_FETCH, EVICT_CLAIM.
    pub hooks: [HookCounts; 3],
    /// By kind of job: what slots of each type said.
    pub refusals: FxHashMap<u32, BTreeMap<(Rc<str>, String), u64>>,
    /// What the machines warned of.
    pub warnings: BTreeMap<String, u64>,
    /// Processor seconds in which a job ran.
    pub busy: f64,
}

/// What is counted of a type of slots.
#[derive(Clone, Debug, Default)]
pub struct SlotTypeCounts {
    /// How many there are.
    pub slots: u64,
    /// Microseconds by state and activity.
    pub times: BTreeMap<StateActivity, u64>,
    /// Jobs that had to leave.
    pub preempted: u64,
    /// Jobs that were suspended.
    pub suspended: u64,
}

/// So many reasons are kept of one kind of jobs.
const MAX_REASONS_PER_KIND: usize = 20;

impl SimulationCounters {
    /// Does the same with the counts of all, of the owner and of the group.
    pub fn update_each(&mut self, owner: &str, group: u32, mut with: impl FnMut(&mut JobStatistics)) {
        with(&mut self.all);
        match self.owners.get_mut(owner) {
            Some(part) => with(part),
            None => with(self.owners.entry(owner.to_owned()).or_default()),
        }
        with(self.groups.entry(group).or_default());
    }

    /// Counts that a slot of the type has refused a job of this kind.
    pub fn count_refusal(&mut self, kind: u32, slot_type: &Rc<str>, reason: &str) {
        let reasons = self.refusals.entry(kind).or_default();
        let refusal = (slot_type.clone(), reason.to_owned());
        if reasons.len() < MAX_REASONS_PER_KIND || reasons.contains_key(&refusal) {
            *reasons.entry(refusal).or_default() += 1;
        }
    }

    /// A slot of the type has been in a state.
    pub fn add_stay(&mut self, slot_type: &str, pair: StateActivity, micros: u64) {
        if let Some(count) = self.types.get_mut(slot_type) {
            *count.times.entry(pair).or_default() += micros;
        }
    }
}

/// `State/Activity`.
pub fn state_activity_name((state, activity): StateActivity) -> String {
    format!("{state}/{activity}")
}

impl JobStatistics {
    /// As it is written.
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
        let told = spread.wait_statistics();
        assert_eq!((told.count, told.longest, told.mean), (1000, 1000.0, 500.5));
        assert_eq!((told.median, told.of_95_in_100), (500.0, 950.0));
        assert_eq!(DurationSamples::default().wait_statistics(), WaitStatistics::default());
    }
}
