//! Tests of `htc-router-translate transform`: invalid rules, dangerous command lines, and the exit status.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::tests_all_combinations;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htc-router-translate");
pub(crate) const ADS: &str = "A = 1\nB = 2\n";

/// Creates a directory with the files `rules` and `ads`.
pub(crate) fn place(rules: &str, ads: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("rules"), rules).unwrap();
    fs::write(place.path().join("ads"), ads).unwrap();
    fs::write(place.path().join("condor_config"), "").unwrap();
    place
}

/// Returns exit status, standard output and standard error of a call under this name.
pub(crate) fn call(name: &str, words: &[&str], place: &Path, stdin: &str) -> (i32, String, String) {
    let link = place.join(name);
    if !link.exists() {
        symlink(PROGRAM, &link).unwrap();
    }
    let mut child = Command::new(&link)
        .args(words)
        .current_dir(place)
        .env("CONDOR_CONFIG", place.join("condor_config"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that fails at once does not read its input.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Applies the file `rules` to the file `ads`.
fn transform(rules: &str, ads: &str, more: &[&str]) -> (i32, String, String) {
    let place = place(rules, ads);
    let words = [&["transform", "--rules", "rules", "ads"], more].concat();
    call("htc-router-translate", &words, place.path(), "")
}

#[test]
fn an_input_is_not_overwritten_under_any_of_its_names() {
    let place = place("SET X 1\n", ADS);
    let place = place.path();
    symlink("ads", place.join("soft")).unwrap();
    fs::hard_link(place.join("ads"), place.join("hard")).unwrap();
    let own = |words: &[&str]| call("htc-router-translate", words, place, "");
    let tool = |words: &[&str]| call("condor_transform_ads", words, place, "");
    for (out, input) in [("ads", "ads"), ("ads", "soft"), ("hard", "ads"), ("soft", "hard")] {
        let (status, _, stderr) = own(&["transform", "--rules", "rules", "--ads", input, "--out", out]);
        assert_eq!(status, 2, "{stderr}");
        assert!(stderr.contains(&format!("--out '{out}' would overwrite the input '{input}'")), "{stderr}");
        let (status, _, stderr) = tool(&["-rules", "rules", "-in", input, "-out", out]);
        assert_eq!(status, 1, "{stderr}");
        assert!(stderr.contains(&format!("output file '{out}' is the input '{input}'")), "{stderr}");
    }
    let (status, ..) = own(&["transform", "--rules", "rules", "ads", "--out", "rules"]);
    assert_eq!(status, 2);
    let stdin = Command::new(place.join("htc-router-translate"))
        .args(["transform", "--rules", "rules", "--out", "ads"])
        .current_dir(place)
        .env("CONDOR_CONFIG", place.join("condor_config"))
        .stdin(fs::File::open(place.join("ads")).unwrap())
        .output()
        .unwrap();
    assert_eq!(stdin.status.code(), Some(2));
    assert_eq!(fs::read_to_string(place.join("ads")).unwrap(), ADS);
    assert_eq!(fs::read_to_string(place.join("rules")).unwrap(), "SET X 1\n");
    let (status, ..) = own(&["transform", "--rules", "rules", "ads", "--out", "new"]);
    assert_eq!(status, 0);
    assert_eq!(fs::read_to_string(place.join("new")).unwrap(), "A = 1\nB = 2\nX = 1\n\n");
}

#[test]
fn the_file_of_items_is_not_overwritten_either() {
    let place = place("SET X \"$(Item)\"\nTRANSFORM from items\n", ADS);
    fs::write(place.path().join("items"), "one\ntwo\n").unwrap();
    let words = ["transform", "--rules", "rules", "ads", "--out", "items"];
    let (status, _, stderr) = call("htc-router-translate", &words, place.path(), "");
    assert_eq!(status, 2, "{stderr}");
    assert_eq!(fs::read_to_string(place.path().join("items")).unwrap(), "one\ntwo\n");
    let words = ["-rules", "rules", "-in", "ads", "-out", "items"];
    let (status, _, stderr) = call("condor_transform_ads", &words, place.path(), "");
    assert_eq!(status, 1, "{stderr}");
    assert!(stderr.contains("output file 'items' is the input 'items'"), "{stderr}");
    assert_eq!(fs::read_to_string(place.path().join("items")).unwrap(), "one\ntwo\n");
}

#[test]
fn an_included_file_is_not_overwritten_either() {
    let place = place("SET Y 1\ninclude : more\n", ADS);
    fs::write(place.path().join("more"), "SET X 1\n").unwrap();
    let words = ["transform", "--rules", "rules", "ads", "--out", "more"];
    assert_eq!(call("htc-router-translate", &words, place.path(), "").0, 2);
    let words = ["-rules", "rules", "-in", "ads", "-out", "more"];
    assert_eq!(call("condor_transform_ads", &words, place.path(), "").0, 1);
    assert_eq!(fs::read_to_string(place.path().join("more")).unwrap(), "SET X 1\n");
}

#[test]
fn an_old_output_file_remains_if_there_is_no_new_one() {
    let place = place("SET X 1\n", ADS);
    let read = || fs::read_to_string(place.path().join("out")).unwrap();
    fs::write(place.path().join("out"), "old\n").unwrap();
    for ads in [&["none"][..], &["ads", "none"]] {
        let words = [&["transform", "--rules", "rules", "--out", "out"], ads].concat();
        let (status, _, stderr) = call("htc-router-translate", &words, place.path(), "");
        assert_eq!(status, 3, "{stderr}");
        assert!(stderr.contains("cannot read 'none'"), "{stderr}");
        assert_eq!(read(), "old\n");
    }
    fs::write(place.path().join("bad"), "A = 1\n\nB\n").unwrap();
    let words = ["transform", "--rules", "rules", "--out", "out", "--strict-input", "bad"];
    assert_eq!(call("htc-router-translate", &words, place.path(), "").0, 3);
    assert_eq!(read(), "old\n");
    // The tool ignores files that it cannot open; its exit status is that of the last file.
    let words = ["-rules", "rules", "-in", "none", "-out", "out"];
    assert_eq!(call("condor_transform_ads", &words, place.path(), "").0, 0);
    assert_eq!(read(), "old\n");
    let words = ["-rules", "rules", "-in", "none", "-in", "ads", "-out", "out"];
    assert_eq!(call("condor_transform_ads", &words, place.path(), "").0, 1);
    assert_eq!(read(), "A = 1\nB = 2\nX = 1\n\n");
}

#[test]
fn items_without_end_are_refused() {
    // A file of items without an end counts as too large.
    let place = place("SET X \"$(Item)\"\nTRANSFORM from items\n", ADS);
    let items = fs::File::create(place.path().join("items")).unwrap();
    items.set_len((1 << 30) + 2).unwrap();
    let words = ["transform", "--rules", "rules", "ads"];
    let (status, _, stderr) = call("htc-router-translate", &words, place.path(), "");
    assert_eq!(status, 3, "{stderr}");
    assert!(stderr.contains("can't open item file items: it is larger than 1 GiB"), "{stderr}");
}

#[test]
fn a_statement_without_effect_gives_status_1() {
    for rules in ["SET X 1+\n", "COPY /(/ q\n", "SET X $( A )\n", "RENAME A 1b\n", "EVALSET X 1+\n"] {
        let (status, out, stderr) = transform(rules, ADS, &[]);
        assert_eq!((status, out.as_str()), (1, "A = 1\nB = 2\n\n"), "{rules}{stderr}");
        assert!(stderr.contains("1 problem kept statements from taking effect"), "{stderr}");
    }
    // A value that evaluates to undefined is stored, as the rules say.
    let (status, out, stderr) = transform("EVALSET X Nowhere\n", ADS, &[]);
    assert_eq!((status, out.as_str()), (0, "A = 1\nB = 2\nX = undefined\n\n"), "{stderr}");
    // The exit status of the tool does not show the failure.
    let place = place("SET X 1+\n", ADS);
    assert_eq!(call("condor_transform_ads", &["-rules", "rules", "ads"], place.path(), "").0, 1);
}

#[test]
fn a_mistake_in_a_parameter_is_shown_with_its_location() {
    let place = place("SET A 1\n", ADS);
    let config = "JOB_TRANSFORM_NAMES = T\nJOB_TRANSFORM_T @=end\nSET A 1\nSETT B 1\n@end\n";
    fs::write(place.path().join("site.config"), config).unwrap();
    let words = ["lint", "--config-file", "site.config", "--job-transforms", "T"];
    let (status, out, stderr) = call("htc-router-translate", &words, place.path(), "");
    assert_eq!(status, 1, "{stderr}");
    assert!(out.lines().next().unwrap().starts_with("site.config:4:1: error: "), "{out}");
}

#[test]
fn a_trace_shows_why_a_transform_does_not_apply() {
    let (_, _, stderr) = transform("REQUIREMENTS A > 0 && B > 5\nSET C 1\n", ADS, &["--trace"]);
    assert!(stderr.contains("does not apply: rules:1: REQUIREMENTS A > 0 && B > 5\n"), "{stderr}");
    assert!(stderr.contains("`B > 5` is false: B is 2"), "{stderr}");
    let (_, out, _) = transform("REQUIREMENTS B > 5\nSET C 1\n", ADS, &["--trace", "--jsonl"]);
    let record: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(record["trace"][0]["reason"], "`B > 5` is false: B is 2", "{out}");
    assert_eq!(record["trace"][0]["line"], 1, "{out}");
}

#[test]
fn every_bad_statement_is_reported_in_one_run() {
    let (status, out, stderr) = transform("SET X 1+\nSET Y 2\nBOGUS\nCOPY /(/ q\nRENAME A 1b\n", ADS, &[]);
    assert_eq!((status, out.as_str()), (3, ""), "{stderr}");
    for line in [1, 3, 4, 5] {
        assert!(stderr.contains(&format!("rules:{line}:")), "line {line} is not in\n{stderr}");
    }
    assert!(!stderr.contains("rules:2:"), "{stderr}");
    assert!(stderr.contains("1 statement would fail for every ad"), "{stderr}");
}

#[test]
fn rules_run_commands_only_when_asked_to() {
    for rules in ["SET X \"$(Item)\"\nTRANSFORM from ./script |\n", "include command : ./script\n"] {
        let place = place(rules, ADS);
        let place = place.path();
        let script = place.join("script");
        fs::write(&script, "#!/bin/sh\n: > ran\necho 'SET = 1'\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        for verb in [&["transform", "--rules", "rules", "ads"][..], &["lint", "--rules", "rules"]] {
            let (status, _, stderr) = call("htc-router-translate", verb, place, "");
            assert!(!place.join("ran").exists(), "{verb:?} ran it: {rules}{stderr}");
            if verb[0] == "transform" {
                assert_ne!(status, 0, "{stderr}");
                assert!(stderr.contains("-exec"), "{stderr}");
            }
        }
        let words = ["transform", "--exec", "--rules", "rules", "ads"];
        let (status, _, stderr) = call("htc-router-translate", &words, place, "");
        assert_eq!(status, 0, "{stderr}");
        assert!(place.join("ran").exists());
        fs::remove_file(place.join("ran")).unwrap();
        call("condor_transform_ads", &["-rules", "rules", "ads"], place, "");
        assert!(place.join("ran").exists(), "the tool runs it");
    }
}

#[test]
fn rules_after_a_refused_command_are_not_skipped() {
    let place = place("include command : ./script\nSET X 1\n", ADS);
    fs::write(place.path().join("condor_config"), "JOB_TRANSFORM_T = SET Y 1\n").unwrap();
    let words = ["transform", "--rules", "rules", "--job-transforms", "T", "ads"];
    let (status, out, stderr) = call("htc-router-translate", &words, place.path(), "");
    assert_eq!((status, out.as_str()), (1, ""), "{stderr}");
    assert!(stderr.contains("cannot include './script'"), "{stderr}");
}

#[test]
fn a_pattern_that_needs_too_many_steps_is_reported() {
    let ads = format!("{}b = 1\n", "A".repeat(60));
    let (status, out, stderr) = transform("COPY /(A+)+$/ B\n", &ads, &["--trace"]);
    assert_eq!((status, out.trim_end()), (1, ads.trim_end()), "{stderr}");
    assert!(stderr.contains("the match limit of the regular expression was reached"), "{stderr}");
    assert!(stderr.contains("rules:1:6:"), "the place is the pattern: {stderr}");
    assert!(!stderr.contains("no attribute matches"), "{stderr}");
}

#[test]
fn a_command_with_missing_arguments_reports_what_it_needs() {
    let expected = [
        ("DELETE", "give one attribute or /regex/"),
        ("RENAME A", "give an attribute or /regex/ and a new name"),
        ("COPY A", "give an attribute or /regex/ and a new name"),
        ("SET A", "give an attribute and a value"),
    ];
    for (rules, fix) in expected {
        let (status, _, stderr) = transform(&format!("{rules}\n"), ADS, &[]);
        assert_eq!(status, 3);
        assert!(stderr.lines().any(|line| line.trim_end().ends_with(fix)), "{rules}: {stderr}");
    }
}

#[test]
#[ignore = "takes 5 to 30 s of processor time: `.ci/full combinations`"]
fn several_threads_transform_and_report_like_one() {
    let ad = |number: u32| match number {
        7_000 | 25_000 => format!("A = {number}\nThen = \"+\"\n\n"),
        9_000 | 28_000 => format!("A = {number}\nbad line {number}\n\n"),
        11_000 | 29_000 => format!("A = {number}\nFails = 1\n\n"),
        _ => format!("A = {number}\nOwner = \"o{number}\"\n\n"),
    };
    let ads: String = (0..30_000).map(ad).collect();
    let rules = "m = 1$(MY.A)\nSET B $(m)\nEVALSET C $(MY.Then:1)\nEVALSET D Owner\nRENAME Owner Old\n\
                 if defined MY.Fails\n  if A == 1\n  endif\nendif\n";
    let option_sets = [&["--jsonl"][..], &["--quirks", "reference"], &["--quiet"], &["--strict-input"]];
    let count = if tests_all_combinations() { option_sets.len() } else { 2 };
    for more in option_sets.into_iter().take(count) {
        let with = |threads| transform(rules, &ads, &[&["--threads", threads][..], more].concat());
        let (status, out, err) = with("1");
        assert!(out.len() > 300_000 && err.contains("ads:27002:") && err.contains("EVALSET"), "{err}");
        for threads in ["2", "5"] {
            let several = with(threads);
            assert!((several.0, &several.1) == (status, &out), "{more:?} {threads}: {}", several.1.len());
            assert_eq!(several.2, err, "{more:?} {threads}");
        }
    }
}

#[test]
fn a_job_transform_of_the_old_syntax_is_applied_with_a_warning_and_ignored_as_the_schedd_does() {
    let place = place("", ADS);
    let config = "JOB_TRANSFORM_NAMES = Old New\nJOB_TRANSFORM_Old = [ set_Foo = 1; copy_A = \"Baz\"; ]\n\
                  JOB_TRANSFORM_New @=t\nSET Mine 1\n@t\nSCHEDD.JOB_TRANSFORM_New = SET Schedds 1\n";
    fs::write(place.path().join("condor_config"), config).unwrap();
    let call = |words: &[&str]| {
        let words = [&["transform", "--job-transforms"], words, &["ads"]].concat();
        call("htc-router-translate", &words, place.path(), "")
    };
    let (status, out, stderr) = call(&["Old"]);
    assert_eq!(
        (status, out.contains("Foo = 1\n"), out.contains("Baz = 1\n")),
        (0, true, true),
        "{out}{stderr}"
    );
    let told = "warning: JOB_TRANSFORM_Old has the old syntax, which the schedd of HTCondor 25.14 ignores; it is applied here";
    assert!(stderr.contains(told), "{stderr}");
    let (status, out, stderr) = call(&["Old", "--quirks", "reference"]);
    assert_eq!((status, out.contains("Foo"), out.contains("A = 1\n")), (0, false, true), "{out}{stderr}");
    assert!(
        stderr.contains("which the schedd of HTCondor 25.14 ignores; this program also ignores it"),
        "{stderr}"
    );
    // For a job transform, the schedd's own value of the parameter is used.
    let (status, out, stderr) = call(&["Old,New", "--quirks", "reference"]);
    assert_eq!((status, out.contains("Schedds = 1\n")), (0, true), "{out}{stderr}");
}

#[test]
fn default_replaces_an_undefined_value_with_a_warning_and_leaves_it_as_25_14_does() {
    let ads = "A = 1\nUndef = undefined\n";
    let (status, out, stderr) = transform("DEFAULT Undef 7\nDEFAULT A 8\nDEFAULT New 9\n", ads, &[]);
    assert_eq!(status, 0, "{stderr}");
    assert!(out.contains("A = 1\n") && out.contains("Undef = 7\n") && out.contains("New = 9\n"), "{out}");
    assert!(stderr.contains("Undef is undefined and gets the default; in HTCondor 25.14 DEFAULT does not change an attribute whose value is `undefined` (default-keeps-undefined)"), "{stderr}");
    let (status, out, stderr) = transform("DEFAULT Undef 7\n", ads, &["--quirks", "reference"]);
    assert_eq!((status, out.contains("Undef = undefined\n"), stderr.as_str()), (0, true, ""), "{out}");
}
