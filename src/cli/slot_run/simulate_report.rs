//! A summary on one screen.

use crate::cli::common::{Painter, table};
use crate::simulate::summary::{NeverRun, PartTold, Summary, TypeTold};
use crate::simulate::times::written;
use crate::text::calendar::Civil;
use crate::text::count::thousands;
use crate::text::one_line::printable;

/// So many owners, causes and kinds are shown.
const SHOWN: usize = 5;

/// The whole summary.
pub(super) fn report(summary: &Summary, painter: Painter) -> String {
    let mut text = head(summary);
    text += &totals(summary);
    if !summary.badput.is_empty() {
        text += &causes(summary, painter);
    }
    text += &types(summary, painter);
    text += &parts("<OWNER", &summary.owners, painter);
    if summary.groups.len() > 1 {
        text += &parts("<JOBS", &summary.groups, painter);
    }
    text += &hooks(summary, painter);
    text += &never(summary);
    text += &warnings(summary);
    text
}

fn head(summary: &Summary) -> String {
    let Civil { year, month, day, hour, minute, .. } =
        Civil::at(summary.start, crate::classad::Zone::local(summary.start).offset.into());
    let plural =
        |count: u64, one: &str| format!("{} {one}{}", thousands(count), if count == 1 { "" } else { "s" });
    let ended = summary.ended.as_ref().map_or_else(String::new, |why| format!("; it ended: {why}"));
    format!(
        "{} from {year}-{month:02}-{day:02} {hour:02}:{minute:02}: {}, {}, {} processors, seed {}{ended}\n",
        written(summary.length),
        plural(summary.machines, "machine"),
        plural(summary.slots, "slot"),
        summary.cpus.round(),
        summary.seed
    )
}

fn totals(summary: &Summary) -> String {
    let jobs = &summary.jobs;
    let lost: f64 = summary.badput.values().map(|lost| lost.cpu_seconds).sum();
    let whole = summary.cpus * summary.length;
    let mut text = format!(
        "utilisation {}, goodput {}, badput {}\n",
        percent(summary.utilisation),
        percent(summary.goodput),
        percent(if whole > 0.0 { lost / whole } else { 0.0 })
    );
    text += &format!(
        "jobs: {} came, {} completed ({} failed), {} running, {} waiting, {} never ran\n",
        thousands(jobs.arrived),
        thousands(jobs.completed),
        thousands(jobs.failed),
        thousands(jobs.running),
        thousands(jobs.waiting),
        thousands(jobs.never_run)
    );
    text += &format!(
        "      {} starts, {} preempted, {} suspended, {} held, {} dropped\n",
        thousands(jobs.starts),
        thousands(jobs.preempted),
        thousands(jobs.suspended),
        thousands(jobs.held),
        thousands(jobs.dropped)
    );
    text += &waits(summary);
    text
}

/// The waits of jobs that have started, and how long the others have waited so far.
fn waits(summary: &Summary) -> String {
    let Summary { waits, jobs, longest_unstarted, .. } = summary;
    let unstarted = written(*longest_unstarted);
    match (waits.count, jobs.never_run) {
        (0, 0) => String::new(),
        (0, _) => format!("waits: no job has started; the longest has waited for {unstarted}\n"),
        (started, never) => {
            let more = match never {
                0 => String::new(),
                never => format!("; {} not started, the longest for {unstarted}", thousands(never)),
            };
            format!(
                "waits of the {} started: mean {}, median {}, 95 of 100 up to {}, longest {}{more}\n",
                thousands(started),
                written(waits.mean),
                written(waits.median),
                written(waits.of_95_in_100),
                written(waits.longest)
            )
        }
    }
}

fn causes(summary: &Summary, painter: Painter) -> String {
    let mut causes: Vec<_> = summary.badput.iter().collect();
    causes.sort_by(|a, b| b.1.cpu_seconds.total_cmp(&a.1.cpu_seconds));
    let left = causes.len().saturating_sub(SHOWN);
    let columns = ["<BADPUT BY CAUSE", ">TIMES", ">PROCESSOR TIME"];
    let rows = causes
        .into_iter()
        .take(SHOWN)
        .map(|(cause, lost)| [short(cause), thousands(lost.count), written(lost.cpu_seconds)]);
    format!("\n{}{}", table(&columns, rows, painter), more(left, "causes"))
}

