//! What is kept of a slot that rests, and what it would have done meanwhile: its ad, its timer and the fetches that were counted only.

use std::time::Duration;

use super::core::Core;
use super::fetch::DEFAULT_DELAY;
use super::kept::fetching::Fetching;
use super::kept::grid::Grid;
use super::kept::lazy::Lazy;
use super::kept::rest::{Asks, NOW, Passed, back};
use super::settings::SlotKind;
use super::single::Slot;
use super::state::{Activity, State};
use super::watch::Moving;
use htc_base::time::{Now, Tick};
use htc_classad::Value;

impl Slot {
    /// Its job would stay whatever it was offered: RANK is the same for all jobs.
    pub(super) fn never_asks(&self) -> bool {
        let rank = self.config.get("Rank");
        self.state == State::Claimed && rank.is_none_or(|rank| rank.as_literal().is_some())
    }

    /// Whether it waits for its next fetch, or makes one that is counted only.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self.fetching, Fetching::Waits(_) | Fetching::Counted(_))
    }

    /// Whether each fetch is like the last, which brought nothing, or can bring nothing: it changes nothing, and the next follows
    /// after the same delay.
    pub(super) fn would_ask_in_vain(&self, core: &Core) -> bool {
        let counts = core.lazy.as_ref().is_some_and(|lazy| lazy.counts);
        let may_ask = match self.state {
            State::Owner | State::Unclaimed => self.kind != SlotKind::Dynamic,
            State::Claimed => self.is_active() && self.activity != Activity::Idle,
            _ => false,
        };
        counts
            && may_ask
            && (self.out_of_work || self.never_asks())
            && self.hooks.is_some()
            && self.delay_is_still()
            && self.next_fetch_delay > 0
    }

    /// Whether something that it does by itself is due.
    pub(super) fn has_run_out(&self, core: &Core) -> bool {
        let now = core.now.tick();
        let lease = self.current.as_ref().and_then(|claim| claim.lease_ends);
        [self.ending_at(), lease].into_iter().flatten().any(|at| at <= now)
            || core.is_due(self.match_ends)
            || core.is_due(self.fetching.alarm())
    }

    /// FetchWorkDelay is a number or not set, and what it was when the slot asked last: after a reconfiguration that is found out by
    /// the next fetch.
    fn delay_is_still(&self) -> bool {
        let Some(expr) = self.live.get("FetchWorkDelay") else {
            return self.next_fetch_delay == DEFAULT_DELAY;
        };
        match expr.as_literal() {
            Some(Value::Int(delay)) => delay == self.next_fetch_delay,
            // Numbers of another kind are rare enough to be asked for each time.
            _ => false,
        }
    }

    /// Whether its timer would be set to the delay that it was set to last.
    pub(super) fn delay_stays(&self, core: &Core) -> bool {
        let delay = self.look(core, self.job(), |context| context.int("FetchWorkDelay"));
        delay.unwrap_or(DEFAULT_DELAY) == self.next_fetch_delay
    }

    /// How things move that its expressions may look at.
    pub(super) fn moving(&self, core: &Core) -> Moving {
        let now = core.now.epoch();
        let connected = core.settings.keyboard_slots.max(core.settings.console_slots) >= self.key.number;
        let somebody = core.measured.input_at.is_some_and(|at| at > now);
        let claim = self.current.as_ref();
        Moving {
            now,
            idle_grows: !(connected && somebody),
            pair: (self.state, self.activity),
            runs: claim.is_some_and(|claim| claim.phase == super::kept::claim::Phase::Running),
            is_suspended: claim.is_some_and(|claim| claim.phase == super::kept::claim::Phase::Suspended),
            midnight: core.local_day_ends(now),
        }
    }

    /// Up to when it would have seen polls and its timer: a poll that was made now is one of them unless it was looked at itself, and
    /// so is this moment once all timers have had their turn.
    pub(super) fn passed(&self, lazy: &Lazy, now: Now) -> Passed {
        let is_over = [lazy.last.tick(), lazy.timers_over].contains(&now.tick());
        Passed { now, polled: is_over && self.fetch_seen != now.monotonic_us }
    }

    /// It is as it would be had it been looked at all the time; the next poll looks at it.
    pub(super) fn wake(&mut self, core: &mut Core) {
        if let Some(since) = self.wake_quietly(core) {
            self.resume_fetch(core, since);
        }
    }

    /// The same; returns since when a fetch is under way that is counted only.
    pub(super) fn wake_quietly(&mut self, core: &mut Core) -> Option<Now> {
        let lazy = core.lazy.as_mut()?;
        let fetch = lazy.fetch;
        let passed = self.passed(lazy, core.now);
        lazy.silent += self.catch_up(&lazy.grid, fetch, passed);
        let last = lazy.last;
        if self.rest.until != NOW && core.wants.moving && self.rest.made < last.monotonic_us {
            let now = std::mem::replace(&mut core.now, last);
            self.refresh(core);
            core.now = now;
            self.rest.made = last.monotonic_us;
        }
        self.rest.until = NOW;
        self.rest.asks = Asks::AtWill;
        self.fetching.take_counted()
    }

    /// A fetch that was counted only is under way at this moment: it is made.
    pub(super) fn resume_fetch(&mut self, core: &mut Core, begun: Now) {
        let Some(path) = self.hooks.as_ref().and_then(|hooks| hooks.fetch.clone()) else { return };
        self.call_fetch_hook(core, path, Vec::new(), begun);
    }

    /// Its ad was made now.
    pub(super) fn made(&mut self, now: Now) {
        self.rest.made = now.monotonic_us;
    }

    /// When it has something to do by itself: a step of a kill, the end of a lease or a match, the next fetch.
    pub(super) fn own_timer(&self, core: &Core, grid: &Grid) -> Option<Tick> {
        let lease = self.current.as_ref().and_then(|claim| claim.lease_ends);
        let matched = self.match_ends.map(|alarm| alarm.at);
        let fetch = if self.rest.asks == Asks::InVain {
            grid.begins_between(self.rest.until)
        } else {
            self.next_fetch(grid)
        };
        let fetch = fetch.filter(|_| core.no_more_fetching.is_none());
        [self.ending_at(), lease, matched, fetch].into_iter().flatten().min()
    }

    /// Whether it asks for work now: its timer has run out, or a poll or update at which it rests would let it ask. The timer
    /// as it stood before it rested says nothing: those polls have set it anew.
    pub(super) fn asks_now(&self, core: &Core, grid: &Grid) -> bool {
        self.next_fetch(grid).is_some_and(|at| at <= core.now.tick())
    }

    /// When it fetches next: polls and updates at which it rests would have set its timer anew.
    pub(super) fn next_fetch(&self, grid: &Grid) -> Option<Tick> {
        let alarm = self.fetching.alarm()?;
        if self.rest.until == NOW {
            return Some(alarm.at);
        }
        if self.rest.asks == Asks::Unwilling {
            // Not before START may be true.
            let delay = self.next_fetch_delay.max(1);
            let set = (alarm.at, self.timer_seen());
            return grid.alarm_from(set, (delay, self.delay_ends()), self.rest.until);
        }
        let delay = self.next_fetch_delay;
        if delay <= 0 || !self.is_asked_in_polls() {
            return Some(alarm.at);
        }
        Some(grid.fetch_after(alarm.at, self.last_fetch_completed + delay, Tick(self.fetch_seen)))
    }

    /// Counts the fetches up to `now` that a slot asking in vain would have made.
    pub(super) fn catch_up(&mut self, grid: &Grid, fetch: Duration, passed: Passed) -> u64 {
        let Passed { now, polled } = passed;
        // Polls before that are over; a fetch is that ended before `now`.
        let seen = now.plus(Duration::from_micros(u64::from(polled)));
        if self.rest.until == NOW || self.fetching.run().is_some() {
            return 0;
        }
        let mut count = 0;
        if let Some(since) = self.fetching.counted() {
            let ends = since.plus(fetch);
            if ends.tick() >= now.tick() {
                return 0;
            }
            self.fetch_over(grid, ends);
            count += 1;
        }
        if self.rest.asks != Asks::InVain {
            self.settle_alarm(grid, seen);
            return 0;
        }
        while let Some(at) = self.next_fetch(grid) {
            if at >= seen.tick() {
                self.settle_alarm(grid, seen);
                break;
            }
            let begins = back(now, now.tick().since(at));
            self.last_fetch_spawned = begins.epoch();
            let ends = begins.plus(fetch);
            if ends.tick() >= now.tick() {
                self.fetching = Fetching::Counted(begins);
                break;
            }
            count += 1;
            self.fetch_over(grid, ends);
        }
        count
    }

    /// Its timer stands where the polls and updates before `now` have set it.
    fn settle_alarm(&mut self, grid: &Grid, now: Now) {
        let Some(alarm) = self.fetching.alarm() else { return };
        let last = grid.before(now.tick(), self.timer_seen());
        self.fetch_seen = self.fetch_seen.max(now.monotonic_us.saturating_sub(1));
        if self.rest.asks == Asks::Unwilling {
            let delay = self.next_fetch_delay.max(1);
            let begun = last.map_or(alarm.at, |last| grid.timer_set_at(last, delay, self.delay_ends()));
            let late = now.tick().since(begun);
            let turns = late.as_secs() / u64::try_from(delay).unwrap_or(1)
                + u64::from(!late.is_zero() && !late.as_micros().is_multiple_of(seconds(delay).as_micros()));
            let turns = if begun >= now.tick() { 0 } else { turns };
            let at = begun.plus(seconds(delay).saturating_mul(u32::try_from(turns).unwrap_or(u32::MAX)));
            self.fetching = Fetching::Waits(grid.alarm_at(at));
        } else if let Some(last) = last.filter(|_| self.next_fetch_delay > 0) {
            let left = self.last_fetch_completed + self.next_fetch_delay - grid.second_of(last.0);
            self.fetching = Fetching::Waits(grid.alarm_at(last.plus(seconds(left.max(0)))));
        }
    }

    /// In which second its delay is over; up to then a poll sets the timer to what is left of it, willing or not.
    fn delay_ends(&self) -> i64 {
        match self.next_fetch_delay {
            delay @ 1.. => self.last_fetch_completed.saturating_add(delay),
            _ => i64::MIN,
        }
    }

    /// Whether polls and updates let it ask for work (`do_periodic_actions`).
    fn is_asked_in_polls(&self) -> bool {
        !matches!(
            (self.state, self.activity),
            (State::Claimed, Activity::Suspended) | (State::Preempting | State::Matched | State::Drained, _)
        )
    }

    /// After when polls and updates have set its timer: never where they do not let it ask.
    fn timer_seen(&self) -> Tick {
        if self.is_asked_in_polls() { Tick(self.fetch_seen) } else { Tick(u64::MAX) }
    }

    /// Whether a poll would let it ask, and nothing else would come of that.
    pub(super) fn is_let_ask(&self) -> bool {
        self.rest.until != NOW && self.rest.asks == Asks::AtWill && self.is_asked_in_polls()
    }

    fn fetch_over(&mut self, grid: &Grid, ends: Now) {
        self.last_fetch_completed = ends.epoch();
        self.fetch_seen = ends.monotonic_us;
        let delay = u64::try_from(self.next_fetch_delay).unwrap_or(0).max(1);
        self.fetching = Fetching::Waits(grid.alarm_at(ends.tick().plus(Duration::from_secs(delay))));
    }
}

fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SlotKey;
    use crate::kept::alarm::Alarm;
    use crate::lazy::tests::point;

    #[test]
    fn a_slot_asks_in_vain_only_while_each_fetch_is_like_the_last() {
        const HOOK: &str = "STARTD_JOB_HOOK_KEYWORD = K\nK_HOOK_FETCH_WORK = /bin/true\n";
        for (delay, in_vain) in [("20", true), ("0", false), ("time() % 7", false)] {
            let mut point = point(&format!("{HOOK}FetchWorkDelay = {delay}"), true);
            let key = SlotKey::of(1);
            let slot = point.slots.get_mut(&key).unwrap();
            (slot.state, slot.next_fetch_delay) = (State::Unclaimed, if in_vain { 20 } else { 0 });
            assert!(!slot.would_ask_in_vain(&point.core), "it has not asked yet");
            let slot = point.slots.get_mut(&key).unwrap();
            slot.out_of_work = true;
            assert_eq!(slot.would_ask_in_vain(&point.core), in_vain, "{delay}");
            slot.state = State::Preempting;
            assert!(!slot.would_ask_in_vain(&point.core));
        }
    }

    /// It was looked at at an update, on the whole second, and polls have come since, each a little later in its second.
    #[test]
    fn a_timer_that_polls_have_set_anew_has_not_run_out_when_it_would_have() {
        let mut point = point("FetchWorkDelay = 300\nPOLLING_INTERVAL = 1\nUPDATE_INTERVAL = 500", true);
        let begun = point.core.now;
        let after = |millis: u64| begun.plus(Duration::from_millis(millis));
        let alarm = |at: Now| Alarm::ending(at.tick(), at.epoch());
        (point.core.poll_at, point.core.polls_from) = (Some(alarm(after(50))), after(50).monotonic_us);
        point.core.update_at = Some(alarm(after(500_000)));
        let slot = point.slots.get_mut(&SlotKey::of(1)).unwrap();
        (slot.state, slot.activity) = (State::Claimed, Activity::Retiring);
        (slot.next_fetch_delay, slot.last_fetch_completed) = (300, begun.epoch() - 97);
        (slot.fetching, slot.fetch_seen) = (Fetching::Waits(alarm(after(203_000))), begun.monotonic_us);
        slot.rest.until = after(203_000).epoch();
        for (millis, asks) in [(202_900, false), (203_000, false), (203_050, true)] {
            point.core.now = after(millis);
            let grid = point.core.grid();
            let slot = point.slots.get(&SlotKey::of(1)).unwrap();
            assert_eq!(slot.asks_now(&point.core, &grid), asks, "after {millis} ms");
        }
    }
}
