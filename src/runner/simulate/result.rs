//! The end of a simulation: what was counted becomes a summary, what was seen a picture's rows.

use std::collections::BTreeMap;

use super::engine::Simulation;
use super::summary::{NeverRun, Summary, Transition, TypeTold, pair_name};
use super::timeline::Timeline;

/// What is left when it is over.
pub struct Played {
    /// In numbers.
    pub summary: Summary,
    /// For pictures, where one was asked for.
    pub timeline: Option<Timeline>,
    /// The names of its rows.
    pub rows: Vec<String>,
}

impl Simulation<'_> {
    /// Closes the books.
    pub fn finish(mut self) -> Played {
        let since = if self.finished.is_some() && self.hosts.iter().all(|host| host.finished) {
            self.since()
        } else {
            self.end
        };
        let mut capacity = 0.0;
        let (mut slots, mut cpus) = (0, 0.0);
        for host in &mut self.hosts {
            self.counting.hooks[0].calls += host.machine.silent_fetches(self.begun, since);
            for (key, slot) in &host.slots {
                let stayed = since.saturating_sub(slot.since);
                self.counting.stay(&slot.type_name, slot.pair, stayed);
                if let Some(timeline) = &mut self.timeline {
                    timeline.stay(slot.row, slot.pair, slot.since, since);
                }
                if key.sub == 0 {
                    slots += 1;
                    let whole = host.machine.whole_cpus(*key).unwrap_or(slot.cpus);
                    cpus += whole;
                    capacity += whole * since as f64 / 1e6;
                }
            }
            for running in host.starters.values() {
                let stopped =
                    running.stopped + running.suspended.map_or(0, |(_, from)| since.saturating_sub(from));
                let ran = since.saturating_sub(running.began).saturating_sub(stopped);
                self.counting.busy += ran as f64 / 1e6 * running.cpus;
                let kind = self.workload.kind(running.job.kind).clone();
                self.counting.each(&kind.owner, kind.group, |part| part.jobs.running += 1);
            }
            // Accepted, but its turn has not come.
            for job in host.accepted.values_mut().flat_map(std::mem::take) {
                self.queue.push(job.1);
            }
        }
        // Those that a hook had in hand are with the queue still.
        let nothing = &mut self.counting.hooks[0];
        nothing.nothing =
            nothing.calls.saturating_sub(nothing.accepted + nothing.rejected + nothing.bad + nothing.failed);
        let mut never: BTreeMap<u32, u64> = BTreeMap::new();
        let waiting: Vec<(u32, u32)> = self.queue.jobs().map(|job| (job.kind, job.starts)).collect();
        for (kind, starts) in waiting {
            let kind_of = self.workload.kind(kind).clone();
            self.counting.each(&kind_of.owner, kind_of.group, |part| {
                part.jobs.waiting += 1;
                part.jobs.never_run += u64::from(starts == 0);
            });
            if starts == 0 {
                *never.entry(kind).or_default() += 1;
            }
        }
        let never_run = self.never_run(&never);
        let counting = &self.counting;
        let mut owners: Vec<_> = counting.owners.iter().map(|(name, part)| part.told(name.clone())).collect();
        owners.sort_by(|a, b| b.jobs.arrived.cmp(&a.jobs.arrived).then_with(|| a.name.cmp(&b.name)));
        let mut groups: Vec<_> = counting.groups.iter().collect();
        groups.sort_by_key(|(group, _)| **group);
        let groups =
            groups.into_iter().map(|(group, part)| part.told(self.workload.group_name(*group))).collect();
        let slot_types = counting
            .types
            .iter()
            .map(|(name, count)| TypeTold {
                name: name.clone(),
                slots: count.slots,
                seconds: count.times.values().map(|micros| *micros as f64 / 1e6).sum(),
                states: count
                    .times
                    .iter()
                    .map(|(pair, micros)| (pair_name(*pair), *micros as f64 / 1e6))
                    .collect(),
                preempted: count.preempted,
                suspended: count.suspended,
            })
            .collect();
        let transitions = counting
            .transitions
            .iter()
            .map(|((from, to), count)| Transition {
                from: pair_name(*from),
                to: pair_name(*to),
                count: *count,
            })
            .collect();
        let of_all = |part: f64| if capacity > 0.0 { part / capacity } else { 0.0 };
        let summary = Summary {
            start: self.plan.start,
            length: since as f64 / 1e6,
            seed: self.scenario.seed,
            machines: self.hosts.len() as u64,
            slots,
            cpus,
            utilisation: of_all(counting.busy),
            goodput: of_all(counting.all.goodput),
            badput: counting.causes.clone(),
            jobs: counting.all.jobs,
            waits: counting.all.waits.told(),
            owners,
            groups,
            slot_types,
            hooks: counting.hooks.to_vec(),
            never_run,
            transitions,
            ended: self.finished.clone().filter(|_| self.hosts.iter().all(|host| host.finished)),
            warnings: counting.warnings.clone(),
        };
        let rows = self.row_names.iter().map(|(_, name)| name.clone()).collect();
        Played { summary, timeline: self.timeline.take(), rows }
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
