//! Tests of rows in formats for other programs, of aggregates, and of streams in files.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");
const STATUS: &str = env!("CARGO_BIN_EXE_htc-router-status");
const TRANSLATE: &str = env!("CARGO_BIN_EXE_htc-router-translate");
const HOOK_TEST: &str = env!("CARGO_BIN_EXE_htc-hook-test");

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
    // A program that refuses its command line does not read its input.
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
    assert_eq!(eval(&["--sum", "ClusterId", "--max", "Owner"]), "6 bob\n");
    assert_eq!(eval(&["--sum", "ClusterId", "--quiet"]), "6\n");
    let (status, out, err) = run(EVAL, &["--sum", "Owner", "--avg", "Nothing", "--ads", "-"], Path::new("."));
    assert_eq!((status, out.as_str()), (Some(0), "0 undefined\n"), "{err}");
    assert!(err.contains("'Nothing' is not in any of the 3 ads"), "{err}");
    assert!(err.contains("--sum Owner left out 3 values (not a number)"), "{err}");
    let (status, _, err) = run(EVAL, &["--sum", "Note", "--ads", "-"], Path::new("."));
    assert!(status == Some(0) && err.contains("--sum Note left out 1 value (not a number)"), "{err}");
    let (_, _, err) = run(EVAL, &["--sum", "Owner", "-q", "--ads", "-"], Path::new("."));
    assert_eq!(err, "");
    let (_, _, err) = run(EVAL, &["--max", "Memory/0", "--sum", "Memory", "--ads", "-"], Path::new("."));
    assert!(err.contains("--max Memory / 0 left out 3 values (error)"), "{err}");
    let (status, out, err) = run(EVAL, &["--count-by", "Owner", "--reverse", "--ads", "-"], Path::new("."));
    assert!(
        status == Some(2) && out.is_empty() && err.contains("--reverse has no effect without --sort"),
        "{err}"
    );
    let json: serde_json::Value = serde_json::from_str(&eval(&["--sum", "ClusterId", "--json"])).unwrap();
    assert_eq!((&json[0]["Count"], &json[0]["SumClusterId"]), (&3.into(), &6.into()));
}

#[test]
fn missing_values_come_last_in_descending_order_too() {
    assert_eq!(eval(&["--sort", "Owner", "--reverse", "-af", "Owner"]), "bob\nann\nann\n");
    assert_eq!(eval(&["--sort", "Memory", "--reverse", "--limit", "1", "-af", "ClusterId"]), "2\n");
    assert_eq!(eval(&["--sort", "Note", "--reverse", "-af", "ClusterId"]), "1\n2\n3\n");
    let (status, _, err) = run(EVAL, &["--ads", "-", "--sort", "-Owner", "-af", "Owner"], Path::new("."));
    assert!(status == Some(0) && err.contains("a sort key is an error for 3 ads"), "{err}");
}

