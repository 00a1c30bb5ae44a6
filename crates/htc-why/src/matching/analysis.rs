//! Groups of jobs and slots, and the clauses that separate them.

use std::sync::OnceLock;

use htc_classad::ClassAd;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::bit_set::BitSet;
use super::clause_table::{ClauseTable, JobAdVariants, TableInput};
use super::clauses::ClauseSide;
use super::grouping::{JobGrouper, RawGroup};
use super::name_closure::{NameGraph, ReadNames, close, definitions_key, definitions_read};
use super::side_names::SideNames;
use super::slot_set::{OtherRefusal, SlotSet};

/// Clauses are sorted by length in steps of this number of bytes.
const CLAUSE_LENGTH_STEP: usize = 120;

/// Jobs that are equivalent for every slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobGroup {
    /// Name of the first job.
    pub first: String,
    /// Name of the last job.
    pub last: String,
    /// Number of jobs in the group.
    pub count: usize,
    /// Number of slots that accept the jobs.
    pub accepting_slots: usize,
}

/// Slots that are equivalent for every job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlotGroup {
    /// Name of the first slot.
    pub first: String,
    /// Numbers of the slots.
    #[serde(skip)]
    pub members: Vec<usize>,
    /// Number of slots in the group.
    pub count: usize,
    /// Number of jobs that the slots accept.
    pub accepted_jobs: usize,
}

/// Clause or other condition that rules out groups of slots for one group of jobs.
pub(super) struct Refusal<'a> {
    pub(super) source: RefusalSource<'a>,
    /// Clauses about the same attributes that refuse the same slots, such as those of the other side.
    pub(super) equivalent: Vec<usize>,
    pub(super) slots: BitSet,
    pub(super) refuses: usize,
    pub(super) alone: BitSet,
    pub(super) alone_count: usize,
}

/// Condition that causes a refusal: the index of a clause, or another condition.
#[derive(Clone, Copy)]
pub(super) enum RefusalSource<'a> {
    Clause(usize),
    Other(&'a OtherRefusal),
}

/// Refusal of one group of jobs by some groups of slots for a reason other than a clause.
#[derive(Clone)]
struct SharedRefusal {
    refusal: OtherRefusal,
    slots: BitSet,
    /// Name of the first slot, and its sentence.
    first: (String, String),
}

/// Refusals of one group of jobs for reasons other than a clause.
type OtherRefusals = Vec<SharedRefusal>;

/// Jobs and slots in groups, with the truth of every clause for every combination.
pub struct Analysis<'s> {
    pub(super) slots: &'s dyn SlotSet,
    job_groups: Vec<JobGroup>,
    slot_groups: Vec<SlotGroup>,
    pub(super) representatives: Vec<usize>,
    pub(super) weights: Vec<usize>,
    pub(super) jobs: Vec<JobAdVariants>,
    pub(super) table: ClauseTable,
    /// Refusals by slots for which all clauses are true, for each group of jobs that has some.
    other: FxHashMap<usize, OtherRefusals>,
    /// Refusals for reasons other than a clause by all slots, for each group of jobs; computed for groups that are
    /// explained.
    all_other: Vec<OnceLock<OtherRefusals>>,
}

