//! Slots whose polls are skipped: catches up on their ads, timers and counted fetches.

use std::time::Duration;

use super::change_prediction::ClockContext;
use super::execution_point_state::ExecutionPointState;
use super::fetch_work::DEFAULT_FETCH_DELAY;
use super::runtime_state::fetch_state::FetchState;
use super::runtime_state::idle_window::{CatchUpPoint, EVALUATE_AT_ONCE, FetchMode, earlier_by};
use super::runtime_state::poll_schedule::PollSchedule;
use super::runtime_state::poll_skipper::PollSkipper;
use super::settings::SlotKind;
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use htc_base::time::{ClockReading, MonotonicTime};
use htc_classad::Value;

impl Slot {
    /// True if the slot is claimed and would refuse every fetched job, because its RANK is the same for all jobs.
    pub(super) fn is_never_fetching(&self) -> bool {
        let rank = self.config.get("Rank");
        self.state == SlotState::Claimed && rank.is_none_or(|rank| rank.as_literal().is_some())
    }

    /// True if the slot waits for its next fetch, or a fetch that is only counted is in progress.
    pub(super) fn is_waiting_to_fetch(&self) -> bool {
        matches!(self.fetch.state, FetchState::Waiting(_) | FetchState::Skipped(_))
    }

    /// True if a fetch would change nothing, because the last one returned no work or the slot would refuse every job, and if the
    /// next fetch follows after the same delay.
    pub(super) fn is_fetch_futile(&self, core: &ExecutionPointState) -> bool {
        let counts = core.schedule.poll_skipper.as_ref().is_some_and(|skipper| skipper.skips_futile_fetches);
        let may_ask = match self.state {
            SlotState::Owner | SlotState::Unclaimed => self.kind != SlotKind::Dynamic,
            SlotState::Claimed => self.is_active() && self.activity != Activity::Idle,
            _ => false,
        };
        counts
            && may_ask
            && (self.fetch.out_of_work || self.is_never_fetching())
            && self.hooks.is_some()
            && self.is_fetch_delay_constant()
            && self.fetch.next_delay > 0
    }

    /// True if a timer of the slot has expired.
    pub(super) fn has_expired_timer(&self, core: &ExecutionPointState) -> bool {
        let now = core.now.monotonic();
        let lease = self.claims.current.as_ref().and_then(|claim| claim.lease_ends);
        [self.kill_deadline(), lease].into_iter().flatten().any(|at| at <= now)
            || core.is_due(self.claims.match_expiry)
            || core.is_due(self.fetch.state.next_call_alarm())
    }

    /// True if FetchWorkDelay is a constant or not set, and has the value that the last fetch used. After a reconfiguration the
    /// value may differ until the next fetch.
    fn is_fetch_delay_constant(&self) -> bool {
        let Some(expr) = self.ads.live.get("FetchWorkDelay") else {
            return self.fetch.next_delay == DEFAULT_FETCH_DELAY;
        };
        match expr.as_literal() {
            Some(Value::Int(delay)) => delay == self.fetch.next_delay,
            // A delay that is not an integer is rare enough to be evaluated each time.
            _ => false,
        }
    }

    /// True if the fetch timer would be set to the same delay as last time.
    pub(super) fn is_fetch_delay_unchanged(&self, core: &ExecutionPointState) -> bool {
        let delay = self.eval_in_slot_ad(core, self.job(), |context| context.int("FetchWorkDelay"));
        delay.unwrap_or(DEFAULT_FETCH_DELAY) == self.fetch.next_delay
    }

    /// Returns the clock-dependent state that the slot's expressions may refer to.
    pub(super) fn clock_context(&self, core: &ExecutionPointState) -> ClockContext {
        let now = core.now.epoch();
        let connected = core.settings.keyboard_slots.max(core.settings.console_slots) >= self.key.number;
        let somebody = core.load.measured.last_input_at.is_some_and(|at| at > now);
        let claim = self.claims.current.as_ref();
        ClockContext {
            now,
            idle_grows: !(connected && somebody),
            state_and_activity: (self.state, self.activity),
            is_running: claim
                .is_some_and(|claim| claim.phase == super::runtime_state::claim::ClaimPhase::Running),
            is_suspended: claim
                .is_some_and(|claim| claim.phase == super::runtime_state::claim::ClaimPhase::Suspended),
            midnight: core.local_day_end(now),
        }
    }

