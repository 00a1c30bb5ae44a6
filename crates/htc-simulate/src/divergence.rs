//! First difference between two simulations of the same jobs.

use serde::Serialize;

use super::deciding_expressions::{DecidingExpression, SimulationSource, explain_job_events};
use super::job_events::{RecordedJobs, SimulatedJobEvent};
use super::simulation::Simulation;
use htc_base::text::control_characters::mask_control_characters;

/// First job whose events differ between two simulations, with its next event in each of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunDifference {
    /// The job as `cluster.proc`.
    pub job: String,
    /// Next event of the job in the first simulation, or `None`.
    pub before: Option<JobDivergence>,
    /// Next event of the job in the second simulation, or `None`.
    pub after: Option<JobDivergence>,
}

/// Next event of a job in one simulation, and the expressions that decided it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobDivergence {
    /// Seconds since the start.
    pub at: f64,
    /// Description of the event.
    pub what: String,
    /// Expressions that decided the event.
    pub decided: Vec<DecidingExpression>,
}

/// Runs two simulations in lockstep and drops their common prefix of events.
#[derive(Default)]
pub struct DivergenceFinder {
    courses: [Vec<SimulatedJobEvent>; 2],
    /// Number and id of the job that differs.
    found: Option<(u32, String)>,
}

impl DivergenceFinder {
    /// Starts recording the job events of both simulations.
    pub fn start_recording(both: &mut [Simulation<'_>]) -> Self {
        both.iter_mut().for_each(|simulation| simulation.record_job_events(RecordedJobs::All));
        DivergenceFinder::default()
    }

    /// Compares the new job events of both simulations, which must have been advanced to the same time.
    pub fn compare_new_events(&mut self, both: &mut [Simulation<'_>]) {
        for (course, simulation) in self.courses.iter_mut().zip(&mut *both) {
            course.append(&mut simulation.take_job_events());
        }
        let [one, other] = &mut self.courses;
        if self.found.is_none() {
            let same = one.iter().zip(&*other).take_while(|(one, other)| one.is_same_event(other)).count();
            one.drain(..same);
            other.drain(..same);
            let first = match (one.first(), other.first()) {
                (Some(one), Some(other)) if other.at < one.at => Some(other),
                (Some(one), _) => Some(one),
                (None, other) => other,
            };
            self.found = first.map(|fate| (fate.number, fate.job.clone()));
        }
        if let Some((number, _)) = self.found {
            // From now on, only events of the job that differs are needed.
            for (course, simulation) in self.courses.iter_mut().zip(both) {
                course.retain(|fate| fate.number == number);
                course.truncate(1);
                if course.is_empty() {
                    simulation.record_job_events(RecordedJobs::Number(number))
                } else {
                    simulation.stop_recording()
                }
            }
        }
    }

    /// Returns the difference and the expressions that decided it, after both simulations have ended.
    ///
    /// # Errors
    /// Fails if a simulation cannot be started again.
    pub fn difference<C: SimulationSource>(
        self,
        before: &C,
        after: &C,
    ) -> Result<Option<RunDifference>, C::Error> {
        let Some((_, job)) = self.found else { return Ok(None) };
        let [one, other] = self.courses;
        let fared = |courses: &C, fates: Vec<SimulatedJobEvent>| -> Result<Option<JobDivergence>, C::Error> {
            let decided = explain_job_events(courses, &fates)?;
            let first = fates.into_iter().zip(decided).next();
            Ok(first.map(|(fate, decided)| JobDivergence {
                at: fate.at,
                what: mask_control_characters(&fate.description),
                decided,
            }))
        };
        Ok(Some(RunDifference { job, before: fared(before, one)?, after: fared(after, other)? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::of_text::{CONFIG, TextCourse};

    /// Returns the first difference between two simulations, which are run hour by hour.
    fn first_difference(before: &TextCourse, after: &TextCourse) -> (Option<RunDifference>, bool) {
        let mut both = [before.begin().unwrap(), after.begin().unwrap()];
        let mut parting = DivergenceFinder::start_recording(&mut both);
        both.iter_mut().for_each(Simulation::begin);
        for hour in 1..=4 {
            for simulation in &mut both {
                simulation.advance(hour * 3_600_000_000, hour == 4);
            }
            parting.compare_new_events(&mut both);
        }
        let [one, other] = both.map(|it| it.finish().summary);
        (parting.difference(before, after).unwrap(), one.has_same_counts(&other))
    }

    #[test]
    fn the_first_job_with_another_course_is_reported_with_the_decision() {
        let scenario = "length = '3h'\n[[jobs]]\nruns = '2h'\nowner = 'ana'\n";
        let before = TextCourse::new(CONFIG, scenario);
        let after = TextCourse::new(&format!("{CONFIG}PREEMPT = false\n"), scenario);
        let (found, is_same) = first_difference(&before, &after);
        let found = found.unwrap();
        assert_eq!(found.job, "1.0");
        let fared = |fared: &Option<JobDivergence>| {
            fared.as_ref().map(|it| (it.at, it.what.clone(), it.decided.len()))
        };
        assert_eq!(
            fared(&found.before),
            Some((3605.01, "was evicted from slot1: PREEMPT is true".to_owned(), 1))
        );
        assert!(found.after.is_some_and(|fared| fared.at > 7000.0) && !is_same);
        assert_eq!(first_difference(&before, &before), (None, true));
    }
}
