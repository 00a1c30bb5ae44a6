//! Comparison with the reference, if it is installed: with a seed and limits; a difference is reduced before
//! it is shown.

#![allow(clippy::print_stdout, reason = "a test that is skipped says why")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

mod classad;
mod config;
mod python;
mod random;
mod tools;
mod transform;

/// Returns the real tool with that name in the directory HTC_ORACLE_TOOLS [default: on PATH].
fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("HTC_ORACLE_TOOLS").or_else(|| std::env::var_os("PATH"))?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// Returns a number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
