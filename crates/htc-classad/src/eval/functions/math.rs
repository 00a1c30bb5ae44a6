//! Rounding, powers, steps and chance (reference: `doRound`, `doMath2`, `random`, fnCall.cpp).

use super::conversions::real_of;
use crate::eval::computed::{Computed, Evaluated, Failure};
use crate::eval::evaluator::{Call, Entry};
use crate::syntax::numbers;

pub(super) const TABLE: &[Entry] = &[
    ("floor", |call| round(call, f64::floor)),
    ("ceil", |call| round(call, f64::ceil)),
    ("ceiling", |call| round(call, f64::ceil)),
    ("round", |call| round(call, f64::round_ties_even)),
    ("pow", pow),
    ("quantize", quantize),
    ("random", random),
];

fn round<'a>(call: &mut Call<'_, 'a>, how: fn(f64) -> f64) -> Evaluated<'a> {
    Ok(match call.values()? {
        Some([integer @ Computed::Int(_)]) => integer,
        Some([value]) => {
            real_of(value).map_or(Computed::Error, |real| Computed::Int(numbers::truncate(how(real))))
        }
        None => Computed::Error,
    })
}

fn pow<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    Ok(match call.values()? {
        // Rounded by adding a half and cutting, which is wrong below zero; so is the reference.
        Some([Computed::Int(base), Computed::Int(exponent @ 0..)]) => {
            Computed::Int(numbers::truncate((base as f64).powf(exponent as f64) + 0.5))
        }
        Some([base, exponent]) => match (real_of(base), real_of(exponent)) {
            (Some(base), Some(exponent)) => Computed::Real(base.powf(exponent)),
            _ => Computed::Error,
        },
        None => Computed::Error,
    })
}

/// The next multiple of a step, or the first of a list of steps that is large enough.
fn quantize<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let Some([value, step]) = call.values()? else { return Ok(Computed::Error) };
    let Some(real) = real_of(value) else { return Ok(Computed::Error) };
    let (step, step_real) = match step {
        Computed::List(list) => {
            let mut last = (Computed::Real(0.0), 0.0);
            for at in 0..list.len() {
                let element = call.element(list, at)?;
                let Some(element_real) = real_of(element) else { return Ok(Computed::Error) };
                if element_real >= real {
                    return Ok(element);
                }
                last = (element, element_real);
            }
            last
        }
        step => match real_of(step) {
            Some(step_real) => (step, step_real),
            None => return Ok(Computed::Error),
        },
    };
    Ok(match (step, value) {
        (Computed::Int(0), _) => value,
        (Computed::Int(step), Computed::Int(value)) => {
            let steps = value.wrapping_add(step).wrapping_sub(1).wrapping_div(step);
            Computed::Int(steps.wrapping_mul(step))
        }
        (Computed::Int(step), _) => Computed::Real((real / step as f64).ceil() * step as f64),
        _ if (-1e-8..=1e-8).contains(&step_real) => value,
        _ => Computed::Real((real / step_real).ceil() * step_real),
    })
}

fn random<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let limit = match call.count() {
        0 => Computed::Real(1.0),
        1 => call.value(0)?,
        _ => return Ok(Computed::Error),
    };
    let bits = call.world().random_bits();
    match limit {
        // The reference takes the limit as a C `int`.
        Computed::Int(limit) => match u64::try_from(limit as i32) {
            Ok(limit @ 1..) => Ok(Computed::Int(((bits >> 33) % limit) as i64)),
            _ => Err(Failure),
        },
        Computed::Real(limit) if limit <= 0.0 => Err(Failure),
        Computed::Real(limit) => Ok(Computed::Real(limit * ((bits >> 11) as f64 / (1u64 << 53) as f64))),
        _ => Ok(Computed::Error),
    }
}
