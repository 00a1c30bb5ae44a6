//! `condor_job_router_info` and `condor_router_history` compared with the output of 25.14 for the same input,
//! and `match` in JSON.

use std::fs;

use serde_json::Value;

use crate::support::tool::call;

/// Returns exit status and standard output of `condor_job_router_info` for a configuration and a file of jobs.
pub(crate) fn router_info(config: &str, jobs: &str, words: &[&str]) -> (i32, String) {
    let place = tempfile::tempdir().unwrap();
    let head = "LOCAL_DIR = .\nLOG = .\nSPOOL = .\nCONDOR_IDS = 0.0\nCOLLECTOR_HOST = 127.0.0.1:0\n";
    fs::write(place.path().join("condor_config"), format!("{head}{config}")).unwrap();
    fs::write(place.path().join("jobs"), jobs).unwrap();
    let program = env!("CARGO_BIN_EXE_htc-router-translate");
    call(program, "condor_job_router_info", words, place.path())
}

pub(crate) fn route(text: &str) -> String {
    format!("JOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=e\nUNIVERSE vanilla\n{text}\n@e\n")
}

pub(crate) fn job(id: &str) -> String {
    let (cluster, proc) = id.split_once('.').unwrap();
    format!("ClusterId = {cluster}\nProcId = {proc}\nOwner = \"a\"\nJobStatus = 1\nJobUniverse = 5\n\n")
}

const MATCH: [&str; 4] = ["-match-jobs", "-jobads", "jobs", "-log-steps"];
const ROUTE: [&str; 5] = ["-route-jobs", "-", "-jobads", "jobs", "-log-steps"];

// The expected texts in these tests are those of 25.14 for the same input.

#[test]
fn a_repeated_job_has_the_position_of_its_last_ad() {
    let jobs = format!("{}{}{}", job("3.0"), job("2.0"), job("3.0"));
    let (_, out) = router_info(&route("REQUIREMENTS true"), &jobs, &MATCH);
    let seen: Vec<&str> = out.lines().filter(|line| line.starts_with("Found")).collect();
    assert_eq!(seen, ["Found candidate job src=2.0,route=R", "Found candidate job src=3.0,route=R"]);
}

#[test]
fn a_router_without_a_name_aborts_only_if_it_routes() {
    let config = "JOB_ROUTER_NAME =\nJOB_ROUTER_SOURCE_JOB_CONSTRAINT = true\n";
    let (status, out) = router_info(config, "", &["-config"]);
    assert_eq!((status, out.as_str()), (0, "\n\n"));
    let (status, _) = router_info(&format!("{config}{}", route("")), "", &["-config"]);
    assert_eq!(status, 4);
}

#[test]
fn requirements_that_break_the_umbrella_constraint_abort_the_router() {
    for requirements in ["JobStatus // c", "JobStatus == 1 ? true : 2.5M"] {
        let (status, out) = router_info(&route(&format!("REQUIREMENTS {requirements}")), &job("1.0"), &MATCH);
        assert_eq!(status, 4, "{out}");
        assert!(!out.contains("Found"), "{out}");
        let words = ["-match-jobs", "-jobads", "jobs", "-diagnostic:match"];
        let (_, out) = router_info(&route(&format!("REQUIREMENTS {requirements}")), &job("1.0"), &words);
        let told = format!("\nUmbrella constraint: debug(( ({requirements}) ) && (target.ProcId");
        assert!(out.contains(&told), "{out}");
    }
    let constraint = "JOB_ROUTER_SOURCE_JOB_CONSTRAINT = false) || (true\n";
    let (status, out) =
        router_info(&format!("{constraint}{}", route("REQUIREMENTS true")), &job("1.0"), &MATCH);
    assert_eq!(status, 0);
    assert!(out.contains("Found candidate job src=1.0,route=R\n"), "{out}");
}

