//! Machine of a simulation: its execution point, and the jobs that run there.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::state_activity::StateActivity;
use super::waiting_jobs::RefusedJobs;
use super::workload::Job;
use htc_base::time::ClockReading;
use htc_slot::{
    Activity, ChangeReason, ExecutionPoint, HookCall, HookRunId, Measurements, SlotDependence, SlotKey,
    SlotKind, SlotState, StartdEvent, StarterId,
};

/// State of a slot that the simulation records.
pub(super) struct SlotRecord {
    /// Number of the slot's row in a timeline.
    pub row: u32,
    /// Name of the slot's type in the summary.
    pub type_name: Rc<str>,
    pub cpus: f64,
    pub state: StateActivity,
    /// Time when the slot entered its state, in microseconds since the start of the simulation.
    pub since: u64,
    pub refused: RefusedJobs,
    /// Vacating of the current job that has been decided but not completed, or `None`.
    pub pending_vacate: Option<PendingVacate>,
}

/// Reason why a job is vacated, and the time of the decision.
pub(super) struct PendingVacate {
    pub reason: ChangeReason,
    /// Number of the turn in which vacating was decided.
    pub turn: u64,
}

/// Job that is running on a machine.
pub(super) struct RunningJob {
    pub job: Job,
    pub slot: SlotKey,
    /// Time when the job was started, in microseconds since the start of the simulation.
    pub started_at: u64,
    /// Time when the job completes, in microseconds since the start of the simulation.
    pub ends_at: u64,
    /// Time when the job exits after a soft kill, in microseconds since the start of the simulation, or `None`.
    pub vacates_at: Option<u64>,
    /// While suspended: the remaining run time, and the time of the suspension, both in microseconds.
    pub suspended: Option<(u64, u64)>,
    /// Total time for which the job was suspended in the current run, in microseconds.
    pub suspended_micros: u64,
    /// Number of times that the job was suspended in the current run.
    pub suspensions: u64,
    pub signalled: Option<u8>,
    /// Reason why the job is put on hold, or `None`.
    pub hold_reason: Option<String>,
    /// Number of changes of the job's end time. A calendar entry with a smaller number is outdated.
    pub end_version: u32,
    pub cpus: f64,
    /// The job as `cluster.proc`.
    pub name: String,
}

/// Machine of a simulation.
pub(super) struct Host {
    pub machine: ExecutionPoint,
    /// Suffix of slot names, such as `@desk3`; empty if there is only one machine.
    pub suffix: String,
    pub name: String,
    /// Index of the machine's plan.
    pub plan: usize,
    pub slots: FxHashMap<SlotKey, SlotRecord>,
    pub starters: FxHashMap<StarterId, RunningJob>,
    /// Starters of backfill clients.
    pub backfills: FxHashSet<StarterId>,
    pub fetches: FxHashMap<HookRunId, HookCall>,
    /// Jobs that a slot has accepted and not yet started, by slot number.
    pub accepted: FxHashMap<u32, VecDeque<(String, Job)>>,
    /// Load average set by an event of the scenario.
    pub load: f64,
    /// Loads that patterns currently add, by the number of the pattern on the machine.
    pub loads: BTreeMap<u32, f64>,
    /// Number of patterns with a user at the keyboard.
    pub users_present: u32,
    /// Last time at which a user was at the keyboard, in epoch seconds, or `None`.
    pub input_at: Option<i64>,
    /// Time of the last change of the machine's measurements or configuration, in microseconds since the start, or
    /// `None`.
    pub last_disturbance: Option<u64>,
    /// Dependence of the machine's slots on one another.
    pub dependence: SlotDependence,
    /// Time of the last change of a slot on which other slots depend, in microseconds since the start, or `None`.
    pub last_change_for_others: Option<u64>,
    pub finished: bool,
    /// Time when the machine fell asleep, in epoch seconds, or `None` if it is awake.
    pub asleep: Option<i64>,
    pub next_pid: u32,
    /// Time of the earliest scheduled wake-up, or `None`.
    pub next_wake: Option<u64>,
    /// True if RANK may differ between jobs.
    pub can_rank_jobs: bool,
    /// Number of the machine's configuration, given by the call that created it.
    pub config_number: usize,
}

impl Host {
    /// Records a change of values that policy expressions may refer to. A job that was refused before may be offered
    /// again.
    pub(super) fn note_disturbance(&mut self, now: ClockReading) {
        self.last_disturbance = Some(now.monotonic_us);
        self.slots.values_mut().for_each(|slot| slot.refused.forget());
    }

    /// Records a change of a slot. If other slots depend on it, a job that was refused before may be offered again.
    pub(super) fn note_slot_change(&mut self, now: ClockReading) {
        if self.dependence.on_other_slots || (self.dependence.on_machine_load && self.total_load() > 0.0) {
            self.last_change_for_others = Some(now.monotonic_us);
            self.slots.values_mut().for_each(|slot| slot.refused.forget());
        }
    }

    /// Returns true if a change after `since`, or shortly before it, may not have been published in the slot ads.
    pub(super) fn has_unpublished_changes(&self, since: u64) -> bool {
        // Attributes of other slots in a slot ad are updated only at polls.
        let unseen = self
            .last_change_for_others
            .is_some_and(|at| at.saturating_add(self.machine.longest_poll_interval()) >= since);
        unseen || self.last_disturbance.is_some_and(|at| at >= since)
    }

    /// Returns true if the machine is asleep and a user has been at its keyboard since it fell asleep.
    pub(super) fn is_woken_by_user(&self) -> bool {
        self.asleep.is_some_and(|since| self.users_present > 0 || self.input_at.is_some_and(|at| at >= since))
    }

    fn total_load(&self) -> f64 {
        self.load + self.loads.values().sum::<f64>()
    }

    /// Forgets the refusals of a dynamic slot's parent, which may have gained resources.
    pub(super) fn forget_refusals_of_parent(&mut self, key: SlotKey) {
        let parent = SlotKey { sub: 0, ..key };
        if let Some(slot) = self.slots.get_mut(&parent).filter(|_| key.sub != 0) {
            slot.refused.forget();
        }
    }

    /// Returns the event with the current measurements of the machine.
    pub(super) fn measurement_event(&self, now: ClockReading) -> StartdEvent {
        // While a user is present, the keyboard stays in use until the user leaves.
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

    /// Returns the name of a slot, unique among all machines.
    pub(super) fn slot_name(&self, key: SlotKey) -> String {
        let id = match self.machine.slot_id(key) {
            Some(id) => id.to_owned(),
            None => htc_runner::slot::slot_name(&self.machine, key),
        };
        id + &self.suffix
    }

    /// Returns true if a job is running on the slot.
    pub(super) fn is_running(&self, key: SlotKey) -> bool {
        self.slots.get(&key).is_some_and(|slot| {
            slot.state.state == SlotState::Claimed
                && !matches!(slot.state.activity, Activity::Idle | Activity::Benchmarking)
        })
    }

    /// Returns the name of a slot's type in the summary.
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
