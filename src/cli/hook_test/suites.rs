//! `htc-hook-test run` and `init`: suites of cases, and a first one for a hook.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use bstr::{BString, ByteSlice};
use clap::Args;
use tempfile::TempDir;

use super::one::{self, Expectation};
use super::report;
use super::setup::Setup;
use super::{Cli, setup};
use crate::classad::{ClassAd, format::long, regex};
use crate::cli::common::{Painter, Problem, Progress, Session, Status};
use crate::hook::{HookType, path_check};
use crate::os::RealWorld;
use crate::process::Exit;
use crate::quirks::Quirks;
use crate::runner::hook_test::pool::{Job, run_many};
use crate::runner::hook_test::suite::{self, CaseText, Expect, SuiteCase, SuiteError};
use crate::runner::hook_test::{Case, Ending, Finding, Outcome, Place, Verdict, find, samples, verdict};
use crate::starter::Settings;

/// Options of `run`.
#[derive(Args, Clone, Debug)]
pub(super) struct RunArgs {
    /// Suites: files, or directories of *.toml
    #[arg(value_name = "DIR", required = true)]
    pub suites: Vec<PathBuf>,
    /// Run only cases whose name contains TEXT
    #[arg(long, value_name = "TEXT", help_heading = "Cases")]
    pub filter: Option<String>,
    /// Print the names of the cases and run nothing
    #[arg(long, help_heading = "Cases")]
    pub list: bool,
    /// Run N cases side by side
    #[arg(long, short = 'j', value_name = "N", help_heading = "Cases")]
    pub jobs: Option<usize>,
    /// Write the present verdicts into the suites
    #[arg(long, help_heading = "Cases")]
    pub update: bool,
    /// Write results as TAP to standard output
    #[arg(long, help_heading = "Output")]
    pub tap: bool,
    /// Write results as JUnit XML to FILE
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
}

/// A case that can be called.
struct Ready {
    setup: Setup,
    place: Place,
    /// Files of the case; kept until it is over.
    _files: TempDir,
    expect: Expect,
    expectations: Vec<Expectation>,
    stderr: Option<regex::Regex>,
}

/// What came of a case.
struct Done {
    name: String,
    seconds: f64,
    /// Why it failed; empty for success.
    failures: Vec<String>,
    skipped: Option<String>,
    verdict: Option<Verdict>,
    source: (PathBuf, usize),
}

pub(super) fn run(cli: &Cli, args: &RunArgs, session: &Session) -> anyhow::Result<Status> {
    let mut cases = Vec::new();
    for path in &args.suites {
        cases.extend(suite::read(path).map_err(problem)?);
    }
    if let Some(filter) = &args.filter {
        cases.retain(|case| case.name.contains(filter.as_str()));
    }
    if args.list {
        let names: String = cases.iter().map(|case| format!("{}\n", case.name)).collect();
        std::io::stdout().write_all(names.as_bytes())?;
        return Ok(Status::Done);
    }
    if cases.is_empty() {
        return Err(Problem::unreadable("there are no cases to run").into());
    }
    let world = Rc::new(RealWorld::new());
    let total = cases.len();
    let mut waiting = cases.into_iter().enumerate();
    let mut ready: BTreeMap<usize, (SuiteCase, Ready)> = BTreeMap::new();
    let mut done: BTreeMap<usize, Done> = BTreeMap::new();
    let progress = Progress::new("cases", Some(total as u64), cli.output.quiet);
    let mut reactor = one::reactor()?;
    let parallel =
        args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(4, |n| n.get() * 2));
    // Both closures use the tables; they never run at the same time.
    let state = std::cell::RefCell::new((&mut ready, &mut done));
    let interrupted = run_many(
        &mut reactor,
        parallel,
        &mut || {
            for (number, case) in waiting.by_ref() {
                let mut state = state.borrow_mut();
                match prepare(cli, &case, &world) {
                    Ok(Ok(one)) => {
                        let spec = match &one.setup.refusal {
                            Some(reason) => {
                                let ending = Ending::Refused { reason: reason.clone() };
                                let outcome = Outcome { ending, took: Duration::ZERO };
                                let result = judge(&case, &one, &outcome);
                                state.1.insert(number, result);
                                progress.advance(1);
                                continue;
                            }
                            None => one.setup.child(&one.place, one.setup.environment(&one.place)),
                        };
                        match spec {
                            Ok(mut spec) => {
                                spec.stdio[2] = crate::process::Stdio::Capture { limit: 64 * 1024 };
                                let patience = one.setup.patience;
                                state.0.insert(number, (case, one));
                                return Some(Job { tag: number, spec, patience });
                            }
                            Err(error) => drop(state.1.insert(number, failed(&case, format!("{error:#}")))),
                        }
                    }
                    Ok(Err(reason)) => {
                        let mut one = failed(&case, String::new());
                        one.failures.clear();
                        one.skipped = Some(reason);
                        state.1.insert(number, one);
                    }
                    Err(error) => drop(state.1.insert(number, failed(&case, format!("{error:#}")))),
                }
                progress.advance(1);
            }
            None
        },
        &mut |number, outcome| {
            let mut state = state.borrow_mut();
            if let Some((case, one)) = state.0.remove(&number) {
                let result = judge(&case, &one, &outcome);
                state.1.insert(number, result);
            }
            progress.advance(1);
        },
    )?;
    drop(progress);
    if let Some(number) = interrupted {
        return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
    }
    let done: Vec<Done> = done.into_values().collect();
    if args.update {
        update(&done)?;
    }
    tell(cli, args, &done, session)
}

