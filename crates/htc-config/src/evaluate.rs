//! Values of parameters as numbers, truth values and strings: literals first, then ClassAd expressions
//! (`param_functions.cpp`, `string_is_long_param` and its sisters).

use bstr::BString;

use htc_base::text::caseless;
use htc_base::text::number::{integer_prefix, real_prefix};
use htc_base::text::space::{trim, trim_end};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};

/// A whole number: digits with white space around them, else an expression that gives an integer, a real (cut) or a
/// truth value.
pub fn to_integer(text: &[u8], world: &dyn World) -> Option<i64> {
    parse_integer(text, world).into_value()
}

/// A real: what C's `strtod` reads, else an expression that gives a number or a truth value.
pub fn to_real(text: &[u8], world: &dyn World) -> Option<f64> {
    parse_real(text, world).into_value()
}

/// A truth value: `true`, `false`, `1` or `0`, else an expression that gives a truth value or a number.
pub(crate) fn to_boolean(text: &[u8], world: &dyn World) -> Option<bool> {
    match &trim_end(text).to_ascii_lowercase()[..] {
        b"true" | b"1" => Some(true),
        b"false" | b"0" => Some(false),
        _ => evaluate_text(text, None, world)?.truth(),
    }
}

/// What a text that is no truth value still counts as, where the reference goes on with it: the one that it begins with
/// (`string_is_boolean_param`, which has its result by then).
pub(crate) fn boolean_prefix(text: &[u8]) -> Option<bool> {
    let words: [(&[u8], bool); 4] = [(b"true", true), (b"1", true), (b"false", false), (b"0", false)];
    words.into_iter().find(|(word, _)| caseless::starts_with(text, word)).map(|(_, value)| value)
}

/// Numeric reading of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NumberResult<T> {
    /// This number.
    Value(T),
    /// Neither a number nor an expression.
    Unparsable,
    /// An expression that gives no number.
    NotNumber,
}

impl<T> NumberResult<T> {
    fn into_value(self) -> Option<T> {
        match self {
            NumberResult::Value(value) => Some(value),
            NumberResult::Unparsable | NumberResult::NotNumber => None,
        }
    }
}

/// As [`to_integer`], and tells what is wrong.
pub(crate) fn parse_integer(text: &[u8], world: &dyn World) -> NumberResult<i64> {
    parse_integer_in(text, &Context::new(world).my(&ClassAd::new()), world)
}

/// The same of an expression that knows ads.
pub fn parse_integer_in(text: &[u8], context: &Context<'_>, world: &dyn World) -> NumberResult<i64> {
    if let Some((value, end)) = integer_prefix(text)
        && trim(&text[end..]).is_empty()
    {
        return NumberResult::Value(value);
    }
    let Ok(expression) = Expr::parse_with(text, Dialect::of_world(world).old()) else {
        return NumberResult::Unparsable;
    };
    context.eval(&expression).as_int().map_or(NumberResult::NotNumber, NumberResult::Value)
}

/// As [`to_real`], and tells what is wrong.
pub(crate) fn parse_real(text: &[u8], world: &dyn World) -> NumberResult<f64> {
    match real_prefix(text) {
        Some((value, end)) if trim(&text[end..]).is_empty() => NumberResult::Value(value),
        _ => evaluate_number(text, world, |value| match value {
            Value::Int(value) => Some(*value as f64),
            Value::Real(value) => Some(*value),
            Value::Bool(value) => Some(f64::from(u8::from(*value))),
            _ => None,
        }),
    }
}

fn evaluate_number<T>(
    text: &[u8],
    world: &dyn World,
    number: impl Fn(&Value) -> Option<T>,
) -> NumberResult<T> {
    match evaluate_text(text, None, world) {
        None => NumberResult::Unparsable,
        Some(value) => number(&value).map_or(NumberResult::NotNumber, NumberResult::Value),
    }
}

/// The value of an expression in an ad, an empty one if none is given; `None` if it does not parse.
fn evaluate_text(text: &[u8], ad: Option<&ClassAd>, world: &dyn World) -> Option<Value> {
    Some(evaluate_expr(&Expr::parse_with(text, Dialect::of_world(world).old()).ok()?, ad, world))
}

fn evaluate_expr(expr: &Expr, ad: Option<&ClassAd>, world: &dyn World) -> Value {
    let empty;
    let ad = match ad {
        Some(ad) => ad,
        None => {
            empty = ClassAd::new();
            &empty
        }
    };
    Context::new(world).my(ad).eval(expr)
}

/// The string that an expression gives; `None` if it is no expression or gives something else.
pub(crate) fn to_string(text: &[u8], world: &dyn World) -> Option<BString> {
    evaluate_text(text, None, world)?.as_str().map(BString::from)
}

/// The text of what an expression gives, strings without quotes; `None` if it is no expression.
pub(crate) fn to_text(text: &[u8], ad: Option<&ClassAd>, world: &dyn World) -> Option<BString> {
    let value = evaluate_text(text, ad, world)?;
    Some(value.as_str().map_or_else(|| value.unparse(), BString::from))
}

/// The truth value of the expression that a text begins with, in an ad; `None` if it gives none.
pub(crate) fn evaluate_leading_truth(text: &[u8], ad: &ClassAd, world: &dyn World) -> Option<bool> {
    let (expr, _) = Expr::parse_prefix(text, Dialect::of_world(world).old()).ok()?;
    evaluate_expr(&expr, Some(ad), world).truth()
}
