//! Parts of a configuration that were not read: sources that it names, and the statements after an error at which
//! daemons exit.

use bstr::{BString, ByteSlice};
use htc_config::Advice;
use htc_config::lint_rule::LintRule;

use super::lint_scope::{LintScope, is_read_elsewhere};
use crate::config::LintSubject;
use htc_base::text::{Span, caseless, list, similar_names};
use htc_config::finding::{Finding, Replacement};
use htc_config::macro_definition::MacroEntry;
use htc_config::macro_reference::{MacroFunction, next_reference};
use htc_config::parse::is_misspelled_endif;
use htc_config::source_location::SourceLocation;
use htc_config::template;
use htc_config::{ConfigError, SourceId};
use htc_config::{UnreadSource, UnreadSourceKind};

/// Returns the finding about a statement at which daemons exit. `effect` is the beginning of the message, which says if
/// the statements after it were checked.
pub fn fatal_error_finding(subject: &LintSubject<'_>, error: &ConfigError, effect: &str) -> Finding {
    let problem: Vec<String> = error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
    let spot = error.place.as_ref().map(|place| SourceLocation {
        source: place.source,
        name: place.name.clone().into(),
        line: place.line,
        text: place.text.clone().into(),
        span: place.span,
    });
    if spot.as_ref().is_some_and(|spot| has_leading_placeholder(spot.text.as_bytes())) {
        let message = format!("{effect}: a placeholder of a template engine was not replaced");
        let fix = "write the value in place of the placeholder, or run the template engine";
        return Finding::at(LintRule::TemplateMark, spot, message, fix);
    }
    if error.is_endif_missing && error.place.is_some() {
        return missing_endif_finding(spot, error);
    }
    // The parser stops at the end of a line that is not a statement.
    let spot = spot.map(|mut spot| {
        let text = spot.text.as_bytes();
        let (start, end) = (text.len() - text.trim_start().len(), text.trim_end().len());
        if spot.span.start as usize >= end && start < end {
            spot.span = Span::new(start, end);
        }
        spot
    });
    let hint = suggest_continuation(subject, error).or_else(|| error.hint.clone());
    let template = spot.as_ref().and_then(|spot| suggest_template(spot.text.as_bytes()));
    let hint = template.or(hint);
    let problem = if problem.is_empty() { "not a valid statement".to_owned() } else { problem.join("; ") };
    let finding = Finding::at(LintRule::Syntax, spot, format!("{effect}: {problem}"), hint.map(Advice::Text));
    let replacement = finding.spot.as_ref().and_then(|spot| {
        let line = spot.text.as_bytes();
        correct_template(line, spot.span).or_else(|| correct_include(line)).or_else(|| correct_endif(line))
    });
    Finding { replacement, ..finding }
}

/// Returns the finding about an `if` that is open at the end of its source. Its place is the `if`, or the line that was
/// probably intended to end it.
fn missing_endif_finding(spot: Option<SourceLocation>, error: &ConfigError) -> Finding {
    let line = spot.as_ref().map(|spot| spot.text.trim().to_vec()).unwrap_or_default();
    let is_if = caseless::starts_with(line.trim_start_with(|c| c == ':'), b"if");
    let message = match is_if {
        true => "no endif closes this if before the end of the file: daemons exit",
        false => "this line does not close the if before it: daemons exit at the end of the file",
    };
    let fix = match (is_if, &error.hint) {
        (true, Some(hint)) if hint.starts_with("'el") => {
            format!("write 'endif' after its last branch: {hint}")
        }
        (true, _) => "write 'endif' after its last line".to_owned(),
        (false, _) => "write 'endif'".to_owned(),
    };
    let finding = Finding::at(LintRule::Syntax, spot, message.to_owned(), fix);
    Finding { replacement: correct_endif(&line_of(&finding)), ..finding }
}

fn line_of(finding: &Finding) -> Vec<u8> {
    finding.spot.as_ref().map(|spot| spot.text.to_vec()).unwrap_or_default()
}

/// Returns the correction of a line that is a misspelled `endif`.
fn correct_endif(line: &[u8]) -> Option<Replacement> {
    let start = line.len() - line.trim_start().len();
    let span = Span::new(start, line.trim_end().len().max(start));
    is_misspelled_endif(line).then(|| Replacement { span, text: "endif".into() })
}

/// True if a placeholder of a template engine is before the value of a statement: `{{ if .Env.HOST }}`, `SLOT_{{ n }} =
/// 1`.
fn has_leading_placeholder(line: &[u8]) -> bool {
    let line = line.trim_start();
    // If the line begins with a placeholder, an equals sign may be part of the placeholder.
    let name = match line.starts_with(b"{") || line.starts_with(b"<%") {
        true => line,
        false => line.split(|&byte| byte == b'=').next().unwrap_or_default(),
    };
    [(&b"{{"[..], &b"}}"[..]), (b"{%", b"%}"), (b"<%", b"%>")]
        .iter()
        .any(|(open, close)| name.find(open).is_some_and(|at| name[at + open.len()..].contains_str(close)))
}

