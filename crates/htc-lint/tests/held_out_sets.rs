//! Sets of mistakes that were written without knowledge of the rules (`tests/data/lint`).
//!
//! A line is a configuration with one mistake, in which `\n` is the end of a line. A line that begins with `-` has a
//! mistake that is not found.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use htc_config::finding::Finding;
use htc_config::lint_rule::{LintRule, LintSeverity};
use htc_config::target_version::TargetVersion;
use htc_config::{LoadOptions, LookupContext};
use htc_lint::daemons::LintRequest;
use htc_os::RealWorld;

/// Name of a file that is a whole configuration.
const WHOLE: &str = "condor_config";
/// Name of a file that is a part of a configuration.
const PART: &str = "50-site.conf";

/// Returns the findings in a configuration in a file of this name.
fn findings_in(file: &str, text: &str) -> Vec<Finding> {
    let place = tempfile::tempdir().unwrap();
    let files = [place.path().join(file)];
    std::fs::write(&files[0], text).unwrap();
    let request = LintRequest {
        context: &LookupContext::default(),
        options: &LoadOptions { environment: false, ..LoadOptions::default() },
        files: &files,
        only_unsupported: false,
        used_by: &[],
        version: TargetVersion::default(),
        redact: false,
        checks_corrections: true,
    };
    request.lint_config(&RealWorld::new()).unwrap().findings
}

/// True if lint has an error or a warning about a configuration in a file of this name.
fn has_finding(file: &str, text: &str) -> bool {
    findings_in(file, text)
        .iter()
        .any(|finding| finding.rule != LintRule::Elsewhere && finding.rule.severity() != LintSeverity::Note)
}

