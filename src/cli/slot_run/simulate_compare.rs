//! `simulate --compare`: simulates the same workload with two configurations.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::decision_text;
use super::options::SlotRunCli;
use super::simulate_progress::run_side_by_side;
use super::simulate_report::{cut_text, not_shown_text};
use super::simulate_setup::SimulationRun;
use crate::cli::common::{Painter, Status, render_table, write_to_stdout};
use crate::simulate::summary::HookCounts;
use crate::simulate::times::format_span;
use crate::simulate::{
    DivergenceFinder, JobDivergence, RunDifference, Simulation, SimulationResult, SimulationSource, Summary,
};
use crate::text::count::format_thousands;

/// Result of the comparison in JSON: both summaries, and the first difference for a job.
#[derive(Serialize)]
struct ComparisonRecord<'a> {
    before: &'a Summary,
    after: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_difference: Option<RunDifference>,
}

/// Returns the heading of the table, with the names of both configurations.
pub(super) fn heading(before: &str, after: &Path) -> String {
    format!("before: {before}\nafter:  {}\n\n", after.display())
}

/// Simulates both configurations; `file` is the second one. The exit status is 1 if the results differ.
pub(super) fn compare_simulations(
    cli: &SlotRunCli,
    runs: &[SimulationRun<'_>; 2],
    file: &Path,
) -> anyhow::Result<Status> {
    let [before, after] = runs;
    let mut simulations = [before.begin()?, after.begin()?];
    let mut divergence = DivergenceFinder::start_recording(&mut simulations);
    run_side_by_side(cli, &mut simulations, &mut |simulations| {
        divergence.compare_new_events(simulations);
        true
    })?;
    let [mut before_result, mut after_result] = simulations.map(Simulation::finish);
    before_result.explain_unfetched_jobs(before.origins());
    after_result.explain_unfetched_jobs(after.origins());
    let difference = divergence.difference(before, after)?;
    let differs = difference.is_some() || !before_result.summary.has_same_counts(&after_result.summary);
    let compared = ComparisonRecord {
        before: &before_result.summary,
        after: &after_result.summary,
        first_difference: difference,
    };
    let text = || {
        let painter = Painter::stdout(cli.output.color);
        let text =
            render_comparison(&before_result, &after_result, compared.first_difference.as_ref(), painter);
        heading(&cli.config.display_name(), file) + &text
    };
    write_to_stdout(cli.output.render_json(std::slice::from_ref(&compared))?.unwrap_or_else(text))?;
    Ok(if differs { Status::No } else { Status::Done })
}

/// Row of the table: its name, a function that returns its value from a summary (`None` if the summary has no value),
/// and a function that formats the value.
type Measure = (&'static str, fn(&Summary) -> Option<f64>, fn(f64) -> String);

const MEASURES: [Measure; 15] = [
    ("utilisation", |it| Some(it.utilisation), percent),
    ("goodput", |it| Some(it.goodput), percent),
    ("badput, processor time", |it| Some(it.badput.values().map(|lost| lost.cpu_seconds).sum()), format_span),
    ("jobs completed", |it| Some(it.jobs.completed as f64), count),
    ("jobs failed", |it| Some(it.jobs.failed as f64), count),
    ("starts", |it| Some(it.jobs.starts as f64), count),
    ("preemptions", |it| Some(it.jobs.preempted as f64), count),
    ("suspensions", |it| Some(it.jobs.suspended as f64), count),
    ("held", |it| Some(it.jobs.held as f64), count),
    ("waiting at the end", |it| Some(it.jobs.waiting as f64), count),
    ("never ran", |it| Some(it.jobs.never_run as f64), count),
    ("refusals", |it| Some(it.hooks.iter().map(|hook| hook.rejected as f64).sum()), count),
    ("median wait", |it| it.waits.median, format_span),
    ("longest wait", |it| it.waits.longest, format_span),
    ("longest wait, never ran", |it| (it.jobs.never_run > 0).then_some(it.longest_unstarted), format_span),
];

fn render_comparison(
    one: &SimulationResult,
    other: &SimulationResult,
    difference: Option<&RunDifference>,
    painter: Painter,
) -> String {
    let columns = ["<", ">BEFORE", ">AFTER", ">CHANGE"];
    let measured = MEASURES.iter().map(|(name, value, form)| {
        comparison_row((*name).to_owned(), value(&one.summary), value(&other.summary), *form)
    });
    // Of these rows, only those that differ are shown, because there are many.
    let mut others = slot_state_rows(&one.summary, &other.summary);
    others.extend(hook_rows(&one.summary, &other.summary));
    others.retain(|row| row[3] != UNCHANGED);
    let owners = owner_rows(&one.summary, &other.summary);
    let hidden = owners.len().saturating_sub(MAX_OWNERS);
    others.extend(owners.into_iter().take(MAX_OWNERS).flatten());
    let mut text = render_table(&columns, measured.chain(others), painter);
    text += &not_shown_text(hidden, "owners");
    match difference {
        None => text += "\nevery job has the same result\n",
        Some(RunDifference { job, before, after }) => {
            let is_same_event = |(one, other): (&JobDivergence, &JobDivergence)| one.what == other.what;
            let what = match before.as_ref().zip(after.as_ref()).is_some_and(is_same_event) {
                true => "that is treated differently",
                false => "with a different result",
            };
            text += &format!("\nthe first job {what} is {job}:\n");
            for (when, divergence) in [("before:", before), ("after: ", after)] {
                match divergence {
                    None => text += &format!("    {when} nothing more happens to it\n"),
                    Some(JobDivergence { at, what, decided }) => {
                        text += &format!("    {when} at +{} it {what}\n", format_span(*at));
                        text.extend(
                            decided.iter().map(|it| decision_text::indented_lines(it, "                ")),
                        );
                    }
                }
            }
        }
    }
    text
}

/// Text in the last column for a row without a difference.
const UNCHANGED: &str = "same";

/// Text for a value that a run does not have, such as the median wait if no job has started.
const NO_VALUE: &str = "-";

fn comparison_row(
    name: String,
    before: Option<f64>,
    after: Option<f64>,
    form: fn(f64) -> String,
) -> [String; 4] {
    let change = match (before, after) {
        (None, None) => UNCHANGED.to_owned(),
        (Some(before), Some(after)) if (after - before).abs() < 1e-9 => UNCHANGED.to_owned(),
        (Some(before), Some(after)) => {
            let sign = if after < before { "-" } else { "+" };
            format!("{sign}{}", form((after - before).abs()))
        }
        _ => NO_VALUE.to_owned(),
    };
    let text = |value: Option<f64>| value.map_or_else(|| NO_VALUE.to_owned(), form);
    [name, text(before), text(after), change]
}

/// Maximum number of owners that the table shows.
const MAX_OWNERS: usize = 5;

/// Returns, for each owner with different results, the rows of jobs and waits that differ.
fn owner_rows(one: &Summary, other: &Summary) -> Vec<Vec<[String; 4]>> {
    let mut owners = Vec::new();
    for owner in &one.owners {
        let Some(after) = other.owners.iter().find(|it| it.name == owner.name) else { continue };
        let name = if owner.name.is_empty() { "(none)" } else { &owner.name };
        let row = |what: &str, before: Option<f64>, after: Option<f64>, form: fn(f64) -> String| {
            comparison_row(format!("owner {}, {what}", cut_text(name, 40)), before, after, form)
        };
        let number = |number: u64| Some(number as f64);
        let mut rows = vec![
            row("jobs completed", number(owner.jobs.completed), number(after.jobs.completed), count),
            row("never ran", number(owner.jobs.never_run), number(after.jobs.never_run), count),
            row("median wait", owner.waits.median, after.waits.median, format_span),
        ];
        rows.retain(|row| row[3] != UNCHANGED);
        owners.extend((!rows.is_empty()).then_some(rows));
    }
    owners
}

/// Returns rows with the time that slots of each type spent in each state.
fn slot_state_rows(one: &Summary, other: &Summary) -> Vec<[String; 4]> {
    let mut known: BTreeMap<(&str, &str), [f64; 2]> = BTreeMap::new();
    for (at, summary) in [one, other].into_iter().enumerate() {
        for slots in &summary.slot_types {
            for (state, seconds) in &slots.states {
                known.entry((&slots.name, state)).or_default()[at] += seconds;
            }
        }
    }
    let to_row = |((slots, state), [before, after]): ((&str, &str), [f64; 2])| {
        comparison_row(format!("{}, {state}", cut_text(slots, 40)), Some(before), Some(after), format_span)
    };
    known.into_iter().map(to_row).collect()
}

/// Returns rows with the number of calls of each hook.
fn hook_rows(one: &Summary, other: &Summary) -> Vec<[String; 4]> {
    type HookMeasure = (&'static str, fn(&HookCounts) -> u64);
    const HOOK_MEASURES: [HookMeasure; 5] = [
        ("calls", |it| it.calls),
        ("accepted", |it| it.accepted),
        ("no work", |it| it.nothing),
        ("bad answers", |it| it.bad),
        ("failed", |it| it.failed),
    ];
    let mut rows = Vec::new();
    for (before, after) in one.hooks.iter().zip(&other.hooks) {
        for (what, value) in HOOK_MEASURES {
            let counts = (value(before) as f64, value(after) as f64);
            rows.push(comparison_row(
                format!("{}, {what}", before.hook),
                Some(counts.0),
                Some(counts.1),
                count,
            ));
        }
    }
    rows
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn count(count: f64) -> String {
    format_thousands(count as u64)
}
