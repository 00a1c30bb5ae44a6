//! Findings about the output of a hook.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};

use super::call::HookExecution;
use super::case::{Case, Protocol};
use super::finding::{Finding, Rule};
use super::verdict::Verdict;
use htc_base::text::plural::counted;
use htc_base::text::{Span, caseless};
use htc_classad::{ClassAd, Dialect, Expr, LineError, Value, is_private};
use htc_hook::hook_output::{self, BadOutputLine};
use htc_hook::{HookCaller, HookType};
use htc_lint::config::{check_printed_value, suggest_quantity};

/// Returns true if the caller parses the output line by line to its end, so that one bad line makes the whole output
/// invalid. Returns false if the caller reads the output up to the first bad line.
fn reads_whole_answer(hook: HookType) -> bool {
    matches!(
        hook,
        HookType::FetchWork | HookType::TranslateJob | HookType::RouterUpdateJobInfo | HookType::JobFinalize
    )
}

/// Returns true if the caller uses the output of the hook.
fn is_answer_used(case: &Case) -> bool {
    let thrown_away = matches!(case.hook, HookType::JobExit | HookType::JobCleanup);
    let old = case.protocol == Protocol::Legacy && case.hook == HookType::PrepareJob;
    case.hook.is_output_read() && !thrown_away && !old
}

pub(super) fn check_output(case: &Case, ended: &HookExecution, verdict: &Verdict, found: &mut Vec<Finding>) {
    let text = hook_output::visible_output(&ended.stdout);
    if text.len() < ended.stdout.len() {
        let lost = ended.stdout.len() - text.len();
        let message = format!("a NUL byte ends the output; lost: {}", counted(lost, "byte"));
        let end = Span::new(text.len(), text.len());
        found.push(Finding::new(Rule::NulByte, message, "print text only").with_place(end));
    }
    if ended.cut {
        let message = format!(
            "the output is longer than PIPE_BUFFER_MAX, {} bytes: the rest is lost",
            case.output_limit
        );
        let advice = match is_answer_used(case) {
            true => {
                "print only what changes, or raise PIPE_BUFFER_MAX in the configuration of the daemon that calls the hook"
            }
            false => "print less: further writes fail and may end the hook",
        };
        found.push(Finding::new(Rule::OutputCut, message, advice));
    }
    if !is_answer_used(case) {
        if let Some((_, span)) = hook_output::output_lines(text).next() {
            let caller = case.hook.caller().name();
            let message = format!("the {caller} ignores the output of {}", case.hook.name());
            let advice = "nothing printed here has an effect; write to a file or to standard error";
            found.push(Finding::new(Rule::IgnoredOutput, message, advice).with_place(span));
        }
        return;
    }
    if let Some(bad) = &verdict.bad_line {
        let ends = hook_output::output_lines(&text[bad.span.end as usize..]).next().is_none();
        found.push(bad_line_finding(case, bad, verdict, ends));
    }
    check_lines(case, text, verdict, found);
    if let Some(at) = text.find(b"\r\n") {
        let (message, advice) = (
            "lines end with a carriage return",
            "harmless here; other programs that read the ad may keep it",
        );
        found.push(Finding::new(Rule::CarriageReturns, message, advice).with_place(Span::new(at, at + 1)));
    }
    check_old_syntax(text, verdict, found);
    use HookType::{FetchWork, PrepareJob, PrepareJobBeforeTransfer, ShadowPrepareJob};
    if matches!(case.hook, FetchWork | PrepareJob | PrepareJobBeforeTransfer | ShadowPrepareJob) {
        check_container_choice(text, verdict, found);
    }
    if case.hook == HookType::FetchWork
        && let Some(job) = verdict.fetched_job.as_ref()
    {
        check_fetched_job(job, found);
    }
}

/// Reports attributes that every fetched job needs and this job lacks.
fn check_fetched_job(job: &ClassAd, found: &mut Vec<Finding>) {
    for (name, why) in [
        ("Cmd", "there is nothing to run"),
        ("JobUniverse", "the starter assumes 5 (vanilla)"),
        ("Owner", "a startd that runs as root cannot determine the job's account"),
    ] {
        let user = name == "Owner" && (job.contains("User") || job.contains("OsUser"));
        if !job.contains(name) && !user {
            found.push(Finding::new(
                Rule::IncompleteJob,
                format!("the fetched job has no {name}: {why}"),
                format!("print {name} as well"),
            ));
        }
    }
}

