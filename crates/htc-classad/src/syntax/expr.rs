//! Expressions, which are parsed once and can be shared, printed and compared by structure.

use std::sync::Arc;

use bstr::BString;

use crate::syntax::AttrName;
use crate::syntax::scalar::Scalar;
use crate::syntax::simple_literals::parse_plain_literal;
use crate::syntax::tree::{BinaryOp, ExprTree, Node, NodeId, TreeBuilder, UnaryOp, is_same_scalar};

/// ClassAd expression. Cloning is cheap, and several threads may use the same expression.
///
/// ```
/// use htc_classad::Expr;
/// let expr = Expr::parse(b"RequestCpus * 2 + 1").unwrap();
/// assert_eq!(expr.unparse(), "RequestCpus * 2 + 1");
/// assert!(Expr::parse(b"1 +").is_err());
/// ```
#[derive(Clone)]
pub struct Expr(pub(crate) ExprRepr);

/// Representation of an expression: either a scalar or a node of a tree.
#[derive(Clone)]
pub(crate) enum ExprRepr {
    Scalar(Scalar<BString>),
    Node(Arc<ExprTree>, NodeId),
}

impl Expr {
    /// Returns the expression if the text is a plain literal of the old syntax, which needs no parser. Returns `None`
    /// for any other text.
    ///
    /// ```
    /// use htc_classad::{Expr, Value};
    /// assert_eq!(Expr::from_plain_old_text("42").unwrap().as_literal(), Some(Value::Int(42)));
    /// assert!(Expr::from_plain_old_text("40 + 2").is_none());
    /// ```
    pub fn from_plain_old_text(text: impl AsRef<[u8]>) -> Option<Expr> {
        let text = text.as_ref();
        if text.iter().any(|b| matches!(b, b'\n' | 0)) {
            return None;
        }
        let mut buffer = Vec::new();
        parse_plain_literal(text)
            .map(|plain| Expr::from_scalar(plain.map(|quoted| quoted.resolve(&mut buffer))))
    }

    /// Creates an expression from a scalar.
    pub(crate) fn from_scalar(scalar: Scalar<&[u8]>) -> Expr {
        Expr(ExprRepr::Scalar(scalar.to_owned()))
    }

    /// Creates a reference to the attribute `name`.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// assert_eq!(Expr::attribute("RequestCpus").to_string(), "RequestCpus");
    /// ```
    pub fn attribute(name: impl AsRef<[u8]>) -> Expr {
        let mut builder = TreeBuilder::default();
        let root = builder.push_name(name.as_ref());
        Expr::from_builder(&builder, root)
    }

    pub(crate) fn from_builder(builder: &TreeBuilder, root: NodeId) -> Expr {
        Expr::from_tree(&Arc::new(builder.finish()), root)
    }

    /// Returns the expression at a node of a tree. A scalar is copied, so that the expression does not keep the tree
    /// alive.
    pub(crate) fn from_tree(tree: &Arc<ExprTree>, root: NodeId) -> Expr {
        match tree.scalar(root) {
            Some(scalar) => Expr::from_scalar(scalar),
            None => Expr(ExprRepr::Node(Arc::clone(tree), root)),
        }
    }

    /// Returns the elements of a list `{ a, b }` as expressions, or `None` if the expression is not a list.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// let items = Expr::parse("{ Cpus, 2 }").unwrap().as_list().unwrap();
    /// assert_eq!(items.iter().map(ToString::to_string).collect::<Vec<_>>(), ["Cpus", "2"]);
    /// assert!(Expr::parse("Cpus").unwrap().as_list().is_none());
    /// ```
    pub fn as_list(&self) -> Option<Vec<Expr>> {
        match &self.0 {
            ExprRepr::Node(tree, root) => match tree.node(*root) {
                Node::List { first, count } => {
                    Some(tree.links(first, count).iter().map(|item| Expr::from_tree(tree, *item)).collect())
                }
                _ => None,
            },
            ExprRepr::Scalar(_) => None,
        }
    }

    /// Returns the expression without parentheses around the whole expression.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// assert_eq!(Expr::parse("((a) + b)").unwrap().without_parentheses().to_string(), "(a) + b");
    /// ```
    #[must_use]
    pub fn without_parentheses(&self) -> Expr {
        match &self.0 {
            ExprRepr::Node(tree, root) => Expr::from_tree(tree, tree.strip_parentheses(*root)),
            ExprRepr::Scalar(_) => self.clone(),
        }
    }

