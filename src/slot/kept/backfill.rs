//! The client that runs on slots nobody claims.

use std::collections::BTreeSet;

use super::claim::Ending;
use crate::slot::interface::{SlotKey, StarterId};
use crate::time::Tick;

/// The client, and the slots that it works for.
#[derive(Default)]
pub(in crate::slot) struct Backfill {
    pub client: Option<Client>,
    pub slots: BTreeSet<SlotKey>,
}

/// The client.
pub(in crate::slot) struct Client {
    pub id: StarterId,
    pub runs: bool,
    pub ending: Ending,
    /// Of one that cannot run: when it has ended by itself.
    pub dies: Option<Tick>,
}

impl Backfill {
    pub(in crate::slot) fn is_active(&self) -> bool {
        self.client.is_some()
    }

    /// When a client that cannot run has ended.
    pub(in crate::slot) fn dies_at(&self) -> Option<Tick> {
        self.client.as_ref()?.dies
    }

    /// When the next step of ending the client is due.
    pub(in crate::slot) fn ending_at(&self) -> Option<Tick> {
        match self.client.as_ref()?.ending {
            Ending::Hard { until } => Some(until),
            Ending::No | Ending::Soft { .. } => None,
        }
    }
}
