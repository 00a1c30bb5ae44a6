//! A machine of a simulation: its execution point, and what runs there.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::summary::StateActivity;
use super::waiting_jobs::RefusedJobs;
use super::workload::Job;
use htc_base::time::ClockReading;
use htc_slot::{
    Activity, ExecutionPoint, HookCall, HookRunId, Measurements, SlotDependence, SlotKey, SlotKind,
    SlotState, StartdEvent, StarterId,
};

/// A slot as it is seen from outside.
pub(super) struct SlotRecord {
    /// Its number among the rows of a timeline.
    pub row: u32,
    /// Its type, as the summary calls it.
    pub type_name: Rc<str>,
    pub cpus: f64,
    pub state: StateActivity,
    /// Since when, in microseconds since the start.
    pub since: u64,
    pub refused: RefusedJobs,
    /// Why its job has to leave.
    pub pending_vacate: Option<PendingVacate>,
}

/// Why a job has to leave.
pub(super) struct PendingVacate {
    pub reason: String,
    /// The turn in which that was decided.
    pub turn: u64,
}

/// A job that runs.
pub(super) struct RunningJob {
    pub job: Job,
    pub slot: SlotKey,
    /// When its run began, in microseconds since the start.
    pub started_at: u64,
    /// When it ends by itself, in microseconds since the start.
    pub ends_at: u64,
    /// When it leaves, once it was asked to.
    pub vacates_at: Option<u64>,
    /// How much is left to run while it is suspended, and since when.
    pub suspended: Option<(u64, u64)>,
    /// How long it was suspended in this run, in microseconds.
    pub suspended_micros: u64,
    pub signalled: Option<u8>,
    /// Why it is put on hold.
    pub hold_reason: Option<String>,
    /// Counts changes of its end.
    pub end_version: u32,
    pub cpus: f64,
    /// The job as `cluster.proc`.
    pub name: String,
}

/// One machine.
pub(super) struct Host {
    pub machine: ExecutionPoint,
    /// What slots' names end in, such as `@desk3`; empty where there is one machine alone.
    pub suffix: String,
    pub name: String,
    /// The plan that it was made by.
    pub plan: usize,
    pub slots: FxHashMap<SlotKey, SlotRecord>,
    pub starters: FxHashMap<StarterId, RunningJob>,
    /// Clients of backfill.
    pub backfills: FxHashSet<StarterId>,
    pub fetches: FxHashMap<HookRunId, HookCall>,
    /// Jobs that a slot has accepted and not yet begun, by the slot's number.
    pub accepted: FxHashMap<u32, VecDeque<(String, Job)>>,
    /// The load that an event has given it.
    pub load: f64,
    /// The loads that patterns add to it now, by the number of their presence.
    pub loads: BTreeMap<u32, f64>,
    /// How many are at the keyboard, by the patterns.
    pub users_present: u32,
    /// When somebody was last at the keyboard, in seconds since the epoch.
    pub input_at: Option<i64>,
    /// When it was disturbed last.
    pub last_disturbance: Option<u64>,
    /// What its slots mind of one another.
    pub dependence: SlotDependence,
    /// When a slot changed last whose change others mind.
    pub last_minded_change: Option<u64>,
    pub finished: bool,
    /// Since when it sleeps, in seconds since the epoch.
    pub asleep: Option<i64>,
    pub next_pid: u32,
    /// The wake that was asked for last.
    pub next_wake: Option<u64>,
    /// Whether RANK may prefer one job to another.
    pub can_rank_jobs: bool,
    /// Which configuration it has: the number of the call that made it.
    pub config_number: usize,
}

impl Host {
    /// Something was measured or done that its slots' expressions may look at: what they refused may be offered again.
    pub(super) fn note_disturbance(&mut self, now: ClockReading) {
        self.last_disturbance = Some(now.monotonic_us);
        self.slots.values_mut().for_each(|slot| slot.refused.forget());
    }

    /// A slot has changed: where others mind, what they refused may be offered again.
    pub(super) fn note_slot_change(&mut self, now: ClockReading) {
        if self.dependence.on_other_slots || (self.dependence.on_machine_load && self.total_load() > 0.0) {
            self.last_minded_change = Some(now.monotonic_us);
            self.slots.values_mut().for_each(|slot| slot.refused.forget());
        }
    }

    /// Whether something was measured or done since then, or shortly before, that is not in the slots' ads yet.
    pub(super) fn has_unpublished_changes(&self, since: u64) -> bool {
        // What slots show one another is brought up to date in polls.
        let unseen = self
            .last_minded_change
            .is_some_and(|at| at.saturating_add(self.machine.longest_poll_interval()) >= since);
        unseen || self.last_disturbance.is_some_and(|at| at >= since)
    }

    /// True if it sleeps and somebody has sat down at its keyboard since.
    pub(super) fn is_woken_by_user(&self) -> bool {
        self.asleep.is_some_and(|since| self.users_present > 0 || self.input_at.is_some_and(|at| at >= since))
    }

    fn total_load(&self) -> f64 {
        self.load + self.loads.values().sum::<f64>()
    }

    /// With a dynamic slot that changes or goes its parent may have what it lacked before.
    pub(super) fn forget_refusals_of_parent(&mut self, key: SlotKey) {
        let parent = SlotKey { sub: 0, ..key };
        if let Some(slot) = self.slots.get_mut(&parent).filter(|_| key.sub != 0) {
            slot.refused.forget();
        }
    }

    /// What is measured of it.
    pub(super) fn measurement_event(&self, now: ClockReading) -> StartdEvent {
        // While somebody sits there the keyboard is not idle until the next change.
        let input_at = if self.users_present > 0 { Some(i64::MAX / 4) } else { self.input_at };
        let idle = input_at.map(|at| (now.epoch() - at).max(0));
        StartdEvent::MeasurementsTaken(Box::new(Measurements {
            load: self.total_load(),
            keyboard_idle: idle,
            console_idle: idle,
            last_input_at: input_at,
            free_disk: None,
            virtual_memory: 8 << 20,
            own_size: [0, 0],
            own_cpu: 0.0,
            processors: 0,
            jobs: Vec::new(),
        }))
    }

    /// How a slot is called among all machines.
    pub(super) fn slot_name(&self, key: SlotKey) -> String {
        let id = match self.machine.slot_id(key) {
            Some(id) => id.to_owned(),
            None => htc_runner::slot::slot_name(&self.machine, key),
        };
        id + &self.suffix
    }

    /// Whether the slot runs a job.
    pub(super) fn is_running(&self, key: SlotKey) -> bool {
        self.slots.get(&key).is_some_and(|slot| {
            slot.state.0 == SlotState::Claimed
                && !matches!(slot.state.1, Activity::Idle | Activity::Benchmarking)
        })
    }

    /// The type of a slot, as the summary calls it.
    pub(super) fn slot_type_name(&self, key: SlotKey) -> String {
        let kind = self.machine.slot_kind(key).unwrap_or(SlotKind::Static);
        let word = kind.name().to_ascii_lowercase();
        let number = match self.machine.slot_type_id(key) {
            Some(0) | None => String::new(),
            Some(number) => format!(" type {number}"),
        };
        match self.suffix.is_empty() {
            true => format!("{word}{number}"),
            false => format!("{}: {word}{number}", self.name.trim_end_matches(|c: char| c.is_ascii_digit())),
        }
    }
}
