//! `htc-hook-test replay`: recorded calls judged again, or made again with another version of the hook.

use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::Context as _;
use clap::Args;

use super::one;
use super::options::Shared;
use super::suite_report::{self, CaseReport};
use crate::cli::common::{Painter, Problem, Session, Status};
use crate::hook::HookType;
use crate::os::{Reactor, RealWorld};
use crate::process::Exit;
use crate::runner::hook_environment::HookEnvironment;
use crate::runner::hook_test;
use crate::runner::hook_test::record::{Record, read_all};
use crate::runner::hook_test::{Change, Ending, Outcome, Setup, Verdict, call, replay, verdict};

/// Options of `replay`.
#[derive(Args, Clone, Debug)]
pub(super) struct ReplayArgs {
    /// Directories with recorded calls
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,
    /// Call this hook with each recorded input and show what would change
    #[arg(long, value_name = "FILE")]
    pub hook: Option<PathBuf>,
    /// Only calls of this type; those that do not tell their type are taken for it
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// The jobs come from a schedd
    #[arg(long)]
    pub shadow: bool,
    /// Write results as JUnit XML to FILE: a call that changes is a failure
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

pub(super) fn run(cli: &Shared, args: &ReplayArgs, session: &Session) -> anyhow::Result<Status> {
    let only = match &args.kind {
        None => None,
        Some(kind) => Some(
            HookType::from_name(kind.as_bytes())
                .ok_or_else(|| Problem::usage(format!("there is no type '{kind}'")))?,
        ),
    };
    let world = Rc::new(RealWorld::new());
    let mut reactor = one::reactor()?;
    let (mut calls, mut differ) = (0, 0);
    let mut left_out = LeftOut::default();
    let (mut told, mut rows) = (Vec::new(), Vec::new());
    let painter = Painter::stderr(cli.output.color);
    for directory in &args.directories {
        let records = read_all(directory).with_context(|| {
            Problem::unreadable(format!("cannot read the calls in '{}'", directory.display()))
        })?;
        for record in &records {
            // A record without a type is of the one that is asked for.
            let Some(hook) = record.hook.or(only) else {
                left_out.untyped += 1;
                continue;
            };
            if only.is_some_and(|only| only != hook) {
                left_out.other += 1;
                continue;
            }
            if !record.has_input {
                left_out.no_input += 1;
                continue;
            }
            calls += 1;
            let mut case = replay::case_of(record, hook);
            case.with_shadow |= args.shadow;
            let outcome = replay::outcome_of(record, &case);
            let path = record.argv.first().cloned().unwrap_or_default();
            let quirks = cli.quirks.quirks;
            let mut before = verdict(&case, &outcome, &path, &*world, quirks);
            let after = match &args.hook {
                None => None,
                Some(new) => {
                    let setup = setup_of(cli, record, case, new, &world);
                    // Messages that name the hook are not to differ for that.
                    before = verdict(&setup.case, &outcome, &setup.path, &*world, quirks);
                    let now = match again(&setup, &mut reactor, record)? {
                        Ok(outcome) => outcome,
                        Err(number) => {
                            return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
                        }
                    };
                    Some(verdict(&setup.case, &now, &setup.path, &*world, quirks))
                }
            };
            let changed = after.as_ref().is_some_and(|after| !same(&before, after));
            differ += usize::from(changed);
            if args.junit.is_some() {
                let change = after.as_ref().filter(|_| changed).map(|after| shown(&before, after));
                told.push(CaseReport {
                    name: format!("{}: {}", directory.display(), record.name),
                    seconds: outcome.took.as_secs_f64(),
                    failures: change.into_iter().collect(),
                    skipped: None,
                });
            }
            if cli.output.json || cli.output.jsonl {
                rows.push(serde_json::json!({
                    "record": record.name,
                    "hook": hook.name(),
                    "recorded": words(&before),
                    "now": after.as_ref().map(words),
                    "changed": changed,
                }));
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
    if let Some(text) = cli.output.rows(&rows)? {
        std::io::stdout().write_all(text.as_bytes())?;
    }
    if let Some(file) = &args.junit {
        suite_report::write_junit(file, &told)?;
    }
    if calls == 0 {
        let problem = Problem::unreadable(format!("there is no recorded call to replay{}", left_out.told()));
        return Err(match left_out.untyped {
            0 => problem,
            _ => problem.hint("--type WORD tells the type of those that do not tell it themselves"),
        }
        .into());
    }
    if !cli.output.quiet {
        session.tell(&format!("{calls} calls, {differ} changed{}\n", left_out.told()));
    }
    Ok(if differ == 0 { Status::Done } else { Status::No })
}

/// Records that are not replayed, by the reason.
#[derive(Default)]
struct LeftOut {
    untyped: u32,
    other: u32,
    no_input: u32,
}

impl LeftOut {
    fn told(&self) -> String {
        [
            (self.untyped, "of unknown type"),
            (self.other, "of another type"),
            (self.no_input, "without its whole input"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!(", {count} left out: {why}"))
        .collect()
    }
}

/// Makes a recorded call again; the signal that interrupted it, if one did.
fn again(setup: &Setup, reactor: &mut Reactor, record: &Record) -> anyhow::Result<Result<Outcome, i32>> {
    if let Some(reason) = &setup.refusal {
        let ending = Ending::Refused { reason: reason.clone() };
        return Ok(Ok(Outcome { ending, took: std::time::Duration::ZERO }));
    }
    let place = setup.place().map_err(one::problem)?;
    let spec = setup.child(&place, setup.environment(&place)).map_err(one::problem)?;
    let outcome = call(reactor, spec, Some(setup.patience), &mut |_| {})?;
    Ok(outcome.map(|outcome| replay::moved(outcome, place.scratch.as_deref(), record)))
}

fn setup_of(
    cli: &Shared,
    record: &Record,
    case: crate::runner::hook_test::Case,
    new: &std::path::Path,
    world: &Rc<RealWorld>,
) -> Setup {
    let quirks = cli.quirks.quirks;
    let mut daemon: HookEnvironment = hook_test::caller_environment(&**world, &cli.config.choice(), quirks);
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
    let patience = hook_test::patience(case.caller_waits, cli.events.timeout);
    let patience = cli.events.timeout.map_or(patience, |limit| limit.min(patience));
    Setup { daemon, patience, ..Setup::plain(Rc::clone(world), case, quirks) }.of(&path)
}

fn same(before: &Verdict, after: &Verdict) -> bool {
    before.decision == after.decision
        && before.reason == after.reason
        && before.hold == after.hold
        && before.changes == after.changes
}

fn words(verdict: &Verdict) -> serde_json::Value {
    serde_json::json!({
        "decision": verdict.decision.word(),
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
