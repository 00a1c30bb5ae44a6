//! Who looks on while a starter runs a job: the access point's side, where it is played.

use super::control::ControlCommand;
use htc_base::time::{Now, Tick};
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::transfer::{Transferred, Way};
use htc_starter::{Action, Event, LogEvent, Notice, Request};

/// What a starter does that its shadow hears of.
#[derive(Debug)]
pub enum Seen<'a> {
    /// It has its directory, and tells of the resources that its slot has: its first update.
    Begun,
    /// It begins to move files.
    Transfer(Way),
    /// It has moved them.
    Transferred(&'a Transferred),
    /// An event.
    Log(&'a LogEvent),
    /// An update.
    Update(ClassAd),
    /// The job's process has ended.
    JobEnded,
    /// Its time to begin has passed.
    Missed,
    /// Somebody has it remove the job.
    Removal,
    /// Nothing: the time asked for has come.
    Time,
}

/// Who looks on. What it returns is asked of the starter.
pub trait Companion {
    /// Something was seen.
    fn saw(&mut self, now: Now, seen: Seen<'_>) -> Vec<Request>;
    /// Somebody gives an order for the job; what the starter is to be asked for that.
    ///
    /// # Errors
    /// It cannot be done, in words for whoever gave it.
    fn ordered(&mut self, now: Now, command: ControlCommand) -> Result<Vec<Request>, String>;
    /// When it wants to be woken.
    fn wake_at(&self) -> Option<Tick>;
}

/// What of an event is seen.
pub(super) fn of_event(event: &Event) -> Option<Seen<'_>> {
    match event {
        Event::ScratchMade { .. } => Some(Seen::Begun),
        Event::Transferred(done) => Some(Seen::Transferred(done)),
        Event::Asked(Request::Remove(_)) => Some(Seen::Removal),
        _ => None,
    }
}

/// What of an action is seen.
pub(super) fn of_action(action: &Action) -> Option<Seen<'_>> {
    match action {
        Action::Transfer(way) => Some(Seen::Transfer(*way)),
        Action::Log(event) => Some(Seen::Log(event)),
        Action::WriteUpdateAd(bytes) => Some(Seen::Update(long::parse(bytes).0)),
        Action::Tell(Notice::JobEnded { .. }) => Some(Seen::JobEnded),
        Action::Tell(Notice::Missed) => Some(Seen::Missed),
        _ => None,
    }
}
