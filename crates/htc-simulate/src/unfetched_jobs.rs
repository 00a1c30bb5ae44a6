//! Explanation why jobs were never offered to a slot: why slots do not fetch.

use super::parameter_origins::ParameterOrigins;
use super::simulation_result::{NonFetchingSlots, SimulationResult};
use super::summary::{HookCounts, Summary, state_activity_name};
use htc_base::text::control_characters::mask_control_characters;
use htc_base::text::count::format_thousands;
use htc_slot::SlotState;

/// Maximum number of reasons.
const MAX_REASONS: usize = 5;

/// Hint about a common reason why slots do not fetch, in a pool as well.
const START_HINT: &str = "; a slot asks for work only while START is not false without a job: there =?= is false where == leaves it open";

impl SimulationResult {
    /// Adds to jobs that were never offered to a slot the reasons why no slot fetched, or why fetching failed.
    pub fn explain_unfetched_jobs(&mut self, origins: ParameterOrigins<'_>) {
        let summary = &self.summary;
        let none = match &summary.ended {
            Some(ended) => Some(format!(
                "no slot was offered one: no machine is left ({})",
                mask_control_characters(ended)
            )),
            None if summary.slots == 0 => Some("no slot was offered one: there is none".to_owned()),
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

/// Describes the failed calls, for slots that were free to fetch.
fn describe_failed_calls(summary: &Summary) -> String {
    let told = |hook: &HookCounts| {
        let lost = [(hook.failed, "failed"), (hook.bad, "brought what is no job ad")];
        let lost = lost.iter().filter(|(count, _)| *count > 0);
        let lost: Vec<_> = lost.map(|(count, what)| format!("{} {what}", format_thousands(*count))).collect();
        (!lost.is_empty()).then(|| {
            format!("; of {} calls of {} {}", format_thousands(hook.calls), hook.hook, lost.join(", "))
        })
    };
    summary.hooks.first().and_then(told).unwrap_or_default()
}

fn describe_reason(origins: ParameterOrigins<'_>, silent: &NonFetchingSlots, summary: &Summary) -> String {
    let NonFetchingSlots { slots, place: of, state: pair, false_start: start, asleep } = silent;
    let slots = if *slots == 1 { "1 slot".to_owned() } else { format!("{} slots", format_thousands(*slots)) };
    if *asleep {
        let machine =
            if silent.slots == 1 { "is on a machine that sleeps" } else { "are on machines that sleep" };
        return format!("no slot was offered one: {slots} {machine} at the end (HIBERNATE)");
    }
    let Some(start) = start else {
        let are = if silent.slots == 1 { "is" } else { "are" };
        let is_free = matches!(pair.0, SlotState::Owner | SlotState::Unclaimed);
        let lost = if is_free { describe_failed_calls(summary) } else { String::new() };
        return format!(
            "no slot was offered one: {slots} {are} {} at the end{lost}",
            state_activity_name(*pair)
        );
    };
    // Without a job, its attributes are undefined: `==` then is undefined, so a job could make it true, but `=?=` is false.
    let (text, mut seen) = match &start.because {
        Some(part) => (&part.text, part.seen.clone()),
        None => (&start.text, start.parts.clone()),
    };
    let asks_a_job = text.contains("=?=") && seen.iter().any(|seen| seen.ends_with(" = undefined"));
    let hint = if asks_a_job { START_HINT } else { "" };
    seen.extend(Some(origins.parameter_origin(of, "START")).filter(|place| !place.is_empty()));
    let seen = if seen.is_empty() { String::new() } else { format!(" ({})", seen.join(", ")) };
    format!(
        "no slot was offered one: START is false in {slots}: {}{}{hint}",
        mask_control_characters(text),
        mask_control_characters(&seen)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding_expressions::SimulationSource;
    use crate::of_text::{CONFIG, TextCourse};

    #[test]
    fn a_start_that_is_false_without_a_job_is_why_no_slot_asks() {
        let config = format!("{CONFIG}START = TARGET.Site =?= \"x\"\n");
        let course = TextCourse::new(&config, "length = '1h'\n[[jobs]]\nowner = 'ana'\n");
        let mut simulation = course.begin().unwrap();
        simulation.run();
        let mut played = simulation.finish();
        played.explain_unfetched_jobs(course.origins());
        let [never] = &played.summary.never_run[..] else { panic!("{:?}", played.summary.never_run) };
        let why = &never.why[0];
        assert!(why.starts_with("no slot was offered one: START is false in 2 slots: "), "{why}");
        assert!(why.contains("condor_config, line 11)") && why.ends_with(START_HINT), "{why}");
    }
}