fn problem(error: SuiteError) -> anyhow::Error {
    match &error {
        SuiteError::Malformed(path, inner) => {
            let text = std::fs::read(path).unwrap_or_default();
            let name = path.display().to_string();
            let span = inner.span().unwrap_or_default();
            let span = crate::text::Span::new(span.start, span.end);
            let caret = crate::text::caret::Caret { source: &name, text: &text, span };
            Problem::unreadable(inner.message().to_owned()).at(&caret).into()
        }
        SuiteError::Unreadable(..) => {
            let message = error.to_string();
            Problem::unreadable(message).caused_by(error).into()
        }
    }
}

fn failed(case: &SuiteCase, why: String) -> Done {
    Done {
        name: case.name.clone(),
        seconds: 0.0,
        failures: vec![why],
        skipped: None,
        verdict: None,
        source: case.source.clone(),
    }
}

/// Lays a case out; why it is skipped, where it is.
fn prepare(cli: &Cli, case: &SuiteCase, world: &Rc<RealWorld>) -> anyhow::Result<Result<Ready, String>> {
    let files = tempfile::Builder::new().prefix("htc-hook-case.").tempdir()?;
    std::fs::set_permissions(files.path(), std::fs::Permissions::from_mode(0o755))?;
    let directory = files.path().display().to_string();
    let text = suite::substituted(case.text.clone(), &BTreeMap::from([("DIR".to_owned(), directory)]));
    for (name, content) in text.files.iter().flatten() {
        let path = files.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, content)?;
        let mode = if content.starts_with("#!") { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
    }
    let kind = text.kind.as_deref().unwrap_or_default();
    let hook = HookType::from_name(kind.as_bytes())
        .ok_or_else(|| Problem::unreadable(format!("there is no type '{kind}'")))?;
    let name = text.hook.as_deref().ok_or_else(|| Problem::unreadable("no hook is named"))?;
    let mut base = case.base.clone();
    if let Some(variable) = &text.hook_directory {
        match std::env::var_os(variable) {
            Some(directory) => base = PathBuf::from(directory),
            None => return Ok(Err(format!("{variable} is not set"))),
        }
    }
    let path = base.join(name);
    if text.hook_directory.is_some() && !path.exists() {
        return Ok(Err(format!("'{}' is not there", path.display())));
    }
    let built = build(&text, hook, &case.base)?;
    let reference = text.reference.unwrap_or(cli.quirks.quirks == Quirks::Reference);
    let quirks = if reference { Quirks::Reference } else { Quirks::None };
    let account = crate::os::identity::by_uid(crate::os::identity::effective_uid());
    let daemon = crate::runner::hook_test::caller_environment(account.as_ref(), None, quirks);
    use std::os::unix::ffi::OsStrExt;
    let path: BString = path.as_os_str().as_bytes().into();
    let refusal = path_check::check(&**world, &path).err().map(|error| error.to_string());
    let timeout = text.timeout.map(Duration::from_secs_f64).or(cli.events.timeout);
    let patience = match (built.caller_waits, timeout) {
        (Some(waits), Some(limit)) => waits.min(limit),
        (Some(waits), None) => waits,
        (None, limit) => limit.unwrap_or(setup::PATIENCE),
    };
    let extra = text.env.iter().flatten();
    let prepend = text.path_prepend.iter().flatten().map(|one| case.base.join(one)).collect();
    let setup = Setup {
        world: Rc::clone(world),
        case: built,
        path,
        refusal,
        story: Vec::new(),
        identity: None,
        account,
        settings: Settings::default(),
        daemon,
        extra: extra.map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect(),
        prepend,
        patience,
        quirks,
    };
    let expect = text.expect.clone().unwrap_or_default();
    let expectations = expect
        .result
        .iter()
        .flatten()
        .map(|text| one::expectation(text, "result"))
        .collect::<anyhow::Result<_>>()?;
    let stderr = match expect.stderr.as_deref() {
        None | Some("") => None,
        Some(pattern) => Some(
            regex::Regex::compile(pattern.as_bytes(), regex::Options::NONE)
                .map_err(|error| Problem::unreadable(format!("stderr = '{pattern}': {error}")))?,
        ),
    };
    let place = setup.place()?;
    Ok(Ok(Ready { setup, place, _files: files, expect, expectations, stderr }))
}

