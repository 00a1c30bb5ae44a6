//! `htc-hook-test replay`: recorded calls judged again, or made again with another version of the hook.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::Context as _;
use clap::Args;

use super::setup::{self, Setup};
use super::suite_report::{self, Told};
use super::{Cli, one};
use crate::cli::common::{Painter, Problem, Session, Status};
use crate::hook::HookType;
use crate::os::RealWorld;
use crate::process::Exit;
use crate::runner::hook_environment::HookEnvironment;
use crate::runner::hook_test::record::{Record, read_all};
use crate::runner::hook_test::{Change, Verdict, call, caller_environment, replay, verdict};
use crate::starter::Settings;

/// Options of `replay`.
#[derive(Args, Clone, Debug)]
pub(super) struct ReplayArgs {
    /// Directories with recorded calls
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,
    /// Call this hook with each recorded input and show what would change
    #[arg(long, value_name = "FILE")]
    pub hook: Option<PathBuf>,
    /// Only calls of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// The jobs come from a schedd
    #[arg(long)]
    pub shadow: bool,
    /// Write results as JUnit XML to FILE: a call that changes is a failure
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

pub(super) fn run(cli: &Cli, args: &ReplayArgs, session: &Session) -> anyhow::Result<Status> {
    let only = match &args.kind {
        None => None,
        Some(kind) => Some(
            HookType::from_name(kind.as_bytes())
                .ok_or_else(|| Problem::usage(format!("there is no type '{kind}'")))?,
        ),
    };
    let world = Rc::new(RealWorld::new());
    let mut reactor = one::reactor()?;
    let (mut calls, mut left_out, mut differ) = (0, 0, 0);
    let mut told = Vec::new();
    let painter = Painter::stderr(cli.output.color);
    for directory in &args.directories {
        let records = read_all(directory).with_context(|| {
            Problem::unreadable(format!("cannot read the calls in '{}'", directory.display()))
        })?;
        for record in &records {
            let Some(hook) = record.hook.filter(|hook| only.is_none_or(|only| only == *hook)) else {
                left_out += 1;
                continue;
            };
            if !record.has_input {
                left_out += 1;
                continue;
            }
            calls += 1;
            let mut case = replay::case_of(record, hook);
            case.with_shadow |= args.shadow;
            let outcome = replay::outcome_of(record, &case);
            let path = record.argv.first().cloned().unwrap_or_default();
            let before = verdict(&case, &outcome, &path, &*world, cli.quirks.quirks);
            let after = match &args.hook {
                None => None,
                Some(new) => {
                    let setup = setup_of(cli, record, case, new, &world);
                    let place = setup.place()?;
                    let spec = setup.child(&place, setup.environment(&place))?;
                    let outcome = match &setup.refusal {
                        Some(reason) => return Err(Problem::new(Status::No, reason.clone()).into()),
                        None => match call(&mut reactor, spec, Some(setup.patience), &mut |_| {})? {
                            Ok(outcome) => outcome,
                            Err(number) => {
                                return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
                            }
                        },
                    };
                    Some(verdict(&setup.case, &outcome, &setup.path, &*world, cli.quirks.quirks))
                }
            };
            let changed = after.as_ref().is_some_and(|after| !same(&before, after));
            differ += usize::from(changed);
            if args.junit.is_some() {
                let change = after.as_ref().filter(|_| changed).map(|after| shown(&before, after));
                told.push(Told {
                    name: format!("{}: {}", directory.display(), record.name),
                    seconds: outcome.took.as_secs_f64(),
                    failures: change.into_iter().collect(),
                    skipped: None,
                });
            }
            if cli.output.json || cli.output.jsonl {
                let line = serde_json::json!({
                    "record": record.name,
                    "hook": hook.name(),
                    "recorded": words(&before),
                    "now": after.as_ref().map(words),
                    "changed": changed,
                });
                std::io::stdout().write_all(format!("{line}\n").as_bytes())?;
            } else if let Some(after) = &after {
                if changed {
                    session.tell(&format!(
                        "{} {}:\n{}",
                        painter.warn("changed"),
                        record.name,
                        shown(&before, after)
                    ));
                }
            } else if !cli.output.quiet {
                let reason =
                    if before.reason.is_empty() { String::new() } else { format!(": {}", before.reason) };
                std::io::stdout()
                    .write_all(format!("{} {}{reason}\n", record.name, before.decision).as_bytes())?;
            }
        }
    }
    if let Some(file) = &args.junit {
        suite_report::write_junit(file, &told)?;
    }
    if calls == 0 {
        return Err(Problem::unreadable("there are no recorded calls with their input").into());
    }
    if !cli.output.quiet {
        let out = if left_out > 0 {
            format!(", {left_out} left out (no input, or another type)")
        } else {
            String::new()
        };
        session.tell(&format!("{calls} calls, {differ} changed{out}\n"));
    }
    Ok(if differ == 0 { Status::Done } else { Status::No })
}

fn setup_of(
    cli: &Cli,
    record: &Record,
    case: crate::runner::hook_test::Case,
    new: &std::path::Path,
    world: &Rc<RealWorld>,
) -> Setup {
    let quirks = cli.quirks.quirks;
    let account = crate::os::identity::by_uid(crate::os::identity::effective_uid());
    let mut daemon: HookEnvironment = caller_environment(account.as_ref(), None, quirks);
    // What the site's environment gave the hook is part of the recording; addresses and scratch directories are not.
    for entry in &record.env {
        let Some(at) = memchr::memchr(b'=', entry) else { continue };
        let (name, value) = (&entry[..at], &entry[at + 1..]);
        let stale = [&b"CONDOR_"[..], b"_CONDOR_", b"TMP", b"TEMP", b"HOME", b"PATH", b"BATCH"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        if !stale {
            daemon.variables.set(name, value);
        }
    }
    let path = std::path::absolute(new).unwrap_or_else(|_| new.to_owned());
    let patience = setup::patience(case.caller_waits, cli.events.timeout);
    Setup {
        world: Rc::clone(world),
        case,
        path: path.as_os_str().as_bytes().into(),
        refusal: None,
        unread: Vec::new(),
        story: Vec::new(),
        identity: None,
        account,
        settings: Settings::default(),
        daemon,
        extra: Vec::new(),
        prepend: Vec::new(),
        patience: cli.events.timeout.map_or(patience, |limit| limit.min(patience)),
        quirks,
    }
}

fn same(before: &Verdict, after: &Verdict) -> bool {
    before.decision == after.decision && before.hold == after.hold && before.changes == after.changes
}

fn words(verdict: &Verdict) -> serde_json::Value {
    serde_json::json!({
        "decision": verdict.decision,
        "reason": verdict.reason,
        "code": verdict.hold.map(|hold| hold.0),
        "subcode": verdict.hold.map(|hold| hold.1),
        "changes": verdict.changes.iter().map(|change| change.name.to_string()).collect::<Vec<_>>(),
    })
}

fn shown(before: &Verdict, after: &Verdict) -> String {
    let mut text = String::new();
    if before.decision != after.decision || before.reason != after.reason {
        text +=
            &format!("  - {} {}\n  + {} {}\n", before.decision, before.reason, after.decision, after.reason);
    }
    let line = |mark: char, change: &Change| match &change.after {
        Some(value) => format!("  {mark} {} = {value}\n", change.name),
        None => format!("  {mark} {} removed\n", change.name),
    };
    for change in before.changes.iter().filter(|change| !after.changes.contains(change)) {
        text += &line('-', change);
    }
    for change in after.changes.iter().filter(|change| !before.changes.contains(change)) {
        text += &line('+', change);
    }
    text
}
