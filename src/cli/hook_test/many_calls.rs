//! Calls of one hook for many ads: prints a table of verdicts, and the attributes that ads with unusual verdicts have in common.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use anyhow::Context as _;
use serde::Serialize;

use super::ad_channel::{AdChannel, LimitedAds};
use super::call;
use super::options::{HookCallArgs, SharedOptions};
use super::report::{self, CheckedCall};
use super::setup::make_setup;
use crate::cli::common::{
    AdFormat, Painter, Problem, ProgramContext, Progress, Status, finish_events, render_table, stdout,
};
use crate::hook::HookType;
use crate::hook_testing::{
    CallError, CallReport, CallSetup, Expectation, VerdictGroup, VerdictTally, call_hooks_in_parallel,
};
use crate::os::Reactor;
use crate::process::Exit;
use crate::runner::events::EventStream;
use crate::text::plural::counted;

/// Maximum number of common attributes that are shown.
const MAX_COMMON_ATTRIBUTES: usize = 5;

/// Summary of all calls.
struct CallSummary<'a> {
    cli: &'a SharedOptions,
    call_args: &'a HookCallArgs,
    expectations: &'a [Expectation],
    tally: VerdictTally,
    /// Findings by rule, with the number of calls, the name of the first ad and the message.
    findings: BTreeMap<&'static str, (u64, String, String)>,
    events: Option<EventStream>,
    /// Texts that are printed only after those of earlier ads, by number of the ad.
    waiting: BTreeMap<usize, Vec<u8>>,
    printed: usize,
}

/// Group of calls with equal verdicts, as a row of `--summary`.
#[derive(Serialize)]
struct VerdictRow<'a> {
    ads: u64,
    verdict: &'static str,
    good: bool,
    hold_code: Option<i64>,
    hold_subcode: Option<i64>,
    first: &'a str,
    reason: &'a str,
}

/// Keys of a row of `--summary`.
const VERDICT_KEYS: [&str; 7] = ["ads", "verdict", "good", "hold_code", "hold_subcode", "first", "reason"];

impl<'a> VerdictRow<'a> {
    fn new(group: &'a VerdictGroup) -> Self {
        VerdictRow {
            ads: group.count,
            verdict: group.word,
            good: group.good,
            hold_code: group.hold.map(|hold| hold.0),
            hold_subcode: group.hold.map(|hold| hold.1),
            first: &group.example,
            reason: &group.reason,
        }
    }
}

/// Calls the hook for each ad.
pub(super) fn run(
    cli: &SharedOptions,
    hook: HookType,
    call_args: &HookCallArgs,
    expectations: &[Expectation],
    ads: LimitedAds<'_>,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    refuse_single_ad_options(call_args)?;
    let events = call::open_events(cli, session)?;
    let mut summary = CallSummary {
        cli,
        call_args,
        expectations,
        tally: VerdictTally::default(),
        findings: BTreeMap::new(),
        events,
        waiting: BTreeMap::new(),
        printed: 0,
    };
    let interrupted = make_calls(&mut summary, hook, ads, session)?;
    summary.end(session)?;
    if let Some(number) = interrupted {
        return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
    }
    let good = summary.tally.groups().iter().all(|group| group.good);
    let status = if good { Status::Done } else { Status::No };
    Ok(summary.events.map_or(status, |events| finish_events(events, status)))
}

fn refuse_single_ad_options(call_args: &HookCallArgs) -> anyhow::Result<()> {
    let extra = &call_args.extra;
    let single_ad_options = [
        ("--show-input", extra.show_input),
        ("--time", extra.time.is_some()),
        ("--fuzz", extra.fuzz.is_some()),
        ("--repeat", extra.repeat.is_some()),
        ("--probe", extra.probe),
        ("--explain", extra.explain),
    ];
    match single_ad_options.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => {
            Err(Problem::usage(format!("{option} requires a single ad, but the input has more"))
                .hint(
                    "--limit 1 uses the first; htc-classad-eval --ads FILE -constraint EXPR selects another",
                )
                .into())
        }
        None => Ok(()),
    }
}

/// Error that ends all calls.
struct CallFailure(anyhow::Error);

impl From<CallError> for CallFailure {
    fn from(error: CallError) -> Self {
        CallFailure(call::call_problem(error))
    }
}

