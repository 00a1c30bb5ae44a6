//! Functions on lists (reference: fnCall.cpp).

use crate::eval::computed_value::{ComputedList, ComputedValue, EvalFailure, EvalResult};
use crate::eval::evaluator::{FunctionCall, NamedFunction};
use crate::eval::operators;
use crate::syntax::tree::BinaryOp;

pub(super) const FUNCTIONS: &[NamedFunction] = &[
    ("member", |call| member(call, false)),
    ("identicalMember", |call| member(call, true)),
    ("size", size),
    ("sum", |call| sum(call, false)),
    ("avg", |call| sum(call, true)),
    ("min", |call| extreme_element(call, BinaryOp::Less)),
    ("max", |call| extreme_element(call, BinaryOp::Greater)),
    ("anyCompare", |call| any_or_all_compare(call, false)),
    ("allCompare", |call| any_or_all_compare(call, true)),
];

fn member<'a>(call: &mut FunctionCall<'_, 'a>, identical: bool) -> EvalResult<'a> {
    let Some([wanted, list]) = call.eval_arguments()? else { return Ok(ComputedValue::Error) };
    if list.is_undefined() || (!identical && wanted.is_undefined()) {
        return Ok(ComputedValue::Undefined);
    }
    let ComputedValue::List(list) = list else { return Ok(ComputedValue::Error) };
    if matches!(wanted, ComputedValue::List(_) | ComputedValue::Ad(_)) || (!identical && wanted.is_error()) {
        return Ok(ComputedValue::Error);
    }
    for at in 0..list.len() {
        let element = call.eval_element(list, at)?;
        let same = if identical {
            operators::identical(element, wanted)
        } else {
            operators::apply_binary(BinaryOp::Equal, element, wanted)
        };
        if matches!(same, ComputedValue::Bool(true)) {
            return Ok(same);
        }
    }
    Ok(ComputedValue::Bool(false))
}

fn size<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let Some([value]) = call.eval_arguments()? else { return Ok(ComputedValue::Error) };
    let length = match value {
        ComputedValue::Undefined => return Ok(ComputedValue::Undefined),
        ComputedValue::List(list) => list.len(),
        ComputedValue::Ad(scope) => scope.ad.len(),
        ComputedValue::Str(text) => text.len(),
        _ => return Ok(ComputedValue::Error),
    };
    Ok(ComputedValue::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

/// Argument of a function that requires one list.
enum ListArgument<'a> {
    List(&'a ComputedList<'a>),
    /// The argument is not a list. Contains the result of the function.
    Other(ComputedValue<'a>),
}

/// Evaluates the only argument of a function that requires a list.
fn single_list_argument<'a>(call: &mut FunctionCall<'_, 'a>) -> Result<ListArgument<'a>, EvalFailure> {
    Ok(match call.eval_arguments()? {
        Some([ComputedValue::List(list)]) => ListArgument::List(list),
        Some([ComputedValue::Undefined]) => ListArgument::Other(ComputedValue::Undefined),
        _ => ListArgument::Other(ComputedValue::Error),
    })
}

/// Element of a list of numbers. Undefined elements are skipped; any other element that is not a number is
/// invalid.
enum NumericElement<'a> {
    Number(ComputedValue<'a>),
    Undefined,
    Invalid,
}

fn numeric_element<'a>(
    call: &mut FunctionCall<'_, 'a>,
    list: &ComputedList<'a>,
    at: usize,
) -> Result<NumericElement<'a>, EvalFailure> {
    Ok(match call.eval_element(list, at)? {
        ComputedValue::Undefined => NumericElement::Undefined,
        value @ (ComputedValue::Int(_) | ComputedValue::Real(_) | ComputedValue::Bool(_)) => {
            NumericElement::Number(value)
        }
        _ => NumericElement::Invalid,
    })
}

