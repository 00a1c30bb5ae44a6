//! Summary of a simulation on one screen.

use crate::cli::common::{Painter, render_table};
use crate::simulate::summary::{JobStatisticsSummary, NeverRunJobs, SlotTypeSummary, Summary};
use crate::simulate::times::format_span;
use crate::text::calendar::CivilTime;
use crate::text::control_characters::mask_control_characters;
use crate::text::count::format_thousands;
use crate::text::plural::counted;
use crate::why::matching::JobGroupExplanation;

/// Maximum number of owners, causes or groups that are shown.
const MAX_ROWS: usize = 5;

/// Formats the whole summary.
pub(super) fn render_summary(summary: &Summary, painter: Painter) -> String {
    let mut text = render_head(summary);
    text += &totals_text(summary);
    if !summary.badput.is_empty() {
        text += &render_badput_causes(summary, painter);
    }
    text += &render_slot_types(summary, painter);
    text += &render_job_groups("<OWNER", &summary.owners, painter);
    if summary.groups.len() > 1 {
        text += &render_job_groups("<JOBS", &summary.groups, painter);
    }
    text += &render_hooks(summary, painter);
    text += &render_never_run(summary);
    text += &render_warnings(summary);
    text
}

fn render_head(summary: &Summary) -> String {
    let CivilTime { year, month, day, hour, minute, .. } =
        CivilTime::from_seconds(summary.start, crate::classad::Zone::local(summary.start).offset.into());
    let plural = |count: u64, noun: &str| counted(format_thousands(count), noun);
    let ended = summary.ended.as_ref().map_or_else(String::new, |why| format!("; it ended: {why}"));
    format!(
        "{} from {year}-{month:02}-{day:02} {hour:02}:{minute:02}: {}, {}, {}, seed {}{ended}\n",
        format_span(summary.length),
        plural(summary.machines, "machine"),
        plural(summary.slots, "slot"),
        counted(summary.cpus.round(), "processor"),
        summary.seed
    )
}

fn totals_text(summary: &Summary) -> String {
    let jobs = &summary.jobs;
    let lost: f64 = summary.badput.values().map(|lost| lost.cpu_seconds).sum();
    let total_cpu_seconds = summary.cpus * summary.length;
    let mut text = format!(
        "utilisation {}, goodput {}, badput {}\n",
        percent(summary.utilisation),
        percent(summary.goodput),
        percent(if total_cpu_seconds > 0.0 { lost / total_cpu_seconds } else { 0.0 })
    );
    text += &format!(
        "jobs: {} arrived, {} completed ({} failed), {} running, {} waiting, {} never ran\n",
        format_thousands(jobs.arrived),
        format_thousands(jobs.completed),
        format_thousands(jobs.failed),
        format_thousands(jobs.running),
        format_thousands(jobs.waiting),
        format_thousands(jobs.never_run)
    );
    text += &format!(
        "      {} starts, {} preempted, {} suspended, {} held, {} dropped\n",
        format_thousands(jobs.starts),
        format_thousands(jobs.preempted),
        format_thousands(jobs.suspended),
        format_thousands(jobs.held),
        format_thousands(jobs.dropped)
    );
    text += &render_waits(summary);
    text
}

/// Formats the waiting times of jobs that have started, and the longest waiting time of the other jobs, which ends with
/// the simulation.
fn render_waits(summary: &Summary) -> String {
    let Summary { waits, jobs, longest_unstarted, .. } = summary;
    let unstarted = format_span(*longest_unstarted);
    match (waits.count, jobs.never_run) {
        (0, 0) => String::new(),
        (0, _) => format!("waits: no job has started; the longest has waited for {unstarted}\n"),
        (started, never) => {
            let more = match never {
                0 => String::new(),
                never => format!("; {} not started, the longest for {unstarted}", format_thousands(never)),
            };
            format!(
                "waits of the {} started: mean {}, median {}, 95 % up to {}, longest {}{more}\n",
                format_thousands(started),
                format_wait(waits.mean),
                format_wait(waits.median),
                format_wait(waits.of_95_in_100),
                format_wait(waits.longest)
            )
        }
    }
}

/// Formats a waiting time of started jobs, or `-` if no job has started.
pub(super) fn format_wait(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), format_span)
}

