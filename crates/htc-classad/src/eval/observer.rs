//! Observers of an evaluation, on which explanations, references and traces are built.

use std::sync::Arc;

use bstr::{BStr, BString};

use crate::ad::Value;
use crate::ad::unparse::{self, UnparseForm};
use crate::syntax::expr::Expr;
use crate::syntax::tree::{ExprTree, Node, NodeId, UnaryOp};

/// Observer of the steps of an evaluation. It does not change the evaluation, and it may be shared by threads, as the
/// [`Context`](crate::Context) that has it may.
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
    /// Called when the evaluation of a part of an expression begins.
    fn enter(&self, _part: &ExprPart<'_>) {}

    /// Called when a name was looked up.
    fn name_found(&self, _name: &BStr, _place: NameLocation) {}

    /// Called when the last name looked up is already being evaluated: the name refers to itself.
    fn circular_reference(&self) {}

    /// Called when the evaluation of a part has ended; the value is `None` if it failed because a limit was reached.
    fn leave(&self, _part: &ExprPart<'_>, _value: Option<&Value>) {}
}

/// Location where a name was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameLocation {
    /// The ad for which the expression is evaluated.
    My,
    /// The other ad.
    Target,
    /// An ad written within one of them, or within the expression.
    Nested,
    /// The match itself, which defines names such as `other` and `LEFT`.
    Match,
    /// Not found: the reference is undefined.
    Nowhere,
}

/// Part of an expression: an operator with its operands, a call, a reference, or a literal.
pub struct ExprPart<'a> {
    pub(crate) tree: &'a Arc<ExprTree>,
    pub(crate) id: NodeId,
}

impl ExprPart<'_> {
    /// Returns the part as an expression.
    pub fn expr(&self) -> Expr {
        Expr::from_tree(self.tree, self.id)
    }

    /// Returns its text in new syntax.
    pub fn text(&self) -> BString {
        let mut out = Vec::new();
        unparse::push_node(self.tree, self.id, UnparseForm::New, &mut out);
        out.into()
    }

    /// Returns true if the part is a literal.
    pub fn is_literal(&self) -> bool {
        self.tree.scalar(self.id).is_some()
    }

    /// Returns true if the part is a function call, ignoring parentheses; cheaper than extracting the expression.
    pub fn is_call(&self) -> bool {
        let mut at = self.id;
        while let Node::Unary(UnaryOp::Parentheses, inner) = self.tree.node(at) {
            at = inner;
        }
        matches!(self.tree.node(at), Node::Call { .. })
    }
}