#[test]
fn split_files_contain_the_whole_stream() {
    let home = tempfile::tempdir().unwrap();
    let (status, out, err) = run(EVAL, &["--ads", "-", "--split-by", "Owner", "out"], home.path());
    assert!(status == Some(0) && out.is_empty() && err.contains("3 ads in 2 files"), "{out}{err}");
    let (_, count, _) = run(EVAL, &["--ads", "out/ann.ads", "--count"], home.path());
    assert_eq!(count, "2\n");
    let (_, all, _) = run(EVAL, &["--ads", "out", "--sort", "ClusterId", "-af", "ClusterId"], home.path());
    assert_eq!(all, "1\n2\n3\n");
    // A second run replaces the files of the first run.
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
    let (code, out, err) = status(&["queue", "--null"]);
    assert!(code == Some(0) && out.matches('\0').count() == 3 && !out.contains('\n'), "{out:?}{err}");
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

#[test]
fn routed_jobs_are_sorted_and_limited() {
    let status =
        |words: &[&str]| run(STATUS, &[&["queue", "--af=ClusterId"], words, &["-"]].concat(), Path::new("."));
    assert_eq!(status(&["--sort", "Memory"]).1, "3\n1\n2\n");
    assert_eq!(status(&["--sort", "Memory", "--reverse", "--limit", "2"]).1, "2\n1\n");
    assert_eq!(status(&["--limit", "1"]).1, "1\n");
    assert_eq!(status(&["--sort", "Owner", "--sort", "-ClusterId"]).1, "3\n1\n2\n");
    let rows = |words: &[&str]| run(STATUS, &[words, &["-"]].concat(), Path::new("."));
    let routes = |out: &str| {
        let name = |line: &str| line.split(',').next().unwrap().to_owned();
        out.lines().skip(1).map(name).collect::<String>()
    };
    assert_eq!(routes(&rows(&["queue", "--by", "route", "--csv"]).1), "AB");
    assert_eq!(routes(&rows(&["queue", "--by", "route", "--csv", "--sort", "jobs"]).1), "BA");
    assert_eq!(routes(&rows(&["queue", "--by", "route", "--csv", "--sort", "route", "--reverse"]).1), "BA");
    assert_eq!(routes(&rows(&["queue", "--by", "route", "--csv", "--limit", "1"]).1), "A");
    // With --sort, all records of a history are sorted before the limit applies.
    let (code, out, err) = rows(&["history", "--sort", "Memory", "--limit", "1", "--af=ClusterId"]);
    assert_eq!((code, out.as_str()), (Some(0), "3\n"), "{err}");
    let (_, out, err) = rows(&["queue", "--sort", "-Owner", "--af=ClusterId"]);
    assert!(out == "1\n2\n3\n" && err.contains("a sort key is an error for 3 ads"), "{out}{err}");
}

#[test]
fn routed_jobs_are_counted_and_added_up() {
    let rows = |words: &[&str]| run(STATUS, &[words, &["-"]].concat(), Path::new("."));
    for verb in ["queue", "history"] {
        let (code, out, err) = rows(&[verb, "--count-by", "Owner", "--sum", "Memory", "--max", "ClusterId"]);
        assert_eq!((code, out.as_str()), (Some(0), "2 ann 12.5 3\n1 bob 30 2\n"), "{verb}: {err}");
    }
    let (_, out, _) = rows(&["queue", "--avg", "Memory", "--min", "Memory", "--csv"]);
    assert_eq!(out, "Count,AvgMemory,MinMemory\r\n3,14.16666666666667,2.5\r\n");
    let (_, out, _) = rows(&["queue", "--count-by", "Owner", "--jsonl", "--limit", "1"]);
    assert_eq!(out, "{\"Count\": 2,\"Owner\": \"ann\"}\n");
    for words in [
        &["doctor", "--count-by", "Owner"][..],
        &["queue", "--count-by", "Owner", "--by", "route"],
        &["queue", "--count-by", "Owner", "--af=Owner"],
        &["queue", "--sum", "Memory", "--sort", "Owner"],
        &["queue", "--openmetrics", "--sort", "Owner"],
        &["queue", "--openmetrics", "--limit", "1"],
        &["queue", "--openmetrics", "--count-by", "Owner"],
        &["queue", "--count-by", "Owner =="],
    ] {
        let (code, out, err) = rows(words);
        assert!(code == Some(2) && out.is_empty() && !err.is_empty(), "{words:?}: {out}{err}");
    }
}

#[test]
fn jobs_are_selected_before_they_are_routed_or_transformed() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("r.xfm"), "SET Seen true\n").unwrap();
    let config =
        "JOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=e\nUNIVERSE vanilla\nREQUIREMENTS true\n@e\n";
    std::fs::write(home.path().join("router.config"), config).unwrap();
    let translate = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        run(env!("CARGO_BIN_EXE_htc-router-translate"), &words, home.path())
    };
    let ids =
        |out: &str| out.lines().filter(|line| line.starts_with("ClusterId")).collect::<Vec<_>>().join(" ");
    let (_, out, err) = translate("transform -r r.xfm -c Owner==\"ann\" -");
    assert_eq!(ids(&out), "ClusterId = 1 ClusterId = 3", "{err}");
    let (_, out, _) = translate("transform -r r.xfm -c Owner==\"ann\" --limit 1 -");
    assert_eq!(ids(&out), "ClusterId = 1");
    let (code, out, err) = translate("transform -r r.xfm -c Owner== -");
    assert!(code == Some(2) && out.is_empty() && err.contains("--constraint"), "{err}");
    let (_, out, err) = translate("match --config-file router.config -c ClusterId>1 --limit 1 --csv -");
    assert!(out.starts_with("job,route,reason\r\n2.0,") && out.lines().count() == 2, "{out}{err}");
    let (_, out, _) = translate("match --config-file router.config --summary --tsv -");
    assert!(out.starts_with("route\tjobs\nA\t") && out.lines().count() == 3, "{out}");
    let (code, _, err) = translate("match --config-file router.config --explain --csv -");
    assert!(code == Some(2) && err.contains("--csv cannot be used with --explain"), "{err}");
}

