//! The bodies of routes and transforms.

use bstr::ByteSlice;

use super::scope::Scope;
use crate::config::Subject;
use crate::transforms::{Runner, lint as lint_transform};
use htc_base::text::{bare_name, caseless};
use htc_config::finding::Finding;
use htc_config::macro_set::Entry;
use htc_transform::{LoadError, Transform};

/// Whether a parameter holds a route or a transform.
fn is_body(name: &[u8]) -> bool {
    let name = bare_name(name);
    ["JOB_ROUTER_ROUTE_", "JOB_ROUTER_TRANSFORM_", "JOB_TRANSFORM_"]
        .iter()
        .any(|prefix| caseless::starts_with(name, prefix.as_bytes()))
}

/// How often a word stands in a text, whatever its case.
fn count(text: &[u8], word: &str) -> usize {
    let word = word.as_bytes();
    text.windows(word.len().max(1)).filter(|part| caseless::eq(part, word)).count()
}

/// The transform of an entry; of one whose condition is bad the other statements are looked at as if it were good.
fn read(subject: &Subject<'_>, entry: &Entry, label: &str, findings: &mut Vec<Finding>) -> Option<Transform> {
    let raw = &entry.current.raw;
    let LoadError::Requirements { reason, span, text, .. } =
        match Transform::from_knob(label, raw, subject.dialect()) {
            Ok(transform) => return Some(transform),
            Err(error) => error,
        };
    let part = Some((span.start as usize, (span.end as usize).max(span.start as usize + 1)));
    let message = format!("REQUIREMENTS of {label} is no expression: {reason}");
    findings.push(subject.finding("transform", &entry.current, part, message, None));
    Transform::from_knob(label, &without(raw, &text)?, subject.dialect()).ok()
}

/// The bodies of routes and transforms, by the transform language's own rules.
pub(super) fn lint(subject: &Subject<'_>, scope: Scope, findings: &mut Vec<Finding>) {
    let bodies: Vec<u8> = subject
        .config
        .set
        .entries()
        .filter(|entry| is_body(&entry.name))
        .flat_map(|entry| [entry.raw().as_bytes(), b"\n"].concat())
        .collect();
    for entry in subject.written().filter(|entry| !entry.raw().is_empty()) {
        let name = bare_name(&entry.name);
        let is = |prefix: &str| caseless::starts_with(name, prefix.as_bytes());
        let runner = match () {
            () if caseless::ends_with(name, b"_NAMES") => continue,
            () if is("JOB_ROUTER_ROUTE_") || is("JOB_ROUTER_TRANSFORM_") => Runner::Router,
            () if is("JOB_TRANSFORM_") => Runner::Schedd,
            () => continue,
        };
        let raw = &entry.current.raw;
        // An ad in brackets is the old form, which is told where it is listed.
        if raw.trim_start().starts_with(b"[") {
            continue;
        }
        let label = name.to_str_lossy();
        let Some(transform) = read(subject, entry, &label, findings) else { continue };
        for told in lint_transform(&transform, runner, Some(&subject.view), subject.world) {
            // Macros pass from one transform of a chain to the next, and from files that are not seen here.
            let name = told.message.split(' ').next().unwrap_or_default();
            let elsewhere = count(&bodies, name) > count(raw, name);
            if matches!(told.rule, "undefined" | "unused") && (!scope.complete || elsewhere) {
                continue;
            }
            let span = told.line.span(told.at.0, told.at.1);
            let part = (span.start as usize, (span.end as usize).min(raw.len()));
            // What is wrong with brackets is told with its place already.
            let covered = findings.iter().any(|other| {
                other.rule == "unbalanced" && other.name == entry.name && told.message.contains("expression")
            });
            if !covered {
                let fix = Some(told.fix).filter(|fix| !fix.is_empty());
                findings.push(subject.finding(told.rule, &entry.current, Some(part), told.message, fix));
            }
        }
    }
}

/// `raw` with a condition that is as long as `condition` and always holds in its place, so that all else keeps its own.
fn without(raw: &[u8], condition: &[u8]) -> Option<Vec<u8>> {
    let at = raw.find(condition).filter(|_| !condition.is_empty())?;
    let mut changed = raw.to_vec();
    changed[at..at + condition.len()].fill(b' ');
    changed[at] = b'1';
    Some(changed)
}
