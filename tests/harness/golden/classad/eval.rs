//! Evaluation: values in both forms, types, and reals compared bit by bit.

use std::sync::Arc;

use htc_hooks::classad::flatten::{self, FlattenResult};
use htc_hooks::classad::format::long;
use htc_hooks::classad::references::{self, AttrNames, ReferenceSpelling};
use htc_hooks::classad::{ClassAd, Context, Expr, Value};
use htc_hooks::os::RealWorld;

use super::{Answer, NOT_PARSED, Record};

/// Recorded result of an evaluation without a value.
pub(super) const NOT_EVALUATED: &[u8] = b"!evalfail";

/// Returns a world with those properties of the recording machine that affect results.
pub(super) fn world() -> RealWorld {
    RealWorld::new().in_utc()
}

/// Evaluates an expression in the ads of the record.
pub(super) fn expression(record: &Record) -> Result<Answer, String> {
    let my = record.my.as_ref().map(|text| record.ad(text)).transpose()?;
    let target = record.target.as_ref().map(|text| record.ad(text)).transpose()?;
    let Ok(expr) = Expr::parse_with(record.text(), record.dialect()) else {
        return Ok(record.answer(NOT_PARSED));
    };
    let world = world();
    let mut context = Context::new(&world).strict(record.is_strict());
    if let Some(my) = &my {
        context = context.my(my);
    }
    if let Some(target) = &target {
        context = context.target(target);
    }
    Ok(value(record, context.try_eval(&expr)))
}

/// Evaluates an expression in an ad that is chained to another one, and prints the ad.
pub(super) fn chain(record: &Record) -> Result<Answer, String> {
    let read = |text: &Option<_>| text.as_ref().map_or_else(|| Ok(ClassAd::new()), |text| record.ad(text));
    let mut my = read(&record.my)?;
    my.chain(Some(Arc::new(read(&record.target)?)));
    let expr = Expr::parse_with(record.text(), record.dialect()).map_err(|error| error.to_string())?;
    let world = world();
    let answer = value(record, Context::new(&world).my(&my).strict(record.is_strict()).try_eval(&expr));
    let expected = record.long.clone().unwrap_or_default();
    Ok(answer.and("long form", expected.0, long::print(&my)))
}

/// Flattens an expression in its ad.
pub(super) fn flattened(record: &Record) -> Result<Answer, String> {
    let my = record.my.as_ref().map_or_else(|| Ok(ClassAd::new()), |text| record.ad(text))?;
    let Ok(expr) = Expr::parse_with(record.text(), record.dialect()) else {
        return Ok(record.answer(NOT_PARSED));
    };
    let world = world();
    let context = Context::new(&world).my(&my).strict(record.is_strict());
    let flat = match record.op.as_str() {
        "flatten" => flatten::flatten(&expr, context),
        _ => flatten::inline(&expr, context),
    };
    Ok(match flat {
        Some(FlattenResult::Value(known)) => value(record, Some(known)),
        Some(FlattenResult::Expr(rest)) => {
            record.answer(rest.unparse()).and("type", record.kind_of_result.as_str(), "expr")
        }
        None => record.answer(NOT_EVALUATED),
    })
}

/// Compares the names that an expression refers to, outside its ad and within.
pub(super) fn refer(record: &Record) -> Result<Answer, String> {
    let my = record.my.as_ref().map_or_else(|| Ok(ClassAd::new()), |text| record.ad(text))?;
    let Ok(expr) = Expr::parse_with(record.text(), record.dialect()) else {
        return Ok(record.answer(NOT_PARSED));
    };
    let world = world();
    let joined = |names: Option<AttrNames>| match names {
        Some(names) => names.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        None => String::from("!fail"),
    };
    let context = Context::new(&world).my(&my).strict(record.is_strict());
    let external = |spelling| joined(references::external(&expr, context, spelling));
    let internal = joined(references::internal(&expr, context));
    let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
    Ok(record.answer(format!(
        "{{\"external\": {}, \"external_full\": {}, \"internal\": {}, \"internal_full\": {}}}",
        quoted(&external(ReferenceSpelling::Base)),
        quoted(&external(ReferenceSpelling::Full)),
        quoted(&internal),
        quoted(&internal),
    )))
}

/// Compares a value, or its absence.
pub(super) fn value(record: &Record, value: Option<Value>) -> Answer {
    let Some(value) = value else { return record.answer(NOT_EVALUATED) };
    let mut answer =
        record.answer(value.unparse()).and("type", record.kind_of_result.as_str(), value.type_name());
    // The results of partial evaluation and of match attributes were recorded in the new form only.
    if matches!(record.op.as_str(), "eval" | "chain") {
        let old = record.old.as_ref().unwrap_or(&record.result);
        answer = answer.and("old form", old.0.clone(), value.unparse_old());
    }
    if let (Some(bits), Value::Real(real) | Value::RelTime(real)) = (&record.bits, &value) {
        answer = answer.and("bits", bits.as_str(), format!("{:016x}", real.to_bits()));
    }
    answer
}
