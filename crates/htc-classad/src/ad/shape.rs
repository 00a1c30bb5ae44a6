//! What an expression is made of, one level deep: for those who work on the logic of a condition and not on its value.

use bstr::BString;

use super::Value;
use crate::syntax::Expr;
use crate::syntax::expr::Repr;
use crate::syntax::tree::{ABSOLUTE, BinaryOp, NO_BASE, Node, NodeId, UnaryOp};

/// The outermost operation of an expression, parentheses around it left out of account.
#[derive(Clone, Debug)]
pub enum Shape {
    /// A literal that is no list and no ad.
    Literal(Value),
    /// A name, with or without scope.
    Reference,
    /// `base.name` where the base is more than a scope.
    Select(Expr, BString),
    /// `left && right`.
    And(Expr, Expr),
    /// `left || right`.
    Or(Expr, Expr),
    /// `! operand`.
    Not(Expr),
    /// `condition ? first : second`, or `ifThenElse()` of them.
    Choice(Expr, Expr, Expr),
    /// A comparison: its operator (`==`, `!=`, `<`, `<=`, `>`, `>=`, `=?=`, `=!=`) and the operands.
    Compare(&'static str, Expr, Expr),
    /// A call: the function as it is spelled, and its arguments.
    Call(BString, Vec<Expr>),
    /// Anything else, with its parts.
    Other(Vec<Expr>),
}

impl Expr {
    /// What the expression is made of.
    ///
    /// ```
    /// use htc_classad::{Expr, Shape};
    /// let expr = Expr::parse(b"(A > 1 && B)").unwrap();
    /// let Shape::And(left, right) = expr.shape() else { panic!() };
    /// assert_eq!((left.unparse(), right.unparse()), ("A > 1".into(), "B".into()));
    /// ```
    pub fn shape(&self) -> Shape {
        let whole = self.without_parentheses();
        let Repr::Node(tree, root) = &whole.0 else {
            return Shape::Literal(whole.as_literal().unwrap_or(Value::Error));
        };
        let part = |id: NodeId| Expr::from_tree(tree, id);
        let parts = || {
            let mut ids = Vec::new();
            tree.children(*root, &mut ids);
            ids.into_iter().map(part).collect::<Vec<_>>()
        };
        match (tree.reference(*root), tree.node(*root)) {
            (Some((NO_BASE | ABSOLUTE, _)), _) => Shape::Reference,
            (Some((base, name)), _) => match tree.reference(base) {
                Some((NO_BASE, scope)) if is_scope(tree.name_bytes(scope)) => Shape::Reference,
                _ => Shape::Select(part(base), tree.name_bytes(name).into()),
            },
            (None, Node::Binary(BinaryOp::And, left, right)) => Shape::And(part(left), part(right)),
            (None, Node::Binary(BinaryOp::Or, left, right)) => Shape::Or(part(left), part(right)),
            (None, Node::Unary(UnaryOp::Not, operand)) => Shape::Not(part(operand)),
            (None, Node::Binary(op, left, right)) if comparison(op).is_some() => {
                Shape::Compare(comparison(op).unwrap_or_default(), part(left), part(right))
            }
            (None, Node::Ternary { .. }) => choice(parts()),
            (None, Node::Call { name, .. }) => {
                let name = tree.name_bytes(name);
                let arguments = parts();
                if name.eq_ignore_ascii_case(b"ifthenelse") && arguments.len() == 3 {
                    return choice(arguments);
                }
                Shape::Call(name.into(), arguments)
            }
            _ => Shape::Other(parts()),
        }
    }

    /// The parts of the expression, one level deep.
    pub fn parts(&self) -> Vec<Expr> {
        match self.shape() {
            Shape::Literal(_) | Shape::Reference => Vec::new(),
            Shape::Select(base, _) => vec![base],
            Shape::And(left, right) | Shape::Or(left, right) | Shape::Compare(_, left, right) => {
                vec![left, right]
            }
            Shape::Not(operand) => vec![operand],
            Shape::Choice(condition, first, second) => vec![condition, first, second],
            Shape::Call(_, parts) | Shape::Other(parts) => parts,
        }
    }
}

fn comparison(op: BinaryOp) -> Option<&'static str> {
    Some(match op {
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Is => "=?=",
        BinaryOp::Isnt => "=!=",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        _ => return None,
    })
}

fn is_scope(name: &[u8]) -> bool {
    [&b"my"[..], b"target", b"self"].into_iter().any(|scope| name.eq_ignore_ascii_case(scope))
}

fn choice(parts: Vec<Expr>) -> Shape {
    match <[Expr; 3]>::try_from(parts) {
        Ok([condition, first, second]) => Shape::Choice(condition, first, second),
        Err(parts) => Shape::Other(parts),
    }
}
