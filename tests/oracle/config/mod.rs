//! Configurations: random ones have the values that the reference's library gives, or are refused as there.
//!
//! `HTC_ORACLE_CONFIGS` sets the number of configurations [default: 300], `HTC_ORACLE_SEED` the random seed.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::python::Running;
use crate::random::Random;

mod generate;

const PROGRAM: &str = include_str!("peer.py");

/// Number of configurations that are sent at once.
const BATCH: usize = 100;

/// Our value of a macro that refers to itself: an error, where the reference never ends, or stops somewhere.
const SELF_REFERENCE: &str = "!self";

/// Result of a program for a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
enum Answer {
    /// Values of the names, in their order.
    Values(Vec<String>),
    /// The configuration is refused.
    Refused,
    /// The reference crashed or never ended, which is not compared.
    Crashed,
}

/// Returns the values that the program gives.
fn our_answer(path: &Path) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"))
        .env_clear()
        .env("CONDOR_CONFIG", path)
        .env("TZ", "UTC")
        .arg("--json")
        .args(generate::ASKED)
        .output()
        .unwrap();
    // Status 4 means that one of the names is not defined.
    if !matches!(output.status.code(), Some(0 | 4)) {
        return Answer::Refused;
    }
    let found: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let value = |name: &&str| {
        let is_it = |entry: &&Value| entry["name"].as_str().is_some_and(|it| it.eq_ignore_ascii_case(name));
        let entry = found.iter().find(is_it);
        match entry {
            Some(entry) if entry["error"].is_string() => SELF_REFERENCE.to_owned(),
            entry => entry.and_then(|entry| entry["expanded"].as_str()).unwrap_or_default().to_owned(),
        }
    };
    Answer::Values(generate::ASKED.iter().map(value).collect())
}

fn differ(ours: &Answer, theirs: &Answer) -> bool {
    match (ours, theirs) {
        (_, Answer::Crashed) => false,
        (Answer::Values(ours), Answer::Values(theirs)) => {
            ours.iter().zip(theirs).any(|(ours, theirs)| ours != SELF_REFERENCE && ours != theirs)
        }
        _ => ours != theirs,
    }
}

/// Removes lines while the two still differ.
fn shrink(text: &str, differs: &mut dyn FnMut(&str) -> bool) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let mut fewer = lines.clone();
        fewer.remove(at);
        if differs(&(fewer.join("\n") + "\n")) {
            lines = fewer;
        } else {
            at += 1;
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn random_configurations_have_the_values_of_the_reference() {
    let Some(mut peer) = Running::start(PROGRAM) else {
        println!("skipped: no Python with the module htcondor2 (set HTC_PYTHON)");
        return;
    };
    let expected = crate::number("HTC_ORACLE_CONFIGS").unwrap_or(300) as usize;
    let seed = crate::number("HTC_ORACLE_SEED").unwrap_or(1);
    let mut random = Random::new(seed);
    let directory = tempfile::tempdir().unwrap();
    let path_of = |at: usize| directory.path().join(format!("condor_config.{at}"));
    let mut ask = |texts: &[String]| -> Vec<Answer> {
        let question: Vec<_> = (0..texts.len())
            .map(|at| {
                std::fs::write(path_of(at), &texts[at]).unwrap();
                (path_of(at), generate::ASKED)
            })
            .collect();
        peer.exchange(&question).expect("the reference answers")
    };
    let (mut compared, mut refused, mut crashed, mut differences) = (0, 0, 0, Vec::new());
    while compared < expected && differences.len() < 10 {
        let texts: Vec<String> = (0..BATCH.min(expected - compared))
            .map(|_| generate::Generator::configuration(&mut random))
            .collect();
        let theirs = ask(&texts);
        compared += texts.len();
        refused += theirs.iter().filter(|answer| **answer == Answer::Refused).count();
        crashed += theirs.iter().filter(|answer| **answer == Answer::Crashed).count();
        let differing: Vec<usize> =
            (0..texts.len()).filter(|at| differ(&our_answer(&path_of(*at)), &theirs[*at])).collect();
        for at in differing {
            let mut differs = |text: &str| {
                let theirs = ask(&[text.to_owned()]);
                differ(&our_answer(&path_of(0)), &theirs[0])
            };
            let text = shrink(&texts[at], &mut differs);
            let theirs = ask(std::slice::from_ref(&text));
            differences.push(format!(
                "{text}  reference {:?}\n  ours      {:?}",
                theirs[0],
                our_answer(&path_of(0))
            ));
        }
    }
    println!(
        "{compared} configurations, seed {seed}, {refused} refused, {crashed} crash the reference: {} differ",
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
