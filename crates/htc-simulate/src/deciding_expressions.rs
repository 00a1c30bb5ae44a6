//! Expressions that decided about a slot or a job: where each was set, its parts, and their values at the time of the
//! decision.

use serde::Serialize;

use super::job_events::{JobEventCause, SimulatedJobEvent, SlotIdentity};
use super::parameter_origins::ParameterOrigins;
use super::simulation::Simulation;
use htc_runner::events::RunnerEvent;
use htc_slot::{EvaluatedCondition, EvaluatedExpression, PolicyValue, policy_parameter};

/// Source of identical simulations. A decision is explained by running a second simulation up to the decision.
pub trait SimulationSource {
    /// Reason why the simulation cannot be started.
    type Error;

    /// Returns the simulation in its initial state, which is the same at each call.
    ///
    /// # Errors
    /// Fails if the jobs of the scenario can no longer be read.
    fn begin(&self) -> Result<Simulation<'_>, Self::Error>;

    /// Returns the places where the parameters of the simulation were set.
    fn origins(&self) -> ParameterOrigins<'_>;
}

/// Expression that decided about a slot or a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecidingExpression {
    /// Parameter that defines the expression.
    pub knob: String,
    /// The expression, or the part of it that is not true.
    pub expression: String,
    /// Value of the expression.
    pub value: String,
    /// The deciding part of the expression, if it joins several conditions by `&&` or `||`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<EvaluatedCondition>,
    /// File and line where the parameter was set, or a description of another origin.
    pub place: String,
    /// The attributes that the expression refers to, with their values.
    pub seen: Vec<String>,
}

impl DecidingExpression {
    /// Creates the description from the value of a slot's policy expression.
    pub(super) fn from_policy(
        evaluated: EvaluatedExpression,
        knob: &str,
        of: &SlotIdentity,
        origins: ParameterOrigins<'_>,
    ) -> Self {
        let EvaluatedExpression { text, value, because, parts, .. } = evaluated;
        let place = origins.parameter_origin(of, knob);
        DecidingExpression { knob: knob.to_owned(), expression: text, value, because, place, seen: parts }
    }

    /// Creates the description from a condition of a slot that is not true for a job.
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

/// Change of a slot that is to be explained.
#[derive(Clone, Debug)]
pub struct SlotChangeQuery {
    /// Turn of the simulation in which the slot changed.
    pub turn: u64,
    /// Slot that changed.
    pub slot: SlotIdentity,
    /// Value of a policy parameter that is the reason for the change, or `None` for another reason.
    pub policy: Option<PolicyValue>,
}

/// Returns the expression that decided each change, by running the simulation again up to each change. `with_events`
/// is true if the changes come from a simulation with an event sink, in which no fetch is only counted.
///
/// # Errors
/// Fails if the simulation cannot be started again.
pub fn explain_slot_changes<C: SimulationSource + ?Sized>(
    courses: &C,
    queries: &[SlotChangeQuery],
    with_events: bool,
) -> Result<Vec<Option<DecidingExpression>>, C::Error> {
    let mut all: Vec<Option<DecidingExpression>> = queries.iter().map(|_| None).collect();
    let mut order: Vec<usize> = (0..queries.len()).filter(|at| queries[*at].policy.is_some()).collect();
    if order.is_empty() {
        return Ok(all);
    }
    order.sort_by_key(|at| queries[*at].turn);
    let mut ignore_event = |_: f64, _: &RunnerEvent| {};
    let silent = courses.begin()?;
    // Turns have different numbers in simulations with and without an event sink.
    let mut simulation = if with_events { silent.with_event_sink(&mut ignore_event) } else { silent };
    simulation.begin();
    for at in order {
        let it = &queries[at];
        let Some(PolicyValue { parameter: knob, value }) = it.policy else { continue };
        let wanted = value.to_string();
        simulation.advance_to_turn(it.turn);
        let mut found = evaluate_policy(&mut simulation, &it.slot.slot, knob);
        if found.as_ref().is_none_or(|found| found.value != wanted) {
            // The value may result from another calendar entry of the same time, which is processed now.
            simulation.advance_to_turn(it.turn + 1);
            found = evaluate_policy(&mut simulation, &it.slot.slot, knob);
        }
        let found = found.filter(|found| found.value == wanted);
        all[at] = found
            .map(|evaluated| DecidingExpression::from_policy(evaluated, knob, &it.slot, courses.origins()));
    }
    Ok(all)
}

fn evaluate_policy(simulation: &mut Simulation<'_>, slot: &str, knob: &str) -> Option<EvaluatedExpression> {
    let view = simulation.view_slot(slot)?;
    view.machine.evaluate_expression(view.key, policy_parameter::attribute_for_parameter(knob))
}

/// Returns the expressions that decided each job event.
///
/// # Errors
/// Fails if the simulation cannot be started again.
pub fn explain_job_events<C: SimulationSource + ?Sized>(
    courses: &C,
    fates: &[SimulatedJobEvent],
) -> Result<Vec<Vec<DecidingExpression>>, C::Error> {
    let mut queries = Vec::new();
    for fate in fates {
        if let (Some(JobEventCause::Change { turn, policy }), Some(slot)) = (&fate.cause, &fate.slot) {
            queries.push(SlotChangeQuery { turn: *turn, slot: slot.clone(), policy: *policy });
        }
    }
    let mut changes = explain_slot_changes(courses, &queries, false)?.into_iter();
    let of = |fate: &SimulatedJobEvent| match (&fate.cause, &fate.slot) {
        (Some(JobEventCause::Change { .. }), Some(_)) => changes.next().flatten().into_iter().collect(),
        (Some(JobEventCause::Refused(clauses)), Some(slot)) => clauses
            .iter()
            .map(|clause| DecidingExpression::from_refusal(clause, slot, courses.origins()))
            .collect(),
        _ => Vec::new(),
    };
    Ok(fates.iter().map(of).collect())
}
