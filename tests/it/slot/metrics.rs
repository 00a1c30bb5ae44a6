//! Tests of the metrics of a running execution point.

use crate::support::point::Point;

/// Returns the value of a sample, or `None`.
fn sample(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

fn waiting_point() -> (Point, std::process::Child) {
    let point = Point::new().parameter("FetchWorkDelay = 300");
    let control = point.path("control").display().to_string();
    let point = point.arguments(["--control", &control]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "verdict"), ("verdict", "no work")]);
    (point, child)
}

#[test]
fn openmetrics_count_slots_fetches_and_hooks() {
    let (point, child) = waiting_point();
    let output = point.ask(["status", "--openmetrics"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.ends_with("# EOF\n"), "{text}");
    let slots: f64 = text
        .lines()
        .filter(|line| line.starts_with("htc_slots{"))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum();
    assert!(slots >= 1.0, "{text}");
    let fetches = sample(&text, "htc_fetches_total{verdict=\"no work\"}").unwrap();
    assert!(fetches >= 1.0, "{text}");
    assert_eq!(sample(&text, "htc_hook_calls_total{hook=\"FETCH_WORK\"}"), Some(fetches), "{text}");
    assert!(sample(&text, "htc_hook_seconds_total{hook=\"FETCH_WORK\"}").unwrap() > 0.0, "{text}");
    let failures = "htc_hook_failures_total{hook=\"FETCH_WORK\",reason=\"timeout\"}";
    assert_eq!(sample(&text, failures), Some(0.0), "{text}");
    assert_eq!(sample(&text, "htc_jobs_started_total"), Some(0.0), "{text}");
    // Metrics cannot be combined with another output format.
    assert_eq!(point.ask(["status", "--openmetrics", "--json"]).status.code(), Some(2));
    assert!(point.ask(["off"]).status.success());
    assert_eq!(point.end(child).status, Some(0));
}

#[test]
fn a_metrics_file_is_world_readable_and_replaced_atomically() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let (point, child) = waiting_point();
    let file = point.path("htc.prom");
    let option = format!("--openmetrics={}", file.display());
    assert!(point.ask(["status", &option]).status.success());
    let before = std::fs::metadata(&file).unwrap();
    assert_eq!(before.permissions().mode() & 0o777, 0o644);
    let kept = std::fs::File::open(&file).unwrap();
    assert!(point.ask(["status", &option]).status.success());
    // A reader that has opened the file still sees all of the old one.
    assert_eq!(kept.metadata().unwrap().nlink(), 0);
    assert!(std::io::read_to_string(kept).unwrap().ends_with("# EOF\n"));
    assert_eq!(point.ask(["status", "--openmetrics=/nowhere/x.prom"]).status.code(), Some(3));
    assert!(point.ask(["off"]).status.success());
    assert_eq!(point.end(child).status, Some(0));
}
