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

use super::execution_point::ExecutionPoint;
use super::grid::Grid;
use super::interface::{HookRun, SlotKey, StarterId};
use super::rest::{NOW, Passed, back};
use super::settings::SlotKind;
use super::single::Slot;
use super::wants::Wants;
use super::watch::ALWAYS;
use crate::classad::AttrName;
use crate::classad::references::Names;
use crate::time::{Now, Tick};

/// What is kept for all slots.
pub(super) struct Lazy {
    /// How long a FETCH_WORK takes.
    pub fetch: Duration,
    /// Whether fetches in vain are counted only.
    pub counts: bool,
    /// The last poll or update that was made or passed over.
    pub last: Now,
    /// From which second on each slot is to be looked at.
    looks: BinaryHeap<Reverse<(i64, SlotKey)>>,
    /// When each slot has something to do by itself.
    timers: BinaryHeap<Reverse<(Tick, SlotKey)>>,
    /// Slots that the present event concerns.
    touched: Vec<SlotKey>,
    all_touched: bool,
    /// The polls as they were at the end of the last step.
    pub grid: Grid,
    /// How many slots are looked at in polls.
    polled: usize,
    /// Slots that ask in vain, since they were last told of.
    waiting: Vec<(SlotKey, Tick, u32)>,
    /// Fetches that were counted only.
    pub silent: u64,
    /// Which slot a call or a starter belongs to.
    pub fetches: FxHashMap<HookRun, SlotKey>,
    pub starters: FxHashMap<StarterId, SlotKey>,
    /// When something is due next.
    pub next: Option<Tick>,
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
        // Benchmarks and backfill are thought of at each poll; what backfill slots offer moves with all others.
        if !settings.benchmarks.jobs.is_empty() || settings.backfill.is_some() || self.core.has_backfill_slots
        {
            return;
        }
        self.core.wants = wants;
        self.slots.values_mut().for_each(|slot| slot.rebuild(&self.core));
        let published: Vec<AttrName> = settings.latches.iter().flat_map(super::latch::published).collect();
        let is_there = |slot: &Slot| published.iter().any(|name| slot.live.get(name.clone()).is_some());
        self.core.latches_apart = !self.slots.values().any(is_there);
        self.core.lazy = Some(Box::new(Lazy {
            fetch,
            counts: true,
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

    /// Every fetch is made, for those who are told of each.
    pub fn make_every_fetch(&mut self) {
        if let Some(lazy) = &mut self.core.lazy {
            lazy.counts = false;
        }
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
        if let Some(slot) = slots.get_mut(&key).filter(|slot| slot.kind == SlotKind::Static) {
            slot.wake(core);
            core.lazy.iter_mut().for_each(|lazy| lazy.touched.push(key));
            return;
        }
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
            let under_way = slot.wake_quietly(core);
            // Where it may go away with its fetch under way, the fetch is made; else the look decides.
            match under_way {
                Some(since) if slot.kind != SlotKind::Static => slot.resume_fetch(core, since),
                since => slot.fetching_since = since,
            }
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
            for slot in self.slots.values_mut() {
                let passed = slot.passed(lazy.last, self.core.now);
                lazy.silent += slot.catch_up(&lazy.grid, lazy.fetch, passed);
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
            let carved = |slot: &Slot| slot.kind != SlotKind::Static;
            if keys.iter().any(|key| self.slots.get(key).is_none_or(carved)) {
                let family = |key: &SlotKey| *key..=SlotKey { number: key.number, sub: u32::MAX };
                keys =
                    keys.iter().flat_map(|key| self.slots.range(family(key)).map(|(key, _)| *key)).collect();
            }
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
                && let Some(at) = slot.fetching_since.map(Now::tick).or_else(|| slot.next_fetch(&grid))
            {
                lazy.waiting.push((*key, at.plus(lazy.fetch), slot.rest.turn));
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

    /// Whether a slot's timer has run out by which it asks for work.
    pub(super) fn a_fetch_is_due(&self) -> bool {
        let now = self.core.now.tick();
        let Some(lazy) = self.core.lazy.as_deref() else { return false };
        let due = |Reverse((at, key)): &Reverse<(Tick, SlotKey)>| {
            let slot = self.slots.get(key).filter(|slot| slot.rest.timer == Some(*at));
            *at <= now && slot.is_some_and(|slot| slot.asks_now(&self.core, &lazy.grid))
        };
        // The first is the earliest: mostly that is all.
        lazy.timers.peek().is_some_and(|Reverse((at, _))| *at <= now) && lazy.timers.iter().any(due)
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
        // Who was only looked at goes on resting.
        let touched = lazy.touched.clone();
        keys.extend(
            touched.into_iter().filter(|key| slots.get(key).is_some_and(|slot| slot.has_run_out(core))),
        );
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
        let willing = !slot.is_asking() || slot.is_willing(core);
        let until = core.watch.end();
        let stays = before == (slot.state, slot.activity, slot.fetching)
            && slot.changed_at != core.now.monotonic_us
            && !lags;
        slot.rest.turn = slot.rest.turn.wrapping_add(1);
        slot.rest.until = if stays { until } else { NOW };
        slot.fetch_seen = core.now.monotonic_us;
        slot.rest.in_vain = stays && willing && slot.is_asking() && slot.would_ask_in_vain(core);
        slot.rest.unwilling = stays && slot.is_asking() && !willing;
        if !slot.rest.in_vain
            && let Some(since) = slot.fetching_since.take()
        {
            slot.rest.unwilling = false;
            slot.resume_fetch(core, since);
        }
        if let Some(lazy) = &mut core.lazy {
            lazy.touched.push(key);
        }
    }

    /// Whether a slot asks for work now.
    pub(super) fn asks_now(&self, key: SlotKey) -> bool {
        let grid = Grid::of(&self.core);
        self.slots.get(&key).is_some_and(|slot| slot.asks_now(&self.core, &grid))
    }

    /// Slots that have begun to ask in vain: when the next call of each ends, and a number that says whether it still asks.
    pub fn take_waiting(&mut self) -> Vec<(SlotKey, Tick, u32)> {
        self.core.lazy.as_mut().map(|lazy| std::mem::take(&mut lazy.waiting)).unwrap_or_default()
    }

    /// When the next call of a slot that asks in vain ends, at or after `now`. `None` when it does not any more.
    pub fn asks_next(&mut self, key: SlotKey, turn: u32, now: Now) -> Option<Tick> {
        let slot = self.slots.get_mut(&key).filter(|slot| slot.rest.in_vain && slot.rest.turn == turn)?;
        let lazy = self.core.lazy.as_mut()?;
        if slot.never_asks() {
            return None;
        }
        lazy.silent += slot.catch_up(&lazy.grid, lazy.fetch, Passed::before(now));
        let begins = match slot.fetching_since {
            Some(since) => Some(since.tick()),
            None => slot.next_fetch(&lazy.grid),
        };
        begins.map(|begins| begins.plus(lazy.fetch))
    }

    /// How many fetches were counted only, up to the end `since` microseconds after `begun`; what begins then is made.
    pub fn silent_fetches(&mut self, begun: Now, since: u64) -> u64 {
        let end = begun.plus(Duration::from_micros(since + 1));
        let Some(lazy) = &mut self.core.lazy else { return 0 };
        for slot in self.slots.values_mut() {
            lazy.silent += slot.catch_up(&lazy.grid, lazy.fetch, Passed::before(end));
            // One that is under way at the end was called, too.
            lazy.silent += u64::from(slot.fetching_since.take().is_some());
        }
        lazy.silent
    }
}
