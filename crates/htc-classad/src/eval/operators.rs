//! Operators on values (reference: operators.cpp). No function here fails or evaluates expressions.

use std::cmp::Ordering;

use crate::eval::computed_value::ComputedValue;
use crate::eval::logic::LogicValue;
use crate::syntax::AbsTime;
use crate::syntax::numbers;
use crate::syntax::tree::{BinaryOp, UnaryOp};
use crate::text::caseless;

/// Applies a unary operator.
#[inline]
pub(crate) fn apply_unary(op: UnaryOp, operand: ComputedValue<'_>) -> ComputedValue<'_> {
    use ComputedValue::{Bool, Error, Int, Real, RelTime, Undefined};
    match (op, operand) {
        (UnaryOp::Parentheses, value) => value,
        (_, Undefined) => Undefined,
        (UnaryOp::Plus, Int(_) | Real(_) | RelTime(_)) => operand,
        (UnaryOp::Minus, Int(i)) => Int(i.wrapping_neg()),
        (UnaryOp::Minus, Real(r)) => Real(-r),
        (UnaryOp::Minus, RelTime(r)) => RelTime(-r),
        (UnaryOp::Not, value) => value.truth().map_or(Error, |truth| Bool(!truth)),
        (UnaryOp::BitNot, Int(i)) => Int(!i),
        _ => Error,
    }
}

/// Applies a binary operator that evaluates both operands: any except `&&`, `||`, `=?=`, `=!=`, `?:` and subscripts.
#[inline]
pub(crate) fn apply_binary<'a>(
    op: BinaryOp,
    left: ComputedValue<'a>,
    right: ComputedValue<'a>,
) -> ComputedValue<'a> {
    if left.is_error() || right.is_error() {
        return ComputedValue::Error;
    }
    if left.is_undefined() || right.is_undefined() {
        return ComputedValue::Undefined;
    }
    match op {
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => compare_values(op, left, right),
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulus => {
            arithmetic(op, left, right)
        }
        _ => match (left, right) {
            (ComputedValue::Int(a), ComputedValue::Int(b)) => bitwise(op, a, b),
            _ => ComputedValue::Error,
        },
    }
}

/// Compares two values that are neither undefined nor error.
pub(crate) fn compare_values<'a>(
    op: BinaryOp,
    left: ComputedValue<'a>,
    right: ComputedValue<'a>,
) -> ComputedValue<'a> {
    match comparison_logic(op, &left, &right) {
        LogicValue::True => ComputedValue::Bool(true),
        LogicValue::False => ComputedValue::Bool(false),
        _ => ComputedValue::Error,
    }
}

/// Compares two values of any kind, including undefined and error, and returns the truth value of the comparison.
#[inline]
pub(crate) fn comparison_logic(
    op: BinaryOp,
    left: &ComputedValue<'_>,
    right: &ComputedValue<'_>,
) -> LogicValue {
    use ComputedValue::{Bool, Int, Real, RelTime, Str};
    let order = match (left, right) {
        (Int(a), Int(b)) => Some(a.cmp(b)),
        (Str(a), Str(b)) => match op {
            BinaryOp::Equal => return LogicValue::from(caseless::eq(a, b)),
            BinaryOp::NotEqual => return LogicValue::from(!caseless::eq(a, b)),
            _ => Some(caseless::cmp(a, b)),
        },
        (ComputedValue::Error, _) | (_, ComputedValue::Error) => return LogicValue::Error,
        (ComputedValue::Undefined, _) | (_, ComputedValue::Undefined) => return LogicValue::Undefined,
        (Bool(_) | Int(_), Bool(_) | Int(_)) => Some(to_integer(*left).cmp(&to_integer(*right))),
        (Bool(_) | Int(_) | Real(_), Bool(_) | Int(_) | Real(_)) => {
            to_real(*left).partial_cmp(&to_real(*right))
        }
        (ComputedValue::AbsTime(a), ComputedValue::AbsTime(b)) => Some(a.seconds.cmp(&b.seconds)),
        (RelTime(a), RelTime(b)) => a.partial_cmp(b),
        _ => return LogicValue::Error,
    };
    LogicValue::from(match op {
        BinaryOp::Equal => order == Some(Ordering::Equal),
        BinaryOp::NotEqual => order != Some(Ordering::Equal),
        BinaryOp::Less => order == Some(Ordering::Less),
        BinaryOp::LessEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        BinaryOp::Greater => order == Some(Ordering::Greater),
        _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    })
}

/// Evaluates `=?=`, which is never undefined. Types are not promoted, and strings are compared case-sensitively.
/// Comparing two lists or two ads is an error, except for two lists of which exactly one has the reference's flag of
/// shared lists.
#[inline]
pub(crate) fn identical<'a>(left: ComputedValue<'a>, right: ComputedValue<'a>) -> ComputedValue<'a> {
    use ComputedValue::{Bool, Int, Real, RelTime, Str};
    Bool(match (left, right) {
        (ComputedValue::Undefined, ComputedValue::Undefined)
        | (ComputedValue::Error, ComputedValue::Error) => true,
        (Bool(a), Bool(b)) => a == b,
        (Int(a), Int(b)) => a == b,
        (Real(a), Real(b)) | (RelTime(a), RelTime(b)) => a == b,
        (Str(a), Str(b)) => a == b,
        (ComputedValue::AbsTime(a), ComputedValue::AbsTime(b)) => a == b,
        (ComputedValue::List(a), ComputedValue::List(b)) if a.shared == b.shared => {
            return ComputedValue::Error;
        }
        (ComputedValue::Ad(_), ComputedValue::Ad(_)) => return ComputedValue::Error,
        _ => false,
    })
}

