//! How the execution point ends: asked to, or with nothing left to do.

use std::borrow::Cow;

use super::drain::Seen;
use super::execution_point::ExecutionPoint;
use super::interface::{Action, HookRun, Notice, Shutdown, VacateReason};
use super::single::Slot;
use htc_base::job::HoldCode;
use htc_base::time::Tick;
use htc_base::world::Frozen;
use htc_classad::{Context, Expr};

/// How long hooks that still run are waited for at the end, in seconds.
const LAST_HOOKS: i64 = 5;

impl ExecutionPoint {
    pub(super) fn shut_down(&mut self, how: Shutdown, reason: &str) {
        if self.core.shutdown.is_some_and(|present| present >= how) {
            return;
        }
        self.core.shutdown = Some(how);
        if self.end_reason.is_empty() {
            self.end_reason = reason.to_owned();
        }
        if how == Shutdown::Graceful {
            self.graceful_until = Some(self.core.now.tick().plus(self.core.settings.graceful_timeout));
        }
        self.core.start_polling();
        // A machine that nobody uses ends as it is (`startd_exit_if_idle`).
        if !self.slots.values().any(Slot::is_claimed) {
            return self.slots.values_mut().for_each(|slot| slot.set_unavailable(None));
        }
        let why = VacateReason::new("Startd was shutdown", HoldCode::StartdShutdown);
        for slot in self.slots.values_mut() {
            slot.set_unavailable(None);
            if how == Shutdown::Fast {
                slot.kill_claim(&mut self.core, Some(why.clone()), reason);
            } else {
                slot.retire(&mut self.core, false, why.clone(), reason);
            }
        }
    }

    /// STARTD_NOCLAIM_SHUTDOWN: the end comes when no slot was claimed for so long (`ResMgr::check_use`).
    pub(super) fn check_use(&mut self) {
        let now = self.core.now.epoch();
        if self.slots.values().any(Slot::is_claimed) {
            self.last_in_use = now;
        }
        let Some(limit) = self.core.settings.noclaim_shutdown else { return };
        if now - self.last_in_use > limit && self.core.shutdown.is_none() {
            let reason = format!("no slot was claimed for {limit} s (STARTD_NOCLAIM_SHUTDOWN)");
            self.shut_down(Shutdown::Graceful, &reason);
        }
    }

    /// DAEMON_SHUTDOWN_FAST and DAEMON_SHUTDOWN, which 25.14 evaluates in each ad that it sends (`DaemonCore::sendUpdates`).
    pub(super) fn check_daemon_shutdown(&mut self) {
        let settings = self.core.settings.clone();
        let policy = &settings.daemon_shutdown;
        if policy.is_unset() {
            return;
        }
        let ads: Vec<_> = self.slots.values().map(|slot| slot.sent_ad(&self.core)).collect();
        let world = Frozen { world: &*self.core.world, now: self.core.now };
        let is_true = |expr: &Option<Expr>| {
            let in_ad = |expr: &Expr| {
                ads.iter().any(|ad| Context::new(&world).my(ad).eval(expr).truth() == Some(true))
            };
            expr.as_ref().is_some_and(in_ad)
        };
        let (fast, graceful) = (is_true(&policy.fast), is_true(&policy.graceful));
        if fast {
            self.shut_down(Shutdown::Fast, "DAEMON_SHUTDOWN_FAST is true");
        } else if graceful {
            self.shut_down(Shutdown::Graceful, "DAEMON_SHUTDOWN is true");
        }
    }

    /// True if this step has changed the state of a slot, which 25.14 sends at once.
    fn has_changed_states(&self) -> bool {
        self.core.out.iter().any(|action| matches!(action, Action::Tell(Notice::State { .. })))
    }

