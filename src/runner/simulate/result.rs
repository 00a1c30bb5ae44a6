//! The end of a simulation: what was counted becomes a summary, what was seen a picture's rows.

use std::collections::BTreeMap;
use std::time::Duration;

use super::fate::Place;
use super::host::Running;
use super::simulation::Simulation;
use super::summary::{
    Counting, NeverRun, Pair, PartTold, Summary, Transition, TypeCount, TypeTold, pair_name,
};
use super::timeline::Timeline;
use crate::slot::{Asked, Event, State};

/// What is left when it is over.
pub struct Played {
    /// In numbers.
    pub summary: Summary,
    /// For pictures, where one was asked for.
    pub timeline: Option<Timeline>,
    /// The names of its rows.
    pub rows: Vec<String>,
    /// Where jobs have never run that no slot was offered: why slots do not ask, most slots first.
    pub silent: Vec<Silent>,
}

/// Why slots do not ask for the jobs that wait, at the end.
#[derive(Clone, Debug)]
pub struct Silent {
    /// How many there are.
    pub slots: u64,
    /// The first of them.
    pub place: Place,
    /// Their state.
    pub pair: Pair,
    /// START, where it is false without any job.
    pub start: Option<Asked>,
}

/// What there was to be used, all slots together.
#[derive(Default)]
struct Capacity {
    slots: u64,
    cpus: f64,
    /// In processor seconds.
    time: f64,
}

