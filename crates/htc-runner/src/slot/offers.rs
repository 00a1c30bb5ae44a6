//! Decisions of slots on jobs given as ads, for the slots of a configuration or the slot ads of a pool; and how these
//! decisions differ under another configuration.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use htc_base::quirks::QuirkMode;
use htc_base::text::similar_names::nearest;
use htc_base::world::World;
use htc_classad::references::{self, AttrNames};
use htc_classad::{AttrName, ClassAd, Dialect};
use htc_config::Config;
use htc_slot::{
    EvaluatedCondition, ExecutionPoint, SlotKey, SlotVerdict, job_id, judge_job_by_ad, policy_parameter,
    refusal_by_claim, refusal_by_job, refusal_by_job_state,
};

/// Decision of one slot on one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlotDecision {
    /// Name of the slot that decides.
    pub slot: String,
    /// The job as `cluster.proc`.
    pub job: String,
    /// True if the slot would accept the job when free.
    pub accepted: bool,
    /// Reason, in one line.
    pub reason: String,
    /// The conditions that are not true and cause the rejection.
    pub details: Vec<UnmetCondition>,
}

/// Condition that is not true, with the place where it was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnmetCondition {
    /// The condition.
    #[serde(flatten)]
    pub clause: EvaluatedCondition,
    /// File and line, or empty if the slot is known only by its ad.
    pub place: String,
}

/// Slots whose decisions are requested.
pub enum CandidateSlots {
    /// Slots of a configuration.
    Configured {
        /// An idle execution point with the configuration.
        machine: Box<ExecutionPoint>,
        /// Keys of the slots.
        keys: Vec<SlotKey>,
        /// The configuration.
        config: Box<Config>,
        /// Numbers of the slots that call FETCH_WORK.
        fetching: BTreeSet<u32>,
        /// Text for the command line, shown as the place of a parameter that is set on the command line.
        commander: &'static str,
    },
    /// Slots known by their ads: those of a pool or of a running execution point.
    Ads(PoolSlots),
}

/// Slots known only by their ads.
#[derive(Clone, Debug)]
pub struct PoolSlots {
    /// Names and ads of the slots.
    pub ads: Vec<(String, ClassAd)>,
    /// Indexes in `ads` of the slots that call FETCH_WORK.
    pub fetching: BTreeSet<usize>,
    /// True if a claimed slot refuses a job that it does not rank higher than its current job.
    pub counts_claims: bool,
    /// Quirks of 25.14 that are reproduced.
    pub quirks: QuirkMode,
}

impl CandidateSlots {
    /// Returns the names of the slots.
    pub fn names(&self) -> Vec<String> {
        match self {
            CandidateSlots::Configured { machine, keys, .. } => {
                keys.iter().map(|key| machine.slot_id(*key).unwrap_or("?").to_owned()).collect()
            }
            CandidateSlots::Ads(pool) => pool.ads.iter().map(|(name, _)| name.clone()).collect(),
        }
    }

    /// Returns the dialect in which job ads are parsed, according to the configuration of the slots.
    pub fn dialect(&self) -> Dialect {
        let is_strict = matches!(self, CandidateSlots::Configured { config, .. } if config.is_strict());
        Dialect::new_syntax().strict(is_strict)
    }

    /// Returns the decision of each slot on a job, in the order of the slots. Slots that do not call FETCH_WORK get no job
    /// that is held or that needs no slot.
    pub fn consider(&self, job: &ClassAd, world: &dyn World) -> Vec<SlotDecision> {
        let id = job_id(job, world);
        let decide = |(at, slot): (usize, String)| {
            let SlotVerdict {
                accepted,
                mut reason,
                untrue_conditions: details,
                claim_unfit_reason: unfit_to_claim,
            } = self.negotiated_offer(at, job, world)?;
            if let Some(unfit) = unfit_to_claim {
                reason += &format!("; claiming it for the job is refused: {}", unfit.reason);
            }
            let placed = |clause: EvaluatedCondition| {
                let place = self.attribute_place(at, &clause.attribute, world);
                UnmetCondition { clause, place }
            };
            let details = details.into_iter().map(placed).collect();
            Some(SlotDecision { slot, job: id.clone(), accepted, reason, details })
        };
        self.names().into_iter().enumerate().filter_map(decide).collect()
    }

    /// Returns the verdict of the slot with index `at` on a job. A slot that does not call FETCH_WORK gets its jobs
    /// from a negotiator, which also evaluates the job's Requirements.
    fn offer(&self, at: usize, job: &ClassAd, world: &dyn World) -> Option<SlotVerdict> {
        let offer = self.slot_offer(at, job, world)?;
        if !offer.accepted || !self.counts_job_requirements(at) {
            return Some(self.verdict_with_claim(at, job, offer, world));
        }
        let refusal = match self {
            CandidateSlots::Configured { machine, keys, .. } => {
                refusal_by_job(machine.live_ad(keys[at])?, job, &machine.frozen_world())
            }
            CandidateSlots::Ads(pool) => refusal_by_job(&pool.ads[at].1, job, world),
        };
        Some(self.verdict_with_claim(at, job, refusal.unwrap_or(offer), world))
    }

