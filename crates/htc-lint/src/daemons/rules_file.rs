//! Rules files of transforms, as `transform --rules` reads them.

use bstr::{BString, ByteSlice};

use super::allow_comments::AllowComments;
use super::transforms::replace_condition;
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
    /// The text fits both.
    Unclear,
}

/// Returns the language of a text: that of most of its statements outside of `@=` blocks.
pub fn detect_language(text: &[u8]) -> FileLanguage {
    let (mut statements, mut assignments) = (0usize, 0usize);
    let mut block_end: Option<Vec<u8>> = None;
    for line in text.lines().map(|line| line.trim()) {
        if let Some(end) = &block_end {
            if line == end.as_slice() {
                block_end = None;
            }
            continue;
        }
        let name_length = line.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_.".contains(b)).count();
        let (name, rest) = line.split_at(name_length);
        if name.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let operator = rest.trim_start();
        if let Some(tag) = operator.strip_prefix(b"@=") {
            block_end = Some([b"@", tag.trim()].concat());
        }
        let is_operator = [&b"="[..], b"+=", b"@=", b":"].iter().any(|it| operator.starts_with(it));
        let is_router = ["JOB_ROUTER_", "JOB_TRANSFORM_"]
            .iter()
            .any(|prefix| caseless::starts_with(name, prefix.as_bytes()));
        if is_operator && is_router || caseless::eq(name, b"use") {
            return FileLanguage::Config;
        }
        if is_operator {
            assignments += 1;
        } else if rest.len() > operator.len()
            && STATEMENT_KEYWORDS.iter().any(|keyword| caseless::eq(name, keyword.as_bytes()))
        {
            statements += 1;
        }
    }
    match () {
        () if statements > 0 && 2 * statements >= assignments => FileLanguage::Rules,
        () if assignments > 0 => FileLanguage::Config,
        () => FileLanguage::Unclear,
    }
}

/// Finds the mistakes of a rules file. `macros` are those of the configuration, if there is one.
pub fn lint_rules_file(
    name: &str,
    text: &[u8],
    macros: Option<&dyn MacroSource>,
    world: &dyn World,
) -> Vec<Finding> {
    let dialect = Dialect::of_world(world);
    let mut findings = Vec::new();
    let transform = match Transform::from_file(name, text, dialect) {
        Ok(transform) => Some(transform),
        Err(error) => {
            let TransformLoadError::Requirements { reason, span, text: condition, .. } = &error;
            let message = format!("REQUIREMENTS is not a valid expression: {reason}");
            let spot = locate(name, text, *span);
            findings.push(Finding::at(LintRule::Transform, Some(spot), message, None));
            replace_condition(text, condition)
                .and_then(|good| Transform::from_file(name, &good, dialect).ok())
        }
    };
    if let Some(transform) = transform {
        let found = lint_transform(&transform, TransformRunner::Tool, macros, world);
        findings.extend(from_transform_findings(&found));
    }
    AllowComments::of_text(name.as_bytes(), text).apply(&mut findings);
    findings
}

/// Converts findings about transforms into those that all programs print, with the places in their sources.
pub fn from_transform_findings(found: &[TransformFinding]) -> Vec<Finding> {
    let mut counter: Option<(*const BString, LineCounter<'_>)> = None;
    found
        .iter()
        .map(|finding| {
            let source = &finding.line.source;
            let span = finding.line.locate(finding.at);
            let counter = match &mut counter {
                Some((of, counter)) if std::ptr::eq(*of, &source.text) => counter,
                other => &mut other.insert((&source.text, LineCounter::new(&source.text))).1,
            };
            let line = counter.line(span.start);
            let spot = location(source.name.as_bytes(), &source.text, span, line);
            let fix = Some(finding.fix.clone()).filter(|fix| !fix.is_empty()).map(Advice::Text);
            let replacement =
                finding.replacement.as_ref().map(|text| Replacement { span: spot.span, text: text.clone() });
            Finding { replacement, ..Finding::at(finding.rule, Some(spot), finding.message.clone(), fix) }
        })
        .collect()
}

fn locate(name: &str, text: &[u8], span: Span) -> SourceLocation {
    location(name.as_bytes(), text, span, span.position(text).line)
}

/// Returns a place of a text whose line number is known.
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
    fn the_language_of_a_file_is_that_of_its_statements() {
        for (text, language) in [
            ("SET A 1\n", FileLanguage::Rules),
            ("# x\nV = 1\nREQUIREMENTS true\nSET A $(V)\n", FileLanguage::Rules),
            ("JOB_ROUTER_ROUTE_a @=e\n SET A 1\n SET B 2\n@e\n", FileLanguage::Config),
            ("A = 1\nB = 2\nC = 3\nSET D 4\n", FileLanguage::Config),
            ("use ROLE:Execute\nSET A 1\n", FileLanguage::Config),
            ("X @=e\n SET A 1\n@e\n", FileLanguage::Config),
            ("bad line 1\n", FileLanguage::Unclear),
            ("SET = 1\n", FileLanguage::Config),
        ] {
            assert_eq!(detect_language(text.as_bytes()), language, "{text}");
        }
    }
}
