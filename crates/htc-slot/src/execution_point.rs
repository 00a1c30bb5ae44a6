//! Execution point as a state machine: `step(now, event) -> actions`.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::events::{AfterShutdown, HookRunId, SlotKey, StartdAction, StartdEvent, StarterId};
use super::execution_point_state::ExecutionPointState;
use super::settings::StartdSettings;
use super::slot::Slot;
use super::slots::Slots;
use htc_base::process::Exit;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::World;

/// Execution point: its slots and their shared state.
///
/// [`step`](Self::step) takes an event and returns the actions to take; [`next_wake`](Self::next_wake) returns when the next
/// [`StartdEvent::Tick`] is due. An execution point reads no clock and no file and starts no process: [`World`] provides the time
/// zone, random numbers and other inputs of expressions.
pub struct ExecutionPoint {
    pub(super) core: ExecutionPointState,
    pub(super) slots: Slots,
    /// Events that wait until each requested starter runs or has failed.
    pub(super) queued_events: VecDeque<StartdEvent>,
    /// Time when a slot was last claimed, in epoch seconds.
    pub(super) last_in_use: i64,
    /// Time since which no slot has had a job.
    pub(super) idle_since: MonotonicTime,
    pub(super) end_reason: String,
    /// Time when a graceful shutdown becomes a fast one, or `None` if there is no such time.
    pub(super) graceful_until: Option<MonotonicTime>,
    /// Deadline for hooks that are still running at the end, or `None`.
    pub(super) hooks_until: Option<MonotonicTime>,
    pub(super) finished: bool,
    /// Action of the parent process after the shutdown.
    pub(super) after_shutdown: AfterShutdown,
    /// Slot whose fetch has returned a job, and is complete once the requested starter runs or has failed.
    pub(super) fetch_completion_pending: Option<SlotKey>,
}

impl ExecutionPoint {
    /// Creates an execution point that has not started. Its first event must be [`StartdEvent::Start`].
    pub fn new(settings: StartdSettings, world: Rc<dyn World>, now: ClockReading) -> Self {
        let mut core = ExecutionPointState::new(Arc::new(settings), world, now);
        core.slot_count = i64::try_from(core.settings.slots.len()).unwrap_or(i64::MAX);
        core.has_backfill_slots = core.settings.slots.iter().any(|plan| plan.amounts.is_backfill);
        let plans = core.settings.slots.clone();
        let slots = Slots::from_slots(plans.into_iter().map(|plan| Slot::new(Arc::new(plan), &mut core)));
        ExecutionPoint {
            core,
            slots,
            queued_events: VecDeque::new(),
            last_in_use: now.epoch(),
            idle_since: now.monotonic(),
            end_reason: String::new(),
            graceful_until: None,
            hooks_until: None,
            finished: false,
            after_shutdown: AfterShutdown::default(),
            fetch_completion_pending: None,
        }
    }

    /// Processes an event at the time `now` and returns the actions to take, in order.
    ///
    /// After the action [`StartdAction::SpawnStarter`], all other events wait until the start has succeeded or failed.
    pub fn step(&mut self, now: ClockReading, event: StartdEvent) -> Vec<StartdAction> {
        let now = ClockReading { monotonic_us: now.monotonic_us.max(self.core.now.monotonic_us), ..now };
        self.core.now = now;
        self.skip_idle_polls();
        let answers = matches!(event, StartdEvent::StarterSpawned { .. } | StartdEvent::StarterFailed { .. });
        if self.core.work.starting_starters > 0 && !answers {
            self.queued_events.push_back(event);
        } else {
            self.handle_event(event);
        }
        while self.core.work.starting_starters == 0
            && let Some(event) = self.queued_events.pop_front()
        {
            self.handle_event(event);
        }
        self.update_poll_skipper();
        std::mem::take(&mut self.core.actions)
    }

    /// Returns the action list of a finished step, so that the next step can reuse its allocation.
    pub fn recycle_actions(&mut self, mut done: Vec<StartdAction>) {
        done.clear();
        if self.core.actions.is_empty() && done.capacity() > self.core.actions.capacity() {
            self.core.actions = done;
        }
    }

