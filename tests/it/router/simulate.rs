//! Tests of `htc-router-translate simulate`: waiting times for a route, reasons why other jobs never got one, and the output of
//! copies.

use std::fs;
use std::process::Command;

/// Returns standard output of the simulation of a scenario with this router.
fn simulated(scenario: &str, router: &str, words: &[&str]) -> String {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("day.toml"), scenario).unwrap();
    fs::write(place.path().join("router.conf"), router).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_htc-router-translate"))
        .args(["simulate", "day.toml", "--no-env", "--config-file", "router.conf"])
        .args(words)
        .current_dir(place.path())
        .env_clear()
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn route(more: &str) -> String {
    format!(
        "JOB_ROUTER_POLLING_PERIOD = 10\nJOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=r\n\
         REQUIREMENTS Owner == \"ann\"\nUNIVERSE VANILLA\n{more}@r\n"
    )
}

#[test]
fn jobs_without_a_route_have_a_waiting_time_and_a_reason() {
    let scenario = "length = '1h'\n[[jobs]]\nname = 'a'\ncount = 1\nat = '5s'\nrun = '10m'\nad = 'Owner = \"ann\"'\n\
        [[jobs]]\nname = 'b'\ncount = 3\nrun = '10m'\nad = 'Owner = \"bob\"'\n";
    let out = simulated(scenario, &route(""), &[]);
    assert!(out.contains("; 3 never got a route and are counted until the end\n"), "{out}");
    assert!(out.contains("not routed: 3: Owner == \"ann\" is not true in route R\n"), "{out}");
    let json = simulated(scenario, &route(""), &["--json"]);
    let totals: serde_json::Value = serde_json::from_str(&json).unwrap();
    // One job came 5 s before the poll that routed it; the others waited for the next hour.
    assert_eq!(totals[0]["longest_wait"], 3600.0, "{json}");
    assert_eq!(totals[0]["mean_wait"], (3.0 * 3600.0 + 5.0) / 4.0, "{json}");
    assert_eq!(totals[0]["never_routed"], 3, "{json}");
    assert_eq!(totals[0]["why_waiting"][0]["jobs"], 3, "{json}");
}

#[test]
fn a_black_hole_is_throttled_by_the_run_time_of_its_jobs() {
    let scenario = "length = '1h'\n[[jobs]]\ncount = 200\nrun = '30s'\nad = 'Owner = \"ann\"'\n";
    let throttled = |test: &str| {
        let router = route(&format!("JobFailureTest = {test}\nMaxJobs = 10\n"));
        let json = simulated(scenario, &router, &["--json"]);
        let totals: serde_json::Value = serde_json::from_str(&json).unwrap();
        totals[0]["routes"][0]["throttled"].as_f64().unwrap()
    };
    assert!(throttled("RemoteWallClockTime < 1800") > 0.0);
    // The manual uses this form, which 25.14 does not support.
    assert!(throttled("target.RemoteWallClockTime < 1800") > 0.0);
    assert_eq!(throttled("RemoteWallClockTime < 20"), 0.0);
    assert_eq!(throttled("RemoteWallClockTime =?= undefined"), 0.0);
}

#[test]
fn states_of_routes_are_written_to_a_file_or_printed() {
    let place = tempfile::tempdir().unwrap();
    let scenario = "length = '10m'\n[[jobs]]\ncount = 1\nat = '5s'\nrun = '1m'\nad = 'Owner = \"ann\"'\n";
    fs::write(place.path().join("day.toml"), scenario).unwrap();
    fs::write(place.path().join("router.conf"), route("")).unwrap();
    let simulate = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_htc-router-translate"))
            .args(["simulate", "--no-env", "--config-file", "router.conf"])
            .args(words)
            .current_dir(place.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let summary = simulate(&["day.toml", "--events", "states.jsonl"]);
    assert!(summary.contains("1 job arrived"), "{summary}");
    let states = fs::read_to_string(place.path().join("states.jsonl")).unwrap();
    let rows: Vec<serde_json::Value> =
        states.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.len() > 2 && rows[0]["routes"][0]["route"] == "R", "{states}");
    for words in [&["day.toml", "--events"][..], &["--events", "day.toml"]] {
        let table = simulate(words);
        assert!(table.contains("WAITING") && !table.contains("jobs arrived"), "{table}");
    }
}
