//! What is wrong with a hook, whatever the verdict: each finding with its place and what to do.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};

use super::call::{Ended, Ending, Outcome};
use super::case::{Case, Protocol};
use super::verdict::Verdict;
use crate::classad::{Dialect, Expr, LineError};
use crate::hook::reply::{self, BadLine};
use crate::hook::{Caller, HookType};
use crate::process::Exit;
use crate::text::{Span, caseless};

/// What a finding is about. The words are stable; scripts may look for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// A line of output that is no attribute.
    BadLine,
    /// A string goes on in the next line of the output.
    NewlineInString,
    /// Text behind a complete value.
    TextAfterValue,
    /// An attribute whose name no queue takes.
    BadName,
    /// An attribute printed twice with different values.
    PrintedTwice,
    /// An attribute or output that has no effect here.
    IgnoredOutput,
    /// An attribute that was read before the hook ran.
    TooLate,
    /// Lines end with carriage returns.
    CarriageReturns,
    /// A NUL byte in the output.
    NulByte,
    /// The output is longer than the caller reads.
    OutputCut,
    /// The hook has not read all of its input.
    InputNotRead,
    /// Processes are left behind.
    LeftBehind,
    /// The hook ran longer than the caller waits.
    RanTooLong,
    /// A status that nobody looks at.
    StatusIgnored,
    /// A status that throws the answer away.
    AnswerDiscarded,
    /// `HookStatusCode` that does not count, or not as meant.
    StatusCode,
    /// The interpreter of the first line does not exist.
    MissingInterpreter,
    /// The caller refuses the path, or it cannot be executed.
    BadPath,
    /// A variable is not set that the caller does not pass.
    MissingVariable,
    /// A command is not found.
    MissingCommand,
    /// A fetched job lacks what it needs.
    IncompleteJob,
    /// The reference never calls this hook.
    NeverCalled,
    /// A second run answers differently.
    Varies,
    /// The answer depends on the working directory.
    DependsOnDirectory,
    /// The answer depends on HOME.
    DependsOnHome,
    /// The answer depends on the environment of the user's shell.
    DependsOnEnvironment,
}

impl Rule {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Rule::BadLine => "bad-line",
            Rule::NewlineInString => "newline-in-string",
            Rule::TextAfterValue => "text-after-value",
            Rule::BadName => "bad-name",
            Rule::PrintedTwice => "printed-twice",
            Rule::IgnoredOutput => "ignored-output",
            Rule::TooLate => "too-late",
            Rule::CarriageReturns => "carriage-returns",
            Rule::NulByte => "nul-byte",
            Rule::OutputCut => "output-cut",
            Rule::InputNotRead => "input-not-read",
            Rule::LeftBehind => "left-behind",
            Rule::RanTooLong => "ran-too-long",
            Rule::StatusIgnored => "status-ignored",
            Rule::AnswerDiscarded => "answer-discarded",
            Rule::StatusCode => "status-code",
            Rule::MissingInterpreter => "missing-interpreter",
            Rule::BadPath => "bad-path",
            Rule::MissingVariable => "missing-variable",
            Rule::MissingCommand => "missing-command",
            Rule::IncompleteJob => "incomplete-job",
            Rule::NeverCalled => "never-called",
            Rule::Varies => "varies",
            Rule::DependsOnDirectory => "depends-on-directory",
            Rule::DependsOnHome => "depends-on-home",
            Rule::DependsOnEnvironment => "depends-on-environment",
        }
    }

    /// Whether it is only worth knowing; all others cost jobs sooner or later.
    pub fn is_note(self) -> bool {
        matches!(
            self,
            Rule::CarriageReturns
                | Rule::InputNotRead
                | Rule::StatusIgnored
                | Rule::PrintedTwice
                | Rule::NeverCalled
                | Rule::IgnoredOutput
        )
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub rule: Rule,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub advice: String,
    /// Where in the output, if it stands there.
    pub place: Option<Span>,
}

impl Finding {
    /// A finding about the hook as a whole.
    pub fn new(rule: Rule, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Finding { rule, message: message.into(), advice: advice.into(), place: None }
    }

    fn at(mut self, place: Span) -> Self {
        self.place = Some(place);
        self
    }
}

