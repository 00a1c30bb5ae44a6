//! What names are bound to in the ads where they are looked up (attrrefs.cpp).

use std::sync::Arc;

use crate::ad::{ClassAd, Slot};
use crate::eval::computed::Computed;
use crate::eval::scope::{AdRef, Scope, Side};
use crate::syntax::name;
use crate::syntax::tree::{self, NodeId, Special, Tree};

/// A name to look up, with what is known of it.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'n> {
    pub(crate) bytes: &'n [u8],
    pub(crate) hash: u32,
    pub(crate) special: Special,
}

impl<'n> Wanted<'n> {
    pub(crate) fn new(bytes: &'n [u8]) -> Self {
        Wanted { bytes, hash: name::hash(bytes), special: tree::special(bytes) }
    }

    #[inline]
    pub(crate) fn of(tree: &'n Tree, name: NodeId) -> Self {
        let name = tree.name(name);
        Wanted { bytes: tree.bytes(name.text), hash: name.hash, special: name.special }
    }
}

/// What a name is bound to.
#[derive(Clone, Copy)]
pub(crate) enum Bound<'a> {
    /// An attribute of an ad; `owner` is the ad or the chained parent that has it.
    Slot { owner: &'a ClassAd, slot: &'a Slot },
    /// An attribute of an ad within an expression. The key tells it from all others.
    Node { tree: &'a Arc<Tree>, id: NodeId, key: usize },
    /// An ad: `self`, `parent`, `LEFT` ...
    Ad(&'a Scope<'a>),
    /// `target`, `my`, `other` or `ad` of a match, which the reference looks up in two steps.
    MatchSide(Side),
    /// One of [`MATCH_EXPRESSIONS`](crate::eval::scope::MATCH_EXPRESSIONS).
    MatchExpression(usize),
    /// `CurrentTime`.
    Time,
    /// No attribute but a value: what was selected from the elements of a list.
    Value(Computed<'a>),
}

impl<'a> AdRef<'a> {
    /// The attribute of that name; the ads around are not asked, chained parents are.
    #[inline]
    pub(crate) fn find(self, wanted: Wanted<'_>) -> Option<Bound<'a>> {
        match self {
            AdRef::Own(ad) => {
                let mut owner = ad;
                loop {
                    if let Some(slot) = owner.slot(wanted.bytes, wanted.hash) {
                        return Some(Bound::Slot { owner, slot });
                    }
                    owner = owner.parent()?;
                }
            }
            AdRef::Literal { tree, first, count } => tree
                .find_field(first, count, wanted.bytes, wanted.hash)
                .map(|(at, id)| Bound::Node { tree, id, key: std::ptr::from_ref(&tree.fields[at]).addr() }),
            AdRef::Context(side) => {
                let is = |name: &[u8]| name.eq_ignore_ascii_case(wanted.bytes);
                match wanted.bytes.len() {
                    6 if wanted.special == Special::Target => Some(Bound::MatchSide(side.other())),
                    2 if wanted.special == Special::My || is(b"ad") => Some(Bound::MatchSide(side)),
                    5 if is(b"other") => Some(Bound::MatchSide(side.other())),
                    _ => None,
                }
            }
            // The match ad itself is answered for by the evaluator, which knows both sides.
            AdRef::Match => None,
        }
    }
}
