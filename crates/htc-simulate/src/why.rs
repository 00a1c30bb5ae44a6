//! What became of a job, and what decided about a slot at a time.

use std::cell::RefCell;

use serde::Serialize;

use super::decided::{Asking, Courses, Decided, decided, of_fates};
use super::fate::{Place, Whose};
use super::simulation::Seen;
use super::summary::NeverRun;
use htc_base::text::one_line::printable;
use htc_runner::events::{Event as StreamEvent, Kind};
use htc_slot::{Asked, policy_knob};

/// The story of a job.
#[derive(Clone, Debug, Serialize)]
pub struct JobStory {
    /// The job as `cluster.proc`.
    pub job: String,
    /// What happened to it; that it came is the first.
    pub happened: Vec<Step>,
    /// What is said of jobs that never ran, where no slot was offered this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub never_run: Vec<NeverRun>,
}

/// Something that happened to a job.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Seconds since the start.
    pub at: f64,
    /// What, in words.
    pub what: String,
    /// The expressions that decided it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<Decided>,
}

impl JobStory {
    /// Plays it to its end; `None` where no such job comes.
    ///
    /// # Errors
    /// The course cannot be begun.
    pub fn of<C: Courses>(courses: &C, job: &str) -> Result<Option<JobStory>, C::Error> {
        let mut simulation = courses.begin()?;
        simulation.remember(Whose::Named(job.to_owned()));
        simulation.run();
        let fates = simulation.take_fates();
        let kind = simulation.kind_of_waiting(job);
        let mut played = simulation.finish();
        played.explain_silence(courses.origins());
        if fates.is_empty() {
            return Ok(None);
        }
        let decided = of_fates(courses, &fates)?;
        let was_offered = fates.len() > 1;
        let happened = fates.into_iter().zip(decided);
        let happened =
            happened.map(|(fate, decided)| Step { at: fate.at, what: printable(&fate.what), decided });
        let mut never_run = if was_offered { Vec::new() } else { played.summary.never_run };
        never_run.retain(|never| Some(never.kind) == kind);
        Ok(Some(JobStory { job: job.to_owned(), happened: happened.collect(), never_run }))
    }

    /// Whether a slot was offered it.
    pub fn was_offered(&self) -> bool {
        self.happened.len() > 1
    }
}

/// The story of a slot.
#[derive(Clone, Debug, Serialize)]
pub struct SlotStory {
    /// Its name.
    pub slot: String,
    /// Seconds since the start.
    pub at: f64,
    /// Its state and activity.
    pub state: String,
    /// The last changes before, all of one moment.
    pub changes: Vec<Changed>,
    /// What all expressions say at that time.
    pub policy: Vec<Decided>,
}

/// A change of a slot.
#[derive(Clone, Debug, Serialize)]
pub struct Changed {
    /// Seconds since the start.
    pub at: f64,
    /// The new state and activity.
    pub state: String,
    /// What the machine said.
    pub reason: String,
    /// What decided it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
}

/// What is known of a slot at a time.
#[derive(Clone, Debug)]
pub enum AtSlot {
    /// There is one of that name.
    Story(SlotStory),
    /// There is none; those that there are.
    Nowhere(Vec<String>),
}

