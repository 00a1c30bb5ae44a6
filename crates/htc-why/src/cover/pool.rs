//! The values of all attributes that conditions speak of.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bstr::BString;
use rustc_hash::FxHashMap;

use super::goal::Goal;
use super::joined::{self, Wanted};
use super::values::{self, Trial, Trials};
use htc_base::world::World;
use htc_classad::{AttrName, Expr};

/// Values for attributes.
#[derive(Debug, Default)]
pub(super) struct Pool {
    trials: BTreeMap<AttrName, Trials>,
    known: BTreeSet<(AttrName, BString)>,
    /// By what it is what a part of a condition has for its attributes.
    own: RefCell<FxHashMap<BString, Own>>,
    /// By patterns the texts that are as wanted.
    joined: RefCell<FxHashMap<Vec<Wanted>, Texts>>,
}

type Texts = Rc<Vec<Vec<u8>>>;

/// The values that a part of a condition has for each of its attributes.
pub(super) type Own = Rc<Vec<(AttrName, Trials)>>;

/// No attribute is tried with more values that conditions speak of.
const MOST_PLAIN: usize = 3000;
/// Nor with more that are nearly those.
const MOST_NEAR: usize = 600;

impl Pool {
    /// The values for an attribute, those that conditions speak of first.
    pub(super) fn of(&self, name: &AttrName) -> impl Iterator<Item = &Trial> {
        let trials = self.trials.get(name);
        trials.into_iter().flat_map(|trials| trials.plain.iter().chain(&trials.near))
    }

    /// The attributes.
    pub(super) fn names(&self) -> impl Iterator<Item = &AttrName> {
        self.trials.keys()
    }

    /// Takes in an attribute, with a value of each kind.
    pub(super) fn name(&mut self, name: &AttrName) {
        if !self.trials.contains_key(name) {
            values::any_kind().into_iter().for_each(|trial| self.add(name, (trial, true)));
        }
    }

    fn add(&mut self, name: &AttrName, (trial, is_plain): (Trial, bool)) {
        let trials = self.trials.entry(name.clone()).or_default();
        let (trials, most) =
            if is_plain { (&mut trials.plain, MOST_PLAIN) } else { (&mut trials.near, MOST_NEAR) };
        let text = trial.as_ref().map_or_else(BString::default, Expr::unparse);
        if trials.len() < most && self.known.insert((name.clone(), text)) {
            trials.push(trial);
        }
    }

    /// Takes in what a part of a condition speaks of; returns the values that it has for each of its attributes.
    pub(super) fn part(&mut self, part: &Goal, world: &dyn World) -> Own {
        let own = self.own(part, world);
        for (name, trials) in own.iter() {
            self.name(name);
            trials.plain.iter().for_each(|trial| self.add(name, (trial.clone(), true)));
            trials.near.iter().for_each(|trial| self.add(name, (trial.clone(), false)));
        }
        own
    }

    /// The values that a part of a condition has for each of its attributes.
    pub(super) fn own(&self, part: &Goal, world: &dyn World) -> Own {
        let text = part.expr.without_parentheses().unparse();
        if let Some(own) = self.own.borrow().get(&text) {
            return own.clone();
        }
        let own = Own::new(values::of_part(&part.expr, &part.names, world));
        self.own.borrow_mut().insert(text, own.clone());
        own
    }

    /// Texts that are as several patterns want them.
    pub(super) fn joined(&self, patterns: &[Wanted]) -> Texts {
        if let Some(texts) = self.joined.borrow().get(patterns) {
            return texts.clone();
        }
        let texts = Texts::new(joined::texts(patterns));
        self.joined.borrow_mut().insert(patterns.to_vec(), texts.clone());
        texts
    }
}
