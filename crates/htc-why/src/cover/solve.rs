//! Looking for an ad that meets several goals at once.

use std::cell::Cell;
use std::collections::BTreeSet;

use bstr::BString;

use super::goal::{Goal, Split};
use super::joined::Wanted;
use super::pool::{Own, Pool};
use super::values::{self, Trial};
use htc_base::world::World;
use htc_classad::{AttrName, ClassAd, Expr};

/// Looks for ads.
pub(super) struct Solver<'a> {
    pub(super) world: &'a dyn World,
    pub(super) pool: &'a Pool,
    /// The evaluations spent so far, on all ads.
    pub(super) spent: Cell<usize>,
}

/// How an ad is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// Where another ad serves as well: from what there is to what is wanted.
    Quick,
    /// Where it is likely that there is one: in that way first.
    Usual,
    /// Where it is likely that there is none: until that is known.
    Thorough,
}

/// What came of looking for an ad.
pub(super) enum Solved {
    /// It meets all goals.
    Ad(ClassAd),
    /// With the values that are tried there is none.
    None,
    /// There were too many ways to try them all.
    GaveUp,
}

impl Solved {
    pub(super) fn ad(self) -> Option<ClassAd> {
        if let Solved::Ad(ad) = self { Some(ad) } else { None }
    }
}

/// So many evaluations are spent on one ad, as long as all together took fewer than `GENEROUS`.
const EVALUATIONS: usize = 30_000;
const GENEROUS: usize = 2_000_000;
/// The values of so many other goals are tried for an attribute.
const MOST_OTHERS: usize = 64;
/// So many patterns are joined.
const MOST_PATTERNS: usize = 8;
/// So many values of one part are gone on with.
const MOST_WAYS: usize = 48;

/// A search under way: attributes that were given a value keep it.
#[derive(Clone)]
struct Search {
    goals: Vec<Goal>,
    ad: ClassAd,
    given: BTreeSet<AttrName>,
    order: Order,
}

impl Search {
    /// The goals with others in place of one of them; `None` where two contradict one another.
    fn with(&self, at: usize, others: Vec<Goal>, left: &Cell<usize>) -> Option<Vec<Goal>> {
        // That costs about as much as evaluating all of them.
        left.set(left.get().saturating_sub(self.goals.len()));
        if left.get() == 0 {
            return None;
        }
        let mut goals = self.goals.clone();
        goals.remove(at);
        others.into_iter().all(|goal| goal.flat(&mut goals)).then_some(goals)
    }
}

