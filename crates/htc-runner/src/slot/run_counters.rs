//! Counts of what an execution point did since it started, for monitoring.

use std::collections::BTreeMap;
use std::time::Duration;

use htc_base::process::Exit;
use htc_slot::{SlotHookType, SlotNotice};
use serde::{Deserialize, Serialize};

/// Counts since the start of an execution point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunCounters {
    /// Start in seconds since the epoch.
    pub started_at: i64,
    /// Jobs that were started.
    pub jobs_started: u64,
    /// Number of started jobs that did not exit with status 0.
    pub jobs_failed: u64,
    /// Number of fetches by their verdict: `accepted`, `rejected`, `no work` or `bad answer`.
    pub fetches: BTreeMap<String, u64>,
    /// Hooks that the slots called, by type. Those of a job are called by its starter.
    pub hooks: BTreeMap<String, HookCounters>,
}

/// Counts for one type of hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookCounters {
    /// Calls that have ended.
    pub ended: u64,
    /// Microseconds that these calls took.
    pub microseconds: u64,
    /// Calls that could not be started.
    pub not_started: u64,
    /// Number of calls that were killed at the time limit.
    pub timed_out: u64,
    /// Other ended calls with an exit status other than 0, or killed by a signal.
    pub failed: u64,
}

/// End of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookEnd {
    Exited(Exit),
    TimedOut,
}

impl RunCounters {
    /// Counts the verdict in a notice.
    pub(super) fn count_notice(&mut self, notice: &SlotNotice) {
        if let SlotNotice::Verdict { hook: SlotHookType::FetchWork, verdict, .. } = notice {
            *self.fetches.entry((*verdict).to_owned()).or_default() += 1;
        }
    }

    /// Counts a hook that could not be started.
    pub(super) fn count_unstarted_hook(&mut self, name: &str) {
        self.hook(name).not_started += 1;
    }

    /// Counts a hook that has ended.
    pub(super) fn count_hook(&mut self, name: &str, end: HookEnd, took: Duration) {
        let hook = self.hook(name);
        hook.ended += 1;
        hook.microseconds += u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        match end {
            HookEnd::TimedOut => hook.timed_out += 1,
            HookEnd::Exited(exit) if !exit.is_success() => hook.failed += 1,
            HookEnd::Exited(_) => {}
        }
    }

    fn hook(&mut self, name: &str) -> &mut HookCounters {
        self.hooks.entry(name.to_owned()).or_default()
    }
}
