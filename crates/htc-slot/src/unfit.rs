//! Why a slot does not take a job: in one line, and as the conditions that are not true.

use super::clause::{Clause, untrue};
use super::core::Core;
use super::fetch_verdict::why_refused;
use super::single::Slot;
use htc_base::world::{Frozen, World};
use htc_classad::{ClassAd, Context};

/// Why a slot does not take a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfit {
    /// In one line.
    pub reason: String,
    /// The conditions that are not true, where it is they.
    pub clauses: Vec<Clause>,
}

impl From<String> for Unfit {
    fn from(reason: String) -> Self {
        Unfit { reason, clauses: Vec::new() }
    }
}

impl Unfit {
    /// Requirements of this ad are not true for the job.
    pub(super) fn of(slot: &ClassAd, job: &ClassAd, world: &dyn World) -> Self {
        let context = Context::new(world).my(slot).target(job);
        Unfit { reason: why_refused(slot, job, world), clauses: untrue(slot, &context) }
    }

    /// The same, said after something else.
    pub(super) fn after(self, words: &str) -> Self {
        Unfit { reason: format!("{words}: {}", self.reason), ..self }
    }
}

impl Slot {
    /// Why Requirements are not true for the job.
    pub(super) fn unfit_for(&self, core: &Core, job: &ClassAd) -> Unfit {
        let world = Frozen { world: &*core.world, now: core.now };
        let unfit = Unfit::of(&self.live, job, &world);
        match &self.broken {
            Some(_) => Unfit { reason: self.in_one_line(&world, job), ..unfit },
            None => unfit,
        }
    }

    /// The same in one line.
    pub(super) fn in_one_line(&self, world: &dyn World, job: &ClassAd) -> String {
        match &self.broken {
            Some(broken) => format!("the slot is broken: {}", broken.reason),
            None => why_refused(&self.live, job, world),
        }
    }
}
