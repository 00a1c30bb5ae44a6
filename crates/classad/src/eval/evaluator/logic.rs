//! Operators with two operands, and truth that is decided without moving values about (operators.cpp).

use std::sync::Arc;

use super::{At, Evaluator};
use crate::eval::computed::Evaluated;
use crate::eval::operators;
use crate::eval::scope::Scope;
use crate::eval::truth::{Connective, Logic};
use crate::syntax::expr::{Expr, Repr};
use crate::syntax::tree::{BinaryOp, Node, NodeId, Tree, UnaryOp};

impl<'a> Evaluator<'a> {
    pub(super) fn binary(
        &mut self,
        tree: &'a Arc<Tree>,
        op: BinaryOp,
        left: NodeId,
        right: NodeId,
        at: At<'a>,
    ) -> Evaluated<'a> {
        self.deeper(|this| match op {
            BinaryOp::And | BinaryOp::Or => this.connect(tree, op, left, right, at).into_computed(),
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => this.compare(tree, op, left, right, at).into_computed(),
            _ => this.operate(tree, op, left, right, at),
        })
    }

    /// The operators whose result may be anything.
    pub(super) fn operate(
        &mut self,
        tree: &'a Arc<Tree>,
        op: BinaryOp,
        left: NodeId,
        right: NodeId,
        at: At<'a>,
    ) -> Evaluated<'a> {
        let left = self.eval(tree, left, at)?;
        match op {
            BinaryOp::Elvis => {
                if left.is_undefined() {
                    self.eval(tree, right, at)
                } else {
                    Ok(left)
                }
            }
            BinaryOp::Is => Ok(operators::identical(left, self.eval(tree, right, at)?)),
            BinaryOp::Isnt => Ok(operators::not_identical(left, self.eval(tree, right, at)?)),
            BinaryOp::Subscript => {
                let index = self.eval(tree, right, at)?;
                self.subscript(left, index)
            }
            _ => Ok(operators::binary(op, left, self.eval(tree, right, at)?)),
        }
    }

    /// A comparison. Values stay where they are: moving them costs more than comparing.
    #[inline]
    pub(super) fn compare(
        &mut self,
        tree: &'a Arc<Tree>,
        op: BinaryOp,
        left: NodeId,
        right: NodeId,
        at: At<'a>,
    ) -> Logic {
        let left = self.eval(tree, left, at);
        let Ok(left) = &left else { return Logic::Failed };
        let right = self.eval(tree, right, at);
        let Ok(right) = &right else { return Logic::Failed };
        operators::logic_of_comparison(op, left, right)
    }

    /// `&&` and `||` (`Operation::doLogical`, operators.cpp).
    pub(super) fn connect(
        &mut self,
        tree: &'a Arc<Tree>,
        op: BinaryOp,
        left: NodeId,
        right: NodeId,
        at: At<'a>,
    ) -> Logic {
        let connective = if op == BinaryOp::And { Connective::And } else { Connective::Or };
        let left = self.logic(tree, left, at);
        if connective.is_settled_by(left) {
            return left;
        }
        let right = self.logic(tree, right, at);
        connective.join(left, right)
    }

    /// The truth of an expression, without its value where only the truth matters.
    pub(super) fn logic(&mut self, tree: &'a Arc<Tree>, id: NodeId, at: At<'a>) -> Logic {
        if self.observer.is_some() {
            return Logic::of(&self.eval(tree, id, at));
        }
        match tree.node(id) {
            Node::Binary(
                op @ (BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Equal
                | BinaryOp::NotEqual
                | BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual),
                left,
                right,
            ) => {
                let deeper = |this: &mut Self| match op {
                    BinaryOp::And | BinaryOp::Or => Ok(this.connect(tree, op, left, right, at)),
                    _ => Ok(this.compare(tree, op, left, right, at)),
                };
                self.step().and_then(|()| self.deeper(deeper)).unwrap_or(Logic::Failed)
            }
            Node::Unary(UnaryOp::Parentheses, operand) => {
                let deeper = |this: &mut Self| Ok(this.logic(tree, operand, at));
                self.step().and_then(|()| self.deeper(deeper)).unwrap_or(Logic::Failed)
            }
            _ => Logic::of(&self.eval(tree, id, at)),
        }
    }

    /// Whether an expression is true, from an ad, with budgets of its own: what a constraint is asked for.
    pub(crate) fn holds(&mut self, expr: &'a Expr, scope: Option<&'a Scope<'a>>) -> bool {
        let Repr::Node(tree, root) = &expr.0 else {
            return matches!(&expr.0, Repr::Scalar(value) if value.truth() == Some(true));
        };
        self.root = scope.map(Self::outermost);
        self.logic(tree, *root, At::scope(scope)) == Logic::True
    }
}
