//! Generation of ads from conditions. For each part of each condition there is an ad in which the part is
//! true and another in which it is not, while the other parts leave the decision to this part. Attributes get
//! values equal to, below and above those they are compared with.
//!
//! Such ads reveal a difference between two rule sets that random ads do not: a text that matches a pattern,
//! a time an hour ago, a number between 4000 and 4001. Outcomes for which no ad was found are reported by name,
//! so that "no difference" is never claimed for conditions that were not tried.
//!
//! | module | subject |
//! |---|---|
//! | `literal_names` | attributes that rules name |
//! | `transform_observations` | conditions and values evaluated during a run |
//! | `goal` | wanted outcomes of expressions |
//! | `leaves` | parts of conditions |
//! | `value_pool`, `trial_values`, `pattern_texts`, `joint_patterns` | values to try for attributes |
//! | `solver` | search for ads |

mod goal;
mod joint_patterns;
mod leaves;
mod literal_names;
mod pattern_texts;
mod solver;
mod transform_observations;
mod trial_values;
mod value_pool;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

pub use goal::{Goal, WantedOutcomes};
pub use literal_names::attributes_mentioned_by;
pub use transform_observations::TransformObservations;

use self::leaves::ConditionLeaves;
use self::solver::{AdSolver, SearchStrategy, SolveOutcome, assign_value};
use self::trial_values::TrialValue;
use self::value_pool::{PartValues, ValuePool};
use htc_base::world::World;
use htc_classad::{AttrName, ClassAd, Expr, format};

/// Expression that is a condition or contains conditions.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Name in messages, such as `route A: REQUIREMENTS`.
    pub name: String,
    /// Expression. It is evaluated with the job ad as MY and without a TARGET.
    pub expr: Expr,
    /// True if the expression is a condition itself, false if it is a value that contains conditions.
    pub is_condition: bool,
    /// Goals that an ad must meet for the expression to be evaluated.
    pub preconditions: Vec<Goal>,
    /// True if both sides are known to evaluate the same expression with the same consequences, so that no ad
    /// has to reach it.
    pub is_same_in_both: bool,
}

/// Attributes that are referenced without being compared.
#[derive(Clone, Debug)]
pub struct ReferencedAttributes {
    /// Names of the attributes.
    pub attributes: BTreeSet<AttrName>,
    /// Goals that an ad must meet for the attributes to be read.
    pub preconditions: Vec<Goal>,
    /// True if both sides are known to treat the attributes in the same way.
    pub is_same_in_both: bool,
}

/// Requirements for jobs on which the two sides differ: all goals of the first list and at least one of the
/// second.
#[derive(Clone, Debug)]
pub struct OpposedGoals {
    /// Name of the difference in messages.
    pub name: String,
    /// Goals that must all be met.
    pub all_of: Vec<Goal>,
    /// Goals of which one must be met.
    pub one_of: Vec<Goal>,
}

/// Conditions, with the outcomes of their parts that were observed so far.
pub struct ConditionCoverage<'a> {
    world: &'a dyn World,
    base: ClassAd,
    /// Test that an ad must pass to be tried.
    is_possible: fn(&ClassAd) -> bool,
    conditions: Vec<TrackedCondition>,
    names: Vec<ReferencedAttributes>,
    opposed: Vec<OpposedGoals>,
    /// Numbers of conditions, of attribute sets and of opposed goals that have been tried.
    tried_counts: (usize, usize, usize),
    /// Names of opposed goals for which there were too many combinations to try all of them.
    given_up_names: Vec<String>,
    /// Number of evaluations spent on the search for ads.
    evaluations_spent: usize,
    value_pool: ValuePool,
    /// Hashes of the ads and attribute sets, to avoid duplicates.
    known_hashes: FxHashSet<u64>,
    /// Indexes of conditions by the hash of their text.
    condition_by_hash: FxHashMap<u64, usize>,
    /// Some of the ads, as a base for random ads.
    kept_ads: Vec<ClassAd>,
}

/// Condition with its observed outcomes.
struct TrackedCondition {
    condition: Condition,
    leaves: ConditionLeaves,
    /// Values of each part for its attributes.
    leaf_values: Vec<PartValues>,
    /// Outcomes seen for the whole condition and then for each part: true, and not true.
    outcomes_seen: Vec<[bool; 2]>,
    /// True if both sides have the condition, so that values from other conditions need not be tried.
    is_shared: bool,
}

/// Maximum number of values from other conditions to try for each attribute of a condition.
const MAX_TRIALS: usize = 10_000;
/// Maximum total number of parts up to which conditions that are equal on both sides are tried as well. A difference
/// elsewhere may affect them although their text is the same. With more parts, this would take minutes.
const MAX_PARTS_TO_TRY_SHARED: usize = 200;
/// Maximum number of ads kept as a base for random ads.
const MAX_KEPT_ADS: usize = 400;