    fn handle_event(&mut self, event: StartdEvent) {
        if self.finished {
            return;
        }
        // A partitionable slot publishes the list of its dynamic slots as of the time it fetches work.
        self.core.slot_count = i64::try_from(self.slots.len()).unwrap_or(i64::MAX);
        self.update_child_lists();
        self.collect_slot_attributes();
        // The reference's event loop runs expired timers before it handles the end of a process.
        if is_end_of_process(&event) {
            if self.has_due_alarm() {
                self.run_due_timers();
            }
            self.record_timers_run();
        }
        self.wake_slots_for(&event);
        match event {
            StartdEvent::Start => self.start_execution_point(),
            StartdEvent::Tick => {
                self.run_due_timers();
                self.record_timers_run();
            }
            StartdEvent::HookEnded { run, stdout, cut } => {
                self.end_fetch(run, |this, key| this.handle_fetch_output(key, &stdout, cut));
            }
            StartdEvent::JobFetched { run, ad, kind } => {
                self.end_fetch(run, |this, key| this.handle_fetched_job(key, *ad, kind));
            }
            // The fetch call is already in progress; waking the slot makes it a real call.
            StartdEvent::SkippedFetchEnds { slot } => self.wake_slot_family(slot),
            StartdEvent::HookFailed { run, reason } => {
                self.end_fetch(run, |this, key| this.handle_fetch_failure(key, reason));
            }
            StartdEvent::HookTimedOut { run, reason } => {
                self.end_fetch(run, |this, key| this.handle_fetch_timeout(key, reason));
            }
            StartdEvent::CronPublished(ads) => self.replace_cron_ads(*ads),
            StartdEvent::BenchmarksPublished(ads) => self.publish_benchmarks(*ads),
            StartdEvent::ImageCacheMeasured(mib) => {
                self.core.resources.image_cache_mib = Some(mib);
                self.refresh_all();
            }
            StartdEvent::Awake { failure } => self.handle_wake_up(failure),
            StartdEvent::BenchmarksEnded => self.finish_benchmarks(),
            StartdEvent::StarterSpawned { starter, pid } => self.handle_starter_start(starter, Ok(pid)),
            StartdEvent::StarterFailed { starter, reason } => {
                self.handle_starter_start(starter, Err(&reason))
            }
            StartdEvent::StarterExited { starter, exit } => self.handle_starter_exit(starter, exit),
            StartdEvent::FinalUpdate { starter } => {
                self.with_slot_of_starter(starter, Self::handle_final_update)
            }
            StartdEvent::JobUpdate { starter, ad } => {
                self.with_slot_of_starter(starter, |slot, core| slot.update_job_ad(core, &ad));
            }
            StartdEvent::Command { slot, command } => self.handle_claim_command(&slot, command),
            StartdEvent::MeasurementsTaken(measured) => {
                self.core.load.measured = *measured;
                let jobs = std::mem::take(&mut self.core.load.measured.jobs);
                self.record_job_usages(&jobs);
            }
            StartdEvent::Refresh => self.refresh_all(),
            StartdEvent::Vacate { slot, fast } => self.vacate(slot.as_deref(), fast),
            StartdEvent::Drain(request) => self.begin_drain(*request),
            StartdEvent::CancelDrain { id } => self.cancel_named_drain(id.as_deref()),
            StartdEvent::Suspend { slot } => self.suspend_or_continue(slot.as_deref(), true),
            StartdEvent::Continue { slot } => self.suspend_or_continue(slot.as_deref(), false),
            StartdEvent::Shutdown(how) => self.shut_down(how, "asked to end"),
            StartdEvent::StarterProblem(reason) => self.set_starter_problem(reason),
            StartdEvent::Reconfigure(settings) => self.reconfigure(*settings),
        }
        self.finish_event();
        self.update_resource_conflicts();
    }