    /// Returns the time up to which the slot has to catch up. The point includes a poll at `now` unless that poll has evaluated
    /// the slot already.
    pub(super) fn catch_up_point(&self, skipper: &PollSkipper, now: ClockReading) -> CatchUpPoint {
        let is_over = [skipper.last_poll.monotonic(), skipper.timers_run_at].contains(&now.monotonic());
        CatchUpPoint { now, includes_poll: is_over && self.fetch.timer_set_at != now.monotonic_us }
    }

    /// Brings the slot to the state it would have if every poll had evaluated it, and requests its evaluation at the
    /// next poll.
    pub(super) fn wake(&mut self, core: &mut ExecutionPointState) {
        if let Some(since) = self.wake_without_fetch(core) {
            self.resume_fetch(core, since);
        }
    }

    /// Brings the slot up to date as [`Slot::wake`] does, and returns the start time of a counted fetch in progress, which the
    /// caller resumes.
    pub(super) fn wake_without_fetch(&mut self, core: &mut ExecutionPointState) -> Option<ClockReading> {
        let skipper = core.schedule.poll_skipper.as_mut()?;
        let fetch = skipper.fetch_duration;
        let passed = self.catch_up_point(skipper, core.now);
        skipper.skipped_fetches += self.catch_up_fetches(&skipper.schedule, fetch, passed);
        let last = skipper.last_poll;
        if self.idle_window.until != EVALUATE_AT_ONCE
            && core.publish_set.time_dependent
            && self.idle_window.ad_made_at < last.monotonic_us
        {
            let now = std::mem::replace(&mut core.now, last);
            self.refresh_ad(core);
            core.now = now;
            self.idle_window.ad_made_at = last.monotonic_us;
        }
        self.idle_window.until = EVALUATE_AT_ONCE;
        self.idle_window.fetch_mode = FetchMode::WhenDue;
        self.fetch.state.take_skipped_call()
    }

    /// Calls FETCH_WORK for a counted fetch that has been in progress since `begun`.
    pub(super) fn resume_fetch(&mut self, core: &mut ExecutionPointState, begun: ClockReading) {
        let Some(path) = self.hooks.as_ref().and_then(|hooks| hooks.fetch.clone()) else { return };
        self.call_fetch_hook(core, path, Vec::new(), begun);
    }

    /// Records that the ad was refreshed now.
    pub(super) fn record_ad_refresh(&mut self, now: ClockReading) {
        self.idle_window.ad_made_at = now.monotonic_us;
    }

    /// Returns when the slot's next timer expires: a step of a kill, the end of a lease or a match, or the next fetch.
    pub(super) fn next_timer(
        &self,
        core: &ExecutionPointState,
        schedule: &PollSchedule,
    ) -> Option<MonotonicTime> {
        let lease = self.claims.current.as_ref().and_then(|claim| claim.lease_ends);
        let matched = self.claims.match_expiry.map(|alarm| alarm.at);
        let fetch = if self.idle_window.fetch_mode == FetchMode::Futile {
            schedule.second_start_between_polls(self.idle_window.until)
        } else {
            self.next_fetch_time(schedule)
        };
        let fetch = fetch.filter(|_| core.ending.no_more_fetching.is_none());
        [self.kill_deadline(), lease, matched, fetch].into_iter().flatten().min()
    }

    /// True if the slot fetches now, because its timer has expired or a skipped poll or update would let it fetch. The skipped
    /// polls would have set the timer again, so the time to which it was set before them is not used.
    pub(super) fn is_fetch_due(&self, core: &ExecutionPointState, schedule: &PollSchedule) -> bool {
        self.next_fetch_time(schedule).is_some_and(|at| at <= core.now.monotonic())
    }