/// Evaluates `=!=`.
pub(crate) fn not_identical<'a>(left: ComputedValue<'a>, right: ComputedValue<'a>) -> ComputedValue<'a> {
    match identical(left, right) {
        ComputedValue::Bool(same) => ComputedValue::Bool(!same),
        other => other,
    }
}

/// Converts an integer or boolean to an integer.
fn to_integer(value: ComputedValue<'_>) -> i64 {
    match value {
        ComputedValue::Int(i) => i,
        ComputedValue::Bool(b) => i64::from(b),
        _ => 0,
    }
}

/// Converts a number to a real.
fn to_real(value: ComputedValue<'_>) -> f64 {
    match value {
        ComputedValue::Real(r) => r,
        other => to_integer(other) as f64,
    }
}

/// Evaluates `+`, `-`, `*`, `/` or `%` for two values that are neither undefined nor error.
fn arithmetic<'a>(op: BinaryOp, left: ComputedValue<'a>, right: ComputedValue<'a>) -> ComputedValue<'a> {
    use ComputedValue::{Bool, Error, Int, Real};
    match (left, right) {
        (Int(_) | Bool(_), Int(_) | Bool(_)) => integer_arithmetic(op, to_integer(left), to_integer(right)),
        (Int(_) | Bool(_) | Real(_), Int(_) | Bool(_) | Real(_)) => {
            let (a, b) = (to_real(left), to_real(right));
            let result = match op {
                BinaryOp::Add => a + b,
                BinaryOp::Subtract => a - b,
                BinaryOp::Multiply => a * b,
                BinaryOp::Divide => a / b,
                _ => return Error,
            };
            // The reference compares only with HUGE_VAL, so minus infinity is a valid result.
            if result == f64::INFINITY { Error } else { Real(result) }
        }
        _ => time_arithmetic(op, left, right),
    }
}

fn integer_arithmetic<'a>(op: BinaryOp, a: i64, b: i64) -> ComputedValue<'a> {
    use ComputedValue::{Error, Int};
    match op {
        BinaryOp::Add => Int(a.wrapping_add(b)),
        BinaryOp::Subtract => Int(a.wrapping_sub(b)),
        BinaryOp::Multiply => Int(a.wrapping_mul(b)),
        BinaryOp::Divide | BinaryOp::Modulus if b == 0 => Error,
        BinaryOp::Divide => Int(a.checked_div(b).unwrap_or(i64::MAX)),
        _ => Int(a.checked_rem(b).unwrap_or(0)),
    }
}

fn time_arithmetic<'a>(op: BinaryOp, left: ComputedValue<'a>, right: ComputedValue<'a>) -> ComputedValue<'a> {
    use ComputedValue::{Error, Int, Real, RelTime};
    let shifted = |time: AbsTime, by: f64, sign: i64| {
        let by = numbers::truncate(by).wrapping_mul(sign);
        ComputedValue::AbsTime(AbsTime { seconds: time.seconds.wrapping_add(by), offset: time.offset })
    };
    match (op, left, right) {
        (BinaryOp::Add, ComputedValue::AbsTime(time), RelTime(by))
        | (BinaryOp::Add, RelTime(by), ComputedValue::AbsTime(time)) => shifted(time, by, 1),
        (BinaryOp::Subtract, ComputedValue::AbsTime(time), RelTime(by)) => shifted(time, by, -1),
        (BinaryOp::Subtract, ComputedValue::AbsTime(a), ComputedValue::AbsTime(b)) => {
            RelTime(a.seconds.wrapping_sub(b.seconds) as f64)
        }
        (BinaryOp::Add, RelTime(a), RelTime(b)) => RelTime(a + b),
        (BinaryOp::Subtract, RelTime(a), RelTime(b)) => RelTime(a - b),
        (BinaryOp::Multiply, RelTime(a), Int(_) | Real(_)) => RelTime(a * to_real(right)),
        (BinaryOp::Multiply, Int(_) | Real(_), RelTime(b)) => RelTime(to_real(left) * b),
        (BinaryOp::Divide, RelTime(a), Int(_) | Real(_)) => RelTime(a / to_real(right)),
        _ => Error,
    }
}

/// Evaluates bit operators and shifts. The reference does not check the number of bits of a shift; the result here is
/// that of the reference on x86-64.
fn bitwise<'a>(op: BinaryOp, a: i64, b: i64) -> ComputedValue<'a> {
    let modulo = (b & 63) as u32;
    ComputedValue::Int(match op {
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::ShiftLeft => a.wrapping_shl(modulo),
        BinaryOp::ShiftRight if a >= 0 => a >> modulo,
        BinaryOp::ShiftRight if b <= 0 => a,
        BinaryOp::ShiftRight => a >> b.min(63),
        BinaryOp::ShiftRightZero if a >= 0 => a >> modulo,
        BinaryOp::ShiftRightZero => {
            let rest = (b.wrapping_sub(1) & 63) as u32;
            ((a as u64 >> 1) >> rest) as i64
        }
        _ => return ComputedValue::Error,
    })
}
