//! Deserialization of structures from ads.

use bstr::ByteSlice;
use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::FieldError;
use crate::ad::{ClassAd, Value};
use crate::eval::Context;
use crate::eval_world::System;
use crate::syntax::Expr;

/// Deserializes a structure from the attributes of an ad, which are evaluated on the local machine; see
/// [`Context::read`].
///
/// # Errors
/// Fails if an attribute does not fit; the error names it.
pub fn from_ad<T: DeserializeOwned>(ad: &ClassAd) -> Result<T, FieldError> {
    Context::new(&System).my(ad).read()
}

impl Context<'_> {
    /// Deserializes a structure from the attributes of MY, evaluated in this context.
    ///
    /// # Errors
    /// Fails if an attribute does not fit; the error names it.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, FieldError> {
        let empty = ClassAd::new();
        let ad = self.my_ad().unwrap_or(&empty);
        T::deserialize(AdDeserializer { ad, context: *self })
    }
}

/// Deserializer of the attributes of an ad.
#[derive(Clone, Copy)]
struct AdDeserializer<'a> {
    ad: &'a ClassAd,
    context: Context<'a>,
}

impl AdDeserializer<'_> {
    fn value(&self, name: &[u8]) -> Value {
        self.context.eval_attr(name)
    }
}

impl<'de> Deserializer<'de> for AdDeserializer<'_> {
    type Error = FieldError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        let all = self.ad.flattened_chain();
        let mut names: Vec<String> = all.names().map(ToString::to_string).collect();
        names.sort_unstable();
        visitor.visit_map(FieldAccess { attributes: self, names: names.into_iter(), current_name: None })
    }

    /// Uses the field names of the structure in its own spelling.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let there = fields.iter().filter(|name| self.ad.contains(name)).map(ToString::to_string);
        let names: Vec<String> = there.collect();
        visitor.visit_map(FieldAccess { attributes: self, names: names.into_iter(), current_name: None })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

/// Access to one attribute after another.
struct FieldAccess<'a> {
    attributes: AdDeserializer<'a>,
    names: std::vec::IntoIter<String>,
    /// The attribute whose value is read next.
    current_name: Option<String>,
}

impl<'de> MapAccess<'de> for FieldAccess<'_> {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, FieldError> {
        self.current_name = self.names.next();
        let Some(name) = self.current_name.clone() else { return Ok(None) };
        let key: StringDeserializer<FieldError> = name.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, FieldError> {
        let name = self.current_name.take().unwrap_or_default();
        let value = self.attributes.value(name.as_bytes());
        seed.deserialize(ValueDeserializer { value, context: self.attributes.context })
            .map_err(|error| error.nested_in(name))
    }
}

/// Deserializer of a value.
struct ValueDeserializer<'a> {
    value: Value,
    context: Context<'a>,
}

impl ValueDeserializer<'_> {
    /// Returns the attributes of an ad that is the value or an element of it, evaluated in that ad alone.
    fn nested_attributes<'n>(&'n self, ad: &'n ClassAd) -> AdDeserializer<'n> {
        AdDeserializer {
            ad,
            context: Context::new(self.context.world()).strict(self.context.is_strict()).my(ad),
        }
    }
}

impl<'de> Deserializer<'de> for ValueDeserializer<'_> {
    type Error = FieldError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match &self.value {
            Value::Undefined => visitor.visit_unit(),
            Value::Error => Err(FieldError::custom("its value is error")),
            Value::Bool(truth) => visitor.visit_bool(*truth),
            Value::Int(integer) => visitor.visit_i64(*integer),
            Value::Real(real) | Value::RelTime(real) => visitor.visit_f64(*real),
            Value::AbsTime(time) => visitor.visit_i64(time.seconds),
            Value::Str(text) => match text.to_str() {
                Ok(text) => visitor.visit_str(text),
                Err(_) => visitor.visit_bytes(text),
            },
            Value::List(list) => {
                visitor.visit_seq(ListAccess { items: list.items(), next: 0, context: self.context })
            }
            Value::Ad(ad) => self.nested_attributes(ad).deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.value {
            Value::Undefined => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        match &self.value {
            Value::Ad(ad) => self.nested_attributes(ad).deserialize_struct(name, fields, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    /// A variant is a string with its name, or an ad of one attribute if it has content.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let context = self.context;
        let (name, content) = match &self.value {
            Value::Str(text) => (text.to_string(), None),
            Value::Ad(ad) if ad.len() == 1 => {
                let name = ad.names().next().map(ToString::to_string).unwrap_or_default();
                let value = self.nested_attributes(ad).value(name.as_bytes());
                (name, Some(ValueDeserializer { value, context }))
            }
            _ => return self.deserialize_any(visitor),
        };
        visitor.visit_enum(VariantName { name, content })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// Access to the elements of a list.
struct ListAccess<'l, 'a> {
    items: &'l [Expr],
    next: usize,
    context: Context<'a>,
}

impl<'de> SeqAccess<'de> for ListAccess<'_, '_> {
    type Error = FieldError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, FieldError> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        let value = self.context.eval(item);
        let place = format!("[{}]", self.next);
        self.next += 1;
        seed.deserialize(ValueDeserializer { value, context: self.context })
            .map(Some)
            .map_err(|error| error.nested_in(place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

/// Variant of an enum.
struct VariantName<'a> {
    name: String,
    content: Option<ValueDeserializer<'a>>,
}

impl<'de, 'a> EnumAccess<'de> for VariantName<'a> {
    type Error = FieldError;
    type Variant = VariantContent<'a>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, VariantContent<'a>), FieldError> {
        let name: StringDeserializer<FieldError> = self.name.clone().into_deserializer();
        Ok((seed.deserialize(name)?, VariantContent { name: self.name, content: self.content }))
    }
}

/// Content of a variant.
struct VariantContent<'a> {
    name: String,
    content: Option<ValueDeserializer<'a>>,
}

impl<'a> VariantContent<'a> {
    fn into_content(self) -> Result<ValueDeserializer<'a>, FieldError> {
        let name = self.name;
        self.content.ok_or_else(|| FieldError::custom(format!("'{name}' has to be an ad: [ {name} = ... ]")))
    }
}

impl<'de> VariantAccess<'de> for VariantContent<'_> {
    type Error = FieldError;

    fn unit_variant(self) -> Result<(), FieldError> {
        match self.content {
            None => Ok(()),
            Some(_) => Err(FieldError::custom(format!("'{}' is a string and no ad", self.name))),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, FieldError> {
        seed.deserialize(self.into_content()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, FieldError> {
        self.into_content()?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.into_content()?.deserialize_struct("", fields, visitor)
    }
}
