//! Looking at a slot only when something that it has read has changed, or a time in an expression has come.
//!
//! A slot that policy has been asked about and that stays as it is rests until the second that the [watch](super::watch) names, or
//! until an event concerns it. Polls and updates at which all slots rest are passed over; what they would have left behind
//! is made up for when somebody looks. A slot that was told that there is no work asks again and again in vain: those fetches
//! are counted, not made. Everything is as if every slot had been looked at in every poll; `tests/simulate.rs` holds both
//! ways against one another.
//!
//! While a drain or the end is under way, all slots wait for one another, and every poll is made.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::core::Core;
use super::execution_point::ExecutionPoint;
use super::grid::Grid;
use super::interface::{Action, HookCall, HookRun, SlotHook, SlotKey, StarterId};
use super::settings::SlotKind;
use super::single::Slot;
use super::state::{Activity, State};
use super::wants::Wants;
use super::watch::{ALWAYS, Moving};
use crate::classad::references::Names;
use crate::text::calendar::DAY;
use crate::time::{Now, Tick};

/// What is kept for all slots.
pub(super) struct Lazy {
    /// How long a FETCH_WORK takes.
    fetch: Duration,
    /// The last poll or update that was made or passed over.
    last: Now,
    /// From which second on each slot is to be looked at.
    looks: BinaryHeap<Reverse<(i64, SlotKey)>>,
    /// When each slot has something to do by itself.
    timers: BinaryHeap<Reverse<(Tick, SlotKey)>>,
    /// Slots that the present event concerns.
    touched: Vec<SlotKey>,
    all_touched: bool,
    /// The polls as they were at the end of the last step.
    grid: Grid,
    /// How many slots are looked at in polls.
    polled: usize,
    /// Slots that ask in vain, since they were last told of.
    waiting: Vec<(SlotKey, Tick, u32)>,
    /// Fetches that were counted only.
    silent: u64,
    /// Which slot a call or a starter belongs to.
    pub fetches: FxHashMap<HookRun, SlotKey>,
    pub starters: FxHashMap<StarterId, SlotKey>,
    /// When something is due next.
    pub next: Option<Tick>,
}

/// What is kept of one slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    /// Until this second nothing can be different; at once after an event.
    until: i64,
    /// When its ad was made, on the clock that never jumps.
    made: u64,
    /// Whether it asks for work in vain.
    in_vain: bool,
    /// Whether it will not ask before it is looked at again: START is false.
    unwilling: bool,
    /// Counts rests.
    turn: u32,
    is_polled: bool,
    /// What stands in the calendar of timers.
    timer: Option<Tick>,
}

/// Look at once.
const NOW: i64 = i64::MIN;

impl Default for Rest {
    fn default() -> Self {
        Rest { until: NOW, made: 0, in_vain: false, unwilling: false, turn: 0, is_polled: false, timer: None }
    }
}

impl ExecutionPoint {
    /// Looks only where something has changed, from the start on. `asked` are all attributes that anybody may ask for, `fetch` is
    /// how long each FETCH_WORK takes; without either, and where the policy never rests, every poll is made.
    pub fn look_only_at_changes(&mut self, asked: &Option<Names>, fetch: Option<Duration>) {
        let settings = self.core.settings.clone();
        let (Some(asked), Some(fetch)) = (asked, fetch) else { return };
        let Some(wants) = Wants::of(asked, &settings.job_attributes) else { return };
        if !settings.slot_attributes.is_empty() || !settings.rollup_attributes.is_empty() {
            return;
        }
        // Benchmarks and backfill are thought of at each poll.
        if !settings.benchmarks.jobs.is_empty() || settings.backfill.is_some() {
            return;
        }
        self.core.wants = wants;
        self.core.lazy = Some(Box::new(Lazy {
            fetch,
            last: self.core.now,
            looks: BinaryHeap::new(),
            timers: BinaryHeap::new(),
            touched: Vec::new(),
            all_touched: true,
            grid: Grid::default(),
            polled: 0,
            waiting: Vec::new(),
            silent: 0,
            fetches: FxHashMap::default(),
            starters: FxHashMap::default(),
            next: None,
        }));
    }

