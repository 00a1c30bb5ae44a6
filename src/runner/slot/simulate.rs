//! What a simulation has in common with the live runner: the words of requests and events.

use super::notices;
use super::requests::{Asked, Meaning, Request};
use crate::classad::Dialect;
use crate::os::identity;
use crate::quirks::Quirks;
use crate::runner::events::Event as Told;
use crate::slot::{Event, ExecutionPoint, Notice, SlotKey};
use crate::time::Now;

/// What a request asks of the machine; `None` for those that are answered without it.
///
/// # Errors
/// It means nothing.
pub(in crate::runner) fn event_of_request(request: Request, known: &[&str]) -> Result<Option<Event>, String> {
    // Slots that are carved out of others are not there yet.
    if !request.slot.as_deref().is_some_and(|slot| slot.contains('_')) {
        request.check_slot(known)?;
    }
    let asked = Asked {
        ad: Vec::new(),
        uid: identity::effective_uid(),
        lease: 0,
        host: "",
        quirks: Quirks::None,
        dialect: Dialect::new_syntax(),
    };
    Ok(match request.meaning(asked)? {
        Meaning::Event(event) | Meaning::Drain(event) | Meaning::Claim(event) | Meaning::Hold(event, _) => {
            Some(*event)
        }
        Meaning::Reconfigure | Meaning::Status => None,
    })
}

/// A notice as an event of the stream.
pub(in crate::runner) fn event_of_notice(machine: &ExecutionPoint, now: Now, notice: Notice) -> Told {
    notices::event(machine, now, notice)
}

/// The name of a slot for messages, also when it is gone by now.
pub(in crate::runner) fn slot_name(machine: &ExecutionPoint, key: SlotKey) -> String {
    notices::slot_name(machine, key)
}
