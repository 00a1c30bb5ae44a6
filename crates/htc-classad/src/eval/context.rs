//! Context of an evaluation, with methods that evaluate expressions and attributes.

use bstr::BString;

use crate::ad::{ClassAd, Value};
use crate::eval::computed_value::{ComputedValue, StoredContent};
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
/// Evaluation never panics and always ends. If an evaluation fails in the reference (`ExprTree::Evaluate`,
/// exprTree.cpp), the value here is `error`, which the tools of the reference print as well. [`Context::try_eval`]
/// distinguishes a failure from the value `error`.
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
    /// Creates a context without ads, in the [mode](EvalWorld::language_mode) of the world.
    ///
    /// ```
    /// use htc_classad::{Context, Expr, System};
    /// assert_eq!(Context::new(&System).eval(&Expr::parse("size({ 1, 2 })").unwrap()), 2);
    /// ```
    pub fn new(world: &'a dyn EvalWorld) -> Self {
        Context {
            world,
            my: None,
            target: None,
            mode: world.language_mode(),
            without_enclosing_ad: false,
            observer: None,
        }
    }

    /// Sets MY, the ad in which names are looked up.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, System};
    /// let job: ClassAd = "[ RequestCpus = 2; RequestMemory = RequestCpus * 1024 ]".parse().unwrap();
    /// assert_eq!(Context::new(&System).my(&job).int("RequestMemory"), Some(2048));
    /// ```
    #[must_use]
    pub fn my(mut self, ad: &'a ClassAd) -> Self {
        self.my = Some(ad);
        self
    }

    /// Sets TARGET, the other ad of a match.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, Expr, System};
    /// let (job, slot) = (ClassAd::from([("RequestCpus", 2)]), ClassAd::from([("Cpus", 4)]));
    /// let context = Context::new(&System).my(&job).target(&slot);
    /// assert!(context.holds(&Expr::parse("TARGET.Cpus >= MY.RequestCpus").unwrap()));
    /// ```
    #[must_use]
    pub fn target(mut self, ad: &'a ClassAd) -> Self {
        self.target = Some(ad);
        self
    }

    /// Turns strict mode (`STRICT_CLASSAD_EVALUATION`) on or off, overriding the mode of the world.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, Expr, System};
    /// let ad = ClassAd::from([("Cpus", 4)]);
    /// let expr = Expr::parse("MY.Cpus").unwrap();
    /// let context = Context::new(&System).my(&ad);
    /// // In strict mode MY is an ordinary name.
    /// assert_eq!(context.eval(&expr), 4);
    /// assert!(context.strict(true).is_strict() && context.strict(true).eval(&expr).is_undefined());
    /// ```
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.mode.strict = strict;
        self
    }

    /// Evaluates expressions as if they were not part of an ad, as `ClassAd::EvaluateExpr` does in transforms and
    /// routes. Names are still looked up in MY, except within an ad or list that is written in the expression.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, Expr, System};
    /// let ad = ClassAd::from([("Cpus", 4)]);
    /// let context = Context::new(&System).my(&ad);
    /// let expr = Expr::parse("[ a = Cpus ].a").unwrap();
    /// assert_eq!(context.eval(&expr), 4);
    /// assert!(context.without_enclosing_ad().eval(&expr).is_undefined());
    /// ```
    #[must_use]
    pub fn without_enclosing_ad(mut self) -> Self {
        self.without_enclosing_ad = true;
        self
    }

    /// Sets the observer, which is called at each step of an evaluation.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use htc_classad::{Context, Expr, ExprPart, Observer, System};
    /// struct Counter(AtomicU32);
    /// impl Observer for Counter {
    ///     fn enter(&self, part: &ExprPart<'_>) {
    ///         self.0.fetch_add(u32::from(part.is_call()), Ordering::Relaxed);
    ///     }
    /// }
    /// let calls = Counter(AtomicU32::new(0));
    /// Context::new(&System).observer(&calls).eval(&Expr::parse("strcat(string(1), string(2))").unwrap());
    /// assert_eq!(calls.0.into_inner(), 3);
    /// ```
    #[must_use]
    pub fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Returns the world that evaluations use.
    ///
    /// ```
    /// use htc_classad::{Context, System};
    /// assert!(Context::new(&System).world().epoch() > 0);
    /// # use htc_classad::EvalWorld;
    /// ```
    pub fn world(&self) -> &'a dyn EvalWorld {
        self.world
    }

    /// Returns true if expressions are evaluated in strict mode.
    pub fn is_strict(&self) -> bool {
        self.mode.strict
    }

    /// Returns the dialect of new syntax in the mode of this context.
    ///
    /// ```
    /// use htc_classad::{Context, Expr, System};
    /// let context = Context::new(&System).strict(true);
    /// let expr = Expr::parse_with("1 + 1", context.dialect()).unwrap();
    /// assert_eq!(context.eval(&expr), 2);
    /// ```
    pub fn dialect(&self) -> Dialect {
        Dialect::new_syntax().mode(self.mode)
    }

    /// Returns MY, the ad in which names are looked up, or `None` if it is not set.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, System};
    /// let ad = ClassAd::from([("Cpus", 4)]);
    /// assert_eq!(Context::new(&System).my(&ad).my_ad(), Some(&ad));
    /// ```
    pub fn my_ad(&self) -> Option<&'a ClassAd> {
        self.my
    }

    /// Evaluates an expression.
    ///
    /// ```
    /// use htc_classad::{Context, Expr, System, Value};
    /// assert_eq!(Context::new(&System).eval(&Expr::parse("7 / 2").unwrap()), Value::Int(3));
    /// assert_eq!(Context::new(&System).eval(&Expr::parse("7 / 0").unwrap()), Value::Error);
    /// ```
    pub fn eval(&self, expr: &Expr) -> Value {
        self.try_eval(expr).unwrap_or(Value::Error)
    }

    /// Evaluates an expression. Returns `None` if the evaluation fails, because a limit was reached or a function
    /// failed (`ExprTree::Evaluate`, exprTree.cpp).
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, Expr, System, Value};
    /// let ad: ClassAd = "[ Loop = Loop + 1; Wrong = 1 + \"x\" ]".parse().unwrap();
    /// let context = Context::new(&System).my(&ad);
    /// assert_eq!(context.try_eval(&Expr::parse("Wrong").unwrap()), Some(Value::Error));
    /// ```
    pub fn try_eval(&self, expr: &Expr) -> Option<Value> {
        // A literal needs no evaluator.
        if let (ExprRepr::Scalar(scalar), None) = (&expr.0, self.observer) {
            return Some(scalar.as_borrowed().into());
        }
        self.evaluate(EvalRequest::Expr(expr), |value| value.to_value()).value()
    }

    /// Returns true if the value of a constraint is true or a nonzero number.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, Expr, System};
    /// let ads = [ClassAd::from([("Cpus", 1)]), ClassAd::from([("Cpus", 8)]), ClassAd::new()];
    /// let wanted = Expr::parse("Cpus > 4").unwrap();
    /// let kept = ads.iter().filter(|ad| Context::new(&System).my(ad).holds(&wanted));
    /// assert_eq!(kept.count(), 1);
    /// ```
    pub fn holds(&self, expr: &Expr) -> bool {
        self.evaluate(EvalRequest::Constraint(expr), |value| value.truth()).value().flatten() == Some(true)
    }

    /// Evaluates an attribute of MY or, if MY lacks the attribute, of TARGET (reference: `EvalAttr`). The expression is
    /// evaluated in the ad that has the attribute. The value is undefined if neither ad has the attribute.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, System};
    /// let ad: ClassAd = "[ A = B + 1; B = 2 ]".parse().unwrap();
    /// let context = Context::new(&System).my(&ad);
    /// assert_eq!(context.eval_attr("A"), 3);
    /// assert!(context.eval_attr("C").is_undefined());
    /// ```
    pub fn eval_attr(&self, name: impl AsRef<[u8]>) -> Value {
        match self.eval_attribute_with(name.as_ref(), |value| value.to_value()) {
            AttributeResult::Missing => Value::Undefined,
            AttributeResult::Failed => Value::Error,
            AttributeResult::Value(value) => value,
        }
    }

    /// Evaluates an attribute as [`Context::eval_attr`] does, but distinguishes a missing attribute and a failed
    /// evaluation from a value.
    ///
    /// ```
    /// use htc_classad::{AttributeResult, ClassAd, Context, System};
    /// let ad: ClassAd = "[ A = NoSuchName ]".parse().unwrap();
    /// let context = Context::new(&System).my(&ad);
    /// assert!(matches!(context.try_eval_attr("A"), AttributeResult::Value(value) if value.is_undefined()));
    /// assert!(matches!(context.try_eval_attr("B"), AttributeResult::Missing));
    /// ```
    pub fn try_eval_attr(&self, name: impl AsRef<[u8]>) -> AttributeResult<Value> {
        self.eval_attribute_with(name.as_ref(), |value| value.to_value())
    }

    /// Evaluates an attribute as an integer, as `EvalInteger` does: reals are truncated, booleans are 0 or 1. Returns
    /// `None` for any other value.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, System};
    /// let ad: ClassAd = "[ A = 7 / 2.0; B = true; C = \"7\" ]".parse().unwrap();
    /// let context = Context::new(&System).my(&ad);
    /// assert_eq!((context.int("A"), context.int("B"), context.int("C")), (Some(3), Some(1), None));
    /// ```
    pub fn int(&self, name: impl AsRef<[u8]>) -> Option<i64> {
        self.eval_converted(name.as_ref(), |value| match value {
            ComputedValue::Int(i) => Some(i),
            ComputedValue::Real(r) => Some(crate::syntax::numbers::truncate(r)),
            ComputedValue::Bool(b) => Some(i64::from(b)),
            _ => None,
        })
    }

    /// Evaluates an attribute as a truth value, as `EvalBool` does: nonzero numbers are true. Returns `None` for any
    /// other value.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, System};
    /// let ad: ClassAd = "[ A = 2 > 1; B = 0; C = \"true\" ]".parse().unwrap();
    /// let context = Context::new(&System).my(&ad);
    /// assert_eq!((context.boolean("A"), context.boolean("B"), context.boolean("C")), (Some(true), Some(false), None));
    /// ```
    pub fn boolean(&self, name: impl AsRef<[u8]>) -> Option<bool> {
        self.eval_converted(name.as_ref(), |value| value.truth())
    }

    /// Evaluates an attribute as a number, as `EvalFloat` does: booleans are 0 or 1. Returns `None` for any other
    /// value.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, System};
    /// let ad: ClassAd = "[ A = 1; B = A / 4.0 ]".parse().unwrap();
    /// let context = Context::new(&System).my(&ad);
    /// assert_eq!((context.real("A"), context.real("B"), context.real("C")), (Some(1.0), Some(0.25), None));
    /// ```
    pub fn real(&self, name: impl AsRef<[u8]>) -> Option<f64> {
        self.eval_converted(name.as_ref(), |value| match value {
            ComputedValue::Int(i) => Some(i as f64),
            ComputedValue::Real(r) => Some(r),
            ComputedValue::Bool(b) => Some(f64::from(u8::from(b))),
            _ => None,
        })
    }

    /// Evaluates an attribute as a string, as `EvalString` does. Returns `None` if the value is not a string.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, System};
    /// let ad: ClassAd = "[ A = strcat(\"a\", 1); B = 2 ]".parse().unwrap();
    /// let context = Context::new(&System).my(&ad);
    /// assert_eq!((context.string("A").unwrap(), context.string("B")), ("a1".into(), None));
    /// ```
    pub fn string(&self, name: impl AsRef<[u8]>) -> Option<BString> {
        self.eval_converted(name.as_ref(), |value| match value {
            ComputedValue::Str(text) => Some(BString::from(text)),
            _ => None,
        })
    }

    /// Evaluates an attribute and converts its value. Returns `None` if the attribute is missing or its value cannot be
    /// converted.
    fn eval_converted<T>(
        &self,
        name: &[u8],
        convert: impl FnOnce(ComputedValue<'_>) -> Option<T>,
    ) -> Option<T> {
        self.eval_attribute_with(name, convert).value().flatten()
    }

    /// Evaluates an attribute. If the attribute is a literal or neither ad has it, no evaluator is needed.
    fn eval_attribute_with<T>(
        &self,
        name: &[u8],
        convert: impl FnOnce(ComputedValue<'_>) -> T,
    ) -> AttributeResult<T> {
        let hash = name::hash(name);
        let owners = |ad: Option<&'a ClassAd>| std::iter::successors(ad, |ad| ad.parent().map(AsRef::as_ref));
        match owners(self.my).chain(owners(self.target)).find_map(|ad| ad.stored_content(name, hash)) {
            None => AttributeResult::Missing,
            Some(StoredContent::Literal(value)) => AttributeResult::Value(convert(value)),
            Some(StoredContent::Expression) => self.evaluate(EvalRequest::Attribute(name), convert),
        }
    }

    /// Returns the settings of an evaluator that has no match and no observer.
    pub(crate) fn evaluator_setup<'s>(&self, arena: &'s EvalArena<'s>) -> EvaluatorSetup<'s>
    where
        'a: 's,
    {
        let (world, mode, functions) = (self.world, self.mode, functions::function_table());
        EvaluatorSetup { world, arena, mode, functions, left: None, right: None, observer: None }
    }

    /// Evaluates a request in this context, and converts the value.
    pub(crate) fn evaluate<T>(
        &self,
        question: EvalRequest<'_>,
        convert: impl FnOnce(ComputedValue<'_>) -> T,
    ) -> AttributeResult<T> {
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
                Some(evaluator.eval_top(expr, EvalScopes { current: left, written_in: written }))
            }
            EvalRequest::Constraint(expr) => Some(Ok(ComputedValue::Bool(evaluator.holds(expr, left)))),
            // If only the other ad has the attribute, the attribute is evaluated in that ad, where MY and TARGET are
            // exchanged.
            EvalRequest::Attribute(name) => left
                .and_then(|left| evaluator.eval_attribute(left, name))
                .or_else(|| right.and_then(|right| evaluator.eval_attribute(right, name))),
            EvalRequest::Match(name) => evaluator.eval_attribute(&MATCH_SCOPE, name),
        };
        match result {
            None => AttributeResult::Missing,
            Some(Err(_)) => AttributeResult::Failed,
            Some(Ok(value)) => AttributeResult::Value(convert(evaluator.finish_value(value))),
        }
    }
}