    /// Whether slots may rest now.
    pub(super) fn is_lazy(&self) -> bool {
        self.core.lazy.is_some() && !self.core.drain.is_on() && self.core.shutdown.is_none()
    }

    /// Before an event: polls and updates at which nobody had to look are passed over.
    pub(super) fn pass(&mut self) {
        let grid = Grid::of(&self.core);
        let now = self.core.now;
        let Some(lazy) = &mut self.core.lazy else { return };
        lazy.touched.clear();
        lazy.all_touched = false;
        if let Some(last) = grid.before(now.tick(), Tick(0))
            && last > lazy.last.tick()
        {
            let ago = now.tick().since(last);
            lazy.last = back(now, ago);
            self.core.current_time = lazy.last.epoch();
        }
        grid.advance(now.tick(), &mut self.core);
    }

    /// An event concerns the slots of this number: they are as they would be, and are looked at at the next poll.
    pub(super) fn touch(&mut self, key: SlotKey) {
        if self.core.lazy.is_none() {
            return;
        }
        let family = SlotKey::of(key.number)..=SlotKey { number: key.number, sub: u32::MAX };
        let ExecutionPoint { core, slots, .. } = self;
        for (key, slot) in slots.range_mut(family) {
            slot.wake(core);
            if let Some(lazy) = &mut core.lazy {
                lazy.touched.push(*key);
            }
        }
    }

    /// A slot that is about to be looked at is as it would be.
    pub(super) fn bring_up(&mut self, key: SlotKey) {
        let ExecutionPoint { core, slots, .. } = self;
        if let Some(slot) = slots.get_mut(&key) {
            slot.wake(core);
        }
    }

    /// An event concerns all slots.
    pub(super) fn touch_all(&mut self) {
        if self.core.lazy.is_none() {
            return;
        }
        let ExecutionPoint { core, slots, .. } = self;
        slots.values_mut().for_each(|slot| slot.wake(core));
        if let Some(lazy) = &mut core.lazy {
            lazy.all_touched = true;
        }
    }

    /// After an event: when the slots that it concerned are looked at next, and what they do by themselves.
    pub(super) fn note_changes(&mut self) {
        let grid = Grid::of(&self.core);
        let Some(mut lazy) = self.core.lazy.take() else { return };
        if !grid.is_same_as(&lazy.grid) {
            // The polls that rested slots would have seen are others from now on.
            let now = self.core.now;
            for slot in self.slots.values_mut() {
                lazy.silent += slot.catch_up(&lazy.grid, lazy.fetch, now);
            }
            lazy.grid = grid;
            lazy.all_touched = true;
        }
        let mut keys = std::mem::take(&mut lazy.touched);
        if lazy.all_touched {
            keys = self.slots.keys().copied().collect();
        } else {
            // With a slot those are concerned that were carved out of it meanwhile.
            keys.iter_mut().for_each(|key| key.sub = 0);
            keys.sort_unstable();
            keys.dedup();
            let family = |key: &SlotKey| *key..=SlotKey { number: key.number, sub: u32::MAX };
            keys = keys.iter().flat_map(|key| self.slots.range(family(key)).map(|(key, _)| *key)).collect();
        }
        keys.sort_unstable();
        keys.dedup();
        for key in &keys {
            let Some(slot) = self.slots.get_mut(key) else { continue };
            let polled = slot.needs_polling();
            if polled != std::mem::replace(&mut slot.rest.is_polled, polled) {
                lazy.polled = if polled { lazy.polled + 1 } else { lazy.polled.saturating_sub(1) };
            }
            if slot.rest.until != ALWAYS {
                lazy.looks.push(Reverse((slot.rest.until, *key)));
            }
            let timer = slot.own_timer(&self.core, &grid);
            if timer != slot.rest.timer {
                slot.rest.timer = timer;
                timer.into_iter().for_each(|at| lazy.timers.push(Reverse((at, *key))));
            }
            if slot.rest.in_vain
                && !slot.never_asks()
                && let Some(at) = slot.next_fetch(&grid)
            {
                lazy.waiting.push((*key, at, slot.rest.turn));
            }
        }
        lazy.touched = keys;
        lazy.touched.clear();
        lazy.all_touched = false;
        self.core.lazy = Some(lazy);
        let next = self.lazy_wake();
        if let Some(lazy) = &mut self.core.lazy {
            lazy.next = next;
        }
    }

