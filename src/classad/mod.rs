//! The ClassAd language: values, expressions, ads, evaluation, matching, and every form ads are written in.

#![allow(dead_code)]

mod ad;
mod expr;
pub mod format;
mod functions;
mod lexer;
mod name;
mod numbers;
mod parser;
pub mod regex;
pub mod stream;
mod times;
mod tree;
mod unparse;
mod value;

pub use ad::{ClassAd, LineError};
pub use expr::Expr;
pub use lexer::BadToken;
pub use name::{AttrName, is_private};
pub use parser::{Dialect, ParseError, ParseErrorKind};
pub use value::{AbsTime, List, Value};
