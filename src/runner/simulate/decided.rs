//! What decided about a slot or a job in a simulation: the expression, where it was set, its parts and their values then.

use serde::Serialize;

use super::load::OF_COMMAND;
use super::simulate_ready::{Ready, simulation};
use crate::cli::common::line_of_knob;
use crate::config::Config;
use crate::os::RealWorld;
use crate::runner::events::Event as StreamEvent;
use crate::runner::simulate::{Cause, Fate, Place, Play, Simulation};
use crate::slot::{Asked, Clause};
use crate::world::World;

/// An expression that decided.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Decided {
    /// Its knob.
    pub knob: String,
    /// The expression, or the part of it that is not true.
    pub expression: String,
    /// Its value.
    pub value: String,
    /// Of several conditions joined by `&&` or `||` the one that makes it so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<Clause>,
    /// File and line, or what set it.
    pub place: String,
    /// The attributes that it names, with their values.
    pub seen: Vec<String>,
}

impl Decided {
    /// As lines of text behind an indent.
    pub(super) fn lines(&self, indent: &str) -> String {
        let place = if self.place.is_empty() { String::new() } else { format!(" ({})", self.place) };
        let mut text = format!("{indent}{} = {}{place}\n", self.knob, clean(&self.expression));
        text += &format!("{indent}    is {}\n", clean(&self.value));
        if let Some(Clause { text: part, value, .. }) = &self.because {
            text += &format!("{indent}    because {} is {}\n", clean(part), clean(value));
        }
        for seen in &self.seen {
            text += &format!("{indent}    {}\n", clean(seen));
        }
        text
    }
}

/// Control characters of other people's texts do no harm.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Where a knob was set, by the configuration of that number.
pub(super) fn place(ready: &Ready, place: &Place, knob: &str, world: &dyn World) -> String {
    let Some(config) = ready.configs.get(place.config) else { return String::new() };
    // Knobs of scenarios stand above all files, as those of --set-knob do.
    let setter = |name: &str, value: &str| {
        let is_commanded = ready.commanded.iter().any(|it| it.eq_ignore_ascii_case(name));
        let line = || line_of_knob((&ready.scenario, &ready.path), name, value);
        let line = if is_commanded { None } else { line() };
        line.map_or_else(|| OF_COMMAND.to_owned(), |(file, line)| format!("{file}, line {line}"))
    };
    place_with((config, world), place.slot_type, knob, &setter)
}

/// Where a knob was set for slots of a type.
pub(super) fn place_in(config: &Config, slot_type: u32, knob: &str, world: &dyn World) -> String {
    place_with((config, world), slot_type, knob, &|_, _| OF_COMMAND.to_owned())
}

/// The same, where `setter` says what has set the knob of that name and value above all files.
fn place_with(
    (config, world): (&Config, &dyn World),
    slot_type: u32,
    knob: &str,
    setter: &dyn Fn(&str, &str) -> String,
) -> String {
    let view = config.view(world);
    let names = [format!("SLOT_TYPE_{slot_type}_{knob}"), knob.to_owned()];
    let found = names.iter().find_map(|name| Some((name, view.string(name.as_str()).ok().flatten()?)));
    let Some((name, setting)) = found else { return String::new() };
    let over = setter(name, &setting.raw.to_string());
    setting.origin.to_string().replace("<Over>", &over).replace("<Default>", "default")
}

/// The knob whose value a machine gives for the reason of a change, as the configuration calls it.
pub(super) fn knob_of(reason: &str) -> Option<&str> {
    let (knob, rest) = reason.split_once(" is ")?;
    let is_knob = !knob.is_empty() && knob.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    (is_knob && matches!(rest, "true" | "false")).then_some(knob)
}

/// The attribute of a slot's ad for a knob.
fn attribute(knob: &str) -> &str {
    if knob == "IS_OWNER" { "IsOwner" } else { knob }
}

/// The knob for an attribute of a slot's ad.
pub(super) fn knob(attribute: &str) -> &str {
    match attribute {
        "IsOwner" => "IS_OWNER",
        "Start" => "START",
        other => other,
    }
}

