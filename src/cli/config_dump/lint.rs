//! `lint`: what is wrong in a configuration, the language's own rules first, then those about hooks and transforms.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use serde::Serialize;

use super::hooks::keywords;
use super::redact;
use crate::cli::common::{Painter, Problem, Session, Status};
use crate::config::lint::{self, Finding, Spot, Subject};
use crate::config::macro_set::Entry;
use crate::config::{Config, ConfigError, LoadOptions, Who};
use crate::hook::{HookType, path_check};
use crate::text::caret::LineCaret;
use crate::text::caseless;
use crate::transform::lint::{Runner, lint as lint_transform};
use crate::transform::{LoadError, Transform};
use crate::world::World;

/// What is looked at.
pub(super) struct Request {
    /// Files that are the configuration; none: the one that is found as usual, with the paths that it names.
    pub(super) files: Vec<PathBuf>,
    /// The ad of a fetched job to look at in place of the configuration.
    pub(super) job_ad: Option<PathBuf>,
    /// How it is read.
    pub(super) options: LoadOptions,
    /// For whom.
    pub(super) who: Who,
    /// JSON in place of text.
    pub(super) json: bool,
    /// Colours.
    pub(super) painter: Painter,
    /// Whether secrets are masked.
    pub(super) redact: bool,
}

/// A finding for programs.
#[derive(Debug, Serialize)]
struct Record {
    rule: &'static str,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    name: String,
    message: String,
    fix: Option<String>,
}

/// Looks at a configuration and prints what it found; the status is 1 if there is anything.
pub(super) fn run(request: &Request, world: &dyn World, session: &Session) -> anyhow::Result<Status> {
    if let Some(file) = &request.job_ad {
        let name = file.display().to_string();
        let file = if name == "-" { PathBuf::from("/dev/stdin") } else { file.clone() };
        let text = world
            .read_file(&file, Some(64 << 20))
            .map_err(|error| Problem::unreadable(format!("cannot read '{name}'")).caused_by(error))?;
        let mut findings = super::job_ad::lint(&name, &text);
        if request.redact {
            let mut secrets = redact::Secrets::default();
            secrets.learn_lines(&text);
            findings.iter_mut().for_each(|finding| secrets.clean(finding, None));
        }
        return tell(&findings, request, session);
    }
    let mut options = LoadOptions { keep_texts: true, ..request.options.clone() };
    let detached = !request.files.is_empty();
    if detached {
        options.file = request.files.first().cloned();
        options.more_files = request.files[1..].to_vec();
        options.local_files = false;
        options.user_file = false;
    }
    let mut attempt = Config::attempt(world, &request.who, &options);
    if request.redact && attempt.error.is_some() {
        redact::attempt(&mut attempt, world);
    }
    let findings = match &attempt.error {
        Some(error) if error.place.is_none() => return Err(unreadable(error).into()),
        Some(error) => vec![syntax(error)],
        None => {
            let mut secrets = redact::Secrets::default();
            if request.redact {
                secrets.learn(&attempt.config, world);
            }
            for warning in &attempt.warnings {
                session.warn(&match request.redact {
                    true => secrets.sweep(&warning.text).to_string(),
                    false => warning.to_string(),
                });
            }
            let subject = Subject::new(&attempt.config, world);
            let mut findings = lint::lint(&subject);
            hooks(&subject, detached, &mut findings);
            transforms(&subject, detached, &mut findings);
            if detached {
                // Other files, and scripts, may refer to what these set.
                findings.retain(|finding| finding.rule != "unused-macro");
                // Files that are named and not read may define anything.
                let names_more = ["LOCAL_CONFIG_FILE", "LOCAL_CONFIG_DIR"]
                    .iter()
                    .any(|name| attempt.config.set.exact(name.as_bytes()).is_some());
                findings.retain(|finding| finding.rule != "undefined" || !names_more);
            }
            lint::sort(&mut findings);
            for finding in findings.iter_mut().filter(|_| request.redact) {
                let source = finding.spot.as_ref().map(|spot| attempt.config.set.source(spot.source));
                secrets.clean(finding, source.and_then(|source| source.text.as_deref()));
            }
            findings
        }
    };
    tell(&findings, request, session)
}

