//! What was done to a recorded execution point from outside, and when.

use std::collections::BTreeMap;

/// Changes of state that a slot had gone through, counted from the start of the recording.
pub type Changes = BTreeMap<String, usize>;

/// One thing that came from outside.
#[derive(Clone, Debug)]
pub struct Happening {
    /// Seconds since the start of the recording.
    pub at: f64,
    /// What it was.
    pub what: What,
    /// How far the slots were by then: it is not played before ours are as far.
    pub after: Changes,
}

/// What came from outside.
#[derive(Clone, Debug)]
pub enum What {
    /// The startd begins, again perhaps.
    Start,
    /// The attributes that a cron job prints from now on.
    Printed(Vec<(String, Option<String>)>),
    /// A cron job has ended and printed this.
    CronOutput {
        /// File name of its executable.
        program: String,
        /// Its output.
        stdout: Vec<u8>,
    },
    /// A schedd asks for a slot; for a dynamic one its parent is named.
    Request {
        /// The slot.
        slot: String,
        /// The slot that the claim is for.
        claimed: String,
        /// The job.
        job: Option<(i64, i64)>,
        /// Lease of the claim in seconds.
        lease: i64,
    },
    /// A shadow asks for its job to be run.
    Activate {
        /// The slot.
        slot: String,
        /// The job.
        job: (i64, i64),
    },
    /// The job has ended, and its starter cleans up.
    FinalUpdate {
        /// The slot.
        slot: String,
    },
    /// All benchmarks have ended.
    BenchmarksEnded,
    /// The backfill client of a slot has ended.
    ClientExited {
        /// The slot.
        slot: String,
    },
    /// A starter has ended.
    StarterExited {
        /// The slot.
        slot: String,
    },
    /// A starter tells what has changed in its job's ad.
    JobUpdate {
        /// The slot.
        slot: String,
        /// Attributes in long form.
        lines: String,
    },
    /// DEACTIVATE_CLAIM and its forms.
    Deactivate {
        /// The slot.
        slot: String,
        /// The word that stands behind `deactivate_claim` in the log.
        how: &'static str,
    },
    /// RELEASE_CLAIM.
    Release {
        /// The slot.
        slot: String,
        /// Whether the claim that waits is meant.
        waiting: bool,
    },
    /// A match of the negotiator.
    Match {
        /// The slot.
        slot: String,
    },
    /// condor_vacate.
    Vacate {
        /// The slot, or all.
        slot: Option<String>,
        /// Whether -fast.
        fast: bool,
    },
    /// condor_suspend, condor_continue.
    Suspend {
        /// The slot.
        slot: String,
        /// Whether it is to stop.
        stop: bool,
    },
    /// condor_drain with these words.
    Drain(Vec<String>),
    /// condor_drain -cancel.
    CancelDrain,
    /// The daemon was asked to end: `graceful`, `peaceful` or `fast`.
    ShutDown(&'static str),
    /// These lines were added to the configuration.
    Configure(String),
    /// The configuration was read again.
    Reconfigure,
    /// Somebody touched the keyboard.
    Touched,
    /// The ads were asked for, and written under this name.
    Status(String),
}

impl What {
    /// The slot it is about.
    pub fn slot(&self) -> Option<&str> {
        match self {
            What::Request { slot, .. }
            | What::Activate { slot, .. }
            | What::FinalUpdate { slot }
            | What::StarterExited { slot }
            | What::ClientExited { slot }
            | What::JobUpdate { slot, .. }
            | What::Deactivate { slot, .. }
            | What::Release { slot, .. }
            | What::Match { slot }
            | What::Suspend { slot, .. }
            | What::Vacate { slot: Some(slot), .. } => Some(slot),
            _ => None,
        }
    }

    /// Whether it follows from what the slot did, and not from a clock.
    pub fn is_consequence(&self) -> bool {
        matches!(
            self,
            What::FinalUpdate { .. }
                | What::StarterExited { .. }
                | What::ClientExited { .. }
                | What::JobUpdate { .. }
                | What::BenchmarksEnded
        )
    }
}
