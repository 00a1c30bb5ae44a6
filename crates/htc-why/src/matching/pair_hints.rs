//! Hints about single pairs of a job and a slot: probable mistakes, and the meaning of values.
//!
//! The hints about a clause depend only on the values that the clause can read and on the names in both ads. They are
//! computed once for each combination of these.

use std::rc::Rc;

use htc_classad::{ClassAd, Value};
use rustc_hash::FxHashMap;

use super::analysis::Analysis;
use super::bit_set::BitSet;
use super::evidence::{ClauseEvidence, explained_part};
use super::file_transfer::transfers_files;
use super::key_names::KeyNames;
use super::name_closure::{NameGraph, ReadNames, close, definitions_key};
use super::notes::RefusingClause;
use super::plain_comparison::PlainComparison;
use super::slot_set::SlotSet;

/// Maximum number of combinations whose hints are kept.
const MAX_KNOWN: usize = 100_000;

/// Attributes of the clock, whose values are explained as times.
const CLOCK_NAMES: [&str; 2] = ["ClockMin", "ClockDay"];

/// Hints about pairs of some jobs and slots.
pub struct PairHints<'s> {
    analysis: Analysis<'s>,
    graphs: [NameGraph; 2],
    /// Properties of each clause, set when the clause first refuses a pair.
    clauses: Vec<Option<HintedClause>>,
    /// Number of the set of names in the ad of each job; `slot_names` has the same for each slot.
    job_names: Vec<u32>,
    slot_names: Vec<u32>,
    known: FxHashMap<HintKey, Rc<[String]>>,
    /// The job of the last call and its clauses.
    last_job: Option<(usize, Vec<(usize, u32)>)>,
}

/// Properties of a clause that decide about its hints.
struct HintedClause {
    plain: Option<PlainComparison>,
    /// Class of each slot; slots of one class have the same hints.
    slot_classes: Vec<u32>,
    /// True if the clause may read the time of day or the day of the week.
    reads_clock: bool,
}

/// Combination for which the hints about a clause are the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct HintKey {
    clause: u32,
    job_class: u32,
    job_names: u32,
    slot_class: u32,
}

impl<'s> PairHints<'s> {
    /// Prepares hints about these jobs and slots.
    pub fn new(slots: &'s dyn SlotSet, jobs: &[ClassAd]) -> Self {
        let mut names = KeyNames::new(slots);
        let mut key = Vec::new();
        jobs.iter().for_each(|job| names.write_key(job, &mut key));
        let (analysis, graphs) = Analysis::for_pairs(slots, jobs, names.slot_graph);
        let mut sets = Interner::default();
        let job_names = jobs.iter().map(|job| sets.number(names_key(job, transfers_files(job)))).collect();
        let slot_names = (0..slots.len()).map(|slot| sets.number(names_key(slots.ad(slot), false))).collect();
        PairHints {
            clauses: analysis.table.clauses.iter().map(|_| None).collect(),
            analysis,
            graphs,
            job_names,
            slot_names,
            known: FxHashMap::default(),
            last_job: None,
        }
    }

    /// Returns the hints about the job and the slot with these numbers, none if the slot accepts the job.
    pub fn hints_for_pair(&mut self, job: usize, slot: usize) -> Vec<String> {
        let clauses = match self.last_job.take() {
            Some((last, clauses)) if last == job => clauses,
            _ => self.analysis.table.ordered_clauses(job, &self.analysis.jobs[job].plain, &self.graphs),
        };
        let mut hints: Vec<String> = Vec::new();
        for &(clause, class) in &clauses {
            if !self.analysis.table.is_refused(clause, class, slot) {
                continue;
            }
            for hint in self.hints_for_clause((clause, class), job, slot).iter() {
                if !hints.contains(hint) {
                    hints.push(hint.clone());
                }
            }
        }
        self.last_job = Some((job, clauses));
        hints
    }

