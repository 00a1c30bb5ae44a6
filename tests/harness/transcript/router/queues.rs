//! The recorded queues during a replay.

use htc_hooks::classad::ClassAd;
use htc_hooks::job::JobId;
use htc_hooks::queue::QueueLogReader;
use htc_hooks::router::QueueView;

use super::units::Unit;

/// The queue of the source jobs, and that of the copies if it is a different one.
#[derive(Clone)]
pub(super) struct Queues {
    pub(super) first: QueueLogReader,
    pub(super) second: Option<QueueLogReader>,
}

impl Queues {
    pub(super) fn feed(&mut self, unit: &Unit) {
        match &mut self.second {
            Some(second) if unit.is_second => second.feed(&unit.text),
            _ => self.first.feed(&unit.text),
        }
    }

    pub(super) fn copies(&self) -> &QueueLogReader {
        self.second.as_ref().unwrap_or(&self.first)
    }
}

/// A recorded queue as the router sees it.
pub(super) struct Mirror<'a>(pub(super) &'a QueueLogReader);

impl QueueView for Mirror<'_> {
    fn job(&self, id: JobId) -> Option<ClassAd> {
        self.0.queue().job(id)
    }

    fn jobs(&self) -> Vec<JobId> {
        self.0.queue().job_ids_in_entry_order()
    }
}
