//! What is wrong in a configuration: the language's own rules, then those of hooks, slots and transforms, which need
//! the rooms that read these values.

pub mod here;
mod hooks;
pub mod job_ad;
mod judge;
mod slots;
mod transforms;

pub use hooks::keywords;
pub use judge::{Judgement, Wanted};

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use crate::config::ConfigError;
use crate::config::lint::{self, Finding, Spot, Subject};
use crate::config::load::{Attempt, NotRead, NotReadKind};
use crate::text::Span;

/// What is known beside the configuration itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Whether the files are for another machine, so that paths that are not here are no mistake.
    pub elsewhere: bool,
    /// Whether all sources that the configuration names were read. What was not may define and use anything.
    pub complete: bool,
    /// Whether the files are only a part of a configuration: named like one, and saying neither which daemons run nor
    /// where more stands.
    pub part: bool,
}

impl Scope {
    /// What is known beside a configuration that was read as far as it goes, from `files` if there are any.
    pub fn of(attempt: &Attempt, files: &[PathBuf]) -> Scope {
        let elsewhere = !files.is_empty();
        let is_whole = |source: &NotRead| source.kind == NotReadKind::Directory && !elsewhere;
        let complete = attempt.error.is_none() && attempt.config.not_read.iter().all(is_whole);
        let names_more = ["DAEMON_LIST", "LOCAL_CONFIG_DIR", "LOCAL_CONFIG_FILE"]
            .iter()
            .any(|name| attempt.config.set.exact(name.as_bytes()).is_some());
        let part = elsewhere && !names_more && files.iter().all(|file| is_part(file));
        Scope { elsewhere, complete: complete && !part, part }
    }
}

/// Whether a file is called, or stands, as those of a LOCAL_CONFIG_DIR do: `50-site.conf`, `config.d/site`.
fn is_part(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    let directory = file.parent().and_then(Path::file_name).unwrap_or_default().as_encoded_bytes();
    name.iter().take(2).filter(|byte| byte.is_ascii_digit()).count() == 2 || directory.ends_with(b".d")
}

/// Rules that say that something is nowhere.
const ABSENCE: [&str; 7] = [
    "undefined",
    "unused-macro",
    "named-not-defined",
    "defined-not-named",
    "keyword-without-hooks",
    "unused",
    "shadowed-definition",
];

/// Runs all rules over a configuration whose texts were kept.
pub fn lint(subject: &Subject<'_>, scope: Scope) -> Vec<Finding> {
    let mut findings = lint::lint(subject);
    hooks::lint(subject, scope, &mut findings);
    slots::lint(subject, &mut findings);
    transforms::lint(subject, scope, &mut findings);
    if !scope.complete {
        // What is near to a name that is known is a slip wherever the rest stands.
        let is_slip =
            |finding: &Finding| finding.fix.as_ref().is_some_and(|fix| fix.starts_with("did you mean"));
        findings.retain(|finding| !ABSENCE.contains(&finding.rule) || is_slip(finding));
    }
    lint::sort(&mut findings);
    findings
}

/// A statement at which daemons stop. Whether what stands behind it was looked at is said by `what`.
pub fn stop(error: &ConfigError, what: &str) -> Finding {
    let said: Vec<String> = error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
    let spot = error.place.as_ref().map(|place| Spot {
        source: place.source,
        name: place.name.clone(),
        line: place.line,
        text: place.text.clone(),
        span: place.span,
    });
    let said = if said.is_empty() { "this is no statement".to_owned() } else { said.join("; ") };
    Finding {
        rule: "syntax",
        spot,
        name: BString::default(),
        message: format!("{what}: {said}"),
        fix: error.hint.clone(),
    }
}

/// Sources that the configuration names and that were not read.
pub fn not_read(subject: &Subject<'_>, scope: Scope) -> Vec<Finding> {
    subject.config.not_read.iter().filter_map(|source| source_not_read(subject, scope, source)).collect()
}

fn source_not_read(subject: &Subject<'_>, scope: Scope, source: &NotRead) -> Option<Finding> {
    let NotRead { kind, name, from, reason } = source;
    let (rule, message, fix) = match (kind, scope.elsewhere) {
        (NotReadKind::Command, _) => (
            "not-read",
            format!("'{name}' was not run: what it sets is not known here"),
            "run it with --exec, if you trust it".to_owned(),
        ),
        // Daemons read nothing from a directory that is not there, and that is often meant.
        (NotReadKind::Directory, false) => return None,
        (NotReadKind::Directory, true) => (
            "not-read",
            format!("the directory {name} was not looked at: {reason}"),
            "look where it is, or name its files here, too".to_owned(),
        ),
        (NotReadKind::File, true) => (
            "not-read",
            format!("the file {name} was not looked at: {reason}"),
            "look where it is, or name it here, too".to_owned(),
        ),
        (NotReadKind::File, false) => (
            "missing-source",
            format!("daemons stop here, the file {name} cannot be read: {reason}"),
            "make it, or take 'include ifexist' or REQUIRE_LOCAL_CONFIG_FILE = false".to_owned(),
        ),
    };
    let named = match kind {
        NotReadKind::Directory => &b"LOCAL_CONFIG_DIR"[..],
        NotReadKind::File | NotReadKind::Command => b"LOCAL_CONFIG_FILE",
    };
    let entry = subject.config.set.exact(named).filter(|_| from.is_none());
    let mut finding = match entry {
        Some(entry) => {
            let raw = &entry.current.raw;
            let part = raw.find(&name[..]).map_or((0, raw.len()), |at| (at, at + name.len()));
            subject.finding(rule, &entry.current, Some(part), message, fix)
        }
        None => Finding { rule, spot: None, name: BString::default(), message, fix: Some(fix) },
    };
    if let Some((source, line)) = *from {
        finding.spot = include_spot(subject, source, line);
    }
    Some(finding)
}

/// The line of an `include`.
fn include_spot(subject: &Subject<'_>, id: crate::config::SourceId, line: u32) -> Option<Spot> {
    let source = subject.config.set.source(id);
    let text = source.text.as_deref()?.lines().nth(line.checked_sub(1)? as usize)?;
    let start = text.len() - text.trim_start().len();
    let span = Span::new(start, text.trim_end().len().max(start));
    Some(Spot { source: id, name: source.name.clone(), line, text: text.into(), span })
}