/// When a goal that can be met in several ways is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// When it is not met as it is.
    AsNeeded,
    /// Before any attribute is given a value.
    ChoicesFirst,
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
    pub(super) fn solve(
        &self,
        goals: &[Goal],
        ad: &ClassAd,
        (kept, effort): (&[&AttrName], Effort),
    ) -> Solved {
        let mut flat = Vec::new();
        if !goals.iter().cloned().all(|goal| goal.flat(&mut flat)) {
            return Solved::None;
        }
        let given: BTreeSet<AttrName> = kept.iter().map(|name| (*name).clone()).collect();
        let is_generous = self.spent.get() < GENEROUS;
        if effort == Effort::Quick && !is_generous {
            return Solved::GaveUp;
        }
        let evaluations = if is_generous { EVALUATIONS } else { EVALUATIONS / 3 };
        let mut is_all = true;
        let mut orders = vec![Order::AsNeeded, Order::ChoicesFirst];
        match effort {
            Effort::Thorough => orders.reverse(),
            Effort::Quick => orders.truncate(1),
            Effort::Usual if flat.iter().all(|goal| goal.ways == 0) => orders.truncate(1),
            Effort::Usual => {}
        }
        for order in orders {
            let search = Search { goals: flat.clone(), ad: ad.clone(), given: given.clone(), order };
            let left = Cell::new(evaluations);
            let found = self.go_on(search, &left);
            self.spent.set(self.spent.get() + evaluations - left.get());
            if let Some(ad) = found {
                return Solved::Ad(ad);
            }
            is_all = left.get() > 0;
            if is_all && order == Order::ChoicesFirst {
                break;
            }
        }
        if is_all { Solved::None } else { Solved::GaveUp }
    }

    /// Whether all goals are met.
    pub(super) fn met(&self, goals: &[Goal], ad: &ClassAd) -> bool {
        goals.iter().all(|goal| goal.holds(ad, self.world))
    }

    fn holds(&self, goal: &Goal, ad: &ClassAd, left: &Cell<usize>) -> bool {
        left.set(left.get().saturating_sub(1));
        goal.holds(ad, self.world)
    }

    fn go_on(&self, search: Search, left: &Cell<usize>) -> Option<ClassAd> {
        if search.order == Order::ChoicesFirst {
            return self.choose(search, left);
        }
        let at = search.goals.iter().position(|goal| !self.holds(goal, &search.ad, left));
        let Some(at) = at else { return Some(search.ad) };
        match search.goals[at].split() {
            Split::All(parts) => {
                let goals = search.with(at, parts, left)?;
                self.go_on(Search { goals, ..search }, left)
            }
            Split::Any(ways) => ways.into_iter().find_map(|way| {
                let goals = search.with(at, way, left)?;
                if left.get() == 0 { None } else { self.go_on(Search { goals, ..search.clone() }, left) }
            }),
            Split::Leaf => {
                let goal = search.goals[at].clone();
                let open: Vec<AttrName> =
                    goal.names.iter().filter(|name| !search.given.contains(*name)).cloned().collect();
                let mut ways = Vec::new();
                self.ways(&goal, &open, &mut search.clone(), left, &mut ways);
                ways.into_iter().find_map(|(ad, given)| {
                    let next = Search { ad, given, ..search.clone() };
                    if left.get() == 0 { None } else { self.go_on(next, left) }
                })
            }
        }
    }

    /// Goes on with each way to meet the goal that has the fewest, of those that no other goal rules out.
    fn choose(&self, search: Search, left: &Cell<usize>) -> Option<ClassAd> {
        let mut fewest: Option<Vec<Vec<Goal>>> = None;
        for (at, goal) in search.goals.iter().enumerate().filter(|(_, goal)| goal.ways > 0) {
            let ways = match goal.split() {
                Split::Any(ways) => ways,
                Split::All(parts) => vec![parts],
                Split::Leaf => continue,
            };
            let ways: Vec<Vec<Goal>> =
                ways.into_iter().filter_map(|way| search.with(at, way, left)).collect();
            let count = ways.len();
            if fewest.as_ref().is_none_or(|fewest| count < fewest.len()) {
                fewest = Some(ways);
            }
            if count < 2 {
                break;
            }
        }
        let Some(ways) = fewest else { return self.by_group(search, left) };
        ways.into_iter().find_map(|goals| {
            if left.get() == 0 { None } else { self.choose(Search { goals, ..search.clone() }, left) }
        })
    }

    /// Meets the goals that have attributes in common, directly or through others, one group after the other.
    fn by_group(&self, search: Search, left: &Cell<usize>) -> Option<ClassAd> {
        let Search { goals, mut ad, given, .. } = search;
        let mut groups: Vec<(BTreeSet<AttrName>, Vec<Goal>)> = Vec::new();
        for goal in goals {
            let mut names: BTreeSet<AttrName> = goal.names.difference(&given).cloned().collect();
            let (linked, others): (Vec<_>, Vec<_>) =
                groups.into_iter().partition(|(known, _)| !known.is_disjoint(&names));
            groups = others;
            let mut together = Vec::new();
            for (known, goals) in linked {
                names.extend(known);
                together.extend(goals);
            }
            together.push(goal);
            groups.push((names, together));
        }
        groups.sort_by_key(|(names, goals)| (names.len(), goals.len()));
        for (_, goals) in groups {
            let search = Search { goals, ad, given: given.clone(), order: Order::AsNeeded };
            ad = self.go_on(search, left)?;
        }
        Some(ad)
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
            for trial in self.trials(goal, name, search, open.len()) {
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

    /// What an attribute is tried with: what the goal itself speaks of, then what the others do, then what is known of it.
    fn trials(&self, goal: &Goal, name: &AttrName, search: &Search, open: usize) -> Vec<Trial> {
        let about = || search.goals.iter().filter(|other| other.names.contains(name));
        let own = self.pool.own(goal, self.world);
        let others = about().filter(|other| other.ways == 0);
        let others: Vec<_> = others.take(MOST_OTHERS).map(|other| self.pool.own(other, self.world)).collect();
        let of = |own: &Own| own.iter().find(|(other, _)| other == name).map(|(_, trials)| trials.clone());
        let mut trials = Vec::new();
        if let Some(own) = of(&own) {
            trials.extend(own.plain.into_iter().chain(own.near));
        }
        let mut patterns: Vec<Wanted> = Vec::new();
        for wanted in about().filter_map(|other| Wanted::of(other, name)) {
            if patterns.len() < MOST_PATTERNS && !patterns.contains(&wanted) {
                patterns.push(wanted);
            }
        }
        if !patterns.is_empty() {
            let texts = self.pool.joined(&patterns);
            trials.extend(texts.iter().map(|text| Some(Expr::literal(BString::from(&text[..])))));
        }
        trials.extend(others.iter().filter_map(of).flat_map(|trials| trials.plain));
        trials.extend(self.between(goal, name, &search.ad, open));
        trials.extend(self.pool.of(name).cloned());
        trials
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
