//! Tests of the tables and ads of routed jobs, as `condor_router_q` prints them.

use crate::support::tool::call;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

use super::router_tools::LOG;

#[test]
fn routed_jobs_are_listed_by_cluster_as_condor_q_lists_them() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::write(place.join("job_queue.log"), LOG).unwrap();
    fs::write(place.join("condor_config"), format!("SPOOL = {}\nSCHEDD_NAME = ap\n", place.display()))
        .unwrap();
    let router_q = |words: &[&str]| {
        let (status, out) = call(env!("CARGO_BIN_EXE_htc-router-status"), "condor_router_q", words, place);
        assert_eq!(status, 0, "{out}");
        out.split_once("\n\n-- Schedd: ap : ").map_or(out.clone(), |(_, rest)| {
            rest.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default()
        })
    };
    // An owner of less than five letters gets eight columns. Jobs of the scheduler universe are counted neither in the row nor in
    // the totals.
    let expected = "OWNER    BATCH_NAME    SUBMITTED   DONE   RUN    IDLE  TOTAL JOB_IDS\n\
        al       ID: 1        1/2  00:00      _      1      1      3 1.0-2\n\
        al       DAG: 2       1/3  00:00      _      _      _      1 0.0\n\n\
        Total for query: 2 jobs; 0 completed, 0 removed, 1 idle, 1 running, 0 held, 0 suspended \n\
        Total for all users: 3 jobs; 0 completed, 0 removed, 1 idle, 1 running, 1 held, 0 suspended\n\n";
    assert_eq!(router_q(&[]), expected);
    assert_eq!(
        router_q(&["-S"]),
        "Not defined: JOB_ROUTER_SCHEDD2_NAME\nNot defined: JOB_ROUTER_SCHEDD2_POOL\n   \
         JOBS ST Route                GridResource\n      1  I R                    \n      1  R R                    \n      \
         1  R S                     T\n"
    );
}

/// Removes the parts of the recorded tables that this program cannot reproduce.
fn neutral(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = if line.starts_with("-- Schedd: ") { "-- Schedd" } else { line };
        let words = line.split(' ').map(|word| match word.split_once('+') {
            Some((days, time)) if days.parse::<u32>().is_ok() && time != "00:00:00" && time.len() == 8 => {
                "@RUNTIME@"
            }
            _ => word,
        });
        let mut line = words.collect::<Vec<_>>().join(" ") + "\n";
        // Times of ten days and more take one of the blanks before them.
        while line.contains("  @RUNTIME@") {
            line = line.replace("  @RUNTIME@", " @RUNTIME@");
        }
        line
    });
    lines.collect()
}