#[test]
fn the_length_of_each_log_line_is_measured_separately() {
    // The two lines about a refused route are long together, but neither is long enough for an empty line before it.
    let requirements = format!("REQUIREMENTS {}(", "x".repeat(80));
    let (_, out) = router_info(&route(&requirements), "", &["-config", "-diagnostic"]);
    let expected = format!(
        "as destination also\nCONFIGURATION ERROR: invalid REQUIREMENTS : {}(\nIgnoring route entry in JOB_ROUTER_ROUTE_R\n",
        "x".repeat(80)
    );
    assert!(out.contains(&expected), "{out}");
}

#[test]
fn a_bad_condition_is_logged_as_an_error_of_the_configuration_reader() {
    let (_, out) = router_info(&route("REQUIREMENTS true\nelse"), "", &["-config", "-diagnostic"]);
    let expected =
        "Parse_config if error: 'else without matching if' line: else\nroute R is not valid: else without";
    assert!(out.contains(expected), "{out}");
    // In a transform, the same error is found only when a job is routed, and is printed without -diagnostic.
    let config = format!(
        "{}JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES = P\nJOB_ROUTER_TRANSFORM_P @=e\nSET A 1\nendif\n@e\n",
        route("REQUIREMENTS true")
    );
    let (_, out) = router_info(&config, &job("1.0"), &ROUTE[..4]);
    let expected = "find candidate jobs.\nParse_config if error: 'endif without matching if' line: endif\n";
    assert!(out.ends_with(expected), "{out}");
}

#[test]
fn the_last_note_of_a_transform_is_logged_at_its_end() {
    for (text, expected) in [
        ("SET A 1\nwarning : hm\nSET B 1\nwarning : ho", "Warning \"<Local>\", Line 4: ho\n\n"),
        ("REQUIREMENTS true\nSET A 1\nif true\nSET B 1", "Error \"<Local>\", Line 4: \n\n"),
        ("SET A 1\nV @=q\nSET B 1", "Found end-of-file while scanning for '@q' in <Local>\n\n"),
        ("SET A 1\nerror : hm", "Error \"<Local>\", Line 2: hm\n\n"),
        ("SET A $INT(MY.Owner)\nSET B $REAL(MY.Owner)", "$REAL() macro: a does not evaluate to an real!\n"),
    ] {
        let config = format!(
            "{}JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES = P\nJOB_ROUTER_TRANSFORM_P @=e\n{text}\n@e\n",
            route("REQUIREMENTS true")
        );
        let (_, out) = router_info(&config, &job("1.0"), &ROUTE);
        assert!(out.contains(&format!("ERROR in transform P : {expected}")), "{text}: {out}");
    }
}

#[test]
fn a_parameter_with_only_a_comment_is_a_transform_without_effect() {
    let config = format!(
        "{}JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES = P\nJOB_ROUTER_TRANSFORM_P = # later\n",
        route("REQUIREMENTS true\nSET A 1")
    );
    let (_, out) = router_info(&config, "", &["-config"]);
    assert!(out.contains("Pre-Route Transform : P\n\tNAME P\n\t# later\n\n"), "{out}");
    let (_, out) = router_info(&config, &job("1.0"), &ROUTE);
    assert!(out.contains("\tApplying pre-route transform: P\nERROR in transform P : \n"), "{out}");
}

#[test]
fn json_is_one_array_and_a_limit_does_not_explain_a_job_that_does_not_match() {
    let place = tempfile::tempdir().unwrap();
    let config = format!("LOCAL_DIR = .\n{}", route("REQUIREMENTS Big\nMaxJobs = 1"));
    fs::write(place.path().join("condor_config"), config).unwrap();
    let jobs: String = [("1.0", true), ("1.1", true), ("1.2", false)]
        .map(|(id, big)| format!("Big = {big}\n{}", job(id)))
        .concat();
    fs::write(place.path().join("jobs"), jobs).unwrap();
    let matched = |words: &[&str]| {
        let words = [&["match", "jobs"], words].concat();
        call(env!("CARGO_BIN_EXE_htc-router-translate"), "htc-router-translate", &words, place.path()).1
    };
    let stories: Value = serde_json::from_str(&matched(&["--json"])).unwrap();
    let reasons: Vec<_> = stories.as_array().unwrap().iter().map(|story| &story["reason"]).collect();
    let expected = [Value::Null, "route R is full (MaxJobs)".into(), "Big is not true in route R".into()];
    assert_eq!(reasons, expected.iter().collect::<Vec<_>>());
    let lines = matched(&["--jsonl"]);
    assert!(
        lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()) && lines.lines().count() == 3
    );
    let summary: Value = serde_json::from_str(&matched(&["--summary", "--json"])).unwrap();
    assert_eq!((&summary[0]["not_routed"], &summary[0]["routes"][0]["jobs"]), (&2.into(), &1.into()));
}