    /// Returns the hints about a clause that is not true for a pair.
    fn hints_for_clause(
        &mut self,
        (clause, job_class): (usize, u32),
        job: usize,
        slot: usize,
    ) -> Rc<[String]> {
        if self.clauses[clause].is_none() {
            self.clauses[clause] = Some(self.prepare(clause));
        }
        let Some(hinted) = &self.clauses[clause] else { return Rc::default() };
        let refusing = &self.analysis.table.clauses[clause];
        let slots = self.analysis.slots;
        let ad = self.analysis.jobs[job].for_condition(refusing.side, slots, slot);
        let side = slots.reading_side(refusing.side);
        let is_explained = |plain: &PlainComparison| plain.compares_numbers(side, slots.ad(slot), ad);
        if !is_partitionable(slots, slot) && hinted.plain.as_ref().is_some_and(is_explained) {
            return Rc::default();
        }
        let key = HintKey {
            clause: clause as u32,
            job_class,
            job_names: self.job_names[job],
            slot_class: hinted.slot_classes[slot],
        };
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let hints: Rc<[String]> = self.compute(clause, job, slot, hinted.reads_clock).into();
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(key, hints.clone());
        hints
    }

    fn prepare(&self, clause: usize) -> HintedClause {
        let Analysis { slots, .. } = &self.analysis;
        let expr = &self.analysis.table.clauses[clause].expr;
        let read = close(ReadNames::of_expr(expr), [&self.graphs[0], &self.graphs[1]]);
        let mut classes = Interner::default();
        let class = |slot: usize| {
            // Hints about a partitionable slot also name dynamic slots.
            let mut key = match is_partitionable(*slots, slot) {
                true => format!("slot {slot}").into_bytes(),
                false => definitions_key(slots.ad(slot), &read),
            };
            key.push(u8::from(slots.adds_default_requests(slot)));
            key.extend(slots.group_number(slot).to_le_bytes());
            key.extend(self.slot_names[slot].to_le_bytes());
            classes.number(key)
        };
        HintedClause {
            plain: PlainComparison::parse(expr),
            slot_classes: (0..slots.len()).map(class).collect(),
            reads_clock: read.reads_any
                || read.names.iter().any(|name| CLOCK_NAMES.iter().any(|clock| *name == **clock)),
        }
    }

    fn compute(&self, clause: usize, job: usize, slot: usize, reads_clock: bool) -> Vec<String> {
        let (analysis, clause) = (&self.analysis, &self.analysis.table.clauses[clause]);
        let ad = analysis.jobs[job].for_condition(clause.side, analysis.slots, slot);
        let context = analysis.slots.context(clause.side, analysis.slots.ad(slot), ad);
        let part = explained_part(&context, clause.expr.clone());
        let side = analysis.slots.reading_side(clause.side);
        if !is_partitionable(analysis.slots, slot)
            && PlainComparison::parse(&part)
                .is_some_and(|it| it.compares_numbers(side, analysis.slots.ad(slot), ad))
        {
            return Vec::new();
        }
        let mut only = BitSet::new(analysis.weights.len());
        only.insert(slot);
        if !reads_clock {
            return RefusingClause { analysis, job, clause, slots: &only }.notes(&part);
        }
        let evidence = ClauseEvidence::collect(analysis, job, clause, &only);
        let times = evidence.attributes.iter().filter_map(|attribute| {
            let time = attribute.values.clock_text(&attribute.name)?;
            Some(format!("{} is {}, that is {time}", attribute.name, attribute.values.text()))
        });
        times.chain(evidence.notes.iter().cloned()).collect()
    }
}

fn is_partitionable(slots: &dyn SlotSet, slot: usize) -> bool {
    let literal = slots.ad(slot).get("PartitionableSlot").map(|expr| expr.as_literal());
    !matches!(literal, None | Some(Some(Value::Bool(false))))
}

/// Returns a key of the names in an ad.
fn names_key(ad: &ClassAd, transfers_files: bool) -> Vec<u8> {
    let mut key = vec![u8::from(transfers_files)];
    for name in ad.names() {
        key.extend_from_slice(name);
        key.push(0);
    }
    key
}

/// Table that gives each distinct key a number.
#[derive(Default)]
struct Interner {
    numbers: FxHashMap<Vec<u8>, u32>,
}

impl Interner {
    fn number(&mut self, key: Vec<u8>) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(key).or_insert(next)
    }
}
