//! Values, which are the results of evaluation.

use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};

use super::ClassAd;
use crate::syntax::expr::ExprRepr;
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{AdField, ExprTree, Node, NodeId, TreeBuilder};
use crate::syntax::{AbsTime, Expr, numbers};

/// Value of the ClassAd language. Strings are bytes and are never re-encoded.
///
/// As in the reference, a list contains unevaluated expressions, and an ad contains unevaluated attributes.
///
/// ```
/// use htc_classad::{Context, Expr, System, Value};
/// let eval = |text: &str| Context::new(&System).eval(&Expr::parse(text).unwrap());
/// let describe = |text: &str| match eval(text) {
///     Value::Int(number) => format!("the integer {number}"),
///     Value::Str(text) => format!("the text {text}"),
///     other => other.type_name().to_owned(),
/// };
/// assert_eq!(describe("6 * 7"), "the integer 42");
/// assert_eq!(describe("strcat(\"a\", 1)"), "the text a1");
/// assert_eq!(describe("NoSuchName"), "undefined");
/// ```
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Unknown value, for example because an attribute is missing.
    #[default]
    Undefined,
    /// Invalid value, for example because an operand had the wrong type.
    Error,
    /// Boolean.
    Bool(bool),
    /// Signed integer of 64 bits.
    Int(i64),
    /// Double, including NaN and infinities.
    Real(f64),
    /// String.
    Str(BString),
    /// Point in time with the offset of its zone.
    AbsTime(AbsTime),
    /// Duration in seconds.
    RelTime(f64),
    /// List.
    List(List),
    /// Nested ad, detached from the ads that enclosed it.
    Ad(Arc<ClassAd>),
}

/// List of unevaluated expressions.
///
/// ```
/// use htc_classad::List;
/// let list: List = [1, 2, 3].into_iter().collect();
/// assert_eq!(list.len(), 3);
/// assert_eq!(list[1].to_string(), "2");
/// assert_eq!(list.to_string(), "{ 1,2,3 }");
/// ```
#[derive(Clone, Default)]
pub struct List {
    items: Arc<[Expr]>,
    shared: bool,
}

impl List {
    /// Creates a list from expressions.
    ///
    /// ```
    /// use htc_classad::{Expr, List};
    /// let list = List::new([Expr::parse("Cpus * 2").unwrap(), Expr::literal("x")]);
    /// assert_eq!((list.to_string().as_str(), list.items().len()), ("{ Cpus * 2,\"x\" }", 2));
    /// ```
    pub fn new(items: impl Into<Arc<[Expr]>>) -> Self {
        List { items: items.into(), shared: false }
    }

    /// Sets the flag for lists that were made by a function such as `split`. The flag affects only `=?=`.
    pub(crate) fn with_shared_flag(mut self, shared: bool) -> Self {
        self.shared = shared;
        self
    }

    /// Returns the elements.
    pub fn items(&self) -> &[Expr] {
        &self.items
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if the list has no elements.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns an iterator over the elements.
    pub fn iter(&self) -> std::slice::Iter<'_, Expr> {
        self.items.iter()
    }
}

impl Value {
    /// Returns true or false for a boolean or number (nonzero is true), or `None` for any other value. The reference
    /// calls such values "boolean-equivalent".
    ///
    /// ```
    /// use htc_classad::Value;
    /// assert_eq!((Value::from(2).truth(), Value::from(0.0).truth()), (Some(true), Some(false)));
    /// assert_eq!((Value::from("true").truth(), Value::Undefined.truth()), (None, None));
    /// ```
    pub fn truth(&self) -> Option<bool> {
        match *self {
            Value::Bool(b) => Some(b),
            Value::Int(i) => Some(i != 0),
            Value::Real(r) => Some(r != 0.0),
            _ => None,
        }
    }

    /// Returns a number or boolean as an integer, as `EvalInteger` does: reals are truncated, booleans are 0 or 1.
    /// Returns `None` for any other value.
    ///
    /// ```
    /// use htc_classad::Value;
    /// assert_eq!((Value::from(4).as_int(), Value::from("4").as_int()), (Some(4), None));
    /// ```
    pub fn as_int(&self) -> Option<i64> {
        match *self {
            Value::Bool(b) => Some(i64::from(b)),
            Value::Int(i) => Some(i),
            Value::Real(r) => Some(numbers::truncate(r)),
            _ => None,
        }
    }

