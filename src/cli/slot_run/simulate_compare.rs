//! `simulate --compare`: the same workload with two configurations.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::decided::{Decided, clean, of_fates};
use super::options::Cli;
use super::simulate_play::play_side_by_side;
use super::simulate_ready::{Ready, simulation};
use super::simulate_report::{cut, more};
use super::simulate_silence::explain_silence;
use crate::cli::common::{Painter, Status, print_out, table};
use crate::runner::simulate::summary::HookCounts;
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
    play_side_by_side(cli, &mut both, &mut |both| {
        search.go_on(both);
        true
    })?;
    let [mut one, mut other] = both.map(Simulation::finish);
    explain_silence(before, &mut one);
    explain_silence(after, &mut other);
    let difference = search.difference(play, (before, after))?;
    let differs = difference.is_some() || counted(&one.summary)? != counted(&other.summary)?;
    let compared = Compared { before: &one.summary, after: &other.summary, first_difference: difference };
    let text = || {
        let painter = Painter::stdout(cli.output.color);
        let text = readable((&one, &other), compared.first_difference.as_ref(), painter);
        heading(&cli.config.name(), file) + &text
    };
    print_out(cli.output.rows(std::slice::from_ref(&compared))?.unwrap_or_else(text))?;
    Ok(if differs { Status::No } else { Status::Done })
}

/// All that was counted; why jobs have not run may be told in other words.
fn counted(summary: &Summary) -> anyhow::Result<serde_json::Value> {
    let mut all = serde_json::to_value(summary)?;
    if let Some(all) = all.as_object_mut() {
        ["warnings", "never_run"].into_iter().for_each(|key| drop(all.remove(key)));
    }
    Ok(all)
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
    let columns = ["<", ">BEFORE", ">AFTER", ">CHANGE"];
    let measured = MEASURES
        .iter()
        .map(|(name, of, form)| row((*name).to_owned(), (of(&one.summary), of(&other.summary)), *form));
    // Of these there are many: only what changes is shown.
    let mut others = states(&one.summary, &other.summary);
    others.extend(hooks(&one.summary, &other.summary));
    others.retain(|row| row[3] != SAME);
    let mut text = table(&columns, measured.chain(others), painter);
    let mut owners: Vec<(&str, u64, u64)> = Vec::new();
    for owner in &one.summary.owners {
        let after = other.summary.owners.iter().find(|it| it.name == owner.name);
        owners.push((&owner.name, owner.jobs.completed, after.map_or(0, |it| it.jobs.completed)));
    }
    owners.retain(|(_, before, after)| before != after);
    for (name, before, after) in owners.iter().take(5) {
        let name = if name.is_empty() { "(none)" } else { name };
        let name = cut(name, 48);
        text += &format!("owner {name}: {before} jobs completed before, {after} after\n");
    }
    text += &more(owners.len().saturating_sub(5), "owners");
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

/// What a row says where nothing changes.
const SAME: &str = "same";

fn row(name: String, (before, after): (f64, f64), form: fn(f64) -> String) -> [String; 4] {
    let change = after - before;
    let sign = if change < 0.0 { "-" } else { "+" };
    let change = if change.abs() < 1e-9 { SAME.to_owned() } else { format!("{sign}{}", form(change.abs())) };
    [name, form(before), form(after), change]
}

/// How long slots of each type were in each state.
fn states(one: &Summary, other: &Summary) -> Vec<[String; 4]> {
    let mut known: BTreeMap<(&str, &str), [f64; 2]> = BTreeMap::new();
    for (at, summary) in [one, other].into_iter().enumerate() {
        for slots in &summary.slot_types {
            for (state, seconds) in &slots.states {
                known.entry((&slots.name, state)).or_default()[at] += seconds;
            }
        }
    }
    let told = |((slots, state), [before, after]): ((&str, &str), [f64; 2])| {
        row(format!("{}, {state}", cut(slots, 40)), (before, after), written)
    };
    known.into_iter().map(told).collect()
}

/// What hooks were called for.
fn hooks(one: &Summary, other: &Summary) -> Vec<[String; 4]> {
    type Count = (&'static str, fn(&HookCounts) -> u64);
    const COUNTS: [Count; 5] = [
        ("calls", |it| it.calls),
        ("accepted", |it| it.accepted),
        ("no work", |it| it.nothing),
        ("bad answers", |it| it.bad),
        ("failed", |it| it.failed),
    ];
    let mut rows = Vec::new();
    for (before, after) in one.hooks.iter().zip(&other.hooks) {
        for (what, of) in COUNTS {
            let counts = (of(before) as f64, of(after) as f64);
            rows.push(row(format!("{}, {what}", before.hook), counts, count));
        }
    }
    rows
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
