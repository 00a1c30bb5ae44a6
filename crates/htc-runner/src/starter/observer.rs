//! Observer of a starter: the access point's side, if it is simulated.

use super::control::ControlCommand;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::transfer::{TransferKind, TransferOutcome};
use htc_starter::{JobLogEvent, StarterAction, StarterCommand, StarterEvent, StarterNotice};

/// Observation of a starter, as reported to its shadow.
#[derive(Debug)]
pub enum StarterObservation<'a> {
    /// The scratch directory exists: the starter's first update, with the resources of its slot.
    Started,
    /// A file transfer begins.
    TransferStarted(TransferKind),
    /// A file transfer has ended.
    TransferEnded(&'a TransferOutcome),
    /// The connection to the shadow was lost and made again.
    Reconnected,
    /// An event.
    Event(&'a JobLogEvent),
    /// An update.
    Update(ClassAd),
    /// The job's process has ended.
    JobEnded,
    /// The job's start time was missed.
    StartTimeMissed,
    /// Removal of the job was requested.
    RemovalRequested,
    /// The requested wake time was reached.
    WakeTime,
}

/// Observer of a starter. The commands that it returns are requested from the starter.
pub trait StarterObserver {
    /// Handles an observation.
    fn observe(&mut self, now: ClockReading, seen: StarterObservation<'_>) -> Vec<StarterCommand>;
    /// Handles an order for the job; returns the resulting requests for the starter.
    ///
    /// # Errors
    /// Fails with a message for the client if the order cannot be carried out.
    fn handle_order(
        &mut self,
        now: ClockReading,
        command: ControlCommand,
    ) -> Result<Vec<StarterCommand>, String>;
    /// Returns the time at which the observer must be called, or `None`.
    fn wake_at(&self) -> Option<MonotonicTime>;
}

/// Returns the observation of an event, or `None`.
pub(super) fn observation_of_event(event: &StarterEvent) -> Option<StarterObservation<'_>> {
    match event {
        StarterEvent::ScratchMade { .. } => Some(StarterObservation::Started),
        StarterEvent::Transferred(done) => Some(StarterObservation::TransferEnded(done)),
        StarterEvent::Requested(StarterCommand::Remove(_)) => Some(StarterObservation::RemovalRequested),
        _ => None,
    }
}

/// Returns the observation of an action, or `None`.
pub(super) fn observation_of_action(action: &StarterAction) -> Option<StarterObservation<'_>> {
    match action {
        StarterAction::Transfer(way) => Some(StarterObservation::TransferStarted(*way)),
        StarterAction::ReconnectShadow => Some(StarterObservation::Reconnected),
        StarterAction::Log(event) => Some(StarterObservation::Event(event)),
        StarterAction::WriteUpdateAd(bytes) => Some(StarterObservation::Update(long::parse(bytes).0)),
        StarterAction::Report(StarterNotice::JobEnded { .. }) => Some(StarterObservation::JobEnded),
        StarterAction::Report(StarterNotice::DeferralMissed) => Some(StarterObservation::StartTimeMissed),
        _ => None,
    }
}