impl SlotStory {
    /// The last change of a slot before a time, in seconds since the start, and what every expression says at that time.
    ///
    /// # Errors
    /// The course cannot be begun.
    pub fn of<C: Courses>(courses: &C, slot: &str, at: f64) -> Result<AtSlot, C::Error> {
        let last: RefCell<Vec<(f64, u64, StreamEvent)>> = RefCell::default();
        let silent = courses.begin()?;
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
        simulation.advance((at * 1e6) as u64, true);
        let names = simulation.slot_names();
        let Some(Seen { machine, key, config }) = simulation.look_at_slot(slot) else {
            return Ok(AtSlot::Nowhere(names));
        };
        let of = Place { slot: slot.to_owned(), slot_type: machine.type_id(key).unwrap_or(0), config };
        let present = machine.slots().find(|(it, ..)| *it == key);
        let state = present.map_or_else(String::new, |(_, _, state, activity)| format!("{state}/{activity}"));
        let told = |asked: Asked| {
            let knob = policy_knob::of_attribute(&asked.name).to_owned();
            Decided::of(asked, &knob, &of, courses.origins())
        };
        let policy = machine.policy(key).into_iter().map(told).collect();
        drop(simulation);
        let changes = changes(courses, &of, last.into_inner())?;
        Ok(AtSlot::Story(SlotStory { slot: slot.to_owned(), at, state, changes, policy }))
    }
}

/// Changes, in the order and the turns in which they were told, with what decided each.
fn changes<C: Courses>(
    courses: &C,
    of: &Place,
    told: Vec<(f64, u64, StreamEvent)>,
) -> Result<Vec<Changed>, C::Error> {
    let asking = |(_, turn, event): &(f64, u64, StreamEvent)| Asking {
        turn: *turn,
        place: of.clone(),
        reason: event.reason.clone().unwrap_or_default(),
    };
    let decided = decided(courses, &told.iter().map(asking).collect::<Vec<_>>(), true)?;
    let changed = |((at, _, event), decided): ((f64, u64, StreamEvent), Option<Decided>)| {
        let state = event.state.zip(event.activity).map(|(state, activity)| format!("{state}/{activity}"));
        let reason = printable(&event.reason.unwrap_or_default());
        Changed { at, state: state.unwrap_or_default(), reason, decided }
    };
    Ok(told.into_iter().zip(decided).map(changed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::of_text::{CONFIG, SCENARIO, TextCourse};

    #[test]
    fn a_job_is_told_what_decided_about_it_and_where_that_was_set() {
        let course = TextCourse::new(CONFIG, SCENARIO);
        let story = JobStory::of(&course, "1.0").unwrap().unwrap();
        let what: Vec<&str> = story.happened.iter().map(|step| step.what.as_str()).collect();
        assert_eq!(what[..3], ["came", "began on slot1", "had to leave slot1: PREEMPT is true"]);
        let [decided] = &story.happened[2].decided[..] else { panic!("{story:?}") };
        assert_eq!((&*decided.knob, &*decided.value), ("PREEMPT", "true"));
        assert!(decided.place.ends_with("condor_config, line 10"), "{}", decided.place);
        assert!(story.was_offered() && story.never_run.is_empty());
        let refused = JobStory::of(&course, "2.0").unwrap().unwrap();
        let seen: Vec<&String> =
            refused.happened.iter().flat_map(|step| &step.decided).flat_map(|it| &it.seen).collect();
        assert!(seen.contains(&&"TARGET.Owner = \"mallory\"".to_owned()), "{refused:?}");
        assert!(JobStory::of(&course, "9.0").unwrap().is_none());
    }

    #[test]
    fn a_slot_is_told_its_last_change_and_what_its_policy_says() {
        let course = TextCourse::new(CONFIG, SCENARIO);
        let AtSlot::Story(story) = SlotStory::of(&course, "slot1", 3610.0).unwrap() else {
            panic!("no slot1")
        };
        assert_eq!(story.state, "Preempting/Vacating");
        assert_eq!(story.changes[0].reason, "PREEMPT is true");
        assert_eq!(
            story.changes[0].decided.as_ref().map(|it| &*it.expression),
            Some("(time() - JobStart) > 3600")
        );
        assert!(
            story.policy.iter().any(|it| it.knob == "START" && it.place.ends_with("line 9")),
            "{story:?}"
        );
        let AtSlot::Nowhere(names) = SlotStory::of(&course, "slot9", 3610.0).unwrap() else {
            panic!("a slot9")
        };
        assert_eq!(names, ["slot1", "slot2"]);
    }
}