#[test]
fn recorded_tables_of_routed_jobs_are_reproduced() {
    let shared = std::env::var_os("HTC_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let queue = shared.join("corpus/router/queue");
    let Ok(commands) = fs::read_to_string(queue.join("commands.jsonl")) else {
        println!("skipped: no recorded queue (set HTC_SHARED)");
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::copy(queue.join("job_queue.log"), place.join("job_queue.log")).unwrap();
    fs::write(place.join("condor_config"), format!("SPOOL = {}\nSCHEDD_NAME = ap\n", place.display()))
        .unwrap();
    assert!(commands_are_answered_as_recorded(&commands, place) > 8);
}

/// Runs the recorded commands of condor_router_q, and compares their output with the recording. Returns the number of commands.
fn commands_are_answered_as_recorded(commands: &str, place: &Path) -> usize {
    let mut compared = 0;
    for line in commands.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let command = record["command"].as_str().unwrap();
        let Some(rest) = command.strip_prefix("condor_router_q") else { continue };
        let words: Vec<&str> = match rest.trim().strip_prefix("-constraint ") {
            Some(constraint) => vec!["-constraint", constraint],
            None => rest.split_whitespace().collect(),
        };
        let (_, out) = call(env!("CARGO_BIN_EXE_htc-router-status"), "condor_router_q", &words, place);
        assert_eq!(neutral(&out), neutral(record["stdout"].as_str().unwrap()), "{command}");
        compared += 1;
    }
    compared
}

/// If the router submits to a second queue, summaries count the jobs of that queue, and the plain list has the source jobs.
#[test]
fn recorded_tables_of_two_queues_are_reproduced() {
    let shared = std::env::var_os("HTC_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let recording = shared.join("transcripts/r16-two-schedds");
    let read = |name: &str| fs::read_to_string(recording.join(name));
    let (Ok(commands), Ok(first), Ok(second)) =
        (read("commands.jsonl"), read("job_queue.log"), read("job_queue2.log"))
    else {
        println!("skipped: no recordings (set HTC_SHARED)");
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::create_dir(place.join("spool2")).unwrap();
    // The commands were recorded after the first job had ended and its copy was gone, before the second one was routed again: the
    // current copy 6.0 was 3.0 at that time.
    let (before, _) = first.split_once("105 \n103 1.0 Managed \"ScheddDone\"\n").unwrap();
    fs::write(place.join("job_queue.log"), before).unwrap();
    let then = second.replace(" 06.-1 ", " 03.-1 ").replace(" 6.-2 ", " 3.-2 ").replace(" 6.0 ", " 3.0 ");
    fs::write(place.join("spool2/job_queue.log"), then.replace(" ClusterId 6\n", " ClusterId 3\n")).unwrap();
    let config = "JOB_ROUTER_SCHEDD2_NAME = second@@HOST@\nJOB_ROUTER_SCHEDD2_POOL = 127.0.0.1:19890\n";
    let spool = place.display();
    fs::write(
        place.join("condor_config"),
        format!("SPOOL = {spool}\nSCHEDD_NAME = ap\n{config}JOB_ROUTER_SCHEDD2_SPOOL = {spool}/spool2\n"),
    )
    .unwrap();
    assert_eq!(commands_are_answered_as_recorded(&commands, place), 6);
}

#[test]
fn options_of_condor_q_after_those_of_the_script_have_their_effect() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::write(place.join("job_queue.log"), LOG).unwrap();
    fs::write(place.join("condor_config"), format!("SPOOL = {}\nSCHEDD_NAME = ap\n", place.display()))
        .unwrap();
    let router_q = |words: &[&str]| {
        let (status, out) = call(env!("CARGO_BIN_EXE_htc-router-status"), "condor_router_q", words, place);
        let noise = "Not defined: JOB_ROUTER_SCHEDD2_NAME\nNot defined: JOB_ROUTER_SCHEDD2_POOL\n";
        (status, out.strip_prefix(noise).map(str::to_owned).unwrap_or(out))
    };
    let all = "1.0 R 2\n1.2 R 1\n2.0 S, T 2\n";
    assert_eq!(router_q(&["-af:j", "RouteName", "JobStatus"]), (0, all.to_owned()));
    assert_eq!(router_q(&["-idle", "-autoformat", "RouteName", "Nope"]), (0, "R undefined\n".to_owned()));
    assert_eq!(router_q(&["-format", "%d.", "ClusterId", "-format", "%d ", "ProcId"]).1, "1.0 1.2 2.0 ");
    assert_eq!(router_q(&["-limit", "2", "-af", "ProcId"]).1, "0\n2\n");
    assert_eq!(router_q(&["1.2", "2", "-af:j", "JobStatus"]).1, "1.2 1\n2.0 2\n");
    // The routed jobs of an owner are listed, without the job that is not routed.
    assert_eq!(router_q(&["al", "-con", "JobStatus > 1", "-af:j", "Owner"]).1, "1.0 al\n2.0 al\n");
    let (_, long) = router_q(&["-long", "2.0"]);
    assert!(long.starts_with("ClusterId = 2\nJobStatus = 2\n") || long.contains("JobStatus = 2\n"), "{long}");
    assert!(long.ends_with("\n\n") && long.matches("RouteName = ").count() == 1, "{long}");
    let (_, json) = router_q(&["-json", "-attributes", "RouteName,JobStatus"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[2]["RouteName"], "S, T");
    assert_eq!(json.as_array().map(Vec::len), Some(3));
    let (_, totals) = router_q(&["-totals"]);
    assert!(totals.contains("Total for query: 2 jobs;") && !totals.contains("OWNER"), "{totals}");
    let (status, output) = router_q(&["-nope"]);
    assert!(status == 1 && output.starts_with("Usage: condor_q"), "{output}");
    assert_eq!(router_q(&["-constraint", "1 +", "-af", "ProcId"]).0, 1);
    assert_eq!(router_q(&["-limit", "x", "-af", "ProcId"]), (1, String::new()));
}

#[test]
fn recorded_ads_of_routed_jobs_are_printed_as_condor_q_prints_them() {
    let shared = std::env::var_os("HTC_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let queue = shared.join("corpus/router/queue");
    let (Ok(routed), Ok(commands)) =
        (fs::read_to_string(queue.join("q-l-routed.ads")), fs::read_to_string(queue.join("commands.jsonl")))
    else {
        println!("skipped: no recorded queue (set HTC_SHARED)");
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::copy(queue.join("job_queue.log"), place.join("job_queue.log")).unwrap();
    fs::write(
        place.join("condor_config"),
        format!("SPOOL = {}\nJOB_ROUTER_SCHEDD2_NAME = x\nJOB_ROUTER_SCHEDD2_POOL = y\n", place.display()),
    )
    .unwrap();
    let router_q =
        |words: &[&str]| call(env!("CARGO_BIN_EXE_htc-router-status"), "condor_router_q", words, place).1;
    let own = |text: &str| -> String {
        // The schedd adds ServerTime to the ads that it sends.
        text.split_inclusive('\n').filter(|line| !line.starts_with("ServerTime = ")).collect()
    };
    assert_eq!(own(&router_q(&["-long"])), own(&routed));
    let records = commands.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut compared = 0;
    for record in records {
        let command = record["command"].as_str().unwrap().to_owned();
        let Some(rest) = command.strip_prefix("condor_q -af:jrV ") else { continue };
        let expected = record["stdout"].as_str().unwrap();
        let routed: String = expected
            .split_inclusive('\n')
            .filter(|line| line.split(' ').nth(2) != Some("undefined"))
            .collect();
        let words: Vec<&str> = ["-af:jrV"].into_iter().chain(rest.split_whitespace()).collect();
        assert_eq!(router_q(&words), routed);
        compared += routed.lines().count();
    }
    assert!(compared > 5, "{compared}");
}

/// The expected tables were printed by the real tool for the same ads.
#[test]
fn tables_with_one_line_per_job_are_as_in_condor_q() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/router_q");
    let tables = fs::read_to_string(data.join("tables.txt")).unwrap();
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::write(place.join("condor_config"), format!("SPOOL = {}\nSCHEDD_NAME = ap\n", place.display()))
        .unwrap();
    for table in tables.split("=== ").filter(|table| !table.is_empty()) {
        let (words, expected) = table.split_once('\n').unwrap();
        let mut words: Vec<&str> = words.split(' ').collect();
        fs::copy(data.join(format!("{}.log", words[0])), place.join("job_queue.log")).unwrap();
        // Options that the script does not know are passed to condor_q.
        words[0] = "-wide";
        let (status, out) = call(env!("CARGO_BIN_EXE_htc-router-status"), "condor_router_q", &words, place);
        let out = out.split_once("\n-- Schedd: ap : ").and_then(|(_, rest)| rest.split_once('\n'));
        // A schedd also counts the jobs of all users, in a second line of totals.
        let rows = |text: &str| match text.split_once("\nTotal for query: ") {
            Some((rows, totals)) => {
                format!("{rows}\n{}", totals.split(" \n").next().unwrap_or_default().trim_end())
            }
            None => text.to_owned(),
        };
        assert_eq!(status, 0, "{words:?}");
        assert_eq!(rows(out.unwrap_or_default().1), rows(expected), "{words:?}");
    }
}

#[test]
fn a_width_cuts_rows_as_a_terminal_of_that_width_does() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/router_q");
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::copy(data.join("small.log"), place.join("job_queue.log")).unwrap();
    fs::write(place.join("condor_config"), format!("SPOOL = {}\n", place.display())).unwrap();
    let rows = |words: &[&str]| {
        let (_, out) = call(env!("CARGO_BIN_EXE_htc-router-status"), "condor_router_q", words, place);
        out.lines().skip_while(|line| !line.contains("OWNER")).take(3).map(str::to_owned).collect::<Vec<_>>()
    };
    // Lines are cut one column before the given width, and their trailing blanks are kept.
    assert_eq!(
        rows(&["-nobatch", "-wide:60"]),
        [
            " ID      OWNER            SUBMITTED     RUN_TIME ST PRI   S",
            "   1.0   al             11/21 00:05   0+00:01:56 R  0      ",
            "   3.0   bob            11/21 00:05   0+01:01:40 H  undefin",
        ]
    );
    // An invalid number counts as 80; hold reasons are never cut.
    assert_eq!(
        rows(&["-nobatch", "-wide:x"])[1],
        "   1.0   al             11/21 00:05   0+00:01:56 R  0      0.1 sh x y"
    );
    assert_eq!(rows(&["-hold", "-wide:20"])[2], "   5.0   bob            [?????????] ?   /1   ab");
    assert_eq!(
        rows(&["-batch", "-wide:50"])[..2],
        [
            "OWNER    BATCH_NAME    SUBMITTED   DONE   RUN    ",
            "al       ID: 1       11/21 00:05      _      1   "
        ]
    );
}
