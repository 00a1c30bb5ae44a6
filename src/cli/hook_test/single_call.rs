//! One call of a hook: makes the call, judges its output, checks the hook, and reports the result.

use std::io::Write;

use super::ad_channel::LimitedAds;
use super::options::{HookCallArgs, SharedOptions};
use super::report::{self, CheckedCall};
use super::setup::make_setup;
use super::{call, case_ads, many_calls, screen_report, timing};
use crate::cli::common::{InputWatch, Painter, Problem, ProgramContext, Status, finish_events, stdout};
use crate::hook::HookType;
use crate::hook_testing::{CallEnding, CallProgress, CallReport, CallSetup, Decision, Interruptible};
use crate::os::Reactor;
use crate::process::Exit;
use crate::text::plural::counted;

pub(super) fn run(
    cli: &SharedOptions,
    hook: HookType,
    call_args: &HookCallArgs,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let session = &session.with_input(call_args.input.from, call_args.input.strict_input, cli.quirks.quirks);
    let expectations = call::parse_expectations(&call_args.extra.expect)?;
    let mut call_args = call_args.clone();
    warn_of_ad_files(&call_args, session);
    if let (Some(option), false) = (call_args.extra.rows.given_option(), call_args.extra.summary) {
        return Err(Problem::usage(format!("{option} can only be used with --summary")).into());
    }
    case_ads::refuse_stdin_twice(&call_args, &cli.config)?;
    let watch = InputWatch::start(cli.events.timeout, session);
    if let Some(mut stream) = watch.wait_for(|| case_ads::open_given_ads(&call_args, &cli.clock, session))? {
        let needed = case_ads::ads_needed_by(hook);
        let remaining = call_args.selection.limit.unwrap_or(u64::MAX);
        let mut first = Vec::new();
        while first.len() <= needed && (first.len() as u64) < remaining {
            match watch.wait_for(|| stream.next())? {
                Some(ad) => first.push(ad),
                None => break,
            }
        }
        // With --summary, any number of ads gets a table of verdicts.
        let is_list = first.len() > needed || call_args.extra.summary;
        if is_list {
            let ads = LimitedAds { first: first.into_iter(), rest: stream, remaining, watch };
            return many_calls::run(cli, hook, &call_args, &expectations, ads, session);
        }
        call_args.given = Some(first);
    }
    refuse_options_of_many_ads(&call_args)?;
    let mut setup = watch.wait_for(|| make_setup(cli, hook, &call_args, session))?;
    // The user did not name this ad, so its use is reported even with --quiet.
    if let Some(note) = case_ads::built_in_note(hook, &call_args, setup.configured_slot.as_deref()) {
        session.write_line(&note);
    }
    if let Some(note) = &setup.route_note {
        session.write_line(note);
    }
    if call_args.extra.explain {
        for line in &setup.lookup_log {
            session.write_stderr(&format!("{line}\n"));
        }
    }
    if call_args.extra.show_input {
        return screen_report::show_input(&setup, &cli.output, session);
    }
    if cli.events.is_given() && (call_args.extra.time.is_some() || call_args.extra.fuzz.is_some()) {
        return Err(Problem::usage("--events is not written by --time and --fuzz").into());
    }
    let mut events = call::open_events(cli, session)?;
    let mut reactor = call::program_reactor()?;
    if let Some(times) = call_args.extra.time {
        return timing::time_calls(&setup, &mut reactor, times, cli, session);
    }
    let relayed = |number| Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
    let mut call_report = match call_and_show(&setup, &mut reactor, cli.output.quiet, session)? {
        Interruptible::Finished(call_report) => call_report,
        Interruptible::Interrupted(signal) => return relayed(signal),
    };
    if call_args.extra.fuzz.is_some() {
        return super::fuzz::run(&mut setup, &mut reactor, &call_report, cli, &call_args, session);
    }
    if let Some(events) = &mut events {
        call::report_call(events, &setup, &call_report);
    }
    if let Some(signal) = record_and_repeat(&setup, &mut reactor, &call_args, &mut call_report)? {
        return relayed(signal);
    }
    let failed = call::find_failed_expectations(&setup, &call_report, &expectations);
    let report = CheckedCall { setup: &setup, call_report: &call_report, failed: &failed };
    print_result(cli, &report, session)?;
    let status = exit_status(&report, &call_args, session);
    Ok(events.map_or(status, |events| finish_events(events, status)))
}

/// Refuses options for streams of ads if no ads are read.
fn refuse_options_of_many_ads(call_args: &HookCallArgs) -> Result<(), Problem> {
    let selection = &call_args.selection;
    let is_read = call_args.given.is_some();
    let options = [
        ("--summary", call_args.extra.summary),
        ("--constraint", !is_read && !selection.constraint.is_empty()),
        ("--sort", !is_read && !selection.sort.is_empty()),
        ("--limit", !is_read && selection.limit.is_some()),
    ];
    match options.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => {
            Err(Problem::usage(format!("{option} applies only to ads from --ads or standard input")))
        }
        None => Ok(()),
    }
}

