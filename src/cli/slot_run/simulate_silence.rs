//! Why jobs have never run that no slot was offered: what keeps slots from asking.

use super::decided::{clean, place};
use super::simulate::Ready;
use super::simulate_report::thousands;
use crate::os::RealWorld;
use crate::runner::simulate::summary::pair_name;
use crate::runner::simulate::{Played, Silent};

/// So many reasons are told.
const MOST: usize = 5;

/// What keeps many a slot from asking, in a pool too.
const HINT: &str = "; a slot asks for work only while START is not false without a job: there =?= is false where == leaves it open";

/// Gives jobs that no slot was offered the reasons why none has asked.
pub(super) fn explain_silence(ready: &Ready, played: &mut Played) {
    let reasons: Vec<String> = played.silent.iter().take(MOST).map(|silent| reason(ready, silent)).collect();
    for never in played.summary.never_run.iter_mut().filter(|never| never.why.is_empty()) {
        never.why.clone_from(&reasons);
    }
}

fn reason(ready: &Ready, silent: &Silent) -> String {
    let Silent { slots, place: of, pair, start } = silent;
    let slots = if *slots == 1 { "1 slot".to_owned() } else { format!("{} slots", thousands(*slots)) };
    let Some(start) = start else {
        let are = if silent.slots == 1 { "is" } else { "are" };
        return format!("no slot was offered one: {slots} {are} {} at the end", pair_name(*pair));
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
