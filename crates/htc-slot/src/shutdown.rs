//! Shutdown of the execution point: on request, or when nothing is left to do.

use std::borrow::Cow;

use super::drain::DrainCheckTime;
use super::events::{AfterShutdown, HookRunId, ShutdownMode, SlotNotice, StartdAction, VacateReason};
use super::execution_point::ExecutionPoint;
use super::slot::Slot;
use htc_base::job::HoldCode;
use htc_base::time::MonotonicTime;
use htc_base::world::FrozenClockWorld;
use htc_classad::{Context, Expr};

/// Seconds for which a shutdown waits for hooks that are still running.
const FINAL_HOOKS_TIMEOUT_SECONDS: i64 = 5;

impl ExecutionPoint {
    pub(super) fn shut_down(&mut self, how: ShutdownMode, reason: &str) {
        if self.core.ending.shutdown.is_some_and(|present| present >= how) {
            return;
        }
        self.core.ending.shutdown = Some(how);
        if self.end_reason.is_empty() {
            self.end_reason = reason.to_owned();
        }
        if how == ShutdownMode::Graceful {
            self.graceful_until = Some(self.core.now.monotonic().plus(self.core.settings.graceful_timeout));
        }
        self.core.start_polling();
        // An unused machine exits immediately (`startd_exit_if_idle`).
        if !self.slots.values().any(Slot::is_claimed) {
            return self.slots.values_mut().for_each(|slot| slot.set_unavailable(None));
        }
        let why = VacateReason::new("Startd was shutdown", HoldCode::StartdShutdown);
        for slot in self.slots.values_mut() {
            slot.set_unavailable(None);
            if how == ShutdownMode::Fast {
                slot.kill_claim(&mut self.core, Some(why.clone()), reason);
            } else {
                slot.retire(&mut self.core, false, why.clone(), reason);
            }
        }
    }

    /// Checks STARTD_NOCLAIM_SHUTDOWN: shuts down if no slot was claimed for that time (`ResMgr::check_use`).
    pub(super) fn check_noclaim_shutdown(&mut self) {
        let now = self.core.now.epoch();
        if self.slots.values().any(Slot::is_claimed) {
            self.last_in_use = now;
        }
        let Some(limit) = self.core.settings.noclaim_shutdown else { return };
        if now - self.last_in_use > limit && self.core.ending.shutdown.is_none() {
            let reason = format!("no slot was claimed for {limit} s (STARTD_NOCLAIM_SHUTDOWN)");
            self.shut_down(ShutdownMode::Graceful, &reason);
        }
    }

    /// Checks DAEMON_SHUTDOWN_FAST and DAEMON_SHUTDOWN, which 25.14 evaluates in each ad that it sends
    /// (`DaemonCore::sendUpdates`).
    pub(super) fn check_daemon_shutdown(&mut self) {
        let settings = self.core.settings.clone();
        let policy = &settings.daemon_shutdown;
        if policy.is_unset() {
            return;
        }
        let ads: Vec<_> = self.slots.values().map(|slot| slot.sent_ad(&self.core)).collect();
        let world = FrozenClockWorld { world: &*self.core.world, now: self.core.now };
        let is_true = |expr: &Option<Expr>| {
            let in_ad = |expr: &Expr| {
                ads.iter().any(|ad| Context::new(&world).my(ad).eval(expr).truth() == Some(true))
            };
            expr.as_ref().is_some_and(in_ad)
        };
        let (fast, graceful) = (is_true(&policy.fast), is_true(&policy.graceful));
        if fast || graceful {
            self.after_shutdown = AfterShutdown::StaysDown;
        }
        if fast {
            self.shut_down(ShutdownMode::Fast, "DAEMON_SHUTDOWN_FAST is true");
        } else if graceful {
            self.shut_down(ShutdownMode::Graceful, "DAEMON_SHUTDOWN is true");
        }
    }

    /// True if the current step has changed the state of a slot; 25.14 sends such changes at once.
    fn has_changed_states(&self) -> bool {
        self.core
            .actions
            .iter()
            .any(|action| matches!(action, StartdAction::Notify(SlotNotice::StateChanged { .. })))
    }

    pub(super) fn set_starter_problem(&mut self, reason: Option<String>) {
        match &reason {
            Some(reason) => {
                self.core.warn(None, format!("no job is fetched, because no starter could run it: {reason}"))
            }
            None if self.core.ending.starter_problem.is_some() => {
                self.core.warn(None, "jobs are fetched again")
            }
            None => {}
        }
        self.core.ending.starter_problem = reason;
    }