/// Prints findings; the status is 1 if there are any.
fn tell(findings: &[Finding], request: &Request, session: &Session) -> anyhow::Result<Status> {
    let mut out = Vec::new();
    if request.json {
        let records: Vec<Record> = findings.iter().map(record).collect();
        serde_json::to_writer_pretty(&mut out, &records)?;
        out.push(b'\n');
    } else {
        for finding in findings {
            out.extend_from_slice(render(finding, request.painter).as_bytes());
        }
    }
    std::io::stdout().write_all(&out)?;
    if !request.json && !findings.is_empty() {
        let s = if findings.len() == 1 { "" } else { "s" };
        session.tell(&format!("{} finding{s}\n", findings.len()));
    }
    Ok(if findings.is_empty() { Status::Done } else { Status::No })
}

fn unreadable(error: &ConfigError) -> Problem {
    let said: Vec<String> = error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
    let problem = Problem::unreadable(said.join("\n"));
    match &error.hint {
        Some(hint) => problem.hint(hint.as_str()),
        None => problem,
    }
}

/// A statement that stops the reading. What stands behind it has not been looked at.
fn syntax(error: &ConfigError) -> Finding {
    let said: Vec<String> = error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
    let spot = error.place.as_ref().map(|place| Spot {
        source: place.source,
        name: place.name.clone(),
        line: place.line,
        text: place.text.clone(),
        span: place.span,
    });
    Finding {
        rule: "syntax",
        spot,
        name: BString::default(),
        message: format!("reading stops here: {}", said.join("; ")),
        fix: error.hint.clone(),
    }
}

fn record(finding: &Finding) -> Record {
    let text = |bytes: &[u8]| bytes.to_str_lossy().into_owned();
    Record {
        rule: finding.rule,
        file: finding.spot.as_ref().map(|spot| text(&spot.name)),
        line: finding.spot.as_ref().map(|spot| spot.line),
        column: finding.spot.as_ref().map(|spot| spot.span.start + 1),
        name: text(&finding.name),
        message: finding.message.clone(),
        fix: finding.fix.clone(),
    }
}

/// `file:line:column: message [rule]`, the line with its caret, the fix.
fn render(finding: &Finding, painter: Painter) -> String {
    let message = format!("{} [{}]", finding.message, finding.rule);
    let mut text = match &finding.spot {
        Some(spot) => {
            let name = spot.name.to_str_lossy();
            let caret =
                LineCaret { source: &name, line: spot.line, text: &spot.text, span: spot.span, cut: 0 };
            let shown = caret.render(&message);
            match shown.rsplit_once('\n') {
                Some((before, marks)) => format!("{before}\n{}", painter.bad(marks)),
                None => shown,
            }
        }
        None => message,
    };
    text.push('\n');
    if let Some(fix) = &finding.fix {
        let _ = writeln!(text, "    {} {fix}", painter.bold("fix:"));
    }
    text
}

/// Knobs that name a keyword, and the types of hooks that their reader calls.
fn keyword_knob(name: &[u8]) -> bool {
    let name = name.rsplit(|&b| b == b'.').next().unwrap_or_default();
    caseless::ends_with(name, b"_JOB_HOOK_KEYWORD") || caseless::eq(name, b"JOB_ROUTER_HOOK_KEYWORD")
}

/// Keywords without hooks, and paths that the daemons refuse.
fn hooks(subject: &Subject<'_>, detached: bool, findings: &mut Vec<Finding>) {
    let with_hooks = keywords(subject.config);
    for entry in subject.written().filter(|entry| keyword_knob(&entry.name)) {
        let Ok(keyword) = subject.view.expand_raw(&entry.name, entry.raw()) else {
            continue;
        };
        let keyword = BString::from(keyword.trim());
        if keyword.is_empty() || with_hooks.iter().any(|known| caseless::eq(known, &keyword)) {
            continue;
        }
        let near = crate::text::similar::nearest(&keyword, with_hooks.iter().map(|known| &known[..]));
        findings.push(subject.finding(
            "keyword-without-hooks",
            &entry.current,
            Some((0, entry.raw().len())),
            format!("no hook at all is configured for keyword '{keyword}'"),
            Some(match near {
                Some(near) => format!("did you mean {}?", BStr::new(near)),
                None => format!("set {keyword}_HOOK_<TYPE> to the path of a hook"),
            }),
        ));
    }
    for entry in subject.written() {
        let name = entry.name.rsplit(|&b| b == b'.').next().unwrap_or_default();
        let is_hook = HookType::TABLE.iter().any(|hook| {
            let end = format!("_HOOK_{hook}");
            name.len() > end.len() && caseless::ends_with(name, end.as_bytes())
        });
        // Such names are told as wrong already.
        if !is_hook || caseless::contains(name, b"_JOB_HOOK_") {
            continue;
        }
        hook_path(subject, entry, detached, findings);
    }
}

