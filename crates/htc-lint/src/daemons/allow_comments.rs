//! Comments `# htc: allow RULE: reason`, which silence findings on the statement after them.

use bstr::ByteSlice;

use htc_base::text::Span;
use htc_config::Config;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::SourceId;
use htc_config::source_location::SourceLocation;

/// Lines of a source on which a comment allows the findings of one rule.
#[derive(Debug)]
struct AllowedRule {
    source: SourceId,
    rule: LintRule,
    first_line: u32,
    last_line: u32,
}

/// Comments of all sources of a configuration.
#[derive(Debug, Default)]
pub(super) struct AllowComments {
    allowed: Vec<AllowedRule>,
    invalid: Vec<Finding>,
}

/// Returns the text of an `allow` comment after `allow`, or `None` if the line is not one.
fn allow_text(line: &[u8]) -> Option<&[u8]> {
    let comment = line.trim().strip_prefix(b"#")?.trim_start();
    let rest = comment.strip_prefix(b"htc:")?.trim_start().strip_prefix(b"allow")?;
    (rest.is_empty() || rest[0].is_ascii_whitespace()).then(|| rest.trim())
}

/// Returns the rule of an `allow` comment, or the problem with the comment.
fn parse_allow(text: &[u8]) -> Result<LintRule, String> {
    let (name, reason) = text.split_once_str(":").unwrap_or((text, b""));
    let name = name.trim().to_str_lossy();
    let rule = LintRule::from_name(&name).ok_or_else(|| match name.is_empty() {
        true => "the comment names no rule".to_owned(),
        false => format!("lint has no rule {name}"),
    })?;
    match reason.trim().is_empty() {
        true => Err(format!("the comment gives no reason for allowing {rule}")),
        false => Ok(rule),
    }
}

impl AllowComments {
    /// Reads the comments of a configuration that was loaded with the text of its sources.
    pub(super) fn of_config(config: &Config) -> Self {
        let mut comments = AllowComments::default();
        let mut ids: Vec<SourceId> = config.set.entries().map(|entry| entry.current.place.source).collect();
        ids.extend(config.set.displaced_entries().map(|entry| entry.current.place.source));
        ids.sort_unstable_by_key(|id| id.number());
        ids.dedup();
        for id in ids {
            let source = config.set.source(id);
            if let Some(text) = &source.text {
                comments.read_text(id, &source.name, text);
            }
        }
        comments
    }

    /// Reads the comments of a text that is not part of a configuration.
    pub(super) fn of_text(name: &[u8], text: &[u8]) -> Self {
        let mut comments = AllowComments::default();
        comments.read_text(SourceId::OVERLAY, name, text);
        comments
    }

    fn read_text(&mut self, id: SourceId, name: &[u8], text: &[u8]) {
        if !text.contains_str("htc:") {
            return;
        }
        let lines: Vec<&[u8]> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(text) = allow_text(line) else { continue };
            let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
            match parse_allow(text) {
                Ok(rule) => {
                    // Several comments may precede one statement; a statement may have continuation lines.
                    let follows = |line: &&&[u8]| allow_text(line).is_some();
                    let first = at + 1 + lines[at + 1..].iter().take_while(follows).count();
                    let continues = |line: &&&[u8]| line.trim_end().ends_with(b"\\");
                    let more = lines.get(first..).unwrap_or_default().iter().take_while(continues).count();
                    self.allowed.push(AllowedRule {
                        source: id,
                        rule,
                        first_line: u32::try_from(first + 1).unwrap_or(u32::MAX),
                        last_line: u32::try_from(first + more + 1).unwrap_or(u32::MAX),
                    });
                }
                Err(message) => {
                    let start = line.len() - line.trim_start().len();
                    let spot = SourceLocation {
                        source: id,
                        name: name.into(),
                        line: number,
                        text: (*line).into(),
                        span: Span::new(start, line.trim_end().len()),
                    };
                    let advice = "write '# htc: allow RULE: reason'; findings name their rule in brackets";
                    self.invalid.push(Finding::at(LintRule::AllowInvalid, Some(spot), message, advice));
                }
            }
        }
    }

    /// Removes the findings that comments allow and adds those about the comments themselves.
    pub(super) fn apply(self, findings: &mut Vec<Finding>) {
        findings.retain(|finding| {
            let Some(spot) = &finding.spot else { return true };
            !self.allowed.iter().any(|allowed| {
                allowed.rule == finding.rule
                    && allowed.source == spot.source
                    && (allowed.first_line..=allowed.last_line).contains(&spot.line)
            })
        });
        findings.extend(self.invalid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_needs_a_rule_and_a_reason() {
        let parse = |line: &str| allow_text(line.as_bytes()).map(parse_allow);
        assert_eq!(parse("  # htc: allow unused-macro: monitoring"), Some(Ok(LintRule::UnusedMacro)));
        assert_eq!(parse("#htc:allow unused-macro : a: b"), Some(Ok(LintRule::UnusedMacro)));
        assert_eq!(parse("# htc: allowed"), None);
        assert_eq!(parse("A = 1"), None);
        for bad in
            ["# htc: allow", "# htc: allow unused-macro", "# htc: allow unused-macro: ", "# htc: allow x: y"]
        {
            assert!(matches!(parse(bad), Some(Err(_))), "{bad}");
        }
    }
}
