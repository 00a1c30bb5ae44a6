//! The ClassAd language: values, expressions, ads, evaluation, matching, and every form ads are written in.
//!
//! Three floors, of which each knows those below it: [`syntax`] (what texts are), [`ad`] and [`read`] (ads, and streams of them),
//! [`eval`] (what they mean). Below them stand [`text`], [`regex`], [`UserMaps`] and [`Outside`]. The names that matter are here at the top.

pub mod ad;
pub mod eval;
mod outside;
pub mod read;
pub mod regex;
pub mod syntax;
pub mod text;
mod user_map;

pub use ad::{ClassAd, LineError, List, Shape, Value, unparse};
pub use eval::{Context, MatchAd, Observer, Part, Place, explain, flatten, references};
#[cfg(feature = "serde")]
pub use eval::{FieldError, from_ad, to_ad};
pub use eval::{Guards, Loaded, Role, Screen, Truth};
pub use outside::{Mode, Outside, System, Zone};
pub use read::{format, stream};
pub use syntax::{
    AbsTime, AttrName, BadToken, Dialect, Expr, ParseError, ParseErrorKind, function_names, hash_of_name,
    is_private, traps,
};
pub use user_map::{Include, Unmapped, UserMap, UserMaps};

/// The examples of the README.
#[cfg(all(doctest, feature = "serde"))]
#[doc = include_str!("../README.md")]
struct Readme;
