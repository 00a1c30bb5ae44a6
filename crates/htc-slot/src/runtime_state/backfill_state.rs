//! State of the backfill client of an execution point.

use std::collections::BTreeSet;

use crate::events::{SlotKey, StarterId};
use htc_base::time::MonotonicTime;

/// Backfill client, and the slots for which it runs.
#[derive(Default)]
pub(crate) struct BackfillState {
    pub client: Option<BackfillClient>,
    pub slots: BTreeSet<SlotKey>,
}

/// Backfill client that was started and has not exited.
pub(crate) struct BackfillClient {
    pub id: StarterId,
    pub stage: BackfillClientStage,
}

/// Stage of a backfill client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackfillClientStage {
    /// The starter of the client was requested.
    Starting,
    Running,
    /// The client was asked to end. At this time it is killed with all its descendants.
    Ending(MonotonicTime),
    /// The client cannot run, and is treated as exited from this time on.
    Dying(MonotonicTime),
}

impl BackfillState {
    pub(crate) fn is_active(&self) -> bool {
        self.client.is_some()
    }

    /// Returns the time from which a client that cannot run is treated as exited, or `None`.
    pub(crate) fn dead_client_end(&self) -> Option<MonotonicTime> {
        match self.client.as_ref()?.stage {
            BackfillClientStage::Dying(at) => Some(at),
            _ => None,
        }
    }

    /// Returns when a client that was asked to end is killed, or `None`.
    pub(crate) fn kill_deadline(&self) -> Option<MonotonicTime> {
        match self.client.as_ref()?.stage {
            BackfillClientStage::Ending(at) => Some(at),
            _ => None,
        }
    }
}
