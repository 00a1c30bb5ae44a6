//! What texts are: names, numbers, times, tokens, expressions as trees; and what an evaluation yields, since literals are values.
//!
//! Values and expressions may hold ads, and ads hold expressions: `value`, `expr` and [`crate::ad`] know one another.

pub(crate) mod dialect;
pub(crate) mod error;
pub(crate) mod expr;
pub(crate) mod function_names;
pub(crate) mod lexer;
pub(crate) mod literal;
pub(crate) mod mentions;
pub mod mode;
pub(crate) mod name;
pub(crate) mod numbers;
pub(crate) mod parser;
mod rescope;
pub(crate) mod scalar;
mod shape;
pub(crate) mod times;
pub mod traps;
pub(crate) mod tree;
pub(crate) mod value;

pub use dialect::Dialect;
pub use error::{ParseError, ParseErrorKind};
pub use expr::Expr;
pub use function_names::function_names;
pub use lexer::BadToken;
pub use name::hash as hash_of_name;
pub use name::{AttrName, is_private};
pub use shape::Shape;
pub use times::{AbsTime, LocalTime, set_local_time};
pub use value::{List, Value};
