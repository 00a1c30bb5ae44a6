//! Slots, as the analysis sees them: their ads, and how they decide on jobs.

use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use std::borrow::Cow;
use std::collections::BTreeSet;

use htc_classad::{ClassAd, Context, Expr, MatchAd};
use htc_slot::{
    EvaluatedCondition, add_default_requests, check_slot_ad_devices, is_claimed_by_ad, refusal_by_claim,
};

use super::clauses::{ClauseSide, JobCondition, clause_context};
use super::side_names::SideNames;

/// Refusal by a condition that is not a clause of Requirements: devices, rounded requests, a broken slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherRefusal {
    /// Attribute that contains the condition, or empty.
    pub attribute: String,
    /// Text of the condition.
    pub text: String,
    /// Sentence that says why the slot refuses the job.
    pub sentence: String,
}

impl OtherRefusal {
    /// Creates a refusal from its reason and the conditions that are not true.
    pub fn new(reason: String, conditions: Vec<EvaluatedCondition>) -> Self {
        let sentence = reason;
        match conditions.into_iter().next() {
            Some(condition) => {
                OtherRefusal { attribute: condition.attribute, text: condition.text, sentence }
            }
            None => OtherRefusal { attribute: String::new(), text: sentence.clone(), sentence },
        }
    }

    /// Returns the side whose ad contains the condition.
    pub(super) fn side(&self) -> ClauseSide {
        if self.attribute.starts_with("Require") { ClauseSide::Job } else { ClauseSide::Slot }
    }
}

/// Slots that accept or refuse jobs.
///
/// A slot accepts a job if its Requirements are true, the job's Requirements are true (for slots that check them), and
/// there is no other refusal.
pub trait SlotSet {
    /// Returns the number of slots.
    fn len(&self) -> usize;

    /// True if there are no slots.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name of a slot.
    fn name(&self, slot: usize) -> &str;

    /// Returns the ad in which a slot's conditions are evaluated.
    fn ad(&self, slot: usize) -> &ClassAd;

    /// Returns the world of all evaluations.
    fn world(&self) -> &dyn World;

    /// Returns the words for the two sides.
    fn side_names(&self) -> SideNames {
        SideNames::SLOTS
    }

    /// Returns the context in which a condition of a side is evaluated.
    fn context<'c>(&'c self, side: ClauseSide, slot: &'c ClassAd, job: &'c ClassAd) -> Context<'c> {
        self.context_in(self.world(), side, slot, job)
    }

    /// Returns the context in which a condition of a side is evaluated in another world, such as at another time.
    fn context_in<'c>(
        &'c self,
        world: &'c dyn World,
        side: ClauseSide,
        slot: &'c ClassAd,
        job: &'c ClassAd,
    ) -> Context<'c> {
        clause_context(Context::new(world), side, slot, job)
    }

    /// Returns the side whose own attributes a condition of `side` reads without a scope.
    fn reading_side(&self, side: ClauseSide) -> ClauseSide {
        side
    }

    /// Returns a number; slots with different numbers are never in one group.
    fn group_number(&self, _slot: usize) -> u64 {
        0
    }

    /// True if a job without RequestCpus, RequestMemory or RequestDisk gets 1 of each before it is compared.
    fn adds_default_requests(&self, _slot: usize) -> bool {
        false
    }

    /// True if the job's Requirements must be true. The startd does not evaluate them for fetched jobs; the negotiator
    /// does.
    fn checks_job_requirements(&self, _slot: usize) -> bool {
        true
    }

    /// Returns the conditions that apply to all jobs instead of their Requirements, or `None`.
    fn job_conditions(&self) -> Option<&[JobCondition]> {
        None
    }

    /// True if an ad without Requirements matches nothing, as in a match of two ads.
    fn needs_requirements(&self) -> bool {
        false
    }

    /// Returns expressions that are evaluated in addition to those of the ads.
    fn hidden_expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    /// True if [`SlotSet::refusal_beyond_requirements`] may return a refusal for this job.
    fn has_other_conditions(&self, _slot: usize, _job: &ClassAd) -> bool {
        false
    }

    /// Returns the refusal of a job for which all Requirements are true, or `None` if the slot accepts it.
    fn refusal_beyond_requirements(&self, _slot: usize, _job: &ClassAd) -> Option<OtherRefusal> {
        None
    }

    /// Returns a refusal for which Requirements do not matter, such as that of a held job or by a claimed slot, or
    /// `None`. It also applies if Requirements are not true.
    fn refusal_despite_requirements(&self, _slot: usize, _job: &ClassAd) -> Option<OtherRefusal> {
        None
    }

    /// Returns the place where a configuration sets an attribute of a slot, or an empty string.
    fn setting_place(&self, _slot: usize, _attribute: &str) -> String {
        String::new()
    }

    /// Returns the place where a configuration sets a macro that has the name of an attribute and is not published in
    /// the slot's ad, or `None`.
    fn unpublished_place(&self, _slot: usize, _attribute: &str) -> Option<String> {
        None
    }

    /// Decides if a slot accepts a job, by evaluating everything for this pair.
    fn accepts(&self, slot: usize, job: &ClassAd) -> bool {
        let ad = self.ad(slot);
        if self.needs_requirements() {
            return MatchAd::new(self.world(), ad, job).symmetric();
        }
        let job_for_slot = match self.adds_default_requests(slot) {
            true => {
                let mut with_defaults = job.clone();
                add_default_requests(&mut with_defaults);
                Cow::Owned(with_defaults)
            }
            false => Cow::Borrowed(job),
        };
        let holds = |side, job| self.context(side, ad, job).boolean("Requirements") == Some(true);
        holds(ClauseSide::Slot, &job_for_slot)
            && (!self.checks_job_requirements(slot)
                || !job.contains("Requirements")
                || holds(ClauseSide::Job, job))
            && !(self.has_other_conditions(slot, &job_for_slot)
                && self.refusal_beyond_requirements(slot, &job_for_slot).is_some())
    }
}

