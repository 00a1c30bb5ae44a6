//! What an evaluation sees, and the ways to ask for a value.

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

/// The surroundings of an evaluation: the ad it is made for (MY), the other ad of a match (TARGET), and the world.
///
/// Evaluation never panics and always ends. Where the reference fails to find a value at all (`ExprTree::Evaluate`, exprTree.cpp), the
/// value is `error`, as its tools print it; [`Context::try_eval`] tells the difference.
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
    /// A context without ads, in the [mode](EvalWorld::mode) of the world.
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

    /// The ad that names are looked up in.
    #[must_use]
    pub fn my(mut self, ad: &'a ClassAd) -> Self {
        self.my = Some(ad);
        self
    }

    /// The other ad of a match.
    #[must_use]
    pub fn target(mut self, ad: &'a ClassAd) -> Self {
        self.target = Some(ad);
        self
    }

    /// Strict mode (`STRICT_CLASSAD_EVALUATION`) or condor mode, whatever the mode of the world is.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.mode.strict = strict;
        self
    }

    /// Expressions are evaluated as texts of their own that stand in no ad, as `ClassAd::EvaluateExpr` does in transforms and
    /// routes: names in them are found in the ad, but not from within an ad or list that is written in them.
    #[must_use]
    pub fn without_enclosing_ad(mut self) -> Self {
        self.without_enclosing_ad = true;
        self
    }

    /// Who is told about each step.
    #[must_use]
    pub fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The world that evaluation sees.
    pub fn world(&self) -> &'a dyn EvalWorld {
        self.world
    }

    /// Whether it is strict mode.
    pub fn is_strict(&self) -> bool {
        self.mode.strict
    }

    /// How texts are read here, in the new syntax: in the mode of this context.
    pub fn dialect(&self) -> Dialect {
        Dialect::new_syntax().mode(self.mode)
    }

    /// The ad that names are looked up in, where there is one.
    pub fn my_ad(&self) -> Option<&'a ClassAd> {
        self.my
    }

    /// The value of an expression.
    pub fn eval(&self, expr: &Expr) -> Value {
        self.try_eval(expr).unwrap_or(Value::Error)
    }

    /// The value of an expression; `None` when the evaluation failed: a limit was reached or a function refused
    /// (`ExprTree::Evaluate`, exprTree.cpp).
    pub fn try_eval(&self, expr: &Expr) -> Option<Value> {
        // Literals need no evaluator.
        if let (ExprRepr::Scalar(scalar), None) = (&expr.0, self.observer) {
            return Some(scalar.as_borrowed().into());
        }
        self.evaluate(EvalRequest::Expr(expr), |value| value.to_value()).flatten()
    }

    /// Whether a constraint holds: the expression is true or a number other than zero.
    pub fn holds(&self, expr: &Expr) -> bool {
        self.evaluate(EvalRequest::Constraint(expr), |value| value.truth()).flatten().flatten() == Some(true)
    }

    /// The value of an attribute: MY's if it has it, else TARGET's, evaluated there (reference: `EvalAttr`). Undefined
    /// where neither has it.
    pub fn eval_attr(&self, name: impl AsRef<[u8]>) -> Value {
        match self.eval_attribute_with(name.as_ref(), |value| value.to_value()) {
            None => Value::Undefined,
            Some(value) => value.unwrap_or(Value::Error),
        }
    }

    /// As [`Context::eval_attr`]; `None` where neither ad has the attribute, `Some(None)` where its evaluation failed.
    pub fn try_eval_attr(&self, name: impl AsRef<[u8]>) -> Option<Option<Value>> {
        self.eval_attribute_with(name.as_ref(), |value| value.to_value())
    }

    /// An integer as `EvalInteger` sees it: reals are cut off, booleans are 0 and 1, all else is none.
    pub fn int(&self, name: impl AsRef<[u8]>) -> Option<i64> {
        self.eval_converted(name.as_ref(), |value| match value {
            ComputedValue::Int(i) => Some(i),
            ComputedValue::Real(r) => Some(crate::syntax::numbers::truncate(r)),
            ComputedValue::Bool(b) => Some(i64::from(b)),
            _ => None,
        })
    }

    /// A truth value as `EvalBool` sees it: numbers other than zero are true.
    pub fn boolean(&self, name: impl AsRef<[u8]>) -> Option<bool> {
        self.eval_converted(name.as_ref(), |value| value.truth())
    }

    /// A number as `EvalFloat` sees it: booleans are 0 and 1.
    pub fn real(&self, name: impl AsRef<[u8]>) -> Option<f64> {
        self.eval_converted(name.as_ref(), |value| match value {
            ComputedValue::Int(i) => Some(i as f64),
            ComputedValue::Real(r) => Some(r),
            ComputedValue::Bool(b) => Some(f64::from(u8::from(b))),
            _ => None,
        })
    }

    /// A string as `EvalString` sees it; nothing is converted.
    pub fn string(&self, name: impl AsRef<[u8]>) -> Option<BString> {
        self.eval_converted(name.as_ref(), |value| match value {
            ComputedValue::Str(text) => Some(BString::from(text)),
            _ => None,
        })
    }

    /// The value as it is taken, where there is one that can be.
    fn eval_converted<T>(
        &self,
        name: &[u8],
        convert: impl FnOnce(ComputedValue<'_>) -> Option<T>,
    ) -> Option<T> {
        self.eval_attribute_with(name, convert).flatten().flatten()
    }

    /// What is plain to see needs no evaluator: an attribute that is a literal, or that neither ad has.
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

    /// What an evaluator needs that works on no match and that nobody observes.
    pub(crate) fn evaluator_setup<'s>(&self, arena: &'s EvalArena<'s>) -> EvaluatorSetup<'s>
    where
        'a: 's,
    {
        let (world, mode, functions) = (self.world, self.mode, functions::function_table());
        EvaluatorSetup { world, arena, mode, functions, left: None, right: None, observer: None }
    }

    /// Runs an evaluation. `None` where the question is about something that is not there; `Some(None)` where the
    /// evaluation failed.
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

/// What can be asked of a context.
#[derive(Clone, Copy)]
pub(crate) enum EvalRequest<'q> {
    /// The value of an expression.
    Expr(&'q Expr),
    /// Whether an expression is true.
    Constraint(&'q Expr),
    /// The value of an attribute.
    Attribute(&'q [u8]),
    /// The value of an attribute of the match ad.
    Match(&'q [u8]),
}
