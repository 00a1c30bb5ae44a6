//! `simulate --why`: prints the history of a job, or the expressions that determined the state of a slot at a certain
//! time.

use super::decision_text;
use super::options::SlotRunCli;
use super::simulate_report::change_lines;
use super::simulate_setup::SimulationRun;
use crate::cli::common::{Problem, Status, write_to_stdout};
use crate::os::RealWorld;
use crate::simulate::times::{TimePoint, format_span};
use crate::simulate::{JobTrace, JobTraceEvent, SlotChange, SlotLookup, SlotTrace};
use crate::text::control_characters::mask_control_characters;
use crate::text::similar_names::nearest;
use crate::world::World;

/// Answers the question of `--why`.
pub(super) fn answer_why(cli: &SlotRunCli, run: &SimulationRun<'_>, what: &str) -> anyhow::Result<Status> {
    let is_job =
        what.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if is_job && what.split('.').count() <= 2 {
        return explain_job(cli, run, what);
    }
    // The name of a slot may contain `@`, so the last `@` separates the time.
    let Some((slot, time)) = what.rsplit_once('@').filter(|(slot, _)| !slot.is_empty()) else {
        return Err(Problem::usage(format!(
            "--why '{what}': expected a job such as 1.17, or SLOT@TIME such as slot1@2h"
        ))
        .into());
    };
    let point = TimePoint::parse(time).map_err(|error| Problem::usage(format!("--why '{what}': {error}")))?;
    explain_slot(cli, run, (slot, time), point)
}

/// Explains the history of a job. The exit status is 1 if the job was never offered a slot.
fn explain_job(cli: &SlotRunCli, run: &SimulationRun<'_>, job: &str) -> anyhow::Result<Status> {
    let job = if job.contains('.') { job.to_owned() } else { format!("{job}.0") };
    let Some(trace) = JobTrace::of_job(run, &job)? else {
        let problem = Problem::usage(format!("--why: this scenario has no job {job}"));
        return Err(problem
            .hint("jobs are numbered GROUP.NUMBER, from 1.0, unless their ads have ids")
            .into());
    };
    write_to_stdout(
        cli.output.render_json(std::slice::from_ref(&trace))?.unwrap_or_else(|| job_trace_text(&trace)),
    )?;
    Ok(if trace.was_offered() { Status::Done } else { Status::No })
}

/// Minimum time in seconds between the arrival of a job and its first offer to a slot that is reported.
const MIN_REPORTED_WAIT: f64 = 60.0;

/// Formats a time since the start to the minute.
fn format_offset(seconds: f64) -> String {
    const DAY: u64 = 86_400;
    let rounded = seconds.max(0.0).round() as u64;
    match rounded / DAY {
        0 => format!("+{}", format_span(seconds)),
        days => format!("+{days}d{:02}h{:02}m", rounded % DAY / 3600, rounded % 3600 / 60),
    }
}

fn job_trace_text(trace: &JobTrace) -> String {
    let JobTrace { job, happened, never_run } = trace;
    let mut text = String::new();
    let mut last_reason: Option<String> = None;
    for (number, JobTraceEvent { at, what, decided }) in happened.iter().enumerate() {
        // Each offer to a slot is an event, so no slot was offered the job between its arrival and the next event.
        if let (1, Some(arrival)) = (number, happened.first())
            && at - arrival.at >= MIN_REPORTED_WAIT
        {
            text +=
                &format!("             no slot was offered the job for {}\n", format_span(at - arrival.at));
        }
        text += &format!("{:>12} job {job} {what}\n", format_offset(*at));
        let why: String =
            decided.iter().map(|it| decision_text::indented_lines(it, "                 ")).collect();
        // A slot often repeats the same reason, which is printed once.
        if last_reason.as_ref() != Some(&why) {
            text += &why;
        }
        if !why.is_empty() {
            last_reason = Some(why);
        }
    }
    if !trace.was_offered() {
        text += "             no slot was ever offered this job\n";
        for never in never_run {
            let why = never.why.first().map_or("no slot was offered one", String::as_str);
            text += &format!(
                "    {} of {} never ran: {}\n",
                never.count,
                mask_control_characters(&never.jobs),
                mask_control_characters(why)
            );
            text += &never.explanation.as_ref().map(change_lines).unwrap_or_default();
        }
    }
    text
}