/// Makes all calls, several at a time. Returns the signal that ended them early, or `None`.
fn make_calls(
    summary: &mut CallSummary<'_>,
    hook: HookType,
    ads: LimitedAds<'_>,
    session: &ProgramContext,
) -> anyhow::Result<Option<i32>> {
    let parallel =
        summary.call_args.extra.threads.map_or_else(call::default_parallelism, std::num::NonZero::get);
    let mut reactor = call::program_reactor()?;
    let stop_flag = ads.rest.stop_flag();
    std::thread::scope(|scope| {
        let channel =
            AdChannel::start(scope, ads, parallel).context("cannot read ads while hooks are called")?;
        let result = make_calls_from(&channel, summary, hook, &mut reactor, parallel, session);
        // This ends the thread that reads ads, even if it waits for an ad.
        drop(channel);
        stop_flag.set();
        result
    })
}

/// Makes the calls for all ads of the channel.
fn make_calls_from(
    channel: &AdChannel,
    summary: &mut CallSummary<'_>,
    hook: HookType,
    reactor: &mut Reactor,
    parallel: usize,
    session: &ProgramContext,
) -> anyhow::Result<Option<i32>> {
    let (cli, call_args) = (summary.cli, summary.call_args);
    let progress = Progress::new("ads", None, cli.output.quiet);
    let mut reported = BTreeSet::new();
    let mut next = || {
        let Some(ad) = channel.next().map_err(CallFailure)? else { return Ok(None) };
        let call_session = session.with_kept_messages();
        let setup = make_setup(cli, hook, &call_args.with_ad(ad), &call_session);
        for line in call_session.take_messages().split_inclusive('\n') {
            if reported.insert(line.to_owned()) {
                session.write_stderr(line);
            }
        }
        setup.map(Some).map_err(CallFailure)
    };
    let mut record_call = |number: usize, setup: &CallSetup, call_report: CallReport| {
        let result = summary.add_call(number, setup, call_report).map_err(CallFailure);
        progress.advance(1);
        result
    };
    call_hooks_in_parallel(reactor, parallel, channel, &mut next, &mut record_call)
        .map_err(|CallFailure(error)| error)
}

