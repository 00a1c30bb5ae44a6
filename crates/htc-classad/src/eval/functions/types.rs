//! Tests of types, and the choice between two values (reference: fnCall.cpp).

use crate::eval::computed::{Computed, Evaluated};
use crate::eval::evaluator::{Call, Entry};

pub(super) const TABLE: &[Entry] = &[
    ("isUndefined", |call| call.test(Computed::is_undefined)),
    ("isError", |call| call.test(Computed::is_error)),
    ("isString", |call| call.test(|value| matches!(value, Computed::Str(_)))),
    ("isInteger", |call| call.test(|value| matches!(value, Computed::Int(_)))),
    ("isReal", |call| call.test(|value| matches!(value, Computed::Real(_)))),
    ("isBoolean", |call| call.test(|value| matches!(value, Computed::Bool(_)))),
    ("isList", |call| call.test(|value| matches!(value, Computed::List(_)))),
    ("isClassAd", |call| call.test(|value| matches!(value, Computed::Ad(_)))),
    ("isAbstime", |call| call.test(|value| matches!(value, Computed::AbsTime(_)))),
    ("isReltime", |call| call.test(|value| matches!(value, Computed::RelTime(_)))),
    ("ifThenElse", if_then_else),
];

/// Evaluates the branch that the condition chooses, and only that.
fn if_then_else<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    if call.count() != 3 {
        return Ok(Computed::Error);
    }
    let condition = call.value(0)?;
    match condition.truth() {
        Some(truth) => call.value(if truth { 1 } else { 2 }),
        None if condition.is_undefined() => Ok(Computed::Undefined),
        None => Ok(Computed::Error),
    }
}