impl<'a> ConditionCoverage<'a> {
    /// Creates an empty coverage. Ads will be derived from `base` and evaluated in `world`.
    pub fn new(base: ClassAd, world: &'a dyn World) -> Self {
        ConditionCoverage {
            world,
            kept_ads: vec![base.clone()],
            base,
            is_possible: |_| true,
            conditions: Vec::new(),
            names: Vec::new(),
            opposed: Vec::new(),
            tried_counts: (0, 0, 0),
            given_up_names: Vec::new(),
            evaluations_spent: 0,
            value_pool: ValuePool::default(),
            known_hashes: FxHashSet::default(),
            condition_by_hash: FxHashMap::default(),
        }
    }

    /// Restricts the ads to those that pass the test.
    #[must_use]
    pub fn with_ad_test(mut self, is_possible: fn(&ClassAd) -> bool) -> Self {
        self.is_possible = is_possible;
        self
    }

    /// Adds a condition, unless it is already known.
    pub fn add_condition(&mut self, condition: Condition) {
        let text = format!("{} {}", condition.expr, format_goals(&condition.preconditions));
        if let Some(at) = self.condition_by_hash.get(&hash_bytes(text.as_bytes())) {
            self.conditions[*at].is_shared = true;
            return;
        }
        self.condition_by_hash.insert(hash_bytes(text.as_bytes()), self.conditions.len());
        let leaves = ConditionLeaves::from_expr(&condition.expr, condition.is_condition);
        let leaf_values =
            leaves.leaves.iter().map(|leaf| self.value_pool.add_part(&leaf.goal, self.world)).collect();
        let outcomes_seen = vec![[false; 2]; leaves.leaves.len() + 1];
        self.conditions.push(TrackedCondition {
            condition,
            leaves,
            leaf_values,
            outcomes_seen,
            is_shared: false,
        });
    }

    /// Adds attributes that are only referenced, unless they are already known.
    pub fn add_attributes(&mut self, names: ReferencedAttributes) {
        let text = format!("{:?} {}", names.attributes, format_goals(&names.preconditions));
        if self.known_hashes.insert(hash_bytes(text.as_bytes())) {
            names.attributes.iter().for_each(|name| self.value_pool.add_attribute(name));
            self.names.push(names);
        }
    }

    /// Adds goals on which the two sides differ.
    pub fn add_opposed_goals(&mut self, opposed: OpposedGoals) {
        self.opposed.push(opposed);
    }

    /// Passes to `try_out` the ads for each part of each condition that was added since the last call of this
    /// function, until `try_out` returns false.
    fn try_each_part(&mut self, try_out: &mut dyn FnMut(&ClassAd) -> bool) {
        while self.tried_counts.2 < self.opposed.len() {
            let ads = self.opposing_ads(self.tried_counts.2);
            self.tried_counts.2 += 1;
            if !self.try_ads(&ads, try_out) {
                return;
            }
        }
        let skips_shared = self.skips_shared_parts();
        while self.tried_counts.0 < self.conditions.len() {
            let at = self.tried_counts.0;
            self.tried_counts.0 += 1;
            if skips_shared && self.conditions[at].condition.is_same_in_both {
                continue;
            }
            for leaf in 0..self.conditions[at].leaves.leaves.len() {
                let ads = self.deciding_ads(at, leaf);
                if !self.try_ads(&ads, try_out) {
                    return;
                }
            }
        }
        while self.tried_counts.1 < self.names.len() {
            let at = self.tried_counts.1;
            self.tried_counts.1 += 1;
            if skips_shared && self.names[at].is_same_in_both {
                continue;
            }
            let ads = self.attribute_sweep_ads(at);
            if !self.try_ads(&ads, try_out) {
                return;
            }
        }
    }

    /// Returns true if there are so many parts that those common to both sides are skipped.
    fn skips_shared_parts(&self) -> bool {
        self.conditions.iter().map(|tested| tested.leaves.leaves.len()).sum::<usize>()
            > MAX_PARTS_TO_TRY_SHARED
    }

