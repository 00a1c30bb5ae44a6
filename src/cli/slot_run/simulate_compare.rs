//! `simulate --compare`: the same workload with two configurations.

use std::io::Write;

use anyhow::Context;
use serde::Serialize;

use super::options::Cli;
use super::simulate::{Keep, Ready, play_through};
use crate::cli::common::{Column, Painter, Status, pipe_ends, table};
use crate::runner::simulate::times::written;
use crate::runner::simulate::{Fate, Play, Played, Summary};

/// Both summaries, and where the first job fared differently.
#[derive(Serialize)]
struct Compared<'a> {
    before: &'a Summary,
    after: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_difference: Option<Difference>,
}

#[derive(Serialize)]
struct Difference {
    job: String,
    before: Option<String>,
    after: Option<String>,
}

/// Exit status 1: something is different.
pub(super) fn compare(cli: &Cli, (before, after): (&Ready, &Ready), play: Play) -> anyhow::Result<Status> {
    let keep = Keep { timeline: false, fates: true };
    let one = play_through(cli, before, (play, keep), None)?;
    let other = play_through(cli, after, (play, keep), None)?;
    let difference = first_difference(&one.fates, &other.fates);
    let differs = difference.is_some() || one.summary.slot_types.len() != other.summary.slot_types.len();
    let compared = Compared { before: &one.summary, after: &other.summary, first_difference: difference };
    let (_, mut output) = pipe_ends();
    let text = match cli.output.rows(std::slice::from_ref(&compared))? {
        Some(text) => text,
        None => {
            readable((&one, &other), compared.first_difference.as_ref(), Painter::stdout(cli.output.color))
        }
    };
    output.write_all(text.as_bytes()).context("standard output")?;
    output.flush().context("standard output")?;
    Ok(if differs { Status::No } else { Status::Done })
}

/// What a line of the table says.
type Measure = (&'static str, fn(&Summary) -> f64, fn(f64) -> String);

const MEASURES: [Measure; 14] = [
    ("utilisation", |it| it.utilisation, percent),
    ("goodput", |it| it.goodput, percent),
    ("badput, processor time", |it| it.badput.values().map(|lost| lost.cpu_seconds).sum(), written),
    ("jobs completed", |it| it.jobs.completed as f64, count),
    ("jobs failed", |it| it.jobs.failed as f64, count),
    ("starts", |it| it.jobs.starts as f64, count),
    ("preemptions", |it| it.jobs.preempted as f64, count),
    ("suspensions", |it| it.jobs.suspended as f64, count),
    ("held", |it| it.jobs.held as f64, count),
    ("waiting at the end", |it| it.jobs.waiting as f64, count),
    ("never ran", |it| it.jobs.never_run as f64, count),
    ("refusals", |it| it.hooks.iter().map(|hook| hook.rejected as f64).sum(), count),
    ("median wait", |it| it.waits.median, written),
    ("longest wait", |it| it.waits.longest, written),
];

fn readable((one, other): (&Played, &Played), difference: Option<&Difference>, painter: Painter) -> String {
    let columns =
        [Column::left(""), Column::right("BEFORE"), Column::right("AFTER"), Column::right("CHANGE")];
    let rows = MEASURES.iter().map(|(name, of, form)| {
        let (before, after) = (of(&one.summary), of(&other.summary));
        let change = after - before;
        let sign = if change < 0.0 { "-" } else { "+" };
        let change =
            if change.abs() < 1e-9 { "same".to_owned() } else { format!("{sign}{}", form(change.abs())) };
        [(*name).to_owned(), form(before), form(after), change]
    });
    let mut text = table(&columns, rows, painter);
    let mut owners: Vec<(&str, u64, u64)> = Vec::new();
    for owner in &one.summary.owners {
        let after = other.summary.owners.iter().find(|it| it.name == owner.name);
        owners.push((&owner.name, owner.jobs.completed, after.map_or(0, |it| it.jobs.completed)));
    }
    owners.retain(|(_, before, after)| before != after);
    for (name, before, after) in owners.iter().take(5) {
        let name = if name.is_empty() { "(none)" } else { name };
        text += &format!("owner {name}: {before} jobs completed before, {after} after\n");
    }
    match difference {
        None => text += "\nevery job fares the same\n",
        Some(Difference { job, before, after }) => {
            let told =
                |it: &Option<String>| it.clone().unwrap_or_else(|| "nothing more happens to it".into());
            text += &format!(
                "\nthe first job that fares differently is {job}:\n    before: {}\n    after:  {}\n",
                told(before),
                told(after)
            );
        }
    }
    text
}

/// The first thing that happens in one course and not in the other.
fn first_difference(one: &[Fate], other: &[Fate]) -> Option<Difference> {
    let at = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at))?;
    let (before, after) = (one.get(at), other.get(at));
    let first = match (before, after) {
        (Some(before), Some(after)) => {
            if before.at <= after.at {
                before
            } else {
                after
            }
        }
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => return None,
    };
    // What the same job meets in the other course from there on.
    let of = |fates: &[Fate]| {
        let next = fates.get(at..).unwrap_or_default().iter().find(|it| it.number == first.number);
        next.map(|it| format!("{} after the start it {}", written(it.at), it.what))
    };
    Some(Difference { job: first.job.clone(), before: of(one), after: of(other) })
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn count(count: f64) -> String {
    super::simulate_report::thousands(count as u64)
}
