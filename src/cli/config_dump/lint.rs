//! `lint`: what is wrong in a configuration, in print.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use bstr::ByteSlice;
use serde::Serialize;

use crate::cli::common::{OutputOptions, Painter, Problem, Session, Status, stdout};
use crate::config::finding::Finding;
use crate::config::{ConfigError, LoadOptions, Who};
use crate::lint::daemons::here::ELSEWHERE;
use crate::lint::daemons::{Judgement, Wanted};
use crate::text::caret::LineCaret;
use crate::text::one_line::harmless;
use crate::world::World;

/// What is looked at.
pub(super) struct Request {
    /// Files that are the configuration; none: the one that is found as usual, with the paths that it names.
    pub(super) files: Vec<PathBuf>,
    /// The ad of a fetched job to look at in place of the configuration.
    pub(super) job_ad: Option<PathBuf>,
    /// What is not done here, in place of mistakes.
    pub(super) here: bool,
    /// How it is read.
    pub(super) options: LoadOptions,
    /// For whom.
    pub(super) who: Who,
    /// JSON or text.
    pub(super) output: OutputOptions,
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
    let wanted = Wanted {
        who: &request.who,
        options: &request.options,
        files: &request.files,
        here: request.here,
        redact: request.redact,
    };
    if let Some(file) = &request.job_ad {
        let name = file.display().to_string();
        let file = if name == "-" { PathBuf::from("/dev/stdin") } else { file.clone() };
        let text = world
            .read_file(&file, Some(64 << 20))
            .map_err(|error| Problem::cannot_read(&name).caused_by(error))?;
        let findings = wanted.judge_job(&name, &text, world);
        let lines = text.iter().filter(|&&byte| byte == b'\n').count();
        return tell(findings, &format!("{} read", counted(lines, "line")), request, session);
    }
    let judged = wanted.judge(world).map_err(|error| unreadable(&error))?;
    for warning in judged.warnings.iter().take(MOST_WARNINGS) {
        session.warn(warning);
    }
    if judged.warnings.len() > MOST_WARNINGS {
        session.warn(&format!("the first {MOST_WARNINGS} of {} warnings are shown", judged.warnings.len()));
    }
    let Judgement { findings, sources, settings, part, .. } = judged;
    let read = format!("{} and {} read", counted(sources, "source"), counted(settings, "setting"));
    let taken = "; taken for a part of a configuration, what may stand elsewhere is not missed";
    tell(findings, &format!("{read}{}", if part { taken } else { "" }), request, session)
}

/// So many findings are shown; a text that has more is hardly a configuration.
const MOST: usize = 1000;
/// So many warnings of the reading are shown before them.
const MOST_WARNINGS: usize = 100;

/// Prints findings and a summary; the status is 1 if there are any, 4 if only something could not be looked at.
fn tell(
    mut findings: Vec<Finding>,
    read: &str,
    request: &Request,
    session: &Session,
) -> anyhow::Result<Status> {
    let elsewhere = take_elsewhere(&mut findings);
    let shown = &findings[..findings.len().min(MOST)];
    let output = &request.output;
    let text = match output.wants_json() {
        true => {
            let records: Vec<Record> = shown.iter().chain(&elsewhere).map(record).collect();
            output.rows(&records)?.unwrap_or_default()
        }
        false => {
            let painter = Painter::stdout(output.color);
            let text: String = shown.iter().map(|finding| render(finding, painter)).collect();
            text + &by_reader(&elsewhere)
        }
    };
    stdout().write_all(text.as_bytes())?;
    session.tell(&summary(&findings, read));
    Ok(match () {
        () if findings.is_empty() => Status::Done,
        () if findings.iter().all(|finding| finding.rule == "not-read") => Status::Undefined,
        () => Status::No,
    })
}

/// `3 findings (2 unused-macro, 1 syntax); 4 sources and 52 settings read`.
fn summary(findings: &[Finding], read: &str) -> String {
    let mut rules: Vec<(&str, usize)> = Vec::new();
    for finding in findings {
        match rules.iter_mut().find(|(rule, _)| *rule == finding.rule) {
            Some((_, count)) => *count += 1,
            None => rules.push((finding.rule, 1)),
        }
    }
    rules.sort_by_key(|&(rule, count)| (std::cmp::Reverse(count), rule));
    let rules: Vec<String> = rules.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
    let mut text = match findings.len() {
        0 => "no findings".to_owned(),
        many => format!("{} ({})", counted(many, "finding"), rules.join(", ")),
    };
    if findings.len() > MOST {
        text.push_str(&format!(", of which the first {MOST} are shown"));
    }
    format!("{text}; {read}\n")
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn unreadable(error: &ConfigError) -> Problem {
    if let Some(problem) = Problem::without_configuration(error) {
        return problem;
    }
    let said: Vec<String> = error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
    let problem = Problem::unreadable(said.join("\n"));
    problem.maybe_hint(error.hint.as_deref())
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
    let message = harmless(&format!("{} [{}]", finding.message, finding.rule));
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
        let _ = writeln!(text, "    {} {}", painter.bold("fix:"), harmless(fix));
    }
    text
}

/// Takes out what is for others.
fn take_elsewhere(findings: &mut Vec<Finding>) -> Vec<Finding> {
    findings.extract_if(.., |finding| finding.rule == ELSEWHERE).collect()
}

/// What is for others in a line for each of them.
fn by_reader(elsewhere: &[Finding]) -> String {
    let mut readers: BTreeMap<&str, String> = BTreeMap::new();
    for finding in elsewhere {
        let names = readers.entry(&finding.message).or_default();
        let comma = if names.is_empty() { "" } else { "," };
        let _ = write!(names, "{comma} {}", finding.name);
        if let Some(spot) = &finding.spot {
            let _ = write!(names, " ({}:{})", spot.name, spot.line);
        }
    }
    readers.iter().map(|(reader, names)| format!("not here, but for {reader}:{names}\n")).collect()
}
