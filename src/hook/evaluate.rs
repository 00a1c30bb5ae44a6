//! Evaluation of single attributes, as the protocol needs it.

use bstr::BString;

use crate::classad::{ClassAd, Expr, Value};
use crate::world::World;

/// The value of an expression with `ad` as MY.
pub(super) fn expr(expr: &Expr, _ad: &ClassAd, _world: &dyn World) -> Value {
    expr.as_literal().unwrap_or_default()
}

/// The value of an attribute of `ad`.
pub(super) fn attribute(name: &str, ad: &ClassAd, world: &dyn World) -> Value {
    ad.get(name).map_or(Value::Undefined, |value| expr(&value, ad, world))
}

/// The attribute if it is a string.
pub(super) fn string(name: &str, ad: &ClassAd, world: &dyn World) -> Option<BString> {
    match attribute(name, ad, world) {
        Value::Str(text) => Some(text),
        _ => None,
    }
}
