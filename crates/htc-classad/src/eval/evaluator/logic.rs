//! Operators with two operands, and truth that is decided without moving values about (operators.cpp).

use std::sync::Arc;

use super::{At, Evaluator};
use crate::eval::computed::{Evaluated, Failure};
use crate::eval::operators;
use crate::eval::scope::Scope;
use crate::eval::truth::{Connective, Logic};
use crate::syntax::expr::{Expr, Repr};
use crate::syntax::tree::{BinaryOp, Node, NodeId, Tree, UnaryOp};

/// The operands of an operator with two.
pub(super) type Operands = (NodeId, NodeId);

impl<'a> Evaluator<'a> {
    pub(super) fn binary(
        &mut self,
        tree: &'a Arc<Tree>,
        op: BinaryOp,
        operands: Operands,
        at: At<'a>,
    ) -> Evaluated<'a> {
        self.deeper(|this| match this.truth(tree, op, operands, at) {
            Some(truth) => truth.into_computed(),
            None => this.operate(tree, op, operands, at),
        })
    }

    /// What an operator that gives truth values comes to: a connective or a comparison; none for the others.
    #[inline(always)]
    fn truth(&mut self, tree: &'a Arc<Tree>, op: BinaryOp, operands: Operands, at: At<'a>) -> Option<Logic> {
        Some(match op {
            BinaryOp::And => self.connect(tree, Connective::And, operands, at),
            BinaryOp::Or => self.connect(tree, Connective::Or, operands, at),
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => self.compare(tree, op, operands, at),
            _ => return None,
        })
    }

    /// The operators whose result may be anything.
    pub(super) fn operate(
        &mut self,
        tree: &'a Arc<Tree>,
        op: BinaryOp,
        (left, right): Operands,
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
    fn compare(&mut self, tree: &'a Arc<Tree>, op: BinaryOp, (left, right): Operands, at: At<'a>) -> Logic {
        let left = self.eval(tree, left, at);
        let Ok(left) = &left else { return Logic::Failed };
        let right = self.eval(tree, right, at);
        let Ok(right) = &right else { return Logic::Failed };
        operators::logic_of_comparison(op, left, right)
    }

    /// `&&` and `||` (`Operation::doLogical`, operators.cpp).
    fn connect(
        &mut self,
        tree: &'a Arc<Tree>,
        connective: Connective,
        (left, right): Operands,
        at: At<'a>,
    ) -> Logic {
        let left = self.logic(tree, left, at);
        if connective.is_settled_by(left) {
            return left;
        }
        let right = self.logic(tree, right, at);
        connective.join(left, right)
    }

    /// The truth of an expression, without its value where only the truth matters.
    fn logic(&mut self, tree: &'a Arc<Tree>, id: NodeId, at: At<'a>) -> Logic {
        if self.observer.is_some() {
            return Logic::of(&self.eval(tree, id, at));
        }
        match tree.node(id) {
            Node::Binary(op, left, right) if op.gives_truth() => {
                let deeper = |this: &mut Self| this.truth(tree, op, (left, right), at).ok_or(Failure);
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
            return matches!(&expr.0, Repr::Scalar(scalar) if scalar.truth() == Some(true));
        };
        self.root = scope.map(Self::outermost);
        self.logic(tree, *root, At::scope(scope)) == Logic::True
    }
}