impl<'s> Analysis<'s> {
    /// Compares all groups of jobs with all slots.
    pub fn new(slots: &'s dyn SlotSet, jobs: JobGrouper<'s>) -> Self {
        let (raw_groups, slot_graph) = jobs.finish();
        let job_graph = definitions_graph(&slot_graph, raw_groups.iter().map(|group| &group.ad));
        let mut read = ReadNames { names: slot_graph.keys().cloned().collect(), reads_any: false };
        read = close(read, [&slot_graph, &job_graph]);
        let mut slot_groups = group_slots(slots, &read);
        let representatives: Vec<usize> = slot_groups.iter().map(|group| group.members[0]).collect();
        let weights: Vec<usize> = slot_groups.iter().map(|group| group.count).collect();
        let mut job_groups = Vec::with_capacity(raw_groups.len());
        let mut job_ads = Vec::with_capacity(raw_groups.len());
        for RawGroup { ad, first, last, count, .. } in raw_groups {
            job_groups.push(JobGroup { first, last, count, accepting_slots: 0 });
            job_ads.push(JobAdVariants::new(ad, slots));
        }
        let input = TableInput {
            slots,
            slot_groups: &representatives,
            jobs: &job_ads,
            graphs: [&slot_graph, &job_graph],
        };
        let table = ClauseTable::new(&input);
        let mut other = FxHashMap::default();
        for (at, group) in job_groups.iter_mut().enumerate() {
            let mut refused = BitSet::new(representatives.len());
            table.refusals(at).for_each(|(_, slots)| refused.union_with(slots));
            let refusals = other_refusals(slots, &representatives, &job_ads[at], &refused);
            refusals.iter().for_each(|it| refused.union_with(&it.slots));
            if !refusals.is_empty() {
                other.insert(at, refusals);
            }
            for slot in refused.missing(representatives.len()) {
                group.accepting_slots += weights[slot];
                slot_groups[slot].accepted_jobs += group.count;
            }
        }
        let all_other = job_groups.iter().map(|_| OnceLock::new()).collect();
        Analysis {
            slots,
            job_groups,
            slot_groups,
            representatives,
            weights,
            jobs: job_ads,
            table,
            other,
            all_other,
        }
    }

    /// Compares each job with each slot, without groups, and only by clauses. `slot_graph` has the names that
    /// slots and jobs read; it is returned together with the graph of the definitions in jobs.
    pub(super) fn for_pairs(
        slots: &'s dyn SlotSet,
        jobs: &[ClassAd],
        slot_graph: NameGraph,
    ) -> (Self, [NameGraph; 2]) {
        let job_graph = definitions_graph(&slot_graph, jobs.iter());
        let jobs: Vec<JobAdVariants> =
            jobs.iter().map(|job| JobAdVariants::new(job.clone(), slots)).collect();
        let representatives: Vec<usize> = (0..slots.len()).collect();
        let graphs = [&slot_graph, &job_graph];
        let table =
            ClauseTable::new(&TableInput { slots, slot_groups: &representatives, jobs: &jobs, graphs });
        let slot_group = |slot: &usize| SlotGroup {
            first: slots.name(*slot).to_owned(),
            members: vec![*slot],
            count: 1,
            accepted_jobs: 0,
        };
        let analysis = Analysis {
            slots,
            job_groups: Vec::new(),
            slot_groups: representatives.iter().map(slot_group).collect(),
            weights: vec![1; representatives.len()],
            representatives,
            all_other: jobs.iter().map(|_| OnceLock::new()).collect(),
            jobs,
            table,
            other: FxHashMap::default(),
        };
        (analysis, [slot_graph, job_graph])
    }

    /// Returns the words for the two sides.
    pub fn side_names(&self) -> SideNames {
        self.slots.side_names()
    }

    /// Returns the groups of jobs, in the order of their first jobs.
    pub fn job_groups(&self) -> &[JobGroup] {
        &self.job_groups
    }

    /// Returns the groups of slots, in the order of their first slots.
    pub fn slot_groups(&self) -> &[SlotGroup] {
        &self.slot_groups
    }

    /// Returns the first job of each group.
    pub fn job_ads(&self) -> Vec<ClassAd> {
        self.jobs.iter().map(|job| job.plain.clone()).collect()
    }

    /// Returns the number of jobs.
    pub fn job_count(&self) -> usize {
        self.job_groups.iter().map(|group| group.count).sum()
    }

    /// Returns the number of pairs of a job and a slot that accepts it.
    pub fn match_count(&self) -> usize {
        self.job_groups.iter().map(|group| group.count * group.accepting_slots).sum()
    }

    /// Returns the number of slots.
    pub fn slot_count(&self) -> usize {
        self.weights.iter().sum()
    }

    /// True if a group of slots accepts a group of jobs.
    pub fn is_accepted(&self, job: usize, slot: usize) -> bool {
        !self.table.refusals(job).any(|(_, slots)| slots.contains(slot))
            && !self.other_refusals(job).iter().any(|it| it.slots.contains(slot))
    }

    /// Returns the slots that accept a group of jobs.
    pub(super) fn accepting_slots(&self, job: usize) -> BitSet {
        let mut accepting = BitSet::new(self.weights.len());
        (0..self.weights.len()).for_each(|slot| accepting.insert(slot));
        self.table.refusals(job).for_each(|(_, slots)| accepting.remove_all(slots));
        self.other_refusals(job).iter().for_each(|it| accepting.remove_all(&it.slots));
        accepting
    }

