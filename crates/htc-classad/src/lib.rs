//! The ClassAd language: values, expressions, ads, evaluation, matching, and all syntaxes in which ads are written.
//!
//! The crate has three layers, and each uses only the layers before it: [`syntax`] (parsing), [`ad`] and [`ad_io`] (ads,
//! and streams of ads), [`eval`] (evaluation). All three layers use [`regex`], [`UserMaps`] and [`EvalWorld`]. The most
//! important types are re-exported at the root of the crate.
//!
//! ```
//! use htc_classad::{ClassAd, Context, System, Value};
//! let ad: ClassAd = "[ Cpus = 4; Memory = Cpus * 1024 ]".parse()?;
//! assert_eq!(Context::new(&System).my(&ad).eval_attr("memory"), Value::from(4096));
//! # Ok::<(), htc_classad::stream::AdError>(())
//! ```
//!
//! Items that are hidden from the documentation may change at any time.

pub mod ad;
pub mod ad_io;
pub mod eval;
mod eval_world;
pub mod regex;
pub mod syntax;
// This module is for the other crates of the workspace; its public items are re-exported below.
#[doc(hidden)]
pub mod text;
mod user_map;

pub use ad::{ClassAd, ExprKind, LineError, List, ListElement, Value, ValueTypeError, unparse};
pub use ad_io::{format, stream};
pub use eval::{AdRole, EqualityGuards, LoadedValues, Prefilter, Truth};
pub use eval::{
    AttributeResult, Context, ExprPart, MatchAd, NameLocation, Observer, explain, flatten, references,
};
#[cfg(feature = "serde")]
pub use eval::{FieldError, from_ad, to_ad};
pub use eval_world::{EvalWorld, LanguageMode, System, Zone};
#[doc(hidden)]
pub use syntax::hash_of_name;
pub use syntax::{
    AbsTime, AttrName, BadToken, Dialect, Expr, NameError, ParseError, ParseErrorKind, function_names,
    is_private, pitfalls,
};
pub use text::caret::LineCaret;
pub use text::{Position, Span};
pub use user_map::{IncludeReader, UserMap, UserMapError, UserMaps};

/// Makes rustdoc test the examples of the README.
#[cfg(all(doctest, feature = "serde"))]
#[doc = include_str!("../README.md")]
struct Readme;
