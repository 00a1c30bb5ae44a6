//! Syntax of the language: names, numbers, times, scalars, tokens, and expressions as trees.
//!
//! ```
//! use htc_classad::{Expr, syntax::pitfalls, Dialect};
//! let text = "Owner = \"ana\"";
//! assert_eq!(Expr::parse(text).unwrap_err().help().unwrap(), "`==` and `=?=` compare; `=?=` is never undefined");
//! assert!(pitfalls::find("Owner == \"ana\"", Dialect::new_syntax()).is_empty());
//! ```

pub(crate) mod dialect;
pub(crate) mod error;
pub(crate) mod expr;
pub(crate) mod function_names;
pub(crate) mod lexer;
pub(crate) mod mentioned_names;
pub(crate) mod name;
pub(crate) mod numbers;
pub(crate) mod parser;
pub mod pitfalls;
mod rescope;
pub(crate) mod scalar;
pub(crate) mod simple_literals;
pub(crate) mod times;
pub(crate) mod tree;

pub use dialect::Dialect;
pub use error::{ParseError, ParseErrorKind};
pub use expr::Expr;
pub use function_names::function_names;
pub use lexer::BadToken;
pub use name::hash as hash_of_name;
pub use name::{AttrName, NameError, is_private};
pub use times::AbsTime;
