//! Tests of files with many ads: one hook for all of them, and all formats that contain ads.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::support::children::write_executable;

/// Returns exit status, standard output and standard error of a program that runs in a directory.
fn call(program: &str, words: &[&str], directory: &Path) -> (i32, String, String) {
    let output = Command::new(program)
        .args(words)
        .current_dir(directory)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .env("TZ", "UTC")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

const HOOK_TEST: &str = env!("CARGO_BIN_EXE_htc-hook-test");
const EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");

/// Creates a directory with thirty jobs, every tenth without an image, and a hook that needs an image.
fn queue() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let job = |number: u32| {
        let image = if number % 10 == 7 { "WantBig = true\n" } else { "ContainerImage = \"a.sif\"\n" };
        format!(
            "ClusterId = {number}\nProcId = 0\nOwner = \"u{}\"\nCmd = \"/bin/true\"\nIwd = \"/\"\n{image}\n",
            number % 3
        )
    };
    std::fs::write(home.path().join("q.ads"), (0..30).map(job).collect::<String>()).unwrap();
    let hook = "#!/bin/sh\nif grep -q '^ContainerImage'; then echo Checked = true; exit 0; fi\n\
        echo 'HookStatusMessage = \"no image\"'\necho HookStatusCode = 190\nexit 1\n";
    write_executable(&home.path().join("h"), hook.as_bytes());
    home
}

#[test]
fn ads_with_unusual_verdicts_are_shown_with_their_common_attributes() {
    let home = queue();
    let (status, out, err) =
        call(HOOK_TEST, &["prepare", "h", "--ads", "q.ads", "--shadow", "--summary"], home.path());
    assert_eq!((status, err.as_str()), (1, ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>(),
        ["ADS", "VERDICT", "HOLD", "FIRST", "REASON"]
    );
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>()[..3], ["27", "go-on", "0.0"]);
    assert!(
        lines[2].trim_start().starts_with("3  held")
            && lines[2].contains("7.0")
            && lines[2].contains("no image")
    );
    assert!(
        out.contains("held, 3 ads:\n  WantBig = true  (no other)\n  no ContainerImage  (no other)\n"),
        "{out}"
    );
}

#[test]
fn limits_and_expectations_apply_to_many_ads_in_input_order() {
    let home = queue();
    let call =
        |words: &[&str]| call(HOOK_TEST, &[&["prepare", "h", "--ads", "q.ads"], words].concat(), home.path());
    assert_eq!(call(&["--limit", "5", "-j", "2", "-q"]).0, 0);
    let (status, out, _) = call(&["--jsonl", "-q", "-j", "7"]);
    let rows: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((status, rows.len()), (1, 30));
    for (number, row) in rows.iter().enumerate() {
        let good = number % 10 != 7;
        assert_eq!(row["verdict"]["good"], good, "{row}");
        assert!(row["stdin"].as_str().unwrap().contains(&format!("ClusterId = {number}\n")));
    }
    let (_, out, _) = call(&["--json", "-q"]);
    assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&out).unwrap().len(), 30);
    let (_, out, _) = call(&["--long", "-q"]);
    assert_eq!(out.matches("Checked = true").count(), 27);
    let (status, out, _) = call(&["--expect-verdict", "not-started"]);
    assert_eq!(status, 1, "{out}");
    let (status, _, err) = call(&["--expect", "Owner != \"u1\""]);
    assert!(status == 1 && err.contains("Owner != \"u1\": it is false"), "{err}");
    let (status, _, err) = call(&["--time", "3"]);
    assert!(status == 2 && err.contains("--time requires a single ad") && err.contains("--limit 1"), "{err}");
    let (status, _, err) = call(&["--expect-verdict", "hold"]);
    assert!(status == 2 && err.contains("did you mean 'held'"), "{err}");
    assert_eq!(call(&["--limit", "1", "--time", "2"]).0, 0);
}

#[test]
fn a_malformed_ad_is_reported_and_the_hook_is_called_for_the_others() {
    let home = queue();
    let text = std::fs::read_to_string(home.path().join("q.ads")).unwrap();
    std::fs::write(home.path().join("q.ads"), text.replacen("Iwd = \"/\"", "Iwd = \"/", 1)).unwrap();
    let (_, out, err) = call(HOOK_TEST, &["prepare", "h", "--ads", "q.ads"], home.path());
    assert!(err.contains("q.ads:5:") && err.contains("27  go-on"), "{err}");
    assert_eq!(out.matches("Checked = true").count(), 27, "{out}");
    let (status, _, _) = call(HOOK_TEST, &["prepare", "h", "--ads", "q.ads", "--strict-input"], home.path());
    assert_eq!(status, 3);
}

