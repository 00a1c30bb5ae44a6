//! State of a live run of an execution point, used by the event loop and by the modules for single actions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::image_cache::ImageCachePoll;
use super::last_verdicts::LastVerdicts;
use super::machine_sampler::MachineSampler;
use super::notices;
use super::options::ExecutionPointSetup;
use super::run_counters::RunCounters;
use super::running_hook::RunningHook;
use super::running_starter::RunningStarter;
use super::sleep_progress::SleepProgress;
use super::starter_snapshots::StarterSnapshots;
use crate::control::ControlSocket;
use crate::cron::CronRunner;
use crate::events::{EventStream, RunnerEvent, RunnerEventKind};
use htc_base::time::MonotonicTime;
use htc_os::{ChildId, Reactor, clock};
use htc_slot::{AfterShutdown, ExecutionPoint, HookCall, ShutdownMode, SlotKey, StartdEvent, VacateReason};

/// Result of a live run of an execution point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutionPointOutcome {
    /// Number of jobs that were started.
    pub jobs: u64,
    /// Number of started jobs that did not exit with status 0.
    pub failed: u64,
    /// True if the total time limit was reached.
    pub timed_out: bool,
    /// The signal that requested the end, or `None` if the run ended without one.
    pub signal: Option<i32>,
    /// Action after the end: whether the execution point is to be started again.
    pub next: AfterShutdown,
    /// The slots whose last FETCH_WORK could not be called, each with the reason: the queue may still have jobs.
    pub uncalled_fetches: BTreeMap<String, String>,
    /// Calls of FETCH_WORK that may have taken a job without this program receiving it, with the slot and the reason.
    pub unknown_fetches: Vec<String>,
    /// Reason why starters were unable to run jobs when the run ended, or `None`.
    pub starter_problem: Option<String>,
}

/// State of a live run of an execution point.
pub(super) struct LiveExecutionPoint<'a> {
    pub(super) machine: ExecutionPoint,
    pub(super) reactor: Reactor,
    pub(super) options: ExecutionPointSetup,
    pub(super) control: Option<ControlSocket>,
    pub(super) events: &'a mut EventStream,
    pub(super) hooks: BTreeMap<ChildId, RunningHook>,
    /// Calls of FETCH_WORK that have not been started: thousands of slots request one when they start.
    pub(super) waiting_fetches: VecDeque<HookCall>,
    pub(super) starters: BTreeMap<ChildId, RunningStarter>,
    /// Time of the last check for stopped starters.
    pub(super) starters_checked_at: MonotonicTime,
    /// Last measurements of the starters' processes.
    pub(super) starter_snapshots: StarterSnapshots,
    pub(super) cron: CronRunner,
    pub(super) benchmarks: CronRunner,
    /// True if the state machine is waiting for the benchmarks to end.
    pub(super) awaits_benchmarks: bool,
    /// State of the docker queries for images.
    pub(super) image_cache: ImageCachePoll,
    /// Speed at which the cron jobs were asked to end, or `None` if they were not.
    pub(super) cron_shutdown: Option<ShutdownMode>,
    pub(super) waiting_events: VecDeque<StartdEvent>,
    /// Warnings about the attributes of fetched jobs that have been printed.
    pub(super) warned_attributes: BTreeSet<String>,
    /// Verdict on each slot's last fetch.
    pub(super) verdicts: LastVerdicts,
    /// Counts of hooks and verdicts.
    pub(super) counters: RunCounters,
    /// True if the state machine has requested a reconfiguration.
    pub(super) reload_requested: bool,
    /// Reasons to refuse the current request, collected while it is processed.
    pub(super) refusals: Vec<String>,
    /// Signals that arrived before the state machine started.
    pub(super) early_signals: Vec<i32>,
    /// Progress of putting the machine to sleep.
    pub(super) sleep: SleepProgress,
    /// Reason why the job that is being ended is put on hold, or `None`.
    pub(super) hold_reason: Option<VacateReason>,
    pub(super) sampler: MachineSampler,
    pub(super) outcome: ExecutionPointOutcome,
    /// Reason why starters cannot run jobs, as reported to the state machine, or `None`.
    pub(super) starter_problem: Option<String>,
    /// Reason for the end of the run, once it has ended.
    pub(super) end_reason: Option<String>,
}

impl LiveExecutionPoint<'_> {
    pub(super) fn report(&mut self, event: RunnerEvent) {
        self.events.report(&event);
    }

    pub(super) fn warn(&mut self, slot: Option<String>, text: &str) {
        let mut event = RunnerEvent::new(clock::now(), RunnerEventKind::Warning).reason(text);
        if let Some(slot) = slot {
            event = event.slot(slot);
        }
        self.events.report(&event);
    }

    pub(super) fn slot_name(&self, key: SlotKey) -> String {
        notices::slot_name(&self.machine, key)
    }
}
