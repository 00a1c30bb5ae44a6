//! Who looks on while a starter runs a job: the access point's side, where it is played.

use super::control::ControlCommand;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::transfer::{TransferKind, TransferOutcome};
use htc_starter::{JobLogEvent, StarterAction, StarterCommand, StarterEvent, StarterNotice};

/// What a starter does that its shadow hears of.
#[derive(Debug)]
pub enum StarterObservation<'a> {
    /// It has its directory, and tells of the resources that its slot has: its first update.
    Started,
    /// It begins to move files.
    TransferStarted(TransferKind),
    /// It has moved them.
    TransferEnded(&'a TransferOutcome),
    /// An event.
    Event(&'a JobLogEvent),
    /// An update.
    Update(ClassAd),
    /// The job's process has ended.
    JobEnded,
    /// Its time to begin has passed.
    StartTimeMissed,
    /// Somebody has it remove the job.
    RemovalRequested,
    /// Nothing: the time asked for has come.
    WakeTime,
}

/// Who looks on. What it returns is asked of the starter.
pub trait StarterObserver {
    /// Something was seen.
    fn observe(&mut self, now: ClockReading, seen: StarterObservation<'_>) -> Vec<StarterCommand>;
    /// Somebody gives an order for the job; what the starter is to be asked for that.
    ///
    /// # Errors
    /// It cannot be done, in words for whoever gave it.
    fn handle_order(
        &mut self,
        now: ClockReading,
        command: ControlCommand,
    ) -> Result<Vec<StarterCommand>, String>;
    /// When it wants to be woken.
    fn wake_at(&self) -> Option<MonotonicTime>;
}

/// What of an event is seen.
pub(super) fn observation_of_event(event: &StarterEvent) -> Option<StarterObservation<'_>> {
    match event {
        StarterEvent::ScratchMade { .. } => Some(StarterObservation::Started),
        StarterEvent::Transferred(done) => Some(StarterObservation::TransferEnded(done)),
        StarterEvent::Requested(StarterCommand::Remove(_)) => Some(StarterObservation::RemovalRequested),
        _ => None,
    }
}

/// What of an action is seen.
pub(super) fn observation_of_action(action: &StarterAction) -> Option<StarterObservation<'_>> {
    match action {
        StarterAction::Transfer(way) => Some(StarterObservation::TransferStarted(*way)),
        StarterAction::Log(event) => Some(StarterObservation::Event(event)),
        StarterAction::WriteUpdateAd(bytes) => Some(StarterObservation::Update(long::parse(bytes).0)),
        StarterAction::Report(StarterNotice::JobEnded { .. }) => Some(StarterObservation::JobEnded),
        StarterAction::Report(StarterNotice::DeferralMissed) => Some(StarterObservation::StartTimeMissed),
        _ => None,
    }
}
