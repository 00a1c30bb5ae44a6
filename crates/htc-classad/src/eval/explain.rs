//! Explanations of the value of an expression: its steps, its clauses, and the first cause.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bstr::{BStr, BString};

use crate::ad::{ClassAd, Value};
use crate::eval::argument_checks::argument_error;
use crate::eval::context::Context;
use crate::eval::observer::{ExprPart, NameLocation, Observer};
use crate::eval_world::EvalWorld;
use crate::syntax::Expr;
use crate::syntax::expr::ExprRepr;
use crate::syntax::tree::{ABSOLUTE_BASE, BinaryOp, Node, UnaryOp};
use crate::user_map::UserMaps;

/// Returns the clauses of a conjunction: `a && (b && c)` has three. Parentheses around clauses are kept, those around
/// conjunctions are dropped.
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
#[derive(Clone, Debug, PartialEq)]
pub struct LookedUpName {
    /// The reference as written: `TARGET.Memory`.
    pub text: BString,
    /// Location where it was found.
    pub place: NameLocation,
    /// Its value, or `None` if its evaluation failed.
    pub value: Option<Value>,
}

impl fmt::Display for LookedUpName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.value, self.place) {
            (_, NameLocation::Nowhere) => write!(f, "{} is not there", self.text),
            (Some(value), _) => write!(f, "{} is {}", self.text, display_value(value)),
            (None, _) => write!(f, "{} cannot be evaluated", self.text),
        }
    }
}

/// Formats a value for a sentence: a real with as many digits as it needs, a long list or ad as the number of its
/// elements.
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
        Value::List(list) if text.len() > MAX_LENGTH => format!("a list of {} elements", list.items().len()),
        Value::Ad(ad) if text.len() > MAX_LENGTH => format!("an ad of {} attributes", ad.len()),
        _ => text,
    }
}

/// Clause of a conjunction with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// The clause.
    pub expr: Expr,
    /// Its value, or `None` if its evaluation failed.
    pub value: Option<Value>,
    /// The names in it, each once, in the order in which they were looked up.
    pub references: Vec<LookedUpName>,
    /// Reason why it is undefined or an error, or `None` if it is neither.
    pub reason: Option<String>,
    /// True if it is only a name.
    pub is_name: bool,
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "`{}` is {value}", self.expr)?,
            None => write!(f, "`{}` cannot be evaluated", self.expr)?,
        }
        for (at, reference) in self.references.iter().enumerate() {
            write!(f, "{}{reference}", if at == 0 { ": " } else { ", " })?;
        }
        Ok(())
    }
}

/// Returns the clauses of a conjunction, each evaluated separately.
pub fn clauses(context: &Context<'_>, expr: &Expr) -> Vec<Clause> {
    conjuncts(expr).into_iter().map(|expr| evaluate_clause(context, expr)).collect()
}

/// Returns the first clause of a conjunction that is not true, that is, the reason for false or undefined Requirements,
/// or `None` if all are true. If that clause is only a name, the clause of its definition is returned.
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

/// Step of an evaluation: a part of an expression, its value, and the steps that led to it.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceStep {
    /// The part of the expression.
    pub expr: Expr,
    /// Its value, or `None` if its evaluation failed.
    pub value: Option<Value>,
    /// Location where the name was found, or `None` if the part is not a reference.
    pub place: Option<NameLocation>,
    /// The steps below it, in the order in which they were made: operands, arguments, and the expression that a name is
    /// bound to, unless that is a literal. Unevaluated parts have no step.
    pub steps: Vec<TraceStep>,
    /// Explanation that the values do not show: that a name refers to itself, or why `userMap()` found no groups.
    pub note: Option<String>,
}

