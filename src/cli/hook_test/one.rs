//! One call: run it, judge it, look for what is wrong, tell.

use std::io::Write;

use anyhow::Context as _;
use nix::libc;

use super::options::{One, Shared};
use super::report::{self, Report};
use super::{ads, many, screen, timing};
use crate::classad::ClassAd;
use crate::cli::common::{Painter, Problem, Session, Status};
use crate::hook::HookType;
use crate::os::Reactor;
use crate::process::Exit;
use crate::runner::events::{Event, EventStream, Kind, exit_words};
use crate::runner::hook_test::{CallError, Decision, Ending, Expectation, Setup, Shown, unmet};
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

pub(super) fn run(cli: &Shared, hook: HookType, one: &One, session: &Session) -> anyhow::Result<Status> {
    let expectations = expectations(one)?;
    let mut one = one.clone();
    if let Some(mut stream) = ads::given(&one, session)? {
        let enough = ads::read_by(hook);
        let left = one.also.limit.unwrap_or(u64::MAX);
        let mut first = Vec::new();
        while first.len() <= enough && (first.len() as u64) < left {
            match stream.next()? {
                Some(ad) => first.push(ad),
                None => break,
            }
        }
        if first.len() > enough {
            let ads = many::Ads { first: first.into_iter(), rest: stream, left };
            return many::run((cli, hook), (&one, &expectations), ads, session);
        }
        one.given = Some(first);
    }
    let one = &one;
    let mut setup = Setup::new(cli, hook, one, session)?;
    if one.also.explain {
        for line in &setup.story {
            session.tell(&format!("{line}\n"));
        }
    }
    if one.also.show_input {
        return screen::show_input(&setup, &cli.output, session);
    }
    if cli.events.is_asked() && (one.also.time.is_some() || one.also.fuzz.is_some()) {
        return Err(Problem::usage("--events is not written by --time and --fuzz").into());
    }
    let mut events = cli.events.open()?.map(|sink| EventStream::new("", None, Some(sink)));
    let mut reactor = reactor()?;
    if let Some(times) = one.also.time {
        return timing::time(&setup, &mut reactor, times, cli, session);
    }
    let live = !cli.output.quiet;
    let mut open_line = false;
    let mut shown = match setup
        .shown(&mut reactor, |bytes| {
            if live {
                open_line = bytes.last().is_some_and(|last| *last != b'\n');
                session.tell(&String::from_utf8_lossy(bytes));
            }
        })
        .map_err(problem)?
    {
        Ok(shown) => shown,
        Err(signal) => return Ok(Status::Relayed(Exit::Signal { number: signal, core_dumped: false })),
    };
    // What the hook said last may lack its newline.
    if open_line {
        session.tell("\n");
    }
    if let Some(times) = one.also.fuzz {
        return super::fuzz::run(&mut setup, &mut reactor, (times, &shown), (cli, one), session);
    }
    if let Some(events) = &mut events {
        tell(events, &setup, &shown);
    }
    if let Some(directory) = &one.also.keep {
        shown.keep(directory).map_err(problem)?;
    }
    let mut interrupted = None;
    if let Some(times) = one.also.repeat {
        let keep = one.also.keep.as_deref();
        interrupted = setup.repeat(&mut reactor, times, keep, &mut shown).map_err(problem)?.err();
    }
    if one.also.probe && interrupted.is_none() {
        interrupted = setup.probe(&mut reactor, &mut shown).map_err(problem)?.err();
    }
    if let Some(number) = interrupted {
        return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
    }
    let failed = failed_expectations(&setup, &shown, &expectations);
    let wanted = one.also.expect_verdict.as_deref();
    let report = Report { setup: &setup, shown: &shown, failed: &failed };
    if cli.output.json || cli.output.jsonl {
        let text = cli.output.rows(&[report.json()?])?.unwrap_or_default();
        std::io::stdout().write_all(text.as_bytes())?;
    } else {
        if !cli.output.quiet || !shown.verdict.good || !failed.is_empty() {
            let painter = Painter::stderr(cli.output.color);
            session.tell(&screen::verdict(&report, painter));
        }
        std::io::stdout().write_all(&report::long(&shown.verdict.result))?;
    }
    if let Some(wanted) = wanted
        && wanted != shown.verdict.decision.word()
    {
        session.report(
            &Problem::new(
                Status::No,
                format!("expected the verdict '{wanted}', it is '{}'", shown.verdict.decision),
            )
            .into(),
        );
        return Ok(Status::No);
    }
    for failure in &failed {
        session.tell(&format!("{}: expected {failure}\n", session.name()));
    }
    let out_of_patience = matches!(&shown.outcome.ending, Ending::Ran(ended) if ended.exit.is_none())
        && shown.verdict.decision != Decision::TimedOut;
    Ok(match () {
        () if !failed.is_empty() => Status::No,
        () if wanted.is_some() => Status::Done,
        () if out_of_patience => Status::TimedOut,
        () if shown.verdict.good => Status::Done,
        () => Status::No,
    })
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

fn expectations(one: &One) -> anyhow::Result<Vec<Expectation>> {
    one.also.expect.iter().map(|text| expectation(text, "--expect")).collect()
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