#[test]
fn verdicts_and_parameters_are_rows_too() {
    let home = tempfile::tempdir().unwrap();
    crate::support::children::write_executable(&home.path().join("hook"), b"#!/bin/sh\ncat >/dev/null\n");
    let hook = |words: &[&str]| {
        let words = [&["prepare", "./hook", "--ads", "-", "-q"][..], words].concat();
        run(env!("CARGO_BIN_EXE_htc-hook-test"), &words, home.path())
    };
    let (code, out, err) = hook(&["--summary", "--csv"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("ads,verdict,good,hold_code,hold_subcode,first,reason\r\n3,"), "{out}");
    let (_, out, _) = hook(&["--summary", "--jsonl"]);
    let row: serde_json::Value = serde_json::from_str(out.trim()).unwrap();
    assert_eq!((&row["ads"], &row["good"]), (&3.into(), &true.into()));
    assert_eq!(hook(&["--csv"]).0, Some(2));
    std::fs::write(home.path().join("c.conf"), "A = 1\nB = $(A)2\n").unwrap();
    let config = |words: &[&str]| {
        run(
            env!("CARGO_BIN_EXE_htc-config-dump"),
            &[&["--config-file", "c.conf"], words].concat(),
            home.path(),
        )
    };
    let (code, out, err) = config(&["B", "--csv"]);
    assert_eq!(code, Some(0), "{err}");
    let rows: Vec<&str> = out.lines().collect();
    assert!(
        rows[0] == "name,value,expanded,source,line"
            && rows[1].starts_with("B,$(A)2,12,")
            && rows[1].ends_with(",2"),
        "{out}"
    );
    assert!(config(&["--dump", "--tsv"]).1.lines().count() > 2);
    assert_eq!(config(&["--why", "B", "--csv"]).0, Some(2));
}

#[test]
fn integers_beyond_64_bits_are_reported() {
    let home = tempfile::tempdir().unwrap();
    let big = "12345678901234567890";
    for (name, text) in [
        ("a.ads", format!("A = {big}\nB = \"{big}\"\nC = {big}.5\n\nA = {big}\n")),
        ("b.ads", format!("A = B + {big}\n")),
        ("c.json", format!("{{\"A\": {big}, \"B\": \"{big}\"}}\n")),
        ("d.ads", format!("[ A = {big}; B = \"{big}\" ]\n")),
        ("e.xml", format!("<c><a n=\"A\"><e>B &lt; {big}</e></a></c>\n")),
    ] {
        std::fs::write(home.path().join(name), text).unwrap();
        for threads in ["1", "3"] {
            let (code, _, err) = run(EVAL, &["--ads", name, "--long", "--threads", threads], home.path());
            assert_eq!(code, Some(0), "{name}: {err}");
            assert!(
                err.contains(&format!("{name}:1:"))
                    && err.contains(&format!("{big} does not fit in 64 bits and is read as 0")),
                "{name}: {err}"
            );
        }
    }
    // In XML, the value of an integer attribute is an error, as in the reference.
    std::fs::write(
        home.path().join("i.xml"),
        format!("<classads>\n<c>\n<a n=\"A\"><i>-{big}</i></a>\n<a n=\"B\"><s>{big}</s></a></c></classads>"),
    )
    .unwrap();
    let (_, out, err) = run(EVAL, &["--ads", "i.xml", "--long"], home.path());
    assert!(out.contains("A = error") && err.contains("i.xml:3:"), "{out}{err}");
    assert!(err.contains(&format!("{big} does not fit in 64 bits and is an error")), "{err}");
    assert_eq!(err.matches("64 bits").count(), 1, "{err}");
    std::fs::write(
        home.path().join("e.ads"),
        "A = 9223372036854775807\nB = -9223372036854775808\nC = \"12345678901234567890\"\n",
    )
    .unwrap();
    let (_, out, err) = run(EVAL, &["--ads", "e.ads", "--long"], home.path());
    assert!(out.contains("A = 9223372036854775807") && !err.contains("A ="), "{out}{err}");
    assert!(!err.contains(":1:"), "{err}");
}

#[test]
fn json_is_read_as_the_reference_reads_it_on_request() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(
        home.path().join("a.json"),
        "{\"Owner\": \"Zo\\u00eb\", \"Cmd\": \"/bin/true\", \"Iwd\": \"/\"}\n",
    )
    .unwrap();
    std::fs::write(home.path().join("r.xfm"), "SET Seen true\n").unwrap();
    for (program, line) in [
        (EVAL, "--ads a.json --long"),
        (env!("CARGO_BIN_EXE_htc-router-translate"), "transform -r r.xfm a.json"),
    ] {
        for (quirks, expected) in
            [("none", "Owner = \"Zo\u{eb}\""), ("reference", "Owner = \"Zo\\003\\001\"")]
        {
            let words: Vec<&str> = line.split(' ').chain(["--quirks", quirks]).collect();
            let output = Command::new(program).args(&words).current_dir(home.path()).output().unwrap();
            let out = String::from_utf8_lossy(&output.stdout).into_owned();
            let raw = expected.replace("\\003\\001", "\u{3}\u{1}");
            assert!(out.contains(expected) || out.contains(&raw), "{program} {quirks}: {out}");
        }
    }
}

