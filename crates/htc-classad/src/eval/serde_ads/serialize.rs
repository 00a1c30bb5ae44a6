//! Serialization of structures to ads.

use serde::Serialize;
use serde::ser::{
    Error, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::FieldError;
use crate::ad::{ClassAd, List, Value};
use crate::syntax::Expr;

/// Serializes the fields of a structure or the entries of a map to an ad. `None` and `()` produce no attribute; a
/// nested structure or map becomes a nested ad, and a variant without content a string.
///
/// # Errors
/// Fails if an attribute has a value that ads cannot hold, or if the value is not a structure or map.
pub fn to_ad<T: Serialize + ?Sized>(value: &T) -> Result<ClassAd, FieldError> {
    match value.serialize(ValueSerializer)? {
        Value::Ad(ad) => Ok(ClassAd::clone(&ad)),
        other => Err(FieldError::custom(format!(
            "an ad is made of a structure or a map, not of a {}",
            other.type_name()
        ))),
    }
}

/// Serializer of any value.
struct ValueSerializer;

impl Serializer for ValueSerializer {
    type Ok = Value;
    type Error = FieldError;
    type SerializeSeq = ListSerializer;
    type SerializeTuple = ListSerializer;
    type SerializeTupleStruct = ListSerializer;
    type SerializeTupleVariant = ListSerializer;
    type SerializeMap = AdSerializer;
    type SerializeStruct = AdSerializer;
    type SerializeStructVariant = AdSerializer;

    fn serialize_bool(self, value: bool) -> Result<Value, FieldError> {
        Ok(value.into())
    }
    fn serialize_i8(self, value: i8) -> Result<Value, FieldError> {
        Ok(value.into())
    }
    fn serialize_i16(self, value: i16) -> Result<Value, FieldError> {
        Ok(value.into())
    }
    fn serialize_i32(self, value: i32) -> Result<Value, FieldError> {
        Ok(value.into())
    }
    fn serialize_i64(self, value: i64) -> Result<Value, FieldError> {
        Ok(value.into())
    }
    fn serialize_u8(self, value: u8) -> Result<Value, FieldError> {
        Ok(value.into())
    }
    fn serialize_u16(self, value: u16) -> Result<Value, FieldError> {
        Ok(value.into())
    }
    fn serialize_u32(self, value: u32) -> Result<Value, FieldError> {
        Ok(value.into())
    }
    fn serialize_u64(self, value: u64) -> Result<Value, FieldError> {
        let fits = i64::try_from(value);
        fits.map(Value::Int)
            .map_err(|_| FieldError::custom(format!("{value} is more than the largest integer of ads")))
    }
    fn serialize_f32(self, value: f32) -> Result<Value, FieldError> {
        Ok(f64::from(value).into())
    }
    fn serialize_f64(self, value: f64) -> Result<Value, FieldError> {
        Ok(value.into())
    }
    fn serialize_char(self, value: char) -> Result<Value, FieldError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, value: &str) -> Result<Value, FieldError> {
        self.serialize_bytes(value.as_bytes())
    }
    fn serialize_bytes(self, value: &[u8]) -> Result<Value, FieldError> {
        if value.contains(&0) {
            return Err(FieldError::custom("no string of an ad has a NUL byte"));
        }
        Ok(value.into())
    }
    fn serialize_none(self) -> Result<Value, FieldError> {
        Ok(Value::Undefined)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, FieldError> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<Value, FieldError> {
        Ok(Value::Undefined)
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, FieldError> {
        Ok(Value::Undefined)
    }
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, FieldError> {
        Ok(variant.into())
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Value, FieldError> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, FieldError> {
        let value = value.serialize(ValueSerializer).map_err(|error| error.nested_in(variant))?;
        Ok(single_attribute_ad(variant, value))
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

/// Creates an ad of one attribute.
fn single_attribute_ad(name: &str, value: Value) -> Value {
    let mut ad = ClassAd::new();
    ad.set(name, value);
    ad.into()
}

/// List being built.
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
        self.items.push(Expr::literal(value));
        Ok(())
    }

    fn made(self) -> Value {
        let list = Value::List(List::new(self.items));
        match self.variant {
            Some(variant) => single_attribute_ad(variant, list),
            None => list,
        }
    }
}

/// Ad being built.
#[derive(Default)]
struct AdSerializer {
    ad: ClassAd,
    key: String,
    variant: Option<&'static str>,
}

impl AdSerializer {
    fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), FieldError> {
        match value.serialize(ValueSerializer).map_err(|error| error.nested_in(name))? {
            Value::Undefined => {}
            value => self.ad.set(name, value),
        }
        Ok(())
    }

    fn made(self) -> Value {
        match self.variant {
            Some(variant) => single_attribute_ad(variant, self.ad.into()),
            None => self.ad.into(),
        }
    }
}

/// Implements several serde traits that build a list or an ad in the same way.
macro_rules! made_through {
    ($maker:ty: $($name:ident $method:ident),*) => { $(
        impl $name for $maker {
            type Ok = Value;
            type Error = FieldError;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FieldError> {
                self.push(value)
            }
            fn end(self) -> Result<Value, FieldError> {
                Ok(self.made())
            }
        }
    )* };
    ($maker:ty; $($name:ident),*) => { $(
        impl $name for $maker {
            type Ok = Value;
            type Error = FieldError;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), FieldError> {
                self.put(name, value)
            }
            fn end(self) -> Result<Value, FieldError> {
                Ok(self.made())
            }
        }
    )* };
}
made_through!(ListSerializer: SerializeSeq serialize_element, SerializeTuple serialize_element, SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field);
made_through!(AdSerializer; SerializeStruct, SerializeStructVariant);

impl SerializeMap for AdSerializer {
    type Ok = Value;
    type Error = FieldError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), FieldError> {
        let Value::Str(name) = key.serialize(ValueSerializer)? else {
            return Err(FieldError::custom(
                "the key of a map has to be a string, which is the name of an attribute",
            ));
        };
        self.key = name.to_string();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FieldError> {
        let name = std::mem::take(&mut self.key);
        self.put(&name, value)
    }

    fn end(self) -> Result<Value, FieldError> {
        Ok(self.made())
    }
}