    /// Returns a number or boolean as a real, as `EvalFloat` does, or `None` for any other value.
    ///
    /// ```
    /// use htc_classad::Value;
    /// assert_eq!((Value::from(0.5).as_real(), Value::from(4).as_real()), (Some(0.5), Some(4.0)));
    /// ```
    pub fn as_real(&self) -> Option<f64> {
        match *self {
            Value::Bool(b) => Some(f64::from(u8::from(b))),
            Value::Int(i) => Some(i as f64),
            Value::Real(r) => Some(r),
            _ => None,
        }
    }

    /// Returns the text of a string, or `None` for any other value.
    ///
    /// ```
    /// use htc_classad::Value;
    /// assert_eq!(Value::from("ana").as_str().unwrap(), "ana");
    /// assert_eq!(Value::from(4).as_str(), None);
    /// ```
    pub fn as_str(&self) -> Option<&BStr> {
        match self {
            Value::Str(text) => Some(text.as_bstr()),
            _ => None,
        }
    }

    /// Returns the elements of a list, or `None` for any other value.
    ///
    /// ```
    /// use htc_classad::Value;
    /// let list = Value::from(vec!["a", "b"]);
    /// assert_eq!(list.as_list().map(<[_]>::len), Some(2));
    /// ```
    pub fn as_list(&self) -> Option<&[Expr]> {
        match self {
            Value::List(list) => Some(list.items()),
            _ => None,
        }
    }

    /// Returns the ad, or `None` for any other value.
    ///
    /// ```
    /// use htc_classad::{Context, Expr, System};
    /// let value = Context::new(&System).eval(&Expr::parse("[ Cpus = 4 ]").unwrap());
    /// assert_eq!(value.as_ad().unwrap()["Cpus"].to_string(), "4");
    /// ```
    pub fn as_ad(&self) -> Option<&Arc<ClassAd>> {
        match self {
            Value::Ad(ad) => Some(ad),
            _ => None,
        }
    }

    /// Returns true if the value is `undefined`.
    ///
    /// ```
    /// use htc_classad::{Context, Expr, System};
    /// let eval = |text: &str| Context::new(&System).eval(&Expr::parse(text).unwrap());
    /// assert!(eval("NoSuchName > 1").is_undefined());
    /// assert!(eval("1 + \"x\"").is_error());
    /// ```
    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined)
    }

    /// Returns true if the value is `error`.
    pub fn is_error(&self) -> bool {
        matches!(self, Value::Error)
    }

    /// Returns the name of the type, as used in messages.
    ///
    /// ```
    /// use htc_classad::Value;
    /// assert_eq!((Value::from(1).type_name(), Value::from("x").type_name()), ("integer", "string"));
    /// ```
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined => "undefined",
            Value::Error => "error",
            Value::Bool(_) => "boolean",
            Value::Int(_) => "integer",
            Value::Real(_) => "real",
            Value::Str(_) => "string",
            Value::AbsTime(_) => "abstime",
            Value::RelTime(_) => "reltime",
            Value::List(_) => "list",
            Value::Ad(_) => "classad",
        }
    }
}

impl Scalar<&[u8]> {
    /// Returns the value as a scalar, or `None` if it is a time, a list or an ad.
    #[inline]
    pub(crate) fn from_value(value: &Value) -> Option<Scalar<&[u8]>> {
        Some(match value {
            Value::Undefined => Scalar::Undefined,
            Value::Error => Scalar::Error,
            Value::Bool(truth) => Scalar::Bool(*truth),
            Value::Int(integer) => Scalar::Int(*integer),
            Value::Real(real) => Scalar::Real(*real),
            Value::Str(text) => Scalar::Str(text),
            Value::AbsTime(_) | Value::RelTime(_) | Value::List(_) | Value::Ad(_) => return None,
        })
    }
}