/// The case with its ads.
fn build(text: &CaseText, hook: HookType, base: &Path) -> anyhow::Result<Case> {
    let mut case = Case::new(hook);
    let given = |inline: &Option<String>, file: &Option<String>| -> anyhow::Result<Option<ClassAd>> {
        let bytes = match (inline, file) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(file)) => std::fs::read(base.join(file))
                .with_context(|| Problem::unreadable(format!("cannot read '{file}'")))?,
            _ => return Ok(None),
        };
        let (ad, errors) = long::parse(&bytes);
        match errors.first() {
            Some(error) => Err(Problem::unreadable(format!("an ad of the case: {error}")).into()),
            None => Ok(Some(ad)),
        }
    };
    if let Some(kind) = &text.sample_job {
        case.job =
            samples::job(kind).ok_or_else(|| Problem::unreadable(format!("no sample job '{kind}'")))?;
    }
    if let Some(kind) = &text.sample_slot {
        case.slot =
            samples::slot(kind).ok_or_else(|| Problem::unreadable(format!("no sample slot '{kind}'")))?;
    }
    if let Some(job) = given(&text.job, &text.job_file)? {
        case.job = job;
    }
    if let Some(slot) = given(&text.slot, &text.slot_file)? {
        case.slot = slot;
    }
    case.routed = match given(&text.routed, &None)? {
        Some(routed) => routed,
        None => samples::routed(&case.job, &case.route.name),
    };
    let subject = match hook {
        HookType::FetchWork => &mut case.slot,
        HookType::RouterUpdateJobInfo | HookType::JobCleanup => &mut case.routed,
        _ => &mut case.job,
    };
    for name in text.delete.iter().flatten() {
        subject.remove(name);
    }
    for (name, value) in text.set.iter().flatten() {
        let expr = one::expectation(value, name)?.1;
        subject.insert(name, expr);
    }
    if let Some(words) = &text.words {
        let told = matches!(hook, HookType::ReplyFetch | HookType::JobExit);
        let (word, rest) = match (told, words.split_first()) {
            (true, Some((word, rest))) => (Some(word), rest),
            _ => (None, words.as_slice()),
        };
        if let Some(word) = word {
            case.word = word.as_str().into();
        }
        case.arguments = rest.iter().map(|word| word.as_str().into()).collect();
    }
    case.with_shadow |= text.shadow.unwrap_or(false);
    case.keyword = text.keyword.as_deref().unwrap_or_default().into();
    Ok(case)
}

