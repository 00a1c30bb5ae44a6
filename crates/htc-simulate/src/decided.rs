//! What decided about a slot or a job: the expression, where it was set, its parts and their values then.

use serde::Serialize;

use super::fate::{Cause, Fate, Place};
use super::origins::Origins;
use super::simulation::Simulation;
use htc_runner::events::Event as StreamEvent;
use htc_slot::{Asked, Clause, policy_knob};

/// What a course is begun from, as often as it is wanted: what decided something in it is found by playing up to that once more.
pub trait Courses {
    /// Why it cannot be begun.
    type Error;

    /// The simulation as it begins, each time the same.
    ///
    /// # Errors
    /// Jobs that can no longer be read.
    fn begin(&self) -> Result<Simulation<'_>, Self::Error>;

    /// Where its knobs were set.
    fn origins(&self) -> Origins<'_>;
}

/// An expression that decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decided {
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
    /// What the expression of a knob said of a slot.
    pub(super) fn of(asked: Asked, knob: &str, of: &Place, origins: Origins<'_>) -> Self {
        let Asked { text, value, because, parts, .. } = asked;
        let place = origins.place(of, knob);
        Decided { knob: knob.to_owned(), expression: text, value, because, place, seen: parts }
    }

    /// The condition of a slot that is not true for a job.
    fn refused(clause: &Clause, of: &Place, origins: Origins<'_>) -> Self {
        let knob = policy_knob::of_attribute(&clause.attribute).to_owned();
        Decided {
            place: origins.place(of, &knob),
            knob,
            expression: clause.text.clone(),
            value: clause.value.clone(),
            because: None,
            seen: clause.seen.clone(),
        }
    }
}

/// A change of a slot that is asked after.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The turn of the simulation in which it took place.
    pub turn: u64,
    /// The slot.
    pub place: Place,
    /// What the machine said.
    pub reason: String,
}

/// What decided each change; the course is played once more, up to the moment before each of them.
/// `told`: the course in which they happened was told of, so that its turns count every fetch.
///
/// # Errors
/// The course cannot be begun again.
pub fn decided<C: Courses + ?Sized>(
    courses: &C,
    asking: &[Asking],
    told: bool,
) -> Result<Vec<Option<Decided>>, C::Error> {
    let mut all: Vec<Option<Decided>> = asking.iter().map(|_| None).collect();
    let mut order: Vec<usize> =
        (0..asking.len()).filter(|at| policy_knob::of_reason(&asking[*at].reason).is_some()).collect();
    if order.is_empty() {
        return Ok(all);
    }
    order.sort_by_key(|at| asking[*at].turn);
    let mut nobody = |_: f64, _: &StreamEvent| {};
    let silent = courses.begin()?;
    // Turns are those of a course that is told of where the changes were.
    let mut simulation = if told { silent.telling(&mut nobody) } else { silent };
    simulation.begin();
    for at in order {
        let it = &asking[at];
        let Some(knob) = policy_knob::of_reason(&it.reason) else { continue };
        let wanted = it.reason.rsplit(' ').next().unwrap_or_default();
        simulation.advance_to_turn(it.turn);
        let mut found = ask(&mut simulation, &it.place.slot, knob);
        if found.as_ref().is_none_or(|found| found.value != wanted) {
            // Something of the same moment had to happen first.
            simulation.advance_to_turn(it.turn + 1);
            found = ask(&mut simulation, &it.place.slot, knob);
        }
        let found = found.filter(|found| found.value == wanted);
        all[at] = found.map(|asked| Decided::of(asked, knob, &it.place, courses.origins()));
    }
    Ok(all)
}

fn ask(simulation: &mut Simulation<'_>, slot: &str, knob: &str) -> Option<Asked> {
    let seen = simulation.look_at_slot(slot)?;
    seen.machine.asked(seen.key, policy_knob::attribute_of(knob))
}

/// What decided each of these fates.
///
/// # Errors
/// The course cannot be begun again.
pub fn of_fates<C: Courses + ?Sized>(courses: &C, fates: &[Fate]) -> Result<Vec<Vec<Decided>>, C::Error> {
    let mut asking = Vec::new();
    for fate in fates {
        if let (Some(Cause::Change { turn, reason }), Some(place)) = (&fate.cause, &fate.slot) {
            asking.push(Asking { turn: *turn, place: place.clone(), reason: reason.clone() });
        }
    }
    let mut changes = decided(courses, &asking, false)?.into_iter();
    let of = |fate: &Fate| match (&fate.cause, &fate.slot) {
        (Some(Cause::Change { .. }), Some(_)) => changes.next().flatten().into_iter().collect(),
        (Some(Cause::Refused(clauses)), Some(place)) => {
            clauses.iter().map(|clause| Decided::refused(clause, place, courses.origins())).collect()
        }
        _ => Vec::new(),
    };
    Ok(fates.iter().map(of).collect())
}
