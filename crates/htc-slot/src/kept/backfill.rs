//! The client that runs on slots nobody claims.

use std::collections::BTreeSet;

use crate::interface::{SlotKey, StarterId};
use htc_base::time::Tick;

/// The client, and the slots that it works for.
#[derive(Default)]
pub(crate) struct Backfill {
    pub client: Option<Client>,
    pub slots: BTreeSet<SlotKey>,
}

/// The client.
pub(crate) struct Client {
    pub id: StarterId,
    pub stage: ClientStage,
}

/// How far a client has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientStage {
    /// Its starter was asked for.
    Starts,
    Runs,
    /// It was told to end; it is killed with everything below it then.
    Ends(Tick),
    /// It cannot run, and has ended by itself then.
    Dies(Tick),
}

impl Backfill {
    pub(crate) fn is_active(&self) -> bool {
        self.client.is_some()
    }

    /// When a client that cannot run has ended.
    pub(crate) fn dies_at(&self) -> Option<Tick> {
        match self.client.as_ref()?.stage {
            ClientStage::Dies(at) => Some(at),
            _ => None,
        }
    }

    /// When the next step of ending the client is due.
    pub(crate) fn ending_at(&self) -> Option<Tick> {
        match self.client.as_ref()?.stage {
            ClientStage::Ends(at) => Some(at),
            _ => None,
        }
    }
}
