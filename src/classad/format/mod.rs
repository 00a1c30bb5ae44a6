//! The forms ads are written in: long, new, JSON, XML.

pub mod long;
pub mod new;