#[test]
fn strict_input_ends_at_the_first_malformed_ad_in_every_verb() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("condor_config"), format!("LOCAL_DIR = .\n{}", route(""))).unwrap();
    let copy = "ClusterId = 2\nProcId = 0\nJobStatus = 2\n";
    fs::write(place.path().join("jobs"), format!("{}{copy}\n{}= 1\n\n{copy}", job("1.0"), job("1.1")))
        .unwrap();
    for verb in ["match", "route", "finish"] {
        let status = |words: &[&str]| {
            let words = [&[verb, "jobs"], words].concat();
            call(env!("CARGO_BIN_EXE_htc-router-translate"), "htc-router-translate", &words, place.path()).0
        };
        assert_eq!((status(&[]), status(&["--strict-input"])), (3, 3), "{verb}");
    }
}

#[test]
fn router_history_reads_numbers_as_python_does() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::create_dir(place.join("spool")).unwrap();
    fs::write(place.join("condor_config"), format!("SPOOL = {}/spool\n", place.display())).unwrap();
    let history = "ClusterId = 1\nProcId = 0\nRouteName = \"A\"\nJobStatus = -1\nCompletionDate = 1_000\n\
        RemoteWallClockTime = 12_3\n*** Offset = 0\n";
    fs::write(place.join("spool/history"), history).unwrap();
    let program = env!("CARGO_BIN_EXE_htc-router-status");
    let (_, out) = call(program, "condor_router_history", &["--show_records", "--days=1_0"], place);
    assert!(out.ends_with("JobID Status Site Runtime \n1.0 E A 123 \n"), "{out}");
    // A single carriage return ends a line of a history.
    fs::write(place.join("spool/history"), history.replace("12_3", "12\rRemoteWallClockTime = 7")).unwrap();
    let (_, out) = call(program, "condor_router_history", &["--show_records", "--days=1_0"], place);
    assert!(out.ends_with("\n1.0 E A 7 \n"), "{out}");
}

#[test]
fn a_queue_log_may_end_within_its_first_word() {
    let place = tempfile::tempdir().unwrap();
    let log = "107 1 CreationTimestamp 1\n101 01.-1 Job Machine\n";
    for cut in 0..log.len() {
        fs::write(place.path().join("log"), &log[..cut]).unwrap();
        let program = env!("CARGO_BIN_EXE_htc-router-status");
        let (status, _) = call(program, "htc-router-status", &["log"], place.path());
        assert_eq!(status, 0, "cut after {cut} bytes");
    }
}

#[test]
fn convert_keeps_the_comments_of_a_route() {
    let place = tempfile::tempdir().unwrap();
    let entries = "LOCAL_DIR = .\nJOB_ROUTER_SOURCE_JOB_CONSTRAINT = true\nJOB_ROUTER_ENTRIES @=e\n/* first \\\\ */\n[ name = \"A\"; // the cloud\n  set_B = \"/* no */\"; ]\n\
        [ name = \"C\"; ]\n@e\n";
    fs::write(place.path().join("condor_config"), entries).unwrap();
    let program = env!("CARGO_BIN_EXE_htc-router-translate");
    let (status, out) = call(program, "htc-router-translate", &["convert"], place.path());
    assert_eq!(status, 0);
    let first = "# from JOB_ROUTER_ENTRIES [1]\n# first\n# the cloud\nJOB_ROUTER_ROUTE_A @=route\n";
    assert!(out.starts_with(first), "{out}");
    assert!(out.contains("# from JOB_ROUTER_ENTRIES [2]\nJOB_ROUTER_ROUTE_C @=route\n"), "{out}");
}
