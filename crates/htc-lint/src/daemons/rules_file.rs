//! Rules files of transforms, as `transform --rules` reads them.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use super::allow_comments::AllowComments;
use super::transforms::{advise_condition, replace_condition};
use crate::corrections::drop_wrong_corrections;
use crate::transforms::{TransformFinding, TransformRunner, lint as lint_transform};
use htc_base::text::{LineCounter, Span, caseless};
use htc_base::world::World;
use htc_classad::Dialect;
use htc_config::Advice;
use htc_config::MacroSource;
use htc_config::finding::{Finding, Replacement};
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::SourceId;
use htc_config::source_location::SourceLocation;
use htc_transform::{Transform, TransformLoadError};

/// Keywords of transform statements, which are followed by whitespace and no operator.
const STATEMENT_KEYWORDS: [&str; 11] = [
    "NAME",
    "REQUIREMENTS",
    "UNIVERSE",
    "TRANSFORM",
    "SET",
    "DEFAULT",
    "COPY",
    "RENAME",
    "DELETE",
    "EVALSET",
    "EVALMACRO",
];

/// Language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLanguage {
    /// Configuration.
    Config,
    /// Rules file of a transform.
    Rules,
    /// The text is valid in both languages.
    Unclear,
}

/// True if a text consists of ads in the long form: it has ClusterId and ProcId, or MyType is that of a job or slot.
pub fn is_file_of_ads(text: &[u8]) -> bool {
    let (mut has_cluster, mut has_proc) = (false, false);
    for line in text.lines() {
        let Some((name, value)) = line.split_once_str("=") else { continue };
        let (name, value) = (name.trim(), value.trim());
        has_cluster |= caseless::eq(name, b"ClusterId") && value.iter().all(u8::is_ascii_digit);
        has_proc |= caseless::eq(name, b"ProcId") && value.iter().all(u8::is_ascii_digit);
        let is_type = caseless::eq(name, b"MyType")
            && [&b"\"Job\""[..], b"\"Machine\"", b"\"Slot\""].iter().any(|known| caseless::eq(known, value));
        if is_type || has_cluster && has_proc {
            return true;
        }
    }
    false
}

/// True if a line outside of `@=` blocks is a statement of a transform.
pub fn has_rule_statement(text: &[u8]) -> bool {
    top_level_lines(text).any(|(name, rest)| {
        let operator = rest.trim_start();
        let is_assignment = operator.starts_with(b"=") || operator.starts_with(b"@=");
        is_keyword(name) && !is_assignment && (rest.is_empty() || operator.len() < rest.len())
    })
}

/// Returns true if a name is the keyword of a rule statement.
fn is_keyword(name: &[u8]) -> bool {
    STATEMENT_KEYWORDS.iter().any(|keyword| caseless::eq(name, keyword.as_bytes()))
}

/// Returns the lines of a text outside of `@=` blocks, each as the name at its start and the text after the name.
fn top_level_lines(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut block_end: Option<Vec<u8>> = None;
    text.lines().map(|line| line.trim()).filter_map(move |line| {
        if let Some(end) = &block_end {
            if line == end.as_slice() {
                block_end = None;
            }
            return None;
        }
        let name_length = line.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_.".contains(b)).count();
        let (name, rest) = line.split_at(name_length);
        block_end = rest.trim_start().strip_prefix(b"@=").map(|tag| [b"@", tag.trim()].concat());
        Some((name, rest))
    })
}

/// True if a text sets parameters of routes or transforms.
pub fn sets_router_parameters(text: &[u8]) -> bool {
    text.lines().map(|line| line.trim_start()).any(|line| {
        ["JOB_ROUTER_", "JOB_TRANSFORM_"]
            .iter()
            .any(|prefix| caseless::starts_with(line, prefix.as_bytes()) && line.contains(&b'='))
    })
}

/// Returns the language of most statements of a text, without those in `@=` blocks.
pub fn detect_language(text: &[u8]) -> FileLanguage {
    let (mut statements, mut assignments, mut unclear) = (0usize, 0usize, 0usize);
    for (name, rest) in top_level_lines(text).filter(|(name, _)| !name.is_empty()) {
        let operator = rest.trim_start();
        let is_operator = [&b"="[..], b"+=", b"@=", b":"].iter().any(|it| operator.starts_with(it));
        let is_router = ["JOB_ROUTER_", "JOB_TRANSFORM_"]
            .iter()
            .any(|prefix| caseless::starts_with(name, prefix.as_bytes()));
        if is_operator && is_router || caseless::eq(name, b"use") {
            return FileLanguage::Config;
        }
        // `set NAME = value` is written for a shell, or a statement with an unnecessary operator.
        let has_second_operator = || {
            let words = operator.trim_start_with(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
            words.len() < operator.len() && is_equals_sign(words.trim_start())
        };
        if is_operator {
            assignments += 1;
        } else if caseless::eq(name, b"set") && has_second_operator() {
            unclear += 1;
        } else if rest.len() > operator.len() && is_keyword(name) {
            statements += 1;
        }
    }
    match () {
        () if statements > 0 && 2 * (statements + unclear) >= assignments => FileLanguage::Rules,
        () if assignments > 0 => FileLanguage::Config,
        () => FileLanguage::Unclear,
    }
}

/// True if a text begins with `=` that is not part of a longer operator.
fn is_equals_sign(text: &[u8]) -> bool {
    text.starts_with(b"=") && !text[1..].starts_with(b"=") && !text[1..].starts_with(b"?")
}

/// Statements after the TRANSFORM that ends the rules; neither HTCondor nor this program executes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredStatements {
    /// Line number of the TRANSFORM, from 1.
    pub transform_line: u32,
    /// Place of the first ignored statement in the text.
    pub first: Span,
    /// The text with the TRANSFORM and its items replaced by comments of the same length.
    masked: Vec<u8>,
}

