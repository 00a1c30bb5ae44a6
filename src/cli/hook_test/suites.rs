//! `htc-hook-test run`: runs suites of cases in parallel.

use std::io::{self, Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::Args;

use super::call;
use super::options::SharedOptions;
use super::suite_report::{SuiteReportOptions, report_cases};
use crate::cli::common::{
    InputWatch, OpenInput, Problem, ProgramContext, Progress, Status, open_stdio_pipe, stdout,
};
use crate::hook_testing as hook_test;
use crate::hook_testing::suite::{self, SuiteError};
use crate::hook_testing::suite_messages;
use crate::hook_testing::{Interruptible, SuiteSettings, suite_run};
use crate::process::Exit;

/// Options of `run`.
#[derive(Args, Clone, Debug)]
pub(super) struct RunSuitesArgs {
    /// Suite files, or directories with *.toml files
    #[arg(value_name = "DIR", required = true)]
    pub suites: Vec<PathBuf>,
    /// Run only cases whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Print the names of the cases, and run nothing
    #[arg(long)]
    pub list: bool,
    /// Use N threads [default: number of CPUs]
    #[arg(long, short = 'j', value_name = "N")]
    pub threads: Option<NonZero<usize>>,
    /// Rewrite failed expectations in the suites to the current results
    #[arg(long)]
    pub update: bool,
    /// Fail cases with warnings that their `findings` do not list
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub report: SuiteReportOptions,
}

pub(super) fn run(
    cli: &SharedOptions,
    args: &RunSuitesArgs,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let mut open_suite = |path: &Path| -> io::Result<Box<dyn Read>> {
        let input = OpenInput::open_raw(path, open_stdio_pipe().0)?;
        if args.update && (input.is_compressed || path == Path::new("-")) {
            return Err(io::Error::other("--update writes only into files that are not compressed"));
        }
        Ok(Box::new(input.reader))
    };
    let mut open = |path: &Path| -> io::Result<Box<dyn Read>> {
        Ok(Box::new(OpenInput::open_raw(path, open_stdio_pipe().0)?.reader))
    };
    let watch = InputWatch::start(cli.events.timeout, session);
    let mut cases = Vec::new();
    for path in &args.suites {
        cases.extend(watch.wait_for(|| suite::read_suites(path, &mut open_suite).map_err(suite_problem))?);
    }
    let mut cases = watch.wait_for(|| suite::read_ad_files(cases, &mut open).map_err(suite_problem))?;
    let is_without_cases = cases.is_empty();
    if let Some(filter) = &args.filter {
        cases.retain(|case| case.name.contains(filter.as_str()));
    }
    if args.list {
        let rows: Vec<_> = cases.iter().map(|case| serde_json::json!({ "case": case.name })).collect();
        if let Some(text) = cli.output.render_json(&rows)? {
            stdout().write_all(text.as_bytes())?;
            return Ok(Status::Done);
        }
        if let Some(text) = args.report.rows.render(&rows, &["case"])? {
            stdout().write_all(&text)?;
            return Ok(Status::Done);
        }
        let names: String = cases.iter().map(|case| format!("{}\n", case.name)).collect();
        stdout().write_all(names.as_bytes())?;
        return Ok(Status::Done);
    }
    if cases.is_empty() {
        let message = match args.filter.as_deref().filter(|_| !is_without_cases) {
            Some(filter) => format!("no case has '{filter}' in its name"),
            None => "there are no cases to run".to_owned(),
        };
        return Err(Problem::unreadable(message).into());
    }
    let parallel = args.threads.map_or_else(call::default_parallelism, NonZero::get);
    let settings = SuiteSettings {
        configuration: cli.config.to_config_choice(),
        quirks: cli.quirks.quirks,
        timeout: cli.events.timeout,
        parallel,
        strict: args.strict,
    };
    let progress = Progress::new("cases", Some(cases.len() as u64), cli.output.quiet);
    let results = suite_run::run_cases(cases, &settings, &call::new_reactor, &|| progress.advance(1))?;
    drop(progress);
    let mut results = match results {
        Interruptible::Finished(results) => results,
        Interruptible::Interrupted(number) => {
            return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
        }
    };
    if args.update {
        let updated =
            hook_test::update_suites(&results, &mut |line| session.write_stderr(&format!("{line}\n")))
                .map_err(suite_problem)?;
        results
            .iter_mut()
            .filter(|result| updated.contains(&result.name))
            .for_each(|result| result.failures.clear());
    }
    report_cases(cli, &args.report, &results, session)
}

fn suite_problem(error: SuiteError) -> anyhow::Error {
    match &error {
        SuiteError::Malformed(path, text, fault, inner) => {
            let name = path.display().to_string();
            let range = inner.span().unwrap_or_default();
            let span = crate::text::Span::new(range.start, range.end);
            let caret = crate::text::caret::Caret { source: &name, text: text.as_bytes(), span };
            let (message, hint) = suite_messages::explain_suite_error(fault.as_ref(), inner);
            let unquoted = || suite_messages::explain_unquoted_text(text, range.start);
            let problem = Problem::unreadable(message).at(&caret);
            problem.maybe_hint(hint.or_else(unquoted)).into()
        }
        SuiteError::Unreadable(..) | SuiteError::Unwritable(..) => {
            let message = error.to_string();
            Problem::unreadable(message).caused_by(error).into()
        }
    }
}
