//! Combination of flattened operands. For an associative operator, the constants of both operands are collected
//! (`Operation::combine`, operators.cpp).

use super::{FlatOperand, FlatPart, Flattener};
use crate::eval::computed_value::{ComputedValue, EvalFailure};
use crate::eval::logic::{Connective, LogicValue};
use crate::eval::operators;
use crate::syntax::tree::{BinaryOp, Node, NodeId};

impl<'a> Flattener<'_, 'a> {
    pub(super) fn apply_binary(
        &mut self,
        op: BinaryOp,
        left: ComputedValue<'a>,
        right: ComputedValue<'a>,
    ) -> Result<ComputedValue<'a>, EvalFailure> {
        Ok(match op {
            BinaryOp::And => apply_logical(left, right, Connective::And),
            BinaryOp::Or => apply_logical(left, right, Connective::Or),
            BinaryOp::Elvis if left.is_undefined() => right,
            BinaryOp::Elvis => left,
            BinaryOp::Is => operators::identical(left, right),
            BinaryOp::Isnt => operators::not_identical(left, right),
            BinaryOp::Subscript => return self.evaluator.eval_subscript(left, right),
            _ => operators::apply_binary(op, left, right),
        })
    }

    /// Combines two flattened operands (reference: `Operation::combine`).
    #[inline(never)]
    pub(super) fn combine_operands(
        &mut self,
        op: BinaryOp,
        left: FlatOperand<'a>,
        right: FlatOperand<'a>,
    ) -> Result<FlatOperand<'a>, EvalFailure> {
        use FlatOperand::{Split, Whole};
        use FlatPart::{Tree, Value};
        if let Some(decided) = self.decide_logical(op, left, right)? {
            return Ok(decided);
        }
        let (left, right) = match op {
            BinaryOp::And | BinaryOp::Or => (coerce_to_truth(left, right), coerce_to_truth(right, left)),
            _ => (left, right),
        };
        Ok(match (left, right) {
            (Whole(Value(a)), Whole(Value(b))) => Whole(Value(self.apply_binary(op, a, b)?)),
            (Whole(Value(value)), Whole(Tree(rest))) | (Whole(Tree(rest)), Whole(Value(value))) => {
                Split(op, value, rest)
            }
            (Whole(Tree(a)), Whole(Tree(b))) => Whole(self.push_binary(op, a, b)),
            (Split(left_op, a, x), Split(right_op, b, y)) if op == left_op && op == right_op => {
                let rest = self.builder.push_node(Node::Binary(op, x, y));
                Split(op, self.apply_binary(op, a, b)?, rest)
            }
            (Split(left_op, a, x), Whole(Value(b))) if op == left_op => {
                Split(op, self.apply_binary(op, a, b)?, x)
            }
            (Whole(Value(a)), Split(right_op, b, y)) if op == right_op => {
                Split(op, self.apply_binary(op, a, b)?, y)
            }
            (Split(left_op, a, x), other) if op == left_op => {
                let other = self.rest_without_constant(other)?;
                Split(op, a, self.builder.push_node(Node::Binary(op, x, other)))
            }
            (other, Split(right_op, b, y)) if op == right_op => {
                let other = self.rest_without_constant(other)?;
                Split(op, b, self.builder.push_node(Node::Binary(op, other, y)))
            }
            (left, right) => {
                let left = self.join_operand(left)?;
                let right = self.join_operand(right)?;
                Whole(self.push_binary(op, left, right))
            }
        })
    }

    /// Returns an operand without its constant. The reference loses this constant: `1 + a + 2 * b` becomes `1 + a +
    /// b`.
    fn rest_without_constant(&mut self, operand: FlatOperand<'a>) -> Result<NodeId, EvalFailure> {
        match operand {
            FlatOperand::Whole(part) => self.part_to_node(part),
            FlatOperand::Split(_, _, rest) => Ok(rest),
        }
    }

    fn join_operand(&mut self, operand: FlatOperand<'a>) -> Result<NodeId, EvalFailure> {
        match operand {
            FlatOperand::Whole(part) => self.part_to_node(part),
            FlatOperand::Split(op, value, rest) => {
                let value = self.push_literal(value)?;
                Ok(self.builder.push_node(Node::Binary(op, value, rest)))
            }
        }
    }

    /// Flattens `&&` or `||` if one operand is known and decides the result or can be dropped. Otherwise returns
    /// `None`.
    fn decide_logical(
        &mut self,
        op: BinaryOp,
        left: FlatOperand<'a>,
        right: FlatOperand<'a>,
    ) -> Result<Option<FlatOperand<'a>>, EvalFailure> {
        if !matches!(op, BinaryOp::And | BinaryOp::Or) {
            return Ok(None);
        }
        let unknown = ComputedValue::Undefined;
        let (result, known, rest) = match (left, right) {
            (FlatOperand::Whole(FlatPart::Value(_)), FlatOperand::Whole(FlatPart::Value(_))) => {
                return Ok(None);
            }
            (FlatOperand::Whole(FlatPart::Value(value)), rest) => {
                (self.apply_binary(op, value, unknown)?, value, rest)
            }
            (rest, FlatOperand::Whole(FlatPart::Value(value))) => {
                (self.apply_binary(op, unknown, value)?, value, rest)
            }
            _ => return Ok(None),
        };
        if let ComputedValue::Bool(_) = result {
            return Ok(Some(FlatOperand::Whole(FlatPart::Value(result))));
        }
        if op == BinaryOp::And && known.truth() == Some(true) {
            // If the rest has a constant, the reference loses this constant.
            return Ok(Some(match rest {
                FlatOperand::Split(_, _, rest) => FlatOperand::Whole(FlatPart::Tree(rest)),
                whole => whole,
            }));
        }
        Ok(None)
    }
}

/// Applies a logical operator to two values. The result is error if the right operand has no truth value
/// (`doLogical`).
fn apply_logical<'a>(
    left: ComputedValue<'a>,
    right: ComputedValue<'a>,
    connective: Connective,
) -> ComputedValue<'a> {
    let right = LogicValue::from_result(&Ok(right));
    let result = match right {
        LogicValue::Other => LogicValue::Error,
        right => connective.evaluate(LogicValue::from_result(&Ok(left)), || right),
    };
    result.into_computed().unwrap_or(ComputedValue::Error)
}

/// Converts a known operand of a logical operator to a boolean, if the other operand is not completely known.
fn coerce_to_truth<'a>(operand: FlatOperand<'a>, other: FlatOperand<'a>) -> FlatOperand<'a> {
    match (operand, other) {
        (
            FlatOperand::Whole(FlatPart::Value(value)),
            FlatOperand::Whole(FlatPart::Tree(_)) | FlatOperand::Split(..),
        ) => FlatOperand::Whole(FlatPart::Value(to_truth_value(value))),
        (operand, _) => operand,
    }
}

/// Converts a number to a boolean, and returns any other value unchanged.
fn to_truth_value(value: ComputedValue<'_>) -> ComputedValue<'_> {
    value.truth().map_or(value, ComputedValue::Bool)
}
