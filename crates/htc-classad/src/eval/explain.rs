//! Explanations of the value of an expression: its steps, its clauses, and the first cause of its value.
//!
//! ```
//! use htc_classad::{ClassAd, MatchAd, System, explain};
//! let job: ClassAd = "[ Requirements = TARGET.Cpus > 1 && TARGET.HasGpu ]".parse().unwrap();
//! let slot = ClassAd::from([("Cpus", 4)]);
//! let pair = MatchAd::new(&System, &job, &slot);
//! let why = explain::first_not_true(&pair.left(), &job["Requirements"]).unwrap();
//! assert_eq!(why.to_string(), "`TARGET.HasGpu` is undefined: TARGET.HasGpu is missing");
//! ```

mod steps;

use std::fmt;

use bstr::BString;

use crate::ad::{ClassAd, Value};
use crate::eval::context::Context;
use crate::eval::observer::NameLocation;
use crate::eval_world::EvalWorld;
use crate::syntax::Expr;
use crate::syntax::expr::ExprRepr;
use crate::syntax::tree::{BinaryOp, Node, UnaryOp};
use crate::text::plural::counted;
pub use steps::{TraceStep, trace};

/// Returns the clauses of a conjunction: `a && (b && c)` has three. Parentheses around a conjunction are dropped;
/// parentheses around a clause are kept.
///
/// ```
/// use htc_classad::{Expr, explain};
/// let expr = Expr::parse(b"a > 1 && (b && (c || d))").unwrap();
/// let clauses: Vec<_> = explain::conjuncts(&expr).iter().map(ToString::to_string).collect();
/// assert_eq!(clauses, ["a > 1", "b", "(c || d)"]);
/// ```
pub fn conjuncts(expr: &Expr) -> Vec<Expr> {
    operands(expr, BinaryOp::And)
}

/// Returns the clauses of a disjunction.
///
/// ```
/// use htc_classad::{Expr, explain};
/// let expr = Expr::parse("a > 1 || (b || c && d)").unwrap();
/// let clauses: Vec<_> = explain::disjuncts(&expr).iter().map(ToString::to_string).collect();
/// assert_eq!(clauses, ["a > 1", "b", "c && d"]);
/// ```
pub fn disjuncts(expr: &Expr) -> Vec<Expr> {
    operands(expr, BinaryOp::Or)
}

fn operands(expr: &Expr, wanted: BinaryOp) -> Vec<Expr> {
    let ExprRepr::Node(tree, root) = &expr.0 else { return vec![expr.clone()] };
    let mut clauses = Vec::new();
    let mut todo = vec![*root];
    while let Some(id) = todo.pop() {
        let mut inner = id;
        while let Node::Unary(UnaryOp::Parentheses, operand) = tree.node(inner) {
            inner = operand;
        }
        match tree.node(inner) {
            Node::Binary(op, left, right) if op == wanted => todo.extend([right, left]),
            _ => clauses.push(Expr::from_tree(tree, id)),
        }
    }
    clauses
}

/// Name that was looked up during an evaluation.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, NameLocation, System, explain};
/// let slot = ClassAd::from([("Memory", 512)]);
/// let context = Context::new(&System).target(&slot);
/// let clause = &explain::clauses(&context, &Expr::parse("TARGET.Memory > Limit").unwrap())[0];
/// let names: Vec<_> = clause.references.iter().map(ToString::to_string).collect();
/// assert_eq!(names, ["TARGET.Memory is 512", "Limit is missing"]);
/// assert_eq!(clause.references[1].place, NameLocation::Nowhere);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LookedUpName {
    /// Reference as written, such as `TARGET.Memory`.
    pub text: BString,
    /// Location where the name was found.
    pub place: NameLocation,
    /// Value of the name, or `None` if the evaluation failed.
    pub value: Option<Value>,
}

impl fmt::Display for LookedUpName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.value, self.place) {
            (_, NameLocation::Nowhere) => write!(f, "{} is missing", self.text),
            (Some(value), _) => write!(f, "{} is {}", self.text, display_value(value)),
            (None, _) => write!(f, "{} cannot be evaluated", self.text),
        }
    }
}

/// Formats a value for a sentence. A real is printed with only the necessary digits, a long list or ad as the number of
/// its elements.
fn display_value(value: &Value) -> String {
    const MAX_LENGTH: usize = 200;
    if let Value::Real(real) = value
        && real.is_finite()
        && (real.abs() >= 1e-5 || *real == 0.0)
        && real.abs() < 1e15
    {
        return format!("{real:?}");
    }
    let text = value.to_string();
    match value {
        Value::List(list) if text.len() > MAX_LENGTH => {
            format!("a list of {}", counted(list.items().len(), "element"))
        }
        Value::Ad(ad) if text.len() > MAX_LENGTH => format!("an ad of {}", counted(ad.len(), "attribute")),
        _ => text,
    }
}