impl Simulation<'_> {
    /// Closes the books.
    pub fn finish(mut self) -> Played {
        let all_finished = self.hosts.iter().all(|host| host.finished);
        let since = if self.finished.is_some() && all_finished { self.since() } else { self.end };
        let capacity = self.end_stays(since);
        self.end_runs(since);
        let hook = &mut self.counting.hooks[0];
        hook.nothing = hook.calls.saturating_sub(hook.accepted + hook.rejected + hook.bad + hook.failed);
        let never = self.count_waiting();
        let ended = self.finished.clone().filter(|_| all_finished);
        let counting = &self.counting;
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
            waits: counting.all.waits.told(),
            owners: counting.owners_told(),
            groups: self.groups_told(),
            slot_types: counting.types_told(),
            hooks: counting.hooks.to_vec(),
            never_run: self.never_run(&never),
            transitions: counting.transitions_told(),
            ended,
            warnings: counting.warnings.clone(),
        };
        let rows = self.row_names.iter().map(|(_, name)| name.clone()).collect();
        let unasked = summary.never_run.iter().any(|never| never.why.is_empty());
        let silent = if unasked { self.silent(since) } else { Vec::new() };
        Played { summary, timeline: self.timeline.take(), rows, silent }
    }

    /// Why slots do not ask, those together that have the same reason.
    fn silent(&mut self, since: u64) -> Vec<Silent> {
        self.now = self.begun.plus(Duration::from_micros(since));
        let mut all: Vec<Silent> = Vec::new();
        for host in 0..self.hosts.len() {
            if self.hosts[host].finished {
                continue;
            }
            // Everything is published as it is now.
            self.step(host, Event::Refresh);
            let it = &self.hosts[host];
            let mut slots: Vec<_> = it.slots.iter().filter(|(key, _)| key.sub == 0).collect();
            slots.sort_by_key(|(key, _)| **key);
            for (key, slot) in slots {
                let is_free = matches!(slot.pair.0, State::Owner | State::Unclaimed);
                let start = it.machine.asked(*key, "START").filter(|it| is_free && it.value == "false");
                let place = self.place(host, *key);
                let text = |start: &Option<Asked>| start.as_ref().map(|start| start.text.clone());
                let is_same = |other: &&mut Silent| {
                    other.pair == slot.pair
                        && text(&other.start) == text(&start)
                        && (other.place.slot_type, other.place.config) == (place.slot_type, place.config)
                };
                match all.iter_mut().find(is_same) {
                    Some(other) => other.slots += 1,
                    None => all.push(Silent { slots: 1, place, pair: slot.pair, start }),
                }
            }
        }
        all.sort_by_key(|silent| std::cmp::Reverse(silent.slots));
        all
    }

    /// What slots are in at the end counts up to it, and fetches that were not made count as if they were.
    fn end_stays(&mut self, since: u64) -> Capacity {
        let mut capacity = Capacity::default();
        for host in &mut self.hosts {
            self.counting.hooks[0].calls += host.machine.silent_fetches(self.begun, since);
            let mut slots: Vec<_> = host.slots.iter().collect();
            slots.sort_by_key(|(key, _)| **key);
            for (key, slot) in slots {
                self.counting.stay(&slot.type_name, slot.pair, since.saturating_sub(slot.since));
                if let Some(timeline) = &mut self.timeline {
                    timeline.stay(slot.row, slot.pair, slot.since, since);
                }
                if key.sub == 0 {
                    let whole = host.machine.whole_cpus(*key).unwrap_or(slot.cpus);
                    capacity.slots += 1;
                    capacity.cpus += whole;
                    capacity.time += whole * since as f64 / 1e6;
                }
            }
        }
        capacity
    }

    /// Jobs that run at the end have used what they have used; those that were accepted, and whose turn has not come, wait.
    fn end_runs(&mut self, since: u64) {
        for host in &mut self.hosts {
            // In the order of slots: a sum of fractions is another in another order.
            let mut all: Vec<&Running> = host.starters.values().collect();
            all.sort_by_key(|running| running.slot);
            for running in all {
                let stands = running.suspended.map_or(0, |(_, from)| since.saturating_sub(from));
                let ran = since.saturating_sub(running.began).saturating_sub(running.stopped + stands);
                self.counting.busy += ran as f64 / 1e6 * running.cpus;
                let kind = self.workload.kind(running.job.kind).clone();
                self.counting.each(&kind.owner, kind.group, |part| part.jobs.running += 1);
            }
            for job in host.accepted.values_mut().flat_map(std::mem::take) {
                self.queue.push(job.1);
            }
        }
    }

    /// Counts the jobs that wait; returns how many of each kind have never run.
    fn count_waiting(&mut self) -> BTreeMap<u32, u64> {
        let mut never: BTreeMap<u32, u64> = BTreeMap::new();
        for job in self.queue.jobs() {
            let kind = self.workload.kind(job.kind);
            self.counting.each(&kind.owner, kind.group, |part| {
                part.jobs.waiting += 1;
                part.jobs.never_run += u64::from(job.starts == 0);
            });
            if job.starts == 0 {
                *never.entry(job.kind).or_default() += 1;
            }
        }
        never
    }

    fn groups_told(&self) -> Vec<PartTold> {
        let mut groups: Vec<_> = self.counting.groups.iter().collect();
        groups.sort_by_key(|(group, _)| **group);
        groups.into_iter().map(|(group, part)| part.told(self.workload.group_name(*group))).collect()
    }

    fn never_run(&self, counts: &BTreeMap<u32, u64>) -> Vec<NeverRun> {
        let mut all: Vec<NeverRun> = counts
            .iter()
            .map(|(kind, count)| {
                let of = self.workload.kind(*kind);
                let mut reasons: Vec<(&String, &u64)> =
                    self.counting.refusals.get(kind).into_iter().flatten().collect();
                reasons.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
                NeverRun {
                    kind: *kind,
                    jobs: self.workload.group_name(of.group),
                    owner: of.owner.clone(),
                    count: *count,
                    why: reasons.into_iter().map(|(reason, _)| reason.clone()).collect(),
                }
            })
            .collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.count));
        all
    }
}

impl Counting {
    /// By owner, who has most jobs first.
    fn owners_told(&self) -> Vec<PartTold> {
        let mut owners: Vec<_> = self.owners.iter().map(|(name, part)| part.told(name.clone())).collect();
        owners.sort_by(|a, b| b.jobs.arrived.cmp(&a.jobs.arrived).then_with(|| a.name.cmp(&b.name)));
        owners
    }

    fn types_told(&self) -> Vec<TypeTold> {
        let seconds = |micros: u64| micros as f64 / 1e6;
        let told = |(name, count): (&String, &TypeCount)| TypeTold {
            name: name.clone(),
            slots: count.slots,
            seconds: count.times.values().copied().map(seconds).sum(),
            states: count.times.iter().map(|(pair, micros)| (pair_name(*pair), seconds(*micros))).collect(),
            preempted: count.preempted,
            suspended: count.suspended,
        };
        self.types.iter().map(told).collect()
    }

    fn transitions_told(&self) -> Vec<Transition> {
        let told = |((from, to), count): (&(Pair, Pair), &u64)| Transition {
            from: pair_name(*from),
            to: pair_name(*to),
            count: *count,
        };
        self.transitions.iter().map(told).collect()
    }
}
