//! Scopes for the lookup of names: an ad with its enclosing ads (attrrefs.cpp).

use std::sync::Arc;

use crate::ad::ClassAd;
use crate::syntax::Dialect;
use crate::syntax::tree::ExprTree;

/// Ad with its enclosing ads.
pub(crate) struct AdScope<'a> {
    pub(crate) ad: AdRef<'a>,
    /// The enclosing ad.
    pub(crate) parent: Option<&'a AdScope<'a>>,
    /// True if the ad was taken out of another ad by a string subscript: in the reference its attributes are no longer
    /// found (`a["b"].c`, attrrefs.cpp, `FindExpr`), while `a["b"]["c"]` is.
    pub(crate) detached: bool,
}

/// Kinds of ads in which names are looked up.
#[derive(Clone, Copy)]
pub(crate) enum AdRef<'a> {
    /// A separate ad.
    Own(&'a ClassAd),
    /// An ad written within an expression.
    Literal { tree: &'a Arc<ExprTree>, first: u32, count: u32 },
    /// The context ad that contains the left or the right ad of a match; it exists only virtually.
    Context(MatchSide),
    /// The ad that holds both sides of a match.
    Match,
}

/// The sides of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchSide {
    Left,
    Right,
}

impl MatchSide {
    pub(crate) fn opposite(self) -> MatchSide {
        match self {
            MatchSide::Left => MatchSide::Right,
            MatchSide::Right => MatchSide::Left,
        }
    }

    /// Creates the context ad of the reference (matchClassad.cpp, InitMatchClassAd).
    pub(crate) fn context_ad(self) -> ClassAd {
        let text: &[u8] = match self {
            MatchSide::Left => b"[other=.RIGHT;target=.RIGHT;my=.LEFT;ad=.LEFT]",
            MatchSide::Right => b"[other=.LEFT;target=.LEFT;my=.RIGHT;ad=.RIGHT]",
        };
        ClassAd::parse_new(text, Dialect::new_syntax()).unwrap_or_default()
    }
}

/// Attributes of the match ad that are expressions.
pub(crate) const MATCH_EXPRESSIONS: [(&str, &str); 5] = [
    ("symmetricMatch", "RIGHT.requirements && LEFT.requirements"),
    ("leftMatchesRight", "RIGHT.requirements"),
    ("rightMatchesLeft", "LEFT.requirements"),
    ("leftRankValue", "LEFT.rank"),
    ("rightRankValue", "RIGHT.rank"),
];

/// Returns the match ad for printing, without its two sides.
pub(crate) fn match_ad() -> ClassAd {
    let mut ad = ClassAd::new();
    for (name, text) in MATCH_EXPRESSIONS {
        if let Ok(expr) = crate::syntax::Expr::parse(text.as_bytes()) {
            ad.insert(name, expr);
        }
    }
    ad.set("lCtx", MatchSide::Left.context_ad());
    ad.set("rCtx", MatchSide::Right.context_ad());
    ad
}

impl AdRef<'_> {
    /// Returns the number of attributes of the ad itself.
    pub(crate) fn len(self) -> usize {
        match self {
            AdRef::Own(ad) => ad.len(),
            AdRef::Literal { count, .. } => count as usize,
            AdRef::Context(_) => 4,
            AdRef::Match => MATCH_EXPRESSIONS.len() + 4,
        }
    }
}
