//! The ClassAd language: values, expressions, ads, evaluation, matching, and every form ads are written in.

#![cfg_attr(not(feature = "cli"), allow(dead_code, reason = "some of it serves the programs alone"))]

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
mod parser;
pub mod references;
pub mod regex;
mod rescope;
mod scope;
mod screen;
pub mod stream;
mod times;
pub mod traps;
mod tree;
pub(crate) mod unparse;
mod value;

pub use ad::{ClassAd, LineError};
pub use context::Context;
pub use expr::Expr;
pub use functions::function_names;
pub use lexer::BadToken;
pub use matching::MatchAd;
pub(crate) use name::hash as hash_of_name;
pub use name::{AttrName, is_private};
pub use observer::{Observer, Part, Place};
pub use parser::{Dialect, ParseError, ParseErrorKind};
pub use screen::{Guards, Loaded, Role, Screen, Truth};
pub use times::{LocalTime, set_local_time};
pub use value::{AbsTime, List, Value};
