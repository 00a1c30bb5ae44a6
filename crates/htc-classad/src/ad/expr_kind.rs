//! Structure of an expression, one level at a time, for code that analyses a condition instead of evaluating it.

use bstr::BString;

use super::Value;
use crate::syntax::Expr;
use crate::syntax::expr::ExprRepr;
use crate::syntax::tree::{ABSOLUTE_BASE, BinaryOp, NO_BASE, Node, NodeId, UnaryOp};

/// Outermost operation of an expression, ignoring parentheses around it.
///
/// ```
/// use htc_classad::{Expr, ExprKind};
///
/// /// Counts the comparisons of a condition.
/// fn comparisons(expr: &Expr) -> usize {
///     match expr.kind() {
///         ExprKind::Compare(..) => 1,
///         ExprKind::And(left, right) | ExprKind::Or(left, right) => comparisons(&left) + comparisons(&right),
///         ExprKind::Not(operand) => comparisons(&operand),
///         _ => 0,
///     }
/// }
/// assert_eq!(comparisons(&Expr::parse("A > 1 && !(B == 2 || C)").unwrap()), 2);
/// ```
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// Literal other than a list or an ad.
    Literal(Value),
    /// Name, with or without a scope such as `MY`.
    Reference,
    /// Selection `base.name`, where the base is not a scope such as `MY`.
    Select(Expr, BString),
    /// Conjunction: `left && right`.
    And(Expr, Expr),
    /// Disjunction: `left || right`.
    Or(Expr, Expr),
    /// Negation: `! operand`.
    Not(Expr),
    /// Conditional: `condition ? first : second`, or the equivalent `ifThenElse()`.
    Conditional(Expr, Expr, Expr),
    /// Comparison: the operator (`==`, `!=`, `<`, `<=`, `>`, `>=`, `=?=`, `=!=`) and its operands.
    Compare(&'static str, Expr, Expr),
    /// Function call: the name as spelled in the expression, and the arguments.
    Call(BString, Vec<Expr>),
    /// Any other expression: its direct parts.
    Other(Vec<Expr>),
}

impl Expr {
    /// Returns the outermost operation of the expression with its parts.
    ///
    /// ```
    /// use htc_classad::{Expr, ExprKind};
    /// let expr = Expr::parse(b"(A > 1 && B)").unwrap();
    /// let ExprKind::And(left, right) = expr.kind() else { panic!() };
    /// assert_eq!((left.unparse(), right.unparse()), ("A > 1".into(), "B".into()));
    /// ```
    pub fn kind(&self) -> ExprKind {
        let whole = self.without_parentheses();
        let ExprRepr::Node(tree, root) = &whole.0 else {
            return ExprKind::Literal(whole.as_literal().unwrap_or(Value::Error));
        };
        let part = |id: NodeId| Expr::from_tree(tree, id);
        let parts = || {
            let mut ids = Vec::new();
            tree.children(*root, &mut ids);
            ids.into_iter().map(part).collect::<Vec<_>>()
        };
        match (tree.as_reference(*root), tree.node(*root)) {
            (Some((NO_BASE | ABSOLUTE_BASE, _)), _) => ExprKind::Reference,
            (Some((base, name)), _) => match tree.as_reference(base) {
                Some((NO_BASE, scope)) if is_scope(tree.name_bytes(scope)) => ExprKind::Reference,
                _ => ExprKind::Select(part(base), tree.name_bytes(name).into()),
            },
            (None, Node::Binary(BinaryOp::And, left, right)) => ExprKind::And(part(left), part(right)),
            (None, Node::Binary(BinaryOp::Or, left, right)) => ExprKind::Or(part(left), part(right)),
            (None, Node::Unary(UnaryOp::Not, operand)) => ExprKind::Not(part(operand)),
            (None, Node::Binary(op, left, right)) if comparison_text(op).is_some() => {
                ExprKind::Compare(comparison_text(op).unwrap_or_default(), part(left), part(right))
            }
            (None, Node::Ternary { .. }) => conditional_kind(parts()),
            (None, Node::Call { name, .. }) => {
                let name = tree.name_bytes(name);
                let arguments = parts();
                if name.eq_ignore_ascii_case(b"ifthenelse") && arguments.len() == 3 {
                    return conditional_kind(arguments);
                }
                ExprKind::Call(name.into(), arguments)
            }
            _ => ExprKind::Other(parts()),
        }
    }

    /// Returns the outermost operator of an expression of kind [`ExprKind::Other`], or `None` if the expression is a
    /// list, an ad or a literal that is not of kind [`ExprKind::Literal`]. For a sign before an operand, returns `"+"` or
    /// `"-"`, and the expression has one part.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// assert_eq!(Expr::parse("Memory * 2").unwrap().operator(), Some("*"));
    /// assert_eq!(Expr::parse("size(L)").unwrap().operator(), None);
    /// ```
    pub fn operator(&self) -> Option<&'static str> {
        let whole = self.without_parentheses();
        let ExprRepr::Node(tree, root) = &whole.0 else { return None };
        match tree.node(*root) {
            Node::Binary(op, ..) => Some(operator_text(op)),
            Node::Unary(UnaryOp::Plus, _) => Some("+"),
            Node::Unary(UnaryOp::Minus, _) => Some("-"),
            Node::Unary(UnaryOp::BitNot, _) => Some("~"),
            Node::Unary(UnaryOp::Not, _) => Some("!"),
            _ => None,
        }
    }

    /// Returns the direct parts of the expression, such as operands, arguments or elements.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// let parts = Expr::parse("Memory * (Cpus + 1)").unwrap().parts();
    /// assert_eq!(parts.iter().map(ToString::to_string).collect::<Vec<_>>(), ["Memory", "(Cpus + 1)"]);
    /// ```
    pub fn parts(&self) -> Vec<Expr> {
        match self.kind() {
            ExprKind::Literal(_) | ExprKind::Reference => Vec::new(),
            ExprKind::Select(base, _) => vec![base],
            ExprKind::And(left, right) | ExprKind::Or(left, right) | ExprKind::Compare(_, left, right) => {
                vec![left, right]
            }
            ExprKind::Not(operand) => vec![operand],
            ExprKind::Conditional(condition, first, second) => vec![condition, first, second],
            ExprKind::Call(_, parts) | ExprKind::Other(parts) => parts,
        }
    }
}

fn comparison_text(op: BinaryOp) -> Option<&'static str> {
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

fn operator_text(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "||",
        BinaryOp::And => "&&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::BitAnd => "&",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::ShiftRightZero => ">>>",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulus => "%",
        BinaryOp::Elvis => "?:",
        BinaryOp::Subscript => "[]",
        _ => comparison_text(op).unwrap_or_default(),
    }
}

fn is_scope(name: &[u8]) -> bool {
    [&b"my"[..], b"target", b"self"].into_iter().any(|scope| name.eq_ignore_ascii_case(scope))
}

fn conditional_kind(parts: Vec<Expr>) -> ExprKind {
    match <[Expr; 3]>::try_from(parts) {
        Ok([condition, first, second]) => ExprKind::Conditional(condition, first, second),
        Err(parts) => ExprKind::Other(parts),
    }
}
