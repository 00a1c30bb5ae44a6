//! Ads as places where names are looked up: an ad, and the ads it stands in (attrrefs.cpp).

use std::sync::Arc;

use crate::ad::ClassAd;
use crate::syntax::Dialect;
use crate::syntax::tree::ExprTree;

/// An ad together with the ads around it.
pub(crate) struct AdScope<'a> {
    pub(crate) ad: AdRef<'a>,
    /// The ad that this one is written in.
    pub(crate) parent: Option<&'a AdScope<'a>>,
    /// Taken out of another ad by a string subscript: in the reference no attribute of it is found any more
    /// (`a["b"].c`, attrrefs.cpp, `FindExpr`), while `a["b"]["c"]` is.
    pub(crate) detached: bool,
}

/// The ads that names can be found in.
#[derive(Clone, Copy)]
pub(crate) enum AdRef<'a> {
    /// An ad of its own.
    Own(&'a ClassAd),
    /// An ad written within an expression.
    Literal { tree: &'a Arc<ExprTree>, first: u32, count: u32 },
    /// The ad that the left or the right ad of a match stands in; it is answered for, never made.
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

    /// The context ad as the reference makes it (matchClassad.cpp, InitMatchClassAd).
    pub(crate) fn context_ad(self) -> ClassAd {
        let text: &[u8] = match self {
            MatchSide::Left => b"[other=.RIGHT;target=.RIGHT;my=.LEFT;ad=.LEFT]",
            MatchSide::Right => b"[other=.LEFT;target=.LEFT;my=.RIGHT;ad=.RIGHT]",
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
    ad.set("lCtx", MatchSide::Left.context_ad());
    ad.set("rCtx", MatchSide::Right.context_ad());
    ad
}

impl AdRef<'_> {
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
