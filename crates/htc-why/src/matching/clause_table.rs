//! Truth of each clause for each combination of a group of jobs and a group of slots.

use htc_classad::{AttrName, ClassAd, Expr};
use htc_slot::add_default_requests;
use rustc_hash::FxHashMap;

use super::bit_set::BitSet;
use super::clauses::{Clause, ClauseSide, split_requirements};
use super::name_closure::{CircleFinder, NameGraph, ReadNames, close, definitions_key, push_expr_key};
use super::number_comparison::{NumberComparison, RefusedSlots};
use super::slot_set::SlotSet;

/// Job ad, with a variant that has default requests.
#[derive(Clone, Debug)]
pub(super) struct JobAdVariants {
    pub(super) plain: ClassAd,
    /// The ad with default requests, for static slots; `None` if that is the same.
    with_defaults: Option<ClassAd>,
}

impl JobAdVariants {
    pub(super) fn new(job: ClassAd, slots: &dyn SlotSet) -> Self {
        let lacks_request =
            ["RequestCpus", "RequestMemory", "RequestDisk"].iter().any(|name| !job.contains(name));
        let needs_defaults = lacks_request && (0..slots.len()).any(|slot| slots.adds_default_requests(slot));
        let with_defaults = needs_defaults.then(|| {
            let mut job = job.clone();
            add_default_requests(&mut job);
            job
        });
        JobAdVariants { plain: job, with_defaults }
    }

    /// Returns the ad as one slot sees it.
    pub(super) fn for_slot(&self, slots: &dyn SlotSet, slot: usize) -> &ClassAd {
        self.for_condition(ClauseSide::Slot, slots, slot)
    }

    /// Returns the ad that a condition of a side reads. The job's own Requirements are evaluated before a slot adds
    /// default requests.
    pub(super) fn for_condition(&self, side: ClauseSide, slots: &dyn SlotSet, slot: usize) -> &ClassAd {
        match &self.with_defaults {
            Some(ad) if side == ClauseSide::Slot && slots.adds_default_requests(slot) => ad,
            _ => &self.plain,
        }
    }
}

/// Clause that applies to a group of jobs: its number, and the number of the class of jobs that have the same values.
type ClauseClass = (u32, u32);

/// Clauses, and the groups of slots for which each is not true.
pub(super) struct ClauseTable {
    pub(super) clauses: Vec<Clause>,
    /// Groups of slots for which a clause is not true, for each clause and each class of jobs.
    refusing: Vec<Vec<BitSet>>,
    /// Clauses that apply to each group of jobs.
    of_job: Vec<Vec<ClauseClass>>,
}

/// Slots and jobs for which a table is built.
pub(super) struct TableInput<'a> {
    pub(super) slots: &'a dyn SlotSet,
    /// Representative of each group of slots.
    pub(super) slot_groups: &'a [usize],
    pub(super) jobs: &'a [JobAdVariants],
    pub(super) graphs: [&'a NameGraph; 2],
}

impl ClauseTable {
    pub(super) fn new(input: &TableInput<'_>) -> Self {
        let mut table = ClauseTable {
            clauses: Vec::new(),
            refusing: Vec::new(),
            of_job: vec![Vec::new(); input.jobs.len()],
        };
        let split = ClauseSplit {
            needs_requirements: input.slots.needs_requirements(),
            circles: CircleFinder::new(input.graphs),
        };
        let slot_ads = input.slot_groups.iter().map(|slot| input.slots.ad(*slot));
        let all_jobs: Vec<usize> = (0..input.jobs.len()).collect();
        for (clause, users) in distinct_clauses(slot_ads, ClauseSide::Slot, &split) {
            table.add(input, clause, &users, &all_jobs);
        }
        let checking_slots = |at: &usize| input.slots.checks_job_requirements(input.slot_groups[*at]);
        let checking_slots: Vec<usize> = (0..input.slot_groups.len()).filter(checking_slots).collect();
        if !checking_slots.is_empty() {
            let job_ads = input.jobs.iter().map(|job| &job.plain);
            let clauses = match input.slots.job_conditions() {
                Some(conditions) => {
                    conditions.iter().map(|it| (Clause::of_condition(it), all_jobs.clone())).collect()
                }
                None => distinct_clauses(job_ads, ClauseSide::Job, &split),
            };
            for (clause, users) in clauses {
                table.add(input, clause, &checking_slots, &users);
            }
        }
        table
    }

