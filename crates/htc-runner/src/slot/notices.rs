//! Conversion of the state machine's notices to events of the event stream.

use crate::events::{RunnerEvent, RunnerEventKind};
use htc_base::time::ClockReading;
use htc_slot::{ExecutionPoint, SlotKey, SlotNotice};

/// Returns the name of a slot for messages, even if the slot no longer exists.
pub fn slot_name(machine: &ExecutionPoint, key: SlotKey) -> String {
    match (machine.slot_id(key), key.sub) {
        (Some(id), _) => id.to_owned(),
        (None, 0) => format!("slot{}", key.number),
        (None, sub) => {
            let parent = machine.slot_id(SlotKey::from_number(key.number)).map(str::to_owned);
            format!("{}_{sub}", parent.unwrap_or_else(|| format!("slot{}", key.number)))
        }
    }
}

/// Converts a notice to an event. For a notice about a quirk, the event has the quirk's id and says what a real pool
/// does.
pub fn notice_to_event(machine: &ExecutionPoint, now: ClockReading, notice: SlotNotice) -> RunnerEvent {
    let with_reason =
        |event: RunnerEvent, reason: String| if reason.is_empty() { event } else { event.reason(reason) };
    match notice {
        SlotNotice::StateChanged { slot, state, activity, reason, cause: _ } => {
            let event = RunnerEvent::new(now, RunnerEventKind::State).slot(slot_name(machine, slot));
            let event = RunnerEvent { policy: reason.policy(), ..event.state(state.name(), activity.name()) };
            with_reason(event, reason.to_string())
        }
        SlotNotice::Verdict { slot, hook, job, verdict, reason } => {
            let mut event = RunnerEvent::new(now, RunnerEventKind::Verdict)
                .slot(slot_name(machine, slot))
                .hook(hook.name());
            if let Some(job) = job {
                event = event.job(job);
            }
            with_reason(event.verdict(verdict), reason)
        }
        SlotNotice::Claim { slot, id, begins, reason } => {
            let what = if begins { "begins" } else { "given up" };
            let text = if reason.is_empty() { id.public() } else { format!("{id}: {reason}") };
            RunnerEvent::new(now, RunnerEventKind::Claim)
                .slot(slot_name(machine, slot))
                .verdict(what)
                .reason(text)
        }
        SlotNotice::SlotRemoved { slot } => {
            let event = RunnerEvent::new(now, RunnerEventKind::State).slot(slot_name(machine, slot));
            event.state("Delete", "Idle").reason("the dynamic slot is free and is removed")
        }
        SlotNotice::Warning { slot, text } | SlotNotice::Refusal { slot, text } => {
            let mut event = RunnerEvent::new(now, RunnerEventKind::Warning).reason(text);
            if let Some(slot) = slot {
                event = event.slot(slot_name(machine, slot));
            }
            event
        }
        SlotNotice::Quirk { slot, quirk } => {
            let mut event =
                RunnerEvent::new(now, RunnerEventKind::Warning).verdict(quirk.id()).reason(format!(
                    "differs from a real pool, where {}; --quirks reference does the same as the pool",
                    quirk.line()
                ));
            if let Some(slot) = slot {
                event = event.slot(slot_name(machine, slot));
            }
            event
        }
    }
}
