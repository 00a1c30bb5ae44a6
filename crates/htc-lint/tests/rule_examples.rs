//! The examples of every rule: the wrong one has a finding of the rule, the right one has none.

#![allow(clippy::unwrap_used, reason = "tests fail by it")]

use htc_classad::Dialect;
use htc_config::lint_rule::{ExampleLanguage, LintRule};
use htc_config::target_version::TargetVersion;
use htc_config::{CommandPolicy, LoadOptions, LookupContext};
use htc_lint::daemons::LintRequest;
use htc_lint::transforms::{TransformRunner, lint};
use htc_os::RealWorld;
use htc_transform::Transform;

/// Returns the rules that find something in a text.
fn rules_of(language: ExampleLanguage, text: &str) -> Vec<LintRule> {
    let world = RealWorld::new();
    let context = LookupContext::default();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("condor_config");
    std::fs::write(&file, format!("{text}\n")).unwrap();
    let options = LoadOptions {
        file: Some(file),
        user_file: false,
        environment: language != ExampleLanguage::OtherMachine,
        commands: CommandPolicy::Skipped,
        ..LoadOptions::default()
    };
    let request = LintRequest {
        context: &context,
        options: &options,
        files: &[],
        used_by: &[],
        version: match language {
            ExampleLanguage::Version24 => TargetVersion::V24_0,
            _ => TargetVersion::default(),
        },
        only_unsupported: language == ExampleLanguage::Here,
        redact: false,
        checks_corrections: true,
    };
    match language {
        ExampleLanguage::Config
        | ExampleLanguage::Here
        | ExampleLanguage::OtherMachine
        | ExampleLanguage::Version24 => {
            let result = request.lint_config(&world).unwrap();
            result.findings.iter().map(|finding| finding.rule).collect()
        }
        ExampleLanguage::JobAd => {
            let findings = request.lint_job_ad("job", format!("{text}\n").as_bytes(), &world);
            findings.iter().map(|finding| finding.rule).collect()
        }
        ExampleLanguage::Rules => {
            let text = format!("{text}\n");
            let Ok(transform) = Transform::from_file("rules", text.as_bytes(), Dialect::of_world(&world))
            else {
                return vec![LintRule::Transform];
            };
            let findings = lint(&transform, TransformRunner::Tool, None, &world);
            findings.iter().map(|finding| finding.rule).collect()
        }
        ExampleLanguage::JobTransform => {
            let transform =
                Transform::from_parameter("t", text.as_bytes(), Dialect::of_world(&world)).unwrap();
            let findings = lint(&transform, TransformRunner::Schedd, None, &world);
            findings.iter().map(|finding| finding.rule).collect()
        }
    }
}

#[test]
fn wrong_examples_have_the_mistake_and_right_ones_do_not() {
    let mut wrong = Vec::new();
    for &rule in LintRule::ALL {
        let (description, language) = (rule.description(), rule.example_language());
        let found = rules_of(language, description.wrong);
        if !found.contains(&rule) {
            wrong.push(format!("{rule}: {:?} gives {found:?}", description.wrong));
        }
        let found = rules_of(language, description.right);
        if found.contains(&rule) {
            wrong.push(format!("{rule}: {:?} gives {found:?}", description.right));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