/// All verbs that read ads have the option --from.
#[test]
fn the_format_of_the_input_can_be_named_everywhere() {
    let home = tempfile::tempdir().unwrap();
    // By default, this long ad would be detected as JSON.
    std::fs::write(
        home.path().join("x"),
        "{\"ClusterId\": 1, \"ProcId\": 0, \"RouteName\": \"A\", \"Cmd\": \"/bin/true\", \"Iwd\": \"/\"}\n",
    )
    .unwrap();
    std::fs::write(home.path().join("r.xfm"), "SET Seen true\n").unwrap();
    crate::support::children::write_executable(&home.path().join("hook"), b"#!/bin/sh\ncat >/dev/null\n");
    for (program, line) in [
        (EVAL, "--ads x -af ClusterId"),
        (env!("CARGO_BIN_EXE_htc-router-translate"), "transform -r r.xfm x"),
        (STATUS, "queue x"),
        (env!("CARGO_BIN_EXE_htc-hook-test"), "prepare ./hook --ads x"),
        (env!("CARGO_BIN_EXE_htc-starter-run"), "--dry-run --ads x"),
    ] {
        let status = |form: &str| {
            let words: Vec<&str> = line.split(' ').chain(["--from", form]).collect();
            let output = Command::new(program)
                .args(&words)
                .current_dir(home.path())
                .env("CONDOR_CONFIG", "ONLY_ENV")
                .output()
                .unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let (json, err) = status("json");
        assert!(json == Some(0) || json == Some(1), "{program}: {err}");
        // Other formats cannot be read as the long form.
        let (_, err) = status("long");
        assert!(!err.is_empty(), "{program}");
        let (bad, err) = status("yaml");
        assert!(
            bad == Some(2) && err.contains("expected long, json, jsonl, xml, new or newl"),
            "{program}: {err}"
        );
    }
}

/// Ads are sorted by keys of any type before they are matched, transformed or given to a hook.
#[test]
fn ads_are_sorted_before_they_are_processed() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("r.xfm"), "SET Seen true\n").unwrap();
    let config =
        "JOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=e\nUNIVERSE vanilla\nREQUIREMENTS true\n@e\n";
    std::fs::write(home.path().join("router.config"), config).unwrap();
    crate::support::children::write_executable(&home.path().join("hook"), b"#!/bin/sh\ncat >/dev/null\n");
    let translate = env!("CARGO_BIN_EXE_htc-router-translate");
    let ids = |program: &str, line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let (_, out, err) = run(program, &words, home.path());
        let id = |line: &str| line.strip_prefix("ClusterId = ").map(str::to_owned);
        (out.lines().filter_map(id).collect::<String>(), err)
    };
    let hook = env!("CARGO_BIN_EXE_htc-hook-test");
    for (program, verb) in [
        (translate, "transform -r r.xfm"),
        (translate, "transform -r r.xfm --threads 3"),
        (hook, "prepare ./hook -q"),
    ] {
        let call = |more: &str| ids(program, &format!("{verb} {more} --ads -"));
        assert_eq!(call("--sort Memory").0, "312", "{verb}");
        assert_eq!(call("--sort Memory --reverse --limit 2").0, "21", "{verb}");
        assert_eq!(call("--sort Owner --sort -ClusterId").0, "312", "{verb}");
        assert_eq!(call("--sort Memory -c Owner==\"ann\"").0, "31", "{verb}");
        let (order, err) = call("--sort -Owner");
        assert!(order == "123" && err.contains("a sort key is an error for 3 ads"), "{verb}: {order}{err}");
        let (code, out, err) = run(
            program,
            &[&verb.split(' ').collect::<Vec<_>>()[..], &["--sort", "A +", "--ads", "-"]].concat(),
            home.path(),
        );
        assert!(code == Some(2) && out.is_empty() && err.contains("--sort A +"), "{verb}: {err}");
    }
    let matched = |more: &str| {
        let line = format!("match --config-file router.config {more} -");
        run(translate, &line.split(' ').collect::<Vec<_>>(), home.path()).1
    };
    assert_eq!(
        matched("--sort Memory --reverse --csv"),
        "job,route,reason\r\n2.0,,\r\n1.0,,\r\n3.0,,\r\n".replace(
            ",,",
            &format!(
                ",{}",
                matched("--csv --limit 1").lines().nth(1).unwrap().split_once(',').unwrap().1.trim()
            )
        )
    );
    assert_eq!(matched("-0 --limit 2").matches('\0').count(), 2);
    assert!(!matched("--null").contains("reason"));
    let (code, _, err) = run(hook, &["prepare", "./hook", "-c", "false", "--ads", "-"], home.path());
    assert!(code == Some(3) && err.contains("no ad was selected"), "{err}");
    let (code, _, err) =
        run(hook, &["prepare", "./hook", "--sample-job", "vanilla", "-c", "true"], home.path());
    assert!(code == Some(2) && err.contains("--constraint applies only to ads"), "{err}");
}

