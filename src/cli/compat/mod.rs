//! The condor tools' own command lines, for programs that are called by a tool's name.

mod words;

pub use words::{Least, Rule, Word, Words};
