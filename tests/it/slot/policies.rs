//! Tests of the policies in `examples/policies`: the course of each agrees with the manual and with 25.14, and its picture shows
//! that course. `UPDATE_POLICIES=1` rewrites courses and pictures; the expectations are written by hand.

use std::path::{Path, PathBuf};
use std::process::Command;

fn policies() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/policies");
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|it| it == "toml")).collect();
    all.sort();
    all
}

fn play(scenario: &Path, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_htc-slot-run"))
        .args(["simulate", "--no-env", "--config-file"])
        .args([&scenario.with_extension("conf"), scenario])
        .args(words)
        .env_clear()
        .env("TZ", "UTC")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {output:?}", scenario.display());
    assert!(output.stderr.is_empty(), "{}: {}", scenario.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Compares a generated file with the stored one, or rewrites the stored file on request.
fn held(path: &Path, made: &str) {
    if std::env::var_os("UPDATE_POLICIES").is_some() {
        std::fs::write(path, made).unwrap();
    }
    let known = std::fs::read_to_string(path).unwrap_or_default();
    assert!(known == made, "{} is not what is made now; UPDATE_POLICIES=1 writes it", path.display());
}

/// Checks lines `FROM TO SLOT STATE/ACTIVITY REASON`: in this interval, in seconds, the slot must change to this state, with a
/// reason that contains these words.
fn expected(scenario: &Path, course: &str) {
    let mut count = 0;
    let states: Vec<(f64, &str, &str, &str)> = course
        .lines()
        .filter_map(|line| {
            let (at, rest) = line.trim().split_once(' ')?;
            let (slot, rest) = rest.split_once(": state ")?;
            let (state, reason) = rest.split_once(": ").unwrap_or((rest, ""));
            Some((at.parse().ok()?, slot, state, reason))
        })
        .collect();
    for line in std::fs::read_to_string(scenario.with_extension("expect")).unwrap().lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        count += 1;
        let mut words = line.splitn(5, ' ');
        let from: f64 = words.next().unwrap().parse().unwrap();
        let to: f64 = words.next().unwrap().parse().unwrap();
        let (slot, state) = (words.next().unwrap(), words.next().unwrap());
        let reason = words.next().unwrap_or("");
        let fits = |(at, its, is, why): &(f64, &str, &str, &str)| {
            (from..=to).contains(at) && *its == slot && *is == state && why.contains(reason)
        };
        assert!(states.iter().any(fits), "{}: not so: {line}\n{course}", scenario.display());
    }
    assert!(count >= 2, "{}", scenario.display());
}

#[test]
fn every_example_policy_takes_its_recorded_course() {
    let all = policies();
    for scenario in &all {
        let events = play(scenario, &["--events"]);
        let course: String = events
            .lines()
            .filter(|line| line.contains(": state ") || line.contains(": job "))
            .flat_map(|line| [line, "\n"])
            .collect();
        expected(scenario, &course);
        held(&scenario.with_extension("out"), &course);
        let picture = tempfile::NamedTempFile::new().unwrap();
        play(scenario, &["--svg", picture.path().to_str().unwrap()]);
        held(&scenario.with_extension("svg"), &std::fs::read_to_string(picture.path()).unwrap());
    }
    assert!(all.len() >= 28, "{}", all.len());
}

/// Every template for policies has an example.
#[test]
fn every_policy_template_is_tested() {
    let used: String =
        policies().iter().map(|path| std::fs::read_to_string(path.with_extension("conf")).unwrap()).collect();
    let about: String = policies().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let used = (used + &about).to_lowercase();
    let output =
        Command::new(env!("CARGO_BIN_EXE_htc-config-dump")).args(["use", "POLICY"]).output().unwrap();
    let names = String::from_utf8(output.stdout).unwrap();
    let mut count = 0;
    for name in names.split_whitespace().filter_map(|word| word.trim_end_matches(',').split(':').next_back())
    {
        let name = name.to_lowercase();
        if name.is_empty()
            || name == "use"
            || name == "policy"
            || name == "accepts"
            || name == "onlyregisteredcheckpointdestinations"
        {
            continue;
        }
        count += 1;
        assert!(used.contains(&format!("policy : {name}")), "no example has use POLICY : {name}");
    }
    assert!(count >= 16, "{names}");
    for feature in [
        "policy_expr_fragments",
        "policy_hours_to_start",
        "testingmode_policy_values",
        "uwcs_desktop_policy_values",
    ] {
        assert!(used.contains(&format!("feature : {feature}")), "{feature}");
    }
}

/// In the slot pairs as the manual prints them, a bracket is missing.
#[test]
fn lint_reports_the_missing_bracket_of_the_manual() {
    let pairs = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/policies/slot-pairs.conf");
    let text = std::fs::read_to_string(pairs).unwrap().replace("_State\"))", "_State\")");
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("c"), text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"))
        .args(["lint", "c"])
        .current_dir(place.path())
        .env_clear()
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("NonSuspendableSlotState") && stdout.contains("'(' is never closed"), "{stdout}");
}

/// WANT_HOLD: the job is held with the template's reason; without it, the job is not held.
#[test]
fn jobs_that_exceed_a_limit_are_held_if_the_policy_requires_it() {
    for (name, job, words) in [
        ("hold-if-memory", "2.0", "held: Error from slot1: memory usage exceeded request_memory"),
        ("hold-if-disk", "2.0", "held: Error from slot1: disk usage exceeded allocated disk"),
        ("hold-if-cpus", "1.0", "held: Error from slot1: CPU usage exceeded request_cpus"),
        ("hold-if-runtime", "1.0", "held: Error from slot1: runtime exceeded maximum (3600 seconds)"),
        ("want-hold-if", "1.0", "held: Error from slot1: guests have half an hour"),
        ("preempt-if-memory", "2.0", ""),
        ("preempt-if-cpus", "1.0", ""),
    ] {
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/policies/{name}.toml"));
        let told = play(&scenario, &["--why", job]);
        assert!(told.contains("was evicted from slot1"), "{name}: {told}");
        assert_eq!(told.contains("held: "), !words.is_empty(), "{name}: {told}");
        let text = words.rsplit(": ").next().unwrap();
        assert!(told.contains(text), "{name}: {told}");
    }
}