fn hook_path(subject: &Subject<'_>, entry: &Entry, detached: bool, findings: &mut Vec<Finding>) {
    let Ok(path) = subject.view.expand_raw(&entry.name, entry.raw()) else {
        return;
    };
    let whole = Some((0, entry.raw().len()));
    if path.is_empty() {
        return;
    }
    if detached {
        // The files are for another machine; only what is wrong everywhere is told.
        let words: Vec<&[u8]> = path.fields().collect();
        if words.len() > 1 && words.first().is_some_and(|word| word.starts_with(b"/")) {
            findings.push(subject.finding(
                "hook-path",
                &entry.current,
                whole,
                format!(
                    "the whole value '{path}' is taken as the path of the hook: arguments cannot stand in it"
                ),
                "let the hook be a script that calls another with arguments".to_owned(),
            ));
            return;
        }
        // What does not stand here may stand there; what stands here is looked at.
        let file = Path::new(OsStr::from_bytes(&path));
        if !file.is_absolute() || subject.world.stat(file).is_err() {
            return;
        }
    }
    if let Err(refusal) = path_check::check(subject.world, &path) {
        findings.push(subject.finding("hook-refused", &entry.current, whole, refusal.to_string(), None));
    }
}

/// Whether a parameter holds a route or a transform.
fn is_body(name: &[u8]) -> bool {
    let name = name.rsplit(|&b| b == b'.').next().unwrap_or_default();
    ["JOB_ROUTER_ROUTE_", "JOB_ROUTER_TRANSFORM_", "JOB_TRANSFORM_"]
        .iter()
        .any(|prefix| caseless::starts_with(name, prefix.as_bytes()))
}

/// How often a word stands in a text, whatever its case.
fn count(text: &[u8], word: &str) -> usize {
    let word = word.as_bytes();
    text.windows(word.len().max(1)).filter(|part| caseless::eq(part, word)).count()
}

/// The bodies of routes and transforms, by the transform language's own rules.
fn transforms(subject: &Subject<'_>, detached: bool, findings: &mut Vec<Finding>) {
    let bodies: Vec<u8> = subject
        .config
        .set
        .entries()
        .filter(|entry| is_body(&entry.name))
        .flat_map(|entry| [entry.raw().as_bytes(), b"\n"].concat())
        .collect();
    for entry in subject.written().filter(|entry| !entry.raw().is_empty()) {
        let name = entry.name.rsplit(|&b| b == b'.').next().unwrap_or_default();
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
        match Transform::from_knob(&label, raw) {
            Err(LoadError::Requirements { reason, span, .. }) => {
                let part = Some((span.start as usize, (span.end as usize).max(span.start as usize + 1)));
                let message = format!("REQUIREMENTS of {label} is no expression: {reason}");
                findings.push(subject.finding("transform", &entry.current, part, message, None));
            }
            Ok(transform) => {
                for told in lint_transform(&transform, runner, Some(&subject.view), subject.world) {
                    // Macros pass from one transform of a chain to the next, and from files that are not seen here.
                    let name = told.message.split(' ').next().unwrap_or_default();
                    let elsewhere = count(&bodies, name) > count(raw, name);
                    if matches!(told.rule, "undefined" | "unused") && (detached || elsewhere) {
                        continue;
                    }
                    let span = told.line.span(told.at.0, told.at.1);
                    let part = (span.start as usize, (span.end as usize).min(raw.len()));
                    // What is wrong with brackets is told with its place already.
                    let covered = findings.iter().any(|other| {
                        other.rule == "unbalanced"
                            && other.name == entry.name
                            && told.message.contains("expression")
                    });
                    if !covered {
                        let fix = Some(told.fix.clone()).filter(|fix| !fix.is_empty());
                        findings.push(subject.finding(
                            told.rule,
                            &entry.current,
                            Some(part),
                            told.message.clone(),
                            fix,
                        ));
                    }
                }
            }
        }
    }
}