    /// Returns when the slot fetches next, taking into account that skipped polls and updates would have set its timer again.
    pub(super) fn next_fetch_time(&self, schedule: &PollSchedule) -> Option<MonotonicTime> {
        let alarm = self.fetch.state.next_call_alarm()?;
        if self.idle_window.until == EVALUATE_AT_ONCE {
            return Some(alarm.at);
        }
        if self.idle_window.fetch_mode == FetchMode::Unwilling {
            // The slot does not fetch before START may be true.
            let delay = self.fetch.next_delay.max(1);
            let set = (alarm.at, self.timer_last_set());
            return schedule.next_timer_when_willing(
                set.0,
                set.1,
                delay,
                self.fetch_delay_end(),
                self.idle_window.until,
            );
        }
        let delay = self.fetch.next_delay;
        if delay <= 0 || !self.can_fetch_in_polls() {
            return Some(alarm.at);
        }
        Some(schedule.next_fetch_time(
            alarm.at,
            self.fetch.last_completed + delay,
            MonotonicTime(self.fetch.timer_set_at),
        ))
    }

    /// Returns how many calls of FETCH_WORK, known to return no job, would have completed up to `passed`.
    pub(super) fn catch_up_fetches(
        &mut self,
        schedule: &PollSchedule,
        fetch: Duration,
        passed: CatchUpPoint,
    ) -> u64 {
        let CatchUpPoint { now, includes_poll: polled } = passed;
        // Polls before `polled_until` have been made. A fetch is treated as completed only if it ended before `now`.
        let polled_until = now.plus(Duration::from_micros(u64::from(polled)));
        if self.idle_window.until == EVALUATE_AT_ONCE || self.fetch.state.running_call().is_some() {
            return 0;
        }
        let mut count = 0;
        if let Some(since) = self.fetch.state.skipped_call_start() {
            let ends = since.plus(fetch);
            if ends.monotonic() >= now.monotonic() {
                return 0;
            }
            self.finish_skipped_fetch(schedule, ends);
            count += 1;
        }
        if self.idle_window.fetch_mode != FetchMode::Futile {
            self.catch_up_alarm(schedule, polled_until);
            return 0;
        }
        while let Some(at) = self.next_fetch_time(schedule) {
            if at >= polled_until.monotonic() {
                self.catch_up_alarm(schedule, polled_until);
                break;
            }
            let begins = earlier_by(now, now.monotonic().since(at));
            self.fetch.last_spawned = begins.epoch();
            let ends = begins.plus(fetch);
            if ends.monotonic() >= now.monotonic() {
                self.fetch.state = FetchState::Skipped(begins);
                break;
            }
            count += 1;
            self.finish_skipped_fetch(schedule, ends);
        }
        count
    }

    /// Sets the fetch timer as the polls and updates before `now` would have set it.
    fn catch_up_alarm(&mut self, schedule: &PollSchedule, now: ClockReading) {
        let Some(alarm) = self.fetch.state.next_call_alarm() else { return };
        let last = schedule.last_before(now.monotonic(), self.timer_last_set());
        self.fetch.timer_set_at = self.fetch.timer_set_at.max(now.monotonic_us.saturating_sub(1));
        if self.idle_window.fetch_mode == FetchMode::Unwilling {
            let delay = self.fetch.next_delay.max(1);
            let begun =
                last.map_or(alarm.at, |last| schedule.timer_after_poll(last, delay, self.fetch_delay_end()));
            let overdue = now.monotonic().since(begun);
            let periods = overdue.as_secs() / u64::try_from(delay).unwrap_or(1)
                + u64::from(
                    !overdue.is_zero()
                        && !overdue.as_micros().is_multiple_of(duration_from_seconds(delay).as_micros()),
                );
            let periods = if begun >= now.monotonic() { 0 } else { periods };
            let at = begun.plus(
                duration_from_seconds(delay).saturating_mul(u32::try_from(periods).unwrap_or(u32::MAX)),
            );
            self.fetch.state = FetchState::Waiting(schedule.alarm_at(at));
        } else if let Some(last) = last.filter(|_| self.fetch.next_delay > 0) {
            let left = self.fetch.last_completed + self.fetch.next_delay - schedule.wall_second_at(last.0);
            self.fetch.state =
                FetchState::Waiting(schedule.alarm_at(last.plus(duration_from_seconds(left.max(0)))));
        }
    }

    /// Returns the second in which the fetch delay ends. Until then, each poll sets the timer to the rest of the delay, even if
    /// START is false.
    fn fetch_delay_end(&self) -> i64 {
        match self.fetch.next_delay {
            delay @ 1.. => self.fetch.last_completed.saturating_add(delay),
            _ => i64::MIN,
        }
    }