/// Returns the correction of `use CATEGORY : NAME` with a misspelled template name.
fn correct_template(line: &[u8], span: Span) -> Option<Replacement> {
    let rest = caseless::strip_prefix(line.trim_start(), b"use ")?;
    let (category, _) = rest.split_once_str(b":")?;
    let category = template::find_category(category.trim())?;
    let name = line.get(span.start as usize..span.end as usize)?.trim();
    let names = template::all().filter(|it| it.category() == category).map(|it| it.name());
    let is_known = template::find(category, name).is_some() || name.is_empty();
    let near = similar_names::nearest(name, names).filter(|_| !is_known)?;
    let is_place = caseless::contains(rest, name) && !name.contains(&b' ');
    is_place.then(|| Replacement { span, text: near.into() })
}

/// Suggests a template for `use CATEGORY : NAME` with a misspelled category, or with a name of another category.
fn suggest_template(line: &[u8]) -> Option<String> {
    let rest = caseless::strip_prefix(line.trim_start(), b"use ")?;
    let (category, name) = rest.split_once_str(b":")?;
    let (category, name) = (category.trim(), name.trim());
    let name = name.split(|byte| b"(, ".contains(byte)).next().unwrap_or_default();
    let Some(known) = template::find_category(category) else {
        let near = similar_names::nearest(category, template::all().map(|it| it.category()))?;
        return Some(format!("did you mean 'use {} : {}'?", near.as_bstr(), name.as_bstr()));
    };
    if template::find(known, name).is_some() || name.is_empty() {
        return None;
    }
    let letters = |text: &[u8]| -> Vec<u8> {
        text.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
    };
    let same = template::all().find(|it| letters(it.name()) == letters(name));
    if let Some(same) = same {
        return Some(format!(
            "did you mean 'use {} : {}'?",
            same.category().as_bstr(),
            same.name().as_bstr()
        ));
    }
    let names: Vec<&[u8]> = template::all().filter(|it| it.category() == known).map(|it| it.name()).collect();
    if similar_names::nearest(name, names.iter().copied()).is_some() {
        return None;
    }
    let is_short = names.len() <= 12;
    is_short.then(|| format!("write one of {}", bstr::join(", ", names).as_bstr()))
}

/// Returns the correction of `include PATH` and `include ifexist PATH`, which lack a colon.
fn correct_include(line: &[u8]) -> Option<Replacement> {
    let words: Vec<&[u8]> = line.fields().collect();
    let path = match words[..] {
        [include, path] if caseless::eq(include, b"include") => path,
        [include, option, path] if caseless::eq(include, b"include") && caseless::eq(option, b"ifexist") => {
            path
        }
        _ => return None,
    };
    let at = line.rfind(path)?;
    let has_colon = path.starts_with(b":") || path.ends_with(b":");
    (!has_colon).then(|| Replacement { span: Span::new(at, at), text: ": ".into() })
}

/// Returns advice to continue the line before an invalid statement, if that line ends with an operator.
fn suggest_continuation(subject: &LintSubject<'_>, error: &ConfigError) -> Option<String> {
    let place = error.place.as_ref()?;
    let number = place.line.checked_sub(1).filter(|number| *number > 0)?;
    let before = line_location(subject, place.source, number)?;
    let text = before.text.trim_end();
    let is_open = [&b"&&"[..], b"||", b"+", b"(", b",", b"?"].iter().any(|end| text.ends_with(end));
    let is_comment = text.trim_start().starts_with(b"#");
    (is_open && !is_comment).then(|| {
        format!("line {number} is not continued: end it with a backslash, '{} \\'", text.trim().as_bstr())
    })
}

/// Reports sources that the configuration names but that were not read.
pub fn check_unread_sources(subject: &LintSubject<'_>, scope: LintScope) -> Vec<Finding> {
    let is_unread =
        |source: &&UnreadSource| !(scope.for_other_machine && is_read_elsewhere(subject.config, source));
    let unread: Vec<&UnreadSource> = subject.config.unread_sources.iter().filter(is_unread).collect();
    let is_in_list = |source: &UnreadSource| source.kind == UnreadSourceKind::File && source.from.is_none();
    // Because of a semicolon, the files after it are not read either, so one finding is enough.
    let separated = unread
        .iter()
        .find_map(|source| semicolon_finding(subject, scope, source).filter(|_| is_in_list(source)));
    let others = unread.iter().filter(|source| separated.is_none() || !is_in_list(source));
    let others = others.filter_map(|source| unread_source_finding(subject, scope, source));
    separated.iter().cloned().chain(others).collect()
}

