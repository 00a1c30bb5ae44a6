//! Result of a simulation: its summary, and the rows of its timeline.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::host::RunningJob;
use super::job_events::SlotIdentity;
use super::simulation::Simulation;
use super::state_activity::StateActivity;
use super::summary::{
    JobStatisticsSummary, NeverRunJobs, SimulationCounters, SlotTypeCounts, SlotTypeSummary, Summary,
    Transition,
};
use super::timeline::Timeline;
use super::unstarted_jobs::{UnstartedJobs, UnstartedKind};
use htc_base::text::count::format_thousands;
use htc_base::text::plural::counted;
use htc_classad::ClassAd;
use htc_slot::{EvaluatedExpression, SlotKey, SlotKind, SlotState, StartdEvent};

/// Result of a simulation.
pub struct SimulationResult {
    /// Summary of the simulation.
    pub summary: Summary,
    /// Timeline for pictures, or `None` if it was not recorded.
    pub timeline: Option<Timeline>,
    /// Names of the timeline's rows.
    pub rows: Vec<String>,
    /// Slots that do not fetch, with the reasons, most slots first. Empty unless some jobs were never run and never
    /// offered to a slot.
    pub non_fetching: Vec<NonFetchingSlots>,
}

/// Slots that do not fetch the jobs that are waiting at the end, and the reason.
#[derive(Clone, Debug)]
pub struct NonFetchingSlots {
    /// Number of slots.
    pub slots: u64,
    /// The first of these slots.
    pub place: SlotIdentity,
    /// State and activity of these slots.
    pub state: StateActivity,
    /// The value of START, if it is false without a job.
    pub false_start: Option<EvaluatedExpression>,
    /// True if the machines of these slots are asleep.
    pub asleep: bool,
}

/// Total capacity of all slots.
#[derive(Default)]
struct Capacity {
    slots: u64,
    cpus: f64,
    /// Time in CPU seconds.
    time: f64,
}

/// Maximum number of job kinds for which the simulation searches for slots that are large enough.
const MAX_KINDS_SEARCHED: usize = 1000;

/// Maximum number of job kinds for which the simulation searches for changes that would help.
const MAX_KINDS_EXPLAINED: usize = 5;

/// Cause of the lost time of jobs that are running at the end.
const RUNNING_AT_END: &str = "still running at the end";

/// Beginning of the reason if a slot refuses a job because it is too large.
const SIZE_REFUSAL_PREFIX: &str = "WithinResourceLimits is not true";

/// Slots of one type, on machines with the same plan and configuration.
struct SlotGroup {
    /// Machine and key of one slot of the group, as an example.
    example: (usize, SlotKey),
    plan: usize,
    slot_type: u32,
    config_number: usize,
    type_name: Rc<str>,
    /// True if the slots are partitionable.
    is_partitionable: bool,
    slots: u64,
    /// Number of slots on which jobs are running at the end.
    busy: u64,
}

impl SlotGroup {
    fn is_large_enough(&self, simulation: &Simulation<'_>, job: &ClassAd) -> bool {
        let (host, key) = self.example;
        simulation.hosts[host].machine.first_insufficient_resource(key, job).is_none()
    }
}