impl<S: Into<BString>> From<Scalar<S>> for Value {
    #[inline]
    fn from(scalar: Scalar<S>) -> Self {
        match scalar {
            Scalar::Undefined => Value::Undefined,
            Scalar::Error => Value::Error,
            Scalar::Bool(truth) => Value::Bool(truth),
            Scalar::Int(integer) => Value::Int(integer),
            Scalar::Real(real) => Value::Real(real),
            Scalar::Str(text) => Value::Str(text.into()),
        }
    }
}

impl Expr {
    /// Creates a literal expression from a value.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// assert_eq!(Expr::literal("ana").to_string(), "\"ana\"");
    /// assert_eq!(Expr::literal(vec![1, 2]).to_string(), "{ 1,2 }");
    /// ```
    pub fn literal(value: impl Into<Value>) -> Expr {
        let value = value.into();
        if let Some(scalar) = Scalar::from_value(&value) {
            return Expr::from_scalar(scalar);
        }
        let mut builder = TreeBuilder::default();
        let root = push_literal(&mut builder, &value);
        Expr::from_builder(&builder, root)
    }

    /// Returns the value of a literal, or `None` if the expression would have to be evaluated. A list is a literal if
    /// all its elements are literals.
    ///
    /// ```
    /// use htc_classad::{Expr, Value};
    /// assert_eq!(Expr::parse("7").unwrap().as_literal(), Some(Value::Int(7)));
    /// assert_eq!(Expr::parse("3 + 4").unwrap().as_literal(), None);
    /// ```
    pub fn as_literal(&self) -> Option<Value> {
        match &self.0 {
            ExprRepr::Scalar(value) => Some(value.as_borrowed().into()),
            ExprRepr::Node(tree, root) => literal_value(tree, *root),
        }
    }
}

/// Adds a value to a tree as a literal.
pub(crate) fn push_literal(builder: &mut TreeBuilder, value: &Value) -> NodeId {
    match value {
        Value::AbsTime(time) => builder.push_time(*time),
        // The reference truncates relative times to whole seconds when a value becomes a literal (literals.cpp).
        Value::RelTime(seconds) => {
            let seconds = f64::from(numbers::truncate32(*seconds));
            builder.push_node(Node::RelTime(seconds))
        }
        Value::List(list) => {
            let items: Vec<NodeId> = list.items().iter().map(|item| builder.copy_expr(item)).collect();
            builder.push_list(&items)
        }
        Value::Ad(ad) => {
            let mut fields: Vec<AdField> = ad
                .iter()
                .map(|(name, expr)| {
                    let node = builder.copy_expr(&expr);
                    AdField { name: builder.push_name(name), node }
                })
                .collect();
            builder.push_ad(&mut fields)
        }
        value => builder.push_scalar(Scalar::from_value(value).unwrap_or_default()),
    }
}

fn literal_value(tree: &Arc<ExprTree>, id: NodeId) -> Option<Value> {
    match tree.node(id) {
        Node::AbsTime(time) => Some(Value::AbsTime(tree.times[time as usize])),
        Node::RelTime(seconds) => Some(Value::Real(seconds)),
        Node::List { first, count } => {
            let items: Vec<Expr> =
                tree.links(first, count).iter().map(|item| Expr::from_tree(tree, *item)).collect();
            items.iter().all(|item| item.as_literal().is_some()).then(|| Value::List(List::new(items)))
        }
        Node::Ad { .. } => Some(Value::Ad(Arc::new(ClassAd::from_node(tree, id)))),
        _ => tree.scalar(id).map(Value::from),
    }
}

/// Compares scalars by type and content, as `=?=` does: strings are case-sensitive, and NaN is not equal to itself.
/// Lists and ads are compared by structure.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Undefined, Value::Undefined) | (Value::Error, Value::Error) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Real(a), Value::Real(b)) | (Value::RelTime(a), Value::RelTime(b)) => a == b,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::AbsTime(a), Value::AbsTime(b)) => a == b,
            (Value::List(a), Value::List(b)) => a.items() == b.items(),
            (Value::Ad(a), Value::Ad(b)) => a == b,
            _ => false,
        }
    }
}