/// Looks for everything that one call shows.
pub fn find(case: &Case, outcome: &Outcome, verdict: &Verdict) -> Vec<Finding> {
    let mut found = Vec::new();
    match &outcome.ending {
        Ending::Refused { reason } => found.push(Finding::new(Rule::BadPath, reason.clone(), "")),
        Ending::NotStarted { reason, interpreter } => found.push(not_started(reason, interpreter.as_deref())),
        Ending::Ran(ended) => {
            // Output first: it is what people look at.
            output(case, ended, verdict, &mut found);
            process(case, outcome, ended, &mut found);
            complaints(&ended.stderr, &mut found);
        }
    }
    if case.hook == HookType::EvictClaim {
        found.push(Finding::new(
            Rule::NeverCalled,
            "HTCondor 25.14 and all versions since 7.0 never call EVICT_CLAIM",
            "do not rely on it for jobs that must be put back; use JOB_EXIT, or a lease",
        ));
    }
    found
}

fn not_started(reason: &str, interpreter: Option<&str>) -> Finding {
    match interpreter {
        Some(name) if name.ends_with('\r') => Finding::new(
            Rule::MissingInterpreter,
            reason,
            "convert the file to Unix line ends, such as with sed -i 's/\\r$//'",
        ),
        Some(name) => Finding::new(
            Rule::MissingInterpreter,
            reason,
            format!("install '{name}' on every execution point, or name another interpreter"),
        ),
        None => Finding::new(Rule::BadPath, reason, "the file must be a program or begin with #!"),
    }
}

/// Whether the answer is read line by line to its end, rather than up to the first bad line.
fn reads_all(hook: HookType) -> bool {
    matches!(
        hook,
        HookType::FetchWork | HookType::TranslateJob | HookType::RouterUpdateJobInfo | HookType::JobFinalize
    )
}

/// Whether anything of the answer counts at all.
fn counts(case: &Case) -> bool {
    let thrown_away = matches!(case.hook, HookType::JobExit | HookType::JobCleanup);
    let old = case.protocol == Protocol::Old && case.hook == HookType::PrepareJob;
    case.hook.is_output_read() && !thrown_away && !old
}

