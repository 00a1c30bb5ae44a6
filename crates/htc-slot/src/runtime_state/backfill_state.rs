//! The client that runs on slots nobody claims.

use std::collections::BTreeSet;

use crate::events::{SlotKey, StarterId};
use htc_base::time::MonotonicTime;

/// The client, and the slots that it works for.
#[derive(Default)]
pub(crate) struct BackfillState {
    pub client: Option<BackfillClient>,
    pub slots: BTreeSet<SlotKey>,
}

/// The client.
pub(crate) struct BackfillClient {
    pub id: StarterId,
    pub stage: BackfillClientStage,
}

/// How far a client has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackfillClientStage {
    /// Its starter was asked for.
    Starting,
    Running,
    /// It was told to end; it is killed with everything below it then.
    Ending(MonotonicTime),
    /// It cannot run, and has ended by itself then.
    Dying(MonotonicTime),
}

impl BackfillState {
    pub(crate) fn is_active(&self) -> bool {
        self.client.is_some()
    }

    /// When a client that cannot run has ended.
    pub(crate) fn dead_client_end(&self) -> Option<MonotonicTime> {
        match self.client.as_ref()?.stage {
            BackfillClientStage::Dying(at) => Some(at),
            _ => None,
        }
    }

    /// When the next step of ending the client is due.
    pub(crate) fn kill_deadline(&self) -> Option<MonotonicTime> {
        match self.client.as_ref()?.stage {
            BackfillClientStage::Ending(at) => Some(at),
            _ => None,
        }
    }
}