fn judge(case: &SuiteCase, ready: &Ready, outcome: &Outcome) -> Done {
    let setup = &ready.setup;
    let judged = verdict(&setup.case, outcome, &setup.path, &*setup.world, setup.quirks);
    let findings = find(&setup.case, outcome, &judged);
    let failures = compare(ready, outcome, &judged, &findings);
    Done {
        name: case.name.clone(),
        seconds: outcome.took.as_secs_f64(),
        failures,
        skipped: None,
        verdict: Some(judged),
        source: case.source.clone(),
    }
}

/// Everything that is not as expected.
fn compare(ready: &Ready, outcome: &Outcome, judged: &Verdict, findings: &[Finding]) -> Vec<String> {
    let expect = &ready.expect;
    let mut wrong = Vec::new();
    let mut differ = |what: &str, wanted: &dyn std::fmt::Display, got: &dyn std::fmt::Display| {
        wrong.push(format!("{what}\n  - {wanted}\n  + {got}"));
    };
    match &expect.verdict {
        Some(wanted) if wanted != judged.decision => {
            differ("verdict", wanted, &format!("{} ({})", judged.decision, judged.reason));
        }
        None if !judged.good => {
            differ("verdict", &"a success", &format!("{} ({})", judged.decision, judged.reason));
        }
        _ => {}
    }
    let none = || "none".to_owned();
    if let Some(code) = expect.code
        && judged.hold.map(|hold| hold.0) != Some(code)
    {
        differ("hold code", &code, &judged.hold.map_or_else(none, |hold| hold.0.to_string()));
    }
    if let Some(subcode) = expect.subcode
        && judged.hold.map(|hold| hold.1) != Some(subcode)
    {
        differ("hold subcode", &subcode, &judged.hold.map_or_else(none, |hold| hold.1.to_string()));
    }
    if let Some(reason) = &expect.reason
        && !judged.reason.contains(reason.as_str())
    {
        differ("reason", reason, &judged.reason);
    }
    if let Ending::Ran(ended) = &outcome.ending {
        let exit = match ended.exit {
            Some(Exit::Code(code)) => format!("exited {code}"),
            Some(Exit::Signal { number, .. }) => format!("signalled {number}"),
            None => "killed".to_owned(),
        };
        let wanted = match &expect.exit {
            Some(toml::Value::Integer(code)) => Some(format!("exited {code}")),
            Some(toml::Value::String(text)) => Some(text.clone()),
            _ => None,
        };
        if let Some(wanted) = wanted.filter(|wanted| *wanted != exit) {
            differ("exit", &wanted, &exit);
        }
        if let Some(wanted) = &expect.stdout
            && ended.stdout != wanted.as_bytes()
        {
            differ("stdout", wanted, &ended.stdout.as_bstr());
        }
        let complained =
            ready.stderr.as_ref().is_some_and(|pattern| pattern.is_match(&ended.stderr) != Ok(true));
        let should_be_silent = expect.stderr.as_deref() == Some("") && !ended.stderr.is_empty();
        if complained || should_be_silent {
            differ("stderr", &expect.stderr.as_deref().unwrap_or_default(), &ended.stderr.as_bstr());
        }
    }
    if let Some(wanted) = &expect.findings {
        let mut got: Vec<&str> =
            findings.iter().filter(|one| !one.rule.is_note()).map(|one| one.rule.word()).collect();
        let mut wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        got.sort_unstable();
        wanted.sort_unstable();
        if got != wanted {
            differ("findings", &wanted.join(", "), &got.join(", "));
        }
    }
    if let Some(limit) = expect.within
        && outcome.took.as_secs_f64() > limit
    {
        differ("seconds", &limit, &outcome.took.as_secs_f64());
    }
    let subject = ready.setup.case.subject();
    let result = judged.result.first().unwrap_or(subject);
    wrong.extend(one::unmet(&ready.expectations, result, subject, &ready.setup.world));
    wrong
}

