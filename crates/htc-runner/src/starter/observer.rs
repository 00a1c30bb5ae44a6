//! Observer of a starter: interface between a starter and the simulated access point of its job.

use super::control::ControlCommand;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::transfer::{TransferKind, TransferOutcome};
use htc_starter::{JobLogEvent, StarterAction, StarterCommand, StarterEvent, StarterNotice};

/// Observation of a starter, in the form in which its shadow gets it.
#[derive(Debug)]
pub enum StarterObservation<'a> {
    /// The scratch directory exists, and the starter sends its first update with the resources of its slot.
    Started,
    /// A file transfer begins.
    TransferStarted(TransferKind),
    /// A file transfer has ended.
    TransferEnded(&'a TransferOutcome),
    /// The connection to the shadow was lost and established again.
    Reconnected,
    /// An event for the job's log.
    Event(&'a JobLogEvent),
    /// An update of the job ad.
    Update(ClassAd),
    /// The job's process has ended.
    JobEnded,
    /// The job's start time was missed.
    StartTimeMissed,
    /// Removal of the job was requested.
    RemovalRequested,
    /// The time that [`StarterObserver::wake_at`] returned was reached.
    WakeTime,
}

/// Observer of a starter. The starter carries out the commands that the observer returns.
pub trait StarterObserver {
    /// Handles an observation; returns commands for the starter.
    fn observe(&mut self, now: ClockReading, observation: StarterObservation<'_>) -> Vec<StarterCommand>;
    /// Handles an order for the job; returns the resulting commands for the starter.
    ///
    /// # Errors
    /// Fails with a message for the client if the order cannot be carried out.
    fn handle_order(
        &mut self,
        now: ClockReading,
        command: ControlCommand,
    ) -> Result<Vec<StarterCommand>, String>;
    /// Returns the time at which the observer must be called, or `None` if it need not be called.
    fn wake_at(&self) -> Option<MonotonicTime>;
}

/// Returns the observation to report for an event, or `None` if a shadow is not informed of it.
pub(super) fn observation_of_event(event: &StarterEvent) -> Option<StarterObservation<'_>> {
    match event {
        StarterEvent::ScratchMade { .. } => Some(StarterObservation::Started),
        StarterEvent::Transferred(done) => Some(StarterObservation::TransferEnded(done)),
        StarterEvent::Requested(StarterCommand::Remove(_)) => Some(StarterObservation::RemovalRequested),
        _ => None,
    }
}

/// Returns the observation to report for an action, or `None` if a shadow is not informed of it.
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
