//! Observer of a starter for the shadow. Converts the starter's observations to events of the shadow's state machine.
//! The actions of the state machine become commands for the starter or events in the log.

use bstr::BString;

use super::run_history::RunHistory;
use crate::starter::{ControlCommand, StarterObservation, StarterObserver, UserLog};
use htc_base::job::HoldCode;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_os::clock;
use htc_starter::disk::SHADOW_ONLY_ATTRIBUTES;
use htc_starter::shadow::{
    HoldOrVacateReason, JobEndRequest, Shadow, ShadowAction, ShadowEvent, UserRequest,
};
use htc_starter::{JobLogEvent, ShadowReason, StarterCommand, StarterVacateReason};
use htc_user_log::EventBody;

/// Shadow with the user log of its job.
pub(super) struct ShadowObserver<'w> {
    pub(super) shadow: Shadow<'w>,
    pub(super) log: Option<UserLog>,
    pub(super) world: &'w dyn World,
    /// True if the starter belongs to the local universe.
    pub(super) local: bool,
    /// The scratch directory of the current run.
    pub(super) scratch: BString,
    /// Actions to perform when the starter has ended.
    pub(super) pending_actions: Vec<ShadowAction>,
    pub(super) wake_at: Option<MonotonicTime>,
    pub(super) max_vacate_time: std::time::Duration,
    pub(super) messages: Vec<String>,
    pub(super) history: RunHistory,
    pub(super) observations: RunObservations,
}

/// Observations of the current run.
#[derive(Default)]
pub(super) struct RunObservations {
    /// True if the job was evicted.
    pub(super) evicted: bool,
    /// Time by which a job that was asked to end must have ended, or `None`.
    pub(super) hard_kill_at: Option<MonotonicTime>,
    pub(super) final_update: FinalUpdate,
}

/// Completeness of the starter's final update as seen by the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FinalUpdate {
    /// The queue receives the whole update.
    #[default]
    Complete,
    /// The starter sends no final update, because a checkpoint could not be uploaded.
    Missing,
    /// The connection is lost, because the starter reported an error.
    Lost,
}

