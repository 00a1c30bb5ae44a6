//! Runs golden files and recorded sessions: `cargo run --release --example corpus -- KIND FILE...`.
//!
//! Exit status: 0 when everything agreed, 1 when something differed, 2 for a wrong call.

#![allow(clippy::print_stderr, reason = "a command-line tool for developers")]

use std::process::ExitCode;

#[path = "../tests/harness/mod.rs"]
mod harness;

/// What runs the files of one kind; true when everything agreed.
type Kind = fn(&[String]) -> Result<bool, String>;

/// Every kind of file and what runs it.
const KINDS: &[(&str, Kind)] = &[("transcript", harness::transcript::main)];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((kind, files)) = arguments.split_first() else {
        return usage("no kind of corpus given");
    };
    let Some((_, run)) = KINDS.iter().find(|(name, _)| name == kind) else {
        return usage(&format!("unknown kind of corpus {kind:?}"));
    };
    match run(files) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => usage(&message),
    }
}

fn usage(message: &str) -> ExitCode {
    let kinds: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
    eprintln!("corpus: {message}");
    eprintln!("usage: corpus KIND FILE...   (kinds: {})", kinds.join(", "));
    ExitCode::from(2)
}
