//! What all calls of hooks have in common here: the reactor, errors, expectations, and what is told of each.

use anyhow::Context as _;
use nix::libc;

use super::options::Shared;
use crate::classad::ClassAd;
use crate::cli::common::{Problem, Session, standard_error};
use crate::hook::HookType;
use crate::hook_testing::{CallError, Ending, Expectation, Setup, Shown, unmet};
use crate::os::Reactor;
use crate::runner::events::{Event, EventStream, Kind, exit_words};
use crate::text::Span;
use crate::text::caret::Caret;
use crate::world::World;

/// The reactor of the program: it ends calls cleanly when somebody interrupts.
pub(super) fn reactor() -> anyhow::Result<Reactor> {
    new_reactor().context("setting up signals and children")
}

pub(super) fn new_reactor() -> std::io::Result<Reactor> {
    Reactor::new(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP])
}

/// How many calls are made side by side where nobody says.
pub(super) fn parallel() -> usize {
    std::thread::available_parallelism().map_or(4, |n| n.get() * 2)
}

/// Where events of calls go, if somebody wants them.
pub(super) fn events(cli: &Shared, session: &Session) -> anyhow::Result<Option<EventStream>> {
    let prefix = format!("{}: ", session.name());
    let stream = |sink| EventStream::new(&prefix, None, Some(sink)).complaining(standard_error());
    Ok(cli.events.open()?.map(stream))
}

/// Tells of a call in the words of the runners.
pub(super) fn tell(events: &mut EventStream, setup: &Setup, shown: &Shown) {
    let hook = setup.case.hook.name();
    let about = |kind| {
        let event = Event::new(setup.world.now(), kind).hook(hook);
        match job_id(&setup.case.job).filter(|_| setup.case.hook != HookType::FetchWork) {
            Some(job) => event.job(job),
            None => event,
        }
    };
    match &shown.outcome.ending {
        Ending::Ran(ended) => match ended.exit {
            Some(exit) => events.tell(&about(Kind::HookEnd).exit(exit_words(exit))),
            None => {
                let seconds = setup.patience.as_secs_f64();
                events.tell(&about(Kind::HookFailed).reason(format!("it ran longer than {seconds} s")));
            }
        },
        Ending::NotStarted { reason, .. } | Ending::Refused { reason } => {
            events.tell(&about(Kind::HookFailed).reason(reason.clone()));
        }
    }
    let verdict = &shown.verdict;
    events.tell(&about(Kind::Verdict).verdict(verdict.decision.word()).reason(verdict.reason.clone()));
}

pub(super) fn job_id(job: &ClassAd) -> Option<String> {
    let number = |name| job.literal(name).and_then(|value| value.as_int());
    Some(format!("{}.{}", number("ClusterId")?, number("ProcId").unwrap_or(0)))
}

/// A call that cannot be made.
pub(super) fn problem(error: CallError) -> anyhow::Error {
    let message = error.to_string();
    match error {
        CallError::Root(_) => Problem::usage(message).into(),
        CallError::Keep(_, cause) => Problem::unreadable(message).caused_by(cause).into(),
        CallError::Loop(error) => error.into(),
        CallError::Place(_) => error.into(),
    }
}

/// Reads what `--expect` was given.
pub(super) fn expectations(texts: &[String]) -> anyhow::Result<Vec<Expectation>> {
    texts.iter().map(|text| expectation(text, "--expect")).collect()
}

/// Reads an expectation; `source` names where it stands.
pub(super) fn expectation(text: &str, source: &str) -> anyhow::Result<Expectation> {
    match Expectation::read(text) {
        Ok(read) => Ok(read),
        Err(error) => {
            let span = Span::new(error.span.start as usize, error.span.end as usize);
            let caret = Caret { source, text: text.as_bytes(), span };
            Err(Problem::usage(error.to_string()).at(&caret).into())
        }
    }
}

pub(super) fn failed_expectations(setup: &Setup, shown: &Shown, expectations: &[Expectation]) -> Vec<String> {
    let subject = shown.case.subject();
    let result = shown.verdict.result.first().unwrap_or(subject);
    unmet(expectations, result, subject, &*setup.world)
}