    /// Wakes the slots that an event concerns. Does nothing if every poll is made.
    fn wake_slots_for(&mut self, event: &StartdEvent) {
        let Some(skipper) = &self.core.schedule.poll_skipper else { return };
        let key = match event {
            StartdEvent::HookEnded { run, .. }
            | StartdEvent::JobFetched { run, .. }
            | StartdEvent::HookFailed { run, .. }
            | StartdEvent::HookTimedOut { run, .. } => skipper.fetching_slots.get(run).copied(),
            StartdEvent::StarterSpawned { starter, .. }
            | StartdEvent::StarterFailed { starter, .. }
            | StartdEvent::StarterExited { starter, .. }
            | StartdEvent::FinalUpdate { starter }
            | StartdEvent::JobUpdate { starter, .. } => skipper.starter_slots.get(starter).copied(),
            StartdEvent::Tick if self.is_skipping_polls() => None,
            // The handler of this event wakes the slot itself.
            StartdEvent::SkippedFetchEnds { .. } => None,
            StartdEvent::MeasurementsTaken(_)
                if !self.core.publish_set.machine && self.is_skipping_polls() =>
            {
                None
            }
            _ => return self.wake_all_slots(),
        };
        if let Some(key) = key {
            self.wake_slot_family(key);
        }
    }

    /// Handles the start of a starter: `started` is its process id, or the reason why it could not be started.
    fn handle_starter_start(&mut self, starter: StarterId, started: Result<u32, &str>) {
        if self.is_backfill_client(starter) {
            return self.handle_client_start(started.err());
        }
        self.with_slot_of_starter(starter, |slot, core| match started {
            Ok(pid) => slot.handle_starter_spawned(core, pid),
            Err(reason) => slot.handle_spawn_failure(core, reason),
        });
        self.complete_pending_fetch();
    }

    fn handle_starter_exit(&mut self, starter: StarterId, exit: Exit) {
        if self.is_backfill_client(starter) {
            return self.handle_client_exit();
        }
        let killed = matches!(exit, Exit::Signal { .. });
        let taken = self.is_accepted_while_draining(starter);
        self.update_coordinated_retirement_without(Some(starter));
        self.with_slot_of_starter(starter, |slot, core| slot.handle_starter_exit(core, killed));
        if let Some(skipper) = &mut self.core.schedule.poll_skipper {
            skipper.starter_slots.remove(&starter);
        }
        if !taken {
            self.retire_jobs_accepted_while_draining();
        }
    }

    /// Ends a call of FETCH_WORK and handles its result, unless the slot no longer waits for it.
    fn end_fetch(&mut self, run: HookRunId, handle: impl FnOnce(&mut Self, SlotKey)) {
        if let Some(key) = self.take_fetching_slot(run) {
            handle(self, key);
        }
    }

    /// True if the starter's job was accepted during a drain.
    fn is_accepted_while_draining(&self, starter: StarterId) -> bool {
        let is_of_starter =
            |slot: &Slot| slot.claims.accepted_while_draining && slot.starter() == Some(starter);
        self.core.drain.is_draining() && self.slots.values().any(is_of_starter)
    }

    fn with_slot_of_starter(
        &mut self,
        starter: StarterId,
        then: impl FnOnce(&mut Slot, &mut ExecutionPointState),
    ) {
        let owns = |slot: &&mut Slot| slot.starter() == Some(starter);
        let slot = match &self.core.schedule.poll_skipper {
            Some(skipper) => {
                skipper.starter_slots.get(&starter).and_then(|key| self.slots.get_mut(key)).filter(owns)
            }
            None => self.slots.values_mut().find(owns),
        };
        if let Some(slot) = slot {
            then(slot, &mut self.core);
        }
    }

    /// Removes a hook from the running hooks, and returns the slot that waits for it if it is a FETCH_WORK
    /// call. The results of other hooks are not used here; the runner reports their failures.
    fn take_fetching_slot(&mut self, run: HookRunId) -> Option<SlotKey> {
        self.core.work.running_hooks.remove(&run);
        if let Some(skipper) = &mut self.core.schedule.poll_skipper {
            let key = skipper.fetching_slots.remove(&run)?;
            return self
                .slots
                .get(&key)
                .filter(|slot| slot.fetch.state.running_call() == Some(run))
                .map(|slot| slot.key);
        }
        self.slots.values().find(|slot| slot.fetch.state.running_call() == Some(run)).map(|slot| slot.key)
    }
}

/// True if the event is the end of a process that wakes the reference's event loop.
fn is_end_of_process(event: &StartdEvent) -> bool {
    matches!(
        event,
        StartdEvent::HookEnded { .. }
            | StartdEvent::JobFetched { .. }
            | StartdEvent::HookFailed { .. }
            | StartdEvent::HookTimedOut { .. }
            | StartdEvent::StarterExited { .. }
            | StartdEvent::SkippedFetchEnds { .. }
    )
}
