//! Functions that test the type of a value, and `ifThenElse()` (reference: fnCall.cpp).

use crate::eval::computed_value::{ComputedValue, EvalResult};
use crate::eval::evaluator::{FunctionCall, NamedFunction};

pub(super) const FUNCTIONS: &[NamedFunction] = &[
    ("isUndefined", |call| call.test_argument(ComputedValue::is_undefined)),
    ("isError", |call| call.test_argument(ComputedValue::is_error)),
    ("isString", |call| call.test_argument(|value| matches!(value, ComputedValue::Str(_)))),
    ("isInteger", |call| call.test_argument(|value| matches!(value, ComputedValue::Int(_)))),
    ("isReal", |call| call.test_argument(|value| matches!(value, ComputedValue::Real(_)))),
    ("isBoolean", |call| call.test_argument(|value| matches!(value, ComputedValue::Bool(_)))),
    ("isList", |call| call.test_argument(|value| matches!(value, ComputedValue::List(_)))),
    ("isClassAd", |call| call.test_argument(|value| matches!(value, ComputedValue::Ad(_)))),
    ("isAbstime", |call| call.test_argument(|value| matches!(value, ComputedValue::AbsTime(_)))),
    ("isReltime", |call| call.test_argument(|value| matches!(value, ComputedValue::RelTime(_)))),
    ("ifThenElse", if_then_else),
];

/// Implements `ifThenElse()`, which evaluates only the branch that the condition selects.
fn if_then_else<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    if call.argument_count() != 3 {
        return Ok(ComputedValue::Error);
    }
    let condition = call.eval_argument(0)?;
    match condition.truth() {
        Some(truth) => call.eval_argument(if truth { 1 } else { 2 }),
        None if condition.is_undefined() => Ok(ComputedValue::Undefined),
        None => Ok(ComputedValue::Error),
    }
}
