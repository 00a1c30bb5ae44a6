//! `htc-hook-test replay`: judges recorded calls again, or repeats them with another version of the hook.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use clap::Args;

use super::options::SharedOptions;
use super::suite_report::{self, CaseReport};
use super::{call, recorder};
use crate::cli::common::{Painter, Problem, ProgramContext, Status, stdout};
use crate::hook_testing::record::{CallRecord, read_records};
use crate::hook_testing::replay::{JudgedReplay, Replay, ReplayOutcome, SkipReason};
use crate::hook_testing::{AttributeChange, Verdict};
use crate::os::RealWorld;
use crate::process::Exit;
use crate::text::plural::counted;

/// Options of `replay`.
#[derive(Args, Clone, Debug)]
pub(super) struct ReplayArgs {
    /// Directories with recorded calls
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,
    /// Call this hook with each recorded input and show what changes
    #[arg(long, value_name = "FILE")]
    pub hook: Option<PathBuf>,
    /// Replay only calls of this type, and calls of unknown type [default: all]
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Treat the jobs as jobs of a schedd, not as fetched jobs
    #[arg(long)]
    pub shadow: bool,
    /// Write results as JUnit XML to FILE; a changed call is a failure
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

pub(super) fn run(
    cli: &SharedOptions,
    args: &ReplayArgs,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let replay = Replay {
        only: recorder::parse_hook_type(args.kind.as_deref())?,
        with_shadow: args.shadow,
        hook: args.hook.clone(),
        timeout: cli.events.timeout,
        configuration: cli.config.to_config_choice(),
        quirks: cli.quirks.quirks,
        world: Rc::new(RealWorld::new()),
    };
    let mut reactor = call::program_reactor()?;
    let mut report = ReplayReport::new(cli, args, session);
    for directory in &args.directories {
        let records = read_records(directory).with_context(|| {
            Problem::unreadable(format!("cannot read the calls in '{}'", directory.display()))
        })?;
        for record in &records {
            match replay.replay(record, &mut reactor).map_err(call::call_problem)? {
                ReplayOutcome::Skipped(reason) => report.left_out.push(reason),
                ReplayOutcome::Judged(judged) => report.add_call(directory, record, &judged)?,
                ReplayOutcome::Interrupted(number) => {
                    return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
                }
            }
        }
    }
    report.end()
}

/// Report about all replayed calls.
struct ReplayReport<'a> {
    cli: &'a SharedOptions,
    args: &'a ReplayArgs,
    session: &'a ProgramContext,
    painter: Painter,
    calls: usize,
    changed: usize,
    left_out: Vec<SkipReason>,
    cases: Vec<CaseReport>,
    rows: Vec<serde_json::Value>,
}

impl<'a> ReplayReport<'a> {
    fn new(cli: &'a SharedOptions, args: &'a ReplayArgs, session: &'a ProgramContext) -> Self {
        let painter = Painter::stderr(cli.output.color);
        ReplayReport {
            cli,
            args,
            session,
            painter,
            calls: 0,
            changed: 0,
            left_out: Vec::new(),
            cases: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Adds one call to the report, and prints its result.
    fn add_call(
        &mut self,
        directory: &Path,
        record: &CallRecord,
        judged: &JudgedReplay,
    ) -> anyhow::Result<()> {
        let JudgedReplay { before, after, .. } = judged;
        let changed =
            after.as_ref().filter(|_| judged.is_changed()).map(|after| render_changes(before, after));
        self.calls += 1;
        self.changed += usize::from(changed.is_some());
        if self.args.junit.is_some() {
            self.cases.push(CaseReport {
                name: format!("{}: {}", directory.display(), record.name),
                seconds: judged.took.as_secs_f64(),
                failures: changed.iter().cloned().collect(),
                skipped: None,
            });
        }
        let output = &self.cli.output;
        if output.wants_json() {
            self.rows.push(serde_json::json!({
                "record": record.name,
                "hook": judged.hook.name(),
                "recorded": verdict_to_json(before),
                "now": after.as_ref().map(verdict_to_json),
                "changed": changed.is_some(),
            }));
        } else if let Some(changed) = changed {
            self.session.write_stderr(&format!(
                "{} {}:\n{changed}",
                self.painter.warn("changed"),
                record.name
            ));
        } else if after.is_none() && !output.quiet {
            let reason =
                if before.reason.is_empty() { String::new() } else { format!(": {}", before.reason) };
            let line = format!("{} {}{reason}\n", record.name, before.decision);
            stdout().write_all(line.as_bytes())?;
        }
        Ok(())
    }

    /// Prints the totals of all calls, and returns the exit status.
    fn end(self) -> anyhow::Result<Status> {
        if let Some(text) = self.cli.output.render_json(&self.rows)? {
            stdout().write_all(text.as_bytes())?;
        }
        if let Some(file) = &self.args.junit {
            suite_report::write_junit(file, &self.cases)?;
        }
        let left_out = skipped_records_text(&self.left_out);
        if self.calls == 0 {
            let problem = Problem::unreadable(format!("there is no recorded call to replay{left_out}"));
            return Err(match self.left_out.contains(&SkipReason::Untyped) {
                false => problem,
                true => problem.hint("name the type of records without a type with --type WORD"),
            }
            .into());
        }
        if !self.cli.output.quiet {
            self.session.write_stderr(&format!(
                "{}, {} changed{left_out}\n",
                counted(self.calls, "call"),
                self.changed
            ));
        }
        Ok(if self.changed == 0 { Status::Done } else { Status::No })
    }
}

/// Returns a text with the number of records that are not replayed, by reason.
fn skipped_records_text(all: &[SkipReason]) -> String {
    let text = [
        (SkipReason::Untyped, "hook type unknown"),
        (SkipReason::OtherType, "another hook type"),
        (SkipReason::NoInput, "input not recorded completely"),
    ];
    let count = |reason: SkipReason| all.iter().filter(|one| **one == reason).count();
    text.into_iter()
        .map(|(reason, text)| (count(reason), text))
        .filter(|(count, _)| *count > 0)
        .map(|(count, text)| format!(", {count} skipped: {text}"))
        .collect()
}

fn verdict_to_json(verdict: &Verdict) -> serde_json::Value {
    serde_json::json!({
        "decision": verdict.decision.word(),
        "reason": verdict.reason,
        "code": verdict.hold.map(|hold| hold.0),
        "subcode": verdict.hold.map(|hold| hold.1),
        "changes": verdict.changes.iter().map(|change| change.name.to_string()).collect::<Vec<_>>(),
    })
}

fn render_decision(verdict: &Verdict) -> String {
    match verdict.reason.is_empty() {
        true => verdict.decision.to_string(),
        false => format!("{} {}", verdict.decision, verdict.reason),
    }
}

fn render_changes(before: &Verdict, after: &Verdict) -> String {
    let mut text = String::new();
    if before.decision != after.decision || before.reason != after.reason {
        text += &format!("  - {}\n  + {}\n", render_decision(before), render_decision(after));
    }
    let line = |mark: char, change: &AttributeChange| match &change.after {
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
