//! Values for all attributes that conditions refer to.

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

/// Pool of values for attributes.
#[derive(Debug, Default)]
pub(super) struct ValuePool {
    trials: BTreeMap<AttrName, TrialValues>,
    known_values: BTreeSet<(AttrName, BString)>,
    /// Cached values of parts of conditions, by the text of the part.
    part_values: RefCell<FxHashMap<BString, PartValues>>,
    /// Cached texts for combinations of patterns.
    joint_texts: RefCell<FxHashMap<Vec<PatternGoal>, SharedTexts>>,
}

type SharedTexts = Rc<Vec<Vec<u8>>>;

/// Values to try for each attribute of one part of a condition.
pub(super) type PartValues = Rc<Vec<(AttrName, TrialValues)>>;

/// Maximum number of values from conditions for an attribute.
const MAX_PLAIN_VALUES: usize = 3000;
/// Maximum number of values for an attribute that are only near the values from conditions.
const MAX_NEAR_VALUES: usize = 600;

impl ValuePool {
    /// Returns the values for an attribute, those from conditions first.
    pub(super) fn values_of(&self, name: &AttrName) -> impl Iterator<Item = &TrialValue> {
        let trials = self.trials.get(name);
        trials.into_iter().flat_map(|trials| trials.plain.iter().chain(&trials.near))
    }

    /// Returns the attributes that have values.
    pub(super) fn attributes(&self) -> impl Iterator<Item = &AttrName> {
        self.trials.keys()
    }

    /// Adds an attribute with a value of each kind.
    pub(super) fn add_attribute(&mut self, name: &AttrName) {
        if !self.trials.contains_key(name) {
            trial_values::one_of_each_kind().into_iter().for_each(|trial| self.add_value(name, trial, true));
        }
    }

    fn add_value(&mut self, name: &AttrName, trial: TrialValue, is_plain: bool) {
        let trials = self.trials.entry(name.clone()).or_default();
        let (trials, max) = if is_plain {
            (&mut trials.plain, MAX_PLAIN_VALUES)
        } else {
            (&mut trials.near, MAX_NEAR_VALUES)
        };
        let text = trial.as_ref().map_or_else(BString::default, Expr::unparse);
        if trials.len() < max && self.known_values.insert((name.clone(), text)) {
            trials.push(trial);
        }
    }

    /// Adds the values of a part of a condition, and returns them for each of its attributes.
    pub(super) fn add_part(&mut self, part: &Goal, world: &dyn World) -> PartValues {
        let values = self.part_values(part, world);
        for (name, trials) in values.iter() {
            self.add_attribute(name);
            trials.plain.iter().for_each(|trial| self.add_value(name, trial.clone(), true));
            trials.near.iter().for_each(|trial| self.add_value(name, trial.clone(), false));
        }
        values
    }

    /// Returns the values of a part of a condition for each of its attributes.
    pub(super) fn part_values(&self, part: &Goal, world: &dyn World) -> PartValues {
        let text = part.expr.without_parentheses().unparse();
        if let Some(values) = self.part_values.borrow().get(&text) {
            return values.clone();
        }
        let values = PartValues::new(trial_values::values_for_part(&part.expr, &part.attributes, world));
        self.part_values.borrow_mut().insert(text, values.clone());
        values
    }

    /// Returns texts with the wanted results for several patterns.
    pub(super) fn joint_texts(&self, patterns: &[PatternGoal]) -> SharedTexts {
        if let Some(texts) = self.joint_texts.borrow().get(patterns) {
            return texts.clone();
        }
        let texts = SharedTexts::new(joint_patterns::find_joint_texts(patterns));
        self.joint_texts.borrow_mut().insert(patterns.to_vec(), texts.clone());
        texts
    }
}
