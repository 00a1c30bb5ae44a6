//! Tests of the programs as processes: signals, process families, deadlines, pipes, with real children.

// Clippy's exemptions for tests do not include their helper functions.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod classad_eval;
mod condor_tools;
mod hook_test;
mod programs;
#[cfg(feature = "cli")]
#[path = "../oracle/random.rs"]
mod random;
mod router;
mod simulate;
mod slot;
mod starter;
mod support;
