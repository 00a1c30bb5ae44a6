//! `htc-hook-test run`: suites of cases, side by side.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use clap::Args;

use super::options::Shared;
use super::suite_case::{self, Made, Ready};
use super::suite_compare::{self, Done};
use super::{one, suite_cron, suite_report, suite_update};
use crate::cli::common::{Problem, Progress, Session, Status};
use crate::os::RealWorld;
use crate::process::Exit;
use crate::runner::hook_test::pool::{Job, run_many};
use crate::runner::hook_test::suite::{self, SuiteCase, SuiteError};
use crate::runner::hook_test::{Ending, Outcome, suite_words};

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

pub(super) fn run(cli: &Shared, args: &RunArgs, session: &Session) -> anyhow::Result<Status> {
    let mut cases = Vec::new();
    for path in &args.suites {
        cases.extend(suite::read(path).map_err(problem)?);
    }
    let mut cases = suite::with_each_ad(cases).map_err(problem)?;
    if let Some(filter) = &args.filter {
        cases.retain(|case| case.name.contains(filter.as_str()));
    }
    if args.list {
        let rows: Vec<_> = cases.iter().map(|case| serde_json::json!({ "case": case.name })).collect();
        if let Some(text) = cli.output.rows(&rows)? {
            std::io::stdout().write_all(text.as_bytes())?;
            return Ok(Status::Done);
        }
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
    // Programs of daemons' cron jobs have their own clock: they come one by one, behind the hooks.
    let mut crons = Vec::new();
    // Both closures use the tables; they never run at the same time.
    let state = std::cell::RefCell::new((&mut ready, &mut done));
    // Places of cases that are over, for the next ones.
    let spares = std::cell::RefCell::new(Vec::new());
    let interrupted = run_many(
        &mut reactor,
        parallel,
        &mut || {
            for (number, case) in waiting.by_ref() {
                let mut state = state.borrow_mut();
                let spare = spares.borrow_mut().pop();
                match suite_case::prepare(cli, &case, &world, spare) {
                    Ok(Made::Cron(one)) => {
                        crons.push((number, case, one));
                        continue;
                    }
                    Ok(Made::Hook(one)) => {
                        let spec = match &one.setup.refusal {
                            Some(reason) => {
                                let ending = Ending::Refused { reason: reason.clone() };
                                let outcome = Outcome { ending, took: Duration::ZERO };
                                let result = suite_compare::judge(&case, &one, &outcome);
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
                            Err(error) => drop(
                                state.1.insert(number, suite_compare::failed(&case, format!("{error:#}"))),
                            ),
                        }
                    }
                    Ok(Made::Skipped(reason)) => {
                        let mut one = suite_compare::failed(&case, String::new());
                        one.failures.clear();
                        one.skipped = Some(reason);
                        state.1.insert(number, one);
                    }
                    Err(error) => {
                        drop(state.1.insert(number, suite_compare::failed(&case, format!("{error:#}"))))
                    }
                }
                progress.advance(1);
            }
            None
        },
        &mut |number, outcome| {
            let mut state = state.borrow_mut();
            if let Some((case, one)) = state.0.remove(&number) {
                let result = suite_compare::judge(&case, &one, &outcome);
                state.1.insert(number, result);
                if suite_compare::is_over(&outcome) {
                    spares.borrow_mut().push(one.place);
                }
            }
            progress.advance(1);
        },
    )?;
    // Only one reactor can know what is left behind.
    drop(reactor);
    let mut interrupted = interrupted;
    for (number, case, one) in crons {
        if interrupted.is_some() {
            break;
        }
        match suite_cron::run(cli, &case, one, &world) {
            Ok(Ok(result)) => drop(done.insert(number, result)),
            Ok(Err(signal)) => interrupted = Some(signal),
            Err(error) => drop(done.insert(number, suite_compare::failed(&case, format!("{error:#}")))),
        }
        progress.advance(1);
    }
    drop(progress);
    if let Some(number) = interrupted {
        return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
    }
    let done: Vec<Done> = done.into_values().collect();
    if args.update {
        suite_update::update(&done, session)?;
    }
    suite_report::tell(cli, args, &done, session)
}

fn problem(error: SuiteError) -> anyhow::Error {
    match &error {
        SuiteError::Malformed(path, inner) => {
            let text = std::fs::read(path).unwrap_or_default();
            let name = path.display().to_string();
            let span = inner.span().unwrap_or_default();
            let span = crate::text::Span::new(span.start, span.end);
            let caret = crate::text::caret::Caret { source: &name, text: &text, span };
            let (message, hint) = suite_words::told(inner.message());
            let problem = Problem::unreadable(message).at(&caret);
            match hint {
                Some(hint) => problem.hint(hint).into(),
                None => problem.into(),
            }
        }
        SuiteError::Unreadable(..) => {
            let message = error.to_string();
            Problem::unreadable(message).caused_by(error).into()
        }
    }
}
