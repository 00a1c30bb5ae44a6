//! `simulate --why`: what became of a job, or what decided about a slot at a time.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use anyhow::Context;

use super::options::Cli;
use super::simulate::{Ready, workload};
use crate::cli::common::{Problem, Status, pipe_ends};
use crate::config::Config;
use crate::os::RealWorld;
use crate::runner::events::{Event as Told, Kind};
use crate::runner::simulate::times::{Moment, written};
use crate::runner::simulate::{Play, Simulation};
use crate::slot::Asked;
use crate::text::similar::nearest;
use crate::world::World;

/// Answers it.
pub(super) fn why(cli: &Cli, ready: &Ready, play: Play, what: &str) -> anyhow::Result<Status> {
    let is_job =
        what.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if is_job {
        return of_job(ready, play, what);
    }
    let Some((slot, time)) = what.rsplit_once('@') else {
        return Err(Problem::usage(format!(
            "--why '{what}': expected a job such as 1.17, or SLOT@TIME such as slot1@2h"
        ))
        .into());
    };
    let time = Moment::parse(time).map_err(|error| Problem::usage(format!("--why '{what}': {error}")))?;
    of_slot(cli, ready, play, (slot, time))
}

fn of_job(ready: &Ready, play: Play, job: &str) -> anyhow::Result<Status> {
    let world: Rc<dyn World> = Rc::new(RealWorld::new().seeded(1));
    let jobs = workload(ready, &*world)?;
    let mut simulation = Simulation::new(&ready.scenario, &ready.plan, jobs, world, play).remembering();
    simulation.run();
    let played = simulation.finish();
    let wanted = if job.contains('.') { job.to_owned() } else { format!("{job}.0") };
    let (_, mut output) = pipe_ends();
    let mut count = 0;
    for fate in played.fates.iter().filter(|fate| fate.job == wanted) {
        count += 1;
        writeln!(output, "{:>12} job {wanted} {}", format!("+{}", written(fate.at)), clean(&fate.what))
            .context("standard output")?;
    }
    if count == 0 {
        writeln!(output, "job {wanted}: no slot was ever offered it").context("standard output")?;
        for never in &played.summary.never_run {
            let why = never.why.first().map_or("no slot was offered one", String::as_str);
            writeln!(output, "    {} of {} never ran: {}", never.count, clean(&never.jobs), clean(why))
                .context("standard output")?;
        }
    }
    output.flush().context("standard output")?;
    Ok(if count == 0 { Status::No } else { Status::Done })
}

/// The last change of a slot before a time, and what every expression says at that time.
fn of_slot(_: &Cli, ready: &Ready, play: Play, (slot, time): (&str, Moment)) -> anyhow::Result<Status> {
    let real = RealWorld::new();
    let start = ready.plan.start;
    let since = time.epoch(start, |epoch| i64::from(real.zone(epoch).offset)) - start as f64;
    let world: Rc<dyn World> = Rc::new(RealWorld::new().seeded(1));
    let jobs = workload(ready, &*world)?;
    let last: RefCell<Option<(f64, Told)>> = RefCell::new(None);
    let mut tell = |at: f64, event: &Told| {
        let same = event.slot.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(slot));
        if same && event.kind == Kind::State {
            *last.borrow_mut() = Some((at, event.clone()));
        }
    };
    let mut simulation = Simulation::new(&ready.scenario, &ready.plan, jobs, world, play).telling(&mut tell);
    simulation.begin();
    simulation.advance((since.max(0.0) * 1e6) as u64, true);
    let names = simulation.slot_names();
    let (_, mut output) = pipe_ends();
    let Some((machine, key)) = simulation.look_at_slot(slot) else {
        let problem = Problem::usage(format!("--why: there is no slot '{slot}' at that time"));
        let hint = match nearest(slot.to_ascii_lowercase(), names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are {}", names.iter().take(8).cloned().collect::<Vec<_>>().join(", ")),
        };
        return Err(problem.hint(hint).into());
    };
    let type_id = machine.type_id(key).unwrap_or(0);
    let asked = machine.policy(key);
    let present = machine
        .slots()
        .find(|(it, ..)| *it == key)
        .map(|(_, _, state, activity)| format!("{state}/{activity}"));
    writeln!(output, "{slot} at +{}: {}", written(since), present.unwrap_or_default())
        .context("standard output")?;
    let changed = last.borrow().clone();
    let decided = changed.as_ref().and_then(|(_, event)| event.reason.clone()).unwrap_or_default();
    if let Some((at, event)) = &changed {
        let state = event.state.zip(event.activity).map(|(state, activity)| format!("{state}/{activity}"));
        writeln!(output, "since +{}: {}: {}", written(*at), state.unwrap_or_default(), clean(&decided))
            .context("standard output")?;
    }
    for Asked { name, text, value, parts } in asked {
        let knob = if name == "IsOwner" { "IS_OWNER" } else { name };
        let mark = if decided.contains(knob) { "*" } else { " " };
        let place = place(ready.config.as_ref(), knob, type_id, &real);
        writeln!(output, "{mark} {knob} = {text}").context("standard output")?;
        writeln!(output, "      is {value}{place}").context("standard output")?;
        for part in parts {
            writeln!(output, "      {}", clean(&part)).context("standard output")?;
        }
    }
    output.flush().map(|()| Status::Done).context("standard output")
}

/// Where a knob was set, as `, from FILE, line N`.
pub(super) fn place(config: Option<&Config>, knob: &str, type_id: u32, world: &dyn World) -> String {
    let Some(config) = config else { return String::new() };
    let view = config.view(world);
    let names = [format!("SLOT_TYPE_{type_id}_{knob}"), knob.to_owned()];
    let found = names.iter().find_map(|name| view.string(name.as_str()).ok().flatten());
    found.map_or_else(String::new, |setting| format!(", {}", setting.origin))
}

fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
