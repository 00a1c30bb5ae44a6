//! One job under the router's management: its state with what counts in that state alone.

use bstr::BString;

use super::{Route, RouterParameters};
use htc_base::job::JobId;
use htc_base::world::World;
use htc_classad::ClassAd;

/// How a source is routed (`EditJobInPlace`, `JobShouldBeSandboxed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingMode {
    /// By a copy that finds its files where the source has them.
    Copied,
    /// By a copy whose files are spooled.
    Spooled,
    /// The source itself is edited; it is never claimed.
    InPlace,
}

impl RoutingMode {
    /// What a route wants for a source.
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

/// Where a job stands in its life (RoutedJob.h).
#[derive(Clone, Debug)]
pub enum RoutedJobState {
    /// Chosen, not yet claimed.
    Unclaimed,
    /// Claimed: the copy is being made.
    Claimed {
        /// How often the translate hook said nothing.
        silences: u32,
    },
    /// The copy is in its queue.
    Submitted {
        /// What the update hook has answered, as long as it is being written to the copy.
        answer: ClassAd,
    },
    /// The copy has ended.
    Finished,
    /// Management ends.
    Cleanup(CleanupState),
    /// Over; kept until the queue shows it.
    Retired {
        /// Since when, in seconds since the epoch.
        since: i64,
        /// The first poll that may forget it.
        forgotten_at: u64,
    },
}

/// How a routing has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutedJobOutcome {
    /// Finalized or edited: a success of its route.
    Completed,
    /// Finalized, but its JobFailureTest is true: a failure of its route.
    Unsuccessful,
    /// It came to nothing: a failure of its route.
    Failed,
    /// Ended by somebody else: neither.
    Interrupted,
}

impl RoutedJobOutcome {
    /// Whether the source is done with.
    pub fn is_source_done(self) -> bool {
        matches!(self, RoutedJobOutcome::Completed | RoutedJobOutcome::Unsuccessful)
    }
}

/// The end of the management of a job.
#[derive(Clone, Debug)]
pub struct CleanupState {
    /// Why it ends.
    pub outcome: RoutedJobOutcome,
    /// Whether the removal of the copy is asked for.
    pub removal_requested: bool,
    /// How often the cleanup hook failed.
    pub failures: u32,
    /// Before this second it is not called again.
    pub not_before: i64,
}

/// A copy in its queue.
#[derive(Clone, Copy, Debug)]
pub struct RoutedCopy {
    /// Its id.
    pub id: JobId,
    /// What has been seen of it.
    pub visibility: CopyVisibility,
    /// Whether it ran when last looked at.
    pub running: bool,
}

/// What the queue has shown of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyVisibility {
    /// Nothing since it was submitted in this second.
    NotYet {
        /// Seconds since the epoch.
        since: i64,
    },
    /// The copy.
    Seen,
    /// The copy, and its source has been told which it is.
    Announced,
}

/// Whether a job may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobTurn {
    /// A poll deals with it: one state follows the other at once.
    Advancing,
    /// The next poll goes on with it.
    WaitingForPoll,
    /// The queue is asked, which answers at once: other jobs wait as well.
    WaitingForQueue {
        /// Whether it goes on after the answer.
        then_advances: bool,
    },
    /// Its hook runs; the others go on.
    WaitingForHook,
}

/// A job that is routed.
#[derive(Clone, Debug)]
pub struct RoutedJob {
    /// The source.
    pub source_id: JobId,
    /// Name of the route.
    pub route: BString,
    /// How it is routed.
    pub routing: RoutingMode,
    /// The router's own copy of the source ad.
    pub source_ad: ClassAd,
    /// The routed ad as it was made or last seen; empty before.
    pub copy_ad: ClassAd,
    /// The copy, once it is submitted.
    pub copy: Option<RoutedCopy>,
    /// Where it stands.
    pub state: RoutedJobState,
    /// Whether it may go on.
    pub turn: JobTurn,
    /// The poll in which it was chosen.
    pub chosen_in_poll: u64,
}

impl RoutedJob {
    /// A job that was chosen for a route in a poll.
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

    /// Its management ends.
    pub fn begin_cleanup(&mut self, outcome: RoutedJobOutcome) {
        let cleanup = CleanupState { outcome, removal_requested: false, failures: 0, not_before: 0 };
        self.state = RoutedJobState::Cleanup(cleanup);
    }

    /// Nothing more is done with it in this poll.
    pub fn wait_for_poll(&mut self) {
        self.turn = JobTurn::WaitingForPoll;
    }

    /// The id of its copy.
    pub fn copy_id(&self) -> Option<JobId> {
        self.copy.map(|copy| copy.id)
    }

    /// Whether its copy ran when last looked at.
    pub fn is_running(&self) -> bool {
        self.copy.is_some_and(|copy| copy.running)
    }

    /// Whether it is over.
    pub fn is_retired(&self) -> bool {
        matches!(self.state, RoutedJobState::Retired { .. })
    }

    /// Whether the end of a hook has brought it into a state that the next poll is to carry out.
    pub fn is_due(&self) -> bool {
        self.turn == JobTurn::WaitingForPoll
            && matches!(self.state, RoutedJobState::Finished | RoutedJobState::Cleanup(_))
    }

    /// Whether others wait for what it asked.
    pub fn is_waiting_for_queue(&self) -> bool {
        matches!(self.turn, JobTurn::WaitingForQueue { .. })
    }

    /// How log lines call it: `src=1.0,dest=2.0,route=A`.
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

    /// Whether its copy's appearance has been waited for too long.
    pub fn is_copy_overdue(&self, now: i64, knobs: &RouterParameters) -> bool {
        let lag = knobs.mirror_lag.as_secs() as i64;
        matches!(self.copy, Some(RoutedCopy { visibility: CopyVisibility::NotYet { since }, .. }) if now - since > lag)
    }
}