/// Reports a semicolon between the files of LOCAL_CONFIG_FILE, which is a part of the name before it.
fn semicolon_finding(subject: &LintSubject<'_>, scope: LintScope, source: &UnreadSource) -> Option<Finding> {
    let entry = naming_entry(subject, source)?;
    let (raw, name) = (&entry.current.raw, &source.name);
    let semicolon = name.find_byte(b';').filter(|&at| raw.trim_end().len() > at + 1)?;
    let at = raw.find(&name[..])? + semicolon;
    let more = raw[at + 1..].trim_start();
    if more.is_empty() {
        return None;
    }
    let (rule, effect) = match scope.for_other_machine {
        true => (LintRule::TrailingText, "it is a part of the path"),
        false => (LintRule::MissingSource, "daemons exit here, because it is a part of the path"),
    };
    let message = format!("{}: ';' does not separate files: {effect}", entry.name);
    let finding =
        subject.make_finding(rule, &entry.current, Some((at, at + 1)), message, Advice::Write(",".into()));
    Some(finding.replaced_by(","))
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
    let is_quoted = |quote: u8| name.len() > 2 && name.first() == Some(&quote) && name.last() == Some(&quote);
    let fix = match is_quoted(b'"') || is_quoted(b'\'') {
        true => format!("write {}: the quotes are a part of the path", name[1..name.len() - 1].as_bstr()),
        false => fix,
    };
    let entry = naming_entry(subject, source);
    let (message, fix) = match find_empty_macro(subject, source) {
        Some(name) => (
            format!("{message}; $({name}) in its path has no value"),
            match (scope.for_other_machine, &name[..]) {
                // TILDE is the home directory of the account condor, which a user cannot set.
                (true, b"TILDE") => "pass the files on the command line".to_owned(),
                (true, _) => format!("set {name}, or pass the files on the command line"),
                (false, _) => format!("set {name}"),
            },
        ),
        None => (message, fix),
    };
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

/// Returns the parameter that names a source, or `None` if an include does.
fn naming_entry<'a>(subject: &LintSubject<'a>, source: &UnreadSource) -> Option<&'a MacroEntry> {
    let named = match source.kind {
        UnreadSourceKind::Directory => &b"LOCAL_CONFIG_DIR"[..],
        UnreadSourceKind::File | UnreadSourceKind::Command => b"LOCAL_CONFIG_FILE",
    };
    subject.config.set.find_exact(named).filter(|_| source.from.is_none())
}

/// Returns the macro in the path of a source that has no value: `WORK_DIR` of `$(WORK_DIR)/config.d`.
fn find_empty_macro(subject: &LintSubject<'_>, source: &UnreadSource) -> Option<BString> {
    let name = &source.name[..];
    if let Some((id, line)) = source.from {
        return find_empty_reference(subject, line_location(subject, id, line)?.text.as_bytes(), 0);
    }
    let entry = naming_entry(subject, source)?;
    let is_path = |item: &&[u8]| {
        subject.view.expand_raw(&entry.name, item).is_ok_and(|path| path.trim() == name.trim())
    };
    let item = list::split(entry.raw()).find(is_path);
    let found = find_empty_reference(subject, item.unwrap_or(entry.raw()), 0);
    subject.view.take_messages();
    found
}

/// Returns the first macro in a text that has no value and no default. If its value is empty because of another macro,
/// returns the other macro.
fn find_empty_reference(subject: &LintSubject<'_>, text: &[u8], depth: usize) -> Option<BString> {
    const MAX_DEPTH: usize = 20;
    let mut at = 0;
    while let Some(found) =
        next_reference(text, at, &mut None, |function, _| function == MacroFunction::Plain)
    {
        at = found.end;
        let (name, default) = found.name_and_default(text);
        let raw = subject.view.raw_bytes(name).unwrap_or_default();
        let value = subject.view.expand_raw(name, &raw).unwrap_or_default();
        if default.is_none() && value.trim().is_empty() && !name.is_empty() {
            let origin =
                (depth < MAX_DEPTH).then(|| find_empty_reference(subject, &raw, depth + 1)).flatten();
            return Some(origin.unwrap_or_else(|| name.into()));
        }
    }
    None
}

/// Returns the location of a line.
pub(super) fn line_location(subject: &LintSubject<'_>, id: SourceId, line: u32) -> Option<SourceLocation> {
    let source = subject.config.set.source(id);
    let text = source.text.as_deref()?.lines().nth(line.checked_sub(1)? as usize)?;
    let start = text.len() - text.trim_start().len();
    let span = Span::new(start, text.trim_end().len().max(start));
    Some(SourceLocation { source: id, name: source.shared_name(), line, text: source.share(text), span })
}