fn tell(cli: &Cli, args: &RunArgs, done: &[Done], session: &Session) -> anyhow::Result<Status> {
    let painter = Painter::stderr(cli.output.color);
    let bad = done.iter().filter(|one| !one.failures.is_empty()).count();
    let skipped = done.iter().filter(|one| one.skipped.is_some()).count();
    if args.tap {
        let mut text = format!("TAP version 13\n1..{}\n", done.len());
        for (number, one) in done.iter().enumerate() {
            let word = if one.failures.is_empty() { "ok" } else { "not ok" };
            let skip = one.skipped.as_ref().map(|why| format!(" # SKIP {why}")).unwrap_or_default();
            text += &format!("{word} {} - {}{skip}\n", number + 1, one.name.replace('#', "\\#"));
            for line in one.failures.iter().flat_map(|failure| failure.lines()) {
                text += &format!("# {line}\n");
            }
        }
        std::io::stdout().write_all(text.as_bytes())?;
    }
    if let Some(file) = &args.junit {
        std::fs::write(file, junit(done))
            .with_context(|| Problem::unreadable(format!("cannot write '{}'", file.display())))?;
    }
    if cli.output.json || cli.output.jsonl {
        for one in done {
            let line = serde_json::json!({
                "case": one.name,
                "ok": one.failures.is_empty(),
                "skipped": one.skipped,
                "seconds": one.seconds,
                "verdict": one.verdict.as_ref().map(|verdict| verdict.decision),
                "reason": one.verdict.as_ref().map(|verdict| verdict.reason.clone()),
                "failures": one.failures,
            });
            std::io::stdout().write_all(format!("{line}\n").as_bytes())?;
        }
    }
    for one in done {
        if !one.failures.is_empty() {
            session.tell(&format!("{}: {}\n", painter.bad("failed"), one.name));
            for line in one.failures.iter().flat_map(|failure| failure.lines()) {
                session.tell(&format!("  {line}\n"));
            }
        } else if let Some(why) = &one.skipped
            && !cli.output.quiet
        {
            session.tell(&format!("{}: {}: {why}\n", painter.dim("skipped"), one.name));
        }
    }
    if !cli.output.quiet {
        let good = done.len() - bad - skipped;
        session.tell(&format!("{good} cases as expected, {bad} failed, {skipped} skipped\n"));
    }
    Ok(if bad == 0 { Status::Done } else { Status::No })
}

fn junit(done: &[Done]) -> String {
    let escape = |text: &str| {
        let clean: String =
            text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '?' } else { c }).collect();
        clean.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
    };
    let bad = done.iter().filter(|one| !one.failures.is_empty()).count();
    let skipped = done.iter().filter(|one| one.skipped.is_some()).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"htc-hook-test\" tests=\"{}\" \
         failures=\"{bad}\" skipped=\"{skipped}\">\n",
        done.len()
    );
    for one in done {
        let (suite, name) = one.name.split_once(": ").unwrap_or(("", &one.name));
        text += &format!(
            "<testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\">",
            escape(suite),
            escape(name),
            one.seconds
        );
        if let Some(why) = &one.skipped {
            text += &format!("<skipped message=\"{}\"/>", escape(why));
        }
        if !one.failures.is_empty() {
            text += &format!(
                "<failure message=\"not as expected\">{}</failure>",
                escape(&one.failures.join("\n"))
            );
        }
        text += "</testcase>\n";
    }
    text + "</testsuite>\n</testsuites>\n"
}