/// Reports an attribute of the old syntax that has no effect because the attribute of the new syntax is set
/// (`ArgList::AppendArgsFromClassAd`, `Env::MergeFrom`).
fn check_old_syntax(text: &[u8], verdict: &Verdict, found: &mut Vec<Finding>) {
    let Some(job) = verdict.result_ads.last() else { return };
    for (old, new, what) in [("Args", "Arguments", "arguments"), ("Env", "Environment", "environment")] {
        if let Some(place) = span_of_attribute(text, old)
            && job.string(new).is_some()
        {
            found.push(
                Finding::new(
                    Rule::IgnoredOutput,
                    format!("{old} has no effect: the job has {new}, which is its {what}"),
                    format!("print {new} instead; its syntax differs from that of {old}"),
                )
                .with_place(place),
            );
        }
    }
}

/// Returns the position of the first line that sets the attribute `wanted`, or `None`.
fn span_of_attribute(text: &[u8], wanted: &str) -> Option<Span> {
    let name_of = |line: &[u8]| line.split(|&byte| byte == b'=').next().unwrap_or_default().trim().to_owned();
    let mut lines = hook_output::output_lines(text).map(|(_, at)| at);
    lines.find(|at| caseless::eq(&name_of(at.slice(text)), wanted.as_bytes()))
}

/// Reports an image that has no effect, because an image or WantContainer alone does not put the job into a container
/// (`Starter::SpawnJob`).
fn check_container_choice(text: &[u8], verdict: &Verdict, found: &mut Vec<Finding>) {
    let Some(job) = verdict.result_ads.last() else { return };
    // The value of an expression is unknown here, so it is treated as true.
    let is_wanted = |name: &str| {
        job.get(name).is_some_and(|value| {
            !matches!(value.as_literal(), Some(Value::Bool(false) | Value::Int(0) | Value::Undefined))
        })
    };
    let chooses = ["WantDocker", "WantSIF", "WantSandboxImage", "WantDockerImage"];
    let names = ["ContainerImage", "DockerImage", "WantContainer"];
    let named = names.iter().filter(|name| is_wanted(name));
    let printed = named.clone().find_map(|name| span_of_attribute(text, name));
    if let Some(place) = printed
        && !chooses.iter().any(|name| is_wanted(name))
    {
        let names: Vec<&str> = named.copied().collect();
        let are = if names.len() == 1 { "is" } else { "are" };
        found.push(
            Finding::new(
                Rule::IgnoredOutput,
                format!("the job does not run in a container if only {} {are} set", names.join(" and ")),
                "print WantSIF, WantSandboxImage or WantDockerImage = true, which say what kind of image it is, or WantDocker = \
                 true as well; without them only SINGULARITY_JOB of an execution point chooses a container",
            )
            .with_place(place),
        );
    }
}

/// Creates the finding about a bad line. `ends` is true if no other line follows.
fn bad_line_finding(case: &Case, bad: &BadOutputLine, verdict: &Verdict, ends: bool) -> Finding {
    let consequence = if reads_whole_answer(case.hook) {
        "it makes the whole output invalid"
    } else if verdict.good {
        "this line and all lines after it are ignored, and the hook still succeeds"
    } else {
        "this line and all lines after it are ignored"
    };
    let open_string = matches!(&bad.error, Some(LineError::Value(_)))
        && bad.line.split_once_str("=").is_some_and(|(_, value)| is_unclosed_string(value));
    let what = match &bad.error {
        _ if open_string && ends => "a string has no closing quote".to_owned(),
        _ if open_string => "a string continues on the next line".to_owned(),
        None => "the name of an attribute cannot be quoted".to_owned(),
        Some(LineError::Value(error)) => error.to_string(),
        Some(other) => other.to_string(),
    };
    let (rule, advice) = if open_string && ends {
        (Rule::BadLine, "end the string with a quote; print the complete output, or nothing")
    } else if open_string {
        (Rule::NewlineInString, "keep a message on one line; write a newline as a blank or as '; '")
    } else if bad.line.starts_with(b"#") {
        (Rule::BadLine, "comments are not supported here; print only 'Name = value' lines")
    } else if bad.line.starts_with(b"{") || bad.line.starts_with(b"[") {
        (Rule::BadLine, "JSON and ads in brackets are not supported here; print 'Name = value' lines")
    } else if bad.line.iter().all(|&byte| byte == b'-') {
        (Rule::BadLine, "separators are not supported here; print one ad and nothing else")
    } else if let Some(line) = quote_path(&bad.line) {
        let advice = format!("quote it: {line}");
        return Finding::new(Rule::BadLine, format!("{what}: {consequence}"), advice)
            .with_place(bad.error_span());
    } else {
        (Rule::BadLine, "print nothing but 'Name = value' lines; send everything else to standard error")
    };
    Finding::new(rule, format!("{what}: {consequence}"), advice).with_place(bad.error_span())
}

