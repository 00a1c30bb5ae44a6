//! One job under the router's management.

use bstr::BString;

use crate::classad::ClassAd;
use crate::job::JobId;

/// Where a job stands in its life (RoutedJob.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Chosen, not yet claimed.
    Unclaimed,
    /// Claimed: the copy is being made.
    Claimed,
    /// The copy is in its queue.
    Submitted,
    /// The copy has ended.
    Finished,
    /// Management ends.
    Cleanup,
    /// Over; kept until the queue shows it.
    Retired,
}

impl Phase {
    /// Its name in events.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Unclaimed => "unclaimed",
            Phase::Claimed => "claimed",
            Phase::Submitted => "submitted",
            Phase::Finished => "finished",
            Phase::Cleanup => "cleanup",
            Phase::Retired => "retired",
        }
    }
}

/// A job that is routed.
#[derive(Clone, Debug)]
pub struct RoutedJob {
    /// The source.
    pub source_id: JobId,
    /// Its copy, once submitted.
    pub copy_id: Option<JobId>,
    /// Name of the route; empty once retired.
    pub route: BString,
    /// Where it stands.
    pub phase: Phase,
    /// Whether an answer is awaited; nothing else is done meanwhile.
    pub waiting: bool,
    /// Whether that answer comes at once, from the queue: other jobs wait for it as well.
    pub asks: bool,
    /// Whether a poll is under way for it: one phase follows the other at once. After the end of a hook the next phase waits
    /// for the next poll.
    pub flows: bool,
    /// The router's own copy of the source ad.
    pub source: ClassAd,
    /// The routed ad as it was made or last seen; empty before.
    pub copy: ClassAd,
    /// What the update hook has answered, as long as it is being written to the copy.
    pub answer: ClassAd,
    /// Whether the source says that it is ours.
    pub claimed: bool,
    /// Finalized, or edited.
    pub done: bool,
    /// Counts as a success of its route.
    pub success: bool,
    /// Ended by somebody else: neither success nor failure.
    pub interrupted: bool,
    /// Whether the copy ran when last looked at.
    pub running: bool,
    /// Whether files are spooled.
    pub sandboxed: bool,
    /// Whether the source itself is edited.
    pub in_place: bool,
    /// Whether the copy has been seen in its queue.
    pub seen: bool,
    /// Whether the source has been told which job is its copy.
    pub told: bool,
    /// Whether the copy was removed by us, or its removal is asked for.
    pub copy_removed: bool,
    /// When it was submitted or retired, in seconds since the epoch.
    pub since: i64,
    /// How often the translate hook said nothing.
    pub silences: u32,
    /// How often the cleanup hook failed.
    pub cleanup_failures: u32,
    /// Before this second the hook is not called again.
    pub not_before: i64,
}

impl RoutedJob {
    /// A job that was chosen for a route.
    pub fn new(source_id: JobId, route: BString, source: ClassAd) -> Self {
        RoutedJob {
            source_id,
            copy_id: None,
            route,
            phase: Phase::Unclaimed,
            waiting: false,
            asks: false,
            flows: true,
            source,
            copy: ClassAd::new(),
            answer: ClassAd::new(),
            claimed: false,
            done: false,
            success: false,
            interrupted: false,
            running: false,
            sandboxed: false,
            in_place: false,
            seen: false,
            told: false,
            copy_removed: false,
            since: 0,
            silences: 0,
            cleanup_failures: 0,
            not_before: 0,
        }
    }

    /// Whether the end of a hook has brought it into a phase that the next poll is to carry out.
    pub fn is_due(&self) -> bool {
        !self.flows && !self.waiting && matches!(self.phase, Phase::Finished | Phase::Cleanup)
    }

    /// How log lines call it: `src=1.0,dest=2.0,route=A`.
    pub fn description(&self) -> String {
        let mut text = format!("src={}", self.source_id);
        if let Some(copy) = self.copy_id {
            text.push_str(&format!(",dest={copy}"));
        }
        if !self.route.is_empty() {
            text.push_str(&format!(",route={}", self.route));
        }
        text
    }
}