    /// Returns the conditions that rule out slots for a group of jobs; those that rule out most slots come first.
    pub(super) fn refusals(&self, job: usize) -> Vec<Refusal<'_>> {
        let size = self.weights.len();
        let clauses = self.table.refusals(job).map(|(clause, slots)| (RefusalSource::Clause(clause), slots));
        let other = self.all_other_refusals(job).iter();
        let other = other.map(|it| (RefusalSource::Other(&it.refusal), &it.slots));
        let mut all: Vec<(RefusalSource<'_>, &BitSet, Vec<usize>)> = Vec::new();
        for (source, slots) in clauses.chain(other) {
            let is_equivalent = |known: &&mut (RefusalSource<'_>, &BitSet, Vec<usize>)| {
                known.1 == slots && self.compare_same_attributes(known.0, source)
            };
            match (all.iter_mut().find(is_equivalent), source) {
                (Some((.., equivalent)), RefusalSource::Clause(clause)) => equivalent.push(clause),
                _ => all.push((source, slots, Vec::new())),
            }
        }
        let (mut once, mut twice) = (BitSet::new(size), BitSet::new(size));
        for (_, slots, _) in &all {
            twice.add_common(&once, slots);
            once.union_with(slots);
        }
        let mut refusals: Vec<Refusal<'_>> = all
            .into_iter()
            .filter_map(|(source, slots, equivalent)| {
                let mut alone = slots.clone();
                alone.remove_all(&twice);
                let (refuses, alone_count) =
                    (slots.total_weight(&self.weights), alone.total_weight(&self.weights));
                let slots = slots.clone();
                (refuses > 0).then_some(Refusal { source, equivalent, slots, refuses, alone, alone_count })
            })
            .collect();
        // If clauses refuse the same number of slots, the shortest comes first, because it is the easiest to
        // read.
        refusals.sort_by_key(|refusal| {
            (std::cmp::Reverse((refusal.refuses, refusal.alone_count)), self.source_length(refusal.source))
        });
        refusals
    }

    fn source_length(&self, source: RefusalSource<'_>) -> usize {
        match source {
            RefusalSource::Clause(clause) => self.table.clauses[clause].text.len() / CLAUSE_LENGTH_STEP,
            RefusalSource::Other(_) => 0,
        }
    }

    /// True if two clauses compare the same attributes.
    pub(super) fn compare_same_attributes(&self, one: RefusalSource<'_>, other: RefusalSource<'_>) -> bool {
        match (one, other) {
            (RefusalSource::Clause(one), RefusalSource::Clause(other)) => {
                let (one, other) = (&self.table.clauses[one].names, &self.table.clauses[other].names);
                one.len() > 1 && one == other
            }
            _ => false,
        }
    }

    /// Returns the clauses that rule out every slot for a group of jobs: the side and the attribute that contain each,
    /// and its text.
    pub fn clauses_refusing_all(&self, job: usize) -> Vec<(ClauseSide, String, String)> {
        let all = self.slot_count();
        let is_total = |slots: &BitSet| slots.total_weight(&self.weights) == all;
        let clauses = self.table.refusals(job).filter(|(_, slots)| is_total(slots)).map(|(clause, _)| {
            let clause = &self.table.clauses[clause];
            (clause.side, clause.attribute.clone(), clause.text.clone())
        });
        let other = self.other_refusals(job).iter().filter(|it| is_total(&it.slots)).map(|it| &it.refusal);
        clauses.chain(other.map(|it| (it.side(), it.attribute.clone(), it.text.clone()))).collect()
    }
}

/// Returns the definitions, in all jobs, of the names that are read.
fn definitions_graph<'a>(names: &NameGraph, jobs: impl Iterator<Item = &'a ClassAd> + Clone) -> NameGraph {
    names.keys().map(|name| (name.clone(), definitions_read(name, jobs.clone()))).collect()
}

