//! Symmetric match and rank of two ads (reference: matchClassad.cpp).

use crate::ad::{ClassAd, Value};
use crate::eval::context::{Context, EvalRequest};
use crate::eval_world::EvalWorld;

/// Pair of ads that may match. Each ad is MY in its own expressions and TARGET in those of the other ad. The ads are
/// not copied.
///
/// ```
/// use htc_classad::{ClassAd, MatchAd};
/// use htc_classad::System;
/// let mut job = ClassAd::new();
/// job.insert_line(b"Requirements = TARGET.Memory >= 1024").unwrap();
/// job.insert_line(b"Rank = TARGET.Memory").unwrap();
/// let mut slot = ClassAd::new();
/// slot.set("Memory", 2048);
/// slot.set("Requirements", true);
///
/// let world = System;
/// let pair = MatchAd::new(&world, &job, &slot);
/// assert!(pair.symmetric());
/// assert_eq!(pair.left_rank(), Some(2048.0));
/// ```
#[derive(Clone, Copy)]
pub struct MatchAd<'a> {
    left_context: Context<'a>,
    right_context: Context<'a>,
}

impl<'a> MatchAd<'a> {
    /// Creates a pair of two ads.
    ///
    /// ```
    /// use htc_classad::{ClassAd, MatchAd, System};
    /// let job: ClassAd = "[ Requirements = TARGET.Cpus > 1; Rank = TARGET.Cpus ]".parse().unwrap();
    /// let slot: ClassAd = "[ Requirements = TARGET.Owner == \"ana\"; Cpus = 4 ]".parse().unwrap();
    /// let pair = MatchAd::new(&System, &job, &slot);
    /// assert!(!pair.left_matches_right() && pair.right_matches_left() && !pair.symmetric());
    /// assert_eq!((pair.left_requirements(), pair.left_rank()), (true.into(), Some(4.0)));
    /// // The slot has no Rank, so that of the job is used.
    /// assert_eq!(pair.right_rank(), Some(4.0));
    /// ```
    pub fn new(world: &'a dyn EvalWorld, left: &'a ClassAd, right: &'a ClassAd) -> Self {
        let context = Context::new(world);
        MatchAd {
            left_context: context.my(left).target(right),
            right_context: context.my(right).target(left),
        }
    }

    /// Turns strict mode on or off for evaluations of the pair.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        MatchAd {
            left_context: self.left_context.strict(strict),
            right_context: self.right_context.strict(strict),
        }
    }

    /// Returns the context in which the left ad is MY and the right ad is TARGET.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Expr, MatchAd, System};
    /// let (job, slot) = (ClassAd::from([("RequestCpus", 2)]), ClassAd::from([("Cpus", 8)]));
    /// let pair = MatchAd::new(&System, &job, &slot);
    /// let spare = Expr::parse("TARGET.Cpus - MY.RequestCpus").unwrap();
    /// assert_eq!(pair.left().eval(&spare), 6);
    /// assert_eq!(pair.right().int("Cpus"), Some(8));
    /// ```
    pub fn left(&self) -> Context<'a> {
        self.left_context
    }

    /// Returns the context in which the right ad is MY and the left ad is TARGET.
    pub fn right(&self) -> Context<'a> {
        self.right_context
    }

    /// Returns true if the Requirements of both ads are true (`symmetricMatch`).
    pub fn symmetric(&self) -> bool {
        self.has_true_attribute(b"symmetricMatch")
    }

    /// Returns true if the Requirements of the right ad are true (`leftMatchesRight`).
    pub fn left_matches_right(&self) -> bool {
        self.has_true_attribute(b"leftMatchesRight")
    }

    /// Returns true if the Requirements of the left ad are true (`rightMatchesLeft`).
    pub fn right_matches_left(&self) -> bool {
        self.has_true_attribute(b"rightMatchesLeft")
    }

    /// Evaluates the left ad's Requirements.
    pub fn left_requirements(&self) -> Value {
        self.eval_match_attribute(b"rightMatchesLeft")
    }

    /// Evaluates the Rank of the left ad, which rates the right ad. Returns `None` if there is no Rank or the value
    /// is not a number; callers then use 0.0. If the left ad has no Rank, the Rank of the right ad is used, as in the
    /// reference.
    pub fn left_rank(&self) -> Option<f64> {
        self.left_context.real("Rank")
    }

    /// Evaluates the Rank of the right ad, which rates the left ad, as [`MatchAd::left_rank`] does for the left ad.
    pub fn right_rank(&self) -> Option<f64> {
        self.right_context.real("Rank")
    }

    fn has_true_attribute(&self, name: &[u8]) -> bool {
        self.left_context.evaluate(EvalRequest::Match(name), |value| value.truth()).value().flatten()
            == Some(true)
    }

    fn eval_match_attribute(&self, name: &[u8]) -> Value {
        self.left_context
            .evaluate(EvalRequest::Match(name), |value| value.to_value())
            .value()
            .unwrap_or(Value::Error)
    }
}