fn render_badput_causes(summary: &Summary, painter: Painter) -> String {
    let mut causes: Vec<_> = summary.badput.iter().collect();
    causes.sort_by(|a, b| b.1.cpu_seconds.total_cmp(&a.1.cpu_seconds));
    let hidden = causes.len().saturating_sub(MAX_ROWS);
    let columns = ["<BADPUT BY CAUSE", ">TIMES", ">PROCESSOR TIME"];
    let rows = causes.into_iter().take(MAX_ROWS).map(|(cause, lost)| {
        [shorten_name(cause), format_thousands(lost.count), format_span(lost.cpu_seconds)]
    });
    format!("\n{}{}", render_table(&columns, rows, painter), not_shown_text(hidden, "causes"))
}

/// Columns of the table of slot types, each with the prefix of the states that it includes. A state is counted in the first
/// column that matches.
const STATE_COLUMNS: [(&str, &str); 10] = [
    (">BUSY", "Claimed/Busy"),
    (">SUSPENDED", "Claimed/Suspended"),
    (">RETIRING", "Claimed/Retiring"),
    (">PREEMPTING", "Preempting"),
    (">CLAIMED IDLE", "Claimed"),
    (">UNCLAIMED", "Unclaimed"),
    (">BACKFILL", "Backfill"),
    (">OWNER", "Owner"),
    (">DRAINED", "Drained"),
    (">OTHER", ""),
];

fn render_slot_types(summary: &Summary, painter: Painter) -> String {
    let tenths: Vec<[u64; STATE_COLUMNS.len()]> =
        summary.slot_types.iter().map(time_shares_in_tenths).collect();
    // Only columns with a value are shown, because most scenarios use few of these states.
    let shown: Vec<usize> = (0..STATE_COLUMNS.len())
        .filter(|at| !STATE_COLUMNS[*at].1.is_empty() || tenths.iter().any(|row| row[*at] > 0))
        .collect();
    let columns: Vec<&str> =
        ["<SLOT TYPE", ">SLOTS"].into_iter().chain(shown.iter().map(|at| STATE_COLUMNS[*at].0)).collect();
    let row = |(it, tenths): (&SlotTypeSummary, &[u64; STATE_COLUMNS.len()])| {
        let mut row = vec![shorten_name(&it.name), format_thousands(it.slots)];
        let part = |at: &usize| match it.seconds > 0.0 {
            true => format!("{}.{} %", tenths[*at] / 10, tenths[*at] % 10),
            false => "-".to_owned(),
        };
        row.extend(shown.iter().map(part));
        row
    };
    let hidden = summary.slot_types.len().saturating_sub(MAX_ROWS);
    let rows = summary.slot_types.iter().zip(&tenths).take(MAX_ROWS).map(row);
    format!("\n{}{}", render_table(&columns, rows, painter), not_shown_text(hidden, "types"))
}

/// Returns the share of time in the states of each column, in tenths of a percent. The values with the largest remainders are
/// rounded up, so that the sum is 1000.
fn time_shares_in_tenths(it: &SlotTypeSummary) -> [u64; STATE_COLUMNS.len()] {
    let mut exact = [0.0; STATE_COLUMNS.len()];
    for (state, seconds) in &it.states {
        let column = STATE_COLUMNS.iter().position(|(_, begin)| state.starts_with(begin));
        exact[column.unwrap_or(STATE_COLUMNS.len() - 1)] +=
            seconds / it.seconds.max(f64::MIN_POSITIVE) * 1000.0;
    }
    let mut tenths = exact.map(|part| part as u64);
    let mut order: Vec<usize> = (0..STATE_COLUMNS.len()).collect();
    let rank = |at: usize| (exact[at].fract(), exact[at]);
    order.sort_by(|a, b| rank(*b).partial_cmp(&rank(*a)).unwrap_or(std::cmp::Ordering::Equal));
    let missing_tenths = 1000u64.saturating_sub(tenths.iter().sum()) as usize;
    order.iter().take(missing_tenths).for_each(|at| tenths[*at] += 1);
    tenths
}

fn render_job_groups(what: &str, parts: &[JobStatisticsSummary], painter: Painter) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let columns = [
        what,
        ">ARRIVED",
        ">COMPLETED",
        ">PREEMPTED",
        ">SUSPENDED",
        ">HELD",
        ">NEVER RAN",
        ">MEDIAN WAIT",
        ">GOODPUT",
        ">BADPUT",
    ];
    let row = |it: &JobStatisticsSummary| {
        let name = if it.name.is_empty() { "(none)" } else { &it.name };
        vec![
            shorten_name(name),
            format_thousands(it.jobs.arrived),
            format_thousands(it.jobs.completed),
            format_thousands(it.jobs.preempted),
            format_thousands(it.jobs.suspended),
            format_thousands(it.jobs.held),
            format_thousands(it.jobs.never_run),
            format_wait(it.waits.median),
            format_span(it.goodput),
            format_span(it.badput),
        ]
    };
    let hidden = parts.len().saturating_sub(MAX_ROWS);
    format!(
        "\n{}{}",
        render_table(&columns, parts.iter().take(MAX_ROWS).map(row), painter),
        not_shown_text(hidden, "more")
    )
}

