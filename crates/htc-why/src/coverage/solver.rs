//! Search for an ad that meets several goals at once.

use std::cell::Cell;
use std::collections::BTreeSet;

use bstr::BString;

use super::goal::{Goal, GoalSplit};
use super::joint_patterns::PatternGoal;
use super::trial_values::{self, TrialValue};
use super::value_pool::{PartValues, ValuePool};
use htc_base::world::World;
use htc_classad::{AttrName, ClassAd, Expr};

/// Solver that searches for ads.
pub(super) struct AdSolver<'a> {
    pub(super) world: &'a dyn World,
    pub(super) value_pool: &'a ValuePool,
    /// Number of evaluations spent so far, on all ads.
    pub(super) evaluations_spent: Cell<usize>,
}

/// Effort and order of the search.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchStrategy {
    /// Search in the order `AsNeeded` only, for ads that other ads can replace.
    Quick,
    /// Search in the order `AsNeeded` first, for goals that are likely to be met.
    Usual,
    /// Search in the order `ChoicesFirst` first, for goals that are likely to be impossible.
    Thorough,
}

/// Result of the search for an ad.
pub(super) enum SolveOutcome {
    /// The ad meets all goals.
    Found(ClassAd),
    /// No combination of the tried values meets the goals.
    Impossible,
    /// There are too many combinations to try them all.
    GaveUp,
}

impl SolveOutcome {
    pub(super) fn into_ad(self) -> Option<ClassAd> {
        if let SolveOutcome::Found(ad) = self { Some(ad) } else { None }
    }
}

/// Maximum number of evaluations for one ad while the total is below `GENEROUS_EVALUATIONS`. Afterwards, a
/// third of it is the maximum.
const MAX_EVALUATIONS: usize = 30_000;
const GENEROUS_EVALUATIONS: usize = 2_000_000;
/// Maximum number of other goals whose values are tried for an attribute.
const MAX_OTHER_GOALS: usize = 64;
/// Maximum number of patterns that are combined.
const MAX_PATTERNS: usize = 8;
/// Maximum number of alternatives that are tried for one part.
const MAX_ALTERNATIVES: usize = 48;

/// State of a search; attributes that have been assigned keep their values.
#[derive(Clone)]
struct SearchState {
    goals: Vec<Goal>,
    ad: ClassAd,
    fixed_attributes: BTreeSet<AttrName>,
    order: GoalOrder,
}

impl SearchState {
    /// Returns the goals with one of them replaced by others, or `None` if two of them contradict each other.
    fn replace_goal(&self, at: usize, others: Vec<Goal>, budget: &Cell<usize>) -> Option<Vec<Goal>> {
        // Sorting the goals costs about as much as evaluating all of them.
        budget.set(budget.get().saturating_sub(self.goals.len()));
        if budget.get() == 0 {
            return None;
        }
        let mut goals = self.goals.clone();
        goals.remove(at);
        others.into_iter().all(|goal| goal.flatten_into(&mut goals)).then_some(goals)
    }
}

/// Point of the search at which a goal with several alternatives is split.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GoalOrder {
    /// Split the goal when the current ad does not meet it.
    AsNeeded,
    /// Split the goal before any attribute is assigned.
    ChoicesFirst,
}

/// Assigns a value to an attribute.
pub(super) fn assign_value(ad: &mut ClassAd, name: &AttrName, trial: &TrialValue) {
    match trial {
        Some(value) => ad.insert(name.clone(), value.clone()),
        None => {
            ad.remove(name.as_bytes());
        }
    }
}