/// Slots of a pool, of which only the ads are known.
pub struct AdPool<'a> {
    slots: Cow<'a, [(String, ClassAd)]>,
    world: &'a dyn World,
    quirks: QuirkMode,
    is_symmetric: bool,
    /// Indexes of the slots that call FETCH_WORK.
    fetching: BTreeSet<usize>,
    /// True if at least one slot is claimed and claims are considered.
    has_claims: bool,
    side_names: SideNames,
}

impl<'a> AdPool<'a> {
    /// Creates the pool from names and ads.
    pub fn new(slots: Vec<(String, ClassAd)>, world: &'a dyn World) -> Self {
        AdPool::of(Cow::Owned(slots), world)
    }

    /// Creates the pool from names and ads that are kept elsewhere.
    pub fn from_borrowed(slots: &'a [(String, ClassAd)], world: &'a dyn World) -> Self {
        AdPool::of(Cow::Borrowed(slots), world)
    }

    fn of(slots: Cow<'a, [(String, ClassAd)]>, world: &'a dyn World) -> Self {
        AdPool {
            slots,
            world,
            quirks: QuirkMode::Manual,
            is_symmetric: false,
            fetching: BTreeSet::new(),
            has_claims: false,
            side_names: SideNames::SLOTS,
        }
    }

    /// Makes claimed slots refuse jobs that they do not prefer to the job that they run.
    #[must_use]
    pub fn with_claims(self) -> Self {
        let has_claims = self.slots.iter().any(|(_, ad)| is_claimed_by_ad(ad, self.world));
        AdPool { has_claims, ..self }
    }

    /// Sets the slots that call FETCH_WORK: they do not check the Requirements of jobs.
    #[must_use]
    pub fn with_fetching_slots(self, fetching: BTreeSet<usize>) -> Self {
        AdPool { fetching, ..self }
    }

    /// Sets the words for the two sides.
    #[must_use]
    pub fn with_side_names(self, side_names: SideNames) -> Self {
        AdPool { side_names, ..self }
    }

    /// Sets which documented differences between 25.14 and its manual are reproduced.
    #[must_use]
    pub fn quirks(self, quirks: QuirkMode) -> Self {
        AdPool { quirks, ..self }
    }
}

impl AdPool<'_> {
    /// Makes the match symmetric: both ads must have Requirements that are true, and devices are not compared.
    #[must_use]
    pub fn symmetric(self) -> Self {
        AdPool { is_symmetric: true, ..self }
    }
}

impl SlotSet for AdPool<'_> {
    fn len(&self) -> usize {
        self.slots.len()
    }

    fn name(&self, slot: usize) -> &str {
        &self.slots[slot].0
    }

    fn ad(&self, slot: usize) -> &ClassAd {
        &self.slots[slot].1
    }

    fn world(&self) -> &dyn World {
        self.world
    }

    fn side_names(&self) -> SideNames {
        self.side_names
    }

    fn group_number(&self, slot: usize) -> u64 {
        u64::from(self.fetching.contains(&slot))
    }

    fn checks_job_requirements(&self, slot: usize) -> bool {
        !self.fetching.contains(&slot)
    }

    fn hidden_expressions(&self) -> Vec<Expr> {
        let names: &[&str] = if self.has_claims { &CLAIM_ATTRIBUTES } else { &[] };
        names.iter().map(|name| Expr::attribute(name.as_bytes())).collect()
    }

    fn has_other_conditions(&self, slot: usize, job: &ClassAd) -> bool {
        !self.is_symmetric && requires_devices(job)
            || self.has_claims && is_claimed_by_ad(self.ad(slot), self.world)
    }

    fn needs_requirements(&self) -> bool {
        self.is_symmetric
    }

    fn refusal_beyond_requirements(&self, slot: usize, job: &ClassAd) -> Option<OtherRefusal> {
        let ad = self.ad(slot);
        let by_devices = || match self.is_symmetric {
            true => None,
            false => check_slot_ad_devices(ad, job, self.world, self.quirks).err(),
        };
        match by_devices() {
            Some(refusal) => Some(OtherRefusal::new(refusal.reason, refusal.untrue_conditions)),
            None => self.refusal_despite_requirements(slot, job),
        }
    }

    fn refusal_despite_requirements(&self, slot: usize, job: &ClassAd) -> Option<OtherRefusal> {
        let refusal = self.has_claims.then(|| refusal_by_claim(self.ad(slot), job, self.world)).flatten()?;
        Some(OtherRefusal::new(refusal.reason, refusal.untrue_conditions))
    }
}

/// Attributes that decide whether a claimed slot leaves its job for another.
const CLAIM_ATTRIBUTES: [&str; 4] = ["State", "PartitionableSlot", "CurrentRank", "Rank"];

/// True if a job constrains devices: it has an attribute such as RequireGPUs.
pub fn requires_devices(job: &ClassAd) -> bool {
    job.names().any(|name| {
        name.len() > 7
            && name[..7].eq_ignore_ascii_case(b"Require")
            && !name.eq_ignore_ascii_case(b"Requirements")
    })
}