fn group_slots(slots: &dyn SlotSet, read: &ReadNames) -> Vec<SlotGroup> {
    let mut index: FxHashMap<(u64, Vec<u8>), usize> = FxHashMap::default();
    let mut groups: Vec<SlotGroup> = Vec::new();
    for slot in 0..slots.len() {
        let key = (slots.group_number(slot), definitions_key(slots.ad(slot), read));
        let next = groups.len();
        let at = *index.entry(key).or_insert(next);
        if at == next {
            let first = slots.name(slot).to_owned();
            groups.push(SlotGroup { first, members: Vec::new(), count: 0, accepted_jobs: 0 });
        }
        groups[at].members.push(slot);
        groups[at].count += 1;
    }
    groups
}

/// Returns the refusals by slots for which all clauses are true.
fn other_refusals(
    slots: &dyn SlotSet,
    representatives: &[usize],
    job: &JobAdVariants,
    refused: &BitSet,
) -> OtherRefusals {
    let mut refusals: OtherRefusals = Vec::new();
    for at in refused.missing(representatives.len()) {
        let slot = representatives[at];
        let ad = job.for_slot(slots, slot);
        if slots.has_other_conditions(slot, ad)
            && let Some(refusal) = slots.refusal_beyond_requirements(slot, ad)
        {
            add_refusal(&mut refusals, refusal, (at, slots.name(slot)), representatives.len());
        }
    }
    refusals
}

/// Adds a refusal by a group of slots, whose number and name are given; `size` is the number of groups of slots.
fn add_refusal(refusals: &mut OtherRefusals, refusal: OtherRefusal, (at, name): (usize, &str), size: usize) {
    let is_same =
        |it: &SharedRefusal| it.refusal.attribute == refusal.attribute && it.refusal.text == refusal.text;
    let number = refusals.iter().position(is_same).unwrap_or_else(|| {
        let first = (name.to_owned(), refusal.sentence.clone());
        refusals.push(SharedRefusal { refusal: refusal.clone(), slots: BitSet::new(size), first });
        refusals.len() - 1
    });
    let shared = &mut refusals[number];
    // The sentence has the values of the first slot.
    let (first_name, sentence) = &shared.first;
    if *sentence != refusal.sentence {
        shared.refusal.sentence = format!("{sentence} (on {first_name}; others have other values)");
    }
    shared.slots.insert(at);
}

impl Analysis<'_> {
    fn other_refusals(&self, job: usize) -> &[SharedRefusal] {
        self.other.get(&job).map_or(&[], Vec::as_slice)
    }

    /// Returns the refusals of a group of jobs for reasons other than a clause, also by slots for which a clause is not
    /// true.
    fn all_other_refusals(&self, job: usize) -> &[SharedRefusal] {
        self.all_other[job].get_or_init(|| {
            let mut refusals = self.other_refusals(job).to_vec();
            for at in self.accepting_slots(job).missing(self.representatives.len()) {
                if let Some(refusal) = self.refusal_despite_requirements(job, at) {
                    let name = self.slots.name(self.representatives[at]);
                    add_refusal(&mut refusals, refusal, (at, name), self.representatives.len());
                }
            }
            refusals
        })
    }

    /// Returns the refusal of a group of jobs by a group of slots that does not depend on Requirements, or `None`.
    fn refusal_despite_requirements(&self, job: usize, at: usize) -> Option<OtherRefusal> {
        let slot = self.representatives[at];
        self.slots.refusal_despite_requirements(slot, self.jobs[job].for_slot(self.slots, slot))
    }

    /// True if a group of slots refuses a group of jobs even if all Requirements are true.
    pub(super) fn is_refused_despite_requirements(&self, job: usize, at: usize) -> bool {
        self.refusal_despite_requirements(job, at).is_some()
    }
}

impl Analysis<'_> {
    /// Returns the conditions by which a group of slots and a group of jobs refuse each other.
    pub(super) fn refusals_of_pair(&self, job: usize, slot: usize) -> Vec<RefusalSource<'_>> {
        let clauses = self.table.refusals(job).filter(|(_, slots)| slots.contains(slot));
        let clauses = clauses.map(|(clause, _)| RefusalSource::Clause(clause));
        let other = self.other_refusals(job).iter().filter(|it| it.slots.contains(slot));
        clauses.chain(other.map(|it| RefusalSource::Other(&it.refusal))).collect()
    }
}
