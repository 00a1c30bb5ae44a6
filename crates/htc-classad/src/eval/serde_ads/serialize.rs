//! Serialization of structures to ads.

use std::sync::Arc;

use serde::Serialize;
use serde::ser::{
    Error, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::FieldError;
use crate::ad::{ClassAd, List, Value};
use crate::syntax::Expr;

/// Serializes the fields of a structure or the entries of a map to an ad. A field that is `None` gives no attribute, and
/// `()` gives `undefined`. A nested structure or map becomes a nested ad, an enum variant without content becomes a
/// string, and a variant with content becomes an ad with one attribute.
///
/// ```
/// use std::collections::BTreeMap;
/// let limits = BTreeMap::from([("Cpus", Some(4)), ("Gpus", None)]);
/// let ad = htc_classad::to_ad(&limits)?;
/// assert_eq!(ad.to_string(), "[ Cpus = 4; Gpus = undefined ]");
/// assert_eq!(htc_classad::from_ad::<BTreeMap<String, Option<i32>>>(&ad)?["Cpus"], Some(4));
/// # Ok::<(), htc_classad::FieldError>(())
/// ```
///
/// # Errors
/// Fails if an attribute has a value that ads cannot hold, or if the value is not a structure or map.
pub fn to_ad<T: Serialize + ?Sized>(value: &T) -> Result<ClassAd, FieldError> {
    match value.serialize(ValueSerializer)?.unwrap_or_default() {
        Value::Ad(ad) => Ok(Arc::unwrap_or_clone(ad)),
        other => Err(FieldError::custom(format!(
            "only a structure or a map can become an ad, not a value of type {}",
            other.type_name()
        ))),
    }
}

/// Serializer that converts any data to a value.
struct ValueSerializer;

impl Serializer for ValueSerializer {
    type Ok = Option<Value>;
    type Error = FieldError;
    type SerializeSeq = ListSerializer;
    type SerializeTuple = ListSerializer;
    type SerializeTupleStruct = ListSerializer;
    type SerializeTupleVariant = ListSerializer;
    type SerializeMap = AdSerializer;
    type SerializeStruct = AdSerializer;
    type SerializeStructVariant = AdSerializer;

    fn serialize_bool(self, value: bool) -> Result<Option<Value>, FieldError> {
        Ok(Some(value.into()))
    }
    fn serialize_i8(self, value: i8) -> Result<Option<Value>, FieldError> {
        Ok(Some(value.into()))
    }
    fn serialize_i16(self, value: i16) -> Result<Option<Value>, FieldError> {
        Ok(Some(value.into()))
    }
    fn serialize_i32(self, value: i32) -> Result<Option<Value>, FieldError> {
        Ok(Some(value.into()))
    }
    fn serialize_i64(self, value: i64) -> Result<Option<Value>, FieldError> {
        Ok(Some(value.into()))
    }
    fn serialize_u8(self, value: u8) -> Result<Option<Value>, FieldError> {
        Ok(Some(value.into()))
    }
    fn serialize_u16(self, value: u16) -> Result<Option<Value>, FieldError> {
        Ok(Some(value.into()))
    }
    fn serialize_u32(self, value: u32) -> Result<Option<Value>, FieldError> {
        Ok(Some(value.into()))
    }
    fn serialize_u64(self, value: u64) -> Result<Option<Value>, FieldError> {
        self.serialize_u128(value.into())
    }
    fn serialize_i128(self, value: i128) -> Result<Option<Value>, FieldError> {
        match i64::try_from(value) {
            Ok(value) => Ok(Some(Value::Int(value))),
            Err(_) if value < 0 => {
                Err(FieldError::custom(format!("{value} is less than the smallest integer of ads")))
            }
            Err(_) => Err(FieldError::custom(format!("{value} exceeds the largest integer of ClassAds"))),
        }
    }
    fn serialize_u128(self, value: u128) -> Result<Option<Value>, FieldError> {
        match i128::try_from(value) {
            Ok(value) => self.serialize_i128(value),
            Err(_) => Err(FieldError::custom(format!("{value} exceeds the largest integer of ClassAds"))),
        }
    }
    fn serialize_f32(self, value: f32) -> Result<Option<Value>, FieldError> {
        Ok(Some(f64::from(value).into()))
    }
    fn serialize_f64(self, value: f64) -> Result<Option<Value>, FieldError> {
        Ok(Some(value.into()))
    }
    fn serialize_char(self, value: char) -> Result<Option<Value>, FieldError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, value: &str) -> Result<Option<Value>, FieldError> {
        self.serialize_bytes(value.as_bytes())
    }
    fn serialize_bytes(self, value: &[u8]) -> Result<Option<Value>, FieldError> {
        if value.contains(&0) {
            return Err(FieldError::custom("a string of an ad cannot contain a NUL byte"));
        }
        Ok(Some(value.into()))
    }
    fn serialize_none(self) -> Result<Option<Value>, FieldError> {
        Ok(None)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Option<Value>, FieldError> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<Option<Value>, FieldError> {
        Ok(Some(Value::Undefined))
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<Option<Value>, FieldError> {
        Ok(Some(Value::Undefined))
    }
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Option<Value>, FieldError> {
        Ok(Some(variant.into()))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Option<Value>, FieldError> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Option<Value>, FieldError> {
        let value = value.serialize(ValueSerializer).map_err(|error| error.nested_in(variant))?;
        Ok(Some(single_attribute_ad(variant, value.unwrap_or_default())?))
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<ListSerializer, FieldError> {
        Ok(ListSerializer::default())
    }
    fn serialize_tuple(self, _: usize) -> Result<ListSerializer, FieldError> {
        Ok(ListSerializer::default())
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<ListSerializer, FieldError> {
        Ok(ListSerializer::default())
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<ListSerializer, FieldError> {
        Ok(ListSerializer { variant: Some(variant), ..ListSerializer::default() })
    }
    fn serialize_map(self, _: Option<usize>) -> Result<AdSerializer, FieldError> {
        Ok(AdSerializer::default())
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<AdSerializer, FieldError> {
        Ok(AdSerializer::default())
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<AdSerializer, FieldError> {
        Ok(AdSerializer { variant: Some(variant), ..AdSerializer::default() })
    }
}

/// Creates an ad with one attribute.
fn single_attribute_ad(name: &str, value: Value) -> Result<Value, FieldError> {
    let mut ad = ClassAd::new();
    ad.try_set(name, value).map_err(FieldError::custom)?;
    Ok(ad.into())
}

/// Serializer that builds a list.
#[derive(Default)]
struct ListSerializer {
    items: Vec<Expr>,
    variant: Option<&'static str>,
}

impl ListSerializer {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FieldError> {
        let value = value
            .serialize(ValueSerializer)
            .map_err(|error| error.nested_in(format!("[{}]", self.items.len())))?;
        self.items.push(Expr::literal(value.unwrap_or_default()));
        Ok(())
    }

    fn into_value(self) -> Result<Value, FieldError> {
        let list = Value::List(List::new(self.items));
        match self.variant {
            Some(variant) => single_attribute_ad(variant, list),
            None => Ok(list),
        }
    }
}

/// Serializer that builds an ad.
#[derive(Default)]
struct AdSerializer {
    ad: ClassAd,
    key: String,
    variant: Option<&'static str>,
}

impl AdSerializer {
    fn put_field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), FieldError> {
        match value.serialize(ValueSerializer).map_err(|error| error.nested_in(name))? {
            None => Ok(()),
            Some(value) => self.add_value(name, value),
        }
    }

    fn add_value(&mut self, name: &str, value: Value) -> Result<(), FieldError> {
        if self.ad.contains(name) {
            return Err(FieldError::custom("another name differs from it only in case").nested_in(name));
        }
        self.ad.try_set(name, value).map_err(FieldError::custom)
    }

    fn into_value(self) -> Result<Value, FieldError> {
        match self.variant {
            Some(variant) => single_attribute_ad(variant, self.ad.into()),
            None => Ok(self.ad.into()),
        }
    }
}

/// Implements several traits of serde, which build a list or an ad in the same way.
macro_rules! made_through {
    ($maker:ty: $($name:ident $method:ident),*) => { $(
        impl $name for $maker {
            type Ok = Option<Value>;
            type Error = FieldError;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FieldError> {
                self.push(value)
            }
            fn end(self) -> Result<Option<Value>, FieldError> {
                self.into_value().map(Some)
            }
        }
    )* };
    ($maker:ty; $($name:ident),*) => { $(
        impl $name for $maker {
            type Ok = Option<Value>;
            type Error = FieldError;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), FieldError> {
                self.put_field(name, value)
            }
            fn end(self) -> Result<Option<Value>, FieldError> {
                self.into_value().map(Some)
            }
        }
    )* };
}
made_through!(ListSerializer: SerializeSeq serialize_element, SerializeTuple serialize_element, SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field);
made_through!(AdSerializer; SerializeStruct, SerializeStructVariant);

impl SerializeMap for AdSerializer {
    type Ok = Option<Value>;
    type Error = FieldError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), FieldError> {
        self.key = match key.serialize(ValueSerializer)? {
            Some(Value::Str(name)) => name.to_string(),
            Some(Value::Int(number)) => number.to_string(),
            Some(Value::Bool(truth)) => truth.to_string(),
            Some(Value::Real(number)) => number.to_string(),
            _ => {
                return Err(FieldError::custom(
                    "the key of a map has to be a string or a number, which is the name of an attribute",
                ));
            }
        };
        Ok(())
    }

    /// Serializes the value of a map entry. `None` becomes `undefined`, so that the key is not lost.
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FieldError> {
        let name = std::mem::take(&mut self.key);
        let value = value.serialize(ValueSerializer).map_err(|error| error.nested_in(&*name))?;
        self.add_value(&name, value.unwrap_or_default())
    }

    fn end(self) -> Result<Option<Value>, FieldError> {
        self.into_value().map(Some)
    }
}
