//! Deserialization of structures from ads.

use std::borrow::Cow;

use bstr::{BStr, ByteSlice};
use serde::de::value::{StrDeserializer, StringDeserializer};
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
use crate::text::caseless;

/// Deserializes a structure from the attributes of an ad, which are evaluated with the clock and time zone of the
/// local machine. [`Context::read`] evaluates them in another context.
///
/// ```
/// #[derive(serde::Deserialize)]
/// #[serde(rename_all = "PascalCase")]
/// struct Slot { name: String, cpus: u32, gpus: Option<u32> }
///
/// let ad: htc_classad::ClassAd = "[ Name = \"slot1\"; Cpus = 2 * 2 ]".parse().unwrap();
/// let slot: Slot = htc_classad::from_ad(&ad).unwrap();
/// assert_eq!((slot.name.as_str(), slot.cpus, slot.gpus), ("slot1", 4, None));
/// ```
///
/// # Errors
/// Fails if the value of an attribute cannot be converted to its field; the error names the attribute.
pub fn from_ad<T: DeserializeOwned>(ad: &ClassAd) -> Result<T, FieldError> {
    Context::new(&System).my(ad).read()
}

impl Context<'_> {
    /// Deserializes a structure from the attributes of MY, which are evaluated in this context.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Context, System};
    /// #[derive(serde::Deserialize)]
    /// struct Request { cpus: u32 }
    ///
    /// // Expressions are evaluated in the context, here with a slot as TARGET.
    /// let job: ClassAd = "[ cpus = TARGET.Cpus / 2 ]".parse().unwrap();
    /// let slot = ClassAd::from([("Cpus", 8)]);
    /// let request: Request = Context::new(&System).my(&job).target(&slot).read().unwrap();
    /// assert_eq!(request.cpus, 4);
    /// ```
    ///
    /// # Errors
    /// Fails if the value of an attribute cannot be converted to its field; the error names the attribute.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, FieldError> {
        let empty = ClassAd::new();
        let ad = self.my_ad().unwrap_or(&empty);
        T::deserialize(AdDeserializer { ad, context: *self, depth: 0 })
    }
}

/// Maximum nesting depth of lists and ads; a greater depth could overflow the stack.
const MAX_DEPTH: u32 = 128;

/// Deserializer of the attributes of an ad.
#[derive(Clone, Copy)]
struct AdDeserializer<'a> {
    ad: &'a ClassAd,
    context: Context<'a>,
    depth: u32,
}

impl<'a> AdDeserializer<'a> {
    fn value(&self, name: &[u8]) -> ValueDeserializer<'a> {
        ValueDeserializer { value: self.context.eval_attr(name), context: self.context, depth: self.depth }
    }

    /// Returns the names of the attributes of an ad and its chained parents. Names of fields come first, spelled
    /// as the fields are.
    fn names<'n>(ad: &'n ClassAd, fields: &'static [&'static str]) -> Vec<Cow<'n, str>> {
        let present = fields.iter().copied().filter(|field| ad.contains(field));
        let mut names: Vec<Cow<'n, str>> = present.map(Cow::Borrowed).collect();
        let is_field = |name: &BStr| fields.iter().any(|field| caseless::eq(field.as_bytes(), name));
        names.extend(ad.names().filter(|name| !is_field(name)).map(|name| name.to_str_lossy()));
        names
    }

    fn visit_fields<'de, V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let visit = |ad: &ClassAd| {
            let names = Self::names(ad, fields);
            let access = FieldAccess { attributes: self, names: names.into_iter(), current_name: None };
            visitor.visit_map(access)
        };
        match self.ad.parent() {
            None => visit(self.ad),
            Some(_) => visit(&self.ad.flattened_chain()),
        }
    }

    /// Visits an enum variant that has content: the only attribute of the ad has the name of the variant.
    fn visit_variant<'de, V: Visitor<'de>>(
        self,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let mut names = self.ad.names();
        let (Some(attribute), None) = (names.next(), names.next()) else {
            return Err(FieldError::custom("a variant with content is an ad with one attribute"));
        };
        let variant = variants.iter().find(|variant| caseless::eq(variant.as_bytes(), attribute));
        let name = variant.map_or_else(|| attribute.to_string(), ToString::to_string);
        visitor.visit_enum(VariantName { content: Some(self.value(attribute)), name })
    }
}

impl<'de> Deserializer<'de> for AdDeserializer<'_> {
    type Error = FieldError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.visit_fields(&[], visitor)
    }

    /// Visits the attributes that are fields of the structure, with the names as the structure spells them.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.visit_fields(fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.visit_variant(variants, visitor)
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

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier
    }
}

/// Access to the attributes of an ad one after the other.
struct FieldAccess<'a, 'n> {
    attributes: AdDeserializer<'a>,
    names: std::vec::IntoIter<Cow<'n, str>>,
    /// Name of the attribute whose value is read next, or `None`.
    current_name: Option<Cow<'n, str>>,
}