/// Findings, checks, slots, offers, routes and differences can be printed as rows.
#[test]
fn reports_are_rows_in_every_form() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).unwrap();
    write("wrong.conf", "STARTD_CRON_X_PERIODE = 5m\nMEMORY = 64GB\nA = 1\n");
    write(
        "slots.conf",
        "NUM_CPUS = 4\nMEMORY = 400\nSTART = Owner == \"ann\"\nNUM_SLOTS = 2\nLOG = .\nEXECUTE = .\n",
    );
    write("other.conf", "NUM_CPUS = 5\nMEMORY = 400\nSTART = true\nNUM_SLOTS = 2\nLOG = .\nEXECUTE = .\n");
    write(
        "router.config",
        "JOB_ROUTER_ROUTE_NAMES = A B\nJOB_ROUTER_ROUTE_A @=e\nUNIVERSE vanilla\nREQUIREMENTS true\n@e\nJOB_ROUTER_ROUTE_B @=e\nUNIVERSE vanilla\nREQUIREMENTS true\n@e\n",
    );
    write("router.toml", "length = \"1h\"\n[[jobs]]\nat = 0\ncount = 2\nrun = \"5m\"\n");
    write("slots.toml", "length = \"1h\"\n[[jobs]]\nat = 0\ncount = 2\nrun = \"5m\"\n");
    let call = |line: &str| {
        let (program, words) = line.split_once(' ').unwrap();
        let program = match program {
            "config-dump" => env!("CARGO_BIN_EXE_htc-config-dump"),
            "slot-run" => env!("CARGO_BIN_EXE_htc-slot-run"),
            _ => env!("CARGO_BIN_EXE_htc-router-translate"),
        };
        run(program, &words.split(' ').collect::<Vec<_>>(), home.path())
    };
    for (line, first, key) in [
        ("config-dump lint -q wrong.conf", "rule,severity,file,line,", "line"),
        ("translate lint -q wrong.conf", "rule,severity,file,line,", "line"),
        (
            "config-dump compare slots.conf other.conf",
            "name,daemons,before,before_origin,after,after_origin",
            "name",
        ),
        ("slot-run doctor --config-file slots.conf", "subject,standing,found,todo", "subject"),
        ("slot-run explain --ads - --config-file slots.conf", "slot,job,accepted,reason,details", "job"),
        (
            "slot-run explain --summary --ads - --config-file slots.conf",
            "first,last,jobs,slots,accepting_slots,",
            "jobs",
        ),
        (
            "slot-run explain --by-slot --ads - --config-file slots.conf",
            "first,slots,jobs,accepted_jobs,",
            "slots",
        ),
        ("translate simulate --config-file router.config router.toml", "", "routed"),
        ("slot-run simulate --config-file slots.conf slots.toml", "name,", "name"),
    ] {
        let (code, csv, err) = call(&format!("{line} --csv"));
        let rows = csv.split("\r\n").count() - 2;
        assert!(
            code.is_some_and(|code| code < 2) && csv.starts_with(first) && rows > 0,
            "{line}: {csv}{err}"
        );
        let (_, tsv, _) = call(&format!("{line} --tsv"));
        assert!(tsv.lines().count() == rows + 1 && tsv.contains('\t'), "{line}: {tsv}");
        let (_, null, _) = call(&format!("{line} -0"));
        assert_eq!(null.matches('\0').count(), rows, "{line}: {null}");
        if line.contains("explain") {
            continue;
        }
        let (_, sorted, err) = call(&format!("{line} --tsv --sort {key}"));
        let (_, reversed, _) = call(&format!("{line} --tsv --sort {key} --reverse --limit 1"));
        assert_eq!(sorted.lines().count(), rows + 1, "{line}: {err}");
        assert_eq!(reversed.lines().count(), 2, "{line}: {reversed}");
        let column = sorted.lines().next().unwrap().split('\t').position(|name| name == key).unwrap();
        let cell = |row: &str| row.split('\t').nth(column).unwrap().to_owned();
        assert_eq!(cell(reversed.lines().nth(1).unwrap()), cell(sorted.lines().last().unwrap()), "{line}");
        let (code, out, err) = call(&format!("{line} --sort {key}=="));
        assert!(code == Some(2) && out.is_empty(), "{line}: {out}{err}");
        assert_eq!(call(&format!("{line} --csv --json")).0, Some(2), "{line}");
    }
    let (_, ads, err) = call("slot-run ads --config-file slots.conf --sort SlotID --reverse --limit 1");
    assert!(ads.contains("SlotID = 2") && ads.matches("SlotID = ").count() == 1, "{ads}{err}");
    assert_eq!(call("slot-run ads --config-file slots.conf -c false").1, "");
    let (_, offers, _) = call("slot-run explain --ads - --config-file slots.conf --csv -c Owner==\"bob\"");
    assert!(offers.contains(",2.0,") && !offers.contains(",1.0,"), "{offers}");
    let (code, _, err) = call("slot-run explain --ads - --config-file slots.conf -c false");
    assert!(code == Some(0) && !err.contains("no ad"), "{err}");
    for line in [
        "slot-run explain --ads - --config-file slots.conf --reverse",
        "slot-run simulate --config-file slots.conf slots.toml --events --csv",
        "slot-run simulate --config-file slots.conf slots.toml --why 1.0 --sort name",
        "translate simulate --config-file router.config router.toml --events --csv",
        "translate simulate --config-file router.config router.toml --events --limit 1",
        "config-dump lint --diff --csv wrong.conf",
        "config-dump lint --format sarif --sort line wrong.conf",
        "config-dump compare slots.conf other.conf --sort name",
        "config-dump --why LOG -0",
    ] {
        let (code, out, err) = call(line);
        assert!(code == Some(2) && out.is_empty() && !err.is_empty(), "{line}: {code:?} {out}{err}");
    }
}