/// Writes the present verdicts into the suites: the line `expect = { verdict = "..." }` of each failed case without
/// parameters. Everything else of the files stays as it is.
fn update(done: &[Done]) -> anyhow::Result<()> {
    let mut files: BTreeMap<&Path, Vec<&Done>> = BTreeMap::new();
    for one in done.iter().filter(|one| !one.failures.is_empty() && one.verdict.is_some()) {
        files.entry(&one.source.0).or_default().push(one);
    }
    for (path, cases) in files {
        let text = std::fs::read_to_string(path)?;
        let mut number = None;
        let mut out = Vec::new();
        let wanted = |number: Option<usize>| {
            let one = cases.iter().find(|one| Some(one.source.1) == number)?;
            Some(one.verdict.as_ref()?.decision)
        };
        for line in text.lines() {
            if line.trim() == "[[case]]" {
                number = Some(number.map_or(0, |number: usize| number + 1));
            }
            let key = line.split('=').next().unwrap_or_default().trim();
            match (key, wanted(number)) {
                ("expect.verdict", Some(word)) => out.push(format!("expect.verdict = \"{word}\"")),
                ("expect", Some(word)) if line.contains("verdict") => {
                    let before = line.split("verdict").next().unwrap_or_default();
                    let after = line.splitn(3, '"').nth(2).unwrap_or(" }");
                    out.push(format!("{before}verdict = \"{word}\"{after}"));
                }
                _ => out.push(line.to_owned()),
            }
        }
        std::fs::write(path, out.join("\n") + "\n")?;
    }
    Ok(())
}

/// Options of `init`.
#[derive(Args, Clone, Debug)]
pub(super) struct InitArgs {
    /// The hook
    #[arg(value_name = "HOOK")]
    pub hook: PathBuf,
    /// Its type, such as prepare; guessed from its name otherwise
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
}

/// Prints a first suite for a hook.
pub(super) fn init(args: &InitArgs) -> anyhow::Result<Status> {
    let name = args.hook.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let guess = || {
        let words =
            ["shadow", "before", "prepare", "translate", "finalize", "cleanup", "fetch", "reply", "evict"];
        let kinds = [
            "shadow-prepare",
            "prepare-before-transfer",
            "prepare",
            "translate",
            "finalize",
            "cleanup",
            "fetch",
            "reply",
            "evict",
        ];
        let found = words.iter().position(|word| name.contains(word)).map(|at| kinds[at]);
        found
            .or_else(|| name.contains("exit").then_some("exit"))
            .or_else(|| name.contains("update").then_some("update"))
    };
    let kind = args.kind.as_deref().or_else(guess).unwrap_or("prepare");
    let hook = HookType::from_name(kind.as_bytes())
        .ok_or_else(|| Problem::usage(format!("there is no type '{kind}'")))?;
    let mut text = format!(
        "# A first suite for {}. Run it: htc-hook-test run THIS-FILE\n\n[defaults]\nhook = {}\ntype = \"{}\"\ntimeout = 20\n",
        args.hook.display(),
        toml::Value::String(args.hook.display().to_string()),
        hook.word()
    );
    let mut case = |name: &str, lines: &str| text += &format!("\n[[case]]\nname = \"{name}\"\n{lines}");
    case("an ordinary job", "sample_job = \"vanilla\"\n");
    match hook {
        HookType::FetchWork => {
            case("a partitionable slot", "sample_slot = \"partitionable\"\n");
            case(
                "a slot whose START is false",
                "set = { Start = \"false\" }\nexpect = { verdict = \"no-work\" }\n",
            );
        }
        HookType::ReplyFetch => {
            case("accepted", "words = [\"accept\"]\n");
            case("rejected", "words = [\"reject\"]\n");
        }
        HookType::JobExit => {
            for word in ["exit", "evict", "remove", "hold"] {
                case(&format!("told {word}"), &format!("words = [\"{word}\"]\n"));
            }
        }
        _ => {
            case("a container", "sample_job = \"container\"\n");
            case(
                "a container without its image",
                "sample_job = \"container\"\ndelete = [\"ContainerImage\"]\n",
            );
            case("arguments in the old syntax", "sample_job = \"v1\"\n");
        }
    }
    if hook != HookType::FetchWork {
        case("a job without Cmd and Iwd", "delete = [\"Cmd\", \"Iwd\"]\n");
        case(
            "quotes and blanks in the arguments",
            "set = { Arguments = '''\"'two words' \\\\\"quoted\\\\\" k = v\"''' }\n",
        );
        case("a user name with odd letters", "set = { Owner = '\"o''reilly$(id)\"' }\n");
    }
    case("an attribute of twenty kilobytes", &format!("set = {{ Huge = '\"{}\"' }}\n", "x".repeat(200)));
    std::io::stdout().write_all(text.as_bytes())?;
    let _ = report::long;
    Ok(Status::Done)
}
