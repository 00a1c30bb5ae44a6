//! Operators with two operands, and truth that is decided without moving values about (classad.md 5).

use std::sync::Arc;

use super::{At, Evaluator};
use crate::eval::computed::{Computed, Evaluated, Failure, Logic};
use crate::eval::operators;
use crate::eval::scope::Scope;
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
        self.depth -= 1;
        if self.depth < 0 {
            self.depth += 1;
            return Err(Failure);
        }
        let result = match op {
            BinaryOp::And | BinaryOp::Or => self.connect(tree, op, left, right, at).into_computed(),
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => self.compare(tree, op, left, right, at).into_computed(),
            _ => self.operate(tree, op, left, right, at),
        };
        self.depth += 1;
        result
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

    /// `&&` and `||` (classad.md 5.6, 5.7).
    pub(super) fn connect(
        &mut self,
        tree: &'a Arc<Tree>,
        op: BinaryOp,
        left: NodeId,
        right: NodeId,
        at: At<'a>,
    ) -> Logic {
        let decides = if op == BinaryOp::And { Logic::False } else { Logic::True };
        let left = self.logic(tree, left, at);
        if left == decides || left == Logic::Error || left == Logic::Failed {
            return left;
        }
        let right = self.logic(tree, right, at);
        join(decides, left, right)
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
                if self.steps <= 0 || self.depth <= 0 {
                    self.steps -= 1;
                    return Logic::Failed;
                }
                self.steps -= 1;
                self.depth -= 1;
                let logic = match op {
                    BinaryOp::And | BinaryOp::Or => self.connect(tree, op, left, right, at),
                    _ => self.compare(tree, op, left, right, at),
                };
                self.depth += 1;
                logic
            }
            Node::Unary(UnaryOp::Parentheses, operand) => {
                if self.steps <= 0 || self.depth <= 0 {
                    self.steps -= 1;
                    return Logic::Failed;
                }
                self.steps -= 1;
                self.depth -= 1;
                let logic = self.logic(tree, operand, at);
                self.depth += 1;
                logic
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

/// `&&` where the left operand did not decide (classad.md 5.6).
pub(crate) fn conjunction<'a>(left: Computed<'a>, truth: Option<bool>, right: Computed<'a>) -> Computed<'a> {
    connected(Logic::False, left, truth, right)
}

/// `||` where the left operand did not decide (classad.md 5.7).
pub(crate) fn disjunction<'a>(left: Computed<'a>, truth: Option<bool>, right: Computed<'a>) -> Computed<'a> {
    connected(Logic::True, left, truth, right)
}

fn connected<'a>(
    decides: Logic,
    left: Computed<'a>,
    truth: Option<bool>,
    right: Computed<'a>,
) -> Computed<'a> {
    let left = truth.map_or_else(|| Logic::of(&Ok(left)), Logic::from);
    join(decides, left, Logic::of(&Ok(right))).into_computed().unwrap_or(Computed::Error)
}

/// The result of `&&` or `||` where the left operand has not decided.
pub(crate) fn join(decides: Logic, left: Logic, right: Logic) -> Logic {
    match (left, right) {
        (_, Logic::Failed) => Logic::Failed,
        (Logic::Other, _) | (_, Logic::Other | Logic::Error) => Logic::Error,
        (Logic::Undefined, right) if right == decides => right,
        (Logic::Undefined, _) => Logic::Undefined,
        (_, right) => right,
    }
}
