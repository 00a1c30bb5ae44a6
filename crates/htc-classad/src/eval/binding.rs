//! Bindings of names in the ads where they are looked up (attrrefs.cpp).

use std::sync::Arc;

use crate::ad::{ClassAd, StoredValue};
use crate::eval::computed_value::ComputedValue;
use crate::eval::scope::{AdRef, AdScope, MatchSide};
use crate::syntax::name;
use crate::syntax::tree::{self, ExprTree, NodeId, SpecialName};

/// Name to look up, with its hash and special meaning.
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

/// Binding of a name.
#[derive(Clone, Copy)]
pub(crate) enum Binding<'a> {
    /// An attribute of an ad; `owner` is the ad or the chained parent that has it.
    Attribute { owner: &'a ClassAd, slot: &'a StoredValue },
    /// An attribute of an ad within an expression. `key` identifies it.
    NestedAttribute { tree: &'a Arc<ExprTree>, id: NodeId, key: usize },
    /// An ad: `self`, `parent`, `LEFT` ...
    Ad(&'a AdScope<'a>),
    /// `target`, `my`, `other` or `ad` of a match, which the reference looks up in two steps.
    MatchSide(MatchSide),
    /// One of [`MATCH_EXPRESSIONS`](crate::eval::scope::MATCH_EXPRESSIONS).
    MatchExpression(usize),
    /// `CurrentTime`.
    CurrentTime,
    /// A value instead of an attribute: the result of selecting from the elements of a list.
    Value(ComputedValue<'a>),
}

impl<'a> AdRef<'a> {
    /// Finds an attribute in the ad and its chained parents, but not in the enclosing ads.
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
            // The evaluator, which knows both sides, handles the match ad itself.
            AdRef::Match => None,
        }
    }
}
