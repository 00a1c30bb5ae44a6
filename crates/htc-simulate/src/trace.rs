//! Traces: the events of a job, and the policy decisions about a slot at a given time.

use std::cell::RefCell;

use serde::Serialize;

use super::deciding_expressions::{
    DecidingExpression, SimulationSource, SlotChangeQuery, explain_job_events, explain_slot_changes,
};
use super::job_events::{RecordedJobs, SlotIdentity};
use super::simulation::SlotView;
use super::summary::NeverRunJobs;
use htc_base::text::control_characters::mask_control_characters;
use htc_runner::events::{RunnerEvent, RunnerEventKind};
use htc_slot::{EvaluatedExpression, PolicyValue, policy_parameter};

/// Trace of a job.
#[derive(Clone, Debug, Serialize)]
pub struct JobTrace {
    /// The job as `cluster.proc`.
    pub job: String,
    /// Events of the job in order; the first event is its arrival.
    pub happened: Vec<JobTraceEvent>,
    /// Explanations of jobs that were never started, if this job was never offered to a slot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub never_run: Vec<NeverRunJobs>,
}

/// Event in the trace of a job.
#[derive(Clone, Debug, Serialize)]
pub struct JobTraceEvent {
    /// Seconds since the start.
    pub at: f64,
    /// Description of the event.
    pub what: String,
    /// Expressions that decided the event.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<DecidingExpression>,
}

impl JobTrace {
    /// Traces a job by running the simulation. Returns `None` if the scenario has no such job.
    ///
    /// # Errors
    /// Fails if the simulation cannot be started.
    pub fn of_job<C: SimulationSource>(courses: &C, job: &str) -> Result<Option<JobTrace>, C::Error> {
        let mut simulation = courses.begin()?;
        simulation.record_job_events(RecordedJobs::Named(job.to_owned()));
        simulation.run();
        let fates = simulation.take_job_events();
        let kind = simulation.waiting_job_kind(job);
        let mut played = simulation.finish();
        played.explain_unfetched_jobs(courses.origins());
        if fates.is_empty() {
            return Ok(None);
        }
        let decided = explain_job_events(courses, &fates)?;
        let was_offered = fates.len() > 1;
        let happened = fates.into_iter().zip(decided);
        let happened = happened.map(|(fate, decided)| JobTraceEvent {
            at: fate.at,
            what: mask_control_characters(&fate.description),
            decided,
        });
        let mut never_run = if was_offered { Vec::new() } else { played.summary.never_run };
        never_run.retain(|never| Some(never.kind) == kind);
        Ok(Some(JobTrace { job: job.to_owned(), happened: happened.collect(), never_run }))
    }

    /// Returns true if the job was offered to a slot.
    pub fn was_offered(&self) -> bool {
        self.happened.len() > 1
    }
}

/// Trace of a slot at a given time.
#[derive(Clone, Debug, Serialize)]
pub struct SlotTrace {
    /// Name of the slot.
    pub slot: String,
    /// The given time in seconds since the start.
    pub at: f64,
    /// State and activity of the slot at the given time.
    pub state: String,
    /// The last changes at or before the given time, all of which happened at the same time.
    pub changes: Vec<SlotChange>,
    /// Values of all policy expressions of the slot at the given time.
    pub policy: Vec<DecidingExpression>,
}

/// Change of a slot in its trace.
#[derive(Clone, Debug, Serialize)]
pub struct SlotChange {
    /// Seconds since the start.
    pub at: f64,
    /// State and activity after the change.
    pub state: String,
    /// Reason for the change that the machine gave.
    pub reason: String,
    /// Value of a policy parameter that is the reason; not printed.
    #[serde(skip)]
    pub policy: Option<PolicyValue>,
    /// Expression that decided the change, or `None` if no expression did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<DecidingExpression>,
}

/// Result of searching for a slot at a given time.
#[derive(Clone, Debug)]
pub enum SlotLookup {
    /// The trace of the slot.
    Trace(SlotTrace),
    /// No slot has the name; contains the names of all slots.
    NoSuchSlot(Vec<String>),
}