impl Simulation<'_> {
    /// Completes all counts and returns the result of the simulation.
    pub fn finish(mut self) -> SimulationResult {
        let all_finished = self.hosts.iter().all(|host| host.finished);
        let since = if self.finished.is_some() && all_finished { self.elapsed_micros() } else { self.end };
        let capacity = self.close_slot_stays(since);
        self.close_runs(since);
        let hook = &mut self.counters.hooks[0];
        hook.nothing = hook.calls.saturating_sub(hook.accepted + hook.rejected + hook.bad + hook.failed);
        let never = self.count_waiting(since);
        let ended = self.finished.clone().filter(|_| all_finished);
        let counting = &self.counters;
        let of_all = |part: f64| if capacity.time > 0.0 { part / capacity.time } else { 0.0 };
        let summary = Summary {
            start: self.plan.start,
            length: since as f64 / 1e6,
            seed: self.scenario.seed,
            machines: self.hosts.len() as u64,
            slots: capacity.slots,
            cpus: capacity.cpus,
            utilisation: of_all(counting.busy),
            goodput: of_all(counting.all.goodput),
            badput: counting.causes.clone(),
            jobs: counting.all.jobs,
            waits: counting.all.waits.wait_statistics(),
            longest_unstarted: never.longest_wait(),
            owners: counting.owner_summaries(),
            groups: self.group_summaries(),
            slot_types: counting.slot_type_summaries(),
            hooks: counting.hooks.to_vec(),
            never_run: self.never_run_jobs(&never.kinds),
            transitions: counting.transition_counts(),
            ended,
            warnings: counting.warnings.clone(),
        };
        let rows = self.row_names.iter().map(|(_, name)| name.clone()).collect();
        let has_unoffered_jobs = summary.never_run.iter().any(|never| never.why.is_empty());
        let silent = if has_unoffered_jobs { self.non_fetching_slots(since) } else { Vec::new() };
        SimulationResult { summary, timeline: self.timeline.take(), rows, non_fetching: silent }
    }

    /// Returns the slots that do not fetch, grouped by reason.
    fn non_fetching_slots(&mut self, since: u64) -> Vec<NonFetchingSlots> {
        self.now = self.started_at.plus(Duration::from_micros(since));
        let mut all: Vec<NonFetchingSlots> = Vec::new();
        for host in 0..self.hosts.len() {
            if self.hosts[host].finished {
                continue;
            }
            // Updates the published attributes to the current time.
            self.handle_event(host, StartdEvent::Refresh);
            let it = &self.hosts[host];
            let mut slots: Vec<_> = it.slots.iter().filter(|(key, _)| key.sub == 0).collect();
            slots.sort_by_key(|(key, _)| **key);
            for (key, slot) in slots {
                let is_free = matches!(slot.state.state, SlotState::Owner | SlotState::Unclaimed);
                let start =
                    it.machine.evaluate_expression(*key, "START").filter(|it| is_free && it.value == "false");
                let place = self.slot_identity(host, *key);
                let text =
                    |start: &Option<EvaluatedExpression>| start.as_ref().map(|start| start.text.clone());
                let asleep = it.asleep.is_some();
                let is_same = |other: &&mut NonFetchingSlots| {
                    (other.state, other.asleep) == (slot.state, asleep)
                        && text(&other.false_start) == text(&start)
                        && (other.place.slot_type, other.place.config_number)
                            == (place.slot_type, place.config_number)
                };
                match all.iter_mut().find(is_same) {
                    Some(other) => other.slots += 1,
                    None => all.push(NonFetchingSlots {
                        slots: 1,
                        place,
                        state: slot.state,
                        false_start: start,
                        asleep,
                    }),
                }
            }
        }
        all.sort_by_key(|silent| std::cmp::Reverse(silent.slots));
        all
    }

    /// Adds the last stay of every slot, and the fetches that were skipped, to the counts. Returns the total
    /// capacity.
    fn close_slot_stays(&mut self, since: u64) -> Capacity {
        let mut capacity = Capacity::default();
        for host in &mut self.hosts {
            self.counters.hooks[0].calls += host.machine.count_skipped_fetches(self.started_at, since);
            let mut slots: Vec<_> = host.slots.iter().collect();
            slots.sort_by_key(|(key, _)| **key);
            for (key, slot) in slots {
                self.counters.add_state_time(&slot.type_name, slot.state, since.saturating_sub(slot.since));
                if let Some(timeline) = &mut self.timeline {
                    timeline.add_state_time(slot.row, slot.state, slot.since, since);
                }
                if key.sub == 0 {
                    let whole = host.machine.original_slot_cpus(*key).unwrap_or(slot.cpus);
                    capacity.slots += 1;
                    capacity.cpus += whole;
                    capacity.time += whole * since as f64 / 1e6;
                }
            }
        }
        capacity
    }

    /// Counts the jobs that are running at the end. Their time is badput, because their runs did not complete; what follows
    /// the end is unknown. Accepted jobs that were not started count as waiting.
    fn close_runs(&mut self, since: u64) {
        for host in &mut self.hosts {
            // The jobs are sorted by slot, because the sum of floating-point numbers depends on the order.
            let mut all: Vec<&RunningJob> = host.starters.values().collect();
            all.sort_by_key(|running| running.slot);
            for running in all {
                let stands = running.suspended.map_or(0, |(_, from)| since.saturating_sub(from));
                let stopped = running.suspended_micros + stands;
                let ran = since.saturating_sub(running.started_at).saturating_sub(stopped);
                let cpu_seconds = |micros: u64| micros as f64 / 1e6 * running.cpus;
                let (ran, stopped) = (cpu_seconds(ran), cpu_seconds(stopped));
                self.counters.busy += ran;
                self.counters.add_suspended_time(running.suspensions, stopped);
                self.counters.add_lost_time(RUNNING_AT_END.to_owned(), 1, ran);
                let kind = self.workload.kind(running.job.kind).clone();
                self.counters.update_each(&kind.owner, kind.group, |part| {
                    part.jobs.running += 1;
                    part.badput += ran + stopped;
                });
            }
            for job in host.accepted.values_mut().flat_map(std::mem::take) {
                self.queue.push(job.1);
            }
        }
    }

    /// Counts the waiting jobs. Returns the jobs that were never started: those that wait, and those that were dropped.
    fn count_waiting(&mut self, since: u64) -> UnstartedJobs {
        let mut never = std::mem::take(&mut self.dropped_unstarted);
        for job in self.queue.jobs() {
            let kind = self.workload.kind(job.kind);
            self.counters.update_each(&kind.owner, kind.group, |part| {
                part.jobs.waiting += 1;
                part.jobs.never_run += u64::from(job.starts == 0);
            });
            never.add(job, since);
        }
        never
    }

    fn group_summaries(&self) -> Vec<JobStatisticsSummary> {
        let mut groups: Vec<_> = self.counters.groups.iter().collect();
        groups.sort_by_key(|(group, _)| **group);
        groups.into_iter().map(|(group, part)| part.summarize(self.workload.group_name(*group))).collect()
    }

    fn never_run_jobs(&self, counts: &BTreeMap<u32, UnstartedKind>) -> Vec<NeverRunJobs> {
        let types = self.slot_groups();
        let mut counts: Vec<_> = counts.iter().collect();
        counts.sort_by_key(|(_, unstarted)| std::cmp::Reverse(unstarted.count));
        let examples = counts.iter().take(MAX_KINDS_EXPLAINED);
        let examples: Vec<ClassAd> =
            examples.map(|(_, unstarted)| self.workload.job_ad(&unstarted.example)).collect();
        let mut explanations = self.explain_refused_jobs(&examples).into_iter();
        let summarize = |(at, (kind, unstarted)): (usize, (&u32, &UnstartedKind))| {
            let of = self.workload.kind(*kind);
            let large: Vec<&SlotGroup> = match at < MAX_KINDS_SEARCHED {
                true => {
                    let ad = self.workload.job_ad(&unstarted.example);
                    types.iter().filter(|group| group.is_large_enough(self, &ad)).collect()
                }
                false => Vec::new(),
            };
            NeverRunJobs {
                kind: *kind,
                jobs: self.workload.group_name(of.group),
                owner: of.owner.clone(),
                count: unstarted.count,
                why: self.reasons_never_run(*kind, &large, &types),
                explanation: explanations.next().flatten(),
                fits: large.iter().map(|group| (group.slot_type, group.config_number)).collect(),
            }
        };
        counts.into_iter().enumerate().map(summarize).collect()
    }

    /// Returns the reasons why slots refused jobs of a kind. Only the slots in `large`, which are large enough, are
    /// considered, or all slots if `large` is empty.
    fn reasons_never_run(&self, kind: u32, large: &[&SlotGroup], all: &[SlotGroup]) -> Vec<String> {
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for ((slot_type, reason), count) in self.counters.refusals.get(&kind).into_iter().flatten() {
            let is_meant = large.is_empty()
                || large.iter().any(|group| {
                    // A partitionable slot that lacks a resource only because of its other jobs is large enough.
                    group.type_name == *slot_type
                        && !(group.is_partitionable && reason.starts_with(SIZE_REFUSAL_PREFIX))
                });
            if is_meant {
                *reasons.entry(reason).or_default() += count;
            }
        }
        let mut sorted: Vec<_> = reasons.into_iter().collect();
        sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let mut why: Vec<String> = sorted.into_iter().map(|(reason, _)| reason.to_owned()).collect();
        let busy: u64 = large.iter().map(|group| group.busy).sum();
        if why.is_empty() && busy > 0 {
            let fit: u64 = large.iter().map(|group| group.slots).sum();
            let slots: u64 = all.iter().map(|group| group.slots).sum();
            why.push(format!(
                "large enough: {} of {}; of these, busy with other jobs at the end: {}",
                format_thousands(fit),
                counted(format_thousands(slots), "slot"),
                format_thousands(busy)
            ));
        }
        why
    }

    /// Returns the static and partitionable slots, grouped by type and configuration.
    fn slot_groups(&self) -> Vec<SlotGroup> {
        let mut groups: Vec<SlotGroup> = Vec::new();
        for (host, it) in self.hosts.iter().enumerate() {
            for (key, slot) in it.slots.iter().filter(|(key, _)| key.sub == 0) {
                let slot_type = it.machine.slot_type_id(*key).unwrap_or(0);
                let divides = it.machine.slot_kind(*key) == Some(SlotKind::Partitionable);
                let has_parts =
                    divides && it.slots.keys().any(|other| other.number == key.number && other.sub != 0);
                let busy = u64::from(has_parts || it.is_running(*key));
                let is_same = |group: &&mut SlotGroup| {
                    (group.plan, group.slot_type, group.config_number)
                        == (it.plan, slot_type, it.config_number)
                };
                match groups.iter_mut().find(is_same) {
                    Some(group) => {
                        group.slots += 1;
                        group.busy += busy;
                    }
                    None => groups.push(SlotGroup {
                        example: (host, *key),
                        plan: it.plan,
                        slot_type,
                        config_number: it.config_number,
                        type_name: slot.type_name.clone(),
                        is_partitionable: divides,
                        slots: 1,
                        busy,
                    }),
                }
            }
        }
        groups
    }
}

