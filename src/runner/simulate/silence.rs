//! Why jobs have never run that no slot was offered: what keeps slots from asking.

use super::decided::{clean, place};
use super::simulate_ready::Ready;
use super::simulate_report::thousands;
use crate::os::RealWorld;
use crate::runner::simulate::summary::{HookCounts, Summary, pair_name};
use crate::runner::simulate::{Played, Silent};
use crate::slot::State;

/// So many reasons are told.
const MOST: usize = 5;

/// What keeps many a slot from asking, in a pool too.
const HINT: &str = "; a slot asks for work only while START is not false without a job: there =?= is false where == leaves it open";

/// Gives jobs that no slot was offered the reasons why none has asked, or why asking brought nothing.
pub(super) fn explain_silence(ready: &Ready, played: &mut Played) {
    let summary = &played.summary;
    let mut reasons: Vec<String> =
        played.silent.iter().take(MOST).map(|silent| reason(ready, silent, summary)).collect();
    if reasons.is_empty() {
        reasons.extend(match &summary.ended {
            Some(ended) => Some(format!("no slot was offered one: no machine is left ({})", clean(ended))),
            None if summary.slots == 0 => Some("no slot was offered one: there is none".to_owned()),
            None => None,
        });
    }
    for never in played.summary.never_run.iter_mut().filter(|never| never.why.is_empty()) {
        never.why.clone_from(&reasons);
    }
}

/// What became of calls that brought no job, where a slot was free to ask.
fn lost_calls(summary: &Summary) -> String {
    let told = |hook: &HookCounts| {
        let lost = [(hook.failed, "failed"), (hook.bad, "brought what is no job ad")];
        let lost = lost.iter().filter(|(count, _)| *count > 0);
        let lost: Vec<_> = lost.map(|(count, what)| format!("{} {what}", thousands(*count))).collect();
        (!lost.is_empty())
            .then(|| format!("; of {} calls of {} {}", thousands(hook.calls), hook.hook, lost.join(", ")))
    };
    summary.hooks.first().and_then(told).unwrap_or_default()
}

fn reason(ready: &Ready, silent: &Silent, summary: &Summary) -> String {
    let Silent { slots, place: of, pair, start } = silent;
    let slots = if *slots == 1 { "1 slot".to_owned() } else { format!("{} slots", thousands(*slots)) };
    let Some(start) = start else {
        let are = if silent.slots == 1 { "is" } else { "are" };
        let is_free = matches!(pair.0, State::Owner | State::Unclaimed);
        let lost = if is_free { lost_calls(summary) } else { String::new() };
        return format!("no slot was offered one: {slots} {are} {} at the end{lost}", pair_name(*pair));
    };
    // Without a job what is asked of it is undefined: that a job could make it true is known of == and not of =?=.
    let (text, mut seen) = match &start.because {
        Some(part) => (&part.text, part.seen.clone()),
        None => (&start.text, start.parts.clone()),
    };
    let asks_a_job = text.contains("=?=") && seen.iter().any(|seen| seen.ends_with(" = undefined"));
    let hint = if asks_a_job { HINT } else { "" };
    seen.extend(Some(place(ready, of, "START", &RealWorld::new())).filter(|place| !place.is_empty()));
    let seen = if seen.is_empty() { String::new() } else { format!(" ({})", seen.join(", ")) };
    format!("no slot was offered one: START is false in {slots}: {}{}{hint}", clean(text), clean(&seen))
}