#[test]
fn a_suite_has_one_case_for_each_ad_of_its_job_file() {
    let home = queue();
    let suite = "[[case]]\nname = \"all\"\nhook = \"h\"\ntype = \"prepare\"\njob_file = \"q.ads\"\nexpect = { verdict = \"go-on\" }\n";
    std::fs::write(home.path().join("s.toml"), suite).unwrap();
    let (status, _, err) = call(HOOK_TEST, &["run", "s.toml"], home.path());
    assert_eq!(status, 1);
    assert!(err.contains("s: all [job 7.0]") && err.contains("27 cases passed, 3 failed"), "{err}");
    let (_, _, err) = call(HOOK_TEST, &["run", "s.toml", "--update"], home.path());
    assert!(err.contains("it refers to several ads"), "{err}");
    assert_eq!(std::fs::read_to_string(home.path().join("s.toml")).unwrap(), suite);
}

#[test]
fn errors_in_a_suite_are_reported_with_their_location() {
    let home = queue();
    for (lines, expected) in [
        ("code = 19", "a case has no key 'code'\n"),
        ("expect = \"held\"", "s.toml:4:10: expected a table, found the string \"held\""),
    ] {
        std::fs::write(
            home.path().join("s.toml"),
            format!("[[case]]\nhook = \"h\"\ntype = \"prepare\"\n{lines}\n"),
        )
        .unwrap();
        let (status, _, err) = call(HOOK_TEST, &["run", "s.toml"], home.path());
        assert!(status == 3 && err.contains(expected) && err.contains("hint: "), "{err}");
    }
    let text = "[[case]]\nhook = \"h\"\ntype = \"prepare\"\nexpect = { verdict = \"hold\" }\n";
    std::fs::write(home.path().join("s.toml"), text).unwrap();
    let (_, _, err) = call(HOOK_TEST, &["run", "s.toml"], home.path());
    assert!(err.contains("verdict = \"hold\": unknown verdict, did you mean 'held'"), "{err}");
}

#[test]
fn a_first_suite_has_a_relative_hook_path_and_possible_expectations() {
    let home = queue();
    std::fs::create_dir(home.path().join("suites")).unwrap();
    let file = std::fs::File::create(home.path().join("suites/h.toml")).unwrap();
    let made = Command::new(HOOK_TEST)
        .args(["init", "h", "--type", "prepare"])
        .current_dir(home.path())
        .stdout(file)
        .status()
        .unwrap();
    assert!(made.success());
    let suite = std::fs::read_to_string(home.path().join("suites/h.toml")).unwrap();
    assert!(
        suite.contains("hook = \"../h\"") && suite.contains("# expect = { verdict = \"held\", code = 19"),
        "{suite}"
    );
    assert!(suite.lines().all(|line| line.len() < 200), "{suite}");
    let (status, out, _) = call(HOOK_TEST, &["run", "suites", "--list"], home.path());
    assert!(status == 0 && out.contains("h: a normal job"), "{out}");
    let (_, _, err) = call(HOOK_TEST, &["run", "suites", "--update"], home.path());
    assert!(!err.contains("not-executed") && !err.contains("bad-path"), "{err}");
}

#[test]
fn output_that_our_starter_does_not_support_is_reported() {
    let home = queue();
    write_executable(
        &home.path().join("v"),
        b"#!/bin/sh\ncat >/dev/null\necho JobUniverse = 13\necho WantIOProxy = true\n",
    );
    let (_, _, err) = call(HOOK_TEST, &["prepare", "v", "--sample-job", "vanilla"], home.path());
    assert!(err.contains("not-done-here: ") && err.contains("WantIOProxy"), "{err}");
    // An attribute that the job itself sets is not reported as one that the hook sets.
    let own = ["prepare", "h", "--sample-job", "container", "--set", "WantIOProxy=true"];
    let (_, _, err) = call(HOOK_TEST, &own, home.path());
    assert!(!err.contains("not-done-here"), "{err}");
}

fn log() -> &'static str {
    "107 1 CreationTimestamp 1700000000\n105\n101 01.-1 Job Machine\n103 01.-1 Owner \"ana\"\n101 1.0 Job Machine\n\
     103 1.0 ProcId 0\n103 1.0 ClusterId 1\n101 1.1 Job Machine\n103 1.1 ProcId 1\n103 1.1 ClusterId 1\n106\n"
}

