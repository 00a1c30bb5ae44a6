//! Explanation of jobs that no machine of a simulation would ever accept: the reason, and what to change.

use htc_classad::ClassAd;
use htc_slot::{ExecutionPoint, StartdEvent};
use htc_why::matching::{Analysis, JobGroupExplanation, JobGrouper, MachineSlots};

use super::Simulation;

impl Simulation<'_> {
    /// Explains the jobs that no slot would accept at the start, when no other jobs are running. The result has
    /// `None` for a job that some slot would accept.
    pub(super) fn explain_refused_jobs(&self, jobs: &[ClassAd]) -> Vec<Option<JobGroupExplanation>> {
        let machines: Vec<(ExecutionPoint, usize)> = self
            .plan
            .machines
            .iter()
            .map(|plan| {
                let mut machine =
                    ExecutionPoint::new(plan.settings.clone(), self.world.clone(), self.started_at);
                machine.step(self.started_at, StartdEvent::Start);
                (machine, plan.count as usize)
            })
            .collect();
        let Some((first, _)) = machines.first() else { return vec![None; jobs.len()] };
        let mut slots = Vec::new();
        for (machine, count) in &machines {
            let keys: Vec<_> = machine.slots().map(|(key, ..)| key).collect();
            (0..*count).for_each(|_| slots.extend(keys.iter().map(|key| (machine, *key))));
        }
        let fetches = vec![true; slots.len()];
        let slots = MachineSlots::of_machines(first, slots, &fetches);
        let explain = |job: &ClassAd| {
            let mut grouper = JobGrouper::new(&slots);
            grouper.add(String::new(), job.clone());
            Some(Analysis::new(&slots, grouper).explain_jobs(0)).filter(|found| found.accepting_slots == 0)
        };
        jobs.iter().map(explain).collect()
    }
}
