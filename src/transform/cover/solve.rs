//! Looking for an ad that meets several goals at once.

use std::cell::Cell;
use std::collections::BTreeSet;

use super::goal::{Goal, Split};
use super::values::{self, Pool, Trial};
use crate::classad::{AttrName, ClassAd, Expr};
use crate::world::World;

/// Looks for ads.
pub(super) struct Solver<'a> {
    pub(super) world: &'a dyn World,
    pub(super) pool: &'a Pool,
}

/// So many evaluations are spent on one ad.
const EVALUATIONS: usize = 30_000;
/// So many values of one part are gone on with.
const MOST_WAYS: usize = 48;

/// A search under way: attributes that were given a value keep it.
#[derive(Clone)]
struct Search {
    goals: Vec<Goal>,
    ad: ClassAd,
    given: BTreeSet<AttrName>,
}

/// Gives an attribute a value.
pub(super) fn give(ad: &mut ClassAd, name: &AttrName, trial: &Trial) {
    match trial {
        Some(value) => ad.insert(name.clone(), value.clone()),
        None => {
            ad.remove(name.as_bytes());
        }
    }
}

impl Solver<'_> {
    /// An ad that meets all goals, made of `ad` with as few other values as it takes; those of the attributes `kept` stay.
    pub(super) fn solve(&self, goals: &[Goal], ad: &ClassAd, kept: &[&AttrName]) -> Option<ClassAd> {
        let mut flat = Vec::new();
        goals.iter().cloned().for_each(|goal| goal.flat(&mut flat));
        let given = kept.iter().map(|name| (*name).clone()).collect();
        let search = Search { goals: flat, ad: ad.clone(), given };
        self.go_on(search, &Cell::new(EVALUATIONS))
    }

    /// Whether all goals are met.
    pub(super) fn met(&self, goals: &[Goal], ad: &ClassAd) -> bool {
        goals.iter().all(|goal| goal.holds(ad, self.world))
    }

    fn holds(&self, goal: &Goal, ad: &ClassAd, left: &Cell<usize>) -> bool {
        left.set(left.get().saturating_sub(1));
        goal.holds(ad, self.world)
    }

    fn go_on(&self, mut search: Search, left: &Cell<usize>) -> Option<ClassAd> {
        let at = search.goals.iter().position(|goal| !self.holds(goal, &search.ad, left));
        let Some(at) = at else { return Some(search.ad) };
        match search.goals[at].split() {
            Split::All(parts) => {
                search.goals.remove(at);
                parts.into_iter().for_each(|part| part.flat(&mut search.goals));
                self.go_on(search, left)
            }
            Split::Any(ways) => ways.into_iter().find_map(|way| {
                let mut next = search.clone();
                next.goals.remove(at);
                way.into_iter().for_each(|part| part.flat(&mut next.goals));
                if left.get() == 0 { None } else { self.go_on(next, left) }
            }),
            Split::Leaf => {
                let goal = search.goals[at].clone();
                let open: Vec<AttrName> =
                    goal.names.iter().filter(|name| !search.given.contains(*name)).cloned().collect();
                let mut ways = Vec::new();
                self.ways(&goal, &open, &mut search.clone(), left, &mut ways);
                ways.into_iter().find_map(|(ad, given)| {
                    let next = Search { goals: search.goals.clone(), ad, given };
                    if left.get() == 0 { None } else { self.go_on(next, left) }
                })
            }
        }
    }

    /// The ads in which some of the open attributes have other values and the goal is reached, and with it all goals that speak of
    /// nothing else.
    fn ways(
        &self,
        goal: &Goal,
        open: &[AttrName],
        search: &mut Search,
        left: &Cell<usize>,
        found: &mut Vec<(ClassAd, BTreeSet<AttrName>)>,
    ) {
        for (at, name) in open.iter().enumerate() {
            let before = search.ad.get(name.as_bytes());
            search.given.insert(name.clone());
            for trial in
                self.pool.of(name).iter().cloned().chain(self.between(goal, name, &search.ad, open.len()))
            {
                if left.get() == 0 || found.len() >= MOST_WAYS {
                    break;
                }
                give(&mut search.ad, name, &trial);
                if self.holds(goal, &search.ad, left) {
                    let closed = search.goals.iter().filter(|goal| goal.names.is_subset(&search.given));
                    if closed.into_iter().all(|goal| self.holds(goal, &search.ad, left)) {
                        found.push((search.ad.clone(), search.given.clone()));
                    }
                } else if found.is_empty() && open.len() > 1 {
                    self.ways(goal, &open[at + 1..], search, left, found);
                }
            }
            give(&mut search.ad, name, &before);
            search.given.remove(name);
        }
    }

    /// Values at which the goal's expression changes while its other attributes are as they are.
    fn between(&self, goal: &Goal, name: &AttrName, ad: &ClassAd, open: usize) -> Vec<Trial> {
        // Alone it has its boundaries in the pool; what it is compared with may have another value now.
        if goal.names.len() < 2 || open > 2 {
            return Vec::new();
        }
        let mut trials: Vec<Trial> = values::boundaries(&goal.expr, name, ad, self.world)
            .into_iter()
            .map(|number| Some(Expr::literal(number)))
            .collect();
        let others = goal.names.iter().filter(|other| *other != name);
        trials.extend(others.filter_map(|other| ad.get(other.as_bytes())).map(Some));
        trials
    }
}
