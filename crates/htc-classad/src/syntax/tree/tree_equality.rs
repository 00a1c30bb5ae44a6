//! Comparison of expressions by structure.

use super::{ABSOLUTE_BASE, ExprTree, Node, NodeId};
use crate::syntax::scalar::Scalar;

impl ExprTree {
    /// Returns true if two expressions are equal node by node. Names are compared case-sensitively, and parentheses are
    /// significant (reference: `SameAs`).
    pub(crate) fn is_same_as(&self, id: NodeId, other: &ExprTree, other_id: NodeId) -> bool {
        let links = |x, count, y, other_count| {
            self.links(x, count).iter().copied().zip(other.links(y, other_count).iter().copied())
        };
        let mut todo = vec![(id, other_id)];
        while let Some((a, b)) = todo.pop() {
            if std::ptr::eq(self, other) && a == b {
                continue;
            }
            if let (Some(x), Some(y)) = (self.scalar(a), other.scalar(b)) {
                if !is_same_scalar(x, y) {
                    return false;
                }
                continue;
            }
            let same = match (self.node(a), other.node(b)) {
                (Node::RelTime(x), Node::RelTime(y)) => is_same_real(x, y),
                (Node::AbsTime(x), Node::AbsTime(y)) => self.times[x as usize] == other.times[y as usize],
                (Node::Name { text: n, .. }, Node::Name { text: m, .. }) => {
                    self.text_bytes(n) == other.text_bytes(m)
                }
                (Node::Attr { base: x, name: n }, Node::Attr { base: y, name: m }) => {
                    self.name_bytes(n) == other.name_bytes(m)
                        && if x == ABSOLUTE_BASE || y == ABSOLUTE_BASE {
                            x == y
                        } else {
                            todo.push((x, y));
                            true
                        }
                }
                (Node::Unary(op, x), Node::Unary(other_op, y)) => {
                    todo.push((x, y));
                    op == other_op
                }
                (Node::Binary(op, l, r), Node::Binary(other_op, m, s)) => {
                    todo.extend([(r, s), (l, m)]);
                    op == other_op
                }
                (
                    Node::Ternary { condition: c, branches: x },
                    Node::Ternary { condition: d, branches: y },
                ) => {
                    todo.extend(links(x, 2, y, 2));
                    todo.push((c, d));
                    true
                }
                (
                    Node::Call { name: n, first: x, count },
                    Node::Call { name: m, first: y, count: other_count },
                ) => {
                    todo.extend(links(x, count, y, other_count));
                    count == other_count && self.name_bytes(n) == other.name_bytes(m)
                }
                (Node::List { first: x, count }, Node::List { first: y, count: other_count }) => {
                    todo.extend(links(x, count, y, other_count));
                    count == other_count
                }
                (Node::Ad { first: x, count }, Node::Ad { first: y, count: other_count }) => {
                    let fields = self.fields(x, count);
                    let others = other.fields(y, other_count);
                    // The attributes of both ads are sorted by length of name, so equal ads have equal names at
                    // equal positions.
                    let names = fields
                        .iter()
                        .zip(others)
                        .all(|(f, g)| self.name_bytes(f.name).eq_ignore_ascii_case(other.name_bytes(g.name)));
                    todo.extend(fields.iter().map(|f| f.node).zip(others.iter().map(|g| g.node)));
                    count == other_count && names
                }
                _ => false,
            };
            if !same {
                return false;
            }
        }
        true
    }
}

/// Returns true if two scalar literals are equal.
pub(crate) fn is_same_scalar(left: Scalar<&[u8]>, right: Scalar<&[u8]>) -> bool {
    match (left, right) {
        (Scalar::Real(left), Scalar::Real(right)) => is_same_real(left, right),
        (left, right) => left == right,
    }
}

/// Returns true if two real literals are equal. As in the reference, they may differ by the machine's epsilon,
/// however small the numbers are, so that a number that is printed with 16 digits and read again is still equal.
fn is_same_real(left: f64, right: f64) -> bool {
    (left - right).abs() <= f64::EPSILON
}