impl SlotTrace {
    /// Traces a slot: its last changes before the time `at`, in seconds since the start, and its policy expressions
    /// at that time.
    ///
    /// # Errors
    /// Fails if the simulation cannot be started.
    pub fn of_slot<C: SimulationSource>(courses: &C, slot: &str, at: f64) -> Result<SlotLookup, C::Error> {
        let last: RefCell<Vec<(f64, u64, RunnerEvent)>> = RefCell::default();
        let silent = courses.begin()?;
        let turn = silent.turn_counter();
        let mut record_event = |at: f64, event: &RunnerEvent| {
            let same = event.slot.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(slot));
            if same && event.kind == RunnerEventKind::State {
                let mut last = last.borrow_mut();
                last.retain(|(before, ..)| *before == at);
                last.push((at, turn.get(), event.clone()));
            }
        };
        let mut simulation = silent.with_event_sink(&mut record_event);
        simulation.begin();
        simulation.advance((at * 1e6) as u64, true);
        let names = simulation.slot_names();
        let Some(SlotView { machine, key, config_number: config }) = simulation.view_slot(slot) else {
            return Ok(SlotLookup::NoSuchSlot(names));
        };
        let of = SlotIdentity {
            slot: slot.to_owned(),
            slot_type: machine.slot_type_id(key).unwrap_or(0),
            config_number: config,
        };
        let present = machine.slots().find(|(it, ..)| *it == key);
        let state = present.map_or_else(String::new, |(_, _, state, activity)| format!("{state}/{activity}"));
        let describe = |evaluated: EvaluatedExpression| {
            let knob = policy_parameter::parameter_for_attribute(&evaluated.name).to_owned();
            DecidingExpression::from_policy(evaluated, &knob, &of, courses.origins())
        };
        let policy = machine.evaluate_policy_expressions(key).into_iter().map(describe).collect();
        drop(simulation);
        let changes = explain_changes(courses, &of, last.into_inner())?;
        Ok(SlotLookup::Trace(SlotTrace { slot: slot.to_owned(), at, state, changes, policy }))
    }
}

/// Adds the deciding expression to each change, preserving the order of the changes and their turns.
fn explain_changes<C: SimulationSource>(
    courses: &C,
    of: &SlotIdentity,
    events: Vec<(f64, u64, RunnerEvent)>,
) -> Result<Vec<SlotChange>, C::Error> {
    let to_query = |(_, turn, event): &(f64, u64, RunnerEvent)| SlotChangeQuery {
        turn: *turn,
        slot: of.clone(),
        policy: event.policy,
    };
    let decided = explain_slot_changes(courses, &events.iter().map(to_query).collect::<Vec<_>>(), true)?;
    let changed = |((at, _, event), decided): ((f64, u64, RunnerEvent), Option<DecidingExpression>)| {
        let state = event.state.zip(event.activity).map(|(state, activity)| format!("{state}/{activity}"));
        let reason = mask_control_characters(&event.reason.unwrap_or_default());
        SlotChange { at, state: state.unwrap_or_default(), reason, policy: event.policy, decided }
    };
    Ok(events.into_iter().zip(decided).map(changed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::of_text::{CONFIG, SCENARIO, TextCourse};

    #[test]
    fn the_trace_of_a_job_has_the_decision_and_its_origin() {
        let course = TextCourse::new(CONFIG, SCENARIO);
        let trace = JobTrace::of_job(&course, "1.0").unwrap().unwrap();
        let what: Vec<&str> = trace.happened.iter().map(|step| step.what.as_str()).collect();
        assert_eq!(what[..3], ["arrived", "started on slot1", "was evicted from slot1: PREEMPT is true"]);
        let [decided] = &trace.happened[2].decided[..] else { panic!("{trace:?}") };
        assert_eq!((&*decided.knob, &*decided.value), ("PREEMPT", "true"));
        assert!(decided.place.ends_with("condor_config, line 10"), "{}", decided.place);
        assert!(trace.was_offered() && trace.never_run.is_empty());
        let refused = JobTrace::of_job(&course, "2.0").unwrap().unwrap();
        let parts: Vec<&String> =
            refused.happened.iter().flat_map(|step| &step.decided).flat_map(|it| &it.seen).collect();
        assert!(parts.contains(&&"TARGET.Owner = \"mallory\"".to_owned()), "{refused:?}");
        assert!(JobTrace::of_job(&course, "9.0").unwrap().is_none());
    }

    #[test]
    fn the_trace_of_a_slot_has_its_last_change_and_policy() {
        let course = TextCourse::new(CONFIG, SCENARIO);
        let SlotLookup::Trace(trace) = SlotTrace::of_slot(&course, "slot1", 3610.0).unwrap() else {
            panic!("no slot1")
        };
        assert_eq!(trace.state, "Preempting/Vacating");
        assert_eq!(trace.changes[0].reason, "PREEMPT is true");
        assert_eq!(
            trace.changes[0].decided.as_ref().map(|it| &*it.expression),
            Some("(time() - JobStart) > 3600")
        );
        assert!(
            trace.policy.iter().any(|it| it.knob == "START" && it.place.ends_with("line 9")),
            "{trace:?}"
        );
        let SlotLookup::NoSuchSlot(names) = SlotTrace::of_slot(&course, "slot9", 3610.0).unwrap() else {
            panic!("a slot9")
        };
        assert_eq!(names, ["slot1", "slot2"]);
    }
}