    /// Returns the two operands if the expression is `left && right`, ignoring parentheses around it, or else `None`.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// let (left, right) = Expr::parse("(A && B && C)").unwrap().as_conjunction().unwrap();
    /// assert_eq!((left.to_string(), right.to_string()), ("A && B".to_owned(), "C".to_owned()));
    /// ```
    pub fn as_conjunction(&self) -> Option<(Expr, Expr)> {
        let ExprRepr::Node(tree, root) = &self.0 else { return None };
        match tree.node(tree.strip_parentheses(*root)) {
            Node::Binary(BinaryOp::And, left, right) => {
                Some((Expr::from_tree(tree, left), Expr::from_tree(tree, right)))
            }
            _ => None,
        }
    }

    /// Returns true if the expression is a reference to an attribute, with or without a scope or base.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// let is_reference = |text: &str| Expr::parse(text).unwrap().is_reference();
    /// assert!(is_reference("Memory") && is_reference("TARGET.Memory") && !is_reference("Memory + 1"));
    /// ```
    pub fn is_reference(&self) -> bool {
        matches!(&self.0, ExprRepr::Node(tree, root) if tree.as_reference(*root).is_some())
    }

    /// Returns the name if the expression is a reference to an attribute without a scope, or else `None`.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// assert_eq!(Expr::parse("Memory").unwrap().as_attribute().unwrap(), "memory");
    /// assert!(Expr::parse("TARGET.Memory").unwrap().as_attribute().is_none());
    /// ```
    pub fn as_attribute(&self) -> Option<AttrName> {
        match &self.0 {
            ExprRepr::Node(tree, root) => match tree.node(*root) {
                Node::Name { text, .. } => Some(tree.text_bytes(text).into()),
                _ => None,
            },
            ExprRepr::Scalar(_) => None,
        }
    }

    /// Returns the conjunction `(self) && (other)`, in the form in which the HTCondor tools join constraints.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// let (mine, theirs) = (Expr::parse("A || B").unwrap(), Expr::parse("C").unwrap());
    /// assert_eq!(mine.and(&theirs).to_string(), "(A || B) && (C)");
    /// ```
    pub fn and(&self, other: &Expr) -> Expr {
        let mut builder = TreeBuilder::default();
        let left = builder.copy_expr(self);
        let left = builder.push_node(Node::Unary(UnaryOp::Parentheses, left));
        let right = builder.copy_expr(other);
        let right = builder.push_node(Node::Unary(UnaryOp::Parentheses, right));
        let root = builder.push_node(Node::Binary(BinaryOp::And, left, right));
        Expr::from_builder(&builder, root)
    }
}

impl Expr {
    /// Returns true if both expressions refer to the same node of the same tree, or are the same scalar with the same bits.
    /// The contents of trees are not compared, so the result is false for equal expressions that were parsed separately.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// let expr = Expr::parse("A + 1E-17").unwrap();
    /// assert!(expr.is_same_object(&expr.clone()));
    /// assert!(!expr.is_same_object(&Expr::parse("A + 1E-17").unwrap()));
    /// // Real numbers are equal (`SameAs`) if they differ by less than 2.2E-16.
    /// let (one, other) = (Expr::parse("1E-17").unwrap(), Expr::parse("3E-17").unwrap());
    /// assert!(one == other && !one.is_same_object(&other));
    /// ```
    pub fn is_same_object(&self, other: &Expr) -> bool {
        match (&self.0, &other.0) {
            (ExprRepr::Scalar(Scalar::Real(one)), ExprRepr::Scalar(Scalar::Real(other))) => {
                one.to_bits() == other.to_bits()
            }
            (ExprRepr::Scalar(one), ExprRepr::Scalar(other)) => one == other,
            (ExprRepr::Node(tree, root), ExprRepr::Node(other_tree, other_root)) => {
                Arc::ptr_eq(tree, other_tree) && root == other_root
            }
            _ => false,
        }
    }
}

impl TreeBuilder {
    /// Copies an expression into the tree of the builder.
    pub(crate) fn copy_expr(&mut self, expr: &Expr) -> NodeId {
        match &expr.0 {
            ExprRepr::Scalar(scalar) => self.push_scalar(scalar.as_borrowed()),
            ExprRepr::Node(tree, root) => self.copy_node(tree, *root),
        }
    }
}

/// Compares expressions by structure, node by node. Names are compared case-sensitively (`SameAs`).
impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (ExprRepr::Scalar(a), ExprRepr::Scalar(b)) => is_same_scalar(a.as_borrowed(), b.as_borrowed()),
            (ExprRepr::Node(a, x), ExprRepr::Node(b, y)) => a.is_same_as(*x, b, *y),
            _ => false,
        }
    }
}