impl IgnoredStatements {
    /// Returns the statements after a TRANSFORM with arguments, or `None` if nothing follows it.
    pub fn find(text: &[u8], world: &dyn World) -> Option<IgnoredStatements> {
        let transform = Transform::from_file("", text, Dialect::of_world(world)).ok()?;
        let end = transform.envelope.rest_offset;
        let (before, rest) = text.split_at_checked(end)?;
        // The statement may continue over several lines.
        let mut start = before.trim_end().rfind_byte(b'\n').map_or(0, |newline| newline + 1);
        while start > 0 && text[..start - 1].trim_end().ends_with(b"\\") {
            start = text[..start - 1].rfind_byte(b'\n').map_or(0, |newline| newline + 1);
        }
        let has_items = before.trim_end().ends_with(b"(");
        let mut at = end;
        let mut in_items = has_items;
        for line in rest.lines_with_terminator() {
            let trimmed = line.trim();
            if in_items {
                in_items = !trimmed.starts_with(b")");
            } else if !trimmed.is_empty() && !trimmed.starts_with(b"#") {
                let indent = line.len() - line.trim_start().len();
                let mut masked = text.to_vec();
                let is_not_newline = |byte: &&mut u8| !matches!(**byte, b'\n' | b'\r');
                masked[start..at].iter_mut().filter(is_not_newline).for_each(|byte| *byte = b'#');
                let first = Span::new(at + indent, at + indent + trimmed.len());
                let transform_line = Span::at(start).position(text).line;
                return Some(IgnoredStatements { transform_line, first, masked });
            }
            at += line.len();
        }
        None
    }

    /// Describes the mistake.
    pub fn message(&self) -> String {
        format!(
            "the statements from here on are never executed: the TRANSFORM on line {} ends the rules",
            self.transform_line
        )
    }
}

/// Advice about statements after a TRANSFORM.
pub const MOVE_TRANSFORM: &str = "move TRANSFORM to the end";

/// Finds the mistakes of a rules file. `macros` are those of the configuration, if there is one.
pub fn lint_rules_file(
    name: &str,
    text: &[u8],
    macros: Option<&dyn MacroSource>,
    world: &dyn World,
) -> Vec<Finding> {
    let mut findings = find_rules_mistakes(name, text, macros, world);
    let check = |texts: &[(PathBuf, Vec<u8>)]| {
        let (_, corrected) = texts.first()?;
        Some(find_rules_mistakes(name, corrected, macros, world))
    };
    drop_wrong_corrections(&mut findings, &|_| Some(text.into()), &check);
    findings
}

fn find_rules_mistakes(
    name: &str,
    text: &[u8],
    macros: Option<&dyn MacroSource>,
    world: &dyn World,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut whole = text.to_vec();
    // On standard input, the text after the rules consists of ads.
    if name != STDIN_NAME {
        // Each round reads the whole text again.
        for _ in 0..MAX_TRANSFORMS {
            let Some(ignored) = IgnoredStatements::find(&whole, world) else { break };
            if findings.is_empty() {
                let transform = Transform::from_file(name, text, Dialect::of_world(world));
                findings.extend(transform.ok().map(|it| lint_header(&it, world)).unwrap_or_default());
                let spot = locate(name, text, ignored.first);
                let fix = Some(MOVE_TRANSFORM.into());
                findings.push(Finding::at(LintRule::Dead, Some(spot), ignored.message(), fix));
            }
            whole = ignored.masked;
        }
    }
    lint_whole_file(name, &whole, macros, world, &mut findings);
    AllowComments::of_text(name.as_bytes(), text).apply(&mut findings);
    findings
}

/// Maximum number of TRANSFORM statements after which the statements are checked.
const MAX_TRANSFORMS: usize = 20;

/// Name of standard input in findings.
pub const STDIN_NAME: &str = "<stdin>";

/// Finds mistakes in the TRANSFORM statement that ends the rules.
fn lint_header(transform: &Transform, world: &dyn World) -> Vec<Finding> {
    let found = lint_transform(transform, TransformRunner::Tool, None, world);
    let iteration: Vec<_> = found.into_iter().filter(|it| it.rule == LintRule::Transform).collect();
    from_transform_findings(&iteration)
}