    /// When something is due, as far as it is known without looking at all slots.
    fn lazy_wake(&mut self) -> Option<Tick> {
        let grid = Grid::of(&self.core);
        let slots = &self.slots;
        let poll_at = self.core.poll_at.map(|alarm| alarm.at);
        let lazy = self.core.lazy.as_mut()?;
        while let Some(Reverse((until, key))) = lazy.looks.peek().copied() {
            if slots.get(&key).is_some_and(|slot| slot.rest.until == until) {
                break;
            }
            lazy.looks.pop();
        }
        while let Some(Reverse((at, key))) = lazy.timers.peek().copied() {
            if slots.get(&key).is_some_and(|slot| slot.rest.timer == Some(at)) {
                break;
            }
            lazy.timers.pop();
        }
        let look = lazy.looks.peek().and_then(|Reverse((until, _))| grid.first_in_or_after(*until));
        let timer = lazy.timers.peek().map(|Reverse((at, _))| *at);
        // The poll at which nobody is left to be polled ends the polls.
        let last = if lazy.polled == 0 { poll_at } else { None };
        [look, timer, last].into_iter().flatten().min()
    }

    /// Whether a timer of a slot has run out by now.
    pub(super) fn a_timer_is_due(&self) -> bool {
        let now = self.core.now.tick();
        let due = |lazy: &Lazy| {
            let top = lazy.timers.peek();
            top.is_some_and(|Reverse((at, key))| {
                *at <= now && self.slots.get(key).is_some_and(|slot| slot.rest.timer == Some(*at))
            })
        };
        self.core.lazy.as_deref().is_some_and(due)
    }

