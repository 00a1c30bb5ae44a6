//! One call: run it, judge it, look for what is wrong, tell.

use std::io::Write;

use super::feed::Ads;
use super::options::{One, Shared};
use super::report::{self, Report};
use super::setup::setup;
use super::{ads, call, many, screen, timing};
use crate::cli::common::{Painter, Problem, Session, Status, stdout, with_events};
use crate::hook::HookType;
use crate::hook_testing::{Decision, Ending, Setup, Shown};
use crate::os::Reactor;
use crate::process::Exit;

pub(super) fn run(cli: &Shared, hook: HookType, one: &One, session: &Session) -> anyhow::Result<Status> {
    let expectations = call::expectations(&one.also.expect)?;
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
            let ads = Ads { first: first.into_iter(), rest: stream, left };
            return many::run((cli, hook), (&one, &expectations), ads, session);
        }
        one.given = Some(first);
    }
    let mut setup = setup(cli, hook, &one, session)?;
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
    let mut events = call::events(cli, session)?;
    let mut reactor = call::reactor()?;
    if let Some(times) = one.also.time {
        return timing::time(&setup, &mut reactor, times, cli, session);
    }
    let relayed = |number| Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
    let mut shown = match shown(&setup, &mut reactor, cli.output.quiet, session)? {
        Ok(shown) => shown,
        Err(signal) => return relayed(signal),
    };
    if let Some(times) = one.also.fuzz {
        return super::fuzz::run(&mut setup, &mut reactor, (times, &shown), (cli, &one), session);
    }
    if let Some(events) = &mut events {
        call::tell(events, &setup, &shown);
    }
    if let Some(signal) = again(&setup, &mut reactor, &one, &mut shown)? {
        return relayed(signal);
    }
    let failed = call::failed_expectations(&setup, &shown, &expectations);
    let report = Report { setup: &setup, shown: &shown, failed: &failed };
    print(cli, &report, session)?;
    let status = status(&report, one.also.expect_verdict.as_deref(), session);
    Ok(events.map_or(status, |events| with_events(events, status)))
}

/// Makes the call, and shows what the hook says while it runs; the signal that interrupted it, if one did.
fn shown(
    setup: &Setup,
    reactor: &mut Reactor,
    quiet: bool,
    session: &Session,
) -> anyhow::Result<Result<Shown, i32>> {
    let mut open_line = false;
    let shown = setup.shown(reactor, |bytes| {
        if !quiet {
            open_line = bytes.last().is_some_and(|last| *last != b'\n');
            session.tell(&String::from_utf8_lossy(bytes));
        }
    });
    let shown = shown.map_err(call::problem)?;
    // What the hook said last may lack its newline.
    if open_line && shown.is_ok() {
        session.tell("\n");
    }
    Ok(shown)
}

/// Keeps the call, and makes it again where that is asked for; the signal that interrupted that, if one did.
fn again(setup: &Setup, reactor: &mut Reactor, one: &One, shown: &mut Shown) -> anyhow::Result<Option<i32>> {
    let keep = one.also.keep.as_deref();
    if let Some(directory) = keep {
        shown.keep(directory).map_err(call::problem)?;
    }
    let mut interrupted = None;
    if let Some(times) = one.also.repeat {
        interrupted = setup.repeat(reactor, times, keep, shown).map_err(call::problem)?.err();
    }
    if one.also.probe && interrupted.is_none() {
        interrupted = setup.probe(reactor, shown).map_err(call::problem)?.err();
    }
    Ok(interrupted)
}

/// Tells what came of it.
fn print(cli: &Shared, report: &Report<'_>, session: &Session) -> anyhow::Result<()> {
    let verdict = &report.shown.verdict;
    let text = if cli.output.wants_json() {
        cli.output.rows(&[report.json()?])?.unwrap_or_default().into_bytes()
    } else {
        if !cli.output.quiet || !verdict.good || !report.failed.is_empty() {
            session.tell(&screen::verdict(report, Painter::stderr(cli.output.color)));
        }
        report::long(&verdict.result)
    };
    stdout().write_all(&text)?;
    Ok(())
}

/// Whether all is as expected; what is not is told.
fn status(report: &Report<'_>, wanted: Option<&str>, session: &Session) -> Status {
    let Report { shown, failed, .. } = report;
    let decision = &shown.verdict.decision;
    if let Some(wanted) = wanted.filter(|wanted| *wanted != decision.word()) {
        let text = format!("expected the verdict '{wanted}', it is '{decision}'");
        session.report(&Problem::new(Status::No, text).into());
        return Status::No;
    }
    for failure in *failed {
        session.say(&format!("expected {failure}"));
    }
    let out_of_patience = matches!(&shown.outcome.ending, Ending::Ran(ended) if ended.exit.is_none())
        && *decision != Decision::TimedOut;
    match () {
        () if !failed.is_empty() => Status::No,
        () if wanted.is_some() => Status::Done,
        () if out_of_patience => Status::TimedOut,
        () if shown.verdict.good => Status::Done,
        () => Status::No,
    }
}
