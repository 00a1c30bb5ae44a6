//! Tests of the output, messages and exit status of `htc-classad-eval`.

use std::io::Write;
use std::process::{Command, Stdio};

const JOBS: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ana\"\nCpus = 2\nMemory = Cpus * 1024\n\n\
                    ClusterId = 1\nProcId = 1\nOwner = \"bob\"\nCpus = 8\nBig = 10000000000\n\n\
                    ClusterId = 2\nProcId = 0\nOwner = \"ana\"\nCpus = 2\nBad = (\n";

/// Returns exit status, standard output and standard error of a call with the jobs on standard input.
fn call(words: &[&str]) -> (i32, String, String) {
    fed(words, JOBS)
}

fn fed(words: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_htc-classad-eval"))
        .args(words)
        .env("TZ", "UTC")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may end before it has read all input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn prints(words: &[&str], expected: &str) {
    let (status, out, err) = call(words);
    // The exit status is 3 if standard input has a line that cannot be read.
    let wanted = if err.contains("skipped: ") { 3 } else { 0 };
    assert_eq!((status, out.as_str()), (wanted, expected), "{words:?}: {err}");
}

#[test]
fn operands_are_processed_from_left_to_right() {
    prints(&["A=1", "A+1", "-quiet", "A=5", "-(A)", "-5 + 3"], "[ A = 1 ]\n2\n-5\n-2\n");
    prints(&["-parse", "a ?: 1 + 2"], "((a ?: 1) + 2)\n");
}

/// HTCondor's script ignores what follows an ad; here, the ad may be a part of an expression.
#[test]
fn an_operand_that_begins_with_an_ad_is_read_to_its_end() {
    prints(&["[a=1].a", "[a=1].a + 5", "[a=1][\"a\"]", "[a=1]", "a"], "1\n6\n1\n[ a = 1 ]\n1\n");
    for operand in ["[a=1] junk", "a=1] [b=2", "[a=1] [b=2]"] {
        let (status, out, err) = call(&[operand]);
        assert_eq!((status, out.as_str()), (2, ""), "{operand}: {err}");
        assert!(err.contains("expression:1:"), "{operand}: {err}");
    }
}

#[test]
fn references_of_an_expression_are_printed() {
    let (status, out, err) = call(&["-refs", "A=1", "A + b + TARGET.c"]);
    assert_eq!((status, out.as_str(), err.as_str()), (0, "internal: A\nexternal: b TARGET.c\n", ""));
    // An assignment alone evaluates nothing.
    assert!(call(&["A=1"]).2.contains("nothing was evaluated"));
}

#[test]
fn the_last_value_is_the_exit_status_on_request() {
    for (text, status) in [("true", 0), ("0", 1), ("nosuch", 4), ("1/0", 5)] {
        assert_eq!(call(&["-quiet", "-e", text]).0, status, "{text}");
    }
    for (text, what) in [
        ("\"x\"", "a string"),
        ("{true}", "a list"),
        ("{[a = true]}[0]", "an ad"),
        ("absTime(\"2026-01-01T00:00:00Z\")", "a time"),
    ] {
        let (status, _, err) = call(&["-e", text]);
        assert_eq!(status, 5, "{text}: {err}");
        assert_eq!(err.lines().count(), 1, "{text}: {err}");
        assert!(err.contains(&format!("the last value is {what}")), "{text}: {err}");
    }
    assert_eq!(call(&["-e", "2.5"]).0, 0);
}

#[test]
fn streams_are_filtered_sorted_counted_and_printed() {
    prints(
        &["-q", "-constraint", "Cpus < 4", "-af:j", "Owner", "Memory"],
        "1.0 ana 2048\n2.0 ana undefined\n",
    );
    prints(
        &["-q", "-c", "Memory > 2000", "-jsonl", "-attributes", "Owner,Memory"],
        "{\"Memory\": \"\\/Expr(Cpus * 1024)\\/\",\"Owner\": \"ana\"}\n",
    );
    prints(&["-q", "-sort", "-Cpus", "-limit", "1", "-af", "Owner"], "bob\n");
    prints(&["-q", "-unique", "-af", "Owner"], "ana\nbob\n");
    prints(&["-q", "-count", "-constraint", "Owner == \"ANA\""], "2\n");
    prints(&["-q", "-undefined", "-", "-af", "Memory"], "2048\n-\n-\n");
    prints(&["-q", "-constraint", "false", "-json"], "[\n]\n");
    prints(&["-q", "-ads", "-", "Cpus + 1"], "3\n9\n3\n");
}

#[test]
fn unreadable_input_is_reported_with_its_location() {
    let (status, out, err) = call(&["-count"]);
    assert_eq!((status, out.as_str()), (3, "3\n"));
    assert!(err.contains("standard input:17:8"), "{err}");
    let (status, _, err) = call(&["-strict-input", "-count"]);
    assert_eq!(status, 3, "{err}");
    let (status, out, err) = fed(&["-json"], "garbage\n");
    assert_eq!((status, out.as_str()), (3, ""), "{err}");
    assert_eq!(call(&["-ads", "/nonexistent", "-count"]).0, 3);
}

#[test]
fn misleading_input_is_always_reported() {
    let (status, out, err) = call(&["-constraint", "Owner = \"ana\"", "-af", "Owner"]);
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(err.contains("`==` and `=?=` compare") && err.contains("      ^"), "{err}");
    let (status, _, err) = call(&["-format", "%d\n", "Big"]);
    assert!(status == 2 && err.contains("%lld"), "{err}");
    let (status, _, err) = call(&["-constraint", "Owner", "-count"]);
    assert!(status == 3 && err.contains("neither true nor false for 3 ads"), "{err}");
    let (_, _, err) = call(&["Owner == 'ana'"]);
    assert!(err.contains("not a string"), "{err}");
    assert_eq!(call(&["-explian", "1"]).0, 2);
}

#[test]
fn an_explanation_names_the_clause_that_causes_the_result() {
    let (_, out, _) = call(&["-explain", "-quiet", "Cpus=1", "true && Cpus > 2 && nosuch"]);
    assert!(out.ends_with("why: `Cpus > 2` is false: Cpus is 1\n"), "{out}");
    let (_, out, _) = call(&["-explain", "-quiet", "1 + nosuch"]);
    assert!(out.ends_with("why: nosuch is missing\n"), "{out}");
}

#[test]
fn input_without_end_is_refused_in_bounded_memory() {
    let (large, little) = ("larger than 64 MiB", "no memory is left for an ad of more than");
    for (words, limit, expected) in [
        (&["-my-file", "/dev/zero", "1"][..], "600000", large),
        (&["--ads", "/dev/zero", "-count"], "600000", large),
        (&["--ads", "/dev/zero", "-count"], "70000", little),
    ] {
        let output = Command::new("sh")
            .args(["-c", "ulimit -v \"$0\"; exec \"$@\"", limit, env!("CARGO_BIN_EXE_htc-classad-eval")])
            .args(words)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{words:?}: {err}");
        assert!(err.contains(expected), "{words:?} {limit}: {err}");
    }
}

/// Returns the output of a call with the time zone in TZ.
fn in_zone(zone: &str, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_htc-classad-eval"))
        .args(words)
        .env("TZ", zone)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn local_time_is_that_of_the_zone_by_rule_and_by_name() {
    let words =
        ["-quiet", "absTime(0)", "absTime(\"2020-07-02T03:04:05\")", "formatTime(1593659045, \"%c %s\")"];
    // These lines were printed by classad_eval of HTCondor 25.14.
    let expected = "absTime(\"1969-12-31T19:00:00-05:00\")\nabsTime(\"2020-07-02T03:04:05-04:00\")\n\
                    \"Wed Jul  1 23:04:05 2020 1593662645\"\n";
    assert_eq!(in_zone("EST5EDT,M3.2.0,M11.1.0", &words), expected);
    if std::path::Path::new("/usr/share/zoneinfo/America/New_York").exists() {
        assert_eq!(in_zone("America/New_York", &words), expected);
        assert_eq!(in_zone(":America/New_York", &words), expected);
    }
    // The same applies to ads in a file.
    let ads = std::env::temp_dir().join(format!("zone-{}.ads", std::process::id()));
    std::fs::write(&ads, "T = absTime(\"2020-07-02T03:04:05\")\n").unwrap();
    let words = ["-ads", ads.to_str().unwrap(), "-af", "T"];
    assert_eq!(in_zone("EST5EDT,M3.2.0,M11.1.0", &words), "absTime(\"2020-07-02T03:04:05-04:00\")\n");
    std::fs::remove_file(&ads).unwrap();
}

#[test]
fn an_error_in_an_assignment_points_at_the_value() {
    let (status, _, err) = call(&["a = 2 +"]);
    assert_eq!(status, 2, "{err}");
    assert!(err.contains("expression:1:8: expected an operand") && err.contains("\n           ^\n"), "{err}");
    // A comparison that is written like an assignment is still reported.
    let (_, _, err) = call(&["1 = 2"]);
    assert!(err.contains("expression:1:3:") && err.contains("`==` and `=?=` compare"), "{err}");
}

#[test]
fn only_the_value_is_printed_if_no_ad_is_given() {
    prints(&["1+1"], "2\n");
    prints(&["1", "A=1", "A"], "1\n[ A = 1 ]\n1\n");
}

#[test]
fn a_repeated_attribute_is_printed_once_and_completely() {
    for (text, out) in [
        ("A = 1\nA = \"x\"\nA = \"y\"\n", "A = \"y\"\n\n"),
        ("A = 1\nA = \"x\"\nA = \"yz\"\nB = \"hello\"\n", "A = \"yz\"\nB = \"hello\"\n\n"),
    ] {
        assert_eq!(fed(&["-long"], text), (0, out.to_owned(), String::new()));
    }
}

#[test]
fn projected_and_whole_reading_give_the_same_output() {
    for text in [
        "A = 1\nB = \"x\0y\"\n\nA = 2\n",
        "A =\nB = 1\n",
        "A = \nB = 1\n\nA = 1\nB = 2\n",
        "\x0b# no comment = 1\nB = 3\n\n # a comment\nB = 4\n",
        "B = \"C:\\\"\nA = (\n\n--\nB = \x0b5\n",
        "x\n",
        "\0\0\0\0",
    ] {
        for words in [&["-c", "true"][..], &["-c", "A =!= 1", "-strict-input"]] {
            let columns = [words, &["-af", "A", "B"]].concat();
            // An assignment makes the program read whole ads.
            let whole = [&["Unheard=1"], &columns[..]].concat();
            assert_eq!(fed(&columns, text), fed(&whole, text), "{text:?} {words:?}");
        }
        let (status, lines, err) = fed(&["-c", "true", "-jsonl", "-attributes", "A,B"], text);
        let (whole_status, whole_lines, whole_err) = fed(&["-jsonl", "-attributes", "A,B"], text);
        assert_eq!((status, lines, err), (whole_status, whole_lines, whole_err), "{text:?}");
    }
}

#[test]
fn strict_input_accepts_only_attributes() {
    let (status, out, err) = fed(&["-strict-input", "-long"], "A = 1\n2026 x [1] y = 2 in 3\n");
    assert_eq!((status, out.as_str()), (3, ""), "{err}");
    assert!(err.contains("standard input:2:1") && err.contains("not a valid identifier"), "{err}");
    let (status, _, err) = fed(&["-strict-input", "-c", "true", "-af", "A"], "A = 2 in 3\n");
    assert!(status == 3 && err.contains("standard input:1:7"), "{err}");
    assert_eq!(
        fed(&["-strict-input", "-af", "A"], "A = \"x\" \nB = 1 + 1\n"),
        (0, "x\n".to_owned(), String::new())
    );
}

#[test]
fn a_list_of_no_ads_is_read_back_in_every_form() {
    for form in ["-long", "-json", "-jsonl", "-new", "-xml"] {
        let (status, empty, err) = fed(&[form], "");
        assert_eq!((status, err.as_str()), (0, ""), "{form}");
        assert_eq!(fed(&["-count"], &empty), (0, "0\n".to_owned(), String::new()), "{form}: {empty}");
    }
    assert_eq!(fed(&["-count"], "<html></html>").0, 3);
}

#[test]
fn values_that_the_long_form_cannot_express_are_reported() {
    let text = "[ A = \"one\\nB = 2\" ]\n[ C = 1 ]\n";
    let (status, out, err) = fed(&["-long"], text);
    assert_eq!((status, out.as_str()), (0, "A = \"one\nB = 2\"\n\nC = 1\n\n"));
    assert!(err.contains("'A' of ad 1") && err.lines().count() == 2, "{err}");
    assert_eq!(fed(&["-long", "-q"], text).2, "");
    assert_eq!(fed(&["-json"], text).2, "");
}

#[test]
fn several_threads_print_the_same_as_one() {
    let mut text = String::new();
    for number in 0..40_000 {
        let owner = ["ana", "bob", "eve"][number % 3];
        text += &format!(
            "ClusterId = {number}\nProcId = 0\nOwner = \"{owner}\"\nCpus = {}\nTwice = Cpus * 2\n",
            number % 7
        );
        if number % 1_999 == 7 {
            text += "Bad = (\n";
        }
        if number % 5_000 == 4_999 {
            text += "Odd = \"a \\\"b\\\\\"\n";
        }
        text += ["\n", "*** banner\n", "\n\n \n"][number % 3];
    }
    let place = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(place.path(), text).unwrap();
    let file = place.path().to_str().unwrap();
    for words in [
        &["--constraint", "Cpus > 2 && Owner == \"ana\"", "--af", "ClusterId", "Owner", "Twice"][..],
        &["--constraint", "Owner", "--af", "ClusterId"],
        &["--constraint", "Cpus == 3", "--count"],
        &["--jsonl", "--strict-input"],
        &["--long", "--constraint", "Cpus == 3"],
        &["--exit-status", "Cpus"],
        &["--json", "--constraint", "Cpus == 3"],
        &["--limit", "3", "--af", "ClusterId"],
    ] {
        let with = |threads: &str| fed(&[words, &["--ads", file, "--threads", threads]].concat(), "");
        let one = with("1");
        for threads in ["2", "5"] {
            let (status, out, err) = with(threads);
            assert!((status, &out) == (one.0, &one.1), "{words:?} {threads}: {status}, {} bytes", out.len());
            assert_eq!(err, one.2, "{words:?} {threads}");
        }
    }
    assert_eq!(fed(&["--ads", "-", "--threads", "0"], "A = 1\n").0, 2);
}

#[test]
fn an_expression_or_column_that_names_a_file_gets_a_hint() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("jobs.ads"), JOBS).unwrap();
    for words in [&["jobs.ads"][..], &["-af", "Owner", "jobs.ads"]] {
        let program = env!("CARGO_BIN_EXE_htc-classad-eval");
        let output = Command::new(program)
            .args(words)
            .current_dir(place.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("hint: --ads jobs.ads reads the ads of the file\n"), "{words:?}: {stderr}");
    }
}

#[test]
fn a_word_that_names_a_file_and_not_an_attribute_gets_a_hint() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("j"), JOBS).unwrap();
    let hints = |words: &[&str]| {
        let program = env!("CARGO_BIN_EXE_htc-classad-eval");
        let output = Command::new(program)
            .args(words)
            .current_dir(place.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap().matches("hint: --ads j reads the ads of the file\n").count()
    };
    assert_eq!(hints(&["j"]), 1);
    assert_eq!(hints(&["j=1", "j"]), 0);
    assert_eq!(hints(&["j + 1"]), 0);
    assert_eq!(hints(&["-quiet", "J"]), 0);
}
