//! A run under way: what the loop shares with those who carry out single actions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::image_cache::ImageCache;
use super::measure::Measure;
use super::notices;
use super::options::Options;
use super::running_hook::RunningHook;
use super::sleep::Sleep;
use super::starters::Running;
use super::usage::Seen;
use super::verdicts::Verdicts;
use crate::control::Control;
use crate::cron::CronRunner;
use crate::events::{Event as StreamEvent, EventStream, Kind};
use htc_os::{ChildId, Reactor, clock};
use htc_slot::{Event, ExecutionPoint, HookCall, Shutdown, SlotKey, VacateReason};

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
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
    pub uncalled: BTreeMap<String, String>,
    /// Why no starter could run a job at the end.
    pub unable: Option<String>,
}

/// A run under way.
pub(super) struct Live<'a> {
    pub(super) machine: ExecutionPoint,
    pub(super) reactor: Reactor,
    pub(super) options: Options,
    pub(super) control: Option<Control>,
    pub(super) events: &'a mut EventStream,
    pub(super) hooks: BTreeMap<ChildId, RunningHook>,
    /// Calls of FETCH_WORK that are to be made: thousands of slots ask at once when they begin.
    pub(super) fetches: VecDeque<HookCall>,
    pub(super) starters: BTreeMap<ChildId, Running>,
    /// What was seen of them.
    pub(super) seen: Seen,
    pub(super) cron: CronRunner,
    pub(super) benchmarks: CronRunner,
    /// Whether the machine waits for the end of benchmarks.
    pub(super) benchmarks_asked: bool,
    /// When docker was asked for its images.
    pub(super) image_cache: ImageCache,
    /// How the cron jobs were told to end.
    pub(super) cron_ends: Option<Shutdown>,
    pub(super) waiting: VecDeque<Event>,
    /// What was told of the attributes of fetched jobs.
    pub(super) told_of_work: BTreeSet<String>,
    /// What was made of each slot's last fetch.
    pub(super) verdicts: Verdicts,
    /// Whether the machine asks for a new look at the configuration.
    pub(super) reload_asked: bool,
    /// Why what is asked just now is refused, while something is asked.
    pub(super) refusals: Vec<String>,
    /// Signals that came before the machine began.
    pub(super) early_signals: Vec<i32>,
    /// The machine on its way to sleep.
    pub(super) sleep: Sleep,
    /// Why the job that leaves just now is put on hold.
    pub(super) held: Option<VacateReason>,
    pub(super) measure: Measure,
    pub(super) outcome: Outcome,
    /// Why starters cannot run, as the machine was told.
    pub(super) unable: Option<String>,
    /// Why everything has ended, once it has.
    pub(super) end_reason: Option<String>,
}

impl Live<'_> {
    pub(super) fn tell(&mut self, event: StreamEvent) {
        self.events.tell(&event);
    }

    pub(super) fn warn(&mut self, slot: Option<String>, text: &str) {
        let mut event = StreamEvent::new(clock::now(), Kind::Warning).reason(text);
        if let Some(slot) = slot {
            event = event.slot(slot);
        }
        self.events.tell(&event);
    }

    pub(super) fn slot_name(&self, key: SlotKey) -> String {
        notices::slot_name(&self.machine, key)
    }
}
