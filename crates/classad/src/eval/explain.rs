//! Why an expression has the value it has: its steps, its clauses, and the first thing that went wrong.

use std::cell::RefCell;
use std::fmt;

use bstr::{BStr, BString};

use crate::ad::{ClassAd, Value};
use crate::eval::context::Context;
use crate::eval::observer::{Observer, Part, Place};
use crate::outside::Outside;
use crate::syntax::Expr;
use crate::syntax::expr::Repr;
use crate::syntax::tree::{BinaryOp, Node, UnaryOp};
use crate::user_map::UserMaps;

/// The clauses of a conjunction: `a && (b && c)` has three. Parentheses around clauses are kept, those around
/// conjunctions are not.
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

/// The clauses of a disjunction.
pub fn disjuncts(expr: &Expr) -> Vec<Expr> {
    operands(expr, BinaryOp::Or)
}

fn operands(expr: &Expr, wanted: BinaryOp) -> Vec<Expr> {
    let Repr::Node(tree, root) = &expr.0 else { return vec![expr.clone()] };
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

/// A name that an evaluation looked up.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The reference as it was written: `TARGET.Memory`.
    pub text: BString,
    /// Where it was found.
    pub place: Place,
    /// Its value; `None` when its evaluation failed.
    pub value: Option<Value>,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.value, self.place) {
            (_, Place::Nowhere) => write!(f, "{} is not there", self.text),
            (Some(value), _) => write!(f, "{} is {value}", self.text),
            (None, _) => write!(f, "{} cannot be evaluated", self.text),
        }
    }
}

/// A clause of a conjunction with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// The clause.
    pub expr: Expr,
    /// Its value; `None` when its evaluation failed.
    pub value: Option<Value>,
    /// The names in it, each once, in the order in which they were looked up.
    pub references: Vec<Reference>,
    /// What made it undefined or an error, where it is.
    pub reason: Option<String>,
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

/// The clauses of a conjunction, each evaluated by itself.
pub fn clauses(context: &Context<'_>, expr: &Expr) -> Vec<Clause> {
    conjuncts(expr).into_iter().map(|expr| clause(context, expr)).collect()
}

/// The first clause of a conjunction that is not true: what a false (or undefined) Requirements is due to. Where that is
/// a name alone, the clause of its definition. `None` when all are true.
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
        .map(|step| Clause::of(step.deciding()))
}

fn clause(context: &Context<'_>, expr: Expr) -> Clause {
    Clause::of(&trace(context, &expr))
}

impl Clause {
    fn of(step: &Step) -> Self {
        let mut references = Vec::new();
        step.collect_references(&mut references);
        Clause { expr: step.expr.clone(), value: step.value.clone(), references, reason: step.reason() }
    }
}

/// A step of an evaluation: a part of an expression, its value, and the steps that led to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The part of the expression.
    pub expr: Expr,
    /// Its value; `None` when its evaluation failed.
    pub value: Option<Value>,
    /// Where the name was found, if it is a reference.
    pub place: Option<Place>,
    /// The steps below it, in the order in which they were made: operands, arguments, and the expression that a name is
    /// bound to where that is no literal. What was not evaluated has no step.
    pub steps: Vec<Step>,
    /// What the world had to do with it: why `userMap()` knows no groups.
    pub note: Option<String>,
}

