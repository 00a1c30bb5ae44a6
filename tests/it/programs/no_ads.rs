//! Tests of inputs without an ad: what processes each ad ends with 0, and what needs one ad ends with 3.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::manual_files::manual_directory;

fn run(directory: &Path, line: &str) -> (Option<i32>, String, String) {
    let mut words = line.split(' ');
    let program = Path::new(env!("CARGO_BIN_EXE_htc-slot-run")).with_file_name(words.next().unwrap());
    let output = Command::new(program)
        .args(words)
        .current_dir(directory)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn directory() -> tempfile::TempDir {
    let directory = manual_directory();
    std::fs::write(directory.path().join("empty.ads"), "").unwrap();
    directory
}

#[test]
fn verbs_about_each_ad_print_nothing_and_end_with_0() {
    let place = directory();
    let router = "--config-file router.config";
    let hooks = "--config-file router-hooks.config";
    for line in [
        "htc-classad-eval --ads EMPTY".to_owned(),
        "htc-classad-eval --ads EMPTY -c true -af Owner".to_owned(),
        "htc-classad-eval --ads EMPTY --count-by Owner".to_owned(),
        "htc-classad-eval --ads EMPTY --match slot.ad".to_owned(),
        "htc-classad-eval --ads EMPTY --match slot.ad --explain".to_owned(),
        "htc-classad-eval --ads job.ad --match EMPTY".to_owned(),
        "htc-router-translate transform --rules rules.xfm EMPTY".to_owned(),
        format!("htc-router-translate match {router} EMPTY"),
        format!("htc-router-translate match --explain {router} EMPTY"),
        format!("htc-router-translate route {router} EMPTY"),
        format!("htc-router-translate translate {hooks} EMPTY"),
        format!("htc-router-translate update {hooks} EMPTY"),
        format!("htc-router-translate finalize {hooks} EMPTY"),
        format!("htc-router-translate cleanup {hooks} EMPTY"),
        format!("htc-router-translate finish {router} EMPTY"),
        "htc-slot-run explain --config-file slots.conf --ads EMPTY".to_owned(),
    ] {
        let (status, out, err) = run(place.path(), &line.replace("EMPTY", "empty.ads"));
        assert_eq!((status, out.as_str(), err.as_str()), (Some(0), "", ""), "{line}");
    }
    for line in [
        "htc-slot-run explain --config-file slots.conf --ads jobs.ads -c false",
        "htc-slot-run ads --config-file slots.conf -c false",
        "htc-router-translate match --config-file router.config router.ads -c false",
        "htc-classad-eval --ads jobs.ads -c false",
    ] {
        let (status, out, err) = run(place.path(), line);
        assert_eq!((status, out.as_str(), err.as_str()), (Some(0), "", ""), "{line}");
    }
}

/// A reader of JSON gets a list also if there is nothing to list.
#[test]
fn the_array_of_no_results_is_empty() {
    let place = directory();
    let router = "--config-file router.config";
    let hooks = "--config-file router-hooks.config";
    for line in [
        "htc-classad-eval --ads empty.ads --json".to_owned(),
        "htc-classad-eval --ads empty.ads --json Owner".to_owned(),
        "htc-classad-eval --ads empty.ads --json --match slot.ad".to_owned(),
        "htc-router-translate transform --rules rules.xfm empty.ads --json".to_owned(),
        "htc-router-translate transform --rules rules.xfm jobs.ads --json --limit 0".to_owned(),
        format!("htc-router-translate match {router} empty.ads --json"),
        format!("htc-router-translate route {router} empty.ads --json"),
        format!("htc-router-translate translate {hooks} empty.ads --json"),
        format!("htc-router-translate update {hooks} empty.ads --json"),
        format!("htc-router-translate finalize {hooks} empty.ads --json"),
        format!("htc-router-translate cleanup {hooks} empty.ads --json"),
        format!("htc-router-translate finish {router} empty.ads --json"),
        "htc-slot-run explain --config-file slots.conf --ads empty.ads --json".to_owned(),
        "htc-slot-run ads --config-file slots.conf -c false --json".to_owned(),
        "htc-router-status empty.ads --json".to_owned(),
        "htc-router-status history empty.ads --json".to_owned(),
        "htc-router-status doctor empty.ads --json -q".to_owned(),
    ] {
        let (_, out, err) = run(place.path(), &line);
        let value: Result<serde_json::Value, _> = serde_json::from_str(&out);
        assert!(value.is_ok_and(|value| value == serde_json::json!([])), "{line}: {out:?} {err}");
    }
}

/// The columns of a history are the attributes of its ads, of which the first ones are always the same.
#[test]
fn a_history_without_records_has_a_header() {
    let place = directory();
    let header = "ClusterId,ProcId,RoutedFromJobId,RouteName,Owner,JobStatus,CompletionDate\r\n";
    let (status, out, err) = run(place.path(), "htc-router-status history empty.ads --csv");
    assert_eq!((status, out.as_str()), (Some(0), header), "{err}");
    let (_, out, _) = run(place.path(), "htc-router-status history empty.ads --tsv --sort ClusterId");
    assert_eq!(out, header.replace(',', "\t").replace("\r\n", "\n"));
    let ad = "ClusterId = 3\nProcId = 1\nA = 1\nRouteName = \"B\"\n";
    std::fs::write(place.path().join("one.ads"), ad).unwrap();
    let (_, out, err) = run(place.path(), "htc-router-status history one.ads --csv");
    let rows =
        "ClusterId,ProcId,RoutedFromJobId,RouteName,Owner,JobStatus,CompletionDate,A\r\n3,1,,B,,,,1\r\n";
    assert_eq!(out, rows, "{err}");
}

/// "At least one job" is not true of no jobs.
#[test]
fn any_of_no_jobs_is_not_true() {
    let place = directory();
    for line in [
        "htc-slot-run explain --config-file slots.conf --ads empty.ads --any",
        "htc-router-translate match --config-file router.config --any empty.ads",
    ] {
        let (status, out, err) = run(place.path(), line);
        assert_eq!((status, out.as_str(), err.as_str()), (Some(1), "", ""), "{line}");
    }
}

#[test]
fn verbs_that_need_one_ad_end_with_3_and_a_message() {
    let place = directory();
    for (line, message) in [
        ("htc-classad-eval --my-file empty.ads A", "empty.ads: no ad found"),
        ("htc-classad-eval --target-file empty.ads A", "empty.ads: no ad found"),
        ("htc-config-dump lint --ads empty.ads", "empty.ads: no ad found"),
        ("htc-hook-test prepare hooks/prepare --ads empty.ads", "empty.ads: it has no ad"),
        ("htc-slot-run explain --slot-ads empty.ads --ads job.ad", "empty.ads: no ad found"),
        ("htc-slot-run claim slot1 --config-file slots.conf --ads empty.ads", "empty.ads: no ad found"),
        ("htc-starter-run --ads empty.ads", "empty.ads: no job ad"),
    ] {
        let (status, out, err) = run(place.path(), line);
        assert!(status == Some(3) && out.is_empty() && err.contains(message), "{line}: {out}{err}");
    }
}

/// The header without rows is that with rows.
#[test]
fn separated_rows_have_their_header_without_rows() {
    let place = directory();
    let explain = "htc-slot-run explain --config-file slots.conf --ads big.ad --csv";
    let calls = "htc-hook-test prepare hooks/prepare --ads jobs.ads --summary --csv";
    for (line, no_rows) in [
        (explain.to_owned(), "-c false"),
        (format!("{explain} --summary"), "-c false"),
        (calls.to_owned(), "--limit 0"),
        ("htc-slot-run simulate --config-file slots.conf keyboard.toml --csv".to_owned(), "--limit 0"),
        (
            "htc-router-translate simulate --config-file router.config routes.toml --csv".to_owned(),
            "--limit 0",
        ),
        ("htc-slot-run doctor --config-file slots.conf --csv".to_owned(), "--limit 0"),
        ("htc-config-dump compare condor_config condor_config.new --csv".to_owned(), "--limit 0"),
        ("htc-router-status job_queue.log --csv".to_owned(), "-c false"),
        ("htc-router-status doctor job_queue.log --csv".to_owned(), "--limit 0"),
        ("htc-router-translate match --config-file router.config router.ads --csv".to_owned(), "-c false"),
    ] {
        let (_, with_rows, err) = run(place.path(), &line);
        let (_, header_only, _) = run(place.path(), &format!("{line} {no_rows}"));
        let header = with_rows.lines().next().unwrap_or_default();
        assert!(with_rows.lines().count() > 1 && header.contains(','), "{line}: {with_rows}{err}");
        assert_eq!(header_only.trim_end(), header, "{line}");
    }
    // A kind of slots exists also without jobs, but not without slots.
    let (status, out, _) = run(place.path(), &format!("{explain} --by-slot -c false"));
    assert!(status == Some(0) && out.starts_with("first,slots,jobs,accepted_jobs,causes\r\n"), "{out}");
}

/// The summary of any number of ads is a table; `finalize`, `reply` and `evict` may read two ads as a pair without it.
#[test]
fn summary_is_for_any_number_of_ads() {
    let place = directory();
    for (words, calls) in [
        ("finalize hooks/prepare --ads job.ad", 1),
        ("finalize hooks/prepare --ads pair.ads", 2),
        ("reply hooks/reply accept --ads job.ad", 1),
        ("prepare hooks/prepare --ads empty.ads", 0),
    ] {
        let (status, out, err) = run(place.path(), &format!("htc-hook-test {words} --summary --csv"));
        let sum: u32 =
            out.lines().skip(1).map(|line| line.split(',').next().unwrap().parse::<u32>().unwrap()).sum();
        assert!(status == Some(0) && sum == calls, "{words}: {out}{err}");
    }
}
