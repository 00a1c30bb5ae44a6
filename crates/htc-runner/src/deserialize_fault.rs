//! Typed errors of deserialization.
//!
//! A deserializer reports errors as text. [`read_toml`] also returns a typed fault: its kind, the expected type, and
//! the value that was found.

use std::cell::Cell;
use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserialize, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use toml::de::{DeInteger, DeTable, DeValue};

/// Reason why a value cannot be deserialized.
#[derive(Clone, Debug, PartialEq)]
pub enum DeserializeFault {
    /// A table has an unknown key; `known` lists the valid keys.
    UnknownKey {
        /// Name of the unknown key.
        name: String,
        /// The valid keys of the table.
        known: &'static [&'static str],
    },
    /// A word is not one of the valid words.
    UnknownWord {
        /// The invalid word.
        word: String,
        /// The valid words.
        known: &'static [&'static str],
    },
    /// A table lacks the required key with this name.
    MissingKey(&'static str),
    /// A key is given twice under different names (aliases).
    DuplicateKey(&'static str),
    /// A value has the wrong type or is out of range.
    WrongType {
        /// The value that was found.
        found: FoundValue,
        /// The expected type.
        expected: ExpectedType,
    },
    /// The type's own check of the value failed with this message.
    Message(String),
}

/// Value that was found instead of a valid one.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundValue {
    /// `true` or `false`.
    Boolean(bool),
    /// An integer.
    Integer(i128),
    /// A real number.
    Real(f64),
    /// A string.
    Text(String),
    /// A list.
    List,
    /// A table; also used for a date, which the library represents as a table.
    Table,
    /// Any other value, as text.
    Other(String),
}

/// Type that a value should have.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedType {
    /// `true` or `false`.
    Boolean,
    /// An integer of 64 bits.
    Integer,
    /// An integer from 0 to a maximum.
    Unsigned {
        /// Maximum value.
        max: u64,
    },
    /// A number.
    Real,
    /// A string.
    Text,
    /// A list.
    List,
    /// A table with any keys.
    Map,
    /// A table that is read into the type with this name.
    Struct(&'static str),
    /// One of several words.
    Word(&'static [&'static str]),
    /// A number of at most 64 bits.
    SmallerNumber,
    /// Any other expectation, in the words of the type's own description.
    Described(String),
}

impl fmt::Display for DeserializeFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeserializeFault::UnknownKey { name, .. } => write!(out, "unknown key '{name}'"),
            DeserializeFault::UnknownWord { word, .. } => write!(out, "unknown word '{word}'"),
            DeserializeFault::MissingKey(name) => write!(out, "the key '{name}' is missing"),
            DeserializeFault::DuplicateKey(name) => write!(out, "'{name}' is given twice"),
            DeserializeFault::WrongType { .. } => out.write_str("a value has the wrong type"),
            DeserializeFault::Message(text) => out.write_str(text),
        }
    }
}

impl std::error::Error for DeserializeFault {}

impl de::Error for DeserializeFault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        DeserializeFault::Message(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        DeserializeFault::WrongType {
            found: FoundValue::from_unexpected(found),
            expected: ExpectedType::Described(expected.to_string()),
        }
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        DeserializeFault::UnknownWord { word: word.to_owned(), known }
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        DeserializeFault::UnknownKey { name: name.to_owned(), known }
    }

    fn missing_field(name: &'static str) -> Self {
        DeserializeFault::MissingKey(name)
    }

    fn duplicate_field(name: &'static str) -> Self {
        DeserializeFault::DuplicateKey(name)
    }
}

impl FoundValue {
    fn from_unexpected(found: Unexpected<'_>) -> Self {
        match found {
            Unexpected::Bool(value) => FoundValue::Boolean(value),
            Unexpected::Unsigned(number) => FoundValue::Integer(number.into()),
            Unexpected::Signed(number) => FoundValue::Integer(number.into()),
            Unexpected::Float(number) => FoundValue::Real(number),
            Unexpected::Str(text) => FoundValue::Text(text.to_owned()),
            Unexpected::Seq => FoundValue::List,
            Unexpected::Map => FoundValue::Table,
            other => FoundValue::Other(other.to_string()),
        }
    }
}

