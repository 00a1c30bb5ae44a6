//! Watching an evaluation: what explanations, references and traces are made from.

use std::sync::Arc;

use bstr::{BStr, BString};

use crate::ad::Value;
use crate::ad::unparse::{self, UnparseForm};
use crate::syntax::expr::Expr;
use crate::syntax::tree::{ExprTree, Node, NodeId, UnaryOp};

/// Is told what an evaluation does, while it does it. The evaluation itself is the same with and without.
///
/// ```
/// use std::cell::RefCell;
/// use bstr::BStr;
/// use htc_classad::{ClassAd, Context, Expr, Observer, NameLocation};
/// # use htc_classad::System;
///
/// #[derive(Default)]
/// struct Names(RefCell<Vec<String>>);
/// impl Observer for Names {
///     fn name_found(&self, name: &BStr, place: NameLocation) {
///         self.0.borrow_mut().push(format!("{name} {place:?}"));
///     }
/// }
///
/// let mut ad = ClassAd::new();
/// ad.set("Cpus", 4);
/// let names = Names::default();
/// let world = System;
/// let context = Context::new(&world).my(&ad).observer(&names);
/// context.eval(&Expr::parse(b"Cpus > 2 && Owner == \"ana\"").unwrap());
/// assert_eq!(names.0.into_inner(), ["Cpus My", "Owner Nowhere"]);
/// ```
pub trait Observer {
    /// The evaluation of a part of an expression begins.
    fn enter(&self, _part: &ExprPart<'_>) {}

    /// A name was looked up.
    fn name_found(&self, _name: &BStr, _place: NameLocation) {}

    /// What the name that was looked up last is bound to is being evaluated already: the name refers to itself.
    fn circular_reference(&self) {}

    /// The evaluation of a part has ended with this value; `None` when it failed (a limit was reached).
    fn leave(&self, _part: &ExprPart<'_>, _value: Option<&Value>) {}
}

/// Where a name was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameLocation {
    /// In the ad that the expression is evaluated for.
    My,
    /// In the other ad.
    Target,
    /// In an ad written within one of them, or within the expression.
    Nested,
    /// It is one of the names that a match itself has: `other`, `LEFT` ...
    Match,
    /// Nowhere: the reference is undefined.
    Nowhere,
}

/// A part of an expression: an operator with its operands, a call, a reference, a literal.
pub struct ExprPart<'a> {
    pub(crate) tree: &'a Arc<ExprTree>,
    pub(crate) id: NodeId,
}

impl ExprPart<'_> {
    /// The part as an expression of its own.
    pub fn expr(&self) -> Expr {
        Expr::from_tree(self.tree, self.id)
    }

    /// Its text in the new form.
    pub fn text(&self) -> BString {
        let mut out = Vec::new();
        unparse::push_node(self.tree, self.id, UnparseForm::New, &mut out);
        out.into()
    }

    /// Whether it is a literal, the value of which is plain to see.
    pub fn is_literal(&self) -> bool {
        self.tree.scalar(self.id).is_some()
    }

    /// Whether it is a call of a function, parentheses aside; known without taking the part out of its expression.
    pub fn is_call(&self) -> bool {
        let mut at = self.id;
        while let Node::Unary(UnaryOp::Parentheses, inner) = self.tree.node(at) {
            at = inner;
        }
        matches!(self.tree.node(at), Node::Call { .. })
    }
}
