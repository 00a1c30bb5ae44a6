//! What the operators make of values (reference: operators.cpp). Nothing here can fail or evaluate.

use std::cmp::Ordering;

use crate::eval::computed::Computed;
use crate::eval::truth::Logic;
use crate::syntax::AbsTime;
use crate::syntax::numbers;
use crate::syntax::tree::{BinaryOp, UnaryOp};
use crate::text::caseless;

/// An operator before its operand.
#[inline]
pub(crate) fn unary(op: UnaryOp, operand: Computed<'_>) -> Computed<'_> {
    use Computed::{Bool, Error, Int, Real, RelTime, Undefined};
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

/// A strict operator between two operands: all but `&& || =?= =!= ?:` and subscripts.
#[inline]
pub(crate) fn binary<'a>(op: BinaryOp, left: Computed<'a>, right: Computed<'a>) -> Computed<'a> {
    if left.is_error() || right.is_error() {
        return Computed::Error;
    }
    if left.is_undefined() || right.is_undefined() {
        return Computed::Undefined;
    }
    match op {
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => compare(op, left, right),
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulus => {
            arithmetic(op, left, right)
        }
        _ => match (left, right) {
            (Computed::Int(a), Computed::Int(b)) => bitwise(op, a, b),
            _ => Computed::Error,
        },
    }
}

/// A comparison of two values that are neither undefined nor error.
pub(crate) fn compare<'a>(op: BinaryOp, left: Computed<'a>, right: Computed<'a>) -> Computed<'a> {
    match logic_of_comparison(op, &left, &right) {
        Logic::True => Computed::Bool(true),
        Logic::False => Computed::Bool(false),
        _ => Computed::Error,
    }
}

/// A comparison of any two values.
#[inline]
pub(crate) fn logic_of_comparison(op: BinaryOp, left: &Computed<'_>, right: &Computed<'_>) -> Logic {
    use Computed::{Bool, Int, Real, RelTime, Str};
    let order = match (left, right) {
        (Int(a), Int(b)) => Some(a.cmp(b)),
        (Str(a), Str(b)) => match op {
            BinaryOp::Equal => return Logic::from(caseless::eq(a, b)),
            BinaryOp::NotEqual => return Logic::from(!caseless::eq(a, b)),
            _ => Some(caseless::cmp(a, b)),
        },
        (Computed::Error, _) | (_, Computed::Error) => return Logic::Error,
        (Computed::Undefined, _) | (_, Computed::Undefined) => return Logic::Undefined,
        (Bool(_) | Int(_), Bool(_) | Int(_)) => Some(whole(*left).cmp(&whole(*right))),
        (Bool(_) | Int(_) | Real(_), Bool(_) | Int(_) | Real(_)) => real(*left).partial_cmp(&real(*right)),
        (Computed::AbsTime(a), Computed::AbsTime(b)) => Some(a.seconds.cmp(&b.seconds)),
        (RelTime(a), RelTime(b)) => a.partial_cmp(b),
        _ => return Logic::Error,
    };
    Logic::from(match op {
        BinaryOp::Equal => order == Some(Ordering::Equal),
        BinaryOp::NotEqual => order != Some(Ordering::Equal),
        BinaryOp::Less => order == Some(Ordering::Less),
        BinaryOp::LessEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        BinaryOp::Greater => order == Some(Ordering::Greater),
        _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    })
}

/// `=?=`, which is never undefined: no promotion, strings with their case. Two lists or two ads are an error, unless
/// one list is of the hidden flavour and the other is not.
#[inline]
pub(crate) fn identical<'a>(left: Computed<'a>, right: Computed<'a>) -> Computed<'a> {
    use Computed::{Bool, Int, Real, RelTime, Str};
    Bool(match (left, right) {
        (Computed::Undefined, Computed::Undefined) | (Computed::Error, Computed::Error) => true,
        (Bool(a), Bool(b)) => a == b,
        (Int(a), Int(b)) => a == b,
        (Real(a), Real(b)) | (RelTime(a), RelTime(b)) => a == b,
        (Str(a), Str(b)) => a == b,
        (Computed::AbsTime(a), Computed::AbsTime(b)) => a == b,
        (Computed::List(a), Computed::List(b)) if a.shared == b.shared => return Computed::Error,
        (Computed::Ad(_), Computed::Ad(_)) => return Computed::Error,
        _ => false,
    })
}

/// `=!=`.
pub(crate) fn not_identical<'a>(left: Computed<'a>, right: Computed<'a>) -> Computed<'a> {
    match identical(left, right) {
        Computed::Bool(same) => Computed::Bool(!same),
        other => other,
    }
}

/// An integer or boolean as integer.
fn whole(value: Computed<'_>) -> i64 {
    match value {
        Computed::Int(i) => i,
        Computed::Bool(b) => i64::from(b),
        _ => 0,
    }
}

/// A number as real.
fn real(value: Computed<'_>) -> f64 {
    match value {
        Computed::Real(r) => r,
        other => whole(other) as f64,
    }
}

/// `+ - * / %` of two values that are neither undefined nor error.
fn arithmetic<'a>(op: BinaryOp, left: Computed<'a>, right: Computed<'a>) -> Computed<'a> {
    use Computed::{Bool, Error, Int, Real};
    match (left, right) {
        (Int(_) | Bool(_), Int(_) | Bool(_)) => whole_arithmetic(op, whole(left), whole(right)),
        (Int(_) | Bool(_) | Real(_), Int(_) | Bool(_) | Real(_)) => {
            let (a, b) = (real(left), real(right));
            let result = match op {
                BinaryOp::Add => a + b,
                BinaryOp::Subtract => a - b,
                BinaryOp::Multiply => a * b,
                BinaryOp::Divide => a / b,
                _ => return Error,
            };
            // The reference compares with HUGE_VAL only, so that minus infinity passes.
            if result == f64::INFINITY { Error } else { Real(result) }
        }
        _ => time_arithmetic(op, left, right),
    }
}

fn whole_arithmetic<'a>(op: BinaryOp, a: i64, b: i64) -> Computed<'a> {
    use Computed::{Error, Int};
    match op {
        BinaryOp::Add => Int(a.wrapping_add(b)),
        BinaryOp::Subtract => Int(a.wrapping_sub(b)),
        BinaryOp::Multiply => Int(a.wrapping_mul(b)),
        BinaryOp::Divide | BinaryOp::Modulus if b == 0 => Error,
        BinaryOp::Divide => Int(a.checked_div(b).unwrap_or(i64::MAX)),
        _ => Int(a.checked_rem(b).unwrap_or(0)),
    }
}

fn time_arithmetic<'a>(op: BinaryOp, left: Computed<'a>, right: Computed<'a>) -> Computed<'a> {
    use Computed::{Error, Int, Real, RelTime};
    let shifted = |time: AbsTime, by: f64, sign: i64| {
        let by = numbers::truncate(by).wrapping_mul(sign);
        Computed::AbsTime(AbsTime { seconds: time.seconds.wrapping_add(by), offset: time.offset })
    };
    match (op, left, right) {
        (BinaryOp::Add, Computed::AbsTime(time), RelTime(by))
        | (BinaryOp::Add, RelTime(by), Computed::AbsTime(time)) => shifted(time, by, 1),
        (BinaryOp::Subtract, Computed::AbsTime(time), RelTime(by)) => shifted(time, by, -1),
        (BinaryOp::Subtract, Computed::AbsTime(a), Computed::AbsTime(b)) => {
            RelTime(a.seconds.wrapping_sub(b.seconds) as f64)
        }
        (BinaryOp::Add, RelTime(a), RelTime(b)) => RelTime(a + b),
        (BinaryOp::Subtract, RelTime(a), RelTime(b)) => RelTime(a - b),
        (BinaryOp::Multiply, RelTime(a), Int(_) | Real(_)) => RelTime(a * real(right)),
        (BinaryOp::Multiply, Int(_) | Real(_), RelTime(b)) => RelTime(real(left) * b),
        (BinaryOp::Divide, RelTime(a), Int(_) | Real(_)) => RelTime(a / real(right)),
        _ => Error,
    }
}

/// Bits and shifts. The reference does not check shift counts; this is what its code does on an x86-64.
fn bitwise<'a>(op: BinaryOp, a: i64, b: i64) -> Computed<'a> {
    let modulo = (b & 63) as u32;
    Computed::Int(match op {
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
        _ => return Computed::Error,
    })
}
