//! Standard output that cannot be written: text that could not be printed does not count as printed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use htc_hooks::cli::PROGRAMS as ALL_PROGRAMS;

use crate::programs::json_schema::{CALLS, place, shell};

/// The programs, each with arguments that print something without a configuration.
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

/// Calls a program with standard output redirected in a shell.
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

/// A program that prints nothing needs no standard output.
#[test]
fn silence_needs_no_standard_output() {
    let program = env!("CARGO_BIN_EXE_htc-classad-eval");
    let quiet = redirected(">&-", program, &["-quiet", "-ads", "/dev/null", "-long"]);
    assert_eq!(quiet.status.code(), Some(0));
    // Standard output that is open for reading and writing, as some callers provide it.
    assert_eq!(redirected("1<>/dev/null", program, &["1"]).status.code(), Some(0));
}

/// Calls whose status is a result, in addition to those in the table of JSON calls.
const ANSWERS: &[&str] = &[
    "htc-classad-eval -e false",
    "htc-classad-eval -e undefined",
    "htc-classad-eval -e error",
    "htc-classad-eval -e --ads jobs.ads 'RequestMemory < 0'",
    "htc-classad-eval -e --ads jobs.ads -match nothing.ads",
    "htc-config-dump lint many.conf",
    "htc-config-dump NOT_THERE",
    "htc-config-dump use POLICY:NOT_THERE",
    "htc-hook-test init hooks/prepare",
    "htc-hook-test run suites --tap",
    "htc-hook-test prepare hooks/holds --ads job.ad --expect-verdict go-on",
    "htc-router-status queue routed.ads",
    "htc-router-translate simulate router.toml --config-file router.config",
    "htc-router-translate transform --rules rules.xfm jobs.ads",
    "htc-starter-run --quiet --ads run.ad",
    "htc-starter-run --quiet --ads fails.ad",
];

/// Verbs that are called by the tests of running execution points and routers, and verbs that print nothing.
const ELSEWHERE: &[(&str, &[&str])] = &[
    (
        "htc-slot-run",
        &[
            "run",
            "status",
            "match",
            "claim",
            "activate",
            "alive",
            "hold",
            "suspend",
            "continue",
            "vacate",
            "deactivate",
            "release-claim",
            "drain",
            "undrain",
            "off",
            "reconfig",
        ],
    ),
    ("htc-router-translate", &["run", "translate", "update", "finalize", "cleanup", "finish"]),
    (
        "htc-hook-test",
        &[
            "reply",
            "evict",
            "prepare-before-transfer",
            "update",
            "exit",
            "shadow-prepare",
            "translate",
            "router-update",
            "finalize",
            "cleanup",
            "schedd-cron",
            "benchmark",
            "record",
        ],
    ),
];

/// The status of a command line whose output is read, or whose reader is gone.
fn status(place: &Path, line: &str, is_read: bool) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let stdout = if is_read { Stdio::null() } else { Stdio::from(writer) };
    let output = shell(place, line).stdout(stdout).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn an_answer_is_the_same_when_nobody_reads_it() {
    let place = place();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    let many: String = (0..3000).map(|number| format!("STARTD_CRON_X{number}_PERIODE = 5m\n")).collect();
    write("many.conf", &many);
    write("nothing.ads", "Requirements = false\n");
    write("fails.ad", "Cmd = \"/bin/false\"\nIwd = \"/tmp\"\n");
    write("router.toml", "length = \"1h\"\n[[jobs]]\nat = 0\ncount = 2\nrun = \"5m\"\n");
    let table = CALLS.lines().filter_map(|line| Some(line.split_once('\t')?.1));
    let mut statuses = BTreeSet::new();
    for line in table.chain(ANSWERS.iter().copied()) {
        let read = status(place.path(), line, true);
        let unread = status(place.path(), line, false);
        assert_eq!(read.0, unread.0, "{line}: {} {}", read.1, unread.1);
        assert!(!unread.1.contains("Broken pipe"), "{line}: {}", unread.1);
        statuses.insert(read.0);
    }
    // The calls do not only include successes.
    assert_eq!(statuses, [0, 1, 4, 5].map(Some).into());
}

/// A filter of unlimited input stops if its output is not read; with `-e` it has finished.
#[test]
fn a_plain_filter_stops_when_nobody_reads() {
    let place = place();
    for line in [
        "yes 'A = 1' | sed 's/$/\\n/' | htc-classad-eval --ads - 'A'",
        "yes 'A = 1' | sed 's/$/\\n/' | htc-router-translate transform --rules rules.xfm",
    ] {
        assert_eq!(status(place.path(), &format!("timeout 60 sh -c \"{line}\""), false).0, Some(0), "{line}");
    }
}

#[test]
fn the_answers_of_every_verb_are_called() {
    let lines: Vec<&str> = CALLS
        .lines()
        .filter_map(|line| Some(line.split_once('\t')?.1))
        .chain(ANSWERS.iter().copied())
        .collect();
    let mut left_out = Vec::new();
    for program in ALL_PROGRAMS {
        for verb in (program.command)().get_subcommands().map(|verb| verb.get_name().to_owned()) {
            let elsewhere =
                ELSEWHERE.iter().any(|(name, verbs)| *name == program.name && verbs.contains(&verb.as_str()));
            let begin = format!("{} {verb} ", program.name);
            if !elsewhere && !lines.iter().any(|line| format!("{line} ").starts_with(&begin)) {
                left_out.push(begin);
            }
        }
    }
    assert_eq!(left_out, Vec::<String>::new());
}