/// Reads a value from TOML.
///
/// # Errors
/// The text is not valid TOML, or its values do not fit the type. The first part of the error is the fault, or `None`
/// if the text is not valid TOML; the second part is the library's error, which has the position.
pub fn read_toml<T: for<'de> Deserialize<'de>>(
    text: &str,
) -> Result<T, (Option<DeserializeFault>, Box<toml::de::Error>)> {
    // The library's error has the position, but the fault only as text. Therefore a refused text is read again.
    toml::from_str(text).map_err(|error| {
        let whole = DeTable::parse(text).ok().map(|table| DeValue::Table(table.into_inner()));
        let fault = whole.and_then(|whole| T::deserialize(FaultDeserializer(&whole)).err());
        (fault, Box::new(error))
    })
}

/// Returns the names of the keys of the table from which a type is read.
pub fn keys_of<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    struct KeyCollector<'s>(&'s mut &'static [&'static str]);
    impl<'de> Deserializer<'de> for KeyCollector<'_> {
        type Error = DeserializeFault;
        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(de::Error::custom("not a table"))
        }
        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            keys: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Self::Error> {
            *self.0 = keys;
            Err(de::Error::custom("only the keys are wanted"))
        }
        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }
    let mut keys: &'static [&'static str] = &[];
    drop(T::deserialize(KeyCollector(&mut keys)));
    keys
}

/// Deserializer of a TOML value that reports typed faults.
struct FaultDeserializer<'v>(&'v DeValue<'v>);

impl FaultDeserializer<'_> {
    /// Passes the value to a visitor. If the visitor refuses the type of the value, the fault names the value and the
    /// expected type, or the visitor's own description if `expected` is `None`.
    fn visit<'de, V: Visitor<'de>>(
        self,
        visitor: V,
        expected: Option<ExpectedType>,
    ) -> Result<V::Value, DeserializeFault> {
        // If the visitor fails after reading a part of a list or table, the fault is that of the part.
        let has_parts = Cell::new(false);
        let mut own_expected = None;
        let (found, visited) = match self.0 {
            DeValue::Boolean(value) => (FoundValue::Boolean(*value), visitor.visit_bool(*value)),
            DeValue::String(text) => (FoundValue::Text(text.to_string()), visitor.visit_str(text)),
            DeValue::Integer(number) => match to_number(number) {
                None => (FoundValue::Other(number.to_string()), Err(de::Error::custom("too large"))),
                Some(number) => match i64::try_from(number) {
                    Ok(small) => (FoundValue::Integer(number), visitor.visit_i64(small)),
                    Err(_) => {
                        own_expected = Some(ExpectedType::SmallerNumber);
                        (FoundValue::Integer(number), visitor.visit_i128(number))
                    }
                },
            },
            DeValue::Float(number) => {
                let number = number.as_str().parse().unwrap_or(f64::NAN);
                (FoundValue::Real(number), visitor.visit_f64(number))
            }
            DeValue::Datetime(date) => {
                // Dates have a special representation, which only the library's deserializer passes to the visitor.
                let described = ExpectedType::Described((&visitor as &dyn Expected).to_string());
                let refused =
                    |_| DeserializeFault::WrongType { found: FoundValue::Table, expected: described };
                let visited = toml::Value::Datetime(*date).deserialize_any(visitor).map_err(refused);
                (FoundValue::Table, visited)
            }
            DeValue::Array(items) => {
                let parts = items.iter().inspect(|_| has_parts.set(true));
                let parts = parts.map(|item| FaultDeserializer(item.get_ref()));
                (FoundValue::List, visitor.visit_seq(SeqDeserializer::new(parts)))
            }
            DeValue::Table(table) => {
                let parts = table.iter().inspect(|_| has_parts.set(true));
                let parts = parts.map(|(key, part)| (&**key.get_ref(), FaultDeserializer(part.get_ref())));
                (FoundValue::Table, visitor.visit_map(MapDeserializer::new(parts)))
            }
        };
        visited.map_err(|fault| match fault {
            DeserializeFault::WrongType { expected: described, .. } if !has_parts.get() => {
                let expected = own_expected.or(expected).unwrap_or(described);
                DeserializeFault::WrongType { found, expected }
            }
            fault => fault,
        })
    }
}