/// Clause of a conjunction, with its value and the reason for the value.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, System, explain};
/// let ad = ClassAd::from([("Cpus", 1)]);
/// let context = Context::new(&System).my(&ad);
/// let clause = explain::first_not_true(&context, &Expr::parse("Cpus > 0 && Cpus > Limit").unwrap()).unwrap();
/// assert_eq!(clause.to_string(), "`Cpus > Limit` is undefined: Cpus is 1, Limit is missing");
/// assert_eq!(clause.reason.unwrap(), "Limit is missing");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// Expression of the clause.
    pub expr: Expr,
    /// Value of the clause, or `None` if its evaluation failed.
    pub value: Option<Value>,
    /// Names in the clause, each listed once, in the order in which they were looked up.
    pub references: Vec<LookedUpName>,
    /// Reason why the clause is undefined or an error, or `None`.
    pub reason: Option<String>,
    /// True if the clause consists only of a name.
    pub is_name: bool,
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "`{}` is {value}", self.expr)?,
            None => write!(f, "`{}` cannot be evaluated", self.expr)?,
        }
        // The value of a name alone is already stated.
        let is_stated = |reference: &LookedUpName| {
            reference.text == self.expr.without_parentheses().unparse()
                && reference.place != NameLocation::Nowhere
        };
        let references = self.references.iter().filter(|reference| !is_stated(reference));
        for (at, reference) in references.enumerate() {
            write!(f, "{}{reference}", if at == 0 { ": " } else { ", " })?;
        }
        Ok(())
    }
}

/// Returns the clauses of a conjunction, each evaluated separately.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, System, Value, explain};
/// let ad = ClassAd::from([("Cpus", 1)]);
/// let context = Context::new(&System).my(&ad);
/// let clauses = explain::clauses(&context, &Expr::parse("Cpus > 0 && Cpus > 3").unwrap());
/// let values: Vec<_> = clauses.into_iter().map(|clause| clause.value.unwrap()).collect();
/// assert_eq!(values, [Value::Bool(true), Value::Bool(false)]);
/// ```
pub fn clauses(context: &Context<'_>, expr: &Expr) -> Vec<Clause> {
    conjuncts(expr).into_iter().map(|expr| evaluate_clause(context, expr)).collect()
}

/// Returns the first clause of a conjunction that is not true, or `None` if all clauses are true. This clause is the
/// reason why Requirements are false or undefined. If the clause is only a name, returns the first clause of the name's
/// definition that is not true.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, explain};
/// use htc_classad::System;
/// let mut ad = ClassAd::new();
/// ad.set("Cpus", 1);
/// ad.insert("Start", Expr::parse(b"Cpus < 5 && (true && Cpus > 3)").unwrap());
/// let world = System;
/// let context = Context::new(&world).my(&ad);
/// let why = |text: &[u8]| explain::first_not_true(&context, &Expr::parse(text).unwrap()).unwrap().to_string();
/// assert_eq!(why(b"true && Cpus >= 2 && false"), "`Cpus >= 2` is false: Cpus is 1");
/// assert_eq!(why(b"Start"), "`Cpus > 3` is false: Cpus is 1");
/// ```
pub fn first_not_true(context: &Context<'_>, expr: &Expr) -> Option<Clause> {
    conjuncts(expr)
        .into_iter()
        .map(|expr| trace(context, &expr))
        .find(|step| step.value.as_ref().and_then(Value::truth) != Some(true))
        .map(|step| Clause::from_step(step.deciding_step()))
}

fn evaluate_clause(context: &Context<'_>, expr: Expr) -> Clause {
    Clause::from_step(&trace(context, &expr))
}

impl Clause {
    fn from_step(step: &TraceStep) -> Self {
        let mut references = Vec::new();
        step.collect_references(&mut references);
        let is_name = step.place.is_some() || step.has_base();
        Clause {
            expr: step.expr.clone(),
            value: step.value.clone(),
            references,
            reason: step.reason(),
            is_name,
        }
    }
}