impl<'de> MapAccess<'de> for FieldAccess<'_, '_> {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, FieldError> {
        self.current_name = self.names.next();
        let Some(name) = &self.current_name else { return Ok(None) };
        seed.deserialize(KeyDeserializer(name)).map(Some).map_err(|error| error.nested_in(&**name))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, FieldError> {
        let name = self.current_name.take().unwrap_or_default();
        seed.deserialize(AttributeDeserializer { attributes: self.attributes, name: &name })
            .map_err(|error| error.nested_in(&*name))
    }
}

/// Deserializer of an attribute. The attribute is evaluated only if its value is needed.
struct AttributeDeserializer<'a, 'n> {
    attributes: AdDeserializer<'a>,
    name: &'n str,
}

impl<'a> AttributeDeserializer<'a, '_> {
    fn evaluated(&self) -> ValueDeserializer<'a> {
        self.attributes.value(self.name.as_bytes())
    }
}

impl<'de> Deserializer<'de> for AttributeDeserializer<'_, '_> {
    type Error = FieldError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.evaluated().deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.evaluated().deserialize_option(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.evaluated().deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.evaluated().deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.evaluated().deserialize_enum(name, variants, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier
    }
}

/// Deserializer of the name of an attribute, as the key of a map or the name of a field.
struct KeyDeserializer<'n>(&'n str);

/// Implements deserialization of keys that are not strings, by parsing the name. If the name cannot be parsed, the
/// visitor returns an error.
macro_rules! deserialize_parsed_key {
    ($($method:ident $visit:ident),*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
            match self.0.parse() {
                Ok(parsed) => visitor.$visit(parsed),
                Err(_) => visitor.visit_str(self.0),
            }
        }
    )* };
}

impl<'de> Deserializer<'de> for KeyDeserializer<'_> {
    type Error = FieldError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_str(self.0)
    }

    deserialize_parsed_key! {
        deserialize_bool visit_bool, deserialize_i8 visit_i8, deserialize_i16 visit_i16, deserialize_i32 visit_i32,
        deserialize_i64 visit_i64, deserialize_i128 visit_i128, deserialize_u8 visit_u8, deserialize_u16 visit_u16,
        deserialize_u32 visit_u32, deserialize_u64 visit_u64, deserialize_u128 visit_u128, deserialize_f32 visit_f32,
        deserialize_f64 visit_f64
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let variant = variants.iter().find(|variant| variant.eq_ignore_ascii_case(self.0));
        let name: StrDeserializer<'_, FieldError> = variant.map_or(self.0, |name| name).into_deserializer();
        visitor.visit_enum(name)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Deserializer of the value of an attribute.
struct ValueDeserializer<'a> {
    value: Value,
    context: Context<'a>,
    depth: u32,
}

impl ValueDeserializer<'_> {
    /// Returns a deserializer for an ad that is the value or an element of the value. The attributes are evaluated
    /// in this ad alone.
    fn nested_attributes<'n>(&'n self, ad: &'n ClassAd) -> Result<AdDeserializer<'n>, FieldError> {
        let context = Context::new(self.context.world()).strict(self.context.is_strict()).my(ad);
        Ok(AdDeserializer { ad, context, depth: self.next_depth()? })
    }

    fn next_depth(&self) -> Result<u32, FieldError> {
        match self.depth {
            MAX_DEPTH.. => Err(FieldError::custom("its lists and ads are nested too deeply")),
            depth => Ok(depth + 1),
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
                let depth = self.next_depth()?;
                let items = list.items();
                visitor.visit_seq(ListAccess { items, next: 0, context: self.context, depth })
            }
            Value::Ad(ad) => self.nested_attributes(ad)?.deserialize_any(visitor),
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
            Value::Ad(ad) => self.nested_attributes(ad)?.deserialize_struct(name, fields, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    /// Deserializes an enum variant: a string with the variant's name or, if the variant has content, an ad with
    /// one attribute.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        match &self.value {
            Value::Str(text) => visitor.visit_enum(VariantName { name: text.to_string(), content: None }),
            Value::Ad(ad) => self.nested_attributes(ad)?.deserialize_enum(name, variants, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier
    }
}

/// Access to the elements of a list one after the other.
struct ListAccess<'l, 'a> {
    items: &'l [Expr],
    next: usize,
    context: Context<'a>,
    depth: u32,
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
        seed.deserialize(ValueDeserializer { value, context: self.context, depth: self.depth })
            .map(Some)
            .map_err(|error| error.nested_in(place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

/// Access to the name of an enum variant.
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

/// Access to the content of an enum variant.
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
            Some(_) => Err(FieldError::custom(format!("'{}' is a string, not an ad", self.name))),
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
