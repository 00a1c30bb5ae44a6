//! Implementations of `Serialize` and `Deserialize` for ads, expressions and values.
//!
//! The data has the form of HTCondor's JSON: an ad is a map, a list is a sequence, `undefined` is null, and a value or
//! expression that has no such form is the string `/Expr(...)/`.

use std::fmt;

use bstr::{BStr, ByteSlice};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::ad::{ClassAd, List, Value};
use crate::syntax::Expr;
use crate::syntax::expr::ExprRepr;
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::Node;

/// Maximum nesting depth of lists and ads that are written as data, because data formats limit the depth. Deeper lists
/// and ads are written as expressions.
const MAX_DEPTH: u32 = 64;

/// Serializes the attributes of the ad and its chained parents as a map.
///
/// ```
/// use htc_classad::ClassAd;
/// let ad: ClassAd = "[ Owner = \"ana\"; Memory = Cpus * 1024; Sizes = { 1,2 } ]".parse()?;
/// let text = serde_json::to_string(&ad)?;
/// assert_eq!(text, r#"{"Memory":"/Expr(Cpus * 1024)/","Owner":"ana","Sizes":[1,2]}"#);
/// assert_eq!(serde_json::from_str::<ClassAd>(&text)?, ad);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Serialize for ClassAd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_ad(self, 0, serializer)
    }
}

/// Serializes a literal as data and any other expression as the string `/Expr(...)/`.
impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ExprAtDepth(self, 0).serialize(serializer)
    }
}

/// Serializes the value as data. `error`, times, and reals that are not finite are written as the string `/Expr(...)/`.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::List(list) => serialize_list(list.items(), 0, serializer),
            Value::Ad(ad) => serialize_ad(ad, 0, serializer),
            Value::AbsTime(_) | Value::RelTime(_) => serialize_text(self.unparse().as_bstr(), serializer),
            value => serialize_scalar(&Scalar::from_value(value).unwrap_or_default(), serializer),
        }
    }
}

/// Expression, and the number of lists and ads that contain it.
struct ExprAtDepth<'e>(&'e Expr, u32);

impl Serialize for ExprAtDepth<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ExprAtDepth(expr, depth) = *self;
        match &expr.0 {
            ExprRepr::Scalar(scalar) => serialize_scalar(&scalar.as_borrowed(), serializer),
            ExprRepr::Node(tree, root) => match tree.node(*root) {
                Node::List { .. } if depth < MAX_DEPTH => {
                    serialize_list(&expr.as_list().unwrap_or_default(), depth, serializer)
                }
                Node::Ad { .. } if depth < MAX_DEPTH => {
                    serialize_ad(&ClassAd::from_node(tree, *root), depth, serializer)
                }
                _ => serialize_text(expr.unparse().as_bstr(), serializer),
            },
        }
    }
}

fn serialize_ad<S: Serializer>(ad: &ClassAd, depth: u32, serializer: S) -> Result<S::Ok, S::Error> {
    let flattened = ad.parent().map(|_| ad.flattened_chain());
    let ad = flattened.as_ref().unwrap_or(ad);
    let mut map = serializer.serialize_map(Some(ad.len()))?;
    for (name, expr) in ad.sorted() {
        map.serialize_entry(utf8(name)?, &ExprAtDepth(&expr, depth + 1))?;
    }
    map.end()
}

fn serialize_list<S: Serializer>(items: &[Expr], depth: u32, serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(items.len()))?;
    for item in items {
        list.serialize_element(&ExprAtDepth(item, depth + 1))?;
    }
    list.end()
}

fn serialize_scalar<S: Serializer>(scalar: &Scalar<&[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    match *scalar {
        Scalar::Undefined => serializer.serialize_unit(),
        Scalar::Bool(truth) => serializer.serialize_bool(truth),
        Scalar::Int(integer) => serializer.serialize_i64(integer),
        Scalar::Real(real) if real.is_finite() => serializer.serialize_f64(real),
        Scalar::Str(text) if expression_text(text).is_none() => {
            serializer.serialize_str(utf8(text.as_bstr())?)
        }
        // A string that has the form of an expression is written as an expression, so that it is read back as a string.
        scalar => serialize_text(Expr::from_scalar(scalar).unparse().as_bstr(), serializer),
    }
}

fn serialize_text<S: Serializer>(text: &BStr, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("/Expr({})/", utf8(text)?))
}

fn utf8<E: Error>(text: &BStr) -> Result<&str, E> {
    text.to_str().map_err(|_| E::custom(format!("'{text}' is not valid UTF-8")))
}

/// Returns the text of the expression if a string has the form `/Expr(...)/`, or else `None`.
fn expression_text(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"/Expr(")?.strip_suffix(b")/")
}

/// Deserializes a map of names and expressions, such as an object of HTCondor's JSON.
impl<'de> Deserialize<'de> for ClassAd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AdVisitor)
    }
}

/// Deserializes a string of the form `/Expr(...)/` as an expression, and other data as a literal.
impl<'de> Deserialize<'de> for Expr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExprVisitor)
    }
}

/// Deserializes data. A string that contains an expression other than a literal is an error.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expr = Expr::deserialize(deserializer)?;
        if let ExprRepr::Node(tree, root) = &expr.0
            && let Node::RelTime(seconds) = tree.node(*root)
        {
            return Ok(Value::RelTime(seconds));
        }
        let list = || expr.as_list().map(|items| Value::List(List::new(items)));
        let value = expr.as_literal().or_else(list);
        value.ok_or_else(|| de::Error::custom(format!("expected a value, found the expression {expr}")))
    }
}

struct AdVisitor;

impl<'de> Visitor<'de> for AdVisitor {
    type Value = ClassAd;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an ad")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ClassAd, A::Error> {
        let mut ad = ClassAd::new();
        while let Some((name, expr)) = map.next_entry::<String, Expr>()? {
            ad.try_insert(name, expr).map_err(de::Error::custom)?;
        }
        Ok(ad)
    }
}

struct ExprVisitor;

impl<'de> Visitor<'de> for ExprVisitor {
    type Value = Expr;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or an expression")
    }

    fn visit_unit<E>(self) -> Result<Expr, E> {
        Ok(Expr::literal(Value::Undefined))
    }

    fn visit_none<E>(self) -> Result<Expr, E> {
        Ok(Expr::literal(Value::Undefined))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Expr, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Expr, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Expr, E> {
        Ok(Expr::literal(truth))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Expr, E> {
        Ok(Expr::literal(integer))
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Expr, E> {
        Ok(Expr::literal(integer))
    }

    fn visit_f64<E>(self, real: f64) -> Result<Expr, E> {
        Ok(Expr::literal(real))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Expr, E> {
        self.visit_bytes(text.as_bytes())
    }

    fn visit_bytes<E: de::Error>(self, text: &[u8]) -> Result<Expr, E> {
        if text.contains(&0) {
            return Err(E::custom("a string of an ad cannot contain a NUL byte"));
        }
        match expression_text(text) {
            None => Ok(Expr::literal(text)),
            Some(expr) => Expr::parse(expr)
                .map_err(|error| E::custom(format!("bad expression '{}': {error}", expr.as_bstr()))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Expr, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Expr>()? {
            items.push(item);
        }
        Ok(Expr::literal(List::new(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Expr, A::Error> {
        AdVisitor.visit_map(map).map(Expr::literal)
    }
}
