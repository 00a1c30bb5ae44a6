//! Symmetric match and rank of two ads (reference: matchClassad.cpp).

use crate::ad::{ClassAd, Value};
use crate::eval::context::{Context, Question};
use crate::outside::Outside;

/// Two ads side by side: the left one is MY where it speaks for itself, and TARGET for the right one. Nothing is copied.
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
    forth: Context<'a>,
    back: Context<'a>,
}

impl<'a> MatchAd<'a> {
    /// Puts two ads side by side.
    pub fn new(world: &'a dyn Outside, left: &'a ClassAd, right: &'a ClassAd) -> Self {
        let context = Context::new(world);
        MatchAd { forth: context.my(left).target(right), back: context.my(right).target(left) }
    }

    /// The same in strict mode.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        MatchAd { forth: self.forth.strict(strict), back: self.back.strict(strict) }
    }

    /// The context of the left ad, in which expressions see it as MY.
    pub fn left(&self) -> Context<'a> {
        self.forth
    }

    /// The context of the right ad.
    pub fn right(&self) -> Context<'a> {
        self.back
    }

    /// Whether the Requirements of both ads hold (`symmetricMatch`).
    pub fn symmetric(&self) -> bool {
        self.holds(b"symmetricMatch")
    }

    /// Whether the Requirements of the right ad hold (`leftMatchesRight`).
    pub fn left_matches_right(&self) -> bool {
        self.holds(b"leftMatchesRight")
    }

    /// Whether the Requirements of the left ad hold (`rightMatchesLeft`).
    pub fn right_matches_left(&self) -> bool {
        self.holds(b"rightMatchesLeft")
    }

    /// The value of the left ad's Requirements.
    pub fn left_requirements(&self) -> Value {
        self.value(b"rightMatchesLeft")
    }

    /// What the left ad thinks of the right one; `None` where there is no Rank or it is no number. Callers take 0.0 then.
    /// As in the reference, an ad without Rank answers with the other one's.
    pub fn left_rank(&self) -> Option<f64> {
        self.forth.real("Rank")
    }

    /// What the right ad thinks of the left one.
    pub fn right_rank(&self) -> Option<f64> {
        self.back.real("Rank")
    }

    fn holds(&self, name: &[u8]) -> bool {
        self.forth.run(Question::Match(name), |value| value.truth()).flatten().flatten() == Some(true)
    }

    fn value(&self, name: &[u8]) -> Value {
        self.forth.run(Question::Match(name), |value| value.to_value()).flatten().unwrap_or(Value::Error)
    }
}
