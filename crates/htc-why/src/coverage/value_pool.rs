//! The values of all attributes that conditions speak of.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bstr::BString;
use rustc_hash::FxHashMap;

use super::goal::Goal;
use super::joint_patterns::{self, PatternGoal};
use super::trial_values::{self, TrialValue, TrialValues};
use htc_base::world::World;
use htc_classad::{AttrName, Expr};

/// Values for attributes.
#[derive(Debug, Default)]
pub(super) struct ValuePool {
    trials: BTreeMap<AttrName, TrialValues>,
    known_values: BTreeSet<(AttrName, BString)>,
    /// By what it is what a part of a condition has for its attributes.
    part_values: RefCell<FxHashMap<BString, PartValues>>,
    /// By patterns the texts that are as wanted.
    joint_texts: RefCell<FxHashMap<Vec<PatternGoal>, SharedTexts>>,
}

type SharedTexts = Rc<Vec<Vec<u8>>>;

/// The values that a part of a condition has for each of its attributes.
pub(super) type PartValues = Rc<Vec<(AttrName, TrialValues)>>;

/// No attribute is tried with more values that conditions speak of.
const MAX_PLAIN_VALUES: usize = 3000;
/// Nor with more that are nearly those.
const MAX_NEAR_VALUES: usize = 600;

impl ValuePool {
    /// The values for an attribute, those that conditions speak of first.
    pub(super) fn values_of(&self, name: &AttrName) -> impl Iterator<Item = &TrialValue> {
        let trials = self.trials.get(name);
        trials.into_iter().flat_map(|trials| trials.plain.iter().chain(&trials.near))
    }

    /// The attributes.
    pub(super) fn attributes(&self) -> impl Iterator<Item = &AttrName> {
        self.trials.keys()
    }

    /// Takes in an attribute, with a value of each kind.
    pub(super) fn add_attribute(&mut self, name: &AttrName) {
        if !self.trials.contains_key(name) {
            trial_values::one_of_each_kind()
                .into_iter()
                .for_each(|trial| self.add_value(name, (trial, true)));
        }
    }

    fn add_value(&mut self, name: &AttrName, (trial, is_plain): (TrialValue, bool)) {
        let trials = self.trials.entry(name.clone()).or_default();
        let (trials, most) = if is_plain {
            (&mut trials.plain, MAX_PLAIN_VALUES)
        } else {
            (&mut trials.near, MAX_NEAR_VALUES)
        };
        let text = trial.as_ref().map_or_else(BString::default, Expr::unparse);
        if trials.len() < most && self.known_values.insert((name.clone(), text)) {
            trials.push(trial);
        }
    }

    /// Takes in what a part of a condition speaks of; returns the values that it has for each of its attributes.
    pub(super) fn add_part(&mut self, part: &Goal, world: &dyn World) -> PartValues {
        let own = self.part_values(part, world);
        for (name, trials) in own.iter() {
            self.add_attribute(name);
            trials.plain.iter().for_each(|trial| self.add_value(name, (trial.clone(), true)));
            trials.near.iter().for_each(|trial| self.add_value(name, (trial.clone(), false)));
        }
        own
    }

    /// The values that a part of a condition has for each of its attributes.
    pub(super) fn part_values(&self, part: &Goal, world: &dyn World) -> PartValues {
        let text = part.expr.without_parentheses().unparse();
        if let Some(own) = self.part_values.borrow().get(&text) {
            return own.clone();
        }
        let own = PartValues::new(trial_values::values_for_part(&part.expr, &part.attributes, world));
        self.part_values.borrow_mut().insert(text, own.clone());
        own
    }

    /// Texts that are as several patterns want them.
    pub(super) fn joint_texts(&self, patterns: &[PatternGoal]) -> SharedTexts {
        if let Some(texts) = self.joint_texts.borrow().get(patterns) {
            return texts.clone();
        }
        let texts = SharedTexts::new(joint_patterns::find_joint_texts(patterns));
        self.joint_texts.borrow_mut().insert(patterns.to_vec(), texts.clone());
        texts
    }
}