/// A change of a slot that is asked after.
pub(super) struct Asking {
    pub turn: u64,
    pub place: Place,
    pub reason: String,
}

/// What decided each change; the course is played once more, up to the moment before each of them.
/// `told`: the course in which they happened was told of, so that its turns count every fetch.
pub(super) fn decided(
    ready: &Ready,
    play: Play,
    asking: &[Asking],
    told: bool,
) -> anyhow::Result<Vec<Option<Decided>>> {
    let mut all: Vec<Option<Decided>> = asking.iter().map(|_| None).collect();
    let mut order: Vec<usize> =
        (0..asking.len()).filter(|at| knob_of(&asking[*at].reason).is_some()).collect();
    if order.is_empty() {
        return Ok(all);
    }
    order.sort_by_key(|at| asking[*at].turn);
    let world = RealWorld::new();
    let mut nobody = |_: f64, _: &StreamEvent| {};
    let silent = simulation(ready, play)?;
    // Turns are those of a course that is told of where the changes were.
    let mut simulation = if told { silent.telling(&mut nobody) } else { silent };
    simulation.begin();
    for at in order {
        let it = &asking[at];
        let Some(knob) = knob_of(&it.reason) else { continue };
        let wanted = it.reason.rsplit(' ').next().unwrap_or_default();
        simulation.advance_to_turn(it.turn);
        let mut found = ask(&mut simulation, &it.place.slot, knob);
        if found.as_ref().is_none_or(|found| found.value != wanted) {
            // Something of the same moment had to happen first.
            simulation.advance_to_turn(it.turn + 1);
            found = ask(&mut simulation, &it.place.slot, knob);
        }
        all[at] = found.filter(|found| found.value == wanted).map(|asked| Decided {
            knob: knob.to_owned(),
            expression: asked.text,
            value: asked.value,
            because: asked.because,
            place: place(ready, &it.place, knob, &world),
            seen: asked.parts,
        });
    }
    Ok(all)
}

fn ask(simulation: &mut Simulation<'_>, slot: &str, knob: &str) -> Option<Asked> {
    let seen = simulation.look_at_slot(slot)?;
    seen.machine.asked(seen.key, attribute(knob))
}

/// The condition of a slot that is not true for a job.
fn refused(ready: &Ready, of: &Place, clause: &Clause, world: &dyn World) -> Decided {
    let knob = knob(&clause.attribute).to_owned();
    Decided {
        place: place(ready, of, &knob, world),
        knob,
        expression: clause.text.clone(),
        value: clause.value.clone(),
        because: None,
        seen: clause.seen.clone(),
    }
}

/// What decided each of these fates.
pub(super) fn of_fates(ready: &Ready, play: Play, fates: &[Fate]) -> anyhow::Result<Vec<Vec<Decided>>> {
    let world = RealWorld::new();
    let mut asking = Vec::new();
    for fate in fates {
        if let (Some(Cause::Change { turn, reason }), Some(place)) = (&fate.cause, &fate.slot) {
            asking.push(Asking { turn: *turn, place: place.clone(), reason: reason.clone() });
        }
    }
    let mut changes = decided(ready, play, &asking, false)?.into_iter();
    let of = |fate: &Fate| match (&fate.cause, &fate.slot) {
        (Some(Cause::Change { .. }), Some(_)) => changes.next().flatten().into_iter().collect(),
        (Some(Cause::Refused(clauses)), Some(place)) => {
            clauses.iter().map(|clause| refused(ready, place, clause, &world)).collect()
        }
        _ => Vec::new(),
    };
    Ok(fates.iter().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_change_names_its_knob() {
        assert_eq!(knob_of("PREEMPT is true"), Some("PREEMPT"));
        assert_eq!(knob_of("IS_OWNER is false"), Some("IS_OWNER"));
        for other in ["retirement is over", "draining", "PREEMPT is undefined", " is true", "no more work"] {
            assert_eq!(knob_of(other), None, "{other}");
        }
    }
}
