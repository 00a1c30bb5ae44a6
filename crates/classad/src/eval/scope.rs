//! Ads as places where names are looked up: an ad, and the ads it stands in (attrrefs.cpp).

use std::sync::Arc;

use crate::ad::ClassAd;
use crate::ad::Slot;
use crate::eval::computed::Computed;
use crate::syntax::Dialect;
use crate::syntax::tree::{NodeId, Special, Tree};

/// An ad together with the ads around it.
pub(crate) struct Scope<'a> {
    pub(crate) ad: AdRef<'a>,
    /// The ad that this one is written in.
    pub(crate) parent: Option<&'a Scope<'a>>,
}

/// The ads that names can be found in.
#[derive(Clone, Copy)]
pub(crate) enum AdRef<'a> {
    /// An ad of its own.
    Own(&'a ClassAd),
    /// An ad written within an expression.
    Literal { tree: &'a Arc<Tree>, first: u32, count: u32 },
    /// The ad that the left or the right ad of a match stands in; it is answered for, never made.
    Context(Side),
    /// The ad that holds both sides of a match.
    Match,
}

/// The sides of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }

    /// The context ad as the reference makes it (matchClassad.cpp, InitMatchClassAd).
    pub(crate) fn context_ad(self) -> ClassAd {
        let text: &[u8] = match self {
            Side::Left => b"[other=.RIGHT;target=.RIGHT;my=.LEFT;ad=.LEFT]",
            Side::Right => b"[other=.LEFT;target=.LEFT;my=.RIGHT;ad=.RIGHT]",
        };
        ClassAd::parse_new(text, Dialect::new_syntax()).unwrap_or_default()
    }
}

/// The attributes of the match ad that are expressions.
pub(crate) const MATCH_EXPRESSIONS: [(&str, &str); 5] = [
    ("symmetricMatch", "RIGHT.requirements && LEFT.requirements"),
    ("leftMatchesRight", "RIGHT.requirements"),
    ("rightMatchesLeft", "LEFT.requirements"),
    ("leftRankValue", "LEFT.rank"),
    ("rightRankValue", "RIGHT.rank"),
];

/// The match ad as it prints, the two sides left out.
pub(crate) fn match_ad() -> ClassAd {
    let mut ad = ClassAd::new();
    for (name, text) in MATCH_EXPRESSIONS {
        if let Ok(expr) = crate::syntax::Expr::parse(text.as_bytes()) {
            ad.insert(name, expr);
        }
    }
    ad.set("lCtx", Side::Left.context_ad());
    ad.set("rCtx", Side::Right.context_ad());
    ad
}

/// A name to look up, with what is known of it.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'n> {
    pub(crate) bytes: &'n [u8],
    pub(crate) hash: u32,
    pub(crate) special: Special,
}

impl<'n> Wanted<'n> {
    pub(crate) fn new(bytes: &'n [u8]) -> Self {
        Wanted { bytes, hash: crate::syntax::name::hash(bytes), special: crate::syntax::tree::special(bytes) }
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
    /// One of [`MATCH_EXPRESSIONS`].
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

    /// How many attributes the ad itself has.
    pub(crate) fn len(self) -> usize {
        match self {
            AdRef::Own(ad) => ad.len(),
            AdRef::Literal { count, .. } => count as usize,
            AdRef::Context(_) => 4,
            AdRef::Match => MATCH_EXPRESSIONS.len() + 4,
        }
    }
}