fn sum<'a>(call: &mut FunctionCall<'_, 'a>, average: bool) -> EvalResult<'a> {
    let list = match single_list_argument(call)? {
        ListArgument::List(list) => list,
        ListArgument::Other(answer) => return Ok(answer),
    };
    let mut sum = None;
    let mut count = 0u32;
    for at in 0..list.len() {
        match numeric_element(call, list, at)? {
            NumericElement::Invalid => return Ok(ComputedValue::Error),
            NumericElement::Undefined => {}
            NumericElement::Number(value) => {
                count += 1;
                sum = Some(match sum {
                    None => value,
                    Some(sum) => operators::apply_binary(BinaryOp::Add, sum, value),
                });
            }
        }
    }
    Ok(match sum {
        None => ComputedValue::Int(0),
        Some(sum) if average => {
            operators::apply_binary(BinaryOp::Divide, sum, ComputedValue::Real(f64::from(count)))
        }
        Some(sum) => sum,
    })
}

/// Returns the smallest or greatest element of a list. Each comparison promotes both values to the same type,
/// and the promoted value is kept.
fn extreme_element<'a>(call: &mut FunctionCall<'_, 'a>, better: BinaryOp) -> EvalResult<'a> {
    let list = match single_list_argument(call)? {
        ListArgument::List(list) => list,
        ListArgument::Other(answer) => return Ok(answer),
    };
    let mut kept = None;
    for at in 0..list.len() {
        match numeric_element(call, list, at)? {
            NumericElement::Invalid => return Ok(ComputedValue::Error),
            NumericElement::Undefined => {}
            NumericElement::Number(value) => {
                kept = Some(match kept {
                    None => value,
                    Some(kept) => {
                        let (value, kept) = promote(value, kept);
                        match operators::apply_binary(better, value, kept) {
                            ComputedValue::Bool(true) => value,
                            _ => kept,
                        }
                    }
                });
            }
        }
    }
    Ok(kept.unwrap_or(ComputedValue::Undefined))
}

fn promote<'a>(a: ComputedValue<'a>, b: ComputedValue<'a>) -> (ComputedValue<'a>, ComputedValue<'a>) {
    let real = |value| match value {
        ComputedValue::Int(integer) => ComputedValue::Real(integer as f64),
        ComputedValue::Bool(truth) => ComputedValue::Real(f64::from(u8::from(truth))),
        other => other,
    };
    let int = |value| match value {
        ComputedValue::Bool(truth) => ComputedValue::Int(i64::from(truth)),
        other => other,
    };
    match (a, b) {
        (ComputedValue::Real(_), _) | (_, ComputedValue::Real(_)) => (real(a), real(b)),
        _ => (int(a), int(b)),
    }
}

fn any_or_all_compare<'a>(call: &mut FunctionCall<'_, 'a>, all: bool) -> EvalResult<'a> {
    if call.argument_count() != 3 {
        return Ok(ComputedValue::Error);
    }
    let op = match call.eval_argument(0)? {
        ComputedValue::Undefined => return Ok(ComputedValue::Undefined),
        ComputedValue::Str(b"<") => BinaryOp::Less,
        ComputedValue::Str(b"<=") => BinaryOp::LessEqual,
        ComputedValue::Str(b"!=") => BinaryOp::NotEqual,
        ComputedValue::Str(b"==") => BinaryOp::Equal,
        ComputedValue::Str(b">") => BinaryOp::Greater,
        ComputedValue::Str(b">=") => BinaryOp::GreaterEqual,
        ComputedValue::Str(b"is") => BinaryOp::Is,
        ComputedValue::Str(b"isnt") => BinaryOp::Isnt,
        _ => return Ok(ComputedValue::Error),
    };
    let list = match call.eval_argument(1)? {
        ComputedValue::Undefined => return Ok(ComputedValue::Undefined),
        ComputedValue::List(list) => list,
        _ => return Ok(ComputedValue::Error),
    };
    let wanted = call.eval_argument(2)?;
    for at in 0..list.len() {
        let element = call.eval_element(list, at)?;
        let result = match op {
            BinaryOp::Is => operators::identical(element, wanted),
            BinaryOp::Isnt => operators::not_identical(element, wanted),
            op => operators::apply_binary(op, element, wanted),
        };
        match result {
            ComputedValue::Bool(true) if !all => return Ok(ComputedValue::Bool(true)),
            ComputedValue::Bool(false) if all => return Ok(ComputedValue::Bool(false)),
            ComputedValue::Bool(_) => {}
            ComputedValue::Undefined => return Ok(ComputedValue::Bool(false)),
            _ => return Ok(ComputedValue::Error),
        }
    }
    Ok(ComputedValue::Bool(all))
}