/// Returns the line with quotes around its value if the value is a path without quotes. The word `export` of a shell
/// is left out.
fn quote_path(line: &[u8]) -> Option<BString> {
    let (name, value) = line.split_once_str("=")?;
    let name = name.trim();
    let name = name.strip_prefix(b"export ").map_or(name, |name| name.trim());
    let value = value.trim();
    let is_path = [&b"/"[..], b"./", b"../", b"~/"].iter().any(|start| value.starts_with(start));
    let is_plain = is_path && value.find_byteset(b"\"\\").is_none() && is_attribute_name(name);
    is_plain.then(|| [name, b" = \"", value, b"\""].concat().into())
}

/// Returns true if a value begins with a quote that is not closed on the line.
fn is_unclosed_string(value: &[u8]) -> bool {
    let value = value.trim();
    let Some(rest) = value.strip_prefix(b"\"") else { return false };
    let mut escaped = false;
    for &byte in rest {
        match byte {
            b'\\' if !escaped => escaped = true,
            b'"' if !escaped => return false,
            _ => escaped = false,
        }
    }
    true
}

/// Checks each line of the output that the caller reads.
fn check_lines(case: &Case, text: &[u8], verdict: &Verdict, found: &mut Vec<Finding>) {
    let end = verdict.bad_line.as_ref().map_or(text.len(), |bad| bad.span.start as usize);
    let mut earlier_values: BTreeMap<Vec<u8>, BString> = BTreeMap::new();
    let gap = text.find(b"\n\n").filter(|_| case.hook == HookType::FetchWork);
    for (_, span) in hook_output::output_lines(text) {
        if span.start as usize >= end {
            break;
        }
        let line = span.slice(text);
        let Some((name, value)) = line.split_once_str("=") else { continue };
        let indent = value.iter().take_while(|byte| **byte == b' ').count();
        let start = span.start as usize + name.len() + 1 + indent;
        let (name, value) = (name.trim_end_with(|c| c == ' '), &value[indent..]);
        let name_span = Span::new(span.start as usize, span.start as usize + name.len());
        let parsed = Expr::parse_prefix(value, Dialect::old_syntax()).ok();
        let rest_of_line = parsed.as_ref().map_or(&b""[..], |(_, used)| value[*used..].trim_start());
        if !rest_of_line.trim().is_empty() {
            let message = format!("the value of {} ends before this text, which is ignored", name.as_bstr());
            let advice = suggest_quantity(name, value)
                .unwrap_or_else(|| "print one expression per line; quote strings".to_owned());
            let finding = Finding::new(Rule::TextAfterValue, message, advice);
            found.push(
                finding.with_place(Span::new(start + value.len() - rest_of_line.len(), span.end as usize)),
            );
        }
        if !is_attribute_name(name) {
            let consequence = match case.hook.caller() {
                HookCaller::Router => "the queue refuses the attribute, and therefore the whole output",
                _ => "no expression can refer to it",
            };
            let (what, advice) = explain_bad_name(name);
            let message = format!("'{}' is not a valid attribute name{what}: {consequence}", name.as_bstr());
            found.push(Finding::new(Rule::BadName, message, advice).with_place(name_span));
        }
        let key = name.to_ascii_lowercase();
        let is_repeated = earlier_values.get(&key).is_some_and(|before| *before != value);
        let follows_gap = gap.is_some_and(|gap| span.start as usize > gap);
        if is_repeated && follows_gap {
            // One finding about the second job is enough.
            if !found.iter().any(|other| other.rule == Rule::SecondJob) {
                let message = "a second job begins here: an empty line does not separate jobs, so its attributes replace \
                               those of the first";
                let advice = "print one job; the hook is called again for the next one";
                found.push(Finding::new(Rule::SecondJob, message, advice).with_place(name_span));
            }
        } else if is_repeated {
            let message =
                format!("{} is printed again with a different value: the last value is used", name.as_bstr());
            found.push(
                Finding::new(Rule::PrintedTwice, message, "print each attribute once").with_place(name_span),
            );
        }
        earlier_values.insert(key, BString::from(value));
        let value = parsed.map(|(value, _)| value);
        found.extend(
            PrintedAttribute { case, name: name.as_bstr(), value, place: name_span }.findings(verdict),
        );
    }
}

