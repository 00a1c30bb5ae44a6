//! Structures from ads.

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
use crate::outside::System;
use crate::syntax::Expr;

/// A structure from the attributes of an ad, which are evaluated on the machine this runs on; see [`Context::read`].
///
/// # Errors
/// Names the attribute that does not fit.
pub fn from_ad<T: DeserializeOwned>(ad: &ClassAd) -> Result<T, FieldError> {
    Context::new(&System).my(ad).read()
}

impl Context<'_> {
    /// A structure from the attributes of MY, evaluated in this context.
    ///
    /// # Errors
    /// Names the attribute that does not fit.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, FieldError> {
        let empty = ClassAd::new();
        let ad = self.my_ad().unwrap_or(&empty);
        T::deserialize(Attributes { ad, context: *self })
    }
}

/// The attributes of an ad.
#[derive(Clone, Copy)]
struct Attributes<'a> {
    ad: &'a ClassAd,
    context: Context<'a>,
}

impl Attributes<'_> {
    fn value(&self, name: &[u8]) -> Value {
        self.context.eval_attr(name)
    }
}

impl<'de> Deserializer<'de> for Attributes<'_> {
    type Error = FieldError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        let all = self.ad.flattened_chain();
        let mut names: Vec<String> = all.names().map(ToString::to_string).collect();
        names.sort_unstable();
        visitor.visit_map(Fields { of: self, names: names.into_iter(), now: None })
    }

    /// The names that the structure asks for, as it spells them.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let there = fields.iter().filter(|name| self.ad.contains(name)).map(ToString::to_string);
        let names: Vec<String> = there.collect();
        visitor.visit_map(Fields { of: self, names: names.into_iter(), now: None })
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

/// Attribute after attribute.
struct Fields<'a> {
    of: Attributes<'a>,
    names: std::vec::IntoIter<String>,
    /// The one whose value comes next.
    now: Option<String>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, FieldError> {
        self.now = self.names.next();
        let Some(name) = self.now.clone() else { return Ok(None) };
        let key: StringDeserializer<FieldError> = name.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, FieldError> {
        let name = self.now.take().unwrap_or_default();
        let value = self.of.value(name.as_bytes());
        seed.deserialize(One { value, context: self.of.context }).map_err(|error| error.within(name))
    }
}

/// A value.
struct One<'a> {
    value: Value,
    context: Context<'a>,
}

impl One<'_> {
    /// The attributes of an ad that it is or holds: an ad by itself.
    fn of<'n>(&'n self, ad: &'n ClassAd) -> Attributes<'n> {
        Attributes { ad, context: Context::new(self.context.world()).strict(self.context.is_strict()).my(ad) }
    }
}

impl<'de> Deserializer<'de> for One<'_> {
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
                visitor.visit_seq(Items { items: list.items(), next: 0, context: self.context })
            }
            Value::Ad(ad) => self.of(ad).deserialize_any(visitor),
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
            Value::Ad(ad) => self.of(ad).deserialize_struct(name, fields, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    /// A variant is named by a string; one with content is an ad of one attribute.
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
                let value = self.of(ad).value(name.as_bytes());
                (name, Some(One { value, context }))
            }
            _ => return self.deserialize_any(visitor),
        };
        visitor.visit_enum(Variant { name, content })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// The elements of a list.
struct Items<'l, 'a> {
    items: &'l [Expr],
    next: usize,
    context: Context<'a>,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = FieldError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, FieldError> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        let value = self.context.eval(item);
        let place = format!("[{}]", self.next);
        self.next += 1;
        seed.deserialize(One { value, context: self.context }).map(Some).map_err(|error| error.within(place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

/// A variant of an enum.
struct Variant<'a> {
    name: String,
    content: Option<One<'a>>,
}

impl<'de, 'a> EnumAccess<'de> for Variant<'a> {
    type Error = FieldError;
    type Variant = Content<'a>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Content<'a>), FieldError> {
        let name: StringDeserializer<FieldError> = self.name.clone().into_deserializer();
        Ok((seed.deserialize(name)?, Content { name: self.name, content: self.content }))
    }
}

/// What a variant holds.
struct Content<'a> {
    name: String,
    content: Option<One<'a>>,
}

impl<'a> Content<'a> {
    fn get(self) -> Result<One<'a>, FieldError> {
        let name = self.name;
        self.content.ok_or_else(|| FieldError::custom(format!("'{name}' has to be an ad: [ {name} = ... ]")))
    }
}

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = FieldError;

    fn unit_variant(self) -> Result<(), FieldError> {
        match self.content {
            None => Ok(()),
            Some(_) => Err(FieldError::custom(format!("'{}' is a string and no ad", self.name))),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, FieldError> {
        seed.deserialize(self.get()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, FieldError> {
        self.get()?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.get()?.deserialize_struct("", fields, visitor)
    }
}
