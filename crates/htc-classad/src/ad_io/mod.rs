//! Reading and writing of ads: all syntaxes, streams of ads, and a memo of texts that were parsed before.
//!
//! ```
//! use htc_classad::{format::long, stream::AdReader};
//! for ad in AdReader::new(&b"[ Cpus = 4 ]\n[ Cpus = 8 ]\n"[..], None) {
//!     assert!(long::print(&ad.unwrap()).starts_with(b"Cpus = "));
//! }
//! ```

pub(crate) mod delimiter;
mod expr_template;
pub mod format;
pub(crate) mod line_memo;
pub(crate) mod line_reader;
pub mod stream;