/// Checks that exactly the marked lines of a set are not found, and that they are at most one in twenty.
fn check_set(name: &str, file: &str, to_config: impl Fn(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/lint").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut wrong = Vec::new();
    for line in &lines {
        let mistake = line.strip_prefix('-').unwrap_or(line);
        let is_expected = !line.starts_with('-');
        if has_finding(file, &to_config(&mistake.replace("\\n", "\n"))) != is_expected {
            wrong.push(format!("{}: {mistake}", if is_expected { "not found" } else { "found now" }));
        }
    }
    assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
    let missed = lines.iter().filter(|line| line.starts_with('-')).count();
    assert!(missed * 20 <= lines.len(), "{missed} of {} are not found", lines.len());
}

#[test]
fn one_line_mistakes_are_found() {
    for number in 1..=6 {
        check_set(&format!("one-line-{number}.txt"), WHOLE, |text| format!("{text}\n"));
    }
    for number in 10..=13 {
        check_set(&format!("one-line-{number}.txt"), WHOLE, |text| format!("{text}\n"));
    }
    check_set("types-4.txt", WHOLE, |text| format!("{text}\n"));
}

/// A mistake is reported once: not with its consequences, and not by two rules that say the same.
#[test]
fn one_mistake_has_one_finding() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/lint");
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    let text = [read("single-11.txt"), read("single-12.txt"), read("single-13.txt")].concat();
    let mut wrong = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let found = findings_in(WHOLE, &format!("{}\n", line.replace("\\n", "\n")));
        if found.len() != 1 {
            let rules: Vec<_> = found.iter().map(|finding| finding.rule.name()).collect();
            wrong.push(format!("{line}: {rules:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mistakes_in_parts_of_a_configuration_are_found() {
    check_set("parts-7.txt", PART, |text| format!("{text}\n"));
    check_set("parts-8.txt", WHOLE, |text| format!("{text}\n"));
    check_set("families-8.txt", WHOLE, |text| format!("{text}\n"));
    check_set("parts-9.txt", WHOLE, |text| format!("{text}\n"));
    check_set("families-9.txt", WHOLE, |text| format!("{text}\n"));
}

/// Correct parts that need other files, and values that only look wrong.
#[test]
fn nothing_is_found_in_correct_parts() {
    for text in [
        "NETWORK_INTERFACE = 10.20.*",
        "STARTD_RESOURCE_PREFIX = vm\nVM1_STARTD_ATTRS = Zoo\nVM1_Zoo = \"a\"",
        "MODIFY_REQUEST_EXPR_REQUESTDISK = quantize(RequestDisk - $(CATALOG_SPACE), (Target.DiskQuantum ?: 1))",
        "IS_SEQCOMP_MACHINE = (SlotID >= ($(SEQCOMP_SLOT_BEGIN)) && SlotID <= ($(SEQCOMP_SLOT_END)))\n\
         STARTD_ATTRS = IS_SEQCOMP_MACHINE",
        "COLLECTOR_REQUIREMENTS = $(COLLECTOR_REQUIREMENTS) || (MyType == \"Machine\")",
        "GANGLIAD.COLLECTOR_HOST = $(HTCONDORCE_VIEW_POOL:$(CONDOR_HOST):$(PORT))",
        "JOB_EPOCH_HISTORY_DIR = $(TEST_DIR)/epoch_ads\nRELEASE_DIR = $(CONDOR_DIR)",
        "STARTD_CRON_JOBLIST = H\nSTARTD_CRON_H_EXECUTABLE = /opt/health\nSTARTD_CRON_H_PERIOD = 5m\n\
         NODE_IS_HEALTHY = False\nSTART = (NODE_IS_HEALTHY =?= True)",
        "NUM_SLOTS_TYPE_2 = 1\nSLOT_TYPE_2 = cpus=$(GLIDEIN_CPUS), memory=99%",
        "CONCURRENCY_LIMIT_DEFAULT_LARGE = 3",
        // A requirement may have the name of a setting.
        "SUBMIT_REQUIREMENT_NAMES = REASON_CODE\nSUBMIT_REQUIREMENT_REASON_CODE = JobUniverse == 5",
    ] {
        assert!(!has_finding(PART, &format!("{text}\n")), "{text}");
    }
}

#[test]
fn nothing_is_found_in_the_correct_parts_of_a_set() {
    let read = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/lint").join(name);
        std::fs::read_to_string(path).unwrap()
    };
    let text =
        ["good-8.txt", "good-families-8.txt", "good-9.txt", "good-12.txt", "good-13.txt"].map(read).concat();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        for name in [PART, WHOLE] {
            assert!(!has_finding(name, &format!("{}\n", line.replace("\\n", "\n"))), "{name}: {line}");
        }
    }
    for line in read("good-parts-9.txt").lines().filter(|line| !line.starts_with('#')) {
        assert!(!has_finding(PART, &format!("{}\n", line.replace("\\n", "\n"))), "{line}");
    }
}

#[test]
fn mistakes_of_routers_and_transforms_are_found() {
    for name in ["routes.txt", "routes-2.txt"] {
        check_set(name, WHOLE, to_router_config);
    }
}

/// Returns the configuration of a line about a route, a transform or the list of routes.
fn to_router_config(text: &str) -> String {
    let (kind, body) = text.split_once('|').unwrap();
    match kind {
        "route" => {
            format!("JOB_ROUTER_ROUTE_NAMES = a\nJOB_ROUTER_ROUTE_a @=end\n{body}\n@end\n")
        }
        "transform" => format!("JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=end\n{body}\n@end\n"),
        _ => {
            format!("{body}\nJOB_ROUTER_ROUTE_a @=end\nREQUIREMENTS Foo\nUNIVERSE VANILLA\n@end\n")
        }
    }
}

/// Correct lines have neither an error nor a warning.
#[test]
fn nothing_is_found_in_correct_lines() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/lint/good-1.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let is_refused = |line: &&&str| has_finding(WHOLE, &format!("{}\n", line.replace("\\n", "\n")));
    let refused: Vec<_> = lines.iter().filter(is_refused).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(lines.len() > 100);
}