    /// The slots that a poll or update has to look at now, in order.
    pub(super) fn due_looks(&mut self) -> Vec<SlotKey> {
        let now = self.core.now.epoch();
        let mut keys = Vec::new();
        let ExecutionPoint { core, slots, .. } = self;
        let Some(lazy) = &mut core.lazy else { return keys };
        while let Some(Reverse((until, key))) = lazy.looks.peek().copied() {
            if until > now {
                break;
            }
            lazy.looks.pop();
            if slots.get(&key).is_some_and(|slot| slot.rest.until == until) {
                keys.push(key);
            }
        }
        // Those whom the present event has concerned already.
        let all = if lazy.all_touched { slots.keys().copied().collect() } else { Vec::new() };
        for key in lazy.touched.iter().chain(&all) {
            if slots.get(key).is_some_and(|slot| slot.rest.until <= now) {
                keys.push(*key);
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// A slot is gone.
    pub(super) fn forget(&mut self, gone: &Slot) {
        if let Some(lazy) = self.core.lazy.as_mut().filter(|_| gone.rest.is_polled) {
            lazy.polled = lazy.polled.saturating_sub(1);
        }
    }

    /// Whether some slot is looked at in every poll; `looked` are those that have been looked at just now.
    pub(super) fn is_anybody_polled(&mut self, looked: &[SlotKey]) -> bool {
        let ExecutionPoint { core, slots, .. } = self;
        let Some(lazy) = &mut core.lazy else { return false };
        for key in looked {
            let Some(slot) = slots.get_mut(key) else { continue };
            let polled = slot.needs_polling();
            if polled != std::mem::replace(&mut slot.rest.is_polled, polled) {
                lazy.polled = if polled { lazy.polled + 1 } else { lazy.polled.saturating_sub(1) };
            }
        }
        lazy.polled > 0
    }

    /// The slots whose timers have run out, in order.
    pub(super) fn due_timers(&mut self) -> Vec<SlotKey> {
        let now = self.core.now.tick();
        let mut keys = Vec::new();
        let ExecutionPoint { core, slots, .. } = self;
        let Some(lazy) = &mut core.lazy else { return keys };
        while let Some(Reverse((at, key))) = lazy.timers.peek().copied() {
            if at > now {
                break;
            }
            lazy.timers.pop();
            if let Some(slot) = slots.get_mut(&key).filter(|slot| slot.rest.timer == Some(at)) {
                slot.rest.timer = None;
                keys.push(key);
            }
        }
        keys.extend(lazy.touched.iter().copied());
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// A poll or update was made.
    pub(super) fn looked(&mut self) {
        let now = self.core.now;
        if let Some(lazy) = &mut self.core.lazy {
            lazy.last = now;
        }
    }

    /// Policy is asked about a slot; if it stays as it is, it rests as long as that holds.
    pub(super) fn look_at(&mut self, key: SlotKey) {
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        let before = (slot.state, slot.activity, slot.fetching);
        core.watch.begin(slot.moving(core));
        slot.evaluate(core);
        let lags = slot.latches_lag(core);
        let out_of_work = slot.out_of_work && slot.hooks.is_some();
        let asks = slot.fetch_at.is_some() && slot.fetching.is_none();
        let may_ask = match slot.state {
            State::Owner | State::Unclaimed => slot.kind != SlotKind::Dynamic,
            State::Claimed => slot.is_active() && slot.activity != Activity::Idle,
            _ => false,
        };
        let waits = out_of_work && asks && may_ask && slot.delay_is_still() && slot.next_fetch_delay > 0;
        let willing = !asks || slot.is_willing(core);
        let until = core.watch.end();
        let stays =
            before == (slot.state, slot.activity, slot.fetching) && slot.changed_at != core.now.monotonic_us;
        slot.rest.turn = slot.rest.turn.wrapping_add(1);
        slot.rest.until = if stays && !lags { until } else { NOW };
        let stays = stays && !lags;
        slot.fetch_seen = core.now.monotonic_us;
        slot.rest.in_vain = stays && waits && willing;
        slot.rest.unwilling = stays && asks && !willing;
        if let Some(lazy) = &mut core.lazy {
            lazy.touched.push(key);
        }
    }

    /// Slots that have begun to ask in vain: when each asks next, and a number that says whether it still does.
    pub fn take_waiting(&mut self) -> Vec<(SlotKey, Tick, u32)> {
        self.core.lazy.as_mut().map(|lazy| std::mem::take(&mut lazy.waiting)).unwrap_or_default()
    }

    /// When a slot that asks in vain asks next, at or after `now`; at once while it is asking. `None` when it does not any more.
    pub fn asks_next(&mut self, key: SlotKey, turn: u32, now: Now) -> Option<Tick> {
        let slot = self.slots.get_mut(&key).filter(|slot| slot.rest.in_vain && slot.rest.turn == turn)?;
        let lazy = self.core.lazy.as_mut()?;
        if slot.never_asks() {
            return None;
        }
        lazy.silent += slot.catch_up(&lazy.grid, lazy.fetch, now);
        match slot.fetching_since {
            Some(_) => Some(now.tick()),
            None => slot.next_fetch(&lazy.grid),
        }
    }

    /// A slot that asked in vain asks now: there may be work.
    pub(super) fn asks(&mut self, key: SlotKey) {
        self.touch(key);
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        if slot.fetching.is_none() && core.is_due(slot.fetch_at) {
            slot.fetch_at = None;
            slot.try_fetch(core);
        }
    }

    /// How many fetches were counted only, up to the end `since` microseconds after `begun`.
    pub fn silent_fetches(&mut self, begun: Now, since: u64) -> u64 {
        let end = begun.plus(Duration::from_micros(since));
        let Some(lazy) = &mut self.core.lazy else { return 0 };
        for slot in self.slots.values_mut() {
            lazy.silent += slot.catch_up(&lazy.grid, lazy.fetch, end);
            // One that is under way at the end was called, too.
            lazy.silent += u64::from(slot.fetching_since.take().is_some());
        }
        lazy.silent
    }
}

impl Slot {
    /// Its job would stay whatever it was offered: RANK is the same for all jobs.
    fn never_asks(&self) -> bool {
        let rank = self.config.get("Rank");
        self.state == State::Claimed && rank.is_none_or(|rank| rank.as_literal().is_some())
    }

    /// FetchWorkDelay is a number, or not set.
    fn delay_is_still(&self) -> bool {
        self.config.get("FetchWorkDelay").is_none_or(|expr| expr.as_literal().is_some())
    }

    /// How things move that its expressions may look at.
    fn moving(&self, core: &Core) -> Moving {
        let now = core.now.epoch();
        let offset = i64::from(core.world.zone(now).offset);
        let midnight = now + DAY - (now + offset).rem_euclid(DAY);
        // Where the clock is put forward or back in between, nothing is taken for granted beyond the hour.
        let shifts = i64::from(core.world.zone(midnight).offset) != offset;
        let connected = core.settings.keyboard_slots.max(core.settings.console_slots) >= self.key.number;
        let somebody = core.measured.input_at.is_some_and(|at| at > now);
        let claim = self.current.as_ref();
        Moving {
            now,
            idle_grows: !(connected && somebody),
            pair: (self.state, self.activity),
            runs: claim.is_some_and(|claim| claim.phase == super::claim::Phase::Running),
            is_suspended: claim.is_some_and(|claim| claim.phase == super::claim::Phase::Suspended),
            midnight: if shifts { now + 60 } else { midnight },
        }
    }

    /// It is as it would be had it been looked at all the time; the next poll looks at it.
    fn wake(&mut self, core: &mut Core) {
        let Some(lazy) = &mut core.lazy else { return };
        let fetch = lazy.fetch;
        lazy.silent += self.catch_up(&lazy.grid, fetch, core.now);
        let last = lazy.last;
        if self.rest.until != NOW && self.rest.made < last.monotonic_us {
            let now = std::mem::replace(&mut core.now, last);
            self.refresh(core);
            core.now = now;
            self.rest.made = last.monotonic_us;
        }
        if let Some(since) = self.fetching_since.take() {
            self.resume_fetch(core, since);
        }
        self.rest.until = NOW;
        (self.rest.in_vain, self.rest.unwilling) = (false, false);
    }

    /// A fetch that was counted only is under way at this moment: it is made.
    fn resume_fetch(&mut self, core: &mut Core, begun: Now) {
        let Some(path) = self.hooks.as_ref().and_then(|hooks| hooks.fetch.clone()) else { return };
        let run = core.new_run();
        self.fetching = Some(run);
        core.fetches += 1;
        if let Some(lazy) = &mut core.lazy {
            lazy.fetches.insert(run, self.key);
        }
        core.out.push(Action::RunHook(HookCall {
            run,
            slot: self.key,
            hook: SlotHook::FetchWork,
            path,
            arguments: Vec::new(),
            stdin: Vec::new(),
            output_limit: Some(core.settings.pipe_buffer_max),
            begun,
        }));
    }

    /// Its ad was made now.
    pub(super) fn made(&mut self, now: Now) {
        self.rest.made = now.monotonic_us;
    }

    /// When it has something to do by itself: a step of a kill, the end of a lease or a match, the next fetch.
    fn own_timer(&self, core: &Core, grid: &Grid) -> Option<Tick> {
        let lease = self.current.as_ref().and_then(|claim| claim.lease_ends);
        let matched = self.match_ends.map(|alarm| alarm.at);
        let fetch = if self.rest.in_vain { None } else { self.next_fetch(grid) };
        let fetch = fetch.filter(|_| core.no_more_fetching.is_none());
        [self.ending_at(), lease, matched, fetch].into_iter().flatten().min()
    }

    /// When it fetches next: polls and updates at which it rests would have set its timer anew.
    fn next_fetch(&self, grid: &Grid) -> Option<Tick> {
        let alarm = self.fetch_at?;
        if self.rest.until == NOW || self.fetching.is_some() {
            return Some(alarm.at);
        }
        if self.rest.unwilling {
            // Not before START may be true.
            return grid.alarm_from(alarm.at, self.next_fetch_delay.max(1), self.rest.until);
        }
        let delay = self.next_fetch_delay;
        if delay <= 0 || !self.is_asked_in_polls() {
            return Some(alarm.at);
        }
        Some(grid.fetch_after(alarm.at, self.last_fetch_completed + delay, Tick(self.fetch_seen)))
    }

    /// Counts the fetches up to `now` that a slot asking in vain would have made.
    fn catch_up(&mut self, grid: &Grid, fetch: Duration, now: Now) -> u64 {
        if self.rest.until == NOW || self.fetching.is_some() {
            return 0;
        }
        let mut count = 0;
        if let Some(since) = self.fetching_since {
            let ends = since.plus(fetch);
            if ends.tick() >= now.tick() {
                return 0;
            }
            self.fetching_since = None;
            self.fetch_over(grid, ends);
            count += 1;
        }
        if !self.rest.in_vain {
            self.settle_alarm(grid, now);
            return 0;
        }
        while let Some(at) = self.next_fetch(grid) {
            if at >= now.tick() {
                self.settle_alarm(grid, now);
                break;
            }
            let begins = back(now, now.tick().since(at));
            self.last_fetch_spawned = begins.epoch();
            let ends = begins.plus(fetch);
            if ends.tick() >= now.tick() {
                self.fetching_since = Some(begins);
                self.fetch_at = None;
                break;
            }
            count += 1;
            self.fetch_over(grid, ends);
        }
        count
    }

    /// Its timer stands where the polls and updates before `now` have set it.
    fn settle_alarm(&mut self, grid: &Grid, now: Now) {
        let Some(alarm) = self.fetch_at else { return };
        let last = grid.before(now.tick(), Tick(self.fetch_seen));
        self.fetch_seen = self.fetch_seen.max(now.monotonic_us.saturating_sub(1));
        let delay = self.next_fetch_delay.max(1);
        if self.rest.unwilling {
            let begun = last.map_or(alarm.at, |last| last.plus(seconds(delay)));
            let late = now.tick().since(begun);
            let turns = late.as_secs() / u64::try_from(delay).unwrap_or(1)
                + u64::from(!late.is_zero() && !late.as_micros().is_multiple_of(seconds(delay).as_micros()));
            let turns = if begun >= now.tick() { 0 } else { turns };
            let at = begun.plus(seconds(delay).saturating_mul(u32::try_from(turns).unwrap_or(u32::MAX)));
            self.fetch_at = Some(grid.alarm_at(at));
        } else if let Some(last) = last.filter(|_| self.is_asked_in_polls() && self.next_fetch_delay > 0) {
            let left = self.last_fetch_completed + delay - grid.second_of(last.0);
            self.fetch_at = Some(grid.alarm_at(last.plus(seconds(left.max(0)))));
        }
    }

    /// Whether polls and updates let it ask for work (`do_periodic_actions`).
    fn is_asked_in_polls(&self) -> bool {
        !matches!(
            (self.state, self.activity),
            (State::Claimed, Activity::Suspended) | (State::Preempting | State::Matched | State::Drained, _)
        )
    }

    fn fetch_over(&mut self, grid: &Grid, ends: Now) {
        self.last_fetch_completed = ends.epoch();
        self.fetch_seen = ends.monotonic_us;
        let delay = u64::try_from(self.next_fetch_delay).unwrap_or(0).max(1);
        self.fetch_at = Some(grid.alarm_at(ends.tick().plus(Duration::from_secs(delay))));
    }
}

fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// That long ago.
fn back(now: Now, by: Duration) -> Now {
    let by = u64::try_from(by.as_micros()).unwrap_or(0);
    Now {
        wall_us: now.wall_us.saturating_sub_unsigned(by),
        monotonic_us: now.monotonic_us.saturating_sub(by),
    }
}
