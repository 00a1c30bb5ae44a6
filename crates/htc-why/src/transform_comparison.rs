//! Comparison of two rule sets: on given ads, on ads generated from the conditions in the rules, and reduced
//! to the smallest ad on which they differ.

use std::cell::RefCell;
use std::rc::Rc;

use bstr::{BString, ByteSlice};

use super::coverage::{
    Condition, ConditionCoverage, Goal, OpposedGoals, ReferencedAttributes, TransformObservations,
    WantedOutcomes, attributes_mentioned_by,
};
use htc_base::world::World;
use htc_classad::{AttrName, ClassAd, Expr};
use htc_transform::IncludeError;
use htc_transform::IterationPlan;
use htc_transform::Transform;
use htc_transform::TransformSession;
use htc_transform::observer::{FailureReason, TransformFailure};

/// Rule set with its session and observations.
pub struct TransformSide<'a> {
    transforms: &'a [Transform],
    session: RefCell<TransformSession<'a>>,
    iteration_plan: Option<IterationPlan>,
    observations: RefCell<TransformObservations>,
}

impl<'a> TransformSide<'a> {
    /// Creates a side from transforms in order of application, the session in which they are applied, and the
    /// iteration plan of the last transform. Included files are read only once.
    pub fn new(
        transforms: &'a [Transform],
        mut session: TransformSession<'a>,
        plan: Option<IterationPlan>,
    ) -> Self {
        session.include_cache = Some(Rc::default());
        session.macros.commit();
        TransformSide {
            transforms,
            session: RefCell::new(session),
            iteration_plan: plan,
            observations: RefCell::default(),
        }
    }

    /// Applies the rule set to a copy of the ad.
    ///
    /// # Errors
    /// The result is unknown, because it depends on a command that is not run.
    pub fn outcome_for(&self, ad: &ClassAd) -> Result<TransformOutcome, TransformFailure> {
        let session = &mut *self.session.borrow_mut();
        let mut ads = Vec::new();
        let mut failed = None;
        session.world.reseed(1);
        let mut run_once = |session: &mut TransformSession<'a>| match self.apply_all(session, ad) {
            Ok(ad) => {
                ads.push(ad);
                ads.len() < MAX_RUNS
            }
            Err(failure) => {
                failed = Some(failure);
                false
            }
        };
        match &self.iteration_plan {
            Some(plan) => session.run_for_each_item(plan, |session| run_once(session)),
            None => {
                let start = session.macros.mark();
                run_once(session);
                session.macros.rewind(start);
            }
        }
        match failed {
            None => Ok(TransformOutcome::Ads(ads)),
            Some(FailedTransform { failure, .. })
                if matches!(failure.reason, FailureReason::Include(IncludeError::Refused { .. })) =>
            {
                Err(*failure)
            }
            Some(FailedTransform { transform, failure }) => {
                Ok(TransformOutcome::Failed(transform, failure.to_string()))
            }
        }
    }

    fn apply_all(
        &self,
        session: &mut TransformSession<'a>,
        ad: &ClassAd,
    ) -> Result<ClassAd, FailedTransform> {
        let mut ad = ad.clone();
        let observations = &mut *self.observations.borrow_mut();
        for transform in self.transforms {
            if session.meets_requirements(transform, &ad) {
                session.apply(transform, &mut ad, observations.begin_transform(&transform.name)).map_err(
                    |failure| FailedTransform {
                        transform: transform.name.clone(),
                        failure: Box::new(failure),
                    },
                )?;
            }
        }
        Ok(ad)
    }
}

/// Transform that failed, with the failure.
struct FailedTransform {
    transform: BString,
    failure: Box<TransformFailure>,
}

/// Two rule sets that are compared.
pub struct TransformComparison<'a> {
    /// First rule set.
    pub left: TransformSide<'a>,
    /// Second rule set.
    pub right: TransformSide<'a>,
}

/// Result of a rule set for an ad.
#[derive(Clone, Debug)]
pub enum TransformOutcome {
    /// Resulting ads, one for each run: a single one unless the rules iterate.
    Ads(Vec<ClassAd>),
    /// A transform failed. The fields are its name and the reason.
    Failed(BString, String),
}

/// Ad on which the two rule sets differ.
#[derive(Clone, Debug)]
pub struct TransformDifference {
    /// Ad that was transformed.
    pub ad: ClassAd,
    /// Result of the first rule set.
    pub left: TransformOutcome,
    /// Result of the second rule set.
    pub right: TransformOutcome,
}

/// Maximum number of runs compared for each ad if a rule set iterates.
const MAX_RUNS: usize = 1000;

impl<'a> TransformComparison<'a> {
    /// Returns the numbers of runs for each ad if they differ between the rule sets, else `None`.
    pub fn differing_turn_counts(&self) -> Option<(u64, u64)> {
        let run_count =
            |side: &TransformSide<'_>| side.iteration_plan.as_ref().map_or(1, IterationPlan::runs_per_ad);
        let (left, right) = (run_count(&self.left), run_count(&self.right));
        (left != right).then_some((left, right))
    }

    /// Returns true if the rule sets are equal apart from their locations and names.
    pub fn are_rule_sets_equal(&self) -> bool {
        let mut both = self.left.transforms.iter().zip(self.right.transforms);
        self.left.transforms.len() == self.right.transforms.len()
            && both.all(|(left, right)| left.has_same_requirements(right) && left.has_same_statements(right))
    }

