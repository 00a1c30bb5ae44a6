//! Hints about single pairs of a job and a slot: what was probably meant, and what the values mean.

use htc_classad::ClassAd;
use rustc_hash::FxHashMap;

use super::analysis::Analysis;
use super::grouping::JobGrouper;
use super::key_names::KeyNames;
use super::slot_set::SlotSet;

/// Maximum number of kinds of jobs whose hints are kept.
const MAX_KINDS: usize = 1000;

/// Hints about pairs, computed once for each kind of jobs.
pub struct PairHints<'s> {
    slots: &'s dyn SlotSet,
    names: KeyNames<'s>,
    of_kind: FxHashMap<Vec<u8>, HintsOfKind>,
}

/// Hints about the jobs of one kind.
#[derive(Default)]
struct HintsOfKind {
    /// Number of the group of each slot.
    groups: Vec<usize>,
    /// Hints for each group.
    hints: Vec<Vec<String>>,
}

impl<'s> PairHints<'s> {
    /// Prepares hints about these slots.
    pub fn new(slots: &'s dyn SlotSet) -> Self {
        PairHints { slots, names: KeyNames::new(slots), of_kind: FxHashMap::default() }
    }

    /// Returns the hints about a job and a slot, none if the slot accepts the job.
    pub fn of_pair(&mut self, job: &ClassAd, slot: usize) -> &[String] {
        let mut key = Vec::new();
        self.names.write_key(job, &mut key);
        if self.of_kind.len() >= MAX_KINDS && !self.of_kind.contains_key(&key) {
            self.of_kind.clear();
        }
        let slots = self.slots;
        let kind = self.of_kind.entry(key).or_insert_with(|| HintsOfKind::collect(slots, job));
        kind.groups.get(slot).and_then(|group| kind.hints.get(*group)).map_or(&[], Vec::as_slice)
    }
}

impl HintsOfKind {
    fn collect(slots: &dyn SlotSet, job: &ClassAd) -> Self {
        let mut grouper = JobGrouper::new(slots);
        grouper.add(String::new(), job.clone());
        let analysis = Analysis::new(slots, grouper);
        let mut groups = vec![0; slots.len()];
        for (number, group) in analysis.slot_groups().iter().enumerate() {
            group.members.iter().for_each(|slot| groups[*slot] = number);
        }
        let numbers = 0..analysis.slot_groups().len();
        HintsOfKind { groups, hints: numbers.map(|group| analysis.hints_of_groups(0, group)).collect() }
    }
}
