//! Functions over lists (reference: fnCall.cpp).

use crate::eval::computed::{Computed, ComputedList, Evaluated, Failure};
use crate::eval::evaluator::{Call, Entry};
use crate::eval::operators;
use crate::syntax::tree::BinaryOp;

pub(super) const TABLE: &[Entry] = &[
    ("member", |call| member(call, false)),
    ("identicalMember", |call| member(call, true)),
    ("size", size),
    ("sum", |call| sum(call, false)),
    ("avg", |call| sum(call, true)),
    ("min", |call| bound(call, BinaryOp::Less)),
    ("max", |call| bound(call, BinaryOp::Greater)),
    ("anyCompare", |call| compare(call, false)),
    ("allCompare", |call| compare(call, true)),
];

fn member<'a>(call: &mut Call<'_, 'a>, identical: bool) -> Evaluated<'a> {
    let Some([wanted, list]) = call.values()? else { return Ok(Computed::Error) };
    if list.is_undefined() || (!identical && wanted.is_undefined()) {
        return Ok(Computed::Undefined);
    }
    let Computed::List(list) = list else { return Ok(Computed::Error) };
    if matches!(wanted, Computed::List(_) | Computed::Ad(_)) || (!identical && wanted.is_error()) {
        return Ok(Computed::Error);
    }
    for at in 0..list.len() {
        let element = call.element(list, at)?;
        let same = if identical {
            operators::identical(element, wanted)
        } else {
            operators::binary(BinaryOp::Equal, element, wanted)
        };
        if matches!(same, Computed::Bool(true)) {
            return Ok(same);
        }
    }
    Ok(Computed::Bool(false))
}

fn size<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let Some([value]) = call.values()? else { return Ok(Computed::Error) };
    let length = match value {
        Computed::Undefined => return Ok(Computed::Undefined),
        Computed::List(list) => list.len(),
        Computed::Ad(scope) => scope.ad.len(),
        Computed::Str(text) => text.len(),
        _ => return Ok(Computed::Error),
    };
    Ok(Computed::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

/// The list that the only argument is, or the answer if it is none.
fn only_list<'a>(call: &mut Call<'_, 'a>) -> Result<Result<&'a ComputedList<'a>, Computed<'a>>, Failure> {
    Ok(match call.values()? {
        Some([Computed::List(list)]) => Ok(list),
        Some([Computed::Undefined]) => Err(Computed::Undefined),
        _ => Err(Computed::Error),
    })
}

/// The next element that is a number; undefined ones are passed over, all else is an error.
enum Number<'a> {
    Is(Computed<'a>),
    Skipped,
    Refused,
}

fn number<'a>(call: &mut Call<'_, 'a>, list: &ComputedList<'a>, at: usize) -> Result<Number<'a>, Failure> {
    Ok(match call.element(list, at)? {
        Computed::Undefined => Number::Skipped,
        value @ (Computed::Int(_) | Computed::Real(_) | Computed::Bool(_)) => Number::Is(value),
        _ => Number::Refused,
    })
}

fn sum<'a>(call: &mut Call<'_, 'a>, average: bool) -> Evaluated<'a> {
    let list = match only_list(call)? {
        Ok(list) => list,
        Err(answer) => return Ok(answer),
    };
    let mut sum = None;
    let mut count = 0u32;
    for at in 0..list.len() {
        match number(call, list, at)? {
            Number::Refused => return Ok(Computed::Error),
            Number::Skipped => {}
            Number::Is(value) => {
                count += 1;
                sum = Some(match sum {
                    None => value,
                    Some(sum) => operators::binary(BinaryOp::Add, sum, value),
                });
            }
        }
    }
    Ok(match sum {
        None => Computed::Int(0),
        Some(sum) if average => operators::binary(BinaryOp::Divide, sum, Computed::Real(f64::from(count))),
        Some(sum) => sum,
    })
}

/// The least or greatest element. Comparing promotes both sides, and the promoted value is kept.
fn bound<'a>(call: &mut Call<'_, 'a>, better: BinaryOp) -> Evaluated<'a> {
    let list = match only_list(call)? {
        Ok(list) => list,
        Err(answer) => return Ok(answer),
    };
    let mut kept = None;
    for at in 0..list.len() {
        match number(call, list, at)? {
            Number::Refused => return Ok(Computed::Error),
            Number::Skipped => {}
            Number::Is(value) => {
                kept = Some(match kept {
                    None => value,
                    Some(kept) => {
                        let (value, kept) = promoted(value, kept);
                        match operators::binary(better, value, kept) {
                            Computed::Bool(true) => value,
                            _ => kept,
                        }
                    }
                });
            }
        }
    }
    Ok(kept.unwrap_or(Computed::Undefined))
}

fn promoted<'a>(a: Computed<'a>, b: Computed<'a>) -> (Computed<'a>, Computed<'a>) {
    let real = |value| match value {
        Computed::Int(integer) => Computed::Real(integer as f64),
        Computed::Bool(truth) => Computed::Real(f64::from(u8::from(truth))),
        other => other,
    };
    let int = |value| match value {
        Computed::Bool(truth) => Computed::Int(i64::from(truth)),
        other => other,
    };
    match (a, b) {
        (Computed::Real(_), _) | (_, Computed::Real(_)) => (real(a), real(b)),
        _ => (int(a), int(b)),
    }
}

fn compare<'a>(call: &mut Call<'_, 'a>, all: bool) -> Evaluated<'a> {
    if call.count() != 3 {
        return Ok(Computed::Error);
    }
    let op = match call.value(0)? {
        Computed::Undefined => return Ok(Computed::Undefined),
        Computed::Str(b"<") => BinaryOp::Less,
        Computed::Str(b"<=") => BinaryOp::LessEqual,
        Computed::Str(b"!=") => BinaryOp::NotEqual,
        Computed::Str(b"==") => BinaryOp::Equal,
        Computed::Str(b">") => BinaryOp::Greater,
        Computed::Str(b">=") => BinaryOp::GreaterEqual,
        Computed::Str(b"is") => BinaryOp::Is,
        Computed::Str(b"isnt") => BinaryOp::Isnt,
        _ => return Ok(Computed::Error),
    };
    let list = match call.value(1)? {
        Computed::Undefined => return Ok(Computed::Undefined),
        Computed::List(list) => list,
        _ => return Ok(Computed::Error),
    };
    let wanted = call.value(2)?;
    for at in 0..list.len() {
        let element = call.element(list, at)?;
        let result = match op {
            BinaryOp::Is => operators::identical(element, wanted),
            BinaryOp::Isnt => operators::not_identical(element, wanted),
            op => operators::binary(op, element, wanted),
        };
        match result {
            Computed::Bool(true) if !all => return Ok(Computed::Bool(true)),
            Computed::Bool(false) if all => return Ok(Computed::Bool(false)),
            Computed::Bool(_) => {}
            Computed::Undefined => return Ok(Computed::Bool(false)),
            _ => return Ok(Computed::Error),
        }
    }
    Ok(Computed::Bool(all))
}
