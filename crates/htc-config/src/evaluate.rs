//! Values of parameters as numbers, booleans and strings: literals first, then ClassAd expressions
//! (`param_functions.cpp`, `string_is_long_param` and similar functions).

use bstr::BString;

use htc_base::text::caseless;
use htc_base::text::number::{integer_prefix, real_prefix};
use htc_base::text::space::{trim, trim_end};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};

/// Evaluates a text as an integer: digits with optional white space around them, or an expression whose value
/// is an integer, a real (truncated) or a boolean.
pub fn to_integer(text: &[u8], world: &dyn World) -> Option<i64> {
    parse_integer(text, world).into_value()
}

/// Evaluates a text as a real: a text that C's `strtod` parses, or an expression whose value is a number or a
/// boolean.
pub fn to_real(text: &[u8], world: &dyn World) -> Option<f64> {
    parse_real(text, world).into_value()
}

/// Evaluates a text as a boolean: `true`, `false`, `1` or `0`, or an expression whose value is a boolean or a
/// number.
pub(crate) fn to_boolean(text: &[u8], world: &dyn World) -> Option<bool> {
    match &trim_end(text).to_ascii_lowercase()[..] {
        b"true" | b"1" => Some(true),
        b"false" | b"0" => Some(false),
        _ => evaluate_text(text, None, world)?.truth(),
    }
}

/// Returns the boolean at the beginning of a text that is not a valid boolean. The reference uses it although the text
/// is invalid, because `string_is_boolean_param` stores its result before it finds the error.
pub(crate) fn boolean_prefix(text: &[u8]) -> Option<bool> {
    let words: [(&[u8], bool); 4] = [(b"true", true), (b"1", true), (b"false", false), (b"0", false)];
    words.into_iter().find(|(word, _)| caseless::starts_with(text, word)).map(|(_, value)| value)
}

/// Result of reading a text as a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NumberResult<T> {
    /// The text is a number, or an expression whose value is a number.
    Value(T),
    /// The text is neither a number nor an expression.
    Unparsable,
    /// The text is an expression whose value is not a number.
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

/// Does the same as [`to_integer`], but distinguishes the kinds of errors.
pub(crate) fn parse_integer(text: &[u8], world: &dyn World) -> NumberResult<i64> {
    parse_integer_in_context(text, &Context::new(world).my(&ClassAd::new()), world)
}

/// Does the same as [`to_integer`] in a context of ads, and distinguishes the kinds of errors.
pub fn parse_integer_in_context(text: &[u8], context: &Context<'_>, world: &dyn World) -> NumberResult<i64> {
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

/// Does the same as [`to_real`], but distinguishes the kinds of errors.
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

/// Returns the value of an expression in an ad (by default an empty one), or `None` if it does not parse.
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

/// Returns the string value of an expression, or `None` if it does not parse or its value is not a string.
pub(crate) fn to_string(text: &[u8], world: &dyn World) -> Option<BString> {
    evaluate_text(text, None, world)?.as_str().map(BString::from)
}

/// Returns the value of an expression as text, strings without quotes, or `None` if it does not parse.
pub(crate) fn to_text(text: &[u8], ad: Option<&ClassAd>, world: &dyn World) -> Option<BString> {
    let value = evaluate_text(text, ad, world)?;
    Some(value.as_str().map_or_else(|| value.unparse(), BString::from))
}

/// Returns the boolean value, in an ad, of the expression at the beginning of a text, or `None` if it has
/// none.
pub(crate) fn evaluate_leading_truth(text: &[u8], ad: &ClassAd, world: &dyn World) -> Option<bool> {
    let (expr, _) = Expr::parse_prefix(text, Dialect::of_world(world).old()).ok()?;
    evaluate_expr(&expr, Some(ad), world).truth()
}
