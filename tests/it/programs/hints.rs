//! Tests of the hints in messages, and of options that have no effect in a verb.

use std::process::Command;

use crate::support::children::write_executable;

const CLASSAD_EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");
const CONFIG_DUMP: &str = env!("CARGO_BIN_EXE_htc-config-dump");
const HOOK_TEST: &str = env!("CARGO_BIN_EXE_htc-hook-test");
const ROUTER_STATUS: &str = env!("CARGO_BIN_EXE_htc-router-status");
const SLOT_RUN: &str = env!("CARGO_BIN_EXE_htc-slot-run");

/// Creates a directory with ads of jobs and slots, and a hook.
fn prepared_directory() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).unwrap();
    write("jobs.ads", "Owner = \"ada\"\nQDate = 5\nA = 1\n\nOwner = \"bob\"\nQDate = 7\nA = 2\n");
    write("big.ads", "Requirements = TARGET.Cpus > 8\n\nRequirements = TARGET.Memory > 9\n");
    write("slot.ad", "Name = \"slot1@n\"\nCpus = 1\nMemory = 1\nRequirements = true\n");
    home
}

/// Returns the exit status, standard output and standard error of a command.
fn call(home: &tempfile::TempDir, program: &str, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(program);
    let command = command.args(words).current_dir(home.path()).env("CONDOR_CONFIG", "ONLY_ENV");
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn an_option_without_effect_in_a_verb_is_neither_listed_nor_accepted() {
    let home = prepared_directory();
    for (program, verb, option, value) in [
        (CONFIG_DUMP, "use", "--config-file", "x"),
        (CONFIG_DUMP, "use", "--subsystem", "STARTD"),
        (CONFIG_DUMP, "compare", "--config-file", "x"),
        (CONFIG_DUMP, "lint", "--verbose", ""),
        (CONFIG_DUMP, "lsp", "--verbose", ""),
        (HOOK_TEST, "init", "--config-file", "x"),
        (HOOK_TEST, "record", "--timeout", "5"),
        (ROUTER_STATUS, "history", "--patience", "5"),
    ] {
        let (status, help, _) = call(&home, program, &[verb, "--help-all"]);
        assert!(status == 0 && !help.contains(&format!(" {option}")), "{verb}: {help}");
        let operands: &[&str] = match verb {
            "compare" => &["a", "b"],
            "record" => &["--into", "d", "--", "true"],
            "lsp" => &[],
            _ => &["jobs.ads"],
        };
        let option_words = if value.is_empty() { vec![option] } else { vec![option, value] };
        let words = [&[verb], &option_words[..], operands].concat();
        let (status, _, err) = call(&home, program, &words);
        assert_eq!(status, 2, "{words:?}: {err}");
        assert!(err.contains(&format!("{option} has no effect in '{verb}'")), "{words:?}: {err}");
    }
    let (status, out, _) = call(&home, CONFIG_DUMP, &["use", "POLICY"]);
    assert!(status == 0 && out.contains("use POLICY accepts"), "{out}");
    let (status, help, _) = call(&home, ROUTER_STATUS, &["doctor", "-h"]);
    assert!(status == 0 && help.contains("--patience"), "{help}");
}

#[test]
fn an_unknown_option_or_verb_gets_only_a_hint_that_helps() {
    let home = prepared_directory();
    for (program, words, hint) in [
        (CLASSAD_EVAL, &["--to", "json"][..], "the output formats are --long, --json, --jsonl, --xml, --new"),
        (CLASSAD_EVAL, &["--constrant", "true"], "did you mean --constraint?"),
        (HOOK_TEST, &["prepair"], "did you mean prepare?"),
    ] {
        let (status, _, err) = call(&home, program, words);
        assert_eq!(status, 2, "{err}");
        assert!(err.contains(&format!("hint: {hint}")), "{err}");
    }
    let (status, _, err) = call(&home, SLOT_RUN, &["ads", "--af", "Name"]);
    assert!(status == 2 && !err.contains("as a value") && !err.contains("similar"), "{err}");
}

#[test]
fn classad_eval_hints_at_quotes_patterns_times_and_repeated_keys() {
    let home = prepared_directory();
    let hint = |words: &[&str]| call(&home, CLASSAD_EVAL, &[&["--ads", "jobs.ads"], words].concat()).2;
    let quotes = hint(&["-c", "Owner == ada", "--count"]);
    assert!(quotes.contains("if it is a string, it needs double quotes: \"ada\""), "{quotes}");
    let pattern = hint(&["--attributes", "Own*"]);
    assert!(pattern.contains("names cannot be patterns") && !pattern.contains("did you mean"), "{pattern}");
    let letter = hint(&["--af", "B"]);
    assert!(
        letter.contains("'B' is not in any of the 2 ads") && !letter.contains("did you mean"),
        "{letter}"
    );
    let time = hint(&["-c", "QDate > absTime(\"2026-11-19T00:00:00Z\")", "--count"]);
    assert!(time.contains("it is an error") && time.contains("int(absTime(...))"), "{time}");
    let keys = hint(&["--sort", "Owner,QDate", "--af", "Owner"]);
    assert!(keys.contains("--sort:1:6") && keys.contains("repeat --sort for each key"), "{keys}");
}

#[test]
fn jobs_without_an_id_are_distinguished_in_a_summary() {
    let home = prepared_directory();
    let words = ["explain", "--ads", "big.ads", "--slot-ads", "slot.ad", "--summary"];
    let (_, out, err) = call(&home, SLOT_RUN, &words);
    assert!(out.contains("job 1.0: no slot") && out.contains("job 1.0 (ad 2): no slot"), "{out}{err}");
}

#[test]
fn hook_test_checks_a_rejected_job_and_names_only_some_ignored_attributes() {
    let home = prepared_directory();
    let job =
        b"#!/bin/sh\ncat >/dev/null\nprintf 'Cmd = \"/bin/true\"\\nOwner = \"x\"\\nRequestMemory = 1\\n'\n";
    write_executable(&home.path().join("fetch"), job);
    let (status, _, err) = call(&home, HOOK_TEST, &["fetch", "./fetch", "--set", "Start=false"]);
    assert!(status == 1 && err.contains("the fetched job has no JobUniverse"), "{err}");
    let many = b"#!/bin/sh\ncat >/dev/null\nfor i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo \"N$i = $i\"; done\nexit 3\n";
    write_executable(&home.path().join("prepare"), many);
    let (status, _, err) = call(&home, HOOK_TEST, &["prepare", "./prepare", "--sample-job", "vanilla"]);
    assert!(status == 1 && err.contains(" and 2 more (--json lists all)"), "{err}");
}

#[test]
fn a_file_in_place_of_an_expression_is_refused() {
    let home = prepared_directory();
    std::fs::write(home.path().join("some.ad"), "ClusterId = 1\nProcId = 0\n\n").unwrap();
    for (program, words) in [
        (env!("CARGO_BIN_EXE_htc-classad-eval"), &["--ads", "some.ad", "-c", "some.ad"][..]),
        (ROUTER_STATUS, &["some.ad", "-c", "some.ad"]),
        (ROUTER_STATUS, &["some.ad", "--sort", "some.ad"]),
    ] {
        let (status, out, err) = call(&home, program, words);
        assert_eq!((status, out.as_str()), (2, ""), "{err}");
        assert!(err.contains("needs an expression, and 'some.ad' is a file"), "{err}");
        assert!(err.contains("hint: --ads some.ad reads the ads of the file"), "{err}");
    }
}

/// Runs htc-router-status with a file as standard input, without or with a configuration.
fn status_of_input(home: &tempfile::TempDir, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(ROUTER_STATUS);
    command.current_dir(home.path()).env_remove("CONDOR_CONFIG").env("HOME", home.path());
    command.stdin(std::fs::File::open(home.path().join("routed.ads")).unwrap());
    let output = command.args(words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
fn router_status_reads_standard_input_or_says_that_it_does_not() {
    let home = prepared_directory();
    let routed = "ClusterId = 7\nProcId = 0\nOwner = \"ann\"\nJobStatus = 1\nRouteName = \"r\"\nRoutedFromJobId = \"3.0\"\n\n";
    std::fs::write(home.path().join("routed.ads"), routed).unwrap();
    if !std::path::Path::new("/etc/condor/condor_config").exists() {
        let (status, out, err) = status_of_input(&home, &[]);
        assert!(status == 0 && out.contains("7.0"), "{out}{err}");
        let (status, out, err) = status_of_input(&home, &["doctor"]);
        assert!(status == 1 && out.contains("7.0"), "{out}{err}");
    }
    std::fs::write(home.path().join("job_queue.log"), "").unwrap();
    let config = format!("SPOOL = {}\n", home.path().display());
    std::fs::write(home.path().join("config"), config).unwrap();
    let (_, out, err) = status_of_input(&home, &["--no-env", "--config-file", "config"]);
    assert!(!out.contains("7.0") && err.contains("standard input is not read"), "{out}{err}");
}