impl CallSummary<'_> {
    /// Adds one call to the summary, and prints the requested output for it.
    fn add_call(&mut self, number: usize, setup: &CallSetup, call_report: CallReport) -> anyhow::Result<()> {
        let failed = call::find_failed_expectations(setup, &call_report, self.expectations);
        let word = call_report.verdict.decision.word();
        let expected_verdict = self.call_args.extra.expect_verdict.as_deref();
        let warning = call_report.findings.iter().find(|finding| !finding.rule.is_note());
        let warning = warning.filter(|_| self.call_args.extra.strict).map(|finding| finding.message.as_str());
        let good = failed.is_empty()
            && warning.is_none()
            && expected_verdict.map_or(call_report.verdict.good, |expected_verdict| expected_verdict == word);
        let name = call::job_id(call_report.case.subject()).unwrap_or_else(|| format!("ad {number}"));
        self.tally.add(
            call_report.case.subject(),
            number,
            &name,
            &call_report.verdict,
            good,
            failed.first().map(String::as_str).or(warning),
        );
        for finding in call_report.findings.iter().filter(|finding| !finding.rule.is_note()) {
            let first = || (0, name.clone(), finding.message.clone());
            self.findings.entry(finding.rule.word()).or_insert_with(first).0 += 1;
        }
        if let Some(events) = &mut self.events {
            call::report_call(events, setup, &call_report);
        }
        if let Some(directory) = &self.call_args.extra.keep {
            call_report.write_record(directory).map_err(call::call_problem)?;
        }
        if self.call_args.extra.summary {
            return Ok(());
        }
        let text = match self.cli.output.ad_format() {
            None | Some(AdFormat::Long) => report::ads_to_long_form(&call_report.ads_for_next_program()),
            Some(AdFormat::Json | AdFormat::Jsonl) => {
                CheckedCall { setup, call_report: &call_report, failed: &failed }
                    .to_json()?
                    .to_string()
                    .into_bytes()
            }
        };
        self.waiting.insert(number, text);
        self.print_ready_texts()
    }

    /// Prints the waiting texts that are next in the order of the ads.
    fn print_ready_texts(&mut self) -> anyhow::Result<()> {
        let mut stdout = stdout();
        while let Some(text) = self.waiting.remove(&(self.printed + 1)) {
            let first = self.printed == 0;
            self.printed += 1;
            match self.cli.output.ad_format() {
                Some(AdFormat::Json) => {
                    let before = if first { "[\n" } else { ",\n" };
                    stdout.write_all(before.as_bytes())?;
                    stdout.write_all(&text)?;
                }
                Some(AdFormat::Jsonl) => {
                    stdout.write_all(&text)?;
                    stdout.write_all(b"\n")?;
                }
                Some(AdFormat::Long) | None => stdout.write_all(&text)?,
            }
        }
        Ok(())
    }

    /// Prints the table of verdicts: to standard error, or with `--summary` to standard output.
    fn end(&self, session: &ProgramContext) -> anyhow::Result<()> {
        let is_summary = self.call_args.extra.summary;
        if is_summary && let Some(rows) = self.verdict_rows()? {
            stdout().write_all(&rows)?;
            return Ok(());
        }
        if self.cli.output.ad_format() == Some(AdFormat::Json) {
            let text = if self.printed == 0 { "[]\n" } else { "\n]\n" };
            stdout().write_all(text.as_bytes())?;
        }
        let when = self.cli.output.color;
        let painter = if is_summary { Painter::stdout(when) } else { Painter::stderr(when) };
        if self.cli.output.quiet && !is_summary {
            // Without --quiet, the table also has the calls that succeeded.
            if self.tally.groups().iter().any(|group| !group.good) {
                session.write_stderr(&self.verdict_table(painter, |group| !group.good));
            }
            session.write_stderr(&self.warning_lines(painter));
            return Ok(());
        }
        let text = self.verdict_table(painter, |_| true)
            + &self.describe_odd_groups(painter)
            + &self.warning_lines(painter);
        if is_summary {
            stdout().write_all(text.as_bytes())?;
        } else {
            session.write_stderr(&text);
        }
        Ok(())
    }

    /// Returns the groups of verdicts as JSON or as separated rows, or `None` if neither is requested.
    fn verdict_rows(&self) -> anyhow::Result<Option<Vec<u8>>> {
        let groups = self.tally.groups();
        let rows: Vec<VerdictRow<'_>> = groups.iter().map(|group| VerdictRow::new(group)).collect();
        match self.cli.output.render_json(&rows)? {
            Some(text) => Ok(Some(text.into_bytes())),
            None => self.call_args.extra.rows.render(&rows, &VERDICT_KEYS),
        }
    }

    /// Returns the table of the groups that `is_shown` selects.
    fn verdict_table(&self, painter: Painter, is_shown: fn(&VerdictGroup) -> bool) -> String {
        let columns = [">ADS", "<VERDICT", "<HOLD", "<FIRST", "<REASON"];
        let rows = self.tally.groups().into_iter().filter(|group| is_shown(group)).map(|group| {
            let hold = group.hold.map_or_else(String::new, |(code, subcode)| format!("{code}/{subcode}"));
            [
                group.count.to_string(),
                group.word.to_owned(),
                hold,
                group.example.clone(),
                group.reason.clone(),
            ]
        });
        render_table(&columns, rows, painter)
    }

    /// Returns the descriptions of all groups except the largest, with the attributes that their ads have in common.
    fn describe_odd_groups(&self, painter: Painter) -> String {
        let groups = self.tally.groups();
        let mut text = String::new();
        for group in groups.iter().skip(1) {
            let common = self.tally.common_features(group);
            if common.is_empty() {
                continue;
            }
            text += &format!("\n{}, {}:\n", paint_verdict(group, painter), counted(group.count, "ad"));
            for common in common.iter().take(MAX_COMMON_ATTRIBUTES) {
                let share_of_others = match common.elsewhere {
                    0.0 => "no other".to_owned(),
                    part => format!("{:.0} % of the others", (part * 100.0).max(1.0)),
                };
                text += &format!("  {}  {}\n", common.text, painter.dim(format!("({share_of_others})")));
            }
            if common.len() > MAX_COMMON_ATTRIBUTES {
                text += &format!("  and {} more\n", common.len() - MAX_COMMON_ATTRIBUTES);
            }
        }
        text
    }

    fn warning_lines(&self, painter: Painter) -> String {
        let line = |(rule, (count, name, message)): (&&str, &(u64, String, String))| {
            let message = message.lines().next().unwrap_or_default();
            format!(
                "{} {rule}: {}, first {name}: {message}\n",
                painter.warn("warning"),
                counted(*count, "ad")
            )
        };
        let lines: String = self.findings.iter().map(line).collect();
        if lines.is_empty() { lines } else { format!("\n{lines}") }
    }
}

fn paint_verdict(group: &VerdictGroup, painter: Painter) -> String {
    match group.good {
        true => painter.good(group.word).to_string(),
        false => painter.bad(group.word).to_string(),
    }
}
