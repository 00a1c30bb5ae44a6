//! Tests of standard output that cannot be written: text that could not be written does not count as printed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use htc_hooks::cli::PROGRAMS as ALL_PROGRAMS;

use crate::programs::json_schema::{CALLS, place, shell};
use crate::support::point::Point;

/// The programs, each with arguments with which it prints something without a configuration.
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

/// Runs a program in a shell that redirects its standard output.
fn redirected(redirection: &str, program: &str, words: &[&str]) -> Output {
    Command::new("sh")
        .args(["-c", &format!("exec \"$0\" \"$@\" {redirection}"), program])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn output_that_could_not_be_written_is_a_reported_failure() {
    for (program, words) in PROGRAMS {
        for (redirection, reason) in [(">&-", "it is closed"), (">/dev/full", "No space left on device")] {
            let output = redirected(redirection, program, words);
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(125), "{program} {redirection}: {err}");
            let expected = format!("cannot write to standard output: {reason}");
            assert!(err.contains(&expected), "{program} {redirection}: {err}");
        }
        assert_eq!(redirected(">/dev/null", program, words).status.code(), Some(0), "{program}");
    }
}

/// A program that prints nothing does not need standard output.
#[test]
fn programs_without_output_need_no_standard_output() {
    let program = env!("CARGO_BIN_EXE_htc-classad-eval");
    let quiet = redirected(">&-", program, &["-quiet", "-ads", "/dev/null", "-long"]);
    assert_eq!(quiet.status.code(), Some(0));
    // Some callers open standard output for both reading and writing.
    assert_eq!(redirected("1<>/dev/null", program, &["1"]).status.code(), Some(0));
}

/// Calls whose exit status is a result, in addition to those in the table of JSON calls.
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
    "htc-hook-test reply hooks/reply accept --ads job.ad",
    "htc-hook-test evict hooks/reply --ads job.ad",
    "htc-hook-test prepare-before-transfer hooks/prepare --ads job.ad",
    "htc-hook-test update hooks/update --ads job.ad",
    "htc-hook-test exit hooks/exit exit --ads job.ad",
    "htc-hook-test shadow-prepare hooks/prepare --ads job.ad",
    "htc-hook-test translate hooks/translate --ads source.ad",
    "htc-hook-test router-update hooks/update --ads source.ad",
    "htc-hook-test finalize hooks/update --ads source.ad",
    "htc-hook-test cleanup hooks/update --ads source.ad",
    "htc-hook-test schedd-cron hooks/cron",
    "htc-hook-test benchmark hooks/cron",
    "htc-router-translate translate --config-file router-hooks.config --dry-run source.ad",
    "htc-router-translate update --config-file router-hooks.config --dry-run source.ad",
    "htc-router-translate cleanup --config-file router-hooks.config --dry-run source.ad",
    "htc-router-translate finalize --config-file router-hooks.config --dry-run pairs.ads",
    "htc-router-translate finish --config-file router.config pairs.ads",
    "htc-router-translate run --config-file router.config --queue no-jobs --once",
];

/// Verbs that other tests call: [`LIVE_VERBS`] has those of a running execution point, a recorded hook has the standard output of
/// its caller, and a language server ends with its editor (`tests/editors`).
const ELSEWHERE: &[(&str, &[&str])] =
    &[("htc-slot-run", &["run"]), ("htc-config-dump", &["lsp"]), ("htc-hook-test", &["record"])];

/// Calls of the verbs of a running execution point, each with the call that undoes it.
const LIVE_VERBS: &[(&str, Option<&str>)] = &[
    ("status", None),
    ("status --csv", None),
    ("status --long", None),
    ("status --openmetrics", None),
    ("claim slot1 --ads job.ad", Some("release-claim slot1")),
    ("activate slot1 --ads job.ad", None),
    ("match slot1", None),
    ("alive slot1", None),
    ("hold slot1", None),
    ("suspend slot1", None),
    ("continue slot1", None),
    ("vacate slot1", None),
    ("deactivate slot1", None),
    ("release-claim slot1", None),
    ("drain", Some("undrain")),
    ("undrain", None),
    ("reconfig", None),
];

/// Returns exit status and standard error of a command line. `is_read` is false if the reader of its output has closed the pipe.
fn status(place: &Path, line: &str, is_read: bool) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let stdout = if is_read { Stdio::null() } else { Stdio::from(writer) };
    let output = shell(place, line).stdout(stdout).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_exit_status_is_the_same_without_a_reader() {
    let place = place();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    let many: String = (0..3000).map(|number| format!("STARTD_CRON_X{number}_PERIODE = 5m\n")).collect();
    write("many.conf", &many);
    write("nothing.ads", "Requirements = false\n");
    write("fails.ad", "Cmd = \"/bin/false\"\nIwd = \"/tmp\"\n");
    write("router.toml", "length = \"1h\"\n[[jobs]]\nat = 0\ncount = 2\nrun = \"5m\"\n");
    std::fs::create_dir(place.path().join("no-jobs")).unwrap();
    let table = CALLS.lines().filter_map(|line| Some(line.split_once('\t')?.1));
    let mut statuses = BTreeSet::new();
    for line in table.chain(ANSWERS.iter().copied()) {
        let read = status(place.path(), line, true);
        let unread = status(place.path(), line, false);
        assert_eq!(read.0, unread.0, "{line}: {} {}", read.1, unread.1);
        assert!(!unread.1.contains("Broken pipe"), "{line}: {}", unread.1);
        statuses.insert(read.0);
    }
    // The calls cover more statuses than success.
    assert_eq!(statuses, [0, 1, 4, 5].map(Some).into());
}