/// Finds the mistakes of a rules file in which all statements are executed.
fn lint_whole_file(
    name: &str,
    text: &[u8],
    macros: Option<&dyn MacroSource>,
    world: &dyn World,
    findings: &mut Vec<Finding>,
) {
    let dialect = Dialect::of_world(world);
    let transform = match Transform::from_file(name, text, dialect) {
        Ok(transform) => Some(transform),
        Err(error) => {
            let TransformLoadError::Requirements { reason, span, text: condition, .. } = &error;
            let message = format!("REQUIREMENTS is not a valid expression: {reason}");
            let spot = locate(name, text, *span);
            let fix = error.advice().map(Advice::from).or_else(|| advise_condition(condition, dialect));
            findings.push(Finding::at(LintRule::Transform, Some(spot), message, fix));
            replace_condition(text, condition)
                .and_then(|good| Transform::from_file(name, &good, dialect).ok())
        }
    };
    if let Some(transform) = transform {
        let found = lint_transform(&transform, TransformRunner::Tool, macros, world);
        findings.extend(from_transform_findings(&found));
    }
}

/// Converts findings about transforms into general findings, with their places in the sources.
pub fn from_transform_findings(found: &[TransformFinding]) -> Vec<Finding> {
    let mut counter: Option<(*const BString, LineCounter<'_>)> = None;
    found
        .iter()
        .map(|finding| {
            let source = &finding.line.source;
            let span = finding.line.locate(finding.at);
            let counter = match &mut counter {
                Some((counted_text, counter)) if std::ptr::eq(*counted_text, &source.text) => counter,
                other => &mut other.insert((&source.text, LineCounter::new(&source.text))).1,
            };
            let line = counter.line(span.start);
            let spot = location(source.name.as_bytes(), &source.text, span, line);
            let fix = Some(finding.fix.clone()).filter(|fix| !fix.is_empty()).map(Advice::Text);
            let replacement =
                finding.replacement.as_ref().map(|text| Replacement { span: spot.span, text: text.clone() });
            Finding { replacement, ..Finding::at(finding.rule, Some(spot), finding.describe(0), fix) }
        })
        .collect()
}

fn locate(name: &str, text: &[u8], span: Span) -> SourceLocation {
    location(name.as_bytes(), text, span, span.position(text).line)
}

/// Returns the location of a span whose line number is known.
fn location(name: &[u8], text: &[u8], span: Span, line: u32) -> SourceLocation {
    let start = (span.start as usize).min(text.len());
    let first = memchr::memrchr(b'\n', &text[..start]).map_or(0, |newline| newline + 1);
    let last = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |more| start + more);
    let end = (span.end as usize).clamp(start, last.max(start));
    SourceLocation {
        source: SourceId::OVERLAY,
        name: name.into(),
        line,
        text: text[first..last].into(),
        span: Span::new(start - first, end - first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ads_are_not_configurations() {
        assert!(is_file_of_ads(b"MyType = \"Job\"\nA = 1\n") && is_file_of_ads(b"ClusterId = 7\nProcId=0\n"));
        assert!(!is_file_of_ads(b"START = TARGET.ClusterId == 7\nClusterId = $(X)\nProcId = 0\n"));
    }

    #[test]
    fn rule_statements_are_found_outside_of_blocks() {
        for (text, expected) in [
            ("A = 1\nset B 2\n", true),
            ("TRANSFORM\n", true),
            ("Requirements = true\nName=\"x\"\n", false),
            ("JOB_ROUTER_ROUTE_a @=e\n SET A 1\n@e\n", false),
            ("", false),
        ] {
            assert_eq!(has_rule_statement(text.as_bytes()), expected, "{text}");
        }
        assert!(
            sets_router_parameters(b" JOB_ROUTER_ROUTE_a @=e\n@e\n") && !sets_router_parameters(b"A = 1\n")
        );
    }

    #[test]
    fn the_statements_of_a_file_determine_its_language() {
        for (text, language) in [
            ("SET A 1\n", FileLanguage::Rules),
            ("# x\nV = 1\nREQUIREMENTS true\nSET A $(V)\n", FileLanguage::Rules),
            ("JOB_ROUTER_ROUTE_a @=e\n SET A 1\n SET B 2\n@e\n", FileLanguage::Config),
            ("A = 1\nB = 2\nC = 3\nSET D 4\n", FileLanguage::Config),
            ("use ROLE:Execute\nSET A 1\n", FileLanguage::Config),
            ("X @=e\n SET A 1\n@e\n", FileLanguage::Config),
            ("bad line 1\n", FileLanguage::Unclear),
            ("SET = 1\n", FileLanguage::Config),
            ("set NUM_CPUS = 3\n", FileLanguage::Unclear),
            ("A = 1\nset NUM_CPUS = 3\n", FileLanguage::Config),
            ("SET A = 1\nDELETE B\n", FileLanguage::Rules),
        ] {
            assert_eq!(detect_language(text.as_bytes()), language, "{text}");
        }
    }
}