/// Returns an explanation why an attribute name is invalid, and advice.
fn explain_bad_name(name: &[u8]) -> (&'static str, &'static str) {
    if name.starts_with(BYTE_ORDER_MARK) {
        let what = ", since it begins with a byte order mark, which no editor shows";
        return (what, "save or write the text as UTF-8 without BOM");
    }
    match name.starts_with(b"[") {
        true => ("", "print one attribute per line, without brackets and semicolons"),
        false => ("", "names are letters, digits and underscores"),
    }
}

/// Byte order mark that some editors and programs write at the beginning of a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

fn is_attribute_name(name: &[u8]) -> bool {
    name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Attributes that the starter reads before a prepare hook runs (`JobInfoCommunicator::initJobInfo`,
/// `JICLocal::initJobInfo`).
const READ_BEFORE_HOOK: [&str; 11] = [
    "Iwd",
    "In",
    "Out",
    "Err",
    "StarterUserLog",
    "Owner",
    "User",
    "OsUser",
    "ClusterId",
    "ProcId",
    "HookKeyword",
];

/// Attributes that the transfer of input reads before PREPARE_JOB runs (`FileTransfer::Init`);
/// PREPARE_JOB_BEFORE_TRANSFER can set them.
const READ_BY_TRANSFER: [&str; 4] =
    ["TransferInput", "TransferExecutable", "PublicInputFiles", "TransferInputRemaps"];

/// Attribute that the hook printed.
struct PrintedAttribute<'a> {
    case: &'a Case,
    name: &'a BStr,
    /// Value of the attribute, or `None` if it is not a valid expression.
    value: Option<Expr>,
    /// Position of the attribute's name in the output.
    place: Span,
}

impl PrintedAttribute<'_> {
    fn is_prepare_hook(&self) -> bool {
        matches!(self.case.hook, HookType::PrepareJob | HookType::PrepareJobBeforeTransfer)
    }

    fn new_finding(&self, rule: Rule, message: impl Into<String>, advice: &str) -> Finding {
        Finding::new(rule, message.into(), advice).with_place(self.place)
    }

    /// Returns all findings about the attribute.
    fn findings(&self, verdict: &Verdict) -> impl Iterator<Item = Finding> {
        let all = [
            self.check_value(verdict),
            self.check_set_in_time(),
            self.check_frozen_expression(),
            self.check_ignored_attribute(verdict),
            self.check_refused_attribute(verdict),
            self.check_private_attribute(),
        ];
        all.into_iter().chain([self.check_status_code()]).flatten()
    }

    /// Reports a value that the linter would report in a file.
    fn check_value(&self, verdict: &Verdict) -> Option<Finding> {
        // HookStatusCode is reported by a rule of its own.
        if caseless::eq(self.name, b"HookStatusCode") {
            return None;
        }
        let ads = || verdict.result_ads.iter().chain([self.case.subject(), &self.case.job, &self.case.slot]);
        let is_defined =
            |name: &[u8]| ads().any(|ad| ad.contains(name)) || caseless::eq(name, b"CurrentTime");
        let found = check_printed_value(self.name, self.value.as_ref()?, &is_defined)?;
        Some(self.new_finding(found.mistake.into(), found.message, &found.advice))
    }

    /// Reports an attribute that the caller read before the hook ran.
    fn check_set_in_time(&self) -> Option<Finding> {
        let PrintedAttribute { case, name, .. } = self;
        let is_among = |list: &[&str]| list.iter().any(|early| caseless::eq(name, early.as_bytes()));
        let transferred = case.hook == HookType::PrepareJob && is_among(&READ_BY_TRANSFER);
        if !self.is_prepare_hook() || !(transferred || is_among(&READ_BEFORE_HOOK)) {
            return None;
        }
        if self.value.is_some() && case.job.get(name) == self.value {
            return None;
        }
        let (what, advice) = match transferred {
            true => (
                "input is transferred earlier",
                "set it in PREPARE_JOB_BEFORE_TRANSFER, in the submit file or in the fetch hook",
            ),
            false => (
                "the job ad changes, but the job runs as before",
                "set it in the submit file or in the fetch hook",
            ),
        };
        Some(self.new_finding(Rule::TooLate, format!("{name} was read before the hook ran: {what}"), advice))
    }

    /// Reports an expression, such as Requirements, that the hook has replaced by a literal. A program that parses
    /// the whole ad and prints it again may do this by mistake.
    fn check_frozen_expression(&self) -> Option<Finding> {
        let before = self.case.subject().get(self.name).filter(|_| self.case.hook != HookType::FetchWork);
        let is_expression = before.is_some_and(|before| before.as_literal().is_none());
        let is_value = self.value.as_ref().is_some_and(|after| after.as_literal().is_some());
        (is_expression && is_value).then(|| {
            let message = format!("{} was an expression and is replaced by a plain value", self.name);
            self.new_finding(
                Rule::FrozenExpression,
                message,
                "print only the attributes that the hook should change",
            )
        })
    }

    /// Reports an attribute that has no effect because the caller sets it.
    fn check_ignored_attribute(&self, verdict: &Verdict) -> Option<Finding> {
        let PrintedAttribute { case, name, .. } = self;
        let is_ignored = verdict.ignored_attributes.iter().any(|ignored| caseless::eq(ignored, name));
        (is_ignored && !self.is_prepare_hook()).then(|| {
            let caller = case.hook.caller().name();
            let message = format!("{name} is set by the {caller} itself: the printed value has no effect");
            self.new_finding(Rule::IgnoredOutput, message, "do not print it")
        })
    }

    /// Reports an attribute that the queue refuses.
    fn check_refused_attribute(&self, verdict: &Verdict) -> Option<Finding> {
        let name = self.name;
        let is_refused =
            verdict.refused_attribute.as_ref().is_some_and(|refused| caseless::eq(refused, name));
        (is_refused && is_attribute_name(name)).then(|| {
            let message = format!("the queue refuses to change {name}, and therefore the whole output");
            self.new_finding(
                Rule::RefusedAttribute,
                message,
                "print only the attributes that the hook should change",
            )
        })
    }

    fn is_status_code_used(&self) -> bool {
        self.is_prepare_hook() || self.case.hook == HookType::ShadowPrepareJob
    }

    fn check_private_attribute(&self) -> Option<Finding> {
        let name = self.name;
        (is_private(name) && self.is_status_code_used()).then(|| {
            let message = format!("{name} is private: neither the job nor any other hook can see it");
            self.new_finding(Rule::IgnoredOutput, message, "use another name")
        })
    }

    /// Reports a HookStatusCode that the caller ignores.
    fn check_status_code(&self) -> Option<Finding> {
        if !caseless::eq(self.name, b"HookStatusCode") {
            return None;
        }
        let message = match self.value.as_ref().and_then(Expr::as_literal) {
            _ if !self.is_status_code_used() => {
                format!("nothing reads HookStatusCode from {}", self.case.hook.name())
            }
            Some(Value::Int(code)) if code < 0 && self.is_prepare_hook() => {
                "a negative HookStatusCode is ignored: the exit status is used".to_owned()
            }
            Some(Value::Str(_)) => {
                "a HookStatusCode in quotes is ignored: the exit status is used".to_owned()
            }
            _ => return None,
        };
        let advice = match self.case.hook {
            _ if self.is_status_code_used() => {
                "0 is success, 1 to 299 hold the job, 300 and more put it back to idle"
            }
            HookType::FetchWork => "to report a failure print nothing",
            _ => "use the exit status: any value but 0 is a failure",
        };
        Some(self.new_finding(Rule::StatusCode, message, advice))
    }
}
