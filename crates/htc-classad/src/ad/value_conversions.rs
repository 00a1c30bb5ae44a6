//! Conversions between values and Rust's types.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};

use super::ClassAd;
use super::value::{List, Value};
use crate::syntax::{AbsTime, Expr};

/// Type that can be the element of a `Vec`, array or slice that is converted to a list.
///
/// All types that can be converted to a value implement this trait, except `u8`: a sequence of bytes becomes
/// a string, not a list of numbers.
///
/// ```
/// use htc_classad::Value;
/// assert_eq!(Value::from(vec![1, 2]).to_string(), "{ 1,2 }");
/// assert_eq!(Value::from(["a", "b"]).to_string(), "{ \"a\",\"b\" }");
/// assert_eq!(Value::from(vec![b'a', b'b']).to_string(), "\"ab\"");
/// ```
pub trait ListElement: Into<Value> {}

/// Implements `From` for types that can also be elements of lists.
macro_rules! values_from {
    ($($t:ty: $value:ident => $made:expr),* $(,)?) => { $(
        impl From<$t> for Value {
            fn from($value: $t) -> Self {
                $made
            }
        }
        impl ListElement for $t {}
    )* };
}

values_from! {
    bool: truth => Value::Bool(truth),
    i8: number => Value::Int(number.into()),
    i16: number => Value::Int(number.into()),
    i32: number => Value::Int(number.into()),
    i64: number => Value::Int(number),
    u16: number => Value::Int(number.into()),
    u32: number => Value::Int(number.into()),
    f32: number => Value::Real(number.into()),
    f64: number => Value::Real(number),
    char: text => Value::Str(String::from(text).into()),
    &str: text => Value::Str(text.into()),
    &String: text => Value::Str(text.as_str().into()),
    String: text => Value::Str(text.into()),
    Cow<'_, str>: text => Value::Str(text.into_owned().into()),
    &[u8]: text => Value::Str(text.into()),
    &BStr: text => Value::Str(text.to_owned()),
    &BString: text => Value::Str(text.clone()),
    BString: text => Value::Str(text),
    AbsTime: time => Value::AbsTime(time),
    List: list => Value::List(list),
    ClassAd: ad => Value::Ad(Arc::new(ad)),
    &ClassAd: ad => Value::Ad(Arc::new(ad.clone())),
    Arc<ClassAd>: ad => Value::Ad(ad),
    &Value: value => value.clone(),
}

impl ListElement for Value {}

impl From<u8> for Value {
    fn from(number: u8) -> Self {
        Value::Int(number.into())
    }
}

/// Implements conversions for integer types whose values may not fit in a signed 64-bit integer.
macro_rules! values_from_wide_integers {
    ($($t:ty),*) => { $(
        /// Converts to an integer if the number fits in a signed 64-bit integer, and otherwise to the nearest real.
        impl From<$t> for Value {
            fn from(number: $t) -> Self {
                i64::try_from(number).map_or(Value::Real(number as f64), Value::Int)
            }
        }
        impl ListElement for $t {}
    )* };
}
values_from_wide_integers!(u64, usize, isize, i128, u128);

/// Converts `None` to `undefined`, and any other value like its content.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Undefined, Into::into)
    }
}

impl<T: Into<Value>> ListElement for Option<T> {}

/// Converts bytes to a string.
impl From<Vec<u8>> for Value {
    fn from(text: Vec<u8>) -> Self {
        Value::Str(text.into())
    }
}

impl ListElement for Vec<u8> {}

/// Converts bytes to a string.
impl<const N: usize> From<&[u8; N]> for Value {
    fn from(text: &[u8; N]) -> Self {
        Value::Str(text.as_slice().into())
    }
}

impl<const N: usize> ListElement for &[u8; N] {}

impl<T: ListElement> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Value::List(items.into_iter().collect())
    }
}

impl<T: ListElement> ListElement for Vec<T> {}

impl<T: ListElement + Clone> From<&[T]> for Value {
    fn from(items: &[T]) -> Self {
        Value::List(items.iter().cloned().collect())
    }
}

impl<T: ListElement + Clone> From<&Vec<T>> for Value {
    fn from(items: &Vec<T>) -> Self {
        Value::from(items.as_slice())
    }
}

impl<T: ListElement, const N: usize> From<[T; N]> for Value {
    fn from(items: [T; N]) -> Self {
        Value::List(items.into_iter().collect())
    }
}

impl<T: ListElement + Clone, const N: usize> From<&[T; N]> for Value {
    fn from(items: &[T; N]) -> Self {
        Value::from(items.as_slice())
    }
}

/// Error for a value that cannot be converted, because it has the wrong type or is out of range.
///
/// ```
/// use htc_classad::Value;
/// let error = u8::try_from(Value::from(300)).unwrap_err();
/// assert_eq!(error.to_string(), "expected an integer from 0 to 255, found integer 300");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ValueTypeError {
    expected: Cow<'static, str>,
    value: Value,
}

