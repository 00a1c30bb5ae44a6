//! Order of sorted results.

use crate::classad::Value;

/// Compares the keys in descending order; what is undefined or an error still comes last.
pub(super) fn compare_in_reverse(a: &[Value], b: &[Value]) -> std::cmp::Ordering {
    let has_value = |value: &Value| !matches!(value, Value::Undefined | Value::Error);
    let order = a.iter().zip(b).map(|(a, b)| {
        let ascending = compare_sort_keys(std::slice::from_ref(a), std::slice::from_ref(b));
        if has_value(a) && has_value(b) { ascending.reverse() } else { ascending }
    });
    order.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
}

/// Compares sort keys: numbers before strings before times, all of them before lists and ads, and undefined
/// values and errors last. Equal keys keep the order of the input.
pub(super) fn compare_sort_keys(a: &[Value], b: &[Value]) -> std::cmp::Ordering {
    let class = |value: &Value| match value {
        Value::Bool(_) | Value::Int(_) | Value::Real(_) => 0,
        Value::Str(_) => 1,
        Value::AbsTime(_) => 2,
        Value::RelTime(_) => 3,
        Value::List(_) | Value::Ad(_) => 4,
        Value::Undefined => 5,
        Value::Error => 6,
    };
    a.iter()
        .zip(b)
        .map(|(a, b)| {
            class(a).cmp(&class(b)).then_with(|| match (a, b) {
                (Value::Int(a), Value::Int(b)) => a.cmp(b),
                (Value::Str(a), Value::Str(b)) => crate::text::caseless::cmp(a, b).then_with(|| a.cmp(b)),
                (Value::AbsTime(a), Value::AbsTime(b)) => a.seconds.cmp(&b.seconds),
                (Value::RelTime(a), Value::RelTime(b)) => a.total_cmp(b),
                (a, b) => match (a.as_real(), b.as_real()) {
                    (Some(a), Some(b)) => a.total_cmp(&b),
                    _ => std::cmp::Ordering::Equal,
                },
            })
        })
        .find(|order| order.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}
