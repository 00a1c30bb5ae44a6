//! The end of a simulation: what was counted becomes a summary, what was seen a picture's rows.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::fate::Place;
use super::host::Running;
use super::simulation::Simulation;
use super::summary::{
    Counting, NeverRun, Pair, PartTold, Summary, Transition, TypeCount, TypeTold, pair_name,
};
use super::timeline::Timeline;
use super::workload::Job;
use htc_base::text::count::thousands;
use htc_classad::ClassAd;
use htc_slot::{Asked, Event, SlotKey, SlotKind, State};

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
    /// True if their machines sleep.
    pub asleep: bool,
}

/// What there was to be used, all slots together.
#[derive(Default)]
struct Capacity {
    slots: u64,
    cpus: f64,
    /// In processor seconds.
    time: f64,
}

/// Jobs of one kind that have never started.
struct Unstarted {
    count: u64,
    /// One of them.
    one: Job,
}

/// For so many kinds of jobs the slots are searched for those that are large enough.
const MOST_KINDS: usize = 1000;

/// How a refusal begins that is for a size.
const SIZES: &str = "WithinResourceLimits is not true";

/// Slots of one type on machines of one plan and configuration.
struct SlotGroup {
    /// The machine and the key of one of them.
    one: (usize, SlotKey),
    plan: usize,
    slot_type: u32,
    config: usize,
    type_name: Rc<str>,
    /// True if they are partitionable.
    divides: bool,
    slots: u64,
    /// How many run jobs at the end.
    busy: u64,
}

impl SlotGroup {
    fn is_large_enough(&self, simulation: &Simulation<'_>, job: &ClassAd) -> bool {
        let (host, key) = self.one;
        simulation.hosts[host].machine.lacks_for(key, job).is_none()
    }
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
        let (never, longest_unstarted) = self.count_waiting(since);
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
            longest_unstarted,
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
                let asleep = it.asleep.is_some();
                let is_same = |other: &&mut Silent| {
                    (other.pair, other.asleep) == (slot.pair, asleep)
                        && text(&other.start) == text(&start)
                        && (other.place.slot_type, other.place.config) == (place.slot_type, place.config)
                };
                match all.iter_mut().find(is_same) {
                    Some(other) => other.slots += 1,
                    None => all.push(Silent { slots: 1, place, pair: slot.pair, start, asleep }),
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

    /// Counts the jobs that wait; returns those of each kind that have never run, and the longest wait of these in seconds.
    fn count_waiting(&mut self, since: u64) -> (BTreeMap<u32, Unstarted>, f64) {
        let mut never: BTreeMap<u32, Unstarted> = BTreeMap::new();
        let mut longest = 0;
        for job in self.queue.jobs() {
            let kind = self.workload.kind(job.kind);
            self.counting.each(&kind.owner, kind.group, |part| {
                part.jobs.waiting += 1;
                part.jobs.never_run += u64::from(job.starts == 0);
            });
            if job.starts == 0 {
                longest = longest.max(since.saturating_sub(job.arrives));
                let known = never.entry(job.kind).or_insert_with(|| Unstarted { count: 0, one: job.clone() });
                known.count += 1;
            }
        }
        (never, longest as f64 / 1e6)
    }

    fn groups_told(&self) -> Vec<PartTold> {
        let mut groups: Vec<_> = self.counting.groups.iter().collect();
        groups.sort_by_key(|(group, _)| **group);
        groups.into_iter().map(|(group, part)| part.told(self.workload.group_name(*group))).collect()
    }

    fn never_run(&self, counts: &BTreeMap<u32, Unstarted>) -> Vec<NeverRun> {
        let types = self.slot_groups();
        let mut counts: Vec<_> = counts.iter().collect();
        counts.sort_by_key(|(_, unstarted)| std::cmp::Reverse(unstarted.count));
        let told = |(at, (kind, unstarted)): (usize, (&u32, &Unstarted))| {
            let of = self.workload.kind(*kind);
            let large: Vec<&SlotGroup> = match at < MOST_KINDS {
                true => {
                    let ad = self.workload.ad(&unstarted.one);
                    types.iter().filter(|group| group.is_large_enough(self, &ad)).collect()
                }
                false => Vec::new(),
            };
            NeverRun {
                kind: *kind,
                jobs: self.workload.group_name(of.group),
                owner: of.owner.clone(),
                count: unstarted.count,
                why: self.why_never(*kind, &large, &types),
                fits: large.iter().map(|group| (group.slot_type, group.config)).collect(),
            }
        };
        counts.into_iter().enumerate().map(told).collect()
    }

    /// What the slots said that are large enough; what all said if none is.
    fn why_never(&self, kind: u32, large: &[&SlotGroup], all: &[SlotGroup]) -> Vec<String> {
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for ((slot_type, reason), count) in self.counting.refusals.get(&kind).into_iter().flatten() {
            let is_meant = large.is_empty()
                || large.iter().any(|group| {
                    // What a partitionable slot lacks at the time is in use by its other jobs.
                    group.type_name == *slot_type && !(group.divides && reason.starts_with(SIZES))
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
                "{} of {} slots are large enough; {} of these run other jobs at the end",
                thousands(fit),
                thousands(slots),
                thousands(busy)
            ));
        }
        why
    }

    /// The slots that are not dynamic, those of one type and configuration together.
    fn slot_groups(&self) -> Vec<SlotGroup> {
        let mut groups: Vec<SlotGroup> = Vec::new();
        for (host, it) in self.hosts.iter().enumerate() {
            for (key, slot) in it.slots.iter().filter(|(key, _)| key.sub == 0) {
                let slot_type = it.machine.type_id(*key).unwrap_or(0);
                let divides = it.machine.kind(*key) == Some(SlotKind::Partitionable);
                let has_parts =
                    divides && it.slots.keys().any(|other| other.number == key.number && other.sub != 0);
                let busy = u64::from(has_parts || it.is_running(*key));
                let is_same = |group: &&mut SlotGroup| {
                    (group.plan, group.slot_type, group.config) == (it.plan, slot_type, it.config)
                };
                match groups.iter_mut().find(is_same) {
                    Some(group) => {
                        group.slots += 1;
                        group.busy += busy;
                    }
                    None => groups.push(SlotGroup {
                        one: (host, *key),
                        plan: it.plan,
                        slot_type,
                        config: it.config,
                        type_name: slot.type_name.clone(),
                        divides,
                        slots: 1,
                        busy,
                    }),
                }
            }
        }
        groups
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