impl SimulationCounters {
    /// Returns the summaries by owner, in descending order of the number of jobs.
    fn owner_summaries(&self) -> Vec<JobStatisticsSummary> {
        let mut owners: Vec<_> =
            self.owners.iter().map(|(name, part)| part.summarize(name.clone())).collect();
        owners.sort_by(|a, b| b.jobs.arrived.cmp(&a.jobs.arrived).then_with(|| a.name.cmp(&b.name)));
        owners
    }

    fn slot_type_summaries(&self) -> Vec<SlotTypeSummary> {
        let seconds = |micros: u64| micros as f64 / 1e6;
        let summarize = |(name, count): (&String, &SlotTypeCounts)| SlotTypeSummary {
            name: name.clone(),
            slots: count.slots,
            seconds: count.times.values().copied().map(seconds).sum(),
            states: count.times.iter().map(|(state, micros)| (state.to_string(), seconds(*micros))).collect(),
            preempted: count.preempted,
            suspended: count.suspended,
        };
        self.types.iter().map(summarize).collect()
    }

    fn transition_counts(&self) -> Vec<Transition> {
        let summarize = |((from, to), count): (&(StateActivity, StateActivity), &u64)| Transition {
            from: from.to_string(),
            to: to.to_string(),
            count: *count,
        };
        self.transitions.iter().map(summarize).collect()
    }
}
