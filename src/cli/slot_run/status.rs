//! Status of the slots of a running execution point, shown once or repeatedly.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use super::options::{SlotRunCli, SlotStatusOptions};
use super::status_metrics::render_metrics;
use crate::cli::common::{
    Painter, Problem, ProgramContext, exit_when_reader_is_gone, render_table, write_metrics, write_to_stdout,
};
use crate::os::clock;
use crate::runner::slot::{ActiveDrain, SlotControlAnswer, SlotStatus};
use crate::slot::DrainCompletion;
use crate::text::control_characters::escape_control_characters;
use crate::text::plural::counted;

/// Columns of separated rows, in the order of the table.
const STATUS_KEYS: [&str; 10] =
    ["slot", "state", "activity", "job", "owner", "job_seconds", "fetch_in", "hooks", "verdict", "reason"];

/// Escape sequence that clears a terminal and moves the cursor to its upper left corner.
const CLEAR_SCREEN: &str = "\x1b[H\x1b[2J";

/// Prints the status once, or with `--watch` repeatedly until the execution point ends.
pub(super) fn show(
    cli: &SlotRunCli,
    options: &SlotStatusOptions,
    session: &ProgramContext,
    ask: impl Fn() -> anyhow::Result<SlotControlAnswer>,
) -> anyhow::Result<()> {
    if cli.output.long {
        options.order.refuse("--long")?;
    }
    if let Some(file) = &options.openmetrics {
        return show_metrics(cli, options, file.as_deref(), ask);
    }
    let Some(pause) = options.watch else {
        return write_to_stdout(render_page(cli, options, ask()?, session)?);
    };
    exit_when_reader_is_gone();
    let mut answer = ask()?;
    let mut first = true;
    loop {
        let text = render_page(cli, options, answer, session)?;
        let is_table = !cli.output.wants_json() && !cli.output.long && options.rows.report_form().is_none();
        let begin = match (is_table, std::io::stdout().is_terminal(), first) {
            (true, true, _) => CLEAR_SCREEN,
            (true, false, false) => "\n",
            _ => "",
        };
        write_to_stdout([begin.as_bytes(), &text].concat())?;
        first = false;
        std::thread::sleep(pause.max(Duration::from_millis(100)));
        answer = match ask() {
            Ok(answer) => answer,
            // No answer means that the execution point has ended.
            Err(_) => return Ok(()),
        };
    }
}

/// Prints metrics, or writes them to a file, once or with `--watch` repeatedly until the execution point ends. The file
/// is then removed, because its numbers are outdated.
fn show_metrics(
    cli: &SlotRunCli,
    options: &SlotStatusOptions,
    file: Option<&Path>,
    ask: impl Fn() -> anyhow::Result<SlotControlAnswer>,
) -> anyhow::Result<()> {
    options.order.refuse("--openmetrics")?;
    if cli.output.wants_json() || cli.output.long || options.rows.given_option().is_some() {
        return Err(Problem::usage(
            "--openmetrics is a separate output format: remove the other options for output",
        )
        .into());
    }
    let wanted = |id: &str| options.target.slot.as_deref().is_none_or(|slot| slot.eq_ignore_ascii_case(id));
    let write = |answer: &SlotControlAnswer| write_metrics(file, render_metrics(answer, wanted));
    write(&ask()?)?;
    let Some(pause) = options.watch else { return Ok(()) };
    exit_when_reader_is_gone();
    loop {
        std::thread::sleep(pause.max(Duration::from_millis(100)));
        match ask() {
            Ok(answer) => write(&answer)?,
            // No answer means that the execution point has ended.
            Err(_) => return file.map_or(Ok(()), |file| Ok(std::fs::remove_file(file)?)),
        }
    }
}

