//! The ClassAd language: values, expressions, ads, evaluation, matching, and every form ads are written in.
//!
//! Three floors, of which each knows those below it: [`syntax`] (what texts are), [`ad`] and [`ad_io`] (ads, and streams of them),
//! [`eval`] (what they mean). Below them stand [`text`], [`regex`], [`UserMaps`] and [`EvalWorld`]. The names that matter are here at the top.

pub mod ad;
pub mod ad_io;
pub mod eval;
mod eval_world;
pub mod regex;
pub mod syntax;
pub mod text;
mod user_map;

pub use ad::{ClassAd, ExprKind, LineError, List, Value, unparse};
pub use ad_io::{format, stream};
pub use eval::{AdRole, EqualityGuards, LoadedValues, Prefilter, Truth};
pub use eval::{Context, ExprPart, MatchAd, NameLocation, Observer, explain, flatten, references};
#[cfg(feature = "serde")]
pub use eval::{FieldError, from_ad, to_ad};
pub use eval_world::{EvalWorld, LanguageMode, System, Zone};
pub use syntax::{
    AbsTime, AttrName, BadToken, Dialect, Expr, ParseError, ParseErrorKind, function_names, hash_of_name,
    is_private, pitfalls,
};
pub use user_map::{IncludeReader, UserMap, UserMapError, UserMaps};

/// The examples of the README.
#[cfg(all(doctest, feature = "serde"))]
#[doc = include_str!("../README.md")]
struct Readme;