    /// Stops fetching for a limit that several execution points have in common. The execution point exits after the next
    /// event in which it has no job.
    pub fn stop_fetching(&mut self, reason: String) {
        self.core.ending.no_more_fetching.get_or_insert(reason);
    }

    /// Returns when the execution point will have been idle for the time of `--idle-exit`, or `None`.
    pub(super) fn idle_exit_time(&self) -> Option<MonotonicTime> {
        let limit = self.core.settings.limits.idle_exit?;
        let idle = self.core.ending.shutdown.is_none() && self.slots.values().all(|slot| !slot.is_active());
        idle.then(|| self.idle_since.plus(limit))
    }

    /// Finishes each event: removes free dynamic slots, checks the conditions for a shutdown, and completes a shutdown.
    pub(super) fn finish_event(&mut self) {
        self.remove_free_dynamic_slots();
        self.check_drain_completed(DrainCheckTime::AfterEvent);
        if let Some(reason) = self.core.ending.fatal_reason.take() {
            self.shut_down(ShutdownMode::Fast, &reason);
        }
        if !self.core.settings.daemon_shutdown.is_unset() && self.has_changed_states() {
            self.check_daemon_shutdown();
        }
        let limits = self.core.settings.limits;
        if self.is_skipping_polls() {
            // A simulation that skips polls never shuts down early.
            return;
        }
        let busy = self.slots.values().any(|slot| slot.is_active());
        if busy {
            self.idle_since = self.core.now.monotonic();
        }
        self.core.ending.idle_exit_due =
            self.idle_exit_time().is_some_and(|at| at <= self.core.now.monotonic());
        if let Some(most) = limits.max_jobs
            && self.core.work.jobs_accepted >= most
            && self.core.ending.no_more_fetching.is_none()
        {
            self.core.ending.no_more_fetching = Some(format!("--max-jobs {most} is reached"));
        }
        for slot in self.slots.values_mut().filter(|slot| slot.fetch.held_back) {
            if self.core.can_fetch() {
                slot.try_fetch(&mut self.core);
            } else if self.core.ending.starter_problem.is_some() {
                // Calls EVICT_CLAIM, so that the source of the last job learns that no other job follows.
                slot.end_idle_fetched_claim(&mut self.core, "no starter could run a job");
            }
        }
        if self.core.ending.shutdown.is_none() && self.core.work.starting_starters == 0 && !busy {
            if let Some(reason) = self.exit_reason() {
                self.shut_down(ShutdownMode::Graceful, &reason);
            }
            self.remove_free_dynamic_slots();
        }
        self.finish_if_done();
    }

    /// Returns why an execution point without jobs shuts down, or `None` if it does not.
    fn exit_reason(&self) -> Option<Cow<'static, str>> {
        let fetching = self.core.work.running_fetches > 0;
        let unable = self.core.ending.starter_problem.is_some();
        let is_out_of_work = |slot: &Slot| {
            let has_fetch_hook = slot.hooks.as_ref().is_some_and(|hooks| hooks.fetch.is_some());
            let no_use = unable && slot.fetch.held_back;
            !has_fetch_hook
                || ((slot.fetch.out_of_work || no_use) && slot.fetch.state.running_call().is_none())
        };
        if let Some(reason) = self.core.ending.no_more_fetching.clone().filter(|_| !fetching) {
            Some(reason.into())
        } else if self.core.settings.limits.exit_when_no_work && self.slots.values().all(is_out_of_work) {
            Some("no slot has more work (--once)".into())
        } else {
            (self.core.ending.idle_exit_due && !fetching).then(|| "no work (--idle-exit)".into())
        }
    }

    pub(super) fn finish_if_done(&mut self) {
        let core = &mut self.core;
        if self.slots.values().any(|slot| slot.is_blocking_shutdown(core.ending.shutdown))
            || core.work.starting_starters > 0
            || core.backfill.is_active()
        {
            return;
        }
        // A shutdown always waits for REPLY_FETCH and EVICT_CLAIM hooks; a fast shutdown does not wait for FETCH_WORK hooks.
        let fetches =
            |run: &HookRunId| self.slots.values().any(|slot| slot.fetch.state.running_call() == Some(*run));
        let fast = core.ending.shutdown == Some(ShutdownMode::Fast);
        if core.work.running_hooks.iter().any(|run| !(fast && fetches(run))) {
            let until = *self.hooks_until.get_or_insert(core.time_after(FINAL_HOOKS_TIMEOUT_SECONDS));
            if until > core.now.monotonic() {
                return;
            }
        }
        self.finished = true;
        core.actions
            .push(StartdAction::Finished { reason: self.end_reason.clone(), next: self.after_shutdown });
    }
}