fn render_hooks(summary: &Summary, painter: Painter) -> String {
    let columns = ["<HOOK", ">CALLS", ">ACCEPTED", ">REFUSED", ">NO WORK", ">BAD ANSWER", ">FAILED"];
    let rows = summary.hooks.iter().map(|it| {
        let of_fetch =
            |count: u64| if it.hook == "FETCH_WORK" { format_thousands(count) } else { "-".to_owned() };
        vec![
            it.hook.clone(),
            format_thousands(it.calls),
            of_fetch(it.accepted),
            of_fetch(it.rejected),
            of_fetch(it.nothing),
            of_fetch(it.bad),
            format_thousands(it.failed),
        ]
    });
    format!("\n{}", render_table(&columns, rows, painter))
}

fn render_never_run(summary: &Summary) -> String {
    // Groups of jobs that differ only in their requests usually have the same reason, which is printed once.
    let mut rows: Vec<(String, u64, String)> = Vec::new();
    for NeverRunJobs { jobs, owner, count, why, explanation, .. } in &summary.never_run {
        let owner_text = if owner.is_empty() { String::new() } else { format!(" of {owner}") };
        let reason = why.first().map_or("no slot was offered a job", String::as_str);
        let line = format!("{}{}: {}", shorten_name(jobs), shorten_name(&owner_text), cut_text(reason, 400));
        match rows.iter_mut().find(|(known, ..)| *known == line) {
            Some((_, sum, _)) => *sum += count,
            None => {
                let changes = missing_request_hint(reason)
                    .or_else(|| explanation.as_ref().map(change_lines))
                    .unwrap_or_default();
                rows.push((line, *count, changes));
            }
        }
    }
    let hidden = rows.len().saturating_sub(MAX_ROWS);
    let line = |(line, count, changes): &(String, u64, String)| {
        format!("never ran: {} of {line}\n{changes}", format_thousands(*count))
    };
    let text: String = rows.iter().take(MAX_ROWS).map(line).collect();
    if text.is_empty() {
        text
    } else {
        format!("\n{text}{}", not_shown_text(hidden, "kinds of jobs that never ran"))
    }
}

/// Returns a line with the scenario key for a request that the jobs lack, or `None` if the reason is not a missing
/// request.
fn missing_request_hint(reason: &str) -> Option<String> {
    let keys =
        [("RequestCpus", "cpus = 1"), ("RequestMemory", "memory = 1000"), ("RequestDisk", "disk = 1048576")];
    let (request, key) =
        keys.into_iter().find(|(request, _)| reason.starts_with(&format!("the job has no {request},")))?;
    Some(format!("    add a line such as '{key}' to the [[jobs]] of the scenario: it sets {request}\n"))
}

/// Returns lines about changes with which slots would accept jobs that all slots now refuse.
pub(super) fn change_lines(explanation: &JobGroupExplanation) -> String {
    let changes = explanation.suggestions.iter().take(2).map(|change| format!("try {}", change.text));
    let lines = changes.chain(explanation.impossible.iter().take(1).cloned());
    lines.map(|line| format!("    {}\n", cut_text(&line, 200))).collect()
}

fn render_warnings(summary: &Summary) -> String {
    let mut text = String::new();
    for (warning, count) in summary.warnings.iter().take(3) {
        let times =
            if *count == 1 { String::new() } else { format!(" ({} times)", format_thousands(*count)) };
        text += &format!("note: {}{times}\n", cut_text(warning, 200));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

pub(super) fn not_shown_text(left: usize, what: &str) -> String {
    if left == 0 { String::new() } else { format!("({left} {what} not shown; --json has them)\n") }
}

fn percent(part: f64) -> String {
    // Adding 0.0 avoids the minus sign of a negative zero.
    format!("{:.1} %", part * 100.0 + 0.0)
}

/// Shortens a name to the width of a column.
fn shorten_name(name: &str) -> String {
    cut_text(name, 48)
}

pub(super) fn cut_text(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => mask_control_characters(&text[..at]) + "...",
        None => mask_control_characters(text),
    }
}