    fn solver(&self) -> AdSolver<'_> {
        AdSolver {
            world: self.world,
            value_pool: &self.value_pool,
            evaluations_spent: Cell::new(self.evaluations_spent),
        }
    }

    fn try_ads(&mut self, ads: &[ClassAd], try_out: &mut dyn FnMut(&ClassAd) -> bool) -> bool {
        ads.iter().all(|ad| {
            if !(self.is_possible)(ad) || !self.known_hashes.insert(hash_bytes(&format::long::print(ad))) {
                return true;
            }
            if self.kept_ads.len() < MAX_KEPT_ADS {
                self.kept_ads.push(ad.clone());
            }
            self.record_ad(ad);
            try_out(ad)
        })
    }

    /// Records the outcomes of the conditions for an ad.
    pub fn record_ad(&mut self, ad: &ClassAd) {
        for TrackedCondition { condition, leaves, outcomes_seen: outcomes, .. } in &mut self.conditions {
            let exprs =
                std::iter::once(&condition.expr).chain(leaves.leaves.iter().map(|leaf| &leaf.goal.expr));
            for (expr, outcomes) in exprs.zip(outcomes).filter(|(_, outcomes)| **outcomes != [true; 2]) {
                let is_true = goal::evaluate(expr, ad, self.world).truth() == Some(true);
                outcomes[usize::from(!is_true)] = true;
            }
        }
    }

    /// Returns ads in which one part decides the result of a condition: ads for which the part is true, ads for which
    /// it is not, and variants of them with each trial value of the part's attributes.
    fn deciding_ads(&mut self, condition: usize, at: usize) -> Vec<ClassAd> {
        let solver = self.solver();
        let TrackedCondition { condition, leaves, leaf_values, is_shared, .. } = &self.conditions[condition];
        let leaf = &leaves.leaves[at];
        let context_goals = [&condition.preconditions[..], &leaf.sibling_goals].concat();
        let solve_for = |want| {
            let wanted = [Goal { wanted: want, ..leaf.goal.clone() }];
            // If the rest of the condition cannot be satisfied, only the part is tried.
            [&context_goals[..], &leaf.sibling_goals, &[]].into_iter().find_map(|other_goals| {
                solver
                    .solve(&[other_goals, &wanted].concat(), &self.base, &[], SearchStrategy::Usual)
                    .into_ad()
            })
        };
        let mut ads: Vec<ClassAd> =
            [WantedOutcomes::TRUE, WantedOutcomes::NOT_TRUE].into_iter().filter_map(solve_for).collect();
        let base_ads = ads.clone();
        for (name, values) in leaf_values[at].iter() {
            let values = values.plain.iter().chain(&values.near);
            let trials: Vec<&TrialValue> = if *is_shared {
                values.collect()
            } else {
                // All conditions together may have too many values, so each part tries only a share of them.
                let pool = self.value_pool.values_of(name);
                let step = (pool.count() * leaves.leaves.len()).div_ceil(MAX_TRIALS).max(1);
                values.chain(self.value_pool.values_of(name).skip(at % step).step_by(step)).collect()
            };
            ads.extend(
                base_ads
                    .iter()
                    .flat_map(|ad| ads_with_each_value(&solver, &context_goals, ad, name, &trials)),
            );
        }
        self.evaluations_spent = solver.evaluations_spent.take();
        ads
    }

    /// Returns ads with a value of each kind for each attribute.
    fn attribute_sweep_ads(&mut self, at: usize) -> Vec<ClassAd> {
        let solver = self.solver();
        let ReferencedAttributes { attributes: names, preconditions, .. } = &self.names[at];
        let Some(ad) = solver.solve(preconditions, &self.base, &[], SearchStrategy::Usual).into_ad() else {
            return Vec::new();
        };
        let trials = trial_values::one_of_each_kind();
        let trials: Vec<&TrialValue> = trials.iter().collect();
        let swept =
            names.iter().flat_map(|name| ads_with_each_value(&solver, preconditions, &ad, name, &trials));
        let ads = std::iter::once(ad.clone()).chain(swept).collect();
        self.evaluations_spent = solver.evaluations_spent.take();
        ads
    }

    /// Returns an ad for each goal in `one_of` that can be met together with all goals in `all_of`.
    fn opposing_ads(&mut self, at: usize) -> Vec<ClassAd> {
        let solver = self.solver();
        let OpposedGoals { name, all_of, one_of } = &self.opposed[at];
        let mut ads = Vec::new();
        let mut gave_up = false;
        for goal in one_of {
            match solver.solve(
                &[&all_of[..], std::slice::from_ref(goal)].concat(),
                &self.base,
                &[],
                SearchStrategy::Thorough,
            ) {
                SolveOutcome::Found(ad) => ads.push(ad),
                SolveOutcome::Impossible => {}
                SolveOutcome::GaveUp => gave_up = true,
            }
        }
        let given_up = gave_up.then(|| name.clone());
        self.evaluations_spent = solver.evaluations_spent.take();
        self.given_up_names.extend(given_up);
        ads
    }

    /// Tries the ads of all conditions and then `random_count` random ads, until `try_out` returns false.
    /// `add_observed` adds the conditions that were evaluated in the meantime; each round may reach further conditions.
    pub fn search(
        &mut self,
        seeds: &[ClassAd],
        random_count: usize,
        random: &mut SeededRandom,
        try_out: &mut dyn FnMut(&ClassAd) -> bool,
        add_observed: &dyn Fn(&mut ConditionCoverage<'_>),
    ) {
        const ROUNDS: usize = 3;
        let mut continues = true;
        for _ in 0..ROUNDS {
            self.try_each_part(&mut |ad| {
                continues = continues && try_out(ad);
                continues
            });
            add_observed(self);
        }
        for _ in 0..random_count {
            if !continues {
                return;
            }
            let ad = self.random_ad(seeds, &mut |end| random.number_below(end));
            if !(self.is_possible)(&ad) {
                continue;
            }
            self.record_ad(&ad);
            continues = try_out(&ad);
        }
    }

    /// Returns a random ad: one that was tried, or one of `seeds`, with up to four attributes changed.
    fn random_ad(&self, seeds: &[ClassAd], below: &mut dyn FnMut(usize) -> usize) -> ClassAd {
        let bases = if !seeds.is_empty() && below(3) > 0 { seeds } else { &self.kept_ads };
        let mut ad = bases[below(bases.len())].clone();
        let names: Vec<&AttrName> = self.value_pool.attributes().collect();
        for _ in 0..names.len().min(below(4) + 1) {
            let name = names[below(names.len())];
            let trials: Vec<&TrialValue> = self.value_pool.values_of(name).collect();
            assign_value(&mut ad, name, trials[below(trials.len())]);
        }
        ad
    }

    /// Returns the parts that were true in no ad or in all ads, so that a difference in them would not have
    /// been found.
    pub fn unreached_parts(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for TrackedCondition { condition, leaves, outcomes_seen: outcomes, .. } in &self.conditions {
            if condition.is_same_in_both {
                continue;
            }
            let name = &condition.name;
            let mut line = |part: String, outcomes: &[bool; 2]| {
                let missing = match outcomes {
                    [true, true] => return true,
                    [false, true] => "true",
                    [true, false] => "anything but true",
                    [false, false] => "evaluated",
                };
                lines.push(format!("{name}: {part}no job was found for which it is {missing}"));
                false
            };
            let parts = leaves.leaves.iter().zip(&outcomes[1..]).filter(|(leaf, _)| leaf.is_condition);
            let all = parts
                .fold(true, |all, (leaf, outcomes)| line(format!("`{}`: ", leaf.goal.expr), outcomes) && all);
            if all && condition.is_condition && !leaves.leaves.is_empty() {
                line(String::new(), &outcomes[0]);
            }
            if leaves.is_truncated {
                lines.push(format!("{name}: it has too many parts to examine"));
            }
        }
        lines.extend(
            self.given_up_names.iter().map(|name| format!("{name}: there are too many combinations to try")),
        );
        lines
    }

    /// Returns the number of conditions that are not constant.
    pub fn condition_count(&self) -> usize {
        self.conditions.iter().filter(|tested| !tested.leaves.leaves.is_empty()).count()
    }

    /// Returns the number of conditions that were skipped because they are equal on both sides and there are
    /// very many.
    pub fn skipped_count(&self) -> usize {
        let equal = self.conditions.iter().filter(|tested| tested.condition.is_same_in_both);
        if self.skips_shared_parts() {
            equal.filter(|tested| !tested.leaves.leaves.is_empty()).count()
        } else {
            0
        }
    }
}

/// Returns the ad with each value of an attribute, adjusted to meet the goals where possible.
fn ads_with_each_value(
    solver: &AdSolver<'_>,
    goals: &[Goal],
    ad: &ClassAd,
    name: &AttrName,
    trials: &[&TrialValue],
) -> Vec<ClassAd> {
    let with_trial = |trial| {
        let mut ad = ad.clone();
        assign_value(&mut ad, name, trial);
        if solver.are_all_met(goals, &ad) {
            Some(ad)
        } else {
            solver.solve(goals, &ad, &[name], SearchStrategy::Quick).into_ad()
        }
    };
    trials.iter().copied().filter_map(with_trial).collect()
}

/// Formats goals as a text that identifies them.
fn format_goals(goals: &[Goal]) -> String {
    goals.iter().map(|goal| format!("{:?} {}\n", goal.wanted, goal.expr)).collect()
}

/// Random number generator (xorshift64*) that makes the ads reproducible.
pub struct SeededRandom(pub u64);

impl SeededRandom {
    /// Returns a number below `end`, or 0 if `end` is 0.
    pub fn number_below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(high).unwrap_or_default() % end.max(1)
    }
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}