impl ValueTypeError {
    fn new(expected: impl Into<Cow<'static, str>>, value: Value) -> Self {
        ValueTypeError { expected: expected.into(), value }
    }

    /// Returns the value that could not be converted.
    ///
    /// ```
    /// use htc_classad::Value;
    /// let error = bool::try_from(Value::from("yes")).unwrap_err();
    /// assert_eq!(error.value(), "yes");
    /// assert_eq!(error.into_value(), Value::from("yes"));
    /// ```
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the value that could not be converted.
    pub fn into_value(self) -> Value {
        self.value
    }
}

impl fmt::Display for ValueTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found ", self.expected)?;
        match &self.value {
            Value::Undefined | Value::Error => f.write_str(self.value.type_name()),
            value => write!(f, "{} {value}", value.type_name()),
        }
    }
}

impl std::error::Error for ValueTypeError {}

/// Implements `TryFrom` for a value and for a reference to a value.
macro_rules! try_from_value {
    ($($t:ty, $expected:expr, $value:ident: $pattern:pat => $made:expr;)*) => { $(
        impl TryFrom<Value> for $t {
            type Error = ValueTypeError;
            fn try_from($value: Value) -> Result<Self, ValueTypeError> {
                match $value {
                    $pattern => Ok($made),
                    other => Err(ValueTypeError::new($expected, other)),
                }
            }
        }
        impl TryFrom<&Value> for $t {
            type Error = ValueTypeError;
            fn try_from(value: &Value) -> Result<Self, ValueTypeError> {
                <$t>::try_from(value.clone())
            }
        }
    )* };
}

try_from_value! {
    bool, "a truth value", value: Value::Bool(truth) => truth;
    BString, "a string", value: Value::Str(text) => text;
    Vec<u8>, "a string", value: Value::Str(text) => text.into();
    List, "a list", value: Value::List(list) => list;
    Arc<ClassAd>, "an ad", value: Value::Ad(ad) => ad;
    ClassAd, "an ad", value: Value::Ad(ad) => Arc::unwrap_or_clone(ad);
    AbsTime, "an absolute time", value: Value::AbsTime(time) => time;
}

/// Implements `TryFrom` for integers; a value out of range is an error.
macro_rules! integers_try_from_value {
    ($($t:ty),*) => { $(
        impl TryFrom<Value> for $t {
            type Error = ValueTypeError;
            fn try_from(value: Value) -> Result<Self, ValueTypeError> {
                <$t>::try_from(&value)
            }
        }
        impl TryFrom<&Value> for $t {
            type Error = ValueTypeError;
            fn try_from(value: &Value) -> Result<Self, ValueTypeError> {
                let number = match value {
                    Value::Int(number) => <$t>::try_from(*number).ok(),
                    _ => return Err(ValueTypeError::new("an integer", value.clone())),
                };
                number.ok_or_else(|| {
                    let range = format!("an integer from {} to {}", <$t>::MIN, <$t>::MAX);
                    ValueTypeError::new(range, value.clone())
                })
            }
        }
    )* };
}
integers_try_from_value!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl<T: ListElement + TryFrom<Value, Error = ValueTypeError>> TryFrom<Value> for Vec<T> {
    type Error = ValueTypeError;

    /// Converts a list if all its elements are literals of the required type.
    fn try_from(value: Value) -> Result<Self, ValueTypeError> {
        let Value::List(list) = value else { return Err(ValueTypeError::new("a list", value)) };
        let literal = |item: &Expr| item.as_literal();
        let Some(items) = list.iter().map(literal).collect::<Option<Vec<Value>>>() else {
            return Err(ValueTypeError::new("a list of literals", Value::List(list)));
        };
        items.into_iter().map(T::try_from).collect()
    }
}

impl TryFrom<&Value> for f64 {
    type Error = ValueTypeError;

    /// Converts a real, an integer or a duration in seconds.
    fn try_from(value: &Value) -> Result<Self, ValueTypeError> {
        match value {
            Value::Real(number) | Value::RelTime(number) => Ok(*number),
            Value::Int(number) => Ok(*number as f64),
            _ => Err(ValueTypeError::new("a number", value.clone())),
        }
    }
}

impl TryFrom<Value> for f64 {
    type Error = ValueTypeError;

    fn try_from(value: Value) -> Result<Self, ValueTypeError> {
        f64::try_from(&value)
    }
}

impl TryFrom<Value> for String {
    type Error = ValueTypeError;

    /// Converts a string that is valid UTF-8.
    fn try_from(value: Value) -> Result<Self, ValueTypeError> {
        match value {
            Value::Str(text) => String::from_utf8(text.into()).map_err(|error| {
                ValueTypeError::new("a string in UTF-8", Value::Str(error.into_bytes().into()))
            }),
            other => Err(ValueTypeError::new("a string", other)),
        }
    }
}

impl TryFrom<&Value> for String {
    type Error = ValueTypeError;