/// Output that is closed or full is a failure wherever something is printed. A slow reader gets all output.
#[test]
fn closed_full_and_slow_output_have_the_right_status() {
    let place = place();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    write("many.conf", "STARTD_CRON_X_PERIODE = 5m\n");
    write("nothing.ads", "Requirements = false\n");
    write("fails.ad", "Cmd = \"/bin/false\"\nIwd = \"/tmp\"\n");
    write("router.toml", "length = \"1h\"\n[[jobs]]\nat = 0\ncount = 2\nrun = \"5m\"\n");
    std::fs::create_dir(place.path().join("no-jobs")).unwrap();
    let table = CALLS.lines().filter_map(|line| Some(line.split_once('\t')?.1));
    let mut problems = Vec::new();
    for line in table.chain(ANSWERS.iter().copied()) {
        let read = shell(place.path(), line).output().unwrap();
        for (redirection, reason) in [(">&-", "it is closed"), (">/dev/full", "No space left on device")] {
            let output = shell(place.path(), &format!("timeout 100 {line} {redirection}")).output().unwrap();
            let err = String::from_utf8_lossy(&output.stderr);
            let expected = if read.stdout.is_empty() { read.status.code() } else { Some(125) };
            if output.status.code() != expected || (expected == Some(125) && !err.contains(reason)) {
                problems.push(format!(
                    "{line} {redirection}: {:?}, expected {expected:?}: {err}",
                    output.status.code()
                ));
            }
        }
        let slow = format!("(timeout 100 {line}; echo $? >slow.status) | (sleep 0.1; cat)");
        let slow = shell(place.path(), &slow).output().unwrap();
        let status = std::fs::read_to_string(place.path().join("slow.status")).unwrap_or_default();
        let status: Option<i32> = status.trim().parse().ok();
        if status != read.status.code() || slow.stdout.is_empty() != read.stdout.is_empty() {
            problems.push(format!("{line}, slow: {status:?}, expected {:?}", read.status.code()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A verb of a running execution point fails if its output cannot be printed. A verb that prints nothing does not need standard
/// output.
#[test]
fn verbs_of_a_running_execution_point_have_the_right_status() {
    let point = Point::new().parameter("STARTD_JOB_HOOK_KEYWORD =");
    let control = point.path("control").display().to_string();
    let point = point.arguments(["--control", &control]);
    let child = point.start();
    crate::support::waiting::wait_until("the socket answers", || point.ask(["status"]).status.success());
    let job = "ClusterId = 7\nProcId = 0\nRequestCpus = 1\nRequestMemory = 8\nRequestDisk = 1\n";
    std::fs::write(point.path("job.ad"), job).unwrap();
    let place = point.path("");
    let call = |words: &str, redirection: &str| {
        let line =
            format!("timeout 100 htc-slot-run {words} --config-file config --control control {redirection}");
        shell(&place, &line).output().unwrap()
    };
    let mut problems = Vec::new();
    let mut prints = 0;
    for (words, undo) in LIVE_VERBS {
        let read = call(words, "| (sleep 0.1; cat)");
        let undo = || undo.map(|undo| call(undo, ""));
        undo();
        let expects_failure = !read.stdout.is_empty();
        prints += usize::from(expects_failure);
        let plain = call(words, ">/dev/null");
        undo();
        for (redirection, reason) in [(">&-", "it is closed"), (">/dev/full", "No space left on device")] {
            let output = call(words, redirection);
            let err = String::from_utf8_lossy(&output.stderr);
            let expected = if expects_failure { Some(125) } else { plain.status.code() };
            if output.status.code() != expected || (expects_failure && !err.contains(reason)) {
                problems.push(format!("{words} {redirection}: {:?}, not {expected:?}: {err}", output.status));
            }
            undo();
        }
    }
    assert!(prints >= 5, "few verbs printed something: {prints}");
    let output = call("off", ">&-");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(point.end(child).status, Some(0));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A filter of unlimited input stops if its output is not read; with `-e`, the program has finished by then.
#[test]
fn a_plain_filter_stops_without_a_reader() {
    let place = place();
    for line in [
        "yes 'A = 1' | sed 's/$/\\n/' | htc-classad-eval --ads - 'A'",
        "yes 'A = 1' | sed 's/$/\\n/' | htc-router-translate transform --rules rules.xfm",
    ] {
        assert_eq!(status(place.path(), &format!("timeout 60 sh -c \"{line}\""), false).0, Some(0), "{line}");
    }
}

#[test]
fn tests_call_every_verb() {
    let lines: Vec<&str> = CALLS
        .lines()
        .filter_map(|line| Some(line.split_once('\t')?.1))
        .chain(ANSWERS.iter().copied())
        .collect();
    let mut left_out = Vec::new();
    for program in ALL_PROGRAMS {
        for verb in (program.command)().get_subcommands().map(|verb| verb.get_name().to_owned()) {
            let is_live = |line: &str| line.split(' ').next() == Some(&verb);
            let elsewhere =
                ELSEWHERE.iter().any(|(name, verbs)| *name == program.name && verbs.contains(&verb.as_str()))
                    || program.name == "htc-slot-run"
                        && (verb == "off" || LIVE_VERBS.iter().any(|(line, _)| is_live(line)));
            let begin = format!("{} {verb} ", program.name);
            if !elsewhere && !lines.iter().any(|line| format!("{line} ").starts_with(&begin)) {
                left_out.push(begin);
            }
        }
    }
    assert_eq!(left_out, Vec::<String>::new());
}