/// Parses a time, and returns it in seconds since the start of the scenario.
fn seconds_since_start(run: &SimulationRun<'_>, time: TimePoint, world: &dyn World) -> Result<f64, Problem> {
    let start = run.ready.plan.start;
    let seconds = time.to_epoch(start, |epoch| i64::from(world.zone(epoch).offset)) - start as f64;
    let length = run.ready.scenario.length.0;
    if (0.0..=length).contains(&seconds) {
        return Ok(seconds);
    }
    let when = match seconds < 0.0 {
        true => "before the start".to_owned(),
        false => format!("{} after the start", format_span(seconds)),
    };
    let length = format_span(length);
    Err(Problem::usage(format!("--why: the time is {when} of the scenario, which lasts {length}")))
}

/// Returns the error for an unknown slot, with similar names as a hint. `time` is the time as typed.
fn unknown_slot_problem(slot: &str, time: &str, names: &[String]) -> Problem {
    let problem = Problem::usage(format!("--why: there is no slot '{slot}' at that time"));
    if let Some(near) = nearest(slot.to_ascii_lowercase(), names.iter().map(String::as_str)) {
        return problem.hint(format!("did you mean {near}@{time}?"));
    }
    // If there are several machines, the name of a slot includes the name of its machine.
    if let Some(of_machine) = names.iter().find(|name| name.split('@').next() == Some(slot)) {
        return problem.hint(format!("add the name of the machine, for example {of_machine}@{time}"));
    }
    let some = names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    let hidden = names.len().saturating_sub(8);
    let more = if hidden == 0 { String::new() } else { format!(" and {hidden} more") };
    let form = names.first().map(|name| format!("; write, for example, {name}@{time}")).unwrap_or_default();
    problem.hint(format!("the slots are {some}{more}{form}"))
}

/// Explains the last change of a slot before a time, and prints the values of its expressions at that time. `typed` is the time
/// as typed.
fn explain_slot(
    cli: &SlotRunCli,
    run: &SimulationRun<'_>,
    (slot, typed): (&str, &str),
    time: TimePoint,
) -> anyhow::Result<Status> {
    let seconds = seconds_since_start(run, time, &RealWorld::new())?;
    let trace = match SlotTrace::of_slot(run, slot, seconds)? {
        SlotLookup::Trace(trace) => trace,
        SlotLookup::NoSuchSlot(names) => return Err(unknown_slot_problem(slot, typed, &names).into()),
    };
    write_to_stdout(
        cli.output.render_json(std::slice::from_ref(&trace))?.unwrap_or_else(|| slot_trace_text(&trace)),
    )?;
    Ok(Status::Done)
}

fn slot_trace_text(trace: &SlotTrace) -> String {
    let SlotTrace { slot, at, state, changes, policy } = trace;
    let mut text = format!("{slot} at +{}: {state}\n", format_span(*at));
    for SlotChange { at, state, reason, decided, policy: _ } in changes {
        text += &format!("since +{}: {state}: {reason}\n", format_span(*at));
        if let Some(decided) = decided {
            text += &decision_text::indented_lines(decided, "    ");
        }
    }
    let is_cause = |parameter: &str| {
        changes.iter().any(|change| change.policy.is_some_and(|policy| policy.parameter == parameter))
    };
    let legend = match policy.iter().any(|decided| is_cause(&decided.knob)) {
        true => " (* = caused the current state)",
        false => "",
    };
    text += &format!("policy at +{}{legend}:\n", format_span(*at));
    for decided in policy {
        text +=
            &decision_text::indented_lines(decided, if is_cause(&decided.knob) { "  * " } else { "    " });
    }
    text
}
