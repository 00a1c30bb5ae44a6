//! Standard output that takes nothing: what a program could not say does not count as said.

use std::process::{Command, Output, Stdio};

/// The programs, and words that make each print something without any configuration.
const PROGRAMS: &[(&str, &[&str])] = &[
    (env!("CARGO_BIN_EXE_htc-classad-eval"), &["1 + 1"]),
    (env!("CARGO_BIN_EXE_htc-classad-eval"), &["-ads", "/dev/null", "-json"]),
    (env!("CARGO_BIN_EXE_htc-config-dump"), &["--version"]),
    (env!("CARGO_BIN_EXE_htc-hook-test"), &["--version"]),
    (env!("CARGO_BIN_EXE_htc-router-status"), &["--version"]),
    (env!("CARGO_BIN_EXE_htc-router-translate"), &["--version"]),
    (env!("CARGO_BIN_EXE_htc-slot-run"), &["--version"]),
    (env!("CARGO_BIN_EXE_htc-starter-run"), &["--version"]),
];

/// Calls a program with standard output redirected as a shell says it.
fn redirected(redirection: &str, program: &str, words: &[&str]) -> Output {
    Command::new("sh")
        .args(["-c", &format!("exec \"$0\" \"$@\" {redirection}"), program])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn what_could_not_be_written_is_a_failure_that_is_told() {
    for (program, words) in PROGRAMS {
        for (redirection, why) in [(">&-", "it is closed"), (">/dev/full", "No space left on device")] {
            let output = redirected(redirection, program, words);
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(125), "{program} {redirection}: {err}");
            let expected = format!("cannot write to standard output: {why}");
            assert!(err.contains(&expected), "{program} {redirection}: {err}");
        }
        assert_eq!(redirected(">/dev/null", program, words).status.code(), Some(0), "{program}");
    }
}

/// A program that has nothing to say needs nobody who listens.
#[test]
fn silence_needs_no_standard_output() {
    let program = env!("CARGO_BIN_EXE_htc-classad-eval");
    let quiet = redirected(">&-", program, &["-quiet", "-ads", "/dev/null", "-long"]);
    assert_eq!(quiet.status.code(), Some(0));
    // Standard output that is open for reading and writing, as some callers make it.
    assert_eq!(redirected("1<>/dev/null", program, &["1"]).status.code(), Some(0));
}
