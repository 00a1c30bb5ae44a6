//! `simulate --why`: what became of a job, or what decided about a slot at a time.

use std::cell::RefCell;

use serde::Serialize;

use super::decided::{Asking, Decided, clean, decided, knob, knob_of, of_fates, place};
use super::options::Cli;
use super::simulate_ready::{Ready, simulation};
use super::simulate_silence::explain_silence;
use crate::cli::common::{Problem, Status, print_out};
use crate::os::RealWorld;
use crate::runner::events::{Event as StreamEvent, Kind};
use crate::runner::simulate::summary::NeverRun;
use crate::runner::simulate::times::{Moment, written};
use crate::runner::simulate::{Place, Play, Seen, Whose};
use crate::slot::Asked;
use crate::text::similar::nearest;
use crate::world::World;

/// Answers it.
pub(super) fn why(cli: &Cli, ready: &Ready, play: Play, what: &str) -> anyhow::Result<Status> {
    let is_job =
        what.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if is_job && what.split('.').count() <= 2 {
        return of_job(cli, ready, play, what);
    }
    // A slot's own name may have an @.
    let Some((slot, time)) = what.rsplit_once('@').filter(|(slot, _)| !slot.is_empty()) else {
        return Err(Problem::usage(format!(
            "--why '{what}': expected a job such as 1.17, or SLOT@TIME such as slot1@2h"
        ))
        .into());
    };
    let time = Moment::parse(time).map_err(|error| Problem::usage(format!("--why '{what}': {error}")))?;
    of_slot(cli, ready, play, (slot, time))
}

/// The story of a job.
#[derive(Serialize)]
struct JobStory {
    job: String,
    happened: Vec<Step>,
    /// What is said of jobs that never ran, where no slot was offered this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    never_run: Vec<NeverRun>,
}

#[derive(Serialize)]
struct Step {
    /// Seconds since the start.
    at: f64,
    what: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decided: Vec<Decided>,
}

/// Exit status 1: no slot was offered it.
fn of_job(cli: &Cli, ready: &Ready, play: Play, job: &str) -> anyhow::Result<Status> {
    let job = if job.contains('.') { job.to_owned() } else { format!("{job}.0") };
    let mut simulation = simulation(ready, play)?;
    simulation.remember(Whose::Named(job.clone()));
    simulation.run();
    let fates = simulation.take_fates();
    let kind = simulation.kind_of_waiting(&job);
    let mut played = simulation.finish();
    explain_silence(ready, &mut played);
    if fates.is_empty() {
        let problem = Problem::usage(format!("--why: no job {job} comes in this scenario"));
        return Err(problem
            .hint("jobs are numbered GROUP.NUMBER, from 1.0, where their ads do not say")
            .into());
    }
    let decided = of_fates(ready, play, &fates)?;
    let was_offered = fates.len() > 1;
    let happened = fates.into_iter().zip(decided);
    let happened = happened.map(|(fate, decided)| Step { at: fate.at, what: clean(&fate.what), decided });
    let mut never_run = if was_offered { Vec::new() } else { played.summary.never_run };
    never_run.retain(|never| Some(never.kind) == kind);
    let story = JobStory { job, happened: happened.collect(), never_run };
    print_out(cli.output.rows(std::slice::from_ref(&story))?.unwrap_or_else(|| job_text(&story)))?;
    Ok(if was_offered { Status::Done } else { Status::No })
}

fn job_text(story: &JobStory) -> String {
    let JobStory { job, happened, never_run } = story;
    let mut text = String::new();
    let mut told: Option<String> = None;
    for Step { at, what, decided } in happened {
        text += &format!("{:>12} job {job} {what}\n", format!("+{}", written(*at)));
        let why: String = decided.iter().map(|decided| decided.lines("                 ")).collect();
        // The same slot often says the same again.
        if told.as_ref() != Some(&why) {
            text += &why;
        }
        if !why.is_empty() {
            told = Some(why);
        }
    }
    if happened.len() == 1 {
        text += "             no slot was ever offered it\n";
        for never in never_run {
            let why = never.why.first().map_or("no slot was offered one", String::as_str);
            text += &format!("    {} of {} never ran: {}\n", never.count, clean(&never.jobs), clean(why));
        }
    }
    text
}

/// The story of a slot.
#[derive(Serialize)]
struct SlotStory {
    slot: String,
    /// Seconds since the start.
    at: f64,
    state: String,
    /// The last changes before, all of one moment.
    changes: Vec<Changed>,
    /// What all expressions say at that time.
    policy: Vec<Decided>,
}