fn output(case: &Case, ended: &Ended, verdict: &Verdict, found: &mut Vec<Finding>) {
    let text = reply::visible(&ended.stdout);
    if text.len() < ended.stdout.len() {
        let lost = ended.stdout.len() - text.len();
        found.push(
            Finding::new(
                Rule::NulByte,
                format!("a NUL byte ends the output; {lost} bytes behind it are lost"),
                "print text only",
            )
            .at(Span::new(text.len(), text.len())),
        );
    }
    if ended.cut {
        found.push(Finding::new(
            Rule::OutputCut,
            format!("the output reaches PIPE_BUFFER_MAX, {} bytes: the rest is lost", case.output_limit),
            "print only what changes, or raise PIPE_BUFFER_MAX where the hook is called",
        ));
    }
    if !counts(case) {
        if let Some((_, span)) = reply::lines(text).next() {
            let who = case.hook.caller().name();
            found.push(
                Finding::new(
                    Rule::IgnoredOutput,
                    format!("the {who} throws away what {} prints", case.hook.name()),
                    "nothing printed here has an effect; write to a file or to standard error",
                )
                .at(span),
            );
        }
        return;
    }
    if let Some(bad) = &verdict.bad {
        found.push(bad_line(case, bad));
    }
    lines(case, text, verdict, found);
    if let Some(at) = text.find(b"\r\n") {
        found.push(
            Finding::new(
                Rule::CarriageReturns,
                "lines end with a carriage return",
                "harmless here; other programs that read the ad may keep it",
            )
            .at(Span::new(at, at + 1)),
        );
    }
    if case.hook == HookType::FetchWork
        && let Some(job) = verdict.result.first()
    {
        for (name, why) in [
            ("Cmd", "there is nothing to run"),
            ("JobUniverse", "the starter takes 5 (vanilla) for granted"),
            ("Owner", "the job's account cannot be found where the startd runs as root"),
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
}

fn bad_line(case: &Case, bad: &BadLine) -> Finding {
    let consequence = if reads_all(case.hook) {
        "it spoils the whole answer"
    } else {
        "it and all lines behind it are ignored, and the hook succeeds all the same"
    };
    let open_string = matches!(&bad.error, Some(LineError::Value(_)))
        && bad.line.split_once_str("=").is_some_and(|(_, value)| is_open_string(value));
    let what = match &bad.error {
        _ if open_string => "a string goes on in the next line".to_owned(),
        None => "a name cannot stand in quotes".to_owned(),
        Some(LineError::Value(error)) => error.to_string(),
        Some(other) => other.to_string(),
    };
    let (rule, advice) = if open_string {
        (Rule::NewlineInString, "keep a message on one line; write a newline as a blank or as '; '")
    } else if bad.line.starts_with(b"#") {
        (Rule::BadLine, "comments are not understood here; print nothing but 'Name = value' lines")
    } else if bad.line.iter().all(|&byte| byte == b'-') {
        (Rule::BadLine, "separators are not understood here; print one ad and nothing else")
    } else {
        (Rule::BadLine, "print nothing but 'Name = value' lines; send everything else to standard error")
    };
    Finding::new(rule, format!("{what}: {consequence}"), advice).at(bad.wrong())
}

/// Whether a value begins with a quote that the line does not close.
fn is_open_string(value: &[u8]) -> bool {
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

/// Goes through the lines that count.
fn lines(case: &Case, text: &[u8], verdict: &Verdict, found: &mut Vec<Finding>) {
    let end = verdict.bad.as_ref().map_or(text.len(), |bad| bad.span.start as usize);
    let mut seen: BTreeMap<Vec<u8>, BString> = BTreeMap::new();
    for (_, span) in reply::lines(text) {
        if span.start as usize >= end {
            break;
        }
        let line = span.slice(text);
        let Some((name, value)) = line.split_once_str("=") else { continue };
        let indent = value.iter().take_while(|byte| **byte == b' ').count();
        let start = span.start as usize + name.len() + 1 + indent;
        let (name, value) = (name.trim_end_with(|c| c == ' '), &value[indent..]);
        let name_span = Span::new(span.start as usize, span.start as usize + name.len());
        if let Ok((_, used)) = Expr::parse_prefix(value, Dialect::old_syntax()) {
            let rest = value[used..].trim();
            if !rest.is_empty() {
                let from = start + used + value[used..].len() - value[used..].trim_start().len();
                found.push(
                    Finding::new(
                        Rule::TextAfterValue,
                        format!("the value of {} ends before this text, which is ignored", name.as_bstr()),
                        "print one expression a line; quote strings",
                    )
                    .at(Span::new(from, span.end as usize)),
                );
            }
        }
        if !is_name(name) {
            let consequence = match case.hook.caller() {
                Caller::Router => "the queue refuses it, and the whole answer with it",
                _ => "no expression can refer to it",
            };
            found.push(
                Finding::new(
                    Rule::BadName,
                    format!("'{}' is no attribute name: {consequence}", name.as_bstr()),
                    "names are letters, digits and underscores",
                )
                .at(name_span),
            );
        }
        let key = name.to_ascii_lowercase();
        if seen.get(&key).is_some_and(|before| *before != value) {
            found.push(
                Finding::new(
                    Rule::PrintedTwice,
                    format!("{} is printed again with another value: the last one counts", name.as_bstr()),
                    "print each attribute once",
                )
                .at(name_span),
            );
        }
        seen.insert(key, BString::from(value));
        attribute(case, verdict, name.as_bstr(), value, name_span, found);
    }
}

fn is_name(name: &[u8]) -> bool {
    name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Attributes that a starter has read before a prepare hook runs (hooks.md 5.2).
const READ_BEFORE: [&str; 11] = [
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

fn attribute(
    case: &Case,
    verdict: &Verdict,
    name: &BStr,
    value: &[u8],
    place: Span,
    found: &mut Vec<Finding>,
) {
    let is = |other: &str| caseless::eq(name, other.as_bytes());
    let prepares = matches!(case.hook, HookType::PrepareJob | HookType::PrepareJobBeforeTransfer);
    if prepares && READ_BEFORE.iter().any(|early| is(early)) {
        let same = Expr::parse_prefix(value, Dialect::old_syntax())
            .is_ok_and(|(value, _)| case.job.get(name).as_ref() == Some(&value));
        if !same {
            found.push(
                Finding::new(
                    Rule::TooLate,
                    format!("{name} was read before the hook ran: the ad changes, the run does not"),
                    "set it where the job is made (fetch hook, submit file)",
                )
                .at(place),
            );
        }
    }
    if verdict.ignored.iter().any(|ignored| caseless::eq(ignored, name)) && !prepares {
        found.push(
            Finding::new(
                Rule::IgnoredOutput,
                format!(
                    "{name} is set by the {} itself: what is printed has no effect",
                    case.hook.caller().name()
                ),
                "leave it out",
            )
            .at(place),
        );
    }
    let reads_status = prepares || case.hook == HookType::ShadowPrepareJob;
    if is("HookStatusCode") {
        let code =
            Expr::parse_prefix(value, Dialect::old_syntax()).ok().and_then(|(value, _)| value.as_literal());
        let message = match code {
            _ if !reads_status => Some(format!("nobody reads HookStatusCode from {}", case.hook.name())),
            Some(crate::classad::Value::Int(code)) if code < 0 && prepares => {
                Some("a negative HookStatusCode does not count: the exit status does".to_owned())
            }
            Some(crate::classad::Value::Str(_)) => {
                Some("a HookStatusCode in quotes does not count: the exit status does".to_owned())
            }
            _ => None,
        };
        if let Some(message) = message {
            let advice = "0 is success, 1 to 299 hold the job, 300 and more send it back to idle";
            found.push(Finding::new(Rule::StatusCode, message, advice).at(place));
        }
    }
}

fn process(case: &Case, outcome: &Outcome, ended: &Ended, found: &mut Vec<Finding>) {
    let offered = ended.stdin.offered;
    if ended.stdin.unread > 0 && ended.exit.is_some() {
        let unread = ended.stdin.unread;
        let message = if unread == offered {
            format!("none of the {offered} bytes of standard input were read")
        } else {
            format!("{unread} of {offered} bytes of standard input were not read")
        };
        found.push(Finding::new(
            Rule::InputNotRead,
            message,
            "harmless to the caller; but the hook does not know its job then",
        ));
    }
    for left in &ended.left_behind {
        let name = left.command.as_bstr();
        let holds = match (left.holds_stdout, left.holds_stderr) {
            (true, _) => ", and holds the hook's standard output open",
            (false, true) => ", and holds the hook's standard error open",
            _ => "",
        };
        let fate = match case.hook.caller() {
            Caller::Startd | Caller::Router => "it is killed before the answer is used",
            Caller::Starter => "it lives on until the starter ends, and what it writes is lost",
            Caller::Shadow => "it lives on, and what it writes is lost",
        };
        found.push(Finding::new(
            Rule::LeftBehind,
            format!("process {} ({name}) is left behind{holds}: {fate}", left.pid),
            "wait for what the hook starts; a service must be started elsewhere",
        ));
    }
    match ended.exit {
        None => {
            let who = case.hook.caller().name();
            let message = match case.caller_waits {
                Some(limit) if outcome.took >= limit => {
                    format!("the {who} waits {} s for it and then goes on", limit.as_secs_f64())
                }
                _ if case.hook.is_waited_for() => {
                    format!("it has not ended, and the {who} has no time-out for it")
                }
                _ => "it has not ended; nobody waits for it, but such processes pile up".to_owned(),
            };
            found.push(Finding::new(
                Rule::RanTooLong,
                message,
                "give every command in the hook a time-out of its own",
            ));
        }
        Some(exit) => status(case, outcome, exit, ended, found),
    }
}

fn status(case: &Case, outcome: &Outcome, exit: Exit, ended: &Ended, found: &mut Vec<Finding>) {
    if let Some(limit) = case.caller_waits
        && outcome.took > limit
    {
        found.push(Finding::new(
            Rule::RanTooLong,
            format!(
                "it took {:.1} s; its caller waits {} s",
                outcome.took.as_secs_f64(),
                limit.as_secs_f64()
            ),
            "make it faster, or raise the time-out's knob",
        ));
    }
    if exit.is_success() {
        return;
    }
    let printed = reply::lines(&ended.stdout).next().is_some();
    match case.hook {
        HookType::FetchWork | HookType::ReplyFetch | HookType::EvictClaim | HookType::UpdateJobInfo => {
            let but = if printed { ": the answer is used all the same" } else { "" };
            found.push(Finding::new(
                Rule::StatusIgnored,
                format!("it {exit}, which the {} does not look at{but}", case.hook.caller().name()),
                "to report a failure print nothing",
            ));
        }
        HookType::JobExit => found.push(Finding::new(
            Rule::StatusIgnored,
            format!("it {exit}, which the starter does not look at"),
            "a failure here must be handled by the hook itself",
        )),
        _ if printed && !matches!(exit, Exit::Signal { .. }) && case.hook.caller() == Caller::Router => {
            found.push(Finding::new(
                Rule::AnswerDiscarded,
                format!("it {exit}: the router throws its answer away"),
                "exit 0 when the answer is to count",
            ));
        }
        _ => {}
    }
}

/// What scripts say on standard error about their surroundings.
fn complaints(stderr: &[u8], found: &mut Vec<Finding>) {
    for line in stderr.lines() {
        let line = line.to_str_lossy();
        if let Some(name) = missing_variable(&line) {
            if !found.iter().any(|other| other.rule == Rule::MissingVariable && other.message.contains(&name))
            {
                found.push(Finding::new(
                    Rule::MissingVariable,
                    format!("the caller does not pass the variable {name}"),
                    "hooks get the daemon's environment, not that of a login shell; see --show-input",
                ));
            }
        } else if let Some(name) = missing_command(&line) {
            found.push(Finding::new(
                Rule::MissingCommand,
                format!("the command '{name}' is not found"),
                "name it by its full path, or set PATH in the hook",
            ));
        }
    }
}

fn missing_variable(line: &str) -> Option<String> {
    let word = |text: &str| {
        let name: String =
            text.chars().rev().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let name: String = name.chars().rev().collect();
        (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
    };
    for shell in [": unbound variable", ": parameter not set", ": parameter null or not set"] {
        if let Some((before, _)) = line.split_once(shell) {
            return word(before);
        }
    }
    if let Some(rest) = line.trim().strip_prefix("KeyError: '") {
        let name = rest.trim_end_matches('\'');
        let upper = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        return (upper && !name.is_empty()).then(|| name.to_owned());
    }
    let (_, rest) = line.split_once("Use of uninitialized value $ENV{")?;
    Some(rest.split('}').next()?.trim_matches(['"', '\'']).to_owned())
}

fn missing_command(line: &str) -> Option<String> {
    let before = line.strip_suffix(": command not found").or_else(|| line.strip_suffix(": not found"))?;
    let name = before.rsplit(": ").next()?;
    (!name.is_empty() && !name.contains(' ')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::RealWorld;
    use crate::quirks::Quirks;
    use std::time::Duration;

    fn rules(hook: HookType, stdout: &str, stderr: &str, code: u8) -> Vec<(&'static str, String)> {
        let case = Case::new(hook);
        let ended = Ended {
            exit: Some(Exit::Code(code)),
            stdout: stdout.into(),
            stderr: stderr.into(),
            ..Ended::default()
        };
        let outcome = Outcome { ending: Ending::Ran(ended), took: Duration::from_millis(5) };
        let world = RealWorld::new();
        let verdict = super::super::verdict(&case, &outcome, b"/hook", &world, Quirks::None);
        find(&case, &outcome, &verdict)
            .into_iter()
            .map(|finding| {
                let text = finding.place.map(|place| place.slice(stdout.as_bytes()).to_vec());
                (finding.rule.word(), String::from_utf8(text.unwrap_or_default()).unwrap())
            })
            .collect()
    }

    #[test]
    fn places_point_at_what_is_wrong() {
        let found = rules(HookType::PrepareJob, "A = 1 junk\nIwd = \"/x\"\n# note\nB = 2\n", "", 0);
        assert_eq!(
            found,
            [("bad-line", "# note".into()), ("text-after-value", "junk".into()), ("too-late", "Iwd".into())]
        );
        let found = rules(HookType::PrepareJob, "HookStatusMessage = \"one\ntwo\"\n", "", 0);
        assert_eq!(found[0].0, "newline-in-string");
        let found = rules(HookType::PrepareJob, "HookStatusCode = -1\nA = 1\na = 2\n", "", 0);
        assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), ["status-code", "printed-twice"]);
    }

    #[test]
    fn statuses_that_nobody_sees_are_named() {
        assert_eq!(rules(HookType::JobExit, "", "", 3), [("status-ignored", String::new())]);
        assert_eq!(rules(HookType::TranslateJob, "JobUniverse = 5\n", "", 1)[0].0, "answer-discarded");
        assert_eq!(rules(HookType::JobCleanup, "done\n", "", 0), [("ignored-output", "done".into())]);
    }

    #[test]
    fn missing_surroundings_are_read_off_the_complaints() {
        for (line, name) in [
            ("./h: line 3: SITE_NAME: unbound variable", "SITE_NAME"),
            ("./h: 3: SITE: parameter not set", "SITE"),
            ("KeyError: 'X509_USER_PROXY'", "X509_USER_PROXY"),
        ] {
            assert_eq!(missing_variable(line).as_deref(), Some(name));
        }
        assert_eq!(missing_variable("KeyError: 'Cmd'"), None);
        assert_eq!(missing_command("./h: line 2: jq: command not found").as_deref(), Some("jq"));
        assert_eq!(missing_command("/bin/sh: 1: nosuch: not found").as_deref(), Some("nosuch"));
    }
}