/// What the value of an expression is due to, whose steps are given: the first conjunct that is not true, the first disjunct that is,
/// the reference that is undefined, the types that clash.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, System, explain};
/// let mut ad = ClassAd::new();
/// ad.set("Cpus", 1);
/// let context = Context::new(&System).my(&ad);
/// let due_to = |text: &[u8]| {
///     let expr = Expr::parse(text).unwrap();
///     explain::due_to(&context, &expr, &explain::trace(&context, &expr))
/// };
/// assert_eq!(due_to(b"true && Cpus > 3").as_deref(), Some("`Cpus > 3` is false: Cpus is 1"));
/// assert_eq!(due_to(b"Cpus > 3 || Cpus < 2").as_deref(), Some("`Cpus < 2` is true"));
/// assert_eq!(due_to(b"true"), None);
/// ```
pub fn due_to(context: &Context<'_>, expr: &Expr, step: &Step) -> Option<String> {
    let reason = step.reason();
    let truth = step.value.as_ref().and_then(Value::truth);
    if truth == Some(true) {
        let disjuncts = disjuncts(expr);
        if disjuncts.len() < 2 {
            return None;
        }
        let clause = disjuncts.iter().find(|clause| context.eval(clause).truth() == Some(true))?;
        return Some(format!("`{}` is true", shortened(clause.unparse().to_string().trim_start(), 200)));
    }
    if conjuncts(expr).len() > 1
        && let Some(clause) = first_not_true(context, expr)
    {
        // A clause that is undefined or an error is told by its own culprit.
        let told = shortened(&clause.to_string(), 400);
        return Some(match clause.reason {
            Some(inner) if !told.contains(&inner) => format!("{told}; {inner}"),
            _ => told,
        });
    }
    match (&step.value, reason) {
        (_, Some(reason)) => Some(reason),
        (Some(value), None) if value.truth() == Some(false) => {
            let clause = first_not_true(context, expr)?;
            Some(shortened(&clause.to_string(), 400))
        }
        _ => None,
    }
}

/// A text on one line, of at most so many characters.
fn shortened(text: &str, most: usize) -> String {
    let line = text.replace(|c: char| c.is_control(), " ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}

/// Steps that are kept of one evaluation; what comes later is evaluated but not kept.
const MAX_STEPS: usize = 20_000;

/// Evaluates an expression and tells each step.
pub fn trace(context: &Context<'_>, expr: &Expr) -> Step {
    let recorder = Recorder { recorded: RefCell::default(), world: context.world() };
    let value = context.observer(&recorder).try_eval(expr);
    let mut recorded = recorder.recorded.into_inner();
    match recorded.done.pop() {
        Some(step) => step,
        None => Step { expr: expr.clone(), value, place: None, steps: Vec::new(), note: None },
    }
}

struct Recorder<'a> {
    recorded: RefCell<Recorded>,
    world: &'a dyn Outside,
}

#[derive(Default)]
struct Recorded {
    open: Vec<Step>,
    done: Vec<Step>,
    count: usize,
    /// Levels that are not kept.
    skipped: usize,
}

impl Observer for Recorder<'_> {
    fn enter(&self, part: &Part<'_>) {
        let mut this = self.recorded.borrow_mut();
        this.count += 1;
        if this.count > MAX_STEPS || this.skipped > 0 {
            this.skipped += 1;
            return;
        }
        this.open.push(Step { expr: part.expr(), value: None, place: None, steps: Vec::new(), note: None });
    }

    fn found(&self, _name: &BStr, place: Place) {
        let mut this = self.recorded.borrow_mut();
        if this.skipped == 0
            && let Some(step) = this.open.last_mut()
        {
            step.place.get_or_insert(place);
        }
    }

    fn leave(&self, _part: &Part<'_>, value: Option<&Value>) {
        let mut this = self.recorded.borrow_mut();
        if this.skipped > 0 {
            this.skipped -= 1;
            return;
        }
        let Some(mut step) = this.open.pop() else { return };
        step.value = value.cloned();
        step.note = step.unmapped(self.world);
        match this.open.last_mut() {
            Some(outer) => outer.steps.push(step),
            None => this.done.push(step),
        }
    }
}

impl Step {
    /// Whether the part is a literal, the value of which is plain to see.
    pub fn is_literal(&self) -> bool {
        matches!(self.expr.0, Repr::Scalar(_))
    }