#[derive(Serialize)]
struct Changed {
    /// Seconds since the start.
    at: f64,
    state: String,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided: Option<Decided>,
}

/// The seconds from the start of a scenario to a time in it.
fn since_start(ready: &Ready, time: Moment, world: &dyn World) -> Result<f64, Problem> {
    let start = ready.plan.start;
    let since = time.epoch(start, |epoch| i64::from(world.zone(epoch).offset)) - start as f64;
    let length = ready.scenario.length.0;
    if (0.0..=length).contains(&since) {
        return Ok(since);
    }
    let when = match since < 0.0 {
        true => "before its start".to_owned(),
        false => format!("{} after its start", written(since)),
    };
    let length = written(length);
    Err(Problem::usage(format!("--why: the scenario lasts {length}, and this is {when}")))
}

/// That there is no such slot, and those that may have been meant.
fn no_slot(slot: &str, names: &[String]) -> Problem {
    let problem = Problem::usage(format!("--why: there is no slot '{slot}' at that time"));
    if let Some(near) = nearest(slot.to_ascii_lowercase(), names.iter().map(String::as_str)) {
        return problem.hint(format!("did you mean {near}?"));
    }
    let some = names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    let left = names.len().saturating_sub(8);
    let more = if left == 0 { String::new() } else { format!(" and {left} more") };
    problem.hint(format!("there are {some}{more}"))
}

/// The last change of a slot before a time, and what every expression says at that time.
fn of_slot(cli: &Cli, ready: &Ready, play: Play, (slot, time): (&str, Moment)) -> anyhow::Result<Status> {
    let real = RealWorld::new();
    let since = since_start(ready, time, &real)?;
    let last: RefCell<Vec<(f64, u64, StreamEvent)>> = RefCell::default();
    let silent = simulation(ready, play)?;
    let turn = silent.turn();
    let mut tell = |at: f64, event: &StreamEvent| {
        let same = event.slot.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(slot));
        if same && event.kind == Kind::State {
            let mut last = last.borrow_mut();
            last.retain(|(before, ..)| *before == at);
            last.push((at, turn.get(), event.clone()));
        }
    };
    let mut simulation = silent.telling(&mut tell);
    simulation.begin();
    simulation.advance((since * 1e6) as u64, true);
    let names = simulation.slot_names();
    let Some(Seen { machine, key, config }) = simulation.look_at_slot(slot) else {
        return Err(no_slot(slot, &names).into());
    };
    let of = Place { slot: slot.to_owned(), slot_type: machine.type_id(key).unwrap_or(0), config };
    let present = machine.slots().find(|(it, ..)| *it == key);
    let state = present.map_or_else(String::new, |(_, _, state, activity)| format!("{state}/{activity}"));
    let told = |asked: Asked| {
        let knob = knob(&asked.name).to_owned();
        let place = place(ready, &of, &knob, &real);
        let Asked { text, value, because, parts, .. } = asked;
        Decided { knob, expression: text, value, because, place, seen: parts }
    };
    let policy = machine.policy(key).into_iter().map(told).collect();
    drop(simulation);
    let last = last.into_inner();
    let asking: Vec<Asking> = last
        .iter()
        .map(|(_, turn, event)| Asking {
            turn: *turn,
            place: of.clone(),
            reason: event.reason.clone().unwrap_or_default(),
        })
        .collect();
    let decided = decided(ready, play, &asking, true)?;
    let changes = last.into_iter().zip(decided).map(|((at, _, event), decided)| {
        let state = event.state.zip(event.activity).map(|(state, activity)| format!("{state}/{activity}"));
        let reason = clean(&event.reason.unwrap_or_default());
        Changed { at, state: state.unwrap_or_default(), reason, decided }
    });
    let story = SlotStory { slot: slot.to_owned(), at: since, state, changes: changes.collect(), policy };
    print_out(cli.output.rows(std::slice::from_ref(&story))?.unwrap_or_else(|| slot_text(&story)))?;
    Ok(Status::Done)
}

fn slot_text(story: &SlotStory) -> String {
    let SlotStory { slot, at, state, changes, policy } = story;
    let mut text = format!("{slot} at +{}: {state}\n", written(*at));
    for Changed { at, state, reason, decided } in changes {
        text += &format!("since +{}: {state}: {reason}\n", written(*at));
        if let Some(decided) = decided {
            text += &decided.lines("    ");
        }
    }
    text += &format!("at +{} policy says:\n", written(*at));
    for decided in policy {
        let is_cause = changes.iter().any(|change| knob_of(&change.reason) == Some(&decided.knob));
        text += &decided.lines(if is_cause { "  * " } else { "    " });
    }
    text
}