/// Returns an integer as `i128`, or `None` if it has more than 128 bits.
fn to_number(number: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

impl<'de> IntoDeserializer<'de, DeserializeFault> for FaultDeserializer<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! visit_as {
    ($($method:ident $expected:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            self.visit(visitor, $expected)
        }
    )*};
}

impl<'de> Deserializer<'de> for FaultDeserializer<'_> {
    type Error = DeserializeFault;

    visit_as! {
        deserialize_any None;
        deserialize_bool Some(ExpectedType::Boolean);
        deserialize_i8 Some(ExpectedType::Integer);
        deserialize_i16 Some(ExpectedType::Integer);
        deserialize_i32 Some(ExpectedType::Integer);
        deserialize_i64 Some(ExpectedType::Integer);
        deserialize_u8 Some(ExpectedType::Unsigned { max: u8::MAX.into() });
        deserialize_u16 Some(ExpectedType::Unsigned { max: u16::MAX.into() });
        deserialize_u32 Some(ExpectedType::Unsigned { max: u32::MAX.into() });
        deserialize_u64 Some(ExpectedType::Unsigned { max: u64::MAX });
        deserialize_f32 Some(ExpectedType::Real);
        deserialize_f64 Some(ExpectedType::Real);
        deserialize_char Some(ExpectedType::Text);
        deserialize_str Some(ExpectedType::Text);
        deserialize_string Some(ExpectedType::Text);
        deserialize_bytes None;
        deserialize_byte_buf None;
        deserialize_unit None;
        deserialize_seq Some(ExpectedType::List);
        deserialize_map Some(ExpectedType::Map);
        deserialize_identifier None;
        deserialize_ignored_any None;
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.visit(visitor, None)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Self::Error> {
        self.visit(visitor, Some(ExpectedType::List))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.visit(visitor, Some(ExpectedType::List))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.visit(visitor, Some(ExpectedType::Struct(name)))
    }

    /// An enum is written as a word.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self.0 {
            DeValue::String(word) => visitor.visit_enum((&**word).into_deserializer()),
            // A visitor for an enum accepts only words, so any other value is refused with the list of words.
            _ => self.visit(visitor, Some(ExpectedType::Word(words))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only read by the deserializer")]
    struct Table {
        #[serde(alias = "number")]
        count: Option<u32>,
        word: Option<Choice>,
        texts: Option<Vec<String>>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Choice {
        Left,
        Right,
    }

    fn fault(text: &str) -> DeserializeFault {
        read_toml::<Table>(text).unwrap_err().0.unwrap()
    }

    #[test]
    fn faults_contain_the_value_and_the_expected_type() {
        let wrong = |found, expected| DeserializeFault::WrongType { found, expected };
        assert_eq!(keys_of::<Table>(), ["count", "number", "word", "texts"]);
        let DeserializeFault::UnknownKey { name, known } = fault("cuont = 1") else { panic!() };
        assert_eq!((name.as_str(), known), ("cuont", keys_of::<Table>()));
        let max = u64::from(u32::MAX);
        assert_eq!(fault("count = -1"), wrong(FoundValue::Integer(-1), ExpectedType::Unsigned { max }));
        assert_eq!(fault("texts = 'x'"), wrong(FoundValue::Text("x".into()), ExpectedType::List));
        assert_eq!(fault("texts = [[]]"), wrong(FoundValue::List, ExpectedType::Text));
        assert_eq!(fault("count = 1\nnumber = 2"), DeserializeFault::DuplicateKey("count"));
        let DeserializeFault::UnknownWord { word, known } = fault("word = 'up'") else { panic!() };
        assert_eq!((word.as_str(), known), ("up", &["left", "right"][..]));
        let DeserializeFault::WrongType { expected, .. } = fault("word = [1]") else { panic!() };
        assert_eq!(expected, ExpectedType::Word(&["left", "right"]));
    }

    #[test]
    fn an_unreadable_text_has_no_fault() {
        assert_eq!(read_toml::<Table>("[").unwrap_err().0, None);
    }

    #[test]
    fn a_fault_in_toml_has_its_location() {
        let (fault, error) = read_toml::<Table>("texts = []\ncuont = 1\n").unwrap_err();
        assert!(matches!(fault, Some(DeserializeFault::UnknownKey { .. })), "{fault:?}");
        assert_eq!(error.span(), Some(11..16));
    }
}