    pub(super) fn set_unable(&mut self, reason: Option<String>) {
        match &reason {
            Some(reason) => {
                self.core.warn(None, format!("no job is fetched, no starter could run it: {reason}"))
            }
            None if self.core.unable.is_some() => self.core.warn(None, "jobs are fetched again"),
            None => {}
        }
        self.core.unable = reason;
    }

    /// When it has been idle for long enough to end.
    pub(super) fn idle_end(&self) -> Option<Tick> {
        let limit = self.core.settings.limits.idle_exit?;
        let idle = self.core.shutdown.is_none() && self.slots.values().all(|slot| !slot.is_active());
        idle.then(|| self.idle_since.plus(limit))
    }

    /// After each event: slots that are gone, conditions to end, the end.
    pub(super) fn settle(&mut self) {
        self.remove_gone();
        self.look_for_drained(Seen::BehindAll);
        if let Some(reason) = self.core.fatal.take() {
            self.shut_down(Shutdown::Fast, &reason);
        }
        if !self.core.settings.daemon_shutdown.is_unset() && self.has_changed_states() {
            self.check_daemon_shutdown();
        }
        let limits = self.core.settings.limits;
        if self.is_lazy() {
            // Nothing ends a simulation whose slots rest before its time.
            return;
        }
        let busy = self.slots.values().any(|slot| slot.is_active());
        if busy {
            self.idle_since = self.core.now.tick();
        }
        self.core.idle_over = self.idle_end().is_some_and(|at| at <= self.core.now.tick());
        if let Some(most) = limits.max_jobs
            && self.core.jobs_accepted >= most
            && self.core.no_more_fetching.is_none()
        {
            self.core.no_more_fetching = Some(format!("--max-jobs {most} is reached"));
        }
        for slot in self.slots.values_mut().filter(|slot| slot.held_back) {
            if self.core.may_fetch() {
                slot.try_fetch(&mut self.core);
            } else if self.core.unable.is_some() {
                // Whoever gave the last job is told that no other follows.
                slot.no_work(&mut self.core, "no starter could run a job");
            }
        }
        if self.core.shutdown.is_none() && self.core.spawning == 0 && !busy {
            if let Some(reason) = self.why_end() {
                self.shut_down(Shutdown::Graceful, &reason);
            }
            self.remove_gone();
        }
        self.finish();
    }

    /// Why an execution point without jobs is to end, if it is.
    fn why_end(&self) -> Option<Cow<'static, str>> {
        let fetching = self.core.fetches > 0;
        let unable = self.core.unable.is_some();
        let done = |slot: &Slot| {
            let asks = slot.hooks.as_ref().is_some_and(|hooks| hooks.fetch.is_some());
            let no_use = unable && slot.held_back;
            !asks || ((slot.out_of_work || no_use) && slot.fetching.run().is_none())
        };
        if let Some(reason) = self.core.no_more_fetching.clone().filter(|_| !fetching) {
            Some(reason.into())
        } else if self.core.settings.limits.once && self.slots.values().all(done) {
            Some("no slot has more work (--once)".into())
        } else {
            (self.core.idle_over && !fetching).then(|| "no work (--idle-exit)".into())
        }
    }

    pub(super) fn finish(&mut self) {
        let core = &mut self.core;
        if self.slots.values().any(|slot| slot.holds_up(core.shutdown))
            || core.spawning > 0
            || core.backfill.is_active()
        {
            return;
        }
        // Whoever gave a job is told what became of it however fast the end is; only what is asked for work is not heard.
        let fetches = |run: &HookRun| self.slots.values().any(|slot| slot.fetching.run() == Some(*run));
        let fast = core.shutdown == Some(Shutdown::Fast);
        if core.hooks_running.iter().any(|run| !(fast && fetches(run))) {
            let until = *self.hooks_until.get_or_insert(core.after(LAST_HOOKS));
            if until > core.now.tick() {
                return;
            }
        }
        self.finished = true;
        core.out.push(Action::Finished { reason: self.end_reason.clone(), restarts: self.restarts });
    }
}