    fn try_from(value: &Value) -> Result<Self, ValueTypeError> {
        <&str>::try_from(value).map(str::to_owned)
    }
}

impl<'v> TryFrom<&'v Value> for &'v str {
    type Error = ValueTypeError;

    /// Converts a string that is valid UTF-8.
    fn try_from(value: &'v Value) -> Result<Self, ValueTypeError> {
        let text = value.as_str().ok_or_else(|| ValueTypeError::new("a string", value.clone()))?;
        text.to_str().map_err(|_| ValueTypeError::new("a string in UTF-8", value.clone()))
    }
}

/// Implements comparisons with plain Rust values. Values of different types are never equal, even if they are
/// numerically equal.
macro_rules! equal_to_value {
    ($($t:ty, $other:ident: $pattern:pat => $equal:expr;)*) => { $(
        impl PartialEq<$t> for Value {
            fn eq(&self, $other: &$t) -> bool {
                match self {
                    $pattern => $equal,
                    _ => false,
                }
            }
        }
    )* };
}

equal_to_value! {
    bool, other: Value::Bool(truth) => truth == other;
    i32, other: Value::Int(integer) => *integer == i64::from(*other);
    i64, other: Value::Int(integer) => integer == other;
    u32, other: Value::Int(integer) => *integer == i64::from(*other);
    u64, other: Value::Int(integer) => u64::try_from(*integer) == Ok(*other);
    f64, other: Value::Real(real) => real == other;
}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        self.as_str().is_some_and(|text| text == other)
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: impl Into<Value>) -> String {
        value.into().to_string()
    }

    #[test]
    fn numbers_in_a_vec_are_a_list_whatever_type_is_inferred() {
        assert_eq!(text(vec![1, 2]), "{ 1,2 }");
        assert_eq!(text([1, 2]), "{ 1,2 }");
        assert_eq!(text(&[1, 2]), "{ 1,2 }");
        assert_eq!(text(&[1, 2][..]), "{ 1,2 }");
        assert_eq!(text(vec![1_u64, u64::MAX]), "{ 1,1.844674407370955E+19 }");
        assert_eq!(text(vec![vec![1], vec![]]), "{ { 1 },{  } }");
        assert_eq!(text(vec![Some("x"), None]), "{ \"x\",undefined }");
        assert_eq!(text(&vec!["x".to_owned()]), "{ \"x\" }");
    }

    #[test]
    fn bytes_become_a_string() {
        assert_eq!(text(b"ab"), "\"ab\"");
        assert_eq!(text(&b"ab"[..]), "\"ab\"");
        assert_eq!(text(vec![97_u8, 98]), "\"ab\"");
        assert_eq!(text(vec![b"ab", b"cd"]), "{ \"ab\",\"cd\" }");
    }

    #[test]
    fn integers_of_every_size_survive_a_round_trip() {
        macro_rules! check {
            ($($t:ty),*) => { $(
                for number in [<$t>::MIN, 0, 1, <$t>::MAX] {
                    let value = Value::from(number);
                    match i64::try_from(number) {
                        Ok(same) => {
                            assert_eq!(value, Value::Int(same));
                            assert_eq!(<$t>::try_from(value), Ok(number));
                        }
                        Err(_) => assert_eq!(value, Value::Real(number as f64)),
                    }
                }
            )* };
        }
        check!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);
        assert_eq!(Value::from(i128::MIN), Value::Real(i128::MIN as f64));
        assert_eq!(Value::from(u128::MAX), Value::Real(u128::MAX as f64));
    }

    #[test]
    fn a_value_of_another_type_is_named_in_the_error() {
        let message = |result: Result<i64, ValueTypeError>| result.unwrap_err().to_string();
        assert_eq!(message(Value::from("x").try_into()), "expected an integer, found string \"x\"");
        assert_eq!(message(Value::Undefined.try_into()), "expected an integer, found undefined");
        assert_eq!(
            message(Value::from(2.5).try_into()),
            "expected an integer, found real 2.500000000000000E+00"
        );
        let bytes = Value::from(&b"\xff"[..]);
        assert_eq!(String::try_from(bytes.clone()).unwrap_err().into_value(), bytes);
        assert_eq!(f64::try_from(Value::from(2)), Ok(2.0));
        assert_eq!(Vec::<u8>::try_from(Value::from("x")), Ok(b"x".to_vec()));
        assert!(bool::try_from(Value::from(1)).is_err());
        assert_eq!(Vec::<i64>::try_from(Value::from([1, 2])), Ok(vec![1, 2]));
        assert!(Vec::<i64>::try_from(Value::from([Some(1), None])).is_err());
    }

    #[test]
    fn values_compare_with_plain_ones_of_the_same_type() {
        let (number, text, truth) = (Value::from(4), Value::from("x"), Value::from(true));
        assert!(number == 4 && number != 4.0 && number == 4_u64 && Value::from(-1) != u64::MAX);
        assert!(text == "x" && text != "X" && truth == true);
    }
}