impl AdSolver<'_> {
    /// Searches for an ad that meets all goals. It is derived from `ad` with few changes; the attributes
    /// `fixed` are not changed.
    pub(super) fn solve(
        &self,
        goals: &[Goal],
        ad: &ClassAd,
        fixed: &[&AttrName],
        strategy: SearchStrategy,
    ) -> SolveOutcome {
        let mut flat_goals = Vec::new();
        if !goals.iter().cloned().all(|goal| goal.flatten_into(&mut flat_goals)) {
            return SolveOutcome::Impossible;
        }
        let fixed_attributes: BTreeSet<AttrName> = fixed.iter().map(|name| (*name).clone()).collect();
        let is_generous = self.evaluations_spent.get() < GENEROUS_EVALUATIONS;
        if strategy == SearchStrategy::Quick && !is_generous {
            return SolveOutcome::GaveUp;
        }
        let evaluations = if is_generous { MAX_EVALUATIONS } else { MAX_EVALUATIONS / 3 };
        let mut is_exhaustive = true;
        let mut orders = vec![GoalOrder::AsNeeded, GoalOrder::ChoicesFirst];
        match strategy {
            SearchStrategy::Thorough => orders.reverse(),
            SearchStrategy::Quick => orders.truncate(1),
            SearchStrategy::Usual if flat_goals.iter().all(|goal| goal.alternative_count == 0) => {
                orders.truncate(1)
            }
            SearchStrategy::Usual => {}
        }
        for order in orders {
            let search = SearchState {
                goals: flat_goals.clone(),
                ad: ad.clone(),
                fixed_attributes: fixed_attributes.clone(),
                order,
            };
            let budget = Cell::new(evaluations);
            let found = self.continue_search(search, &budget);
            self.evaluations_spent.set(self.evaluations_spent.get() + evaluations - budget.get());
            if let Some(ad) = found {
                return SolveOutcome::Found(ad);
            }
            is_exhaustive = budget.get() > 0;
            if is_exhaustive && order == GoalOrder::ChoicesFirst {
                break;
            }
        }
        if is_exhaustive { SolveOutcome::Impossible } else { SolveOutcome::GaveUp }
    }

    /// Returns true if the ad meets all goals.
    pub(super) fn are_all_met(&self, goals: &[Goal], ad: &ClassAd) -> bool {
        goals.iter().all(|goal| goal.is_met_by(ad, self.world))
    }

    fn check_goal(&self, goal: &Goal, ad: &ClassAd, budget: &Cell<usize>) -> bool {
        budget.set(budget.get().saturating_sub(1));
        goal.is_met_by(ad, self.world)
    }

    fn continue_search(&self, search: SearchState, budget: &Cell<usize>) -> Option<ClassAd> {
        if search.order == GoalOrder::ChoicesFirst {
            return self.search_alternatives(search, budget);
        }
        let at = search.goals.iter().position(|goal| !self.check_goal(goal, &search.ad, budget));
        let Some(at) = at else { return Some(search.ad) };
        match search.goals[at].split() {
            GoalSplit::AllOf(parts) => {
                let goals = search.replace_goal(at, parts, budget)?;
                self.continue_search(SearchState { goals, ..search }, budget)
            }
            GoalSplit::AnyOf(alternatives) => alternatives.into_iter().find_map(|alternative| {
                let goals = search.replace_goal(at, alternative, budget)?;
                if budget.get() == 0 {
                    None
                } else {
                    self.continue_search(SearchState { goals, ..search.clone() }, budget)
                }
            }),
            GoalSplit::Leaf => {
                let goal = search.goals[at].clone();
                let open: Vec<AttrName> = goal
                    .attributes
                    .iter()
                    .filter(|name| !search.fixed_attributes.contains(*name))
                    .cloned()
                    .collect();
                let mut alternatives = Vec::new();
                self.find_candidate_ads(&goal, &open, &mut search.clone(), budget, &mut alternatives);
                alternatives.into_iter().find_map(|(ad, fixed_attributes)| {
                    let next = SearchState { ad, fixed_attributes, ..search.clone() };
                    if budget.get() == 0 { None } else { self.continue_search(next, budget) }
                })
            }
        }
    }

    /// Chooses the goal with the fewest alternatives, and tries each alternative that no other goal excludes.
    fn search_alternatives(&self, search: SearchState, budget: &Cell<usize>) -> Option<ClassAd> {
        let mut fewest: Option<Vec<Vec<Goal>>> = None;
        for (at, goal) in search.goals.iter().enumerate().filter(|(_, goal)| goal.alternative_count > 0) {
            let alternatives = match goal.split() {
                GoalSplit::AnyOf(alternatives) => alternatives,
                GoalSplit::AllOf(parts) => vec![parts],
                GoalSplit::Leaf => continue,
            };
            let alternatives: Vec<Vec<Goal>> = alternatives
                .into_iter()
                .filter_map(|alternative| search.replace_goal(at, alternative, budget))
                .collect();
            let count = alternatives.len();
            if fewest.as_ref().is_none_or(|fewest| count < fewest.len()) {
                fewest = Some(alternatives);
            }
            if count < 2 {
                break;
            }
        }
        let Some(alternatives) = fewest else { return self.solve_by_group(search, budget) };
        alternatives.into_iter().find_map(|goals| {
            if budget.get() == 0 {
                None
            } else {
                self.search_alternatives(SearchState { goals, ..search.clone() }, budget)
            }
        })
    }

    /// Solves the goals in groups, one after the other: goals are in the same group if they share attributes,
    /// directly or through others.
    fn solve_by_group(&self, search: SearchState, budget: &Cell<usize>) -> Option<ClassAd> {
        let SearchState { goals, mut ad, fixed_attributes, .. } = search;
        let mut groups: Vec<(BTreeSet<AttrName>, Vec<Goal>)> = Vec::new();
        for goal in goals {
            let mut names: BTreeSet<AttrName> =
                goal.attributes.difference(&fixed_attributes).cloned().collect();
            let (linked, others): (Vec<_>, Vec<_>) =
                groups.into_iter().partition(|(known, _)| !known.is_disjoint(&names));
            groups = others;
            let mut group_goals = Vec::new();
            for (known, goals) in linked {
                names.extend(known);
                group_goals.extend(goals);
            }
            group_goals.push(goal);
            groups.push((names, group_goals));
        }
        groups.sort_by_key(|(names, goals)| (names.len(), goals.len()));
        for (_, goals) in groups {
            let search = SearchState {
                goals,
                ad,
                fixed_attributes: fixed_attributes.clone(),
                order: GoalOrder::AsNeeded,
            };
            ad = self.continue_search(search, budget)?;
        }
        Some(ad)
    }

    /// Finds ads that meet the goal because some of the open attributes have other values. All other goals whose
    /// attributes are then fixed are met as well.
    fn find_candidate_ads(
        &self,
        goal: &Goal,
        open: &[AttrName],
        search: &mut SearchState,
        budget: &Cell<usize>,
        found: &mut Vec<(ClassAd, BTreeSet<AttrName>)>,
    ) {
        for (at, name) in open.iter().enumerate() {
            let old_value = search.ad.get(name.as_bytes());
            search.fixed_attributes.insert(name.clone());
            for trial in self.values_to_try(goal, name, search, open.len()) {
                if budget.get() == 0 || found.len() >= MAX_ALTERNATIVES {
                    break;
                }
                assign_value(&mut search.ad, name, &trial);
                if self.check_goal(goal, &search.ad, budget) {
                    let fixed_goals = search
                        .goals
                        .iter()
                        .filter(|goal| goal.attributes.is_subset(&search.fixed_attributes));
                    if fixed_goals.into_iter().all(|goal| self.check_goal(goal, &search.ad, budget)) {
                        found.push((search.ad.clone(), search.fixed_attributes.clone()));
                    }
                } else if found.is_empty() && open.len() > 1 {
                    self.find_candidate_ads(goal, &open[at + 1..], search, budget, found);
                }
            }
            assign_value(&mut search.ad, name, &old_value);
            search.fixed_attributes.remove(name);
        }
    }

    /// Returns the values to try for an attribute: first those of the goal itself, then those of the other
    /// goals, then all known ones.
    fn values_to_try(
        &self,
        goal: &Goal,
        name: &AttrName,
        search: &SearchState,
        open: usize,
    ) -> Vec<TrialValue> {
        let goals_with_name = || search.goals.iter().filter(|other| other.attributes.contains(name));
        let own_values = self.value_pool.part_values(goal, self.world);
        let others = goals_with_name().filter(|other| other.alternative_count == 0);
        let others: Vec<_> = others
            .take(MAX_OTHER_GOALS)
            .map(|other| self.value_pool.part_values(other, self.world))
            .collect();
        let values_of_name = |own_values: &PartValues| {
            own_values.iter().find(|(other, _)| other == name).map(|(_, trials)| trials.clone())
        };
        let mut trials = Vec::new();
        if let Some(own_values) = values_of_name(&own_values) {
            trials.extend(own_values.plain.into_iter().chain(own_values.near));
        }
        let mut patterns: Vec<PatternGoal> = Vec::new();
        for wanted in goals_with_name().filter_map(|other| PatternGoal::from_goal(other, name)) {
            if patterns.len() < MAX_PATTERNS && !patterns.contains(&wanted) {
                patterns.push(wanted);
            }
        }
        if !patterns.is_empty() {
            let texts = self.value_pool.joint_texts(&patterns);
            trials.extend(texts.iter().map(|text| Some(Expr::literal(BString::from(&text[..])))));
        }
        trials.extend(others.iter().filter_map(values_of_name).flat_map(|trials| trials.plain));
        trials.extend(self.boundary_values(goal, name, &search.ad, open));
        trials.extend(self.value_pool.values_of(name).cloned());
        trials
    }

    /// Returns values at which the goal's expression changes while its other attributes keep their values.
    fn boundary_values(&self, goal: &Goal, name: &AttrName, ad: &ClassAd, open: usize) -> Vec<TrialValue> {
        // A goal with one attribute has its boundaries in the pool. With two, the other attribute may have a
        // new value now.
        if goal.attributes.len() < 2 || open > 2 {
            return Vec::new();
        }
        let mut trials: Vec<TrialValue> = trial_values::boundaries(&goal.expr, name, ad, self.world)
            .into_iter()
            .map(|number| Some(Expr::literal(number)))
            .collect();
        let others = goal.attributes.iter().filter(|other| *other != name);
        trials.extend(others.filter_map(|other| ad.get(other.as_bytes())).map(Some));
        trials
    }
}