#[test]
fn pairs_of_ads_are_rows_with_and_without_their_reasons() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).unwrap();
    write(
        "slots.ads",
        "Name = \"s1\"\nRequirements = TARGET.Memory <= 10\nRank = 1\n\nName = \"s2\"\nRequirements = true\n",
    );
    write("jobs.ads", "Name = \"a\"\nMemory = 20\nRequirements = true\nRank = TARGET.Name == \"s2\"\n");
    let ask = |words: &[&str]| {
        let words = [&["--ads", "jobs.ads", "--match", "slots.ads"], words].concat();
        let (status, out, err) = run(EVAL, &words, home.path());
        assert_eq!(status, Some(i32::from(words.contains(&"-e") && out.is_empty())), "{words:?}: {err}");
        out
    };
    assert_eq!(ask(&["--csv"]), "ad,match\r\na,s2\r\n");
    assert_eq!(ask(&["--tsv", "--rank"]), "ad\tmatch\trank\na\ts2\t1.0\n");
    assert_eq!(ask(&["--null"]), "a\ts2\0");
    assert_eq!(ask(&["-af", "Memory", "TARGET.Name", "--csv"]), "Memory,TARGET.Name\r\n20,s2\r\n");
    assert_eq!(ask(&["-af", "Memory", "-0"]), "20\0");
    let explained = ask(&["--explain", "--csv"]);
    let lines: Vec<&str> = explained.lines().collect();
    assert_eq!(lines[0], "match,left,left_requirements,left_why,right,right_requirements,right_why");
    assert!(lines[1].starts_with("false,a,true,,s1,false,") && lines[1].contains("Memory"), "{explained}");
    assert_eq!(lines[2..], ["true,a,true,,s2,true,"]);
    let summary = ask(&["--explain", "--summary", "--csv"]);
    assert!(summary.lines().count() == 2 && summary.contains(",accepting_slots"), "{summary}");
    let words = ["--ads", "jobs.ads", "--match", "slots.ads", "--count", "--csv"];
    assert_eq!(run(EVAL, &words, home.path()).0, Some(2));
}