    /// Returns a slot's verdict on a job from an access point. An access point offers no held jobs.
    fn negotiated_offer(&self, at: usize, job: &ClassAd, world: &dyn World) -> Option<SlotVerdict> {
        let offer = self.offer(at, job, world)?;
        match refusal_by_job_state(job, world) {
            Some(unfit) if offer.accepted && self.counts_job_requirements(at) => Some(unfit.into()),
            _ => Some(offer),
        }
    }

    /// Returns a refusal if the slot would keep its current job, or else the given verdict.
    fn verdict_with_claim(
        &self,
        at: usize,
        job: &ClassAd,
        verdict: SlotVerdict,
        world: &dyn World,
    ) -> SlotVerdict {
        match self {
            CandidateSlots::Ads(pool) if pool.counts_claims && verdict.accepted => {
                refusal_by_claim(&pool.ads[at].1, job, world).map_or(verdict, SlotVerdict::from)
            }
            _ => verdict,
        }
    }

    /// Returns the verdict of the slot with index `at` on a job, ignoring the job's Requirements.
    pub fn slot_offer(&self, at: usize, job: &ClassAd, world: &dyn World) -> Option<SlotVerdict> {
        match self {
            CandidateSlots::Configured { machine, keys, fetching, .. } => {
                let offer = machine.judge_job(keys[at], job)?;
                Some(if fetching.contains(&keys[at].number) { offer } else { offer.into_claim_verdict() })
            }
            CandidateSlots::Ads(pool) => Some(judge_job_by_ad(&pool.ads[at].1, job, world, pool.quirks)),
        }
    }

    /// Returns true if the slot evaluates the Requirements of jobs, because it does not call FETCH_WORK.
    pub fn counts_job_requirements(&self, at: usize) -> bool {
        match self {
            CandidateSlots::Configured { keys, fetching, .. } => !fetching.contains(&keys[at].number),
            CandidateSlots::Ads(pool) => !pool.fetching.contains(&at),
        }
    }

    /// Returns the file and line where an attribute of a slot was set.
    pub fn attribute_place(&self, at: usize, attribute: &str, world: &dyn World) -> String {
        let CandidateSlots::Configured { machine, keys, config, commander, .. } = self else {
            return String::new();
        };
        let type_id = machine.slot_type_id(keys[at]).unwrap_or(0);
        let parameter = policy_parameter::parameter_for_attribute(attribute);
        policy_parameter::parameter_origin(config, world, type_id, parameter, &|_, _| (*commander).to_owned())
    }

    /// Returns the file and line of a parameter with the name of an attribute that is not published in the ad of a slot,
    /// or `None`.
    pub fn unpublished_place(&self, at: usize, attribute: &str, world: &dyn World) -> Option<String> {
        let CandidateSlots::Configured { machine, keys, config, .. } = self else { return None };
        let type_id = machine.slot_type_id(keys[at]).unwrap_or(0);
        policy_parameter::unpublished_parameter_origin(config, world, type_id, attribute)
    }
}

/// Names of attributes that slots define or refer to.
#[derive(Clone, Debug, Default)]
pub struct KnownAttributes(AttrNames);

impl KnownAttributes {
    /// Adds the names of the attributes of ads, and the names in their expressions.
    pub fn add_ads<'a>(&mut self, ads: impl IntoIterator<Item = &'a ClassAd>) {
        for (attribute, expr) in ads.into_iter().flat_map(ClassAd::iter) {
            self.0.insert(attribute.into());
            self.0.extend(references::all_names(&expr));
        }
    }

    /// Returns the names that are neither defined by a slot nor referred to in an expression of a slot or job, each
    /// with a similar known name, or `None` if no known name is similar.
    pub fn unreferenced_names<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
        jobs: &[ClassAd],
    ) -> Vec<(&'n str, Option<String>)> {
        let mut known = self.0.clone();
        for (_, expr) in jobs.iter().flat_map(ClassAd::iter) {
            known.extend(references::all_names(&expr));
        }
        let unknown = names.filter(|name| !known.contains(&AttrName::from(*name)));
        unknown.map(|name| (name, nearest_name(name, &known))).collect()
    }
}

/// Returns the known name that is most similar to `name`, or `None` if no known name is similar.
fn nearest_name(name: &str, known: &AttrNames) -> Option<String> {
    let known: Vec<String> =
        known.iter().map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned()).collect();
    let lower: Vec<String> = known.iter().map(|name| name.to_ascii_lowercase()).collect();
    let near = nearest(name.to_ascii_lowercase(), lower.iter().map(String::as_str))?;
    known.iter().find(|name| name.eq_ignore_ascii_case(near)).cloned()
}

