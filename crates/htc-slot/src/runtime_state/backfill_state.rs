//! State of the backfill client.

use std::collections::BTreeSet;

use crate::events::{SlotKey, StarterId};
use htc_base::time::MonotonicTime;

/// Backfill client, and the slots it works for.
#[derive(Default)]
pub(crate) struct BackfillState {
    pub client: Option<BackfillClient>,
    pub slots: BTreeSet<SlotKey>,
}

/// Backfill client.
pub(crate) struct BackfillClient {
    pub id: StarterId,
    pub stage: BackfillClientStage,
}

/// Stage of a backfill client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackfillClientStage {
    /// Its starter was requested.
    Starting,
    Running,
    /// The client was asked to end; at this time it is killed with all its descendants.
    Ending(MonotonicTime),
    /// The client cannot run, and counts as exited at this time.
    Dying(MonotonicTime),
}

impl BackfillState {
    pub(crate) fn is_active(&self) -> bool {
        self.client.is_some()
    }

    /// Returns when a client that cannot run exits.
    pub(crate) fn dead_client_end(&self) -> Option<MonotonicTime> {
        match self.client.as_ref()?.stage {
            BackfillClientStage::Dying(at) => Some(at),
            _ => None,
        }
    }

    /// Returns when the next step of ending the client is due.
    pub(crate) fn kill_deadline(&self) -> Option<MonotonicTime> {
        match self.client.as_ref()?.stage {
            BackfillClientStage::Ending(at) => Some(at),
            _ => None,
        }
    }
}
