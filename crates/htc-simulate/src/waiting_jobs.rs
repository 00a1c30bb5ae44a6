//! Queue of the waiting jobs, from which FETCH_WORK takes jobs in order. It skips jobs that are equivalent to a job
//! that the slot has just refused.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::scenario::{FetchOrder, QueueRules, ReturnPolicy};
use super::workload::Job;

/// Position of a job in the queue; the job with the smallest position is fetched first.
pub(super) type QueuePosition = (i64, i64);

/// Jobs that are waiting to be fetched.
pub(super) struct WaitingJobs {
    rules: QueueRules,
    /// Jobs by the set of equivalent jobs that they belong to, and by position.
    waiting: FxHashMap<u64, BTreeMap<QueuePosition, Job>>,
    /// First position of each set of equivalent jobs.
    heads: BTreeMap<QueuePosition, u64>,
    last: i64,
    length: usize,
}

/// Sets of equivalent jobs that a slot has refused, each with the time in microseconds until which the slot is not
/// offered another job of the set. The set that was refused last is kept even after that time, because the time may
/// pass before the next fetch: jobs of other sets are then offered first, so that they are not blocked.
#[derive(Clone, Debug, Default)]
pub(super) struct RefusedJobs(FxHashMap<u64, u64>, Option<u64>);

impl RefusedJobs {
    /// Forgets the refusals, because the slot has changed or may have changed.
    pub(super) fn forget(&mut self) {
        self.0.clear();
        self.1 = None;
    }
}

impl WaitingJobs {
    /// Creates an empty queue.
    pub(super) fn new(rules: QueueRules) -> Self {
        WaitingJobs { rules, waiting: FxHashMap::default(), heads: BTreeMap::new(), last: 0, length: 0 }
    }

    /// Returns true if no job is waiting.
    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn priority(&self, job: &Job) -> i64 {
        match self.rules.order {
            FetchOrder::Fifo => 0,
            FetchOrder::Priority => -i64::from(job.priority),
        }
    }

    /// Adds a job that has arrived.
    pub(super) fn push(&mut self, job: Job) {
        self.last += 1;
        self.insert((self.priority(&job), self.last), job);
    }

    fn insert(&mut self, place: QueuePosition, job: Job) {
        let likeness = job.likeness;
        let jobs = self.waiting.entry(likeness).or_default();
        let before = jobs.first_key_value().map(|(place, _)| *place);
        jobs.insert(place, job);
        self.length += 1;
        if before.is_none_or(|before| place < before) {
            if let Some(before) = before {
                self.heads.remove(&before);
            }
            self.heads.insert(place, likeness);
        }
    }

    /// Takes the first job that the slot can be offered at this time, and returns it with its position.
    pub(super) fn take_for_slot(
        &mut self,
        refused: &mut RefusedJobs,
        now: u64,
    ) -> Option<(QueuePosition, Job)> {
        refused.0.retain(|_, until| *until > now);
        let is_open = |(_, likeness): &(&QueuePosition, &u64)| !refused.0.contains_key(*likeness);
        let last = refused.1.take();
        let other = self.heads.iter().filter(is_open).find(|(_, likeness)| last != Some(**likeness));
        let found = other.or_else(|| self.heads.iter().find(is_open));
        let (place, likeness) = found.map(|(place, likeness)| (*place, *likeness))?;
        let jobs = self.waiting.get_mut(&likeness)?;
        let job = jobs.remove(&place)?;
        self.heads.remove(&place);
        match jobs.first_key_value() {
            Some((next, _)) => {
                self.heads.insert(*next, likeness);
            }
            None => {
                self.waiting.remove(&likeness);
            }
        }
        self.length -= 1;
        Some((place, job))
    }

    /// Puts a refused job back into the queue. The slot would refuse it again before the time `refused_until`.
    /// Returns the job if the rules of the queue drop it.
    pub(super) fn refuse(
        &mut self,
        place: QueuePosition,
        job: Job,
        refused: &mut RefusedJobs,
        now: u64,
        refused_until: u64,
    ) -> Option<Job> {
        let retry = (self.rules.retry.0 * 1e6) as u64;
        let usual = now.saturating_add(retry);
        let until = usual.min(refused_until);
        refused.1 = (until < usual).then_some(job.likeness);
        if until > now {
            refused.0.insert(job.likeness, until);
        }
        self.return_job(self.rules.refused, Some(place), job)
    }

