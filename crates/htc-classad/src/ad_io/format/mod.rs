//! Syntaxes of ads: long, new, JSON, XML, and lists of ads in any of them.

pub mod json;
pub mod list;
pub mod long;
pub mod new_syntax;
pub mod xml;
