//! Steps of an evaluation, and the step that determined the result.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bstr::BStr;

use super::LookedUpName;
use crate::ad::Value;
use crate::eval::argument_checks::argument_error;
use crate::eval::context::Context;
use crate::eval::observer::{ExprPart, NameLocation, Observer};
use crate::eval_world::EvalWorld;
use crate::syntax::Expr;
use crate::syntax::expr::ExprRepr;
use crate::syntax::tree::{ABSOLUTE_BASE, BinaryOp, Node, UnaryOp};
use crate::user_map::UserMaps;

/// Step of an evaluation: a part of an expression, its value, and the steps for its own parts.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, System, explain::{self, TraceStep}};
///
/// /// Prints the steps of an evaluation, each below the step that it is a part of.
/// fn lines(step: &TraceStep, depth: usize) -> String {
///     let value = step.value.as_ref().map_or("failed".to_owned(), ToString::to_string);
///     let own = format!("{}{} = {value}\n", "  ".repeat(depth), step.expr);
///     step.steps.iter().filter(|step| !step.is_literal()).fold(own, |text, step| text + &lines(step, depth + 1))
/// }
/// let ad = ClassAd::from([("Cpus", 1)]);
/// let step = explain::trace(&Context::new(&System).my(&ad), &Expr::parse("Cpus + 1 > 3").unwrap());
/// assert_eq!(lines(&step, 0), "Cpus + 1 > 3 = false\n  Cpus + 1 = 2\n    Cpus = 1\n");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TraceStep {
    /// Part of the expression that was evaluated.
    pub expr: Expr,
    /// Value of the part, or `None` if its evaluation failed.
    pub value: Option<Value>,
    /// Location in which the name was found if the part is a reference, or else `None`.
    pub place: Option<NameLocation>,
    /// Steps for the operands, for the arguments, or for the expression to which a name is bound, in the order of
    /// evaluation. Parts that were not evaluated have no step, nor does a literal to which a name is bound.
    pub steps: Vec<TraceStep>,
    /// Explanation that is not visible from the values, or `None`: a name depends on itself, or `userMap()` found no
    /// groups.
    pub note: Option<String>,
}

/// Maximum number of steps recorded for one evaluation. Further steps are evaluated but not recorded.
const MAX_STEPS: usize = 20_000;

/// Evaluates an expression and returns its steps.
///
/// ```
/// use htc_classad::{Context, Expr, System, explain};
/// let step = explain::trace(&Context::new(&System), &Expr::parse("false && Cpus > 3").unwrap());
/// // The right side was not evaluated.
/// assert_eq!((step.value.unwrap(), step.steps.len()), (false.into(), 1));
/// ```
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
    /// Number of nested levels of the current part that are not recorded.
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

    /// Returns the part of the definition that determines the value if this step is a name, or else this step itself.
    pub(super) fn deciding_step(&self) -> &TraceStep {
        let inner = self.without_parentheses();
        match (inner.place, inner.definition()) {
            (Some(_), Some(definition)) => definition.deciding_part(),
            _ => self,
        }
    }

    fn without_parentheses(&self) -> &TraceStep {
        let is_parenthesized = match &self.expr.0 {
            ExprRepr::Node(tree, root) => matches!(tree.node(*root), Node::Unary(UnaryOp::Parentheses, _)),
            ExprRepr::Scalar(_) => false,
        };
        match self.steps.as_slice() {
            [inner] if is_parenthesized => inner.without_parentheses(),
            _ => self,
        }
    }

    /// Returns the step for the expression to which the name is bound, or `None` if this expression is a literal or was
    /// not evaluated. In a step for `base.name`, the first inner step is that of the base.
    fn definition(&self) -> Option<&TraceStep> {
        match self.has_base() {
            true => self.steps.get(1),
            false => self.steps.last(),
        }
    }

    /// Returns true if the part has the form `base.name`.
    pub(super) fn has_base(&self) -> bool {
        let ExprRepr::Node(tree, root) = &self.expr.0 else { return false };
        matches!(tree.node(*root), Node::Attr { base, .. } if base != ABSOLUTE_BASE)
    }

    /// Returns the clause of a conjunction that determines its value.
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

    pub(super) fn collect_references(&self, references: &mut Vec<LookedUpName>) {
        if let Some(place) = self.place {
            let text = self.expr.unparse();
            // An ad is only the place where a name is looked up, so the ad's own value explains nothing.
            let is_ad = matches!(self.value, Some(Value::Ad(_)));
            if !is_ad && !references.iter().any(|other| other.text == text) {
                references.push(LookedUpName { text, place, value: self.value.clone() });
            }
        }
        // The names in the definition of an attribute do not belong to this expression. In a selection, only the names
        // in the base do.
        if self.place.is_none() {
            for step in &self.steps {
                step.collect_references(references);
            }
        }
    }

    /// Returns the innermost step that made the value of this step undefined or error.
    ///
    /// ```
    /// use htc_classad::{Context, Expr, System, explain};
    /// let step = explain::trace(&Context::new(&System), &Expr::parse("1 + Memory * 2 > 0").unwrap());
    /// assert_eq!(step.culprit().expr.to_string(), "Memory");
    /// assert_eq!(step.reason().unwrap(), "Memory is missing");
    /// ```
    pub fn culprit(&self) -> &TraceStep {
        let same = |step: &&TraceStep| match (&self.value, &step.value) {
            (Some(Value::Undefined), Some(Value::Undefined)) | (Some(Value::Error), Some(Value::Error)) => {
                true
            }
            (None, None) => true,
            // If a truth value is required, an undefined operand can also be the cause of an error.
            _ => false,
        };
        match self.value {
            Some(Value::Undefined | Value::Error) | None => {
                self.steps.iter().find(same).map_or(self, TraceStep::culprit)
            }
            _ => self,
        }
    }

    /// Returns a sentence that explains an undefined value, an error or a failure, or `None` for any other value.
    ///
    /// ```
    /// use htc_classad::{Context, Expr, System, explain};
    /// let reason = |text: &str| explain::trace(&Context::new(&System), &Expr::parse(text).unwrap()).reason();
    /// assert_eq!(reason("1 - \"x\"").unwrap(), "`1 - \"x\"` is an error: its arguments are integer and string");
    /// assert_eq!(reason("1 + 1"), None);
    /// ```
    pub fn reason(&self) -> Option<String> {
        let culprit = self.culprit();
        let text = &culprit.expr;
        if let Some(note) = &culprit.note {
            return Some(note.clone());
        }
        Some(match (&culprit.value, culprit.place) {
            (Some(Value::Undefined), Some(NameLocation::Nowhere)) => format!("{text} is missing"),
            (Some(Value::Undefined), Some(_)) => format!("{text} is undefined"),
            (Some(Value::Undefined), None) if culprit.is_literal() => {
                String::from("the expression is the literal `undefined`")
            }
            (Some(Value::Undefined), None) => format!("`{text}` is undefined"),
            (Some(Value::Error), _) if culprit.is_literal() => {
                String::from("the expression is the literal `error`")
            }
            (Some(Value::Error), _) if text.is_reference() => format!("{text} is an error"),
            (Some(Value::Error), _) => culprit.type_mismatch(),
            (None, _) => format!(
                "`{text}` cannot be evaluated: a limit was reached, or a function rejected its arguments"
            ),
            _ => return None,
        })
    }

    /// Returns the reason why `userMap()` found no groups for a user.
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

    /// Describes the types of operands or arguments that the operation does not accept.
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
            _ => format!("`{text}` is an error: its arguments are {}", types.join(" and ")),
        }
    }
}
