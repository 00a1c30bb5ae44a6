//! Evaluation context, and methods to evaluate expressions and attributes in it.

use bstr::BString;

use crate::ad::{ClassAd, Value};
use crate::eval::computed_value::ComputedValue;
use crate::eval::eval_arena::EvalArena;
use crate::eval::evaluator::{
    EvalScopes, Evaluator, EvaluatorSetup, LEFT_CONTEXT, MATCH_SCOPE, RIGHT_CONTEXT,
};
use crate::eval::functions;
use crate::eval::observer::Observer;
use crate::eval::scope::{AdRef, AdScope};
use crate::eval_world::{EvalWorld, LanguageMode};
use crate::syntax::Dialect;
use crate::syntax::expr::{Expr, ExprRepr};
use crate::syntax::name;

/// Context of an evaluation: the ad whose expressions are evaluated (MY), the other ad of a match (TARGET), and the
/// world.
///
/// Evaluation never panics and always ends. If evaluation fails in the reference (`ExprTree::Evaluate`, exprTree.cpp),
/// the value is `error`, as its tools print it; [`Context::try_eval`] distinguishes the two.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, Value};
/// use htc_classad::System;
/// let mut job = ClassAd::new();
/// job.set("RequestCpus", 2);
/// job.insert_line(b"Requirements = TARGET.Cpus >= RequestCpus").unwrap();
/// let mut slot = ClassAd::new();
/// slot.set("Cpus", 4);
///
/// let world = System;
/// let context = Context::new(&world).my(&job).target(&slot);
/// assert_eq!(context.eval_attr("Requirements"), Value::Bool(true));
/// assert_eq!(context.eval(&Expr::parse(b"RequestCpus * 2.5").unwrap()), Value::Real(5.0));
/// assert_eq!(context.int("RequestCpus"), Some(2));
/// ```
#[derive(Clone, Copy)]
pub struct Context<'a> {
    world: &'a dyn EvalWorld,
    my: Option<&'a ClassAd>,
    target: Option<&'a ClassAd>,
    mode: LanguageMode,
    without_enclosing_ad: bool,
    observer: Option<&'a dyn Observer>,
}

impl<'a> Context<'a> {
    /// Creates a context without ads, in the [mode](EvalWorld::mode) of the world.
    pub fn new(world: &'a dyn EvalWorld) -> Self {
        Context {
            world,
            my: None,
            target: None,
            mode: world.mode(),
            without_enclosing_ad: false,
            observer: None,
        }
    }

    /// Sets the ad in which names are looked up.
    #[must_use]
    pub fn my(mut self, ad: &'a ClassAd) -> Self {
        self.my = Some(ad);
        self
    }

    /// Sets the other ad of a match.
    #[must_use]
    pub fn target(mut self, ad: &'a ClassAd) -> Self {
        self.target = Some(ad);
        self
    }