/// Result of the evaluation of an attribute that may be missing.
///
/// ```
/// use htc_classad::{AttributeResult, ClassAd, Context, System};
/// let ad: ClassAd = "[ A = NoSuchName ]".parse().unwrap();
/// let context = Context::new(&System).my(&ad);
/// assert!(matches!(context.try_eval_attr("A"), AttributeResult::Value(value) if value.is_undefined()));
/// assert!(matches!(context.try_eval_attr("B"), AttributeResult::Missing));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeResult<T> {
    /// Neither ad has the attribute.
    Missing,
    /// The evaluation failed because a limit was reached or a function failed.
    Failed,
    /// The evaluation has this value.
    Value(T),
}

impl<T> AttributeResult<T> {
    /// Returns the value, or `None` if the attribute is missing or its evaluation failed.
    pub fn value(self) -> Option<T> {
        match self {
            AttributeResult::Value(value) => Some(value),
            AttributeResult::Missing | AttributeResult::Failed => None,
        }
    }
}

/// Request for an evaluation in a context.
#[derive(Clone, Copy)]
pub(crate) enum EvalRequest<'q> {
    /// Returns the value of an expression.
    Expr(&'q Expr),
    /// Returns the truth value of a constraint.
    Constraint(&'q Expr),
    /// Returns the value of an attribute.
    Attribute(&'q [u8]),
    /// Returns the value of an attribute of the match ad.
    Match(&'q [u8]),
}