/// Returns the cause of the value of an expression, given the steps of its evaluation: the first clause of a
/// conjunction that is not true, the first clause of a disjunction that is true, an undefined reference, or operands
/// whose types do not fit.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, System, explain};
/// let mut ad = ClassAd::new();
/// ad.set("Cpus", 1);
/// let context = Context::new(&System).my(&ad);
/// let cause_of_value = |text: &[u8]| {
///     let expr = Expr::parse(text).unwrap();
///     explain::cause_of_value(&context, &expr, &explain::trace(&context, &expr))
/// };
/// assert_eq!(cause_of_value(b"true && Cpus > 3").as_deref(), Some("`Cpus > 3` is false: Cpus is 1"));
/// assert_eq!(cause_of_value(b"Cpus > 3 || Cpus < 2").as_deref(), Some("`Cpus < 2` is true"));
/// assert_eq!(cause_of_value(b"true"), None);
/// ```
pub fn cause_of_value(context: &Context<'_>, expr: &Expr, step: &TraceStep) -> Option<String> {
    let reason = step.reason();
    let truth = step.value.as_ref().and_then(Value::truth);
    if truth == Some(true) {
        let disjuncts = disjuncts(expr);
        if disjuncts.len() < 2 {
            return None;
        }
        let clause = disjuncts.iter().find(|clause| context.eval(clause).truth() == Some(true))?;
        return Some(format!("`{}` is true", shorten(clause.unparse().to_string().trim_start(), 200)));
    }
    if conjuncts(expr).len() > 1
        && let Some(clause) = first_not_true(context, expr)
    {
        // If a clause is undefined or error, the text of the clause itself names the cause.
        let shown = shorten(&clause.to_string(), 400);
        return Some(match clause.reason {
            // If a clause is only a name, the message need not repeat it.
            Some(inner) if clause.is_name => inner,
            Some(inner) if !shown.contains(&inner) => format!("{shown}; {inner}"),
            _ => shown,
        });
    }
    match (&step.value, reason) {
        (_, Some(reason)) => Some(reason),
        (Some(value), None) if value.truth() == Some(false) => {
            let clause = first_not_true(context, expr)?;
            Some(shorten(&clause.to_string(), 400))
        }
        _ => None,
    }
}

