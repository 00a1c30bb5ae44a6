//! Runs golden files and recorded sessions: `cargo run --release --example corpus -- KIND FILE...`.
//!
//! Exit status: 0 if all results agree with the records, 1 if a result differs, 2 for wrong arguments.

#![allow(clippy::print_stderr, reason = "a command-line tool for developers")]

use std::process::ExitCode;

#[path = "../tests/harness/mod.rs"]
mod harness;

use harness::golden;

/// Runs the files of one kind. Returns true if all results agree with the records.
type Run = fn(&[String]) -> Result<bool, String>;

/// Kinds in addition to those of golden files, which have one record per line.
const OTHERS: &[(&str, Run)] =
    &[("transcript", harness::transcript::main), ("verdicts", harness::verdicts::main)];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, files)) = arguments.split_first() else {
        return usage("no kind of corpus is given");
    };
    let result = if let Some(kind) = golden::Kind::named(name) {
        golden::main(kind, files)
    } else if let Some((_, run)) = OTHERS.iter().find(|(other, _)| other == name) {
        run(files)
    } else {
        return usage(&format!("unknown kind of corpus: {name:?}"));
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => usage(&message),
    }
}

fn usage(message: &str) -> ExitCode {
    let golden = golden::KINDS.iter().map(|kind| kind.name);
    let kinds: Vec<&str> = golden.chain(OTHERS.iter().map(|(name, _)| *name)).collect();
    eprintln!("corpus: {message}");
    eprintln!("usage: corpus KIND FILE...   (kinds: {})", kinds.join(", "));
    ExitCode::from(2)
}