/// Formats the slots: as a table below a line about the drain, as JSON, as separated rows, or as ads.
fn render_page(
    cli: &SlotRunCli,
    options: &SlotStatusOptions,
    answer: SlotControlAnswer,
    session: &ProgramContext,
) -> anyhow::Result<Vec<u8>> {
    let slot = options.target.slot.as_deref();
    if cli.output.long {
        return render_ads(&answer, slot);
    }
    let wanted = |id: &str| slot.is_none_or(|slot| slot.eq_ignore_ascii_case(id));
    let SlotControlAnswer { drain, slots, .. } = answer;
    let of_drain = |slot: SlotStatus| SlotStatus { drain: drain.clone(), ..slot };
    let slots: Vec<SlotStatus> = slots.into_iter().filter(|slot| wanted(&slot.slot)).map(of_drain).collect();
    let slots = options.order.apply_to_rows(slots, session)?;
    if let Some(rows) = cli.output.render_json(&slots)? {
        return Ok(rows.into_bytes());
    }
    if let Some(rows) = options.rows.render(&slots, &STATUS_KEYS)? {
        return Ok(rows);
    }
    let count = slots.len();
    let columns = [
        "<SLOT",
        "<STATE",
        "<ACTIVITY",
        "<JOB",
        "<OWNER",
        ">JOB SECONDS",
        ">FETCH IN",
        "<HOOKS",
        "<LAST FETCH",
    ];
    let rows = slots.into_iter().map(|slot| {
        let seconds = |seconds: Option<u64>| seconds.map_or_else(String::new, |seconds| seconds.to_string());
        let verdict = slot.verdict.unwrap_or_default();
        let reason = slot.reason.filter(|reason| !reason.is_empty());
        let last = reason.map_or(verdict.clone(), |reason| format!("{verdict}: {reason}"));
        [
            slot.slot,
            slot.state,
            slot.activity,
            slot.job.unwrap_or_default(),
            slot.owner.unwrap_or_default(),
            seconds(slot.job_seconds.and_then(|seconds| u64::try_from(seconds).ok())),
            seconds(slot.fetch_in),
            slot.hooks.join(" "),
            last,
        ]
    });
    let drain_line = drain.map_or_else(String::new, |drain| drain_owner_line(&drain, count));
    Ok((drain_line + &render_table(&columns, rows, Painter::stdout(cli.output.color))).into_bytes())
}

/// Returns the ads of the slots in the long form.
fn render_ads(answer: &SlotControlAnswer, slot: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let wanted = |id: &str| slot.is_none_or(|slot| slot.eq_ignore_ascii_case(id));
    let ads: Vec<_> = answer.ads.iter().filter(|running| wanted(&running.slot)).collect();
    if let (true, Some(slot)) = (ads.is_empty(), slot) {
        return Err(Problem::usage(format!("there is no slot '{slot}'")).into());
    }
    Ok(ads.into_iter().flat_map(|running| [running.ad.as_bytes(), b"\n"].concat()).collect())
}

/// Returns a line about a drain: its requester, start and end.
fn drain_owner_line(drain: &ActiveDrain, slots: usize) -> String {
    let now = clock::now().epoch();
    let seconds = (now - drain.since).max(0);
    let end = match drain.until {
        Some(until) if until > now => format!("ends in {} s", until - now),
        Some(_) => "ends when all jobs have left".to_owned(),
        None => "all jobs have left".to_owned(),
    };
    let completion = match drain.on_completion {
        DrainCompletion::Nothing => "",
        DrainCompletion::Resume => "; will accept jobs again when drained",
        DrainCompletion::Exit => "; will exit when drained",
        DrainCompletion::Restart => "; will restart when drained",
        DrainCompletion::Reconfigure => "; will read its configuration and accept jobs again when drained",
    };
    let start =
        drain.start.as_ref().map_or_else(String::new, |start| format!("; START during the drain: {start}"));
    // The reason for a drain may contain newlines.
    let reason = escape_control_characters(&drain.reason);
    let (how, id, by, drained) = (drain.how.name(), drain.request_id, &drain.by, drain.drained);
    let slots = counted(slots, "slot");
    format!(
        "{how} drain, request {id}, started {seconds} s ago by {by}, {end}{completion}; reason: {reason}; {drained} of {slots} drained{start}\n"
    )
}
