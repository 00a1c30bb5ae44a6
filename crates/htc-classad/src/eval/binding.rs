//! Bindings of names: the attributes or other objects that names refer to (attrrefs.cpp).

use std::sync::Arc;

use crate::ad::{ClassAd, StoredValue};
use crate::eval::computed_value::ComputedValue;
use crate::eval::scope::{AdRef, AdScope, MatchSide};
use crate::syntax::name;
use crate::syntax::tree::{self, ExprTree, NodeId, SpecialName};

/// Name that is to be looked up, with its hash and special meaning.
#[derive(Clone, Copy)]
pub(crate) struct NameLookup<'n> {
    pub(crate) bytes: &'n [u8],
    pub(crate) hash: u32,
    pub(crate) special: SpecialName,
}

impl<'n> NameLookup<'n> {
    pub(crate) fn new(bytes: &'n [u8]) -> Self {
        NameLookup { bytes, hash: name::hash(bytes), special: tree::special_name(bytes) }
    }

    #[inline]
    pub(crate) fn from_tree(tree: &'n ExprTree, name: NodeId) -> Self {
        let name = tree.name_info(name);
        NameLookup { bytes: tree.text_bytes(name.text), hash: name.hash, special: name.special }
    }
}

/// Object that a name refers to.
#[derive(Clone, Copy)]
pub(crate) enum Binding<'a> {
    /// Attribute of an ad. `owner` is the ad itself or the chained parent that has the attribute.
    Attribute { owner: &'a ClassAd, slot: &'a StoredValue },
    /// Attribute of an ad that is written within an expression. `key` identifies the attribute.
    NestedAttribute { tree: &'a Arc<ExprTree>, id: NodeId, key: usize },
    /// Ad, for names such as `self`, `parent` and `LEFT`.
    Ad(&'a AdScope<'a>),
    /// Side of a match, for the names `target`, `my`, `other` and `ad`, which the reference looks up in two
    /// steps.
    MatchSide(MatchSide),
    /// Expression of the match ad: an index into
    /// [`MATCH_EXPRESSIONS`](crate::eval::scope::MATCH_EXPRESSIONS).
    MatchExpression(usize),
    /// Current time, for the name `CurrentTime`.
    CurrentTime,
    /// Value that is not an attribute: the result of selecting an attribute from each element of a list.
    Value(ComputedValue<'a>),
}

impl<'a> AdRef<'a> {
    /// Finds an attribute in the ad itself and its chained parents, but not in the enclosing ads.
    #[inline]
    pub(crate) fn find(self, wanted: NameLookup<'_>) -> Option<Binding<'a>> {
        match self {
            AdRef::Own(ad) => {
                let mut owner = ad;
                loop {
                    if let Some(slot) = owner.stored_value(wanted.bytes, wanted.hash) {
                        return Some(Binding::Attribute { owner, slot });
                    }
                    owner = owner.parent()?;
                }
            }
            AdRef::Literal { tree, first, count } => {
                tree.find_field(first, count, wanted.bytes, wanted.hash).map(|(at, id)| {
                    Binding::NestedAttribute { tree, id, key: std::ptr::from_ref(&tree.fields[at]).addr() }
                })
            }
            AdRef::Context(side) => {
                let is = |name: &[u8]| name.eq_ignore_ascii_case(wanted.bytes);
                match wanted.bytes.len() {
                    6 if wanted.special == SpecialName::Target => Some(Binding::MatchSide(side.opposite())),
                    2 if wanted.special == SpecialName::My || is(b"ad") => Some(Binding::MatchSide(side)),
                    5 if is(b"other") => Some(Binding::MatchSide(side.opposite())),
                    _ => None,
                }
            }
            // The evaluator knows both sides of a match and handles the match ad itself.
            AdRef::Match => None,
        }
    }
}
