//! `simulate --why`: what became of a job, or what decided about a slot at a time, in print.

use super::decided;
use super::options::Cli;
use super::simulate_ready::Course;
use crate::cli::common::{Problem, Status, print_out};
use crate::os::RealWorld;
use crate::simulate::times::{Moment, written};
use crate::simulate::{AtSlot, Changed, JobStory, SlotStory, Step};
use crate::slot::policy_knob;
use crate::text::one_line::printable;
use crate::text::similar::nearest;
use crate::world::World;

/// Answers it.
pub(super) fn why(cli: &Cli, course: &Course<'_>, what: &str) -> anyhow::Result<Status> {
    let is_job =
        what.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if is_job && what.split('.').count() <= 2 {
        return of_job(cli, course, what);
    }
    // A slot's own name may have an @.
    let Some((slot, time)) = what.rsplit_once('@').filter(|(slot, _)| !slot.is_empty()) else {
        return Err(Problem::usage(format!(
            "--why '{what}': expected a job such as 1.17, or SLOT@TIME such as slot1@2h"
        ))
        .into());
    };
    let time = Moment::parse(time).map_err(|error| Problem::usage(format!("--why '{what}': {error}")))?;
    of_slot(cli, course, (slot, time))
}

/// Exit status 1: no slot was offered it.
fn of_job(cli: &Cli, course: &Course<'_>, job: &str) -> anyhow::Result<Status> {
    let job = if job.contains('.') { job.to_owned() } else { format!("{job}.0") };
    let Some(story) = JobStory::of(course, &job)? else {
        let problem = Problem::usage(format!("--why: no job {job} comes in this scenario"));
        return Err(problem
            .hint("jobs are numbered GROUP.NUMBER, from 1.0, where their ads do not say")
            .into());
    };
    print_out(cli.output.rows(std::slice::from_ref(&story))?.unwrap_or_else(|| job_text(&story)))?;
    Ok(if story.was_offered() { Status::Done } else { Status::No })
}

fn job_text(story: &JobStory) -> String {
    let JobStory { job, happened, never_run } = story;
    let mut text = String::new();
    let mut told: Option<String> = None;
    for Step { at, what, decided } in happened {
        text += &format!("{:>12} job {job} {what}\n", format!("+{}", written(*at)));
        let why: String = decided.iter().map(|it| decided::lines(it, "                 ")).collect();
        // The same slot often says the same again.
        if told.as_ref() != Some(&why) {
            text += &why;
        }
        if !why.is_empty() {
            told = Some(why);
        }
    }
    if !story.was_offered() {
        text += "             no slot was ever offered it\n";
        for never in never_run {
            let why = never.why.first().map_or("no slot was offered one", String::as_str);
            text +=
                &format!("    {} of {} never ran: {}\n", never.count, printable(&never.jobs), printable(why));
        }
    }
    text
}

/// The seconds from the start of a scenario to a time in it.
fn since_start(course: &Course<'_>, time: Moment, world: &dyn World) -> Result<f64, Problem> {
    let start = course.ready.plan.start;
    let since = time.epoch(start, |epoch| i64::from(world.zone(epoch).offset)) - start as f64;
    let length = course.ready.scenario.length.0;
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
fn of_slot(cli: &Cli, course: &Course<'_>, (slot, time): (&str, Moment)) -> anyhow::Result<Status> {
    let since = since_start(course, time, &RealWorld::new())?;
    let story = match SlotStory::of(course, slot, since)? {
        AtSlot::Story(story) => story,
        AtSlot::Nowhere(names) => return Err(no_slot(slot, &names).into()),
    };
    print_out(cli.output.rows(std::slice::from_ref(&story))?.unwrap_or_else(|| slot_text(&story)))?;
    Ok(Status::Done)
}

fn slot_text(story: &SlotStory) -> String {
    let SlotStory { slot, at, state, changes, policy } = story;
    let mut text = format!("{slot} at +{}: {state}\n", written(*at));
    for Changed { at, state, reason, decided } in changes {
        text += &format!("since +{}: {state}: {reason}\n", written(*at));
        if let Some(decided) = decided {
            text += &decided::lines(decided, "    ");
        }
    }
    text += &format!("at +{} policy says:\n", written(*at));
    for decided in policy {
        let is_cause =
            changes.iter().any(|change| policy_knob::of_reason(&change.reason) == Some(&decided.knob));
        text += &decided::lines(decided, if is_cause { "  * " } else { "    " });
    }
    text
}
