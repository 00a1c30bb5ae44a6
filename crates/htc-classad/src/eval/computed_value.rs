//! Values during an evaluation, which borrow from ads, trees and the arena of the evaluation.

use std::sync::Arc;

use bstr::BString;

use crate::ad::unparse::{self, UnparseForm};
use crate::ad::{ClassAd, List, Value};
use crate::eval::scope::{AdRef, AdScope};
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{ExprTree, NodeId};
use crate::syntax::{AbsTime, Expr, numbers};

/// Value during an evaluation, which is cheap to copy.
#[derive(Clone, Copy)]
pub(crate) enum ComputedValue<'a> {
    Undefined,
    Error,
    Bool(bool),
    Int(i64),
    Real(f64),
    Str(&'a [u8]),
    AbsTime(AbsTime),
    RelTime(f64),
    List(&'a ComputedList<'a>),
    /// Ad, as the scope in which its names are looked up.
    Ad(&'a AdScope<'a>),
}

/// List with the ad in which it was written.
#[derive(Clone, Copy)]
pub(crate) struct ComputedList<'a> {
    pub(crate) items: ListItems<'a>,
    /// Ad whose expression contains the list. The elements are evaluated in this ad.
    pub(crate) scope: Option<&'a AdScope<'a>>,
    /// True if the list was made by one of the functions that set the flag of shared lists (value.h).
    pub(crate) shared: bool,
    /// True if the list was selected from an ad by a string subscript; see [`AdScope::detached`].
    pub(crate) detached: bool,
}

/// Elements of a list.
#[derive(Clone, Copy)]
pub(crate) enum ListItems<'a> {
    /// Elements that are written in an expression.
    Nodes(&'a Arc<ExprTree>, &'a [NodeId]),
    /// Elements that a function has computed.
    Values(&'a [ComputedValue<'a>]),
}

/// Failure of an evaluation: there is no value, because a limit was reached or a function failed (`ExprTree::Evaluate`,
/// exprTree.cpp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EvalFailure;

/// Result of an evaluation.
pub(crate) type EvalResult<'a> = Result<ComputedValue<'a>, EvalFailure>;

impl<'a> ComputedList<'a> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self.items {
            ListItems::Nodes(_, nodes) => nodes.len(),
            ListItems::Values(values) => values.len(),
        }
    }

    fn to_list(self) -> List {
        let items: Vec<Expr> = match self.items {
            ListItems::Nodes(tree, nodes) => nodes.iter().map(|node| Expr::from_tree(tree, *node)).collect(),
            ListItems::Values(values) => values.iter().map(|value| Expr::literal(value.to_value())).collect(),
        };
        List::new(items).with_shared_flag(self.shared)
    }
}

impl<'a> ComputedValue<'a> {
    /// Converts the value to a [`Value`], which does not borrow from the evaluation.
    pub(crate) fn to_value(self) -> Value {
        match self {
            ComputedValue::Undefined => Value::Undefined,
            ComputedValue::Error => Value::Error,
            ComputedValue::Bool(b) => Value::Bool(b),
            ComputedValue::Int(i) => Value::Int(i),
            ComputedValue::Real(r) => Value::Real(r),
            ComputedValue::Str(text) => Value::Str(text.into()),
            ComputedValue::AbsTime(time) => Value::AbsTime(time),
            ComputedValue::RelTime(seconds) => Value::RelTime(seconds),
            ComputedValue::List(list) => Value::List(list.to_list()),
            ComputedValue::Ad(scope) => Value::Ad(Arc::new(scope.to_ad())),
        }
    }

