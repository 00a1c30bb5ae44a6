//! What decided about a slot or a job: the expression, where it was set, its parts and their values then.

use serde::Serialize;

use super::job_events::{JobEventCause, SimulatedJobEvent, SlotIdentity};
use super::parameter_origins::ParameterOrigins;
use super::simulation::Simulation;
use htc_runner::events::RunnerEvent as StreamEvent;
use htc_slot::{EvaluatedCondition, EvaluatedExpression, policy_parameter};

/// What a course is begun from, as often as it is wanted: what decided something in it is found by playing up to that once more.
pub trait SimulationSource {
    /// Why it cannot be begun.
    type Error;

    /// The simulation as it begins, each time the same.
    ///
    /// # Errors
    /// Jobs that can no longer be read.
    fn begin(&self) -> Result<Simulation<'_>, Self::Error>;

    /// Where its knobs were set.
    fn origins(&self) -> ParameterOrigins<'_>;
}

/// An expression that decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecidingExpression {
    /// Its knob.
    pub knob: String,
    /// The expression, or the part of it that is not true.
    pub expression: String,
    /// Its value.
    pub value: String,
    /// Of several conditions joined by `&&` or `||` the one that makes it so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<EvaluatedCondition>,
    /// File and line, or what set it.
    pub place: String,
    /// The attributes that it names, with their values.
    pub seen: Vec<String>,
}

impl DecidingExpression {
    /// What the expression of a knob said of a slot.
    pub(super) fn from_policy(
        asked: EvaluatedExpression,
        knob: &str,
        of: &SlotIdentity,
        origins: ParameterOrigins<'_>,
    ) -> Self {
        let EvaluatedExpression { text, value, because, parts, .. } = asked;
        let place = origins.parameter_origin(of, knob);
        DecidingExpression { knob: knob.to_owned(), expression: text, value, because, place, seen: parts }
    }

    /// The condition of a slot that is not true for a job.
    fn from_refusal(clause: &EvaluatedCondition, of: &SlotIdentity, origins: ParameterOrigins<'_>) -> Self {
        let knob = policy_parameter::parameter_for_attribute(&clause.attribute).to_owned();
        DecidingExpression {
            place: origins.parameter_origin(of, &knob),
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
pub struct SlotChangeQuery {
    /// The turn of the simulation in which it took place.
    pub turn: u64,
    /// The slot.
    pub place: SlotIdentity,
    /// What the machine said.
    pub reason: String,
}

/// What decided each change; the course is played once more, up to the moment before each of them.
/// `told`: the course in which they happened was told of, so that its turns count every fetch.
///
/// # Errors
/// The course cannot be begun again.
pub fn explain_slot_changes<C: SimulationSource + ?Sized>(
    courses: &C,
    asking: &[SlotChangeQuery],
    told: bool,
) -> Result<Vec<Option<DecidingExpression>>, C::Error> {
    let mut all: Vec<Option<DecidingExpression>> = asking.iter().map(|_| None).collect();
    let mut order: Vec<usize> = (0..asking.len())
        .filter(|at| policy_parameter::parameter_in_reason(&asking[*at].reason).is_some())
        .collect();
    if order.is_empty() {
        return Ok(all);
    }
    order.sort_by_key(|at| asking[*at].turn);
    let mut nobody = |_: f64, _: &StreamEvent| {};
    let silent = courses.begin()?;
    // Turns are those of a course that is told of where the changes were.
    let mut simulation = if told { silent.with_event_sink(&mut nobody) } else { silent };
    simulation.begin();
    for at in order {
        let it = &asking[at];
        let Some(knob) = policy_parameter::parameter_in_reason(&it.reason) else { continue };
        let wanted = it.reason.rsplit(' ').next().unwrap_or_default();
        simulation.advance_to_turn(it.turn);
        let mut found = evaluate_policy(&mut simulation, &it.place.slot, knob);
        if found.as_ref().is_none_or(|found| found.value != wanted) {
            // Something of the same moment had to happen first.
            simulation.advance_to_turn(it.turn + 1);
            found = evaluate_policy(&mut simulation, &it.place.slot, knob);
        }
        let found = found.filter(|found| found.value == wanted);
        all[at] =
            found.map(|asked| DecidingExpression::from_policy(asked, knob, &it.place, courses.origins()));
    }
    Ok(all)
}

fn evaluate_policy(simulation: &mut Simulation<'_>, slot: &str, knob: &str) -> Option<EvaluatedExpression> {
    let seen = simulation.view_slot(slot)?;
    seen.machine.evaluate_expression(seen.key, policy_parameter::attribute_for_parameter(knob))
}

/// What decided each of these fates.
///
/// # Errors
/// The course cannot be begun again.
pub fn explain_job_events<C: SimulationSource + ?Sized>(
    courses: &C,
    fates: &[SimulatedJobEvent],
) -> Result<Vec<Vec<DecidingExpression>>, C::Error> {
    let mut asking = Vec::new();
    for fate in fates {
        if let (Some(JobEventCause::Change { turn, reason }), Some(place)) = (&fate.cause, &fate.slot) {
            asking.push(SlotChangeQuery { turn: *turn, place: place.clone(), reason: reason.clone() });
        }
    }
    let mut changes = explain_slot_changes(courses, &asking, false)?.into_iter();
    let of = |fate: &SimulatedJobEvent| match (&fate.cause, &fate.slot) {
        (Some(JobEventCause::Change { .. }), Some(_)) => changes.next().flatten().into_iter().collect(),
        (Some(JobEventCause::Refused(clauses)), Some(place)) => clauses
            .iter()
            .map(|clause| DecidingExpression::from_refusal(clause, place, courses.origins()))
            .collect(),
        _ => Vec::new(),
    };
    Ok(fates.iter().map(of).collect())
}
