//! Rounding functions, powers, `quantize()` and random numbers (reference: `doRound`, `doMath2`, `random`,
//! fnCall.cpp).

use super::conversions::convert_to_real;
use crate::eval::computed_value::{ComputedValue, EvalFailure, EvalResult};
use crate::eval::evaluator::{FunctionCall, NamedFunction};
use crate::syntax::numbers;

pub(super) const FUNCTIONS: &[NamedFunction] = &[
    ("floor", |call| round(call, f64::floor)),
    ("ceil", |call| round(call, f64::ceil)),
    ("ceiling", |call| round(call, f64::ceil)),
    ("round", |call| round(call, f64::round_ties_even)),
    ("pow", pow),
    ("quantize", quantize),
    ("random", random),
];

fn round<'a>(call: &mut FunctionCall<'_, 'a>, how: fn(f64) -> f64) -> EvalResult<'a> {
    Ok(match call.eval_arguments()? {
        Some([integer @ ComputedValue::Int(_)]) => integer,
        Some([value]) => convert_to_real(value)
            .map_or(ComputedValue::Error, |real| ComputedValue::Int(numbers::truncate(how(real)))),
        None => ComputedValue::Error,
    })
}

fn pow<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    Ok(match call.eval_arguments()? {
        // As in the reference, the result is rounded by adding one half and truncating, which is wrong for
        // negative numbers.
        Some([ComputedValue::Int(base), ComputedValue::Int(exponent @ 0..)]) => {
            ComputedValue::Int(numbers::truncate((base as f64).powf(exponent as f64) + 0.5))
        }
        Some([base, exponent]) => match (convert_to_real(base), convert_to_real(exponent)) {
            (Some(base), Some(exponent)) => ComputedValue::Real(base.powf(exponent)),
            _ => ComputedValue::Error,
        },
        None => ComputedValue::Error,
    })
}

/// Implements `quantize()`: returns a number rounded up to a multiple of a step, or the first number in a list
/// that is large enough.
fn quantize<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let Some([value, step]) = call.eval_arguments()? else { return Ok(ComputedValue::Error) };
    let Some(real) = convert_to_real(value) else { return Ok(ComputedValue::Error) };
    let (step, step_real) = match step {
        ComputedValue::List(list) => {
            let mut last = (ComputedValue::Real(0.0), 0.0);
            for at in 0..list.len() {
                let element = call.eval_element(list, at)?;
                let Some(element_real) = convert_to_real(element) else { return Ok(ComputedValue::Error) };
                if element_real >= real {
                    return Ok(element);
                }
                last = (element, element_real);
            }
            last
        }
        step => match convert_to_real(step) {
            Some(step_real) => (step, step_real),
            None => return Ok(ComputedValue::Error),
        },
    };
    Ok(match (step, value) {
        (ComputedValue::Int(0), _) => value,
        (ComputedValue::Int(step), ComputedValue::Int(value)) => {
            let steps = value.wrapping_add(step).wrapping_sub(1).wrapping_div(step);
            ComputedValue::Int(steps.wrapping_mul(step))
        }
        (ComputedValue::Int(step), _) => ComputedValue::Real((real / step as f64).ceil() * step as f64),
        _ if (-1e-8..=1e-8).contains(&step_real) => value,
        _ => ComputedValue::Real((real / step_real).ceil() * step_real),
    })
}

fn random<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let limit = match call.argument_count() {
        0 => ComputedValue::Real(1.0),
        1 => call.eval_argument(0)?,
        _ => return Ok(ComputedValue::Error),
    };
    let bits = call.world().random_bits();
    match limit {
        // The reference truncates the limit to a C `int`.
        ComputedValue::Int(limit) => match u64::try_from(limit as i32) {
            Ok(limit @ 1..) => Ok(ComputedValue::Int(((bits >> 33) % limit) as i64)),
            _ => Err(EvalFailure),
        },
        ComputedValue::Real(limit) if limit <= 0.0 => Err(EvalFailure),
        ComputedValue::Real(limit) => {
            Ok(ComputedValue::Real(limit * ((bits >> 11) as f64 / (1u64 << 53) as f64)))
        }
        _ => Ok(ComputedValue::Error),
    }
}
