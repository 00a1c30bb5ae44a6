//! What the slots of a running execution point do: a table, once or again and again.

use std::io::IsTerminal;
use std::time::Duration;

use super::options::{Cli, StatusOptions};
use crate::cli::common::{Painter, print_out, stop_without_reader, table};
use crate::os::clock;
use crate::runner::slot::{Answer, DrainNow, SlotStatus};
use crate::text::one_line::one_line;

/// Clears a terminal and goes to its beginning.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Shows it, and again as long as somebody answers where that is wanted.
pub(super) fn show(
    cli: &Cli,
    options: &StatusOptions,
    ask: impl Fn() -> anyhow::Result<Answer>,
) -> anyhow::Result<()> {
    let slot = options.of.slot.as_deref();
    let Some(pause) = options.watch else { return print_out(page(cli, ask()?, slot)?) };
    stop_without_reader();
    let mut answer = ask()?;
    let mut first = true;
    loop {
        let text = page(cli, answer, slot)?;
        let begin = match (cli.output.wants_json(), std::io::stdout().is_terminal(), first) {
            (false, true, _) => CLEAR,
            (false, false, false) => "\n",
            _ => "",
        };
        print_out(format!("{begin}{text}"))?;
        first = false;
        std::thread::sleep(pause.max(Duration::from_millis(100)));
        answer = match ask() {
            Ok(answer) => answer,
            // It has ended.
            Err(_) => return Ok(()),
        };
    }
}

/// The slots as a table below what is to be known of a drain, or as JSON.
fn page(cli: &Cli, answer: Answer, slot: Option<&str>) -> anyhow::Result<String> {
    let wanted = |id: &str| slot.is_none_or(|slot| slot.eq_ignore_ascii_case(id));
    let Answer { drain, slots, .. } = answer;
    let of_drain = |slot: SlotStatus| SlotStatus { drain: drain.clone(), ..slot };
    let slots: Vec<SlotStatus> = slots.into_iter().filter(|slot| wanted(&slot.slot)).map(of_drain).collect();
    if let Some(rows) = cli.output.rows(&slots)? {
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
    let above = drain.map_or_else(String::new, |drain| of_drain_line(&drain, count));
    Ok(above + &table(&columns, rows, Painter::stdout(cli.output.color)))
}

/// Who drains, since when and until when.
fn of_drain_line(drain: &DrainNow, slots: usize) -> String {
    let now = clock::now().epoch();
    let since = (now - drain.since).max(0);
    let until = match drain.until {
        Some(until) if until > now => format!("over in {} s", until - now),
        Some(_) => "over when the jobs have left".to_owned(),
        None => "over".to_owned(),
    };
    let then = drain.on_completion.as_ref().map_or_else(String::new, |then| format!(", then {then}"));
    let start = drain.start.as_ref().map_or_else(String::new, |start| format!("; START meanwhile: {start}"));
    // Whoever drains may have written more than a line.
    let reason = one_line(&drain.reason);
    let (how, id, by, drained) = (&drain.how, drain.request_id, &drain.by, drain.drained);
    format!(
        "{how} drain, request {id}, by {by} since {since} s, {until}{then}: {reason}; {drained} of {slots} slots drained{start}\n"
    )
}