/// Columns of the table of slot types, with what the states of each begin with; the first that fits counts.
const STATES: [(&str, &str); 10] = [
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

fn types(summary: &Summary, painter: Painter) -> String {
    let tenths: Vec<[u64; STATES.len()]> = summary.slot_types.iter().map(tenths_of_time).collect();
    // No slot of most scenarios is ever in another state.
    let shown: Vec<usize> = (0..STATES.len())
        .filter(|at| !STATES[*at].1.is_empty() || tenths.iter().any(|row| row[*at] > 0))
        .collect();
    let columns: Vec<&str> =
        ["<SLOT TYPE", ">SLOTS"].into_iter().chain(shown.iter().map(|at| STATES[*at].0)).collect();
    let row = |(it, tenths): (&TypeTold, &[u64; STATES.len()])| {
        let mut row = vec![short(&it.name), thousands(it.slots)];
        let part = |at: &usize| match it.seconds > 0.0 {
            true => format!("{}.{} %", tenths[*at] / 10, tenths[*at] % 10),
            false => "-".to_owned(),
        };
        row.extend(shown.iter().map(part));
        row
    };
    let left = summary.slot_types.len().saturating_sub(SHOWN);
    let rows = summary.slot_types.iter().zip(&tenths).take(SHOWN).map(row);
    format!("\n{}{}", table(&columns, rows, painter), more(left, "types"))
}

/// The time in the states of each column in tenths of a per cent; those with the largest remainders are rounded up, so that the sum is 1000.
fn tenths_of_time(it: &TypeTold) -> [u64; STATES.len()] {
    let mut exact = [0.0; STATES.len()];
    for (state, seconds) in &it.states {
        let column = STATES.iter().position(|(_, begin)| state.starts_with(begin));
        exact[column.unwrap_or(STATES.len() - 1)] += seconds / it.seconds.max(f64::MIN_POSITIVE) * 1000.0;
    }
    let mut tenths = exact.map(|part| part as u64);
    let mut order: Vec<usize> = (0..STATES.len()).collect();
    let rank = |at: usize| (exact[at].fract(), exact[at]);
    order.sort_by(|a, b| rank(*b).partial_cmp(&rank(*a)).unwrap_or(std::cmp::Ordering::Equal));
    let left = 1000u64.saturating_sub(tenths.iter().sum()) as usize;
    order.iter().take(left).for_each(|at| tenths[*at] += 1);
    tenths
}

fn parts(what: &str, parts: &[PartTold], painter: Painter) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let columns = [
        what,
        ">CAME",
        ">COMPLETED",
        ">PREEMPTED",
        ">SUSPENDED",
        ">HELD",
        ">NEVER RAN",
        ">WAITED",
        ">GOODPUT",
        ">BADPUT",
    ];
    let row = |it: &PartTold| {
        let name = if it.name.is_empty() { "(none)" } else { &it.name };
        vec![
            short(name),
            thousands(it.jobs.arrived),
            thousands(it.jobs.completed),
            thousands(it.jobs.preempted),
            thousands(it.jobs.suspended),
            thousands(it.jobs.held),
            thousands(it.jobs.never_run),
            written(it.waits.median),
            written(it.goodput),
            written(it.badput),
        ]
    };
    let left = parts.len().saturating_sub(SHOWN);
    format!("\n{}{}", table(&columns, parts.iter().take(SHOWN).map(row), painter), more(left, "more"))
}

fn hooks(summary: &Summary, painter: Painter) -> String {
    let columns = ["<HOOK", ">CALLS", ">ACCEPTED", ">REFUSED", ">NO WORK", ">BAD ANSWER", ">FAILED"];
    let rows = summary.hooks.iter().map(|it| {
        let of_fetch = |count: u64| if it.hook == "FETCH_WORK" { thousands(count) } else { "-".to_owned() };
        vec![
            it.hook.clone(),
            thousands(it.calls),
            of_fetch(it.accepted),
            of_fetch(it.rejected),
            of_fetch(it.nothing),
            of_fetch(it.bad),
            thousands(it.failed),
        ]
    });
    format!("\n{}", table(&columns, rows, painter))
}

fn never(summary: &Summary) -> String {
    // Kinds of jobs that differ in sizes alone mostly have one reason.
    let mut told: Vec<(String, u64)> = Vec::new();
    for NeverRun { jobs, owner, count, why, .. } in &summary.never_run {
        let of = if owner.is_empty() { String::new() } else { format!(" of {owner}") };
        let why = why.first().map_or("no slot was offered one", String::as_str);
        let line = format!("{}{}: {}", short(jobs), short(&of), cut(why, 400));
        match told.iter_mut().find(|(known, _)| *known == line) {
            Some((_, sum)) => *sum += count,
            None => told.push((line, *count)),
        }
    }
    let left = told.len().saturating_sub(SHOWN);
    let line = |(line, count): &(String, u64)| format!("never ran: {} of {line}\n", thousands(*count));
    let text: String = told.iter().take(SHOWN).map(line).collect();
    if text.is_empty() { text } else { format!("\n{text}{}", more(left, "kinds that never ran")) }
}

fn warnings(summary: &Summary) -> String {
    let mut text = String::new();
    for (warning, count) in summary.warnings.iter().take(3) {
        let times = if *count == 1 { String::new() } else { format!(" ({} times)", thousands(*count)) };
        text += &format!("note: {}{times}\n", cut(warning, 200));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

pub(super) fn more(left: usize, what: &str) -> String {
    if left == 0 { String::new() } else { format!("({left} {what} not shown; --json has them)\n") }
}

fn percent(part: f64) -> String {
    // No minus in front of nothing.
    format!("{:.1} %", part * 100.0 + 0.0)
}

/// A name that fits a column.
fn short(name: &str) -> String {
    cut(name, 48)
}

pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => printable(&text[..at]) + "...",
        None => printable(text),
    }
}