/// Makes the call, and shows the hook's standard error while it runs. Returns the signal that interrupted the call, or `None`.
fn call_and_show(
    setup: &CallSetup,
    reactor: &mut Reactor,
    quiet: bool,
    session: &ProgramContext,
) -> anyhow::Result<Interruptible<CallReport>> {
    let mut open_line = false;
    let call_report = setup.run_call(reactor, |progress| match progress {
        _ if quiet => {}
        CallProgress::Stderr(bytes) => {
            open_line = bytes.last().is_some_and(|last| *last != b'\n');
            session.write_stderr(&String::from_utf8_lossy(bytes));
        }
        CallProgress::StillRunning(time) => {
            let text = format!(
                "the hook has not ended after {} s; --timeout SECONDS limits the time",
                time.as_secs()
            );
            session.write_line(&text);
        }
    });
    let call_report = call_report.map_err(call::call_problem)?;
    // If the last line of the hook's standard error has no newline, one is added.
    if open_line && call_report.signal().is_none() {
        session.write_stderr("\n");
    }
    Ok(call_report)
}

/// Records the call and repeats it, if requested. Returns the signal that interrupted a repetition, or `None`.
fn record_and_repeat(
    setup: &CallSetup,
    reactor: &mut Reactor,
    call_args: &HookCallArgs,
    call_report: &mut CallReport,
) -> anyhow::Result<Option<i32>> {
    let keep = call_args.extra.keep.as_deref();
    if let Some(directory) = keep {
        call_report.write_record(directory).map_err(call::call_problem)?;
    }
    let mut interrupted = None;
    if let Some(times) = call_args.extra.repeat {
        interrupted =
            setup.check_determinism(reactor, times, keep, call_report).map_err(call::call_problem)?.signal();
    }
    if call_args.extra.probe && interrupted.is_none() {
        interrupted = setup.probe_dependencies(reactor, call_report).map_err(call::call_problem)?.signal();
    }
    Ok(interrupted)
}

/// Prints the result of the call.
fn print_result(
    cli: &SharedOptions,
    report: &CheckedCall<'_>,
    session: &ProgramContext,
) -> anyhow::Result<()> {
    let verdict = &report.call_report.verdict;
    let text = if cli.output.wants_json() {
        cli.output.render_json(&[report.to_json()?])?.unwrap_or_default().into_bytes()
    } else {
        let has_warnings = report.call_report.findings.iter().any(|finding| !finding.rule.is_note());
        if !cli.output.quiet || !verdict.good || !report.failed.is_empty() || has_warnings {
            session.write_stderr(&screen_report::render_verdict(report, Painter::stderr(cli.output.color)));
        }
        report::ads_to_long_form(&report.call_report.ads_for_next_program())
    };
    stdout().write_all(&text)?;
    Ok(())
}

/// Returns the exit status, after reporting the expectations that failed.
fn exit_status(report: &CheckedCall<'_>, call_args: &HookCallArgs, session: &ProgramContext) -> Status {
    let CheckedCall { call_report, failed, .. } = report;
    let wanted = call_args.extra.expect_verdict.as_deref();
    let decision = &call_report.verdict.decision;
    if let Some(wanted) = wanted.filter(|wanted| *wanted != decision.word()) {
        let text = format!("expected the verdict '{wanted}', got '{decision}'");
        session.report(&Problem::new(Status::No, text).into());
        return Status::No;
    }
    for failure in *failed {
        session.write_line(&format!("expected {failure}"));
    }
    let warnings = call_report.findings.iter().filter(|finding| !finding.rule.is_note()).count();
    let is_strict_failure = call_args.extra.strict && warnings > 0;
    if is_strict_failure {
        let warnings = counted(warnings, "warning");
        session.write_line(&format!("{warnings}, which --strict treats as failure"));
    }
    let out_of_patience = matches!(&call_report.outcome.ending, CallEnding::Ran(ended) if ended.exit.is_none())
        && *decision != Decision::TimedOut;
    match () {
        () if !failed.is_empty() || is_strict_failure => Status::No,
        () if wanted.is_some() => Status::Done,
        () if out_of_patience => Status::TimedOut,
        () if call_report.verdict.good => Status::Done,
        () => Status::No,
    }
}

/// Warns if an argument of the hook is the name of a file of ads, because the user probably wanted to read the file. The verdict
/// is then about another ad, so `--quiet` does not suppress the warning.
fn warn_of_ad_files(call_args: &HookCallArgs, session: &ProgramContext) {
    let is_ad_file = |word: &&String| {
        let path = std::path::Path::new(word);
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| ["ad", "ads", "classad"].contains(&extension)) && path.is_file()
    };
    for word in call_args.words.iter().filter(is_ad_file).filter(|_| !call_args.names_ads) {
        session.warn(&format!(
            "'{word}' is an argument of the hook, and a file has this name\n    hint: --ads {word} reads the ads of the file"
        ));
    }
}
