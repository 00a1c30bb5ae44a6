//! Values while an evaluation is under way: they borrow from ads, trees and the evaluation's arena.

use std::sync::Arc;

use bstr::BString;

use crate::ad::unparse::{self, Form};
use crate::ad::{ClassAd, List, Value};
use crate::eval::scope::{AdRef, Scope};
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{NodeId, Tree};
use crate::syntax::{AbsTime, Expr, numbers};

/// A value under evaluation. Copying it costs nothing.
#[derive(Clone, Copy)]
pub(crate) enum Computed<'a> {
    Undefined,
    Error,
    Bool(bool),
    Int(i64),
    Real(f64),
    Str(&'a [u8]),
    AbsTime(AbsTime),
    RelTime(f64),
    List(&'a ComputedList<'a>),
    /// An ad is the scope that names within it are looked up from.
    Ad(&'a Scope<'a>),
}

/// A list with the ad it was written in.
#[derive(Clone, Copy)]
pub(crate) struct ComputedList<'a> {
    pub(crate) items: Items<'a>,
    /// The ad in whose expression the list stands; its elements are evaluated there.
    pub(crate) scope: Option<&'a Scope<'a>>,
    /// Made by one of the functions whose lists are of the hidden flavour (value.h).
    pub(crate) shared: bool,
    /// Taken out of an ad by a string subscript, as [`Scope::detached`].
    pub(crate) detached: bool,
}

/// The elements of a list.
#[derive(Clone, Copy)]
pub(crate) enum Items<'a> {
    /// As they were written.
    Nodes(&'a Arc<Tree>, &'a [NodeId]),
    /// As a function made them.
    Values(&'a [Computed<'a>]),
}

/// An evaluation that came to no value (`ExprTree::Evaluate`, exprTree.cpp): a limit was reached, or a function refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure;

/// What evaluating gives.
pub(crate) type Evaluated<'a> = Result<Computed<'a>, Failure>;

impl<'a> ComputedList<'a> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self.items {
            Items::Nodes(_, nodes) => nodes.len(),
            Items::Values(values) => values.len(),
        }
    }

    fn to_list(self) -> List {
        let items: Vec<Expr> = match self.items {
            Items::Nodes(tree, nodes) => nodes.iter().map(|node| Expr::from_tree(tree, *node)).collect(),
            Items::Values(values) => values.iter().map(|value| Expr::literal(value.to_value())).collect(),
        };
        List::new(items).with_flavour(self.shared)
    }
}

impl<'a> Computed<'a> {
    /// The value detached from the evaluation.
    pub(crate) fn to_value(self) -> Value {
        match self {
            Computed::Undefined => Value::Undefined,
            Computed::Error => Value::Error,
            Computed::Bool(b) => Value::Bool(b),
            Computed::Int(i) => Value::Int(i),
            Computed::Real(r) => Value::Real(r),
            Computed::Str(text) => Value::Str(text.into()),
            Computed::AbsTime(time) => Value::AbsTime(time),
            Computed::RelTime(seconds) => Value::RelTime(seconds),
            Computed::List(list) => Value::List(list.to_list()),
            Computed::Ad(scope) => Value::Ad(Arc::new(scope.to_ad())),
        }
    }

    /// The truth of a boolean or number ("boolean-equivalent": `IsBooleanValueEquiv`, value.h).
    #[inline]
    pub(crate) fn truth(self) -> Option<bool> {
        match self {
            Computed::Bool(b) => Some(b),
            Computed::Int(i) => Some(i != 0),
            Computed::Real(r) => Some(r != 0.0),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn is_undefined(self) -> bool {
        matches!(self, Computed::Undefined)
    }

    #[inline]
    pub(crate) fn is_error(self) -> bool {
        matches!(self, Computed::Error)
    }

    /// A value as it becomes when it is made a literal again: a relative time loses its fraction (literals.cpp).
    pub(crate) fn as_literal(self) -> Self {
        match self {
            Computed::RelTime(seconds) => Computed::RelTime(f64::from(numbers::truncate32(seconds))),
            other => other,
        }
    }

    /// Appends the new form.
    fn push_unparsed(self, out: &mut Vec<u8>) {
        match self {
            Computed::List(ComputedList { items: Items::Nodes(tree, nodes), .. }) => {
                out.extend_from_slice(b"{ ");
                for (at, item) in nodes.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    unparse::node(tree, *item, Form::New, out);
                }
                out.extend_from_slice(b" }");
            }
            Computed::Ad(Scope { ad: AdRef::Own(ad), .. }) => unparse::ad(ad, Form::New, out),
            Computed::Str(text) => unparse::string(text, Form::New, out),
            other => unparse::push_value(&other.to_value(), Form::New, out),
        }
    }

    /// The text that functions turn a value into (`convertValueToStringValue`, value.cpp); `None` for undefined and error.
    pub(crate) fn to_text(self) -> Option<std::borrow::Cow<'a, [u8]>> {
        let mut out = Vec::new();
        match self {
            Computed::Undefined | Computed::Error => return None,
            Computed::Str(text) => return Some(text.into()),
            Computed::Bool(b) => return Some(if b { &b"true"[..] } else { &b"false"[..] }.into()),
            Computed::Int(i) => numbers::push_int(i, &mut out),
            Computed::AbsTime(time) => crate::syntax::times::push_abs(time, &mut out),
            Computed::RelTime(seconds) => {
                crate::syntax::times::push_rel(f64::from(numbers::truncate32(seconds)), &mut out);
            }
            other => other.push_unparsed(&mut out),
        }
        Some(out.into())
    }
}

impl Scope<'_> {
    /// A copy of the ad by itself.
    pub(crate) fn to_ad(&self) -> ClassAd {
        match self.ad {
            AdRef::Own(ad) => ad.clone(),
            AdRef::Literal { tree, first, count } => ClassAd::from_fields(tree, first, count),
            AdRef::Context(side) => side.context_ad(),
            AdRef::Match => crate::eval::scope::match_ad(),
        }
    }
}

impl From<Computed<'_>> for BString {
    fn from(value: Computed<'_>) -> Self {
        let mut out = Vec::new();
        value.push_unparsed(&mut out);
        out.into()
    }
}

impl<'a> From<Scalar<&'a [u8]>> for Computed<'a> {
    #[inline]
    fn from(scalar: Scalar<&'a [u8]>) -> Self {
        match scalar {
            Scalar::Undefined => Computed::Undefined,
            Scalar::Error => Computed::Error,
            Scalar::Bool(truth) => Computed::Bool(truth),
            Scalar::Int(integer) => Computed::Int(integer),
            Scalar::Real(real) => Computed::Real(real),
            Scalar::Str(text) => Computed::Str(text),
        }
    }
}

impl ClassAd {
    /// The value of an attribute of this ad itself if it is a scalar literal: `None` where there is no such attribute,
    /// `Some(None)` where it has to be evaluated.
    pub(crate) fn computed(&self, name: &[u8], hash: u32) -> Option<Option<Computed<'_>>> {
        self.slot(name, hash).map(|slot| self.scalar(slot).map(Computed::from))
    }
}
