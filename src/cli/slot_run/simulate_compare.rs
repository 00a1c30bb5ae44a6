//! `simulate --compare`: the same workload with two configurations.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

use super::decided::{Decided, clean, of_fates};
use super::options::Cli;
use super::simulate::{Ready, play_side_by_side, simulation};
use crate::cli::common::{Column, Painter, Status, pipe_ends, table};
use crate::runner::simulate::times::written;
use crate::runner::simulate::{Fate, Play, Played, Simulation, Summary, Whose};

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
    before: Option<Fared>,
    after: Option<Fared>,
}

/// What happens to the job next, and what decided it.
#[derive(Serialize)]
struct Fared {
    /// Seconds since the start.
    at: f64,
    what: String,
    decided: Vec<Decided>,
}

/// Which configuration is which, for readers of what follows.
pub(super) fn heading(before: &str, after: &Path) -> String {
    format!("before: {before}\nafter:  {}\n\n", after.display())
}

/// Plays both; `file` is the one that is compared with. Exit status 1: something is different.
pub(super) fn compare(
    cli: &Cli,
    (before, after): (&Ready, &Ready),
    file: &Path,
    play: Play,
) -> anyhow::Result<Status> {
    let mut both = [simulation(before, play)?, simulation(after, play)?];
    both.iter_mut().for_each(|simulation| simulation.remember(Whose::All));
    let mut search = Search::default();
    play_side_by_side(cli, &mut both, &mut |both| search.go_on(both))?;
    let [one, other] = both.map(Simulation::finish);
    let difference = search.difference(play, (before, after))?;
    let differs = difference.is_some() || one.summary.slot_types.len() != other.summary.slot_types.len();
    let compared = Compared { before: &one.summary, after: &other.summary, first_difference: difference };
    let (_, mut output) = pipe_ends();
    let text = match cli.output.rows(std::slice::from_ref(&compared))? {
        Some(text) => text,
        None => {
            let painter = Painter::stdout(cli.output.color);
            let text = readable((&one, &other), compared.first_difference.as_ref(), painter);
            heading(&cli.config.name(), file) + &text
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
            text += &format!("\nthe first job that fares differently is {job}:\n");
            for (when, fared) in [("before:", before), ("after: ", after)] {
                match fared {
                    None => text += &format!("    {when} nothing more happens to it\n"),
                    Some(Fared { at, what, decided }) => {
                        text += &format!("    {when} {} after the start it {what}\n", written(*at));
                        text.extend(decided.iter().map(|decided| decided.lines("                ")));
                    }
                }
            }
        }
    }
    text
}

/// Looks for the first thing that happens in one course and not in the other, while both are played; what has happened alike is
/// forgotten.
#[derive(Default)]
struct Search {
    courses: [Vec<Fate>; 2],
    /// The job.
    found: Option<(u32, String)>,
}

impl Search {
    /// Both have been played up to the same time.
    fn go_on(&mut self, both: &mut [Simulation<'_>]) {
        for (course, simulation) in self.courses.iter_mut().zip(&mut *both) {
            course.append(&mut simulation.take_fates());
        }
        let [one, other] = &mut self.courses;
        if self.found.is_none() {
            let same = one.iter().zip(&*other).take_while(|(one, other)| one.is_as(other)).count();
            one.drain(..same);
            other.drain(..same);
            let first = match (one.first(), other.first()) {
                (Some(one), Some(other)) if other.at < one.at => Some(other),
                (Some(one), _) => Some(one),
                (None, other) => other,
            };
            self.found = first.map(|fate| (fate.number, fate.job.clone()));
        }
        if let Some((number, _)) = self.found {
            // From here on what the same job meets.
            for (course, simulation) in self.courses.iter_mut().zip(both) {
                course.retain(|fate| fate.number == number);
                course.truncate(1);
                if course.is_empty() {
                    simulation.remember(Whose::Number(number))
                } else {
                    simulation.forget()
                }
            }
        }
    }

    fn difference(self, play: Play, (before, after): (&Ready, &Ready)) -> anyhow::Result<Option<Difference>> {
        let Some((_, job)) = self.found else { return Ok(None) };
        let [one, other] = self.courses;
        let fared = |ready: &Ready, fates: Vec<Fate>| -> anyhow::Result<Option<Fared>> {
            let decided = of_fates(ready, play, &fates)?;
            let first = fates.into_iter().zip(decided).next();
            Ok(first.map(|(fate, decided)| Fared { at: fate.at, what: clean(&fate.what), decided }))
        };
        Ok(Some(Difference { job, before: fared(before, one)?, after: fared(after, other)? }))
    }
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn count(count: f64) -> String {
    super::simulate_report::thousands(count as u64)
}
