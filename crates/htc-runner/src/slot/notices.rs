//! What the machine tells, as events of the stream.

use crate::events::{Event, Kind};
use htc_base::time::Now;
use htc_slot::{ExecutionPoint, Notice, SlotKey};

/// The name of a slot for messages, also when it is gone by now.
pub fn slot_name(machine: &ExecutionPoint, key: SlotKey) -> String {
    match (machine.slot_id(key), key.sub) {
        (Some(id), _) => id.to_owned(),
        (None, 0) => format!("slot{}", key.number),
        (None, sub) => {
            let parent = machine.slot_id(SlotKey::of(key.number)).map(str::to_owned);
            format!("{}_{sub}", parent.unwrap_or_else(|| format!("slot{}", key.number)))
        }
    }
}

/// A notice as an event. A quirk names itself and says what a real pool does.
pub fn event(machine: &ExecutionPoint, now: Now, notice: Notice) -> Event {
    let with_reason =
        |event: Event, reason: String| if reason.is_empty() { event } else { event.reason(reason) };
    match notice {
        Notice::State { slot, state, activity, reason } => {
            let event = Event::new(now, Kind::State).slot(slot_name(machine, slot));
            with_reason(event.state(state.name(), activity.name()), reason)
        }
        Notice::Verdict { slot, hook, job, verdict, reason } => {
            let mut event = Event::new(now, Kind::Verdict).slot(slot_name(machine, slot)).hook(hook.name());
            if let Some(job) = job {
                event = event.job(job);
            }
            with_reason(event.verdict(verdict), reason)
        }
        Notice::Claim { slot, id, begins, reason } => {
            let what = if begins { "begins" } else { "given up" };
            let text = if reason.is_empty() { id.public() } else { format!("{id}: {reason}") };
            Event::new(now, Kind::Claim).slot(slot_name(machine, slot)).verdict(what).reason(text)
        }
        Notice::Gone { slot } => {
            let event = Event::new(now, Kind::State).slot(slot_name(machine, slot));
            event.state("Delete", "Idle").reason("the dynamic slot is free and goes away")
        }
        Notice::Warning { slot, text } => {
            let mut event = Event::new(now, Kind::Warning).reason(text);
            if let Some(slot) = slot {
                event = event.slot(slot_name(machine, slot));
            }
            event
        }
        Notice::Quirk { slot, quirk } => {
            let mut event = Event::new(now, Kind::Warning).verdict(quirk.id()).reason(format!(
                "differs from a real pool, where {}; --quirks reference does the same",
                quirk.line()
            ));
            if let Some(slot) = slot {
                event = event.slot(slot_name(machine, slot));
            }
            event
        }
    }
}
