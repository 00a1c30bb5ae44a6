//! Syntaxes of ads: long form, new syntax, JSON and XML, and lists of ads in each of these.
//!
//! ```
//! use htc_classad::{ClassAd, Dialect, format::{json, long}};
//! let ad = json::parse(r#"{"Cpus": 4, "Owner": "ana"}"#, Dialect::json()).unwrap();
//! assert_eq!(long::print(&ad), b"Cpus = 4\nOwner = \"ana\"\n");
//! ```

pub mod json;
pub mod list;
pub mod long;
pub mod new_syntax;
pub mod xml;
