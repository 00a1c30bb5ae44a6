//! Counts of jobs, fetches and hooks since an execution point started, for monitoring.

use std::collections::BTreeMap;
use std::time::Duration;

use htc_base::process::Exit;
use htc_slot::{SlotHookType, SlotNotice};
use serde::{Deserialize, Serialize};

/// Counts of jobs, fetches and hooks since an execution point started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunCounters {
    /// Start of the execution point, in seconds since the epoch.
    pub started_at: i64,
    /// Number of jobs that were started.
    pub jobs_started: u64,
    /// Number of started jobs that did not exit with status 0.
    pub jobs_failed: u64,
    /// Number of fetches by their verdict: `accepted`, `rejected`, `no work` or `bad answer`.
    pub fetches: BTreeMap<String, u64>,
    /// Counts of the hooks that the slots called, by type. The hooks of a job are called by its starter and are not
    /// included.
    pub hooks: BTreeMap<String, HookCounters>,
}

/// Counts for one type of hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookCounters {
    /// Number of calls that have ended.
    pub ended: u64,
    /// Total duration of the ended calls, in microseconds.
    pub microseconds: u64,
    /// Number of calls that could not be started.
    pub not_started: u64,
    /// Number of calls that were killed at the time limit.
    pub timed_out: u64,
    /// Number of calls that exited with a status other than 0, or were killed by a signal before the time limit.
    pub failed: u64,
}

/// End of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookEnd {
    Exited(Exit),
    TimedOut,
}

impl RunCounters {
    /// Counts the verdict on a fetch if the notice contains one.
    pub(super) fn count_notice(&mut self, notice: &SlotNotice) {
        if let SlotNotice::Verdict { hook: SlotHookType::FetchWork, verdict, .. } = notice {
            *self.fetches.entry((*verdict).to_owned()).or_default() += 1;
        }
    }

    /// Counts a hook that could not be started.
    pub(super) fn count_unstarted_hook(&mut self, name: &str) {
        self.hook(name).not_started += 1;
    }

    /// Counts a call of a hook that has ended.
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