    /// Evaluates a clause for groups of slots and of jobs.
    fn add(&mut self, input: &TableInput<'_>, clause: Clause, slots: &[usize], jobs: &[usize]) {
        let number = self.clauses.len() as u32;
        let read = close(ReadNames::of_expr(&clause.expr), input.graphs);
        let slot_ad = |at: usize| input.slots.ad(input.slot_groups[at]);
        let slot_classes = equivalence_classes(slots, |at| {
            let mut key = definitions_key(slot_ad(at), &read);
            key.push(u8::from(input.slots.adds_default_requests(input.slot_groups[at])));
            key
        });
        let job_classes = equivalence_classes(jobs, |at| definitions_key(&input.jobs[at].plain, &read));
        let job_ads: Vec<&ClassAd> = job_classes.iter().map(|class| &input.jobs[class[0]].plain).collect();
        let slot_ads: Vec<&ClassAd> = slot_classes.iter().map(|class| slot_ad(class[0])).collect();
        let reading_side = input.slots.reading_side(clause.side);
        let numbers = NumberComparison::new(&clause.expr, reading_side, &job_ads, &slot_ads);
        let evaluate = |members: &[usize], slots: &[usize]| {
            let slot = input.slot_groups[slots[0]];
            let job = input.jobs[members[0]].for_condition(clause.side, input.slots, slot);
            let context = input.slots.context(clause.side, input.slots.ad(slot), job);
            context.eval(&clause.expr).truth() == Some(true)
        };
        let size = input.slot_groups.len();
        let mut by_numbers = numbers.as_ref().and_then(|numbers| numbers.refused_slots(&slot_classes, size));
        let all_slot_classes: Vec<usize> = (0..slot_classes.len()).collect();
        let mut refusing = Vec::with_capacity(job_classes.len());
        for (class, members) in job_classes.iter().enumerate() {
            let decided = by_numbers.as_mut().and_then(|decided| decided.of_job[class].take());
            let (mut refused, undecided) = match (decided, &by_numbers) {
                (Some(refused), Some(RefusedSlots { undecided, .. })) => (refused, undecided),
                _ => (BitSet::new(size), &all_slot_classes),
            };
            for &at in undecided {
                let slots = &slot_classes[at];
                let result = numbers.as_ref().and_then(|numbers| numbers.holds(class, at));
                if !result.unwrap_or_else(|| evaluate(members, slots)) {
                    slots.iter().for_each(|slot| refused.insert(*slot));
                }
            }
            members.iter().for_each(|job| self.of_job[*job].push((number, class as u32)));
            refusing.push(refused);
        }
        self.refusing.push(refusing);
        self.clauses.push(clause);
    }

    /// Returns the clauses that apply to a group of jobs, each with the groups of slots for which it is not true.
    pub(super) fn refusals(&self, job: usize) -> impl Iterator<Item = (usize, &BitSet)> {
        self.of_job[job].iter().map(|&(clause, class)| {
            let clause = clause as usize;
            (clause, &self.refusing[clause][class as usize])
        })
    }

    /// True if a clause is not true for a class of jobs and a group of slots.
    pub(super) fn is_refused(&self, clause: usize, class: u32, slot: usize) -> bool {
        self.refusing[clause][class as usize].contains(slot)
    }

    /// Returns the clauses that apply to a group of jobs, with the classes of their values: those of slots, then those
    /// of the job in the order of its Requirements.
    pub(super) fn ordered_clauses(
        &self,
        job: usize,
        ad: &ClassAd,
        graphs: &[NameGraph; 2],
    ) -> Vec<(usize, u32)> {
        let circles = CircleFinder::new([&graphs[0], &graphs[1]]);
        let is_circular = |name: &AttrName, definition: &Expr| circles.is_circular(name, definition);
        let own_keys: Vec<Vec<u8>> =
            split_requirements(ad, ClauseSide::Job, false, &is_circular).iter().map(clause_key).collect();
        let position_of = |clause: &Clause| {
            let key = clause_key(clause);
            own_keys.iter().position(|known| *known == key).unwrap_or_default()
        };
        let mut clauses: Vec<(usize, u32)> =
            self.of_job[job].iter().map(|(clause, class)| (*clause as usize, *class)).collect();
        clauses.sort_by_key(|(clause, _)| match &self.clauses[*clause] {
            clause if clause.side == ClauseSide::Slot => (false, 0),
            clause => (true, position_of(clause)),
        });
        clauses
    }
}

/// Returns a key of a clause; equal keys mean equal clauses in attributes of the same name.
fn clause_key(clause: &Clause) -> Vec<u8> {
    let mut key = clause.attribute.to_ascii_lowercase().into_bytes();
    push_expr_key(&clause.expr, &mut key);
    key
}

/// Division of Requirements into clauses.
struct ClauseSplit<'a> {
    /// True if an ad without Requirements matches nothing.
    needs_requirements: bool,
    /// Finder of names that refer to each other in a circle, which are not replaced by their definitions.
    circles: CircleFinder<'a>,
}

/// Returns the distinct clauses of ads, each with the numbers of the ads that have it.
fn distinct_clauses<'a>(
    ads: impl Iterator<Item = &'a ClassAd>,
    side: ClauseSide,
    split: &ClauseSplit<'_>,
) -> Vec<(Clause, Vec<usize>)> {
    let mut distinct: Vec<(Clause, Vec<usize>)> = Vec::new();
    let mut index: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
    let is_circular = |name: &AttrName, definition: &Expr| split.circles.is_circular(name, definition);
    for (at, ad) in ads.enumerate() {
        for clause in split_requirements(ad, side, split.needs_requirements, &is_circular) {
            let next = distinct.len();
            let number = *index.entry(clause_key(&clause)).or_insert(next);
            if number == next {
                distinct.push((clause, Vec::new()));
            }
            distinct[number].1.push(at);
        }
    }
    distinct
}

/// Returns classes of members with equal keys.
fn equivalence_classes(members: &[usize], key: impl Fn(usize) -> Vec<u8>) -> Vec<Vec<usize>> {
    let mut index: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
    let mut classes: Vec<Vec<usize>> = Vec::new();
    for &member in members {
        let next = classes.len();
        let class = *index.entry(key(member)).or_insert(next);
        if class == next {
            classes.push(Vec::new());
        }
        classes[class].push(member);
    }
    classes
}