    /// Puts an evicted job back into the queue. Returns the job if the rules of the queue drop it.
    pub(super) fn return_evicted(&mut self, job: Job) -> Option<Job> {
        self.return_job(self.rules.evicted, None, job)
    }

    fn return_job(&mut self, rule: ReturnPolicy, place: Option<QueuePosition>, job: Job) -> Option<Job> {
        match rule {
            ReturnPolicy::Drop => return Some(job),
            ReturnPolicy::Front => {
                // A job without an old position is put before all other jobs with the same priority; such jobs are
                // ordered by arrival.
                let first = (self.priority(&job), -i64::from(u32::MAX) + i64::from(job.number));
                self.insert(place.unwrap_or(first), job);
            }
            ReturnPolicy::Back => self.push(job),
        }
        None
    }

    /// Returns all jobs that are waiting.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.waiting.values().flat_map(BTreeMap::values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times::TimeSpan;

    fn job(number: u32, likeness: u64, priority: i32) -> Job {
        Job {
            number,
            kind: 0,
            likeness,
            in_group: number,
            id: (1, 0),
            arrives: 0,
            runs: 0,
            leaves: 0,
            exit: 0,
            priority,
            starts: 0,
        }
    }

    #[test]
    fn a_refused_job_keeps_its_place_and_similar_jobs_are_not_offered() {
        let rules = QueueRules { retry: TimeSpan(10.0), ..QueueRules::default() };
        let mut queue = WaitingJobs::new(rules);
        [job(0, 0, 0), job(1, 0, 0), job(2, 1, 0)].into_iter().for_each(|job| queue.push(job));
        let (mut one, mut other) = (RefusedJobs::default(), RefusedJobs::default());
        let first = queue.take_for_slot(&mut one, 0).unwrap();
        assert_eq!(first.1.number, 0);
        assert_eq!(queue.refuse(first.0, first.1, &mut one, 0, u64::MAX), None);
        assert_eq!(queue.take_for_slot(&mut one, 1).map(|(_, job)| job.number), Some(2));
        assert_eq!(queue.take_for_slot(&mut one, 1), None);
        assert_eq!(queue.take_for_slot(&mut other, 1).map(|(_, job)| job.number), Some(0));
        // The retry time of the refused jobs has passed.
        assert_eq!(queue.take_for_slot(&mut one, 10_000_001).map(|(_, job)| job.number), Some(1));
        assert!(queue.is_empty());
    }

    #[test]
    fn a_job_that_may_be_accepted_later_is_offered_again_then() {
        let mut queue = WaitingJobs::new(QueueRules::default());
        queue.push(job(0, 0, 0));
        let mut refused = RefusedJobs::default();
        let first = queue.take_for_slot(&mut refused, 0).unwrap();
        queue.refuse(first.0, first.1, &mut refused, 0, 5_000_000);
        assert_eq!(queue.take_for_slot(&mut refused, 4_999_999), None);
        assert_eq!(queue.take_for_slot(&mut refused, 5_000_000).map(|(_, job)| job.number), Some(0));
    }

    #[test]
    fn a_job_to_be_offered_later_does_not_block_others() {
        let mut queue = WaitingJobs::new(QueueRules::default());
        [job(0, 0, 0), job(1, 1, 0)].into_iter().for_each(|job| queue.push(job));
        let mut refused = RefusedJobs::default();
        for (at, expected) in [(0, 0), (300, 1), (600, 0)] {
            let found = queue.take_for_slot(&mut refused, at * 1_000_000).unwrap();
            assert_eq!(found.1.number, expected);
            queue.refuse(found.0, found.1, &mut refused, at * 1_000_000, (at + 1) * 1_000_000);
        }
    }

    #[test]
    fn jobs_with_higher_priority_come_first_if_priorities_apply() {
        for (order, first) in [(FetchOrder::Fifo, 0), (FetchOrder::Priority, 1)] {
            let mut queue = WaitingJobs::new(QueueRules { order, ..QueueRules::default() });
            queue.push(job(0, 0, 0));
            queue.push(job(1, 0, 9));
            assert_eq!(
                queue.take_for_slot(&mut RefusedJobs::default(), 0).map(|(_, job)| job.number),
                Some(first)
            );
        }
    }
}