/// Change of the set of jobs that one slot accepts, with the clauses that reject jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OfferChange {
    /// Name of the slot.
    pub slot: String,
    /// Number of jobs considered.
    pub jobs: usize,
    /// Number of jobs accepted with the first configuration.
    pub before: usize,
    /// Number of jobs accepted with the second configuration.
    pub after: usize,
    /// Number of jobs rejected with the first configuration, by the clause that is not true.
    pub refused_before: BTreeMap<String, usize>,
    /// Number of jobs rejected with the second configuration, by the clause that is not true.
    pub refused_after: BTreeMap<String, usize>,
    /// True if the two sets of accepted jobs differ.
    #[serde(skip)]
    pub differs: bool,
}

/// Returns the changes for each slot that exists before or after the change of the configuration.
pub fn offer_changes(
    before: &CandidateSlots,
    after: &CandidateSlots,
    jobs: &[ClassAd],
    world: &dyn World,
) -> Vec<OfferChange> {
    let mut known_names = BTreeSet::new();
    let names =
        before.names().into_iter().chain(after.names()).filter(|name| known_names.insert(name.clone()));
    let (places_before, places_after) = (first_slot_indexes(before), first_slot_indexes(after));
    let changed = |slot: String| {
        let (one, refused_before) = accepted_jobs(before, places_before.get(&slot), jobs, world);
        let (other, refused_after) = accepted_jobs(after, places_after.get(&slot), jobs, world);
        let count = |taken: &[bool]| taken.iter().filter(|taken| **taken).count();
        let (before, after, differs) = (count(&one), count(&other), one != other);
        OfferChange { slot, jobs: jobs.len(), before, after, refused_before, refused_after, differs }
    };
    names.map(changed).collect()
}

/// Returns the first index of each slot name.
fn first_slot_indexes(slots: &CandidateSlots) -> BTreeMap<String, usize> {
    // `collect` keeps the last index of a repeated name, so the order is reversed to keep the first one.
    slots.names().into_iter().enumerate().rev().map(|(at, name)| (name, at)).collect()
}

/// Returns the jobs that a slot accepts, and the clauses by which it rejects other jobs; both are empty if the slot
/// does not exist.
fn accepted_jobs(
    slots: &CandidateSlots,
    at: Option<&usize>,
    jobs: &[ClassAd],
    world: &dyn World,
) -> (Vec<bool>, BTreeMap<String, usize>) {
    let mut clauses = BTreeMap::new();
    let taken = jobs.iter().map(|job| {
        let Some(offer) = at.and_then(|at| slots.offer(*at, job, world)) else { return false };
        for clause in &offer.untrue_conditions {
            *clauses.entry(format!("{}: {}", clause.attribute, clause.text)).or_default() += 1;
        }
        offer.accepted
    });
    (taken.collect(), clauses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    fn ad(text: &str) -> ClassAd {
        ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax()).unwrap()
    }

    fn pool(start: &str) -> CandidateSlots {
        let slot = ad(&format!("[ Cpus = 2; START = {start}; Requirements = START ]"));
        CandidateSlots::Ads(PoolSlots {
            ads: vec![("slot1@here".to_owned(), slot)],
            fetching: BTreeSet::new(),
            counts_claims: true,
            quirks: QuirkMode::Manual,
        })
    }

    #[test]
    fn a_slot_of_a_pool_explains_refusals_and_policy_changes() {
        let world = RealWorld::new();
        let jobs = [
            ad("[ ClusterId = 1; ProcId = 0; Owner = \"ana\" ]"),
            ad("[ ClusterId = 1; ProcId = 1; Owner = \"eve\" ]"),
        ];
        let before = pool("TARGET.Owner == \"ana\"");
        let decisions: Vec<SlotDecision> = jobs.iter().flat_map(|job| before.consider(job, &world)).collect();
        assert_eq!(
            decisions.iter().map(|it| (&*it.job, it.accepted)).collect::<Vec<_>>(),
            [("1.0", true), ("1.1", false)]
        );
        assert_eq!(
            (&*decisions[1].details[0].clause.attribute, &*decisions[1].details[0].place),
            ("START", "")
        );
        let [change] = &offer_changes(&before, &pool("true"), &jobs, &world)[..] else { panic!("one slot") };
        assert_eq!((change.before, change.after, change.differs), (1, 2, true));
        assert_eq!(change.refused_before.values().sum::<usize>(), 1);
        assert!(!offer_changes(&before, &before, &jobs, &world)[0].differs);
    }

    #[test]
    fn unused_names_are_reported_with_a_suggestion() {
        let mut known = KnownAttributes::default();
        known.add_ads(&[ad("[ HasJava = true; START = TARGET.Owner == \"ana\" ]")]);
        let jobs = [ad("[ Requirements = TARGET.HasGPU ]")];
        let names = ["hasjava", "Owner", "HasGPU", "HasJav"];
        assert_eq!(
            known.unreferenced_names(names.into_iter(), &jobs),
            [("HasJav", Some("HasJava".to_owned()))]
        );
    }
}