impl ShadowObserver<'_> {
    /// Returns the attributes that the queue never receives for a run whose files could not be transferred: the
    /// modification times of standard output and standard error are in the final update (`notifyJobExit`), and the
    /// disk usage is in the update before it (`allJobsDone`).
    pub(super) fn unreported_attributes(&self) -> &'static [&'static str] {
        match self.observations.final_update {
            FinalUpdate::Lost => &["StderrMtime", "StdoutMtime"],
            FinalUpdate::Missing => &SHADOW_ONLY_ATTRIBUTES,
            FinalUpdate::Complete => &[],
        }
    }

    /// Passes an event to the shadow; returns the resulting commands for the starter.
    pub(super) fn handle_event(&mut self, now: ClockReading, event: ShadowEvent) -> Vec<StarterCommand> {
        let mut requests = Vec::new();
        for action in self.shadow.step(now, event) {
            match action {
                ShadowAction::Log(body) => self.write(now, *body, None),
                ShadowAction::LogBefore(body, ad) => self.write(now, *body, Some(&ad)),
                ShadowAction::WakeAt(at) => self.wake_at = at,
                ShadowAction::Report(text) => self.messages.push(text),
                ShadowAction::RecordRun(kind, ad) => {
                    let recorded = self.history.record_run(now, kind, &ad, self.world);
                    self.report_unrecorded(recorded);
                }
                ShadowAction::RecordTransfer(record) => {
                    let recorded = self.history.record_transfer(now, &record, self.world);
                    self.report_unrecorded(recorded);
                }
                ShadowAction::RequestEnd(request) => {
                    // A starter of the local universe waits for its job without a limit.
                    self.observations.hard_kill_at =
                        (!self.local).then(|| clock::monotonic_now().plus(self.max_vacate_time));
                    requests.extend(self.shadow_reason_request(request));
                    requests.push(self.starter_request(request));
                }
                ShadowAction::RequestEndAtOnce(request) => {
                    self.observations.hard_kill_at = None;
                    requests.extend(self.shadow_reason_request(request));
                    requests
                        .push(StarterCommand::Fast(self.deactivation_reason("Claim deactivated forcibly")));
                }
                ShadowAction::CallHook(_) | ShadowAction::RunStarter(_) | ShadowAction::Finish(_) => {
                    self.pending_actions.push(action)
                }
            }
        }
        requests
    }

    fn report_unrecorded(&mut self, recorded: std::io::Result<()>) {
        if let Err(error) = recorded {
            self.messages.push(format!("cannot record the run of the job: {error}"));
        }
    }

    /// Returns the command for the starter. In a pool the startd informs the starter only that the claim was
    /// deactivated, so all requests of a shadow become a soft end. A starter of the local universe knows the reason,
    /// and sends the corresponding signal.
    fn starter_request(&self, request: JobEndRequest) -> StarterCommand {
        match request {
            JobEndRequest::Hold if self.local => StarterCommand::Hold(None),
            JobEndRequest::Remove if self.local => StarterCommand::Remove(None),
            JobEndRequest::Requeue => StarterCommand::Requeue,
            JobEndRequest::Hold | JobEndRequest::Remove | JobEndRequest::Vacate => {
                StarterCommand::Graceful(self.deactivation_reason("Claim deactivated"))
            }
        }
    }

    /// Returns the vacate reason for a claim that its shadow deactivates, or `None` in the local universe.
    fn deactivation_reason(&self, reason: &str) -> Option<StarterVacateReason> {
        let code = HoldCode::ClaimDeactivated as i64;
        (!self.local).then(|| StarterVacateReason { reason: reason.into(), code, subcode: 0 })
    }

    /// Returns the command that passes the shadow's own reason to the starter, for the argument of JOB_EXIT; or
    /// `None` if the deactivation of the claim is the only reason.
    fn shadow_reason_request(&self, request: JobEndRequest) -> Option<StarterCommand> {
        let reason = match request {
            JobEndRequest::Hold => ShadowReason::Hold,
            JobEndRequest::Remove => ShadowReason::Remove,
            JobEndRequest::Vacate | JobEndRequest::Requeue => return None,
        };
        (!self.local).then_some(StarterCommand::SetShadowReason(reason))
    }

    fn write(&mut self, now: ClockReading, body: EventBody, before: Option<&ClassAd>) {
        let ad = before.unwrap_or(self.shadow.ad());
        if let Some(log) = &mut self.log
            && let Err(error) = log.write_queue_event(now, body, ad, self.world)
        {
            let path = log.path().display().to_string();
            self.messages.push(format!("cannot write to the job's log '{path}': {error}"));
        }
        self.messages.extend(self.log.as_mut().and_then(UserLog::take_complaint));
    }
}

impl ShadowObserver<'_> {
    /// Converts a command to a request for the queue, or returns `None` for a request to the starter and for a status
    /// query.
    fn to_user_request(command: ControlCommand) -> Option<UserRequest> {
        Some(match command {
            ControlCommand::Hold(why) => UserRequest::Hold(to_vacate_reason(why)),
            ControlCommand::Remove(reason) => UserRequest::Remove(reason),
            ControlCommand::Release(reason) => UserRequest::Release(reason),
            ControlCommand::Vacate(None, fast) => UserRequest::vacate(fast),
            ControlCommand::Vacate(Some(why), fast) => match (1..1000).contains(&why.code) {
                true => UserRequest::Hold(to_vacate_reason(why)),
                false => UserRequest::Vacate { why: to_vacate_reason(why), fast },
            },
            ControlCommand::StarterRequest(_) | ControlCommand::Status => return None,
        })
    }
}

/// Converts the reason: the queue records the reason that the starter receives.
fn to_vacate_reason(
    StarterVacateReason { reason, code, subcode }: StarterVacateReason,
) -> HoldOrVacateReason {
    HoldOrVacateReason { reason, code, subcode }
}