    /// Where this is a name, the part of its definition that has its value.
    fn deciding(&self) -> &Step {
        match (self.place, self.steps.last()) {
            (Some(_), Some(definition)) => definition.deciding_part(),
            _ => self,
        }
    }

    /// The part of a conjunction that decides.
    fn deciding_part(&self) -> &Step {
        let conjunction = match &self.expr.0 {
            Repr::Node(tree, root) => match tree.node(*root) {
                Node::Unary(UnaryOp::Parentheses, _) | Node::Binary(BinaryOp::And, ..) => true,
                _ => return self.deciding(),
            },
            Repr::Scalar(_) => false,
        };
        match self.steps.iter().find(|step| step.value == self.value) {
            Some(part) if conjunction => part.deciding_part(),
            _ => self,
        }
    }

    fn collect_references(&self, references: &mut Vec<Reference>) {
        if let Some(place) = self.place {
            let text = self.expr.unparse();
            if !references.iter().any(|other| other.text == text) {
                references.push(Reference { text, place, value: self.value.clone() });
            }
        }
        // What a name is bound to is the business of that attribute, except that a base is evaluated on the way.
        if self.place.is_none() {
            for step in &self.steps {
                step.collect_references(references);
            }
        }
    }

    /// The innermost step that made the value undefined or an error: the last word on why.
    pub fn culprit(&self) -> &Step {
        let same = |step: &&Step| match (&self.value, &step.value) {
            (Some(Value::Undefined), Some(Value::Undefined)) | (Some(Value::Error), Some(Value::Error)) => {
                true
            }
            (None, None) => true,
            // An undefined operand makes an error too where truth is wanted.
            _ => false,
        };
        match self.value {
            Some(Value::Undefined | Value::Error) | None => {
                self.steps.iter().find(same).map_or(self, Step::culprit)
            }
            _ => self,
        }
    }

    /// One sentence about an undefined value, an error or a failure; `None` for other values.
    pub fn reason(&self) -> Option<String> {
        let culprit = self.culprit();
        let text = &culprit.expr;
        if let Some(note) = &culprit.note {
            return Some(note.clone());
        }
        Some(match (&culprit.value, culprit.place) {
            (Some(Value::Undefined), Some(Place::Nowhere)) => format!("{text} is not there"),
            (Some(Value::Undefined), Some(_)) => format!("{text} is undefined"),
            (Some(Value::Undefined), None) if culprit.is_literal() => {
                String::from("it says `undefined` itself")
            }
            (Some(Value::Undefined), None) => format!("`{text}` is undefined"),
            (Some(Value::Error), _) if culprit.is_literal() => String::from("it says `error` itself"),
            (Some(Value::Error), _) => culprit.clash(),
            (None, _) => format!("`{text}` cannot be evaluated: a limit was reached, or a function refused"),
            _ => return None,
        })
    }

    /// Why `userMap()` knows no groups of the user.
    fn unmapped(&self, world: &dyn Outside) -> Option<String> {
        let Repr::Node(tree, root) = &self.expr.0 else { return None };
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

    /// The types that did not go together.
    fn clash(&self) -> String {
        let types: Vec<&str> =
            self.steps.iter().filter_map(|step| step.value.as_ref()).map(Value::type_name).collect();
        let text = &self.expr;
        if let Repr::Node(tree, root) = &self.expr.0
            && let Node::Call { name, .. } = tree.node(*root)
            && tree.name(name).function == crate::syntax::function_names::UNKNOWN
        {
            return format!("there is no function {}", BStr::new(tree.name_bytes(name)));
        }
        match types[..] {
            [] => format!("`{text}` is an error"),
            _ => format!("`{text}` is an error: it was given {}", types.join(" and ")),
        }
    }
}

/// Why an expression is undefined or an error in an ad, in a few words; empty where it is neither.
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
pub fn why_undefined(expr: &Expr, ad: &ClassAd, world: &dyn Outside) -> String {
    trace(&Context::new(world).my(ad), expr).reason().unwrap_or_default()
}
