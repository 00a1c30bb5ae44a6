//! `lint --rules` and `lint --explain RULE`.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::cli::common::{OutputOptions, Painter, Status, render_table, stdout};
use crate::config::lint_rule::{ExampleLanguage, LintRule, RuleDescription};

/// Prints all rules as a table, or as JSON.
pub(crate) fn print_rules(output: &OutputOptions) -> anyhow::Result<Status> {
    let rules: Vec<RuleDescription> = LintRule::ALL.iter().map(|rule| rule.description()).collect();
    let text = match output.render_json(&rules)? {
        Some(text) => text,
        None => {
            let rows = rules.iter().map(|about| {
                [about.name.to_owned(), about.severity.word().to_owned(), about.explanation.to_owned()]
            });
            render_table(&["<RULE", "<SEVERITY", "<MISTAKE"], rows, Painter::stdout(output.color))
        }
    };
    stdout().write_all(text.as_bytes())?;
    Ok(Status::Done)
}

/// Prints the explanation of a rule.
pub(crate) fn print_explanation(rule: LintRule, output: &OutputOptions) -> anyhow::Result<Status> {
    let text = match output.render_json(&[rule.description()])? {
        Some(text) => text,
        None => explanation(rule, Painter::stdout(output.color)),
    };
    stdout().write_all(text.as_bytes())?;
    Ok(Status::Done)
}

fn explanation(rule: LintRule, painter: Painter) -> String {
    let about = rule.description();
    let mut text = format!(
        "{}\n{}\n\nseverity: {}\nversions: {}\n",
        painter.bold(about.name),
        about.explanation,
        about.severity.word(),
        about.versions
    );
    let language = match rule.example_language() {
        ExampleLanguage::Config
        | ExampleLanguage::Here
        | ExampleLanguage::OtherMachine
        | ExampleLanguage::Version24 => "",
        ExampleLanguage::Rules => " (rules file, route or transform)",
        ExampleLanguage::JobTransform => " (job transform of the access point)",
        ExampleLanguage::JobAd => " (job ad)",
    };
    for (title, example) in [("wrong", about.wrong), ("right", about.right)] {
        if example.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{}", painter.bold(format!("{title}{language}:")));
        for line in example.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}
