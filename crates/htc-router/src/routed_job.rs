//! Job under the router's management, with data that exists only in the job's current state.

use bstr::BString;

use super::{Route, RouterParameters};
use htc_base::job::JobId;
use htc_base::world::World;
use htc_classad::ClassAd;

/// Mode of routing a source job (`EditJobInPlace`, `JobShouldBeSandboxed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingMode {
    /// The routed job is a separate job that uses the files of the source job.
    Copied,
    /// The routed job is a separate job with spooled files.
    Spooled,
    /// The source job itself is edited; it is never claimed.
    InPlace,
}

impl RoutingMode {
    /// Returns the mode that a route selects for a source job.
    pub fn from_route(route: &Route, source: &ClassAd, world: &dyn World) -> Self {
        if route.edit_job_in_place.is_true(source, world) {
            return RoutingMode::InPlace;
        }
        match route.job_should_be_sandboxed.is_true(source, world) {
            true => RoutingMode::Spooled,
            false => RoutingMode::Copied,
        }
    }
}

/// State of a routed job (RoutedJob.h).
#[derive(Clone, Debug)]
pub enum RoutedJobState {
    /// A route is chosen, but the source job is not claimed yet.
    Unclaimed,
    /// The source job is claimed and the routed job is being made.
    Claimed {
        /// Number of calls of the translate hook without output.
        silences: u32,
    },
    /// The routed job is in its queue.
    Submitted {
        /// Output of the update hook that is being written to the routed job.
        answer: ClassAd,
    },
    /// The routed job has ended.
    Finished,
    /// Management of the job is ending.
    Cleanup(CleanupState),
    /// Management has ended; the router remembers the job until the queue shows that it is no longer managed.
    Retired {
        /// Time of retirement, in seconds since the epoch.
        since: i64,
        /// Number of the first poll that may forget the job.
        forgotten_at: u64,
    },
}

/// Outcome of a routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutedJobOutcome {
    /// The job was finalized or edited; a success of its route.
    Completed,
    /// The job was finalized, but its JobFailureTest is true; a failure of its route.
    Unsuccessful,
    /// The routing failed; a failure of its route.
    Failed,
    /// A change outside the router ended the routing; neither a success nor a failure of the route.
    Interrupted,
}

impl RoutedJobOutcome {
    /// Returns true if the source job is done.
    pub fn is_source_done(self) -> bool {
        matches!(self, RoutedJobOutcome::Completed | RoutedJobOutcome::Unsuccessful)
    }
}

/// Data of a job whose management is ending.
#[derive(Clone, Debug)]
pub struct CleanupState {
    /// Outcome of the routing.
    pub outcome: RoutedJobOutcome,
    /// True if the router has requested the removal of the routed job.
    pub removal_requested: bool,
    /// Number of failed calls of the cleanup hook.
    pub failures: u32,
    /// Earliest time of the next call of the cleanup hook, in seconds since the epoch.
    pub not_before: i64,
}

/// Routed job in its queue.
#[derive(Clone, Copy, Debug)]
pub struct RoutedCopy {
    /// Id of the routed job.
    pub id: JobId,
    /// Visibility of the routed job in the queue.
    pub visibility: CopyVisibility,
    /// True if the routed job was running when last checked.
    pub running: bool,
}

/// Visibility of a routed job in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyVisibility {
    /// The routed job has not appeared since it was submitted.
    NotYet {
        /// Time of submission, in seconds since the epoch.
        since: i64,
    },
    /// The routed job has appeared.
    Seen,
    /// The routed job has appeared and its source job contains its id.
    Announced,
}

/// Turn of a job: the job advances now, or waits for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobTurn {
    /// The job is being processed: each state follows the previous one immediately.
    Advancing,
    /// The job advances at the next poll.
    WaitingForPoll,
    /// The job waits for a reply of the queue, which arrives immediately; all other jobs wait for this reply as well.
    WaitingForQueue {
        /// True if the job advances after the reply.
        then_advances: bool,
    },
    /// The job's hook runs; other jobs advance.
    WaitingForHook,
}

/// Job that the router manages: its source job, its route and its routed job.
#[derive(Clone, Debug)]
pub struct RoutedJob {
    /// Id of the source job.
    pub source_id: JobId,
    /// Name of the route.
    pub route: BString,
    /// Mode in which the source job is routed.
    pub routing: RoutingMode,
    /// The router's own copy of the source ad.
    pub source_ad: ClassAd,
    /// Ad of the routed job as created or last read; empty before it is created.
    pub copy_ad: ClassAd,
    /// The routed job, once it is submitted.
    pub copy: Option<RoutedCopy>,
    /// Current state of the job.
    pub state: RoutedJobState,
    /// The job's turn: it advances now, or waits for an event.
    pub turn: JobTurn,
    /// Number of the poll in which the job was chosen.
    pub chosen_in_poll: u64,
}

impl RoutedJob {
    /// Creates a job that was chosen for a route in the given poll.
    pub fn new(
        source_id: JobId,
        route: BString,
        routing: RoutingMode,
        source: ClassAd,
        chosen_in: u64,
    ) -> Self {
        RoutedJob {
            source_id,
            route,
            routing,
            source_ad: source,
            copy_ad: ClassAd::new(),
            copy: None,
            state: RoutedJobState::Unclaimed,
            turn: JobTurn::Advancing,
            chosen_in_poll: chosen_in,
        }
    }

    /// Starts the cleanup of the job, which ends its management, with the given outcome.
    pub fn begin_cleanup(&mut self, outcome: RoutedJobOutcome) {
        let cleanup = CleanupState { outcome, removal_requested: false, failures: 0, not_before: 0 };
        self.state = RoutedJobState::Cleanup(cleanup);
    }

    /// Pauses the job until the next poll.
    pub fn wait_for_poll(&mut self) {
        self.turn = JobTurn::WaitingForPoll;
    }

    /// Returns the id of the routed job, or `None` before it is submitted.
    pub fn copy_id(&self) -> Option<JobId> {
        self.copy.map(|copy| copy.id)
    }

    /// Returns true if the routed job was running when last checked.
    pub fn is_running(&self) -> bool {
        self.copy.is_some_and(|copy| copy.running)
    }

    /// Returns true if the management of the job has ended.
    pub fn is_retired(&self) -> bool {
        matches!(self.state, RoutedJobState::Retired { .. })
    }

    /// Returns true if a hook of the job has ended and the next poll is to process the job's new state.
    pub fn is_due(&self) -> bool {
        self.turn == JobTurn::WaitingForPoll
            && matches!(self.state, RoutedJobState::Finished | RoutedJobState::Cleanup(_))
    }

    /// Returns true if other jobs wait for the reply to this job's request.
    pub fn is_waiting_for_queue(&self) -> bool {
        matches!(self.turn, JobTurn::WaitingForQueue { .. })
    }

    /// Returns the job's description in log lines: `src=1.0,dest=2.0,route=A`.
    pub fn description(&self) -> String {
        let mut text = format!("src={}", self.source_id);
        if let Some(copy) = self.copy {
            text.push_str(&format!(",dest={}", copy.id));
        }
        if !self.route.is_empty() {
            text.push_str(&format!(",route={}", self.route));
        }
        text
    }

    /// Returns true if the routed job has not appeared within the allowed delay of the queue log.
    pub fn is_copy_overdue(&self, now: i64, parameters: &RouterParameters) -> bool {
        let lag = parameters.mirror_lag.as_secs() as i64;
        matches!(self.copy, Some(RoutedCopy { visibility: CopyVisibility::NotYet { since }, .. }) if now - since > lag)
    }
}