impl StarterObserver for ShadowObserver<'_> {
    fn handle_order(
        &mut self,
        now: ClockReading,
        command: ControlCommand,
    ) -> Result<Vec<StarterCommand>, String> {
        let at_once = matches!(command, ControlCommand::Vacate(_, true));
        let Some(order) = Self::to_user_request(command) else { return Err("no job is running".to_owned()) };
        if let Some(why) = self.shadow.refusal_reason(&order) {
            return Err(why.to_owned());
        }
        let mut requests = self.handle_event(now, ShadowEvent::UserRequested(order));
        if at_once {
            requests.push(StarterCommand::Fast(None));
        }
        Ok(requests)
    }

    fn observe(&mut self, now: ClockReading, observation: StarterObservation<'_>) -> Vec<StarterCommand> {
        let event = match observation {
            // The shadow already knows the attributes of the starter's first update.
            StarterObservation::Started => ShadowEvent::Updated(Box::default()),
            StarterObservation::TransferStarted(way) => ShadowEvent::Transfer(way),
            StarterObservation::TransferEnded(done) => ShadowEvent::Transferred(Box::new(done.clone())),
            StarterObservation::Reconnected => ShadowEvent::Reconnected,
            StarterObservation::Update(ad) => ShadowEvent::Updated(Box::new(ad)),
            StarterObservation::JobEnded => ShadowEvent::JobEnded,
            StarterObservation::Event(JobLogEvent::Execute) => ShadowEvent::Executing(self.scratch.clone()),
            StarterObservation::Event(JobLogEvent::Suspended { processes }) => {
                ShadowEvent::Suspended(*processes)
            }
            StarterObservation::Event(JobLogEvent::Continued) => ShadowEvent::Continued,
            StarterObservation::Event(JobLogEvent::Error { failure, critical }) => {
                // If a checkpoint could not be uploaded, the starter sends no final update.
                let of_checkpoint = failure.code == HoldCode::FailedToCheckpoint.number();
                if *critical {
                    let word = if of_checkpoint { FinalUpdate::Missing } else { FinalUpdate::Lost };
                    self.observations.final_update = self.observations.final_update.max(word);
                }
                let why = HoldOrVacateReason {
                    subcode: failure.subcode,
                    ..HoldOrVacateReason::new(failure.text.clone(), failure.code)
                };
                ShadowEvent::Error { why, critical: *critical }
            }
            // The shadow is informed of the eviction when the starter has ended.
            StarterObservation::Event(JobLogEvent::Evicted { .. }) => {
                self.observations.evicted = true;
                return Vec::new();
            }
            StarterObservation::Event(JobLogEvent::Terminated { .. }) => return Vec::new(),
            StarterObservation::StartTimeMissed => {
                // The schedd holds the job when it receives the starter's exit status (`jobExitCode` of `schedd.cpp`).
                let code = HoldCode::MissedDeferredExecutionTime as i64;
                let why = HoldOrVacateReason::new("Job missed deferred execution time", code);
                drop(self.handle_event(now, ShadowEvent::UserRequested(UserRequest::Hold(why))));
                self.observations.hard_kill_at = None;
                return Vec::new();
            }
            StarterObservation::RemovalRequested if !self.local => return Vec::new(),
            StarterObservation::RemovalRequested => {
                // A schedd has its starter remove the job by the signal that the starter has just received.
                drop(self.handle_event(
                    now,
                    ShadowEvent::UserRequested(UserRequest::Remove("via condor_rm".into())),
                ));
                self.observations.hard_kill_at = None;
                return Vec::new();
            }
            StarterObservation::WakeTime => {
                let tick = now.monotonic();
                if self.observations.hard_kill_at.is_some_and(|at| at <= tick) {
                    self.observations.hard_kill_at = None;
                    return vec![StarterCommand::Fast(None)];
                }
                if self.wake_at.is_none_or(|at| at > tick) {
                    return Vec::new();
                }
                self.wake_at = None;
                ShadowEvent::Timeout
            }
        };
        self.handle_event(now, event)
    }

    fn wake_at(&self) -> Option<MonotonicTime> {
        [self.wake_at, self.observations.hard_kill_at].into_iter().flatten().min()
    }
}
