//! `lint --rules` and `lint --explain RULE`.

use std::fmt::Write as _;
use std::io::Write as _;

use super::options::LintOptions;
use crate::cli::common::{OutputOptions, Painter, ProgramContext, Status, render_table, stdout};
use crate::config::lint_rule::{ExampleLanguage, LintRule, RuleDescription};

/// Keys of the description of a rule.
const RULE_KEYS: [&str; 6] = ["name", "severity", "explanation", "wrong", "right", "versions"];

/// Prints all rules as a table, as JSON or as separated rows.
pub(crate) fn print_rules(
    options: &LintOptions,
    output: &OutputOptions,
    program: &ProgramContext,
) -> anyhow::Result<Status> {
    let rules: Vec<RuleDescription> = LintRule::ALL.iter().map(|rule| rule.description()).collect();
    let rules = options.order.apply_to_rows(rules, program)?;
    if let Some(rows) = options.rows.render(&rules, &RULE_KEYS)? {
        stdout().write_all(&rows)?;
        return Ok(Status::Done);
    }
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
pub(crate) fn print_explanation(
    rule: LintRule,
    options: &LintOptions,
    output: &OutputOptions,
) -> anyhow::Result<Status> {
    options.order.refuse("--explain")?;
    if let Some(rows) = options.rows.render(&[rule.description()], &RULE_KEYS)? {
        stdout().write_all(&rows)?;
        return Ok(Status::Done);
    }
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
        ExampleLanguage::Config => "",
        ExampleLanguage::Here => " (lint --here)",
        ExampleLanguage::OtherMachine => " (lint --no-env --config-file FILE)",
        ExampleLanguage::Version24 => " (lint --for 24.0)",
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
