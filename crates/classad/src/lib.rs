//! The ClassAd language: values, expressions, ads, evaluation, matching, and every form ads are written in.

mod ad;
mod arena;
mod computed;
mod context;
mod evaluator;
pub mod explain;
mod expr;
pub mod flatten;
pub mod format;
mod functions;
mod lexer;
mod matching;
mod memo;
pub mod mode;
mod name;
mod numbers;
mod observer;
mod operators;
mod outside;
mod parser;
pub mod references;
pub mod regex;
mod rescope;
mod scope;
mod screen;
mod shape;
pub mod stream;
pub mod text;
mod times;
pub mod traps;
mod tree;
#[cfg(feature = "serde")]
mod typed;
pub mod unparse;
mod value;

pub use ad::{ClassAd, LineError};
pub use context::Context;
pub use expr::Expr;
pub use functions::function_names;
pub use lexer::BadToken;
pub use matching::MatchAd;
pub use name::hash as hash_of_name;
pub use name::{AttrName, is_private};
pub use observer::{Observer, Part, Place};
pub use outside::{Outside, System, Zone};
pub use parser::{Dialect, ParseError, ParseErrorKind};
pub use screen::{Guards, Loaded, Role, Screen, Truth};
pub use shape::Shape;
pub use times::{LocalTime, set_local_time};
#[cfg(feature = "serde")]
pub use typed::{FieldError, from_ad, to_ad};
pub use value::{AbsTime, List, Value};

/// The examples of the README.
#[cfg(all(doctest, feature = "serde"))]
#[doc = include_str!("../README.md")]
struct Readme;