    /// Turns strict mode (`STRICT_CLASSAD_EVALUATION`) on or off, overriding the mode of the world.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.mode.strict = strict;
        self
    }

    /// Evaluates expressions as texts that are not part of an ad, as `ClassAd::EvaluateExpr` does in transforms and
    /// routes: names in them are found in the ad, except inside an ad or list written in the expression.
    #[must_use]
    pub fn without_enclosing_ad(mut self) -> Self {
        self.without_enclosing_ad = true;
        self
    }

    /// Sets the observer of each step.
    #[must_use]
    pub fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Returns the world that evaluation uses.
    pub fn world(&self) -> &'a dyn EvalWorld {
        self.world
    }

    /// Returns true in strict mode.
    pub fn is_strict(&self) -> bool {
        self.mode.strict
    }

    /// Returns new syntax in the mode of this context.
    pub fn dialect(&self) -> Dialect {
        Dialect::new_syntax().mode(self.mode)
    }

    /// Returns the ad in which names are looked up, or `None` if there is none.
    pub fn my_ad(&self) -> Option<&'a ClassAd> {
        self.my
    }

    /// Evaluates an expression.
    pub fn eval(&self, expr: &Expr) -> Value {
        self.try_eval(expr).unwrap_or(Value::Error)
    }

    /// Evaluates an expression, or returns `None` if the evaluation fails because a limit was reached or a function
    /// failed (`ExprTree::Evaluate`, exprTree.cpp).
    pub fn try_eval(&self, expr: &Expr) -> Option<Value> {
        // Literals need no evaluator.
        if let (ExprRepr::Scalar(scalar), None) = (&expr.0, self.observer) {
            return Some(scalar.as_borrowed().into());
        }
        self.evaluate(EvalRequest::Expr(expr), |value| value.to_value()).flatten()
    }

    /// Returns true if the value of a constraint is true or a number other than zero.
    pub fn holds(&self, expr: &Expr) -> bool {
        self.evaluate(EvalRequest::Constraint(expr), |value| value.truth()).flatten().flatten() == Some(true)
    }

    /// Evaluates an attribute of MY, or of TARGET if MY lacks it, in the ad that has it (reference: `EvalAttr`). The
    /// value is undefined if neither has it.
    pub fn eval_attr(&self, name: impl AsRef<[u8]>) -> Value {
        match self.eval_attribute_with(name.as_ref(), |value| value.to_value()) {
            None => Value::Undefined,
            Some(value) => value.unwrap_or(Value::Error),
        }
    }

    /// Evaluates an attribute as [`Context::eval_attr`] does; `None` if neither ad has the attribute, `Some(None)` if
    /// its evaluation fails.
    pub fn try_eval_attr(&self, name: impl AsRef<[u8]>) -> Option<Option<Value>> {
        self.eval_attribute_with(name.as_ref(), |value| value.to_value())
    }

    /// Evaluates an integer as `EvalInteger` does: reals are truncated, booleans are 0 and 1, any other value is
    /// `None`.
    pub fn int(&self, name: impl AsRef<[u8]>) -> Option<i64> {
        self.eval_converted(name.as_ref(), |value| match value {
            ComputedValue::Int(i) => Some(i),
            ComputedValue::Real(r) => Some(crate::syntax::numbers::truncate(r)),
            ComputedValue::Bool(b) => Some(i64::from(b)),
            _ => None,
        })
    }

    /// Evaluates a truth value as `EvalBool` does: numbers other than zero are true.
    pub fn boolean(&self, name: impl AsRef<[u8]>) -> Option<bool> {
        self.eval_converted(name.as_ref(), |value| value.truth())
    }

    /// Evaluates a number as `EvalFloat` does: booleans are 0 and 1.
    pub fn real(&self, name: impl AsRef<[u8]>) -> Option<f64> {
        self.eval_converted(name.as_ref(), |value| match value {
            ComputedValue::Int(i) => Some(i as f64),
            ComputedValue::Real(r) => Some(r),
            ComputedValue::Bool(b) => Some(f64::from(u8::from(b))),
            _ => None,
        })
    }

    /// Evaluates a string as `EvalString` does, without converting other values.
    pub fn string(&self, name: impl AsRef<[u8]>) -> Option<BString> {
        self.eval_converted(name.as_ref(), |value| match value {
            ComputedValue::Str(text) => Some(BString::from(text)),
            _ => None,
        })
    }

    /// Returns the converted value, or `None` if there is none or it cannot be converted.
    fn eval_converted<T>(
        &self,
        name: &[u8],
        convert: impl FnOnce(ComputedValue<'_>) -> Option<T>,
    ) -> Option<T> {
        self.eval_attribute_with(name, convert).flatten().flatten()
    }

    /// Answers without an evaluator if the attribute is a literal or neither ad has it.
    fn eval_attribute_with<T>(
        &self,
        name: &[u8],
        convert: impl FnOnce(ComputedValue<'_>) -> T,
    ) -> Option<Option<T>> {
        let hash = name::hash(name);
        let owners = |ad: Option<&'a ClassAd>| std::iter::successors(ad, |ad| ad.parent().map(AsRef::as_ref));
        let found =
            owners(self.my).chain(owners(self.target)).find_map(|ad| ad.scalar_literal(name, hash))?;
        match found {
            Some(value) => Some(Some(convert(value))),
            None => self.evaluate(EvalRequest::Attribute(name), convert),
        }
    }

    /// Returns the setup of an evaluator without a match and without an observer.
    pub(crate) fn evaluator_setup<'s>(&self, arena: &'s EvalArena<'s>) -> EvaluatorSetup<'s>
    where
        'a: 's,
    {
        let (world, mode, functions) = (self.world, self.mode, functions::function_table());
        EvaluatorSetup { world, arena, mode, functions, left: None, right: None, observer: None }
    }

    /// Runs an evaluation. Returns `None` if the requested attribute does not exist, and `Some(None)` if the evaluation
    /// fails.
    pub(crate) fn evaluate<T>(
        &self,
        question: EvalRequest<'_>,
        convert: impl FnOnce(ComputedValue<'_>) -> T,
    ) -> Option<Option<T>> {
        let empty = ClassAd::new();
        let my = self.my.or(self.target.map(|_| &empty));
        let matching = self.target.is_some();
        let left = my.map(|ad| AdScope {
            ad: AdRef::Own(ad),
            parent: matching.then_some(&LEFT_CONTEXT),
            detached: false,
        });
        let right = self.target.map(|ad| AdScope {
            ad: AdRef::Own(ad),
            parent: Some(&RIGHT_CONTEXT),
            detached: false,
        });
        let (left, right) = (left.as_ref(), right.as_ref());
        let arena = EvalArena::default();
        let mut evaluator = Evaluator::new(EvaluatorSetup {
            left: if matching { left } else { None },
            right,
            observer: self.observer,
            ..self.evaluator_setup(&arena)
        });
        let result = match question {
            EvalRequest::Expr(expr) => {
                let written = if self.without_enclosing_ad { None } else { left };
                evaluator.eval_top(expr, EvalScopes { current: left, written_in: written })
            }
            EvalRequest::Constraint(expr) => Ok(ComputedValue::Bool(evaluator.holds(expr, left))),
            // An attribute of the other ad is evaluated there, with the roles exchanged.
            EvalRequest::Attribute(name) => left
                .and_then(|left| evaluator.eval_attribute(left, name))
                .or_else(|| right.and_then(|right| evaluator.eval_attribute(right, name)))?,
            EvalRequest::Match(name) => evaluator.eval_attribute(&MATCH_SCOPE, name)?,
        };
        Some(result.ok().map(|value| convert(evaluator.finish_value(value))))
    }
}

/// Request to a context.
#[derive(Clone, Copy)]
pub(crate) enum EvalRequest<'q> {
    /// The value of an expression.
    Expr(&'q Expr),
    /// The truth of an expression.
    Constraint(&'q Expr),
    /// The value of an attribute.
    Attribute(&'q [u8]),
    /// The value of an attribute of the match ad.
    Match(&'q [u8]),
}
