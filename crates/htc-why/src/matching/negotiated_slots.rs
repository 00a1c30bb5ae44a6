//! Slots that get their jobs from a negotiator, which leaves out held jobs and those of some universes.

use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr};
use htc_slot::{JOB_STATE_ATTRIBUTES, refusal_by_job_state};

use super::clauses::{ClauseSide, JobCondition};
use super::side_names::SideNames;
use super::slot_set::{OtherRefusal, SlotSet};

/// Wrapper of a set of slots that also refuses jobs that no negotiator offers, except in slots that call
/// FETCH_WORK.
pub struct NegotiatedSlots<S>(S);

impl<S: SlotSet> NegotiatedSlots<S> {
    /// Lets a negotiator choose the jobs for these slots.
    pub fn new(slots: S) -> Self {
        NegotiatedSlots(slots)
    }

    fn state_refusal(&self, slot: usize, job: &ClassAd) -> Option<OtherRefusal> {
        if !self.0.checks_job_requirements(slot) {
            return None;
        }
        let refusal = refusal_by_job_state(job, self.0.world())?;
        Some(OtherRefusal::new(refusal.reason, refusal.untrue_conditions))
    }
}

impl<S: SlotSet> SlotSet for NegotiatedSlots<S> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn name(&self, slot: usize) -> &str {
        self.0.name(slot)
    }

    fn ad(&self, slot: usize) -> &ClassAd {
        self.0.ad(slot)
    }

    fn world(&self) -> &dyn World {
        self.0.world()
    }

    fn side_names(&self) -> SideNames {
        self.0.side_names()
    }

    fn context_in<'c>(
        &'c self,
        world: &'c dyn World,
        side: ClauseSide,
        slot: &'c ClassAd,
        job: &'c ClassAd,
    ) -> Context<'c> {
        self.0.context_in(world, side, slot, job)
    }

    fn reading_side(&self, side: ClauseSide) -> ClauseSide {
        self.0.reading_side(side)
    }

    fn group_number(&self, slot: usize) -> u64 {
        self.0.group_number(slot)
    }

    fn adds_default_requests(&self, slot: usize) -> bool {
        self.0.adds_default_requests(slot)
    }

    fn checks_job_requirements(&self, slot: usize) -> bool {
        self.0.checks_job_requirements(slot)
    }

    fn job_conditions(&self) -> Option<&[JobCondition]> {
        self.0.job_conditions()
    }

    fn needs_requirements(&self) -> bool {
        self.0.needs_requirements()
    }

    fn hidden_expressions(&self) -> Vec<Expr> {
        let mut found = self.0.hidden_expressions();
        found.extend(JOB_STATE_ATTRIBUTES.iter().map(|name| Expr::attribute(name.as_bytes())));
        found
    }

    fn has_other_conditions(&self, slot: usize, job: &ClassAd) -> bool {
        self.0.has_other_conditions(slot, job) || self.state_refusal(slot, job).is_some()
    }

    fn refusal_beyond_requirements(&self, slot: usize, job: &ClassAd) -> Option<OtherRefusal> {
        let slot_refusal = || {
            if self.0.has_other_conditions(slot, job) {
                self.0.refusal_beyond_requirements(slot, job)
            } else {
                None
            }
        };
        self.state_refusal(slot, job).or_else(slot_refusal)
    }

    fn refusal_despite_requirements(&self, slot: usize, job: &ClassAd) -> Option<OtherRefusal> {
        self.state_refusal(slot, job).or_else(|| self.0.refusal_despite_requirements(slot, job))
    }

    fn setting_place(&self, slot: usize, attribute: &str) -> String {
        self.0.setting_place(slot, attribute)
    }

    fn unpublished_place(&self, slot: usize, attribute: &str) -> Option<String> {
        self.0.unpublished_place(slot, attribute)
    }
}
