//! Status of the slots of a running execution point: a table, once or repeatedly.

use std::io::IsTerminal;
use std::time::Duration;

use super::options::{SlotRunCli, SlotStatusOptions};
use crate::cli::common::{Painter, exit_when_reader_is_gone, render_table, write_to_stdout};
use crate::os::clock;
use crate::runner::slot::{ActiveDrain, SlotControlAnswer, SlotStatus};
use crate::text::control_characters::escape_control_characters;

/// Clears a terminal and moves the cursor to its beginning.
const CLEAR_SCREEN: &str = "\x1b[H\x1b[2J";

/// Prints the status once, or with `--watch` repeatedly until the execution point ends.
pub(super) fn show(
    cli: &SlotRunCli,
    options: &SlotStatusOptions,
    ask: impl Fn() -> anyhow::Result<SlotControlAnswer>,
) -> anyhow::Result<()> {
    let slot = options.of.slot.as_deref();
    let Some(pause) = options.watch else { return write_to_stdout(render_page(cli, ask()?, slot)?) };
    exit_when_reader_is_gone();
    let mut answer = ask()?;
    let mut first = true;
    loop {
        let text = render_page(cli, answer, slot)?;
        let begin = match (cli.output.wants_json(), std::io::stdout().is_terminal(), first) {
            (false, true, _) => CLEAR_SCREEN,
            (false, false, false) => "\n",
            _ => "",
        };
        write_to_stdout(format!("{begin}{text}"))?;
        first = false;
        std::thread::sleep(pause.max(Duration::from_millis(100)));
        answer = match ask() {
            Ok(answer) => answer,
            // The execution point has ended.
            Err(_) => return Ok(()),
        };
    }
}

/// Formats the slots as a table below the line about a drain, or as JSON.
fn render_page(cli: &SlotRunCli, answer: SlotControlAnswer, slot: Option<&str>) -> anyhow::Result<String> {
    let wanted = |id: &str| slot.is_none_or(|slot| slot.eq_ignore_ascii_case(id));
    let SlotControlAnswer { drain, slots, .. } = answer;
    let of_drain = |slot: SlotStatus| SlotStatus { drain: drain.clone(), ..slot };
    let slots: Vec<SlotStatus> = slots.into_iter().filter(|slot| wanted(&slot.slot)).map(of_drain).collect();
    if let Some(rows) = cli.output.render_json(&slots)? {
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
    let above = drain.map_or_else(String::new, |drain| drain_owner_line(&drain, count));
    Ok(above + &render_table(&columns, rows, Painter::stdout(cli.output.color)))
}

/// Describes a drain: its requester, start and end.
fn drain_owner_line(drain: &ActiveDrain, slots: usize) -> String {
    let now = clock::now().epoch();
    let since = (now - drain.since).max(0);
    let until = match drain.until {
        Some(until) if until > now => format!("over in {} s", until - now),
        Some(_) => "over when the jobs have left".to_owned(),
        None => "over".to_owned(),
    };
    let then = drain.on_completion.name().map_or_else(String::new, |then| format!(", then {then}"));
    let start = drain.start.as_ref().map_or_else(String::new, |start| format!("; START meanwhile: {start}"));
    // The reason of a drain may contain newlines.
    let reason = escape_control_characters(&drain.reason);
    let (how, id, by, drained) = (drain.how.name(), drain.request_id, &drain.by, drain.drained);
    format!(
        "{how} drain, request {id}, by {by} since {since} s, {until}{then}: {reason}; {drained} of {slots} slots drained{start}\n"
    )
}
