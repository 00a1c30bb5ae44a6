//! A run under way: what the loop shares with those who carry out single actions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::image_cache::ImageCachePoll;
use super::last_verdicts::LastVerdicts;
use super::machine_sampler::MachineSampler;
use super::notices;
use super::options::ExecutionPointSetup;
use super::running_hook::RunningHook;
use super::running_starter::RunningStarter;
use super::sleep_progress::SleepProgress;
use super::starter_snapshots::StarterSnapshots;
use crate::control::ControlSocket;
use crate::cron::CronRunner;
use crate::events::{EventStream, RunnerEvent as StreamEvent, RunnerEventKind};
use htc_os::{ChildId, Reactor, clock};
use htc_slot::{ExecutionPoint, HookCall, ShutdownMode, SlotKey, StartdEvent, VacateReason};

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutionPointOutcome {
    /// Jobs that were started.
    pub jobs: u64,
    /// Those among them that did not exit with 0.
    pub failed: u64,
    /// Whether the time for all of it was over.
    pub timed_out: bool,
    /// The signal that asked for the end, if one did.
    pub signal: Option<i32>,
    /// Whether it is to begin anew.
    pub restarts: bool,
    /// Why work may be left: the slots whose last FETCH_WORK could not be called, with the reason.
    pub uncalled_fetches: BTreeMap<String, String>,
    /// Why no starter could run a job at the end.
    pub starter_problem: Option<String>,
}

/// A run under way.
pub(super) struct LiveExecutionPoint<'a> {
    pub(super) machine: ExecutionPoint,
    pub(super) reactor: Reactor,
    pub(super) options: ExecutionPointSetup,
    pub(super) control: Option<ControlSocket>,
    pub(super) events: &'a mut EventStream,
    pub(super) hooks: BTreeMap<ChildId, RunningHook>,
    /// Calls of FETCH_WORK that are to be made: thousands of slots ask at once when they begin.
    pub(super) waiting_fetches: VecDeque<HookCall>,
    pub(super) starters: BTreeMap<ChildId, RunningStarter>,
    /// What was seen of them.
    pub(super) starter_snapshots: StarterSnapshots,
    pub(super) cron: CronRunner,
    pub(super) benchmarks: CronRunner,
    /// Whether the machine waits for the end of benchmarks.
    pub(super) awaits_benchmarks: bool,
    /// When docker was asked for its images.
    pub(super) image_cache: ImageCachePoll,
    /// How the cron jobs were told to end.
    pub(super) cron_shutdown: Option<ShutdownMode>,
    pub(super) waiting_events: VecDeque<StartdEvent>,
    /// What was told of the attributes of fetched jobs.
    pub(super) warned_attributes: BTreeSet<String>,
    /// What was made of each slot's last fetch.
    pub(super) verdicts: LastVerdicts,
    /// Whether the machine asks for a new look at the configuration.
    pub(super) reload_requested: bool,
    /// Why what is asked just now is refused, while something is asked.
    pub(super) refusals: Vec<String>,
    /// Signals that came before the machine began.
    pub(super) early_signals: Vec<i32>,
    /// The machine on its way to sleep.
    pub(super) sleep: SleepProgress,
    /// Why the job that leaves just now is put on hold.
    pub(super) hold_reason: Option<VacateReason>,
    pub(super) sampler: MachineSampler,
    pub(super) outcome: ExecutionPointOutcome,
    /// Why starters cannot run, as the machine was told.
    pub(super) starter_problem: Option<String>,
    /// Why everything has ended, once it has.
    pub(super) end_reason: Option<String>,
}

impl LiveExecutionPoint<'_> {
    pub(super) fn report(&mut self, event: StreamEvent) {
        self.events.report(&event);
    }

    pub(super) fn warn(&mut self, slot: Option<String>, text: &str) {
        let mut event = StreamEvent::new(clock::now(), RunnerEventKind::Warning).reason(text);
        if let Some(slot) = slot {
            event = event.slot(slot);
        }
        self.events.report(&event);
    }

    pub(super) fn slot_name(&self, key: SlotKey) -> String {
        notices::slot_name(&self.machine, key)
    }
}
