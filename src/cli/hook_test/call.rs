//! Parts shared by all calls of hooks: the reactor, errors, expectations and reports.

use anyhow::Context as _;
use nix::libc;

use super::options::SharedOptions;
use crate::classad::ClassAd;
use crate::cli::common::{Problem, ProgramContext, stderr_outlet};
use crate::hook::HookType;
use crate::hook_testing::{CallEnding, CallError, CallReport, CallSetup, Expectation, unmet_expectations};
use crate::os::{ENDING_SIGNALS, Reactor};
use crate::runner::events::{EventStream, RunnerEvent, RunnerEventKind, describe_exit};
use crate::text::Span;
use crate::text::caret::Caret;
use crate::world::World;

/// Returns the event loop of the program. After a signal, the event loop ends running calls cleanly.
pub(super) fn program_reactor() -> anyhow::Result<Reactor> {
    new_reactor().context("cannot set up signal handlers and child processes")
}

pub(super) fn new_reactor() -> std::io::Result<Reactor> {
    let requests = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
    Reactor::new(&requests.into_iter().chain(ENDING_SIGNALS).collect::<Vec<i32>>())
}

/// Returns the default number of calls that run at the same time.
pub(super) fn default_parallelism() -> usize {
    std::thread::available_parallelism().map_or(4, |n| n.get() * 2)
}

/// Opens the event stream for calls (`--events`), or returns `None` if it is not requested.
pub(super) fn open_events(
    cli: &SharedOptions,
    session: &ProgramContext,
) -> anyhow::Result<Option<EventStream>> {
    let prefix = format!("{}: ", session.name());
    let stream = |sink| EventStream::new(&prefix, None, Some(sink)).with_loss_reports(stderr_outlet());
    Ok(cli.events.open()?.map(stream))
}

/// Reports a call as an event, in the same form as the runners.
pub(super) fn report_call(events: &mut EventStream, setup: &CallSetup, report: &CallReport) {
    let hook = setup.case.hook.name();
    let about = |kind| {
        let event = RunnerEvent::new(setup.world.now(), kind).hook(hook);
        match job_id(&setup.case.job).filter(|_| setup.case.hook != HookType::FetchWork) {
            Some(job) => event.job(job),
            None => event,
        }
    };
    match &report.outcome.ending {
        CallEnding::Ran(ended) => match ended.exit {
            Some(exit) => events.report(&about(RunnerEventKind::HookEnd).exit(describe_exit(exit))),
            None => {
                let seconds = setup.patience.as_secs_f64();
                events.report(
                    &about(RunnerEventKind::HookFailed).reason(format!("it ran longer than {seconds} s")),
                );
            }
        },
        CallEnding::NotStarted { reason, .. } | CallEnding::Refused { reason } => {
            events.report(&about(RunnerEventKind::HookFailed).reason(reason.clone()));
        }
    }
    let verdict = &report.verdict;
    events.report(
        &about(RunnerEventKind::Verdict).verdict(verdict.decision.word()).reason(verdict.reason.clone()),
    );
}

pub(super) fn job_id(job: &ClassAd) -> Option<String> {
    let number = |name| job.literal(name).and_then(|value| value.as_int());
    Some(format!("{}.{}", number("ClusterId")?, number("ProcId").unwrap_or(0)))
}

/// Returns the error for a call that cannot be made.
pub(super) fn call_problem(error: CallError) -> anyhow::Error {
    let message = error.to_string();
    match error {
        CallError::Root(_) => Problem::usage(message).into(),
        CallError::WriteRecord(_, cause) => Problem::unreadable(message).caused_by(cause).into(),
        CallError::EventLoop(error) => error.into(),
        CallError::Directories(_) => error.into(),
    }
}

/// Parses the values of `--expect`.
pub(super) fn parse_expectations(texts: &[String]) -> anyhow::Result<Vec<Expectation>> {
    texts.iter().map(|text| parse_expectation(text, "--expect")).collect()
}

/// Parses an expectation. `source` is its location in messages.
pub(super) fn parse_expectation(text: &str, source: &str) -> anyhow::Result<Expectation> {
    match Expectation::parse(text) {
        Ok(read) => Ok(read),
        Err(error) => {
            let span = Span::new(error.span.start as usize, error.span.end as usize);
            let caret = Caret { source, text: text.as_bytes(), span };
            Err(Problem::usage(error.to_string()).at(&caret).into())
        }
    }
}

pub(super) fn find_failed_expectations(
    setup: &CallSetup,
    report: &CallReport,
    expectations: &[Expectation],
) -> Vec<String> {
    let subject = report.case.subject();
    let result = report.verdict.result_ads.first().unwrap_or(subject);
    unmet_expectations(expectations, result, subject, &*setup.world)
}
