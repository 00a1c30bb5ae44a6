//! Scopes in which names are looked up: an ad and the ads that enclose it (attrrefs.cpp).

use std::sync::Arc;

use crate::ad::ClassAd;
use crate::syntax::Dialect;
use crate::syntax::tree::ExprTree;

/// Ad together with the ads that enclose it.
pub(crate) struct AdScope<'a> {
    pub(crate) ad: AdRef<'a>,
    /// Scope of the enclosing ad, or `None` for the outermost ad.
    pub(crate) parent: Option<&'a AdScope<'a>>,
    /// True if the ad was selected from another ad by a string subscript. As in the reference, `a["b"].c` then does
    /// not find the attribute `c`, but `a["b"]["c"]` does (`FindExpr`, attrrefs.cpp).
    pub(crate) detached: bool,
}

/// Ad in which names are looked up.
#[derive(Clone, Copy)]
pub(crate) enum AdRef<'a> {
    /// Ad that is not part of an expression.
    Own(&'a ClassAd),
    /// Ad that is written within an expression.
    Literal { tree: &'a Arc<ExprTree>, first: u32, count: u32 },
    /// Context ad, which contains the left or the right ad of a match and exists only virtually.
    Context(MatchSide),
    /// Match ad, which contains the context ads of both sides.
    Match,
}

/// Side of a match.
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

    /// Creates the context ad of one side as the reference does (matchClassad.cpp, InitMatchClassAd).
    pub(crate) fn context_ad(self) -> ClassAd {
        let text: &[u8] = match self {
            MatchSide::Left => b"[other=.RIGHT;target=.RIGHT;my=.LEFT;ad=.LEFT]",
            MatchSide::Right => b"[other=.LEFT;target=.LEFT;my=.RIGHT;ad=.RIGHT]",
        };
        ClassAd::parse_new(text, Dialect::new_syntax()).unwrap_or_default()
    }
}

/// Attributes of the match ad that are expressions: name and text.
pub(crate) const MATCH_EXPRESSIONS: [(&str, &str); 5] = [
    ("symmetricMatch", "RIGHT.requirements && LEFT.requirements"),
    ("leftMatchesRight", "RIGHT.requirements"),
    ("rightMatchesLeft", "LEFT.requirements"),
    ("leftRankValue", "LEFT.rank"),
    ("rightRankValue", "RIGHT.rank"),
];

/// Returns the match ad without its two sides, for printing.
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
    /// Returns the number of attributes of the ad, without those of chained parents.
    pub(crate) fn len(self) -> usize {
        match self {
            AdRef::Own(ad) => ad.len(),
            AdRef::Literal { count, .. } => count as usize,
            AdRef::Context(_) => 4,
            AdRef::Match => MATCH_EXPRESSIONS.len() + 4,
        }
    }
}
