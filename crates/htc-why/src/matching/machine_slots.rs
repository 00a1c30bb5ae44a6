//! Slots that a configuration defines: those of an execution point.

use std::collections::BTreeSet;

use htc_base::world::{FrozenClockWorld, World};
use htc_classad::{ClassAd, Expr};
use htc_slot::{ExecutionPoint, SlotKey, SlotKind, SlotVerdict};
use rustc_hash::FxHashMap;

use super::slot_set::{OtherRefusal, SlotSet};

/// Function that returns the place where the configuration sets an attribute of a slot.
type PlaceFinder<'a> = Box<dyn Fn(usize, &str) -> String + 'a>;

/// Function that returns the place where the configuration sets a macro that is not published in the ad of a slot.
type UnpublishedFinder<'a> = Box<dyn Fn(usize, &str) -> Option<String> + 'a>;

/// Slots of execution points, judged as if they were free.
pub struct MachineSlots<'a> {
    slots: Vec<(&'a ExecutionPoint, SlotKey)>,
    names: Vec<String>,
    /// Indexes of the slots that call FETCH_WORK.
    fetching: BTreeSet<usize>,
    frozen: FrozenClockWorld<'a>,
    varieties: Vec<u64>,
    place: PlaceFinder<'a>,
    unpublished: UnpublishedFinder<'a>,
    empty: ClassAd,
}

impl<'a> MachineSlots<'a> {
    /// Creates the set of slots of one execution point; `fetching` are the numbers of the slots that call FETCH_WORK.
    pub fn new(machine: &'a ExecutionPoint, keys: &[SlotKey], fetching: &BTreeSet<u32>) -> Self {
        let slots = keys.iter().map(|key| (machine, *key)).collect();
        let fetches = keys.iter().map(|key| fetching.contains(&key.number)).collect::<Vec<_>>();
        MachineSlots::of_machines(machine, slots, &fetches)
    }

    /// Creates the set of slots of several execution points; the clock of the first one is used. `fetches` has for each
    /// slot true if it calls FETCH_WORK.
    pub fn of_machines(
        first: &'a ExecutionPoint,
        slots: Vec<(&'a ExecutionPoint, SlotKey)>,
        fetches: &[bool],
    ) -> Self {
        let mut index: FxHashMap<(Option<String>, bool), u64> = FxHashMap::default();
        let variety = |((machine, key), fetches): (&(&ExecutionPoint, SlotKey), &bool)| {
            let next = index.len() as u64;
            *index.entry((machine.judgement_key(*key), *fetches)).or_insert(next)
        };
        let varieties = slots.iter().zip(fetches).map(variety).collect();
        let name =
            |(machine, key): &(&ExecutionPoint, SlotKey)| machine.slot_id(*key).unwrap_or("?").to_owned();
        MachineSlots {
            names: slots.iter().map(name).collect(),
            fetching: (0..slots.len()).filter(|at| fetches[*at]).collect(),
            slots,
            frozen: first.frozen_world(),
            varieties,
            place: Box::new(|_, _| String::new()),
            unpublished: Box::new(|_, _| None),
            empty: ClassAd::new(),
        }
    }

    /// Sets the function that finds the place of an attribute in the configuration.
    #[must_use]
    pub fn with_setting_places(self, place: impl Fn(usize, &str) -> String + 'a) -> Self {
        MachineSlots { place: Box::new(place), ..self }
    }

    /// Sets the function that finds a macro of the configuration that is not published in the ad of a slot.
    #[must_use]
    pub fn with_unpublished_macros(self, find: impl Fn(usize, &str) -> Option<String> + 'a) -> Self {
        MachineSlots { unpublished: Box::new(find), ..self }
    }

    /// Returns the verdict of a slot on a job, without the job's Requirements. Slots that do not call FETCH_WORK are
    /// claimed for the job.
    fn verdict(&self, slot: usize, job: &ClassAd) -> Option<SlotVerdict> {
        let (machine, key) = self.slots[slot];
        let verdict = machine.judge_job(key, job)?;
        Some(if self.fetching.contains(&slot) { verdict } else { verdict.into_claim_verdict() })
    }
}

impl SlotSet for MachineSlots<'_> {
    fn len(&self) -> usize {
        self.slots.len()
    }

    fn name(&self, slot: usize) -> &str {
        &self.names[slot]
    }

    fn ad(&self, slot: usize) -> &ClassAd {
        let (machine, key) = self.slots[slot];
        machine.live_ad(key).unwrap_or(&self.empty)
    }

    fn world(&self) -> &dyn World {
        &self.frozen
    }

    fn group_number(&self, slot: usize) -> u64 {
        self.varieties[slot]
    }

    fn adds_default_requests(&self, slot: usize) -> bool {
        let (machine, key) = self.slots[slot];
        machine.slot_kind(key) == Some(SlotKind::Static)
    }

    fn checks_job_requirements(&self, slot: usize) -> bool {
        !self.fetching.contains(&slot)
    }

    fn hidden_expressions(&self) -> Vec<Expr> {
        let mut expressions: Vec<Expr> = Vec::new();
        let mut last: Option<*const ExecutionPoint> = None;
        for (machine, _) in &self.slots {
            if last.replace(std::ptr::from_ref(*machine)) == Some(std::ptr::from_ref(*machine)) {
                continue;
            }
            for expr in machine.judging_expressions() {
                if !expressions.contains(&expr) {
                    expressions.push(expr);
                }
            }
        }
        expressions
    }

    fn has_other_conditions(&self, _slot: usize, _job: &ClassAd) -> bool {
        true
    }

    fn refusal_beyond_requirements(&self, slot: usize, job: &ClassAd) -> Option<OtherRefusal> {
        let verdict = self.verdict(slot, job)?;
        (!verdict.accepted).then(|| OtherRefusal::new(verdict.reason, verdict.untrue_conditions))
    }

    fn setting_place(&self, slot: usize, attribute: &str) -> String {
        (self.place)(slot, attribute)
    }

    fn unpublished_place(&self, slot: usize, attribute: &str) -> Option<String> {
        (self.unpublished)(slot, attribute)
    }
}