#[test]
fn comparisons_and_suites_are_rows() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).unwrap();
    write("a.xfm", "SET A 1\n");
    write("b.xfm", "SET A 2\n");
    let compare = |words: &[&str]| run(TRANSLATE, &[&["compare"], words].concat(), home.path());
    let (status, out, err) = compare(&["a.xfm", "a.xfm", "--csv"]);
    assert_eq!(
        (status, out.as_str()),
        (Some(0), "generated,given,same,unreached\r\n0,0,true,[]\r\n"),
        "{err}"
    );
    let (status, out, err) = compare(&["a.xfm", "b.xfm", "--tsv"]);
    assert_eq!(status, Some(1), "{err}");
    assert!(out.starts_with("same\tgiven\tchanged\tad\tleft\tright\nfalse\t0\t0\t{}\t"), "{out}");
    assert_eq!(out.lines().count(), 2, "{out}");
    assert!(compare(&["a.xfm", "b.xfm", "--null"]).1.ends_with('\0'));
    write(
        "suite.toml",
        "[[case]]\nname = \"one\"\nhook = \"hook\"\ntype = \"prepare\"\n[case.expect]\nverdict = \"go-on\"\n",
    );
    write("hook", "#!/bin/sh\necho 'A = 1'\n");
    let hook = home.path().join("hook");
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let suite = |words: &[&str]| run(HOOK_TEST, &[&["run", "suite.toml"], words].concat(), home.path());
    let (_, out, err) = suite(&["--list", "--csv"]);
    assert!(out.starts_with("case\r\n") && out.contains("one"), "{out}{err}");
    let (_, out, err) = suite(&["--csv"]);
    assert!(out.starts_with("case,") && out.lines().count() == 2 && out.contains("one,"), "{out}{err}");
    assert_eq!(suite(&["--tap", "--csv"]).0, Some(2));
}