/// Returns a text on one line, shortened to at most `most` characters.
fn shorten(text: &str, most: usize) -> String {
    let line = text.replace(|c: char| c.is_control(), " ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}

/// Returns a short reason why the value of an expression in an ad is undefined or error, or an empty string if it has
/// another value.
///
/// ```
/// use htc_classad::{ClassAd, Expr, explain};
/// use htc_classad::System;
/// let world = System;
/// let ad = ClassAd::new();
/// let why = |text: &[u8]| explain::why_undefined(&Expr::parse(text).unwrap(), &ad, &world);
/// assert_eq!(why(b"1 + MemoryUsage * 2"), "MemoryUsage is missing");
/// assert_eq!(why(b"1 + (\"a\" * 2)"), "`\"a\" * 2` is an error: its arguments are string and integer");
/// ```
pub fn why_undefined(expr: &Expr, ad: &ClassAd, world: &dyn EvalWorld) -> String {
    trace(&Context::new(world).my(ad), expr).reason().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{cause_of_value, first_not_true, trace};
    use crate::{ClassAd, Context, Dialect, Expr, System};

    fn ad(text: &str) -> ClassAd {
        ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax()).unwrap()
    }

    fn why(my: &str, target: &str, expr: &str) -> String {
        let (my, target) = (ad(my), ad(target));
        let context = Context::new(&System).my(&my).target(&target);
        let expr = Expr::parse(expr.as_bytes()).unwrap();
        cause_of_value(&context, &expr, &trace(&context, &expr)).unwrap_or_default()
    }

    #[test]
    fn a_missing_attribute_of_a_scope_is_the_cause_and_not_the_whole_ad() {
        let slot = "[Name = \"s\"; Cpus = 1; T = true]";
        assert_eq!(why("[]", slot, "TARGET.HasGpu && TARGET.Cpus > 0"), "TARGET.HasGpu is missing");
        assert_eq!(why("[]", slot, "TARGET.HasGpu"), "TARGET.HasGpu is missing");
        assert_eq!(why("[]", slot, "TARGET.T && MY.WantRoute"), "MY.WantRoute is missing");
        assert_eq!(why("[Foo = [a = 1]]", "[]", "Foo.b && true"), "Foo.b is missing");
        assert_eq!(why("[a = [b = [x = 1]]]", "[]", "true && a.b.c"), "a.b.c is missing");
        assert_eq!(why("[a = [x = 1]]", "[]", "true && a.b.c"), "a.b is missing");
        assert_eq!(why("[Start = TARGET.No && true]", slot, "MY.Start && true"), "TARGET.No is missing");
    }

    #[test]
    fn names_in_parentheses_are_followed_and_each_value_is_stated_once() {
        let slot = "[Limits = MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus; Cpus = 1; Start = false]";
        let job = "[RequestCpus = 4]";
        let limits = "`TARGET.RequestCpus <= MY.Cpus` is false: TARGET.RequestCpus is 4, MY.Cpus is 1";
        assert_eq!(why(slot, job, "true && (Limits)"), limits);
        assert_eq!(why(slot, job, "true && ((Limits))"), limits);
        assert_eq!(why(slot, job, "Start && (Limits)"), "`Start` is false");
    }

    #[test]
    fn the_untrue_clause_is_never_an_ad_in_which_a_name_was_searched() {
        let (my, target) = (ad("[]"), ad("[Cpus = 1]"));
        let context = Context::new(&System).my(&my).target(&target);
        let clause = |text: &str| {
            let expr = Expr::parse(text.as_bytes()).unwrap();
            first_not_true(&context, &expr).unwrap().expr.to_string()
        };
        assert_eq!(clause("TARGET.HasGpu && TARGET.Cpus > 0"), "TARGET.HasGpu");
        assert_eq!(clause("TARGET.Cpus > 0 && MY.WantRoute"), "MY.WantRoute");
    }

    #[test]
    fn a_name_that_refers_to_itself_is_reported() {
        let job = "[Requirements = MY.Requirements && TARGET.Cpus > 1]";
        let slot = "[Cpus = 2]";
        assert_eq!(why(job, slot, "MY.Requirements && TARGET.Cpus > 1"), "MY.Requirements refers to itself");
        assert_eq!(why("[y = z; z = y]", "[]", "y"), "y refers to itself");
    }

    #[test]
    #[cfg(feature = "regex")]
    fn a_function_names_the_argument_that_it_does_not_accept() {
        let shown = |text: &str| why("[]", "[]", text);
        assert_eq!(
            shown("regexp(\"[\", \"a\")"),
            "the pattern \"[\" of regexp() cannot be used: missing terminating ] for character class at byte 1 of the pattern"
        );
        assert_eq!(shown("ifThenElse(true, true)"), "ifThenElse() needs 3 arguments, but got 2");
        assert_eq!(shown("userMap(\"a\")"), "userMap() needs 2 to 4 arguments, but got 1");
        assert_eq!(shown("size(5)"), "`size(5)` is an error: its arguments are integer");
    }

    #[test]
    fn reals_and_ads_are_shown_in_short_form() {
        assert_eq!(
            why("[Load = 10.1]", "[]", "Load < 1.5"),
            "`Load < 1.500000000000000E+00` is false: Load is 10.1"
        );
        let gpu = "[Capability = 7.5; DeviceName = \"T4\"]";
        let shown = why(
            "[RequireGPUs = Capability >= 8]",
            &format!("[AvailableGPUs = {{ {gpu} }}]"),
            "countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= 1",
        );
        assert!(shown.contains("Capability is 7.5"), "{shown}");
        assert!(!shown.contains("MY is"), "{shown}");
    }

    /// Checks that an ad returned by a string subscript appears to have no attributes, as in 25.14, except for a
    /// further subscript.
    #[test]
    fn an_attribute_of_a_subscripted_ad_is_undefined() {
        let my = ad("[at = [g = [start = 1900; h = [k = 3]]; l = {[s = 1]}]; z = at[\"g\"]]");
        let context = Context::new(&System).my(&my);
        let value = |text: &str| context.eval(&Expr::parse(text.as_bytes()).unwrap()).to_string();
        for undefined in [
            "at[\"g\"].start",
            "(at[\"g\"]).start",
            "z.start",
            "[z = at[\"g\"]].z.start",
            "ifThenElse(true, at[\"g\"], 0).start",
            "{at[\"g\"]}[0].start",
            "at[\"g\"].h.k",
            "at[\"l\"][0].s",
            "MY[\"at\"].g",
        ] {
            assert_eq!(value(undefined), "undefined", "{undefined}");
        }
        assert_eq!(value("{at[\"g\"]}.start"), "{ undefined }");
        assert_eq!(value("at[\"g\"][\"start\"]"), "1900");
        assert_eq!(value("at[\"g\"][\"h\"][\"k\"]"), "3");
        assert_eq!(value("at.g.start"), "1900");
        assert_eq!(value("{at.g}[0].start"), "1900");
    }
}