    /// True if the slot tries to fetch at polls and updates (`do_periodic_actions`).
    fn can_fetch_in_polls(&self) -> bool {
        !matches!(
            (self.state, self.activity),
            (SlotState::Claimed, Activity::Suspended)
                | (SlotState::Preempting | SlotState::Matched | SlotState::Drained, _)
        )
    }

    /// Returns the time at which the slot's fetch timer was last set; skipped polls and updates after that time would
    /// have set it again. If the slot does not fetch in polls, returns the maximum time.
    fn timer_last_set(&self) -> MonotonicTime {
        if self.can_fetch_in_polls() {
            MonotonicTime(self.fetch.timer_set_at)
        } else {
            MonotonicTime(u64::MAX)
        }
    }

    /// True if a poll of this slot would have no effect other than a fetch.
    pub(super) fn is_only_fetching_in_polls(&self) -> bool {
        self.idle_window.until != EVALUATE_AT_ONCE
            && self.idle_window.fetch_mode == FetchMode::WhenDue
            && self.can_fetch_in_polls()
    }

    fn finish_skipped_fetch(&mut self, schedule: &PollSchedule, ends: ClockReading) {
        self.fetch.last_completed = ends.epoch();
        self.fetch.timer_set_at = ends.monotonic_us;
        let delay = u64::try_from(self.fetch.next_delay).unwrap_or(0).max(1);
        self.fetch.state =
            FetchState::Waiting(schedule.alarm_at(ends.monotonic().plus(Duration::from_secs(delay))));
    }
}

fn duration_from_seconds(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SlotKey;
    use crate::poll_skipping::tests::point;
    use crate::runtime_state::alarm::Alarm;

    #[test]
    fn a_fetch_is_futile_only_if_the_next_one_has_the_same_delay() {
        const HOOK: &str = "STARTD_JOB_HOOK_KEYWORD = K\nK_HOOK_FETCH_WORK = /bin/true\n";
        for (delay, in_vain) in [("20", true), ("0", false), ("time() % 7", false)] {
            let mut point = point(&format!("{HOOK}FetchWorkDelay = {delay}"), true);
            let key = SlotKey::from_number(1);
            let slot = point.slots.get_mut(&key).unwrap();
            (slot.state, slot.fetch.next_delay) = (SlotState::Unclaimed, if in_vain { 20 } else { 0 });
            assert!(!slot.is_fetch_futile(&point.core), "it has not asked yet");
            let slot = point.slots.get_mut(&key).unwrap();
            slot.fetch.out_of_work = true;
            assert_eq!(slot.is_fetch_futile(&point.core), in_vain, "{delay}");
            slot.state = SlotState::Preempting;
            assert!(!slot.is_fetch_futile(&point.core));
        }
    }

    /// The slot was evaluated at an update on a whole second, and each later poll came slightly later within its second.
    #[test]
    fn a_timer_that_polls_have_set_again_expires_later() {
        let mut point = point("FetchWorkDelay = 300\nPOLLING_INTERVAL = 1\nUPDATE_INTERVAL = 500", true);
        let begun = point.core.now;
        let after = |millis: u64| begun.plus(Duration::from_millis(millis));
        let alarm = |at: ClockReading| Alarm::new(at.monotonic(), at.epoch());
        (point.core.schedule.poll_at, point.core.schedule.polls_since) =
            (Some(alarm(after(50))), after(50).monotonic_us);
        point.core.schedule.update_at = Some(alarm(after(500_000)));
        let slot = point.slots.get_mut(&SlotKey::from_number(1)).unwrap();
        (slot.state, slot.activity) = (SlotState::Claimed, Activity::Retiring);
        (slot.fetch.next_delay, slot.fetch.last_completed) = (300, begun.epoch() - 97);
        (slot.fetch.state, slot.fetch.timer_set_at) =
            (FetchState::Waiting(alarm(after(203_000))), begun.monotonic_us);
        slot.idle_window.until = after(203_000).epoch();
        for (millis, asks) in [(202_900, false), (203_000, false), (203_050, true)] {
            point.core.now = after(millis);
            let schedule = point.core.poll_schedule();
            let slot = point.slots.get(&SlotKey::from_number(1)).unwrap();
            assert_eq!(slot.is_fetch_due(&point.core, &schedule), asks, "after {millis} ms");
        }
    }
}
