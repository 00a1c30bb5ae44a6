//! Explanation of jobs that were never offered to a slot: reasons why slots did not fetch.

use super::parameter_origins::ParameterOrigins;
use super::simulation_result::{NonFetchingSlots, SimulationResult};
use super::summary::{HookCounts, Summary};
use htc_base::text::control_characters::mask_control_characters;
use htc_base::text::count::format_thousands;
use htc_base::text::plural::counted;
use htc_slot::SlotState;

/// Maximum number of reasons in an explanation.
const MAX_REASONS: usize = 5;

/// Hint about a common reason why slots do not fetch, both in a simulation and in a pool.
const START_HINT: &str = "; a slot fetches work only while START, evaluated without a job, is not false; without a job == gives undefined where =?= gives false";

impl SimulationResult {
    /// Adds an explanation to jobs that were never offered to a slot: the reasons why no slot fetched, or why the
    /// calls failed.
    pub fn explain_unfetched_jobs(&mut self, origins: ParameterOrigins<'_>) {
        let summary = &self.summary;
        let none = match &summary.ended {
            Some(ended) => Some(format!(
                "no slot was offered a job: no machine is left ({})",
                mask_control_characters(ended)
            )),
            None if summary.slots == 0 => Some("no slot was offered a job: there are no slots".to_owned()),
            None => None,
        };
        let reasons = |fits: &[(u32, usize)]| {
            let is_meant = |silent: &&NonFetchingSlots| {
                fits.is_empty() || fits.contains(&(silent.place.slot_type, silent.place.config_number))
            };
            let silent = self.non_fetching.iter().filter(is_meant).take(MAX_REASONS);
            let reasons: Vec<String> =
                silent.map(|silent| describe_reason(origins, silent, summary)).collect();
            if reasons.is_empty() { none.iter().cloned().collect() } else { reasons }
        };
        let why: Vec<Vec<String>> = summary
            .never_run
            .iter()
            .map(|never| if never.why.is_empty() { reasons(&never.fits) } else { never.why.clone() })
            .collect();
        for (never, why) in self.summary.never_run.iter_mut().zip(why) {
            never.why = why;
        }
    }
}

/// Describes the failed calls of FETCH_WORK, or returns an empty string if none failed. Used if slots were free to
/// fetch.
fn describe_failed_calls(summary: &Summary) -> String {
    let describe = |hook: &HookCounts| {
        let lost = [(hook.failed, "failed"), (hook.bad, "printed something that is not a job ad")];
        let lost = lost.iter().filter(|(count, _)| *count > 0);
        let lost: Vec<_> = lost.map(|(count, what)| format!("{} {what}", format_thousands(*count))).collect();
        (!lost.is_empty()).then(|| {
            let calls = counted(format_thousands(hook.calls), "call");
            format!("; of {calls} of {} {}", hook.hook, lost.join(", "))
        })
    };
    summary.hooks.first().and_then(describe).unwrap_or_default()
}

fn describe_reason(origins: ParameterOrigins<'_>, silent: &NonFetchingSlots, summary: &Summary) -> String {
    let NonFetchingSlots { slots, place: of, state, false_start: start, asleep } = silent;
    let slots = counted(format_thousands(*slots), "slot");
    if *asleep {
        let machine =
            if silent.slots == 1 { "is on a machine that sleeps" } else { "are on machines that sleep" };
        return format!("no slot was offered a job: {slots} {machine} at the end (HIBERNATE)");
    }
    let Some(start) = start else {
        let are = if silent.slots == 1 { "is" } else { "are" };
        let is_free = matches!(state.state, SlotState::Owner | SlotState::Unclaimed);
        let lost = if is_free { describe_failed_calls(summary) } else { String::new() };
        return format!("no slot was offered one: {slots} {are} {state} at the end{lost}");
    };
    // START is evaluated without a job, so job attributes are undefined. A comparison by `==` is then undefined, and
    // a job could make it true, but a comparison by `=?=` is false.
    let (text, mut parts) = match &start.because {
        Some(part) => (&part.text, part.seen.clone()),
        None => (&start.text, start.parts.clone()),
    };
    let asks_a_job = text.contains("=?=") && parts.iter().any(|part| part.ends_with(" = undefined"));
    let hint = if asks_a_job { START_HINT } else { "" };
    parts.extend(Some(origins.parameter_origin(of, "START")).filter(|place| !place.is_empty()));
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!(
        "no slot was offered a job: START is false in {slots}: {}{}{hint}",
        mask_control_characters(text),
        mask_control_characters(&parts)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding_expressions::SimulationSource;
    use crate::of_text::{CONFIG, TextCourse};

    #[test]
    fn a_start_that_is_false_without_a_job_prevents_fetching() {
        let config = format!("{CONFIG}START = TARGET.Site =?= \"x\"\n");
        let course = TextCourse::new(&config, "length = '1h'\n[[jobs]]\nowner = 'ana'\n");
        let mut simulation = course.begin().unwrap();
        simulation.run();
        let mut played = simulation.finish();
        played.explain_unfetched_jobs(course.origins());
        let [never] = &played.summary.never_run[..] else { panic!("{:?}", played.summary.never_run) };
        let why = &never.why[0];
        assert!(why.starts_with("no slot was offered a job: START is false in 2 slots: "), "{why}");
        assert!(why.contains("condor_config, line 11)") && why.ends_with(START_HINT), "{why}");
    }
}
