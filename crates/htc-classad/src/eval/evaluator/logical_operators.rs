//! Evaluation of binary operators, and of truth values without copying other values (operators.cpp).

use std::sync::Arc;

use super::{EvalScopes, Evaluator};
use crate::eval::computed_value::{EvalFailure, EvalResult};
use crate::eval::logic::{Connective, LogicValue};
use crate::eval::operators;
use crate::eval::scope::AdScope;
use crate::syntax::expr::{Expr, ExprRepr};
use crate::syntax::tree::{BinaryOp, ExprTree, Node, NodeId, UnaryOp};

/// Operands of a binary operator.
#[derive(Clone, Copy)]
pub(super) struct OperandPair {
    pub(super) left: NodeId,
    pub(super) right: NodeId,
}

impl<'a> Evaluator<'a> {
    pub(super) fn eval_binary(
        &mut self,
        tree: &'a Arc<ExprTree>,
        op: BinaryOp,
        operands: OperandPair,
        at: EvalScopes<'a>,
    ) -> EvalResult<'a> {
        self.with_deeper_level(|this| match this.eval_truth_operator(tree, op, operands, at) {
            Some(truth) => truth.into_computed(),
            None => this.eval_value_operator(tree, op, operands, at),
        })
    }

    /// Evaluates a logical operator or a comparison. Returns `None` for any other operator.
    #[inline(always)]
    fn eval_truth_operator(
        &mut self,
        tree: &'a Arc<ExprTree>,
        op: BinaryOp,
        operands: OperandPair,
        at: EvalScopes<'a>,
    ) -> Option<LogicValue> {
        Some(match op {
            BinaryOp::And => self.eval_connective(tree, Connective::And, operands, at),
            BinaryOp::Or => self.eval_connective(tree, Connective::Or, operands, at),
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => self.eval_comparison(tree, op, operands, at),
            _ => return None,
        })
    }

    /// Evaluates a binary operator that is not a logical operator or comparison. Both operands are always
    /// evaluated.
    pub(super) fn eval_value_operator(
        &mut self,
        tree: &'a Arc<ExprTree>,
        op: BinaryOp,
        OperandPair { left, right }: OperandPair,
        at: EvalScopes<'a>,
    ) -> EvalResult<'a> {
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
                self.eval_subscript(left, index)
            }
            _ => Ok(operators::apply_binary(op, left, self.eval(tree, right, at)?)),
        }
    }

    /// Evaluates a comparison. Moving the values would cost more than comparing them, so they are compared in
    /// place.
    #[inline]
    fn eval_comparison(
        &mut self,
        tree: &'a Arc<ExprTree>,
        op: BinaryOp,
        OperandPair { left, right }: OperandPair,
        at: EvalScopes<'a>,
    ) -> LogicValue {
        let left = self.eval(tree, left, at);
        let Ok(left) = &left else { return LogicValue::Failed };
        let right = self.eval(tree, right, at);
        let Ok(right) = &right else { return LogicValue::Failed };
        operators::comparison_logic(op, left, right)
    }

    /// Evaluates `&&` and `||` (`Operation::doLogical`, operators.cpp).
    fn eval_connective(
        &mut self,
        tree: &'a Arc<ExprTree>,
        connective: Connective,
        OperandPair { left, right }: OperandPair,
        at: EvalScopes<'a>,
    ) -> LogicValue {
        let left = self.eval_logic(tree, left, at);
        if connective.is_settled_by(left) {
            return left;
        }
        let right = self.eval_logic(tree, right, at);
        connective.combine(left, right)
    }

    /// Evaluates an expression to a truth value. For logical operators, comparisons and parentheses, no value is
    /// built.
    fn eval_logic(&mut self, tree: &'a Arc<ExprTree>, id: NodeId, at: EvalScopes<'a>) -> LogicValue {
        if self.observer.is_some() {
            return LogicValue::from_result(&self.eval(tree, id, at));
        }
        match tree.node(id) {
            Node::Binary(op, left, right) if op.is_truth_valued() => {
                let deeper = |this: &mut Self| {
                    this.eval_truth_operator(tree, op, OperandPair { left, right }, at).ok_or(EvalFailure)
                };
                self.count_step().and_then(|()| self.with_deeper_level(deeper)).unwrap_or(LogicValue::Failed)
            }
            Node::Unary(UnaryOp::Parentheses, operand) => {
                let deeper = |this: &mut Self| Ok(this.eval_logic(tree, operand, at));
                self.count_step().and_then(|()| self.with_deeper_level(deeper)).unwrap_or(LogicValue::Failed)
            }
            _ => LogicValue::from_result(&self.eval(tree, id, at)),
        }
    }

    /// Returns true if a constraint is true in an ad. Uses the current limits on steps and depth, so the evaluator
    /// must be new.
    pub(crate) fn holds(&mut self, expr: &'a Expr, scope: Option<&'a AdScope<'a>>) -> bool {
        let ExprRepr::Node(tree, root) = &expr.0 else {
            return matches!(&expr.0, ExprRepr::Scalar(scalar) if scalar.truth() == Some(true));
        };
        self.root = scope.map(Self::outermost_scope);
        self.eval_logic(tree, *root, EvalScopes::from_scope(scope)) == LogicValue::True
    }
}