    /// Returns true or false for a boolean or number (nonzero is true), or `None` for any other value. The reference
    /// calls such values "boolean-equivalent" (`IsBooleanValueEquiv`, value.h).
    #[inline]
    pub(crate) fn truth(self) -> Option<bool> {
        match self {
            ComputedValue::Bool(b) => Some(b),
            ComputedValue::Int(i) => Some(i != 0),
            ComputedValue::Real(r) => Some(r != 0.0),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn is_undefined(self) -> bool {
        matches!(self, ComputedValue::Undefined)
    }

    #[inline]
    pub(crate) fn is_error(self) -> bool {
        matches!(self, ComputedValue::Error)
    }

    /// Returns the value that the reference obtains by converting this value to a literal: a relative time loses its
    /// fraction (literals.cpp).
    pub(crate) fn as_literal(self) -> Self {
        match self {
            ComputedValue::RelTime(seconds) => {
                ComputedValue::RelTime(f64::from(numbers::truncate32(seconds)))
            }
            other => other,
        }
    }

    /// Appends the value in new syntax.
    fn push_unparsed(self, out: &mut Vec<u8>) {
        match self {
            ComputedValue::List(ComputedList { items: ListItems::Nodes(tree, nodes), .. }) => {
                out.extend_from_slice(b"{ ");
                for (at, item) in nodes.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    unparse::push_node(tree, *item, UnparseForm::New, out);
                }
                out.extend_from_slice(b" }");
            }
            ComputedValue::Ad(AdScope { ad: AdRef::Own(ad), .. }) => {
                unparse::push_ad(ad, UnparseForm::New, out)
            }
            ComputedValue::Str(text) => unparse::push_string(text, UnparseForm::New, out),
            other => unparse::push_value(&other.to_value(), UnparseForm::New, out),
        }
    }

    /// Returns the text to which functions convert the value (`convertValueToStringValue`, value.cpp), or `None` if the
    /// value is undefined or error.
    pub(crate) fn to_text(self) -> Option<std::borrow::Cow<'a, [u8]>> {
        let mut out = Vec::new();
        match self {
            ComputedValue::Undefined | ComputedValue::Error => return None,
            ComputedValue::Str(text) => return Some(text.into()),
            ComputedValue::Bool(b) => return Some(if b { &b"true"[..] } else { &b"false"[..] }.into()),
            ComputedValue::Int(i) => numbers::push_int(i, &mut out),
            ComputedValue::AbsTime(time) => crate::syntax::times::push_abs_time(time, &mut out),
            ComputedValue::RelTime(seconds) => {
                crate::syntax::times::push_rel_time(f64::from(numbers::truncate32(seconds)), &mut out);
            }
            other => other.push_unparsed(&mut out),
        }
        Some(out.into())
    }
}

impl AdScope<'_> {
    /// Returns a copy of the ad without its enclosing ads.
    pub(crate) fn to_ad(&self) -> ClassAd {
        match self.ad {
            AdRef::Own(ad) => ad.clone(),
            AdRef::Literal { tree, first, count } => ClassAd::from_fields(tree, first, count),
            AdRef::Context(side) => side.context_ad(),
            AdRef::Match => crate::eval::scope::match_ad(),
        }
    }
}

impl From<ComputedValue<'_>> for BString {
    fn from(value: ComputedValue<'_>) -> Self {
        let mut out = Vec::new();
        value.push_unparsed(&mut out);
        out.into()
    }
}

impl<'a> From<Scalar<&'a [u8]>> for ComputedValue<'a> {
    #[inline]
    fn from(scalar: Scalar<&'a [u8]>) -> Self {
        match scalar {
            Scalar::Undefined => ComputedValue::Undefined,
            Scalar::Error => ComputedValue::Error,
            Scalar::Bool(truth) => ComputedValue::Bool(truth),
            Scalar::Int(integer) => ComputedValue::Int(integer),
            Scalar::Real(real) => ComputedValue::Real(real),
            Scalar::Str(text) => ComputedValue::Str(text),
        }
    }
}

/// Content of an attribute.
pub(crate) enum StoredContent<'a> {
    /// The attribute is a scalar literal with this value.
    Literal(ComputedValue<'a>),
    /// The attribute is an expression that must be evaluated.
    Expression,
}

impl ClassAd {
    /// Returns the content of an attribute of the ad itself, or `None` if the ad itself has no such attribute.
    pub(crate) fn stored_content(&self, name: &[u8], hash: u32) -> Option<StoredContent<'_>> {
        self.stored_value(name, hash).map(|slot| match self.stored_scalar(slot) {
            Some(scalar) => StoredContent::Literal(scalar.into()),
            None => StoredContent::Expression,
        })
    }
}