/// Returns the cause of the value of an expression, given its steps: the first conjunct that is not true, the first
/// disjunct that is, the undefined reference, or the mismatched types.
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
        // The message of an undefined or erroneous clause names its own cause.
        let told = shorten(&clause.to_string(), 400);
        return Some(match clause.reason {
            // A clause that is only a name need not be repeated.
            Some(inner) if clause.is_name => inner,
            Some(inner) if !told.contains(&inner) => format!("{told}; {inner}"),
            _ => told,
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

/// Returns a text on one line, shortened to `most` characters.
fn shorten(text: &str, most: usize) -> String {
    let line = text.replace(|c: char| c.is_control(), " ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}

/// Maximum number of steps kept of one evaluation; later ones are evaluated but not kept.
const MAX_STEPS: usize = 20_000;

/// Evaluates an expression and returns its steps.
pub fn trace(context: &Context<'_>, expr: &Expr) -> TraceStep {
    let recorder = TraceRecorder { recorded: Mutex::default(), world: context.world() };
    let value = context.observer(&recorder).try_eval(expr);
    let mut recorded = recorder.recorded.into_inner().unwrap_or_else(PoisonError::into_inner);
    match recorded.finished_steps.pop() {
        Some(step) => step,
        None => TraceStep { expr: expr.clone(), value, place: None, steps: Vec::new(), note: None },
    }
}

struct TraceRecorder<'a> {
    recorded: Mutex<TraceState>,
    world: &'a dyn EvalWorld,
}

#[derive(Default)]
struct TraceState {
    open_steps: Vec<TraceStep>,
    finished_steps: Vec<TraceStep>,
    count: usize,
    /// Number of nested levels that are not kept.
    skipped_levels: usize,
}

impl TraceRecorder<'_> {
    fn state(&self) -> MutexGuard<'_, TraceState> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for TraceRecorder<'_> {
    fn enter(&self, part: &ExprPart<'_>) {
        let mut this = self.state();
        this.count += 1;
        if this.count > MAX_STEPS || this.skipped_levels > 0 {
            this.skipped_levels += 1;
            return;
        }
        this.open_steps.push(TraceStep {
            expr: part.expr(),
            value: None,
            place: None,
            steps: Vec::new(),
            note: None,
        });
    }

    fn name_found(&self, _name: &BStr, place: NameLocation) {
        let mut this = self.state();
        if this.skipped_levels == 0
            && let Some(step) = this.open_steps.last_mut()
        {
            step.place.get_or_insert(place);
        }
    }

    fn circular_reference(&self) {
        let mut this = self.state();
        if this.skipped_levels == 0
            && let Some(step) = this.open_steps.last_mut()
        {
            step.note = Some(format!("{} refers to itself", step.expr));
        }
    }

    fn leave(&self, _part: &ExprPart<'_>, value: Option<&Value>) {
        let mut this = self.state();
        if this.skipped_levels > 0 {
            this.skipped_levels -= 1;
            return;
        }
        let Some(mut step) = this.open_steps.pop() else { return };
        step.value = value.cloned();
        if step.note.is_none() {
            step.note = step.user_map_reason(self.world);
        }
        match this.open_steps.last_mut() {
            Some(outer) => outer.steps.push(step),
            None => this.finished_steps.push(step),
        }
    }
}

impl TraceStep {
    /// Returns true if the part is a literal, which needs no explanation.
    pub fn is_literal(&self) -> bool {
        matches!(self.expr.0, ExprRepr::Scalar(_))
    }

    /// Returns the part of a name's definition that determines its value, or this step if it is not a name.
    fn deciding_step(&self) -> &TraceStep {
        match (self.place, self.definition()) {
            (Some(_), Some(definition)) => definition.deciding_part(),
            _ => self,
        }
    }

    /// Returns the step of the expression that a name is bound to, or `None` if that is a literal or was not evaluated.
    /// The first step of `base.name` is the base.
    fn definition(&self) -> Option<&TraceStep> {
        match self.has_base() {
            true => self.steps.get(1),
            false => self.steps.last(),
        }
    }

    /// Returns true if this is `base.name`.
    fn has_base(&self) -> bool {
        let ExprRepr::Node(tree, root) = &self.expr.0 else { return false };
        matches!(tree.node(*root), Node::Attr { base, .. } if base != ABSOLUTE_BASE)
    }

    /// Returns the part of a conjunction that determines its value.
    fn deciding_part(&self) -> &TraceStep {
        let conjunction = match &self.expr.0 {
            ExprRepr::Node(tree, root) => match tree.node(*root) {
                Node::Unary(UnaryOp::Parentheses, _) | Node::Binary(BinaryOp::And, ..) => true,
                _ => return self.deciding_step(),
            },
            ExprRepr::Scalar(_) => false,
        };
        match self.steps.iter().find(|step| step.value == self.value) {
            Some(part) if conjunction => part.deciding_part(),
            _ => self,
        }
    }

    fn collect_references(&self, references: &mut Vec<LookedUpName>) {
        if let Some(place) = self.place {
            let text = self.expr.unparse();
            // An ad is only the place of a lookup and says nothing by itself.
            let is_ad = matches!(self.value, Some(Value::Ad(_)));
            if !is_ad && !references.iter().any(|other| other.text == text) {
                references.push(LookedUpName { text, place, value: self.value.clone() });
            }
        }
        // The names in an attribute's definition belong to that attribute; only the base of a selection is evaluated
        // here.
        if self.place.is_none() {
            for step in &self.steps {
                step.collect_references(references);
            }
        }
    }

    /// Returns the innermost step that made the value undefined or an error.
    pub fn culprit(&self) -> &TraceStep {
        let same = |step: &&TraceStep| match (&self.value, &step.value) {
            (Some(Value::Undefined), Some(Value::Undefined)) | (Some(Value::Error), Some(Value::Error)) => {
                true
            }
            (None, None) => true,
            // An undefined operand also makes an error if a truth value is required.
            _ => false,
        };
        match self.value {
            Some(Value::Undefined | Value::Error) | None => {
                self.steps.iter().find(same).map_or(self, TraceStep::culprit)
            }
            _ => self,
        }
    }

    /// Returns one sentence about an undefined value, an error or a failure, or `None` for any other value.
    pub fn reason(&self) -> Option<String> {
        let culprit = self.culprit();
        let text = &culprit.expr;
        if let Some(note) = &culprit.note {
            return Some(note.clone());
        }
        Some(match (&culprit.value, culprit.place) {
            (Some(Value::Undefined), Some(NameLocation::Nowhere)) => format!("{text} is not there"),
            (Some(Value::Undefined), Some(_)) => format!("{text} is undefined"),
            (Some(Value::Undefined), None) if culprit.is_literal() => {
                String::from("it says `undefined` itself")
            }
            (Some(Value::Undefined), None) => format!("`{text}` is undefined"),
            (Some(Value::Error), _) if culprit.is_literal() => String::from("it says `error` itself"),
            (Some(Value::Error), _) => culprit.type_mismatch(),
            (None, _) => format!("`{text}` cannot be evaluated: a limit was reached, or a function refused"),
            _ => return None,
        })
    }

    /// Returns the reason why `userMap()` has no groups for the user.
    fn user_map_reason(&self, world: &dyn EvalWorld) -> Option<String> {
        let ExprRepr::Node(tree, root) = &self.expr.0 else { return None };
        let Node::Call { name, .. } = tree.node(*root) else { return None };
        if self.value != Some(Value::Undefined) || !tree.name_bytes(name).eq_ignore_ascii_case(b"userMap") {
            return None;
        }
        let text = |at: usize| match self.steps.get(at).and_then(|step| step.value.as_ref()) {
            Some(Value::Str(text)) => Some(text),
            _ => None,
        };
        let (map, user) = (text(0)?, text(1)?);
        let none = UserMaps::default();
        world.user_maps().unwrap_or(&none).look_up(map, user).err().map(|why| why.to_string())
    }

    /// Describes the types that do not fit together.
    fn type_mismatch(&self) -> String {
        let types: Vec<&str> =
            self.steps.iter().filter_map(|step| step.value.as_ref()).map(Value::type_name).collect();
        let text = &self.expr;
        if let ExprRepr::Node(tree, root) = &self.expr.0
            && let Node::Call { name, .. } = tree.node(*root)
            && tree.name_info(name).function == crate::syntax::function_names::UNKNOWN_FUNCTION
        {
            return format!("there is no function {}", BStr::new(tree.name_bytes(name)));
        }
        if let ExprRepr::Node(tree, root) = &self.expr.0
            && let Node::Call { name, count, .. } = tree.node(*root)
            && let first = self.steps.first().and_then(|step| step.value.as_ref())
            && let Some(why) = argument_error(tree.name_bytes(name), count as usize, first)
        {
            return why;
        }
        match types[..] {
            [] => format!("`{text}` is an error"),
            _ => format!("`{text}` is an error: it was given {}", types.join(" and ")),
        }
    }
}

/// Returns a short reason why an expression is undefined or an error in an ad, or an empty text if it is neither.
///
/// ```
/// use htc_classad::{ClassAd, Expr, explain};
/// use htc_classad::System;
/// let world = System;
/// let ad = ClassAd::new();
/// let why = |text: &[u8]| explain::why_undefined(&Expr::parse(text).unwrap(), &ad, &world);
/// assert_eq!(why(b"1 + MemoryUsage * 2"), "MemoryUsage is not there");
/// assert_eq!(why(b"1 + (\"a\" * 2)"), "`\"a\" * 2` is an error: it was given string and integer");
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
        assert_eq!(why("[]", slot, "TARGET.HasGpu && TARGET.Cpus > 0"), "TARGET.HasGpu is not there");
        assert_eq!(why("[]", slot, "TARGET.HasGpu"), "TARGET.HasGpu is not there");
        assert_eq!(why("[]", slot, "TARGET.T && MY.WantRoute"), "MY.WantRoute is not there");
        assert_eq!(why("[Foo = [a = 1]]", "[]", "Foo.b && true"), "Foo.b is not there");
        assert_eq!(why("[a = [b = [x = 1]]]", "[]", "true && a.b.c"), "a.b.c is not there");
        assert_eq!(why("[a = [x = 1]]", "[]", "true && a.b.c"), "a.b is not there");
        assert_eq!(why("[Start = TARGET.No && true]", slot, "MY.Start && true"), "TARGET.No is not there");
    }

    #[test]
    fn the_clause_that_is_not_true_is_never_the_ad_it_was_looked_for_in() {
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
    fn a_name_that_refers_to_itself_is_told() {
        let job = "[Requirements = MY.Requirements && TARGET.Cpus > 1]";
        let slot = "[Cpus = 2]";
        assert_eq!(why(job, slot, "MY.Requirements && TARGET.Cpus > 1"), "MY.Requirements refers to itself");
        assert_eq!(why("[y = z; z = y]", "[]", "y"), "y refers to itself");
    }

    #[test]
    #[cfg(feature = "regex")]
    fn a_function_says_what_it_does_not_accept() {
        let told = |text: &str| why("[]", "[]", text);
        assert_eq!(
            told("regexp(\"[\", \"a\")"),
            "the pattern \"[\" of regexp() cannot be used: missing terminating ] for character class at byte 1 of the pattern"
        );
        assert_eq!(told("ifThenElse(true, true)"), "ifThenElse() needs 3 arguments, it was given 2");
        assert_eq!(told("userMap(\"a\")"), "userMap() needs 2 to 4 arguments, it was given 1");
        assert_eq!(told("size(5)"), "`size(5)` is an error: it was given integer");
    }

    #[test]
    fn reals_and_ads_are_short() {
        assert_eq!(
            why("[Load = 10.1]", "[]", "Load < 1.5"),
            "`Load < 1.500000000000000E+00` is false: Load is 10.1"
        );
        let gpu = "[Capability = 7.5; DeviceName = \"T4\"]";
        let told = why(
            "[RequireGPUs = Capability >= 8]",
            &format!("[AvailableGPUs = {{ {gpu} }}]"),
            "countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= 1",
        );
        assert!(told.contains("Capability is 7.5"), "{told}");
        assert!(!told.contains("MY is"), "{told}");
    }

    /// An ad returned by a string subscript has no attributes any more, as in 25.14; a further subscript finds them.
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
