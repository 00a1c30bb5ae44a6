//! Expressions: parsed once, shared freely, printed and compared by structure.

use std::sync::Arc;

use bstr::BString;

use crate::syntax::AttrName;
use crate::syntax::literal::plain_literal;
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{BinaryOp, Builder, Node, NodeId, Tree, UnaryOp, same_scalar};

/// An expression. Cloning is cheap, and an expression may be used from several threads.
///
/// ```
/// use htc_classad::Expr;
/// let expr = Expr::parse(b"RequestCpus * 2 + 1").unwrap();
/// assert_eq!(expr.unparse(), "RequestCpus * 2 + 1");
/// assert!(Expr::parse(b"1 +").is_err());
/// ```
#[derive(Clone)]
pub struct Expr(pub(crate) Repr);

/// Either a scalar or a node of a tree.
#[derive(Clone)]
pub(crate) enum Repr {
    Scalar(Scalar<BString>),
    Node(Arc<Tree>, NodeId),
}

impl Expr {
    /// The literal of the old syntax that all of a text is, where that is plain to see.
    pub fn plain_old(text: &[u8]) -> Option<Expr> {
        if text.iter().any(|b| matches!(b, b'\n' | 0)) {
            return None;
        }
        let mut buffer = Vec::new();
        plain_literal(text).map(|plain| Expr::scalar(plain.map(|quoted| quoted.string(&mut buffer))))
    }

    /// The expression that is this scalar and nothing else.
    pub(crate) fn scalar(scalar: Scalar<&[u8]>) -> Expr {
        Expr(Repr::Scalar(scalar.to_owned()))
    }

    /// A reference to an attribute: `name`.
    pub fn attribute(name: &[u8]) -> Expr {
        let mut builder = Builder::default();
        let root = builder.name(name);
        Expr::from_builder(&builder, root)
    }

    pub(crate) fn from_builder(builder: &Builder, root: NodeId) -> Expr {
        Expr::from_tree(&Arc::new(builder.finish()), root)
    }

    /// The expression at a node. Scalars are taken out, so that they need not keep a tree alive.
    pub(crate) fn from_tree(tree: &Arc<Tree>, root: NodeId) -> Expr {
        match tree.scalar(root) {
            Some(scalar) => Expr::scalar(scalar),
            None => Expr(Repr::Node(Arc::clone(tree), root)),
        }
    }

    /// The elements of what is written as a list, `{ a, b }`, be they literals or not.
    pub fn as_list(&self) -> Option<Vec<Expr>> {
        match &self.0 {
            Repr::Node(tree, root) => match tree.node(*root) {
                Node::List { first, count } => {
                    Some(tree.links(first, count).iter().map(|item| Expr::from_tree(tree, *item)).collect())
                }
                _ => None,
            },
            Repr::Scalar(_) => None,
        }
    }

    /// The expression without parentheses around all of it.
    #[must_use]
    pub fn without_parentheses(&self) -> Expr {
        match &self.0 {
            Repr::Node(tree, root) => Expr::from_tree(tree, tree.within_parentheses(*root)),
            Repr::Scalar(_) => self.clone(),
        }
    }

    /// The two operands if the expression is `left && right`, parentheses around it left out of account.
    pub fn as_conjunction(&self) -> Option<(Expr, Expr)> {
        let Repr::Node(tree, root) = &self.0 else { return None };
        match tree.node(tree.within_parentheses(*root)) {
            Node::Binary(BinaryOp::And, left, right) => {
                Some((Expr::from_tree(tree, left), Expr::from_tree(tree, right)))
            }
            _ => None,
        }
    }

    /// Whether the expression is nothing but a reference, with or without something before the name.
    pub fn is_reference(&self) -> bool {
        matches!(&self.0, Repr::Node(tree, root) if tree.reference(*root).is_some())
    }

    /// The name, if the expression is nothing but a reference to an unscoped attribute.
    pub fn as_attribute(&self) -> Option<AttrName> {
        match &self.0 {
            Repr::Node(tree, root) => match tree.node(*root) {
                Node::Name { text, .. } => Some(tree.bytes(text).into()),
                _ => None,
            },
            Repr::Scalar(_) => None,
        }
    }

    /// `(self) op (other)` for the logical connectives: what the tools do when they join constraints.
    pub fn and(&self, other: &Expr) -> Expr {
        let mut builder = Builder::default();
        let left = builder.expr(self);
        let left = builder.push(Node::Unary(UnaryOp::Parentheses, left));
        let right = builder.expr(other);
        let right = builder.push(Node::Unary(UnaryOp::Parentheses, right));
        let root = builder.push(Node::Binary(BinaryOp::And, left, right));
        Expr::from_builder(&builder, root)
    }
}

impl Builder {
    /// Copies an expression into the builder.
    pub(crate) fn expr(&mut self, expr: &Expr) -> NodeId {
        match &expr.0 {
            Repr::Scalar(scalar) => self.scalar(scalar.look()),
            Repr::Node(tree, root) => self.copy(tree, *root),
        }
    }
}

/// Equal by structure, node by node, names with their case (`SameAs`).
impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Scalar(a), Repr::Scalar(b)) => same_scalar(a.look(), b.look()),
            (Repr::Node(a, x), Repr::Node(b, y)) => a.same(*x, b, *y),
            _ => false,
        }
    }
}
