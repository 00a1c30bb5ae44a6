//! Observers of an evaluation; explanations, references and traces are built on them.

use std::sync::Arc;

use bstr::{BStr, BString};

use crate::ad::Value;
use crate::ad::unparse::{self, UnparseForm};
use crate::syntax::expr::Expr;
use crate::syntax::tree::{ExprTree, Node, NodeId, UnaryOp};

/// Observer of the steps of an evaluation. It does not change the evaluation. Several threads may share an observer,
/// as they may share the [`Context`](crate::Context) that has it.
///
/// ```
/// use std::sync::Mutex;
/// use bstr::BStr;
/// use htc_classad::{ClassAd, Context, Expr, Observer, NameLocation};
/// # use htc_classad::System;
///
/// #[derive(Default)]
/// struct Names(Mutex<Vec<String>>);
/// impl Observer for Names {
///     fn name_found(&self, name: &BStr, place: NameLocation) {
///         self.0.lock().unwrap().push(format!("{name} {place:?}"));
///     }
/// }
///
/// let mut ad = ClassAd::new();
/// ad.set("Cpus", 4);
/// let names = Names::default();
/// let world = System;
/// let context = Context::new(&world).my(&ad).observer(&names);
/// context.eval(&Expr::parse(b"Cpus > 2 && Owner == \"ana\"").unwrap());
/// assert_eq!(names.0.into_inner().unwrap(), ["Cpus My", "Owner Nowhere"]);
/// ```
pub trait Observer: Sync {
    /// Called before a part of an expression is evaluated.
    fn enter(&self, _part: &ExprPart<'_>) {}

    /// Called when a name has been looked up.
    fn name_found(&self, _name: &BStr, _place: NameLocation) {}

    /// Called if the attribute found for the last name is already being evaluated, which means that it depends on
    /// itself.
    fn circular_reference(&self) {}

    /// Called when a part has been evaluated. The value is `None` if the evaluation failed because a limit was
    /// reached.
    fn leave(&self, _part: &ExprPart<'_>, _value: Option<&Value>) {}
}

/// Location where a name was found.
///
/// ```
/// use htc_classad::{Context, Expr, NameLocation, System, explain};
/// let step = explain::trace(&Context::new(&System), &Expr::parse("Memory").unwrap());
/// assert_eq!(step.place, Some(NameLocation::Nowhere));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameLocation {
    /// The name was found in MY, the ad in which the expression is evaluated.
    My,
    /// The name was found in TARGET, the other ad of a match.
    Target,
    /// The name was found in an ad that is nested in MY, in TARGET or in the expression.
    Nested,
    /// The name is defined by the match itself, such as `other` or `LEFT`.
    Match,
    /// The name was not found, and its value is undefined.
    Nowhere,
}

/// Part of an expression: an operator with its operands, a call, a reference, or a literal.
///
/// ```
/// use std::sync::Mutex;
/// use htc_classad::{Context, Expr, ExprPart, Observer, System, Value};
/// #[derive(Default)]
/// struct Steps(Mutex<Vec<String>>);
/// impl Observer for Steps {
///     fn leave(&self, part: &ExprPart<'_>, value: Option<&Value>) {
///         if let Some(value) = value && !part.is_literal() {
///             self.0.lock().unwrap().push(format!("{} = {value}", part.text()));
///         }
///     }
/// }
/// let steps = Steps::default();
/// Context::new(&System).observer(&steps).eval(&Expr::parse("1 + 2 * 3").unwrap());
/// assert_eq!(steps.0.into_inner().unwrap(), ["2 * 3 = 6", "1 + 2 * 3 = 7"]);
/// ```
pub struct ExprPart<'a> {
    pub(crate) tree: &'a Arc<ExprTree>,
    pub(crate) id: NodeId,
}

impl ExprPart<'_> {
    /// Returns the part as an expression of its own.
    ///
    /// ```
    /// use htc_classad::{Context, Expr, ExprKind, ExprPart, Observer, System, Value};
    /// struct Comparisons;
    /// impl Observer for Comparisons {
    ///     fn leave(&self, part: &ExprPart<'_>, value: Option<&Value>) {
    ///         if let ExprKind::Compare(operator, ..) = part.expr().kind() {
    ///             assert_eq!((operator, value), (">", Some(&Value::Bool(false))));
    ///         }
    ///     }
    /// }
    /// Context::new(&System).observer(&Comparisons).eval(&Expr::parse("1 + 1 > 3").unwrap());
    /// ```
    pub fn expr(&self) -> Expr {
        Expr::from_tree(self.tree, self.id)
    }

    /// Returns the text of the part in new syntax.
    pub fn text(&self) -> BString {
        let mut out = Vec::new();
        unparse::push_node(self.tree, self.id, UnparseForm::New, &mut out);
        out.into()
    }

    /// Returns true if the part is a literal.
    pub fn is_literal(&self) -> bool {
        self.tree.scalar(self.id).is_some()
    }

    /// Returns true if the part is a function call, ignoring parentheses. This is cheaper than calling
    /// [`ExprPart::expr`].
    pub fn is_call(&self) -> bool {
        let mut at = self.id;
        while let Node::Unary(UnaryOp::Parentheses, inner) = self.tree.node(at) {
            at = inner;
        }
        matches!(self.tree.node(at), Node::Call { .. })
    }
}