    /// Returns the difference for this ad, or `None`. Two failures for the same reason are equal.
    ///
    /// # Errors
    /// The errors of [`TransformSide::outcome_for`].
    pub fn find_difference(&self, ad: &ClassAd) -> Result<Option<TransformDifference>, TransformFailure> {
        let (left, right) = (self.left.outcome_for(ad)?, self.right.outcome_for(ad)?);
        let equal = match (&left, &right) {
            (TransformOutcome::Ads(left), TransformOutcome::Ads(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| have_same_attributes(left, right))
            }
            (TransformOutcome::Failed(_, left), TransformOutcome::Failed(_, right)) => left == right,
            _ => false,
        };
        Ok((!equal).then(|| TransformDifference { ad: ad.clone(), left, right }))
    }

    /// Returns a difference for the smallest ad that is found by removing attributes and simplifying values.
    pub fn shrink_difference(&self, difference: TransformDifference) -> TransformDifference {
        let ad = difference.ad.clone();
        shrink_ad(&ad, difference, &|ad| self.find_difference(ad).ok().flatten())
    }

    /// Collects everything that both rule sets evaluate for an ad, to generate ads. `names` are the names of
    /// the rule sets in messages.
    pub fn build_coverage(&self, names: [&str; 2], world: &'a dyn World) -> ConditionCoverage<'a> {
        let mut coverage = ConditionCoverage::new(ClassAd::new(), world);
        for (side, name) in [&self.left, &self.right].into_iter().zip(names) {
            for transform in side.transforms {
                let requirements = transform.envelope.requirements.as_ref();
                if let Some(requirements) = requirements {
                    coverage.add_condition(Condition {
                        name: format!("{name}: REQUIREMENTS"),
                        expr: requirements.expr.clone(),
                        is_condition: true,
                        preconditions: Vec::new(),
                        is_same_in_both: false,
                    });
                }
                let preconditions =
                    requirements.map(|requirements| Goal::new(&requirements.expr, WantedOutcomes::TRUE));
                let preconditions = Vec::from_iter(preconditions);
                coverage.add_attributes(ReferencedAttributes {
                    attributes: attributes_mentioned_by(transform),
                    preconditions,
                    is_same_in_both: false,
                });
            }
        }
        let [left, right] = [&self.left, &self.right].map(|side| side.transforms.iter());
        for (left, right) in left.zip(right) {
            let [Some(left), Some(right)] = [left, right].map(|it| it.envelope.requirements.as_ref()) else {
                continue;
            };
            let [left, right] = [left, right].map(|it| Goal::new(&it.expr, WantedOutcomes::TRUE));
            if !left.is_same(&right) {
                let oppose = |name: &str, one: &Goal, other: &Goal| OpposedGoals {
                    name: format!("{name}: ads that match only this rule set"),
                    all_of: vec![one.clone()],
                    one_of: vec![other.to_opposite()],
                };
                coverage.add_opposed_goals(oppose(names[0], &left, &right));
                coverage.add_opposed_goals(oppose(names[1], &right, &left));
            }
        }
        coverage
    }

    /// Adds the expressions that were evaluated in the meantime, with their macros expanded.
    pub fn add_evaluated_conditions(&self, names: [&str; 2], coverage: &mut ConditionCoverage<'_>) {
        for (side, name) in [&self.left, &self.right].into_iter().zip(names) {
            for transform in side.transforms {
                let requirements = transform.envelope.requirements.as_ref();
                let preconditions =
                    requirements.map(|requirements| Goal::new(&requirements.expr, WantedOutcomes::TRUE));
                side.observations.borrow().add_conditions_to(
                    &transform.name,
                    name,
                    &Vec::from_iter(preconditions),
                    coverage,
                );
            }
        }
    }

    /// Returns descriptions of the `if` conditions that were never true or never false.
    pub fn unreached_conditions(&self, names: [&str; 2]) -> Vec<String> {
        let sides = [&self.left, &self.right].into_iter().zip(names);
        sides
            .flat_map(|(side, name)| side.observations.borrow().unreached_conditions(name, &|_| false))
            .collect()
    }
}

/// Reduces `ad` by removing attributes and simplifying values as long as `find` returns a result, and returns
/// the result for the smallest ad.
pub fn shrink_ad<D>(ad: &ClassAd, mut result: D, find: &dyn Fn(&ClassAd) -> Option<D>) -> D {
    let mut ad = ad.clone();
    loop {
        let names: Vec<AttrName> = ad.names().map(|name| name.as_bytes().into()).collect();
        let smaller = names.iter().find_map(|name| {
            let mut ad = ad.clone();
            ad.remove(name.as_bytes());
            find(&ad).map(|result| (ad, result))
        });
        let next = smaller.or_else(|| {
            names.iter().find_map(|name| {
                let current = ad.get(name.as_bytes())?.unparse();
                [&b"0"[..], b"1", b"\"\"", b"\"a\"", b"true"]
                    .iter()
                    .take_while(|text| current != ***text)
                    .find_map(|text| {
                        let mut ad = ad.clone();
                        ad.insert(name.as_bytes(), Expr::parse(text).ok()?);
                        find(&ad).map(|result| (ad, result))
                    })
            })
        });
        match next {
            Some(next) => (ad, result) = next,
            None => return result,
        }
    }
}

/// Returns true if two ads have the same attributes, ignoring the spelling of names.
pub fn have_same_attributes(left: &ClassAd, right: &ClassAd) -> bool {
    left.len() == right.len()
        && left.iter().all(|(name, expr)| {
            right.get(name.as_bytes()).is_some_and(|other| other.unparse() == expr.unparse())
        })
}
