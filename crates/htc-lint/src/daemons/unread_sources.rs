//! Parts of a configuration that were not read: sources that it names, and the statements after one at which
//! daemons stop.

use bstr::ByteSlice;
use htc_config::Advice;
use htc_config::lint_rule::LintRule;

use super::lint_scope::LintScope;
use crate::config::LintSubject;
use htc_base::text::Span;
use htc_config::finding::Finding;
use htc_config::source_location::SourceLocation;
use htc_config::{ConfigError, SourceId};
use htc_config::{UnreadSource, UnreadSourceKind};

/// Returns the finding about a statement at which daemons stop; `what` says if the statements after it were
/// checked.
pub fn fatal_error_finding(error: &ConfigError, what: &str) -> Finding {
    let said: Vec<String> = error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
    let spot = error.place.as_ref().map(|place| SourceLocation {
        source: place.source,
        name: place.name.clone().into(),
        line: place.line,
        text: place.text.clone().into(),
        span: place.span,
    });
    let said = if said.is_empty() { "not a valid statement".to_owned() } else { said.join("; ") };
    Finding::at(LintRule::Syntax, spot, format!("{what}: {said}"), error.hint.clone().map(Advice::Text))
}

/// Reports sources that the configuration names but that were not read.
pub fn check_unread_sources(subject: &LintSubject<'_>, scope: LintScope) -> Vec<Finding> {
    subject
        .config
        .unread_sources
        .iter()
        .filter_map(|source| unread_source_finding(subject, scope, source))
        .collect()
}

fn unread_source_finding(
    subject: &LintSubject<'_>,
    scope: LintScope,
    source: &UnreadSource,
) -> Option<Finding> {
    let UnreadSource { kind, name, from, reason } = source;
    let (rule, message, fix) = match (kind, scope.for_other_machine) {
        (UnreadSourceKind::Command, _) => (
            LintRule::NotRead,
            format!("'{name}' was not run, so the parameters that it sets are unknown"),
            "run it with --exec, if you trust it".to_owned(),
        ),
        // Daemons read nothing from a missing directory, which is often intended.
        (UnreadSourceKind::Directory, false) => return None,
        (UnreadSourceKind::Directory, true) => (
            LintRule::NotRead,
            format!("the directory {name} was not read: {reason}"),
            "correct the path, or pass its files on the command line".to_owned(),
        ),
        (UnreadSourceKind::File, _) if name.find_byteset(b"*?").is_some() => (
            LintRule::MissingSource,
            format!(
                "the names of configuration files are not patterns, and no file has the name {name}: daemons exit here"
            ),
            "name each file, or set LOCAL_CONFIG_DIR to their directory".to_owned(),
        ),
        (UnreadSourceKind::File, true) => (
            LintRule::NotRead,
            format!("the file {name} was not read: {reason}"),
            "correct the path, or pass the file on the command line".to_owned(),
        ),
        (UnreadSourceKind::File, false) => (
            LintRule::MissingSource,
            format!("daemons exit here: the file {name} cannot be read: {reason}"),
            "create it, or use 'include ifexist' or REQUIRE_LOCAL_CONFIG_FILE = false".to_owned(),
        ),
    };
    let named = match kind {
        UnreadSourceKind::Directory => &b"LOCAL_CONFIG_DIR"[..],
        UnreadSourceKind::File | UnreadSourceKind::Command => b"LOCAL_CONFIG_FILE",
    };
    let entry = subject.config.set.find_exact(named).filter(|_| from.is_none());
    let mut finding = match entry {
        Some(entry) => {
            let raw = &entry.current.raw;
            let part = raw.find(&name[..]).map_or((0, raw.len()), |at| (at, at + name.len()));
            subject.make_finding(rule, &entry.current, Some(part), message, fix)
        }
        None => Finding::at(rule, None, message, fix),
    };
    if let Some((source, line)) = *from {
        finding.spot = line_location(subject, source, line);
    }
    Some(finding)
}

/// Returns the location of a line.
pub(super) fn line_location(subject: &LintSubject<'_>, id: SourceId, line: u32) -> Option<SourceLocation> {
    let source = subject.config.set.source(id);
    let text = source.text.as_deref()?.lines().nth(line.checked_sub(1)? as usize)?;
    let start = text.len() - text.trim_start().len();
    let span = Span::new(start, text.trim_end().len().max(start));
    Some(SourceLocation { source: id, name: source.shared_name(), line, text: source.share(text), span })
}
