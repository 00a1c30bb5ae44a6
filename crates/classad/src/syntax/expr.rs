//! Expressions: parsed once, shared freely, printed and compared by structure.

use std::sync::Arc;

use crate::syntax::tree::{Builder, Field, Node, NodeId, Tree};
use crate::syntax::value::{List, Value};

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
    Scalar(Value),
    Node(Arc<Tree>, NodeId),
}

impl Expr {
    /// The literal of the old syntax that all of a text is, where that is plain to see.
    pub fn plain_old(text: &[u8]) -> Option<Expr> {
        use crate::syntax::literal::plain_literal;
        if text.iter().any(|b| matches!(b, b'\n' | 0)) {
            return None;
        }
        Some(Expr(Repr::Scalar(plain_literal(text)?.into())))
    }

    /// The expression that is this value and nothing else.
    pub fn literal(value: impl Into<Value>) -> Expr {
        match value.into() {
            value @ (Value::List(_) | Value::Ad(_) | Value::AbsTime(_) | Value::RelTime(_)) => {
                let mut builder = Builder::default();
                let root = push_value(&mut builder, &value);
                Expr::from_builder(&builder, root)
            }
            scalar => Expr(Repr::Scalar(scalar)),
        }
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
        match scalar(tree, root) {
            Some(value) => Expr(Repr::Scalar(value)),
            None => Expr(Repr::Node(Arc::clone(tree), root)),
        }
    }

    /// The value of a literal. A list is a literal when its elements are; `None` when anything would have to be evaluated.
    pub fn as_literal(&self) -> Option<Value> {
        match &self.0 {
            Repr::Scalar(value) => Some(value.clone()),
            Repr::Node(tree, root) => literal_value(tree, *root),
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
        let Repr::Node(tree, root) = &self.0 else { return self.clone() };
        let mut at = *root;
        while let Node::Unary(crate::syntax::tree::UnaryOp::Parentheses, inner) = tree.node(at) {
            at = inner;
        }
        Expr::from_tree(tree, at)
    }

    /// The two operands if the expression is `left && right`, parentheses around it left out of account.
    pub fn as_conjunction(&self) -> Option<(Expr, Expr)> {
        let Repr::Node(tree, root) = &self.0 else { return None };
        let mut at = *root;
        while let Node::Unary(crate::syntax::tree::UnaryOp::Parentheses, inner) = tree.node(at) {
            at = inner;
        }
        match tree.node(at) {
            Node::Binary(crate::syntax::tree::BinaryOp::And, left, right) => {
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
    pub fn as_attribute(&self) -> Option<crate::syntax::AttrName> {
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
        let left = builder.push(Node::Unary(crate::syntax::tree::UnaryOp::Parentheses, left));
        let right = builder.expr(other);
        let right = builder.push(Node::Unary(crate::syntax::tree::UnaryOp::Parentheses, right));
        let root = builder.push(Node::Binary(crate::syntax::tree::BinaryOp::And, left, right));
        Expr::from_builder(&builder, root)
    }
}

impl Builder {
    /// Copies an expression into the builder.
    pub(crate) fn expr(&mut self, expr: &Expr) -> NodeId {
        match &expr.0 {
            Repr::Scalar(value) => push_value(self, value),
            Repr::Node(tree, root) => self.copy(tree, *root),
        }
    }
}

/// Adds a value as literal.
pub(crate) fn push_value(builder: &mut Builder, value: &Value) -> NodeId {
    match value {
        Value::Undefined => builder.push(Node::Undefined),
        Value::Error => builder.push(Node::Error),
        Value::Bool(b) => builder.push(Node::Bool(*b)),
        Value::Int(i) => builder.push(Node::Int(*i)),
        Value::Real(r) => builder.push(Node::Real(*r)),
        Value::Str(text) => builder.string(text),
        Value::AbsTime(time) => builder.time(*time),
        // Turning a value into a literal cuts a relative time to whole seconds (literals.cpp).
        Value::RelTime(seconds) => {
            let seconds = f64::from(crate::syntax::numbers::truncate32(*seconds));
            builder.push(Node::RelTime(seconds))
        }
        Value::List(list) => {
            let items: Vec<NodeId> = list.items().iter().map(|item| builder.expr(item)).collect();
            builder.list(&items)
        }
        Value::Ad(ad) => {
            let mut fields: Vec<Field> = ad
                .iter()
                .map(|(name, expr)| {
                    let node = builder.expr(&expr);
                    Field { name: builder.name(name), node }
                })
                .collect();
            builder.ad(&mut fields)
        }
    }
}

/// The value of a node that is a scalar literal.
pub(crate) fn scalar(tree: &Tree, id: NodeId) -> Option<Value> {
    tree.scalar(id).map(Value::from)
}

fn literal_value(tree: &Arc<Tree>, id: NodeId) -> Option<Value> {
    match tree.node(id) {
        Node::AbsTime(time) => Some(Value::AbsTime(tree.times[time as usize])),
        Node::RelTime(seconds) => Some(Value::Real(seconds)),
        Node::List { first, count } => {
            let items: Vec<Expr> =
                tree.links(first, count).iter().map(|item| Expr::from_tree(tree, *item)).collect();
            items.iter().all(|item| item.as_literal().is_some()).then(|| Value::List(List::new(items)))
        }
        Node::Ad { .. } => Some(Value::Ad(Arc::new(crate::ad::ClassAd::from_node(tree, id)))),
        _ => scalar(tree, id),
    }
}

/// Equal by structure, node by node, names with their case (`SameAs`).
impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Scalar(Value::Real(a)), Repr::Scalar(Value::Real(b))) => {
                crate::syntax::tree::same_real(*a, *b)
            }
            (Repr::Scalar(a), Repr::Scalar(b)) => a == b,
            (Repr::Node(a, x), Repr::Node(b, y)) => a.same(*x, b, *y),
            _ => false,
        }
    }
}