/// On a terminal, numbers have a heading; in a pipe, only the rows are printed.
#[test]
fn aggregates_have_a_heading_on_terminals() {
    let size = nix::pty::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("ads"), "Owner = \"ann\"\nMemory = 10\n").unwrap();
    let shown = |words: &[&str]| {
        let terminal = nix::pty::openpty(&size, None).unwrap();
        let mut command = Command::new(EVAL);
        command.args(["--ads", "ads", "--count-by", "Owner", "--sum", "Memory"]).args(words);
        let mut child = command.current_dir(home.path()).stdout(Stdio::from(terminal.slave)).spawn().unwrap();
        assert!(child.wait().unwrap().success());
        drop(command);
        let mut shown = Vec::new();
        // Reading a terminal that was closed ends with an error.
        let _ = std::io::Read::read_to_end(&mut std::fs::File::from(terminal.master), &mut shown);
        String::from_utf8_lossy(&shown).replace("\r\n", "\n")
    };
    assert_eq!(shown(&[]), "Count Owner SumMemory\n    1 ann 10\n");
    assert_eq!(shown(&["--quiet"]), "1 ann 10\n");
}

#[test]
fn rows_have_a_header_even_if_there_are_none() {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in [("a.conf", "START = True\n"), ("b.conf", "START = (1\n")] {
        std::fs::write(place.path().join(name), text).unwrap();
    }
    const DUMP: &str = env!("CARGO_BIN_EXE_htc-config-dump");
    let first = |program: &str, words: &[&str]| {
        let (status, out, err) = run(program, &[words, &["--csv"]].concat(), place.path());
        assert!(status.is_some_and(|status| status <= 1), "{words:?}: {err}");
        (out.lines().next().unwrap_or_default().to_owned(), out.lines().count())
    };
    for (program, some, none) in [
        (STATUS, &["-"][..], &["-", "-c", "false"][..]),
        (STATUS, &["--by", "user", "-"], &["--by", "user", "-", "-c", "false"]),
        (DUMP, &["compare", "--no-env", "a.conf", "b.conf"], &["compare", "--no-env", "a.conf", "a.conf"]),
        (DUMP, &["lint", "--no-env", "b.conf"], &["lint", "--no-env", "a.conf"]),
    ] {
        let (header, count) = first(program, some);
        assert!(count > 1, "{some:?}: {header}");
        assert_eq!(first(program, none), (header, 1), "{none:?}");
    }
}
