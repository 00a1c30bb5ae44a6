//! Rows in forms that other programs read, aggregates, and streams in files.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");
const STATUS: &str = env!("CARGO_BIN_EXE_htc-router-status");

const JOBS: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nMemory = 10\nNote = \"a, \\\"b\\\"\"\nRouteName = \"A\"\n\n\
    ClusterId = 2\nProcId = 0\nOwner = \"bob\"\nMemory = 30\nRouteName = \"B\"\n\n\
    ClusterId = 3\nProcId = 0\nOwner = \"ann\"\nMemory = 2.5\nRouteName = \"A\"\n";

fn run(program: &str, words: &[&str], directory: &Path) -> (Option<i32>, String, String) {
    let mut child = Command::new(program)
        .args(words)
        .current_dir(directory)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its command line does not read.
    let _ = child.stdin.take().unwrap().write_all(JOBS.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn eval(words: &[&str]) -> String {
    let (status, out, err) = run(EVAL, &[&["--ads", "-"], words].concat(), Path::new("."));
    assert!(status == Some(0), "{words:?}: {err}");
    out
}

#[test]
fn rows_are_written_as_csv_tsv_and_with_nul() {
    let csv = "Owner,Note,Memory\r\nann,\"a, \"\"b\"\"\",10\r\nbob,,30\r\nann,,2.5\r\n";
    assert_eq!(eval(&["-af", "Owner", "Note", "Memory", "--csv"]), csv);
    assert_eq!(eval(&["-af:h", "Owner", "Note", "Memory", "--csv", "--threads", "3"]), csv);
    assert_eq!(eval(&["-af", "Owner", "Memory", "--tsv"]), "Owner\tMemory\nann\t10\nbob\t30\nann\t2.5\n");
    assert_eq!(eval(&["-af", "Owner", "-0"]), "ann\0bob\0ann\0");
    assert_eq!(eval(&["-af", "Owner", "--null", "--sort", "Memory"]), "ann\0ann\0bob\0");
    assert_eq!(eval(&["-c", "false", "-af", "Owner", "--csv"]), "Owner\r\n");
    for words in [&["--csv"][..], &["--null"], &["--tsv", "--json"], &["--csv", "--tsv", "-af", "Owner"]] {
        let (status, out, err) = run(EVAL, &[&["--ads", "-"], words].concat(), Path::new("."));
        assert!(status == Some(2) && out.is_empty(), "{words:?}: {out}{err}");
    }
}

#[test]
fn groups_have_sums_averages_and_extremes() {
    let words =
        ["--count-by", "Owner", "--sum", "Memory", "--avg", "Memory", "--min", "Memory", "--max", "Memory"];
    assert_eq!(eval(&words), "2 ann 12.5 6.25 2.5 10\n1 bob 30 30.0 30 30\n");
    let csv = "Count,Owner,SumMemory,AvgMemory,MinMemory,MaxMemory\r\n2,ann,12.5,6.25,2.5,10\r\n1,bob,30,30.0,30,30\r\n";
    assert_eq!(eval(&[&words[..], &["--csv"]].concat()), csv);
    assert_eq!(eval(&["--sum", "ClusterId", "--max", "Owner"]), "3 6 bob\n");
    assert_eq!(eval(&["--sum", "Owner", "--avg", "Nothing"]), "3 0 undefined\n");
    let json: serde_json::Value = serde_json::from_str(&eval(&["--sum", "ClusterId", "--json"])).unwrap();
    assert_eq!((&json[0]["Count"], &json[0]["SumClusterId"]), (&3.into(), &6.into()));
}

#[test]
fn strings_are_sorted_in_descending_order_and_what_has_no_value_comes_last() {
    assert_eq!(eval(&["--sort", "Owner", "--reverse", "-af", "Owner"]), "bob\nann\nann\n");
    assert_eq!(eval(&["--sort", "Memory", "--reverse", "--limit", "1", "-af", "ClusterId"]), "2\n");
    assert_eq!(eval(&["--sort", "Note", "--reverse", "-af", "ClusterId"]), "1\n2\n3\n");
    let (status, _, err) = run(EVAL, &["--ads", "-", "--sort", "-Owner", "-af", "Owner"], Path::new("."));
    assert!(status == Some(0) && err.contains("a sort key is an error for 3 ads"), "{err}");
}

#[test]
fn a_stream_is_split_into_files_that_hold_all_of_it() {
    let home = tempfile::tempdir().unwrap();
    let (status, out, err) = run(EVAL, &["--ads", "-", "--split-by", "Owner", "out"], home.path());
    assert!(status == Some(0) && out.is_empty() && err.contains("3 ads in 2 files"), "{out}{err}");
    let (_, count, _) = run(EVAL, &["--ads", "out/ann.ads", "--count"], home.path());
    assert_eq!(count, "2\n");
    let (_, all, _) = run(EVAL, &["--ads", "out", "--sort", "ClusterId", "-af", "ClusterId"], home.path());
    assert_eq!(all, "1\n2\n3\n");
    // A second run replaces the files of the first.
    assert_eq!(run(EVAL, &["--ads", "-", "--split-by", "Owner", "out"], home.path()).0, Some(0));
    assert_eq!(run(EVAL, &["--ads", "out", "--count"], home.path()).1, "3\n");
}

#[test]
fn routed_jobs_are_rows_too() {
    let status = |words: &[&str]| run(STATUS, &[words, &["-"]].concat(), Path::new("."));
    let (code, out, err) = status(&["queue", "--csv", "--af=ClusterId,RouteName"]);
    assert_eq!((code, out.as_str()), (Some(0), "ClusterId,RouteName\r\n1,A\r\n2,B\r\n3,A\r\n"), "{err}");
    let (code, out, err) = status(&["queue", "--tsv"]);
    assert!(code == Some(0) && out.lines().next().unwrap().contains("route"), "{out}{err}");
    assert_eq!(out.lines().count(), 4, "{out}");
    let (code, out, _) = status(&["queue", "--null", "--af=ClusterId"]);
    assert_eq!((code, out.as_str()), (Some(0), "1\u{0}2\u{0}3\u{0}"));
    assert_eq!(status(&["queue", "--null"]).0, Some(2));
    let (code, out, err) =
        status(&["queue", "-c", "Owner == \"ann\"", "-c", "ClusterId > 1", "--af=ClusterId"]);
    assert_eq!((code, out.as_str()), (Some(0), "3\n"), "{err}");
}

#[test]
fn text_goes_through_json_undamaged_or_with_a_warning() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("a.json"), "{\"Owner\": \"Zo\\u00eb \\ud83d\\ude00\"}\n").unwrap();
    let (_, out, err) = run(EVAL, &["--ads", "a.json", "-af", "Owner"], home.path());
    assert_eq!((out.as_str(), err.as_str()), ("Zo\u{eb} \u{1f600}\n", ""));
    std::fs::write(home.path().join("latin.ads"), b"Owner = \"Zo\xeb\"\n").unwrap();
    for form in ["--json", "--jsonl"] {
        let output =
            Command::new(EVAL).args(["--ads", "latin.ads", form]).current_dir(home.path()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(err.contains("ad 1 of the output has text that is not UTF-8"), "{form}: {err}");
        assert_eq!(err.matches("warning:").count(), 1, "{err}");
    }
    std::fs::write(home.path().join("name.json"), "{\"X\\nOwner\": 1}\n").unwrap();
    let (_, _, err) = run(EVAL, &["--ads", "name.json", "--long"], home.path());
    assert!(err.contains("reads back as something else") || err.contains("read back"), "{err}");
}
