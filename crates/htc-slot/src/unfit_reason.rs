//! Reasons why a slot refuses a job.

use super::evaluated_condition::{EvaluatedCondition, untrue_conditions};
use super::execution_point_state::ExecutionPointState;
use super::fetch_verdict::refusal_reason;
use super::slot::Slot;
use htc_base::world::{FrozenClockWorld, World};
use htc_classad::{ClassAd, Context};

/// Reason why a slot refuses a job.
#[derive(Clone, Debug, PartialEq)]
pub struct UnfitReason {
    /// Text of the reason, in one line.
    pub reason: String,
    /// Conditions of Requirements that are not true; empty if the slot refuses the job for another reason.
    pub untrue_conditions: Vec<EvaluatedCondition>,
}

impl From<String> for UnfitReason {
    fn from(reason: String) -> Self {
        UnfitReason { reason, untrue_conditions: Vec::new() }
    }
}

impl UnfitReason {
    /// Returns the reason why Requirements of the slot ad are not true for the job.
    pub(super) fn from_requirements(slot: &ClassAd, job: &ClassAd, world: &dyn World) -> Self {
        let context = Context::new(world).my(slot).target(job);
        UnfitReason {
            reason: refusal_reason(slot, job, world),
            untrue_conditions: untrue_conditions(slot, &context),
        }
    }

    /// Returns the reason with `words` before it.
    pub(super) fn with_prefix(self, words: &str) -> Self {
        UnfitReason { reason: format!("{words}: {}", self.reason), ..self }
    }
}

impl Slot {
    /// Returns the reason why the slot's Requirements are not true for the job.
    pub(super) fn unfit_reason(&self, core: &ExecutionPointState, job: &ClassAd) -> UnfitReason {
        let world = FrozenClockWorld { world: &*core.world, now: core.now };
        let unfit = UnfitReason::from_requirements(&self.ads.live, job, &world);
        match &self.broken {
            Some(_) => UnfitReason { reason: self.unfit_text(&world, job), ..unfit },
            None => unfit,
        }
    }

    /// Returns in one line why the slot's Requirements are not true for the job.
    pub(super) fn unfit_text(&self, world: &dyn World, job: &ClassAd) -> String {
        match &self.broken {
            Some(broken) => format!("the slot is broken: {}", broken.reason),
            None => refusal_reason(&self.ads.live, job, world),
        }
    }
}