#[test]
fn ads_are_read_from_queue_logs_compressed_files_and_directories() {
    let home = queue();
    let here = |name: &str| home.path().join(name);
    std::fs::write(here("job_queue.log"), log()).unwrap();
    let packed = std::fs::File::create(here("q.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
    packed.write_all(&std::fs::read(here("q.ads")).unwrap()).unwrap();
    packed.finish().unwrap();
    std::fs::create_dir(here("spool")).unwrap();
    std::fs::write(here("spool/1.0.ad"), "ClusterId = 1\nProcId = 0").unwrap();
    std::fs::write(here("spool/1.1.ad"), "ClusterId = 1\nProcId = 1").unwrap();
    std::fs::write(here("spool/history"), "ClusterId = 9\n").unwrap();
    std::fs::write(here("spool/.hidden.ad"), "ClusterId = 9\n").unwrap();
    let skipped = "htc-classad-eval: warning: spool: skipped history\n";
    for (name, count, told) in [("job_queue.log", "2", ""), ("q.gz", "30", ""), ("spool", "2", skipped)] {
        let (status, out, err) = call(EVAL, &["--ads", name, "-count"], home.path());
        assert_eq!((status, out.trim(), err.as_str()), (0, count, told), "{name}");
    }
    // The ad of each job includes the attributes of its cluster.
    let (_, out, _) = call(EVAL, &["--ads", "job_queue.log", "-af", "Owner", "ProcId"], home.path());
    assert_eq!(out, "ana 0\nana 1\n");
    let (status, out, err) = call(env!("CARGO_BIN_EXE_htc-router-status"), &["spool"], home.path());
    assert_eq!((status, err.as_str()), (0, "htc-router-status: warning: spool: skipped history\n"), "{out}");
    std::fs::create_dir(here("empty")).unwrap();
    let (status, _, err) = call(EVAL, &["--ads", "empty", "-count"], home.path());
    assert!(status == 3 && err.contains("the directory 'empty' has no ads") && err.contains("hint"), "{err}");
    std::fs::write(here("q.xz"), b"\xfd7zXZ\0rest").unwrap();
    let (status, _, err) = call(EVAL, &["--ads", "q.xz", "-count"], home.path());
    assert!(status == 3 && err.contains("the xz data is"), "{err}");
    std::fs::write(here("cut.gz"), &std::fs::read(here("q.gz")).unwrap()[..40]).unwrap();
    let (status, _, err) = call(EVAL, &["--ads", "cut.gz", "-count"], home.path());
    assert!(status == 3 && err.contains("cannot read 'cut.gz'"), "{err}");
}

#[test]
fn history_files_are_read_oldest_first() {
    let home = tempfile::tempdir().unwrap();
    let record = |cluster: u32| {
        format!(
            "ClusterId = {cluster}\nProcId = 0\n*** Offset = 0 ClusterId = {cluster} ProcId = 0 Owner = \"a\" CompletionDate = 7\n"
        )
    };
    std::fs::write(home.path().join("history"), record(3)).unwrap();
    std::fs::write(home.path().join("history.20260101T000000"), record(1)).unwrap();
    std::fs::write(home.path().join("history.20260201T000000"), record(2)).unwrap();
    let (status, out, err) = call(EVAL, &["--ads", ".", "-af", "ClusterId"], home.path());
    assert_eq!((status, out.as_str(), err.as_str()), (0, "1\n2\n3\n", ""));
}

#[test]
fn values_are_counted_and_names_that_no_ad_has_are_reported() {
    let home = queue();
    let eval = |words: &[&str]| call(EVAL, &[&["--ads", "q.ads"], words].concat(), home.path());
    assert_eq!(eval(&["--count-by", "ContainerImage"]).1, "27 a.sif\n 3 undefined\n");
    let (_, out, _) =
        eval(&["--count-by", "ContainerImage =?= undefined", "--count-by", "Owner", "--limit", "2"]);
    assert_eq!(out, "9 false u0\n9 false u1\n");
    let (_, out, _) = eval(&["--count-by", "ContainerImage", "--jsonl"]);
    assert_eq!(
        out,
        "{\"ContainerImage\": \"a.sif\",\"Count\": 27}\n{\"ContainerImage\": null,\"Count\": 3}\n"
    );
    let (status, out, err) = eval(&["-c", "Ownr == \"u1\"", "-count"]);
    assert_eq!((status, out.as_str()), (0, "0\n"));
    assert!(
        err.contains("'Ownr' is not in any of the 30 ads") && err.contains("did you mean Owner?"),
        "{err}"
    );
    let (_, _, err) = eval(&["--attributes", "Ownr,ClusterId"]);
    assert!(err.contains("'Ownr' is not in any of the 30 ads") && !err.contains("ClusterId"), "{err}");
    // There is no warning about an attribute that jobs often lack.
    assert_eq!(eval(&["-af", "HoldReason"]).2, "");
    // Every job has a CompletionDate, so that a column without values is a surprise.
    let empty = "htc-classad-eval: warning: 'CompletionDate' is not in any of the 30 ads\n";
    assert_eq!(eval(&["-af", "ClusterId", "CompletionDate", "--csv"]).2, empty);
    assert_eq!(eval(&["-af", "CompletionDate ?: 0"]).2, "");
    assert_eq!(eval(&["-quiet", "-af", "Ownr"]).2, "");
    let (status, _, err) = eval(&["--count-by", "Owner", "1+1"]);
    assert!(status == 2 && err.contains("values cannot be counted"), "{err}");
}

#[test]
fn a_tool_that_is_not_imitated_names_the_command_to_use() {
    let home = queue();
    for (tool, expected) in [
        ("condor_status", "htc-slot-run status"),
        ("condor_history", "htc-classad-eval --ads HISTORY"),
        ("condor_config_val", "make a link of this name to htc-config-dump"),
    ] {
        std::os::unix::fs::symlink(EVAL, home.path().join(tool)).unwrap();
        let (status, out, err) =
            call(&home.path().join(tool).display().to_string(), &["-af", "Name"], home.path());
        assert_eq!((status, out.as_str()), (2, ""), "{tool}");
        assert!(
            err.starts_with(&format!("{tool}: htc-classad-eval does not do what {tool} does\n")),
            "{err}"
        );
        assert!(err.contains(expected), "{err}");
    }
}

#[test]
fn condor_q_reads_all_attributes_that_its_columns_need() {
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(EVAL, home.path().join("condor_q")).unwrap();
    let condor_q = home.path().join("condor_q").display().to_string();
    // Attributes to which the first ad refers are determined while it is read. An invalid line invalidates the rest of its ad,
    // and `eval` may refer to any attribute.
    let ads = "ClusterId = 1\nProcId = 0\nA = B + 1\nB = C\nC = 5\nx y = \"odd\"\n\n\
               ClusterId = 1\nProcId = 1\nbad line\nA = 7\n\nClusterId = 1\nProcId = 2\nA = eval(\"D\")\nD = 3\n\n\
               ProcId = 3\nClusterId = 1\na = e\nE = 4\n";
    std::fs::write(home.path().join("q.ads"), ads).unwrap();
    let ask = |words: &[&str]| call(&condor_q, &[&["-jobads", "q.ads"], words].concat(), home.path());
    let told = |text: &str| (0, text.to_owned(), String::new());
    assert_eq!(ask(&["-constraint", "A > 0", "-af", "A"]), told("6\n3\n4\n"));
    assert_eq!(
        ask(&["-af:j", "A", "B"]),
        told("1.0 6 5\n1.1 undefined undefined\n1.2 3 undefined\n1.3 4 undefined\n")
    );
    assert_eq!(
        ask(&["-constraint", "A > 0", "-format", "%d_", "A", "-format", "%s/", "x y"]),
        told("6_odd/3_4_")
    );
}

/// `--quiet` hides the table of calls that succeeded, but not why others failed.
#[test]
fn quiet_calls_for_many_ads_say_why_they_failed() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("jobs.ads"), "ClusterId = 1\nProcId = 0\n\nClusterId = 2\nProcId = 0\n")
        .unwrap();
    write_executable(
        &home.path().join("fail"),
        b"#!/bin/sh\ngrep -q '^ClusterId = 1' || exit 3\necho Checked = true\n",
    );
    write_executable(&home.path().join("good"), b"#!/bin/sh\ncat >/dev/null\n");
    let hook_test = env!("CARGO_BIN_EXE_htc-hook-test");
    for (verb, reason) in [("prepare", "exited with status 3"), ("translate", "exit status 3")] {
        let (status, _, err) = call(hook_test, &[verb, "./fail", "--ads", "jobs.ads", "-q"], home.path());
        assert!(status == 1 && err.contains(reason) && err.contains("2.0"), "{verb}: {status} {err}");
        // For translate, this output is no ad that can be routed.
        assert!(verb == "translate" || !err.contains("1.0"), "only failed calls are shown: {err}");
    }
    assert_eq!(call(hook_test, &["prepare", "./good", "--ads", "jobs.ads", "-q"], home.path()).2, "");
}
