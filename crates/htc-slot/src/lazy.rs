//! Looking at a slot only when something that it has read has changed, or a time in an expression has come.
//!
//! A slot that policy has been asked about and that stays as it is rests until the second that the [watch](super::watch) names, or
//! until an event concerns it. Polls and updates at which all slots rest are passed over; what they would have left behind
//! is made up for when somebody looks. A slot that was told that there is no work asks again and again in vain: those fetches
//! are counted, not made. Everything is as if every slot had been looked at in every poll; `tests/it/simulate.rs` holds both
//! ways against one another.
//!
//! While a drain or the end is under way, all slots wait for one another, and every poll is made.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::execution_point::ExecutionPoint;
use super::interface::{HookRun, SlotKey};
use super::kept::fetching::Fetching;
use super::kept::grid::Grid;
use super::kept::lazy::Lazy;
use super::kept::rest::{Asks, NOW, Passed, back};
use super::settings::SlotKind;
use super::single::Slot;
use super::state::State;
use super::wants::Wants;
use htc_base::time::{Now, Tick};
use htc_classad::AttrName;
use htc_classad::references::Names;

impl Lazy {
    /// Counts a slot among those that are polled, or no more.
    fn count_polled(&mut self, slot: &mut Slot) {
        let polled = slot.needs_polling();
        if polled != std::mem::replace(&mut slot.rest.is_polled, polled) {
            self.polled = if polled { self.polled + 1 } else { self.polled.saturating_sub(1) };
        }
    }
}

/// The keys in order, each once.
fn in_order(mut keys: Vec<SlotKey>) -> Vec<SlotKey> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

impl ExecutionPoint {
    /// Looks only where something has changed, from the start on. `asked` are all attributes that anybody may ask for: no others are
    /// made. `fetch` is how long each FETCH_WORK takes; without either, and where the policy never rests, every poll is made.
    pub fn look_only_at_changes(&mut self, asked: &Option<Names>, fetch: Option<Duration>) {
        let settings = self.core.settings.clone();
        let Some(asked) = asked.as_ref().filter(|_| !settings.may_stop_by_itself() && !settings.cpu_busy)
        else {
            return;
        };
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
        let Some(fetch) = fetch else { return };
        let published: Vec<AttrName> =
            settings.latches.iter().flat_map(super::kept::latch::published).collect();
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
            timers_over: Tick(0),
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
        let grid = self.core.grid();
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
        grid.advance(now.tick(), [&mut self.core.poll_at, &mut self.core.update_at]);
    }

    /// An event concerns the slots of this number: they are as they would be, and are looked at at the next poll.
    pub(super) fn touch(&mut self, key: SlotKey) {
        if self.core.lazy.is_none() {
            return;
        }
        let ExecutionPoint { core, slots, .. } = self;
        if let Some(slot) = slots.get_mut(&key).filter(|slot| slot.kind == SlotKind::Static) {
            slot.wake(core);
            core.lazy.iter_mut().for_each(|lazy| lazy.touched.push(key));
            return;
        }
        for slot in slots.of_number_mut(key.number) {
            slot.wake(core);
            if let Some(lazy) = &mut core.lazy {
                lazy.touched.push(slot.key);
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
                Some(since) => slot.fetching = Fetching::Counted(since),
                None => {}
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
        let grid = self.core.grid();
        let Some(mut lazy) = self.core.lazy.take() else { return };
        if !grid.is_same_as(&lazy.grid) {
            // The polls that rested slots would have seen are others from now on.
            for slot in self.slots.values_mut() {
                let passed = slot.passed(&lazy, self.core.now);
                lazy.silent += slot.catch_up(&lazy.grid, lazy.fetch, passed);
            }
            lazy.grid = grid;
            lazy.all_touched = true;
        }
        let mut keys = std::mem::take(&mut lazy.touched);
        if lazy.all_touched {
            keys = self.slots.keys().collect();
        } else {
            // With a slot those are concerned that were carved out of it meanwhile.
            keys.iter_mut().for_each(|key| key.sub = 0);
            keys.sort_unstable();
            keys.dedup();
            let carved = |slot: &Slot| slot.kind != SlotKind::Static;
            if keys.iter().any(|key| self.slots.get(key).is_none_or(carved)) {
                let family = |key: &SlotKey| self.slots.of_number(key.number).map(|slot| slot.key);
                keys = keys.iter().flat_map(family).collect();
            }
        }
        keys.sort_unstable();
        keys.dedup();
        for key in &keys {
            let Some(slot) = self.slots.get_mut(key) else { continue };
            lazy.count_polled(slot);
            if let Some(until) = slot.rest.enlist() {
                lazy.looks.push(Reverse((until, *key)));
            }
            let timer = slot.own_timer(&self.core, &grid);
            if timer != slot.rest.timer {
                slot.rest.timer = timer;
                timer.into_iter().for_each(|at| lazy.timers.push(Reverse((at, *key))));
            }
            if slot.rest.asks == Asks::InVain
                && !slot.never_asks()
                && let Some(at) = slot.fetching.counted().map(Now::tick).or_else(|| slot.next_fetch(&grid))
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
        let grid = self.core.grid();
        let poll_at = self.core.poll_at.map(|alarm| alarm.at);
        let update_at = self.core.update_at.map(|alarm| alarm.at);
        let ExecutionPoint { core, slots, .. } = self;
        let lazy = core.lazy.as_mut()?;
        while let Some(Reverse((until, key))) = lazy.looks.peek().copied() {
            if slots.get(&key).is_some_and(|slot| slot.rest.until == until) {
                break;
            }
            lazy.looks.pop();
            slots.get_mut(&key).map(|slot| slot.rest.delist(until));
        }
        while let Some(Reverse((at, key))) = lazy.timers.peek().copied() {
            if slots.get(&key).is_some_and(|slot| slot.rest.timer == Some(at)) {
                break;
            }
            lazy.timers.pop();
        }
        let look = lazy.looks.peek().and_then(|Reverse((until, _))| grid.first_in_or_after(*until));
        let timer = lazy.timers.peek().map(|Reverse((at, _))| *at);
        // The look at which nobody is left to be polled ends the polls, and the update that finds somebody begins them.
        let changes = (lazy.polled == 0) == poll_at.is_some();
        let turn = if changes { [poll_at, update_at].into_iter().flatten().min() } else { None };
        [look, timer, turn].into_iter().flatten().min()
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
            if slots.get_mut(&key).is_some_and(|slot| slot.rest.delist(until)) {
                keys.push(key);
            }
        }
        // Those whom the present event has concerned already.
        let all = if lazy.all_touched { slots.keys().collect() } else { Vec::new() };
        for key in lazy.touched.iter().chain(&all) {
            if slots.get(key).is_some_and(|slot| slot.rest.until <= now) {
                keys.push(*key);
            }
        }
        in_order(keys)
    }

    /// The slots that rest and that a poll or update would let ask for work now, in order.
    pub(super) fn due_fetches(&self) -> Vec<SlotKey> {
        let now = self.core.now.tick();
        let Some(lazy) = self.core.lazy.as_deref() else { return Vec::new() };
        if lazy.timers.peek().is_none_or(|Reverse((at, _))| *at > now) {
            return Vec::new();
        }
        let asks = |key: &SlotKey| {
            let slot = self.slots.get(key);
            slot.is_some_and(|slot| slot.is_let_ask() && slot.asks_now(&self.core, &lazy.grid))
        };
        let due = lazy.timers.iter().filter(|Reverse((at, _))| *at <= now).map(|Reverse((_, key))| *key);
        in_order(due.filter(asks).collect())
    }

    /// A slot that rests, and would only ask for work in this poll, does so.
    pub(super) fn let_ask(&mut self, key: SlotKey) {
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        slot.fetch_seen = core.now.monotonic_us;
        slot.try_fetch(core);
        if let Some(lazy) = &mut core.lazy {
            lazy.touched.push(key);
        }
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
            lazy.count_polled(slot);
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
        in_order(keys)
    }

    /// A poll or update was made.
    pub(super) fn looked(&mut self) {
        let now = self.core.now;
        if let Some(lazy) = &mut self.core.lazy {
            lazy.last = now;
        }
    }

    /// All timers that have run out by this moment have had their turn: those of slots that rest, too.
    pub(super) fn timers_are_over(&mut self) {
        let now = self.core.now.tick();
        if let Some(lazy) = &mut self.core.lazy {
            lazy.timers_over = now;
        }
    }

    /// Policy is asked about a slot; if it stays as it is, it rests as long as that holds.
    pub(super) fn look_at(&mut self, key: SlotKey) {
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        let before = (slot.state, slot.activity, slot.fetching.run());
        core.watch.begin(slot.moving(core));
        slot.evaluate(core);
        let lags = slot.latches_lag(core);
        let willing = !slot.is_asking() || slot.is_willing(core);
        // Willing or not, a slot that preempts tries each second.
        let tries =
            slot.state == State::Preempting && slot.unable(core).is_some_and(|asks| !asks.as_reference);
        // Each end of the timer of an unwilling slot sets it anew, to what the delay is then.
        let keeps_time = willing || tries || slot.delay_stays(core);
        let until = core.watch.end();
        let stays = before == (slot.state, slot.activity, slot.fetching.run())
            && slot.changed_at != core.now.monotonic_us
            && !lags
            && keeps_time;
        slot.rest.turn = slot.rest.turn.wrapping_add(1);
        slot.rest.until = if stays { until } else { NOW };
        slot.fetch_seen = core.now.monotonic_us;
        slot.rest.asks = match stays && slot.is_asking() {
            true if willing && slot.would_ask_in_vain(core) => Asks::InVain,
            true if !willing && !tries => Asks::Unwilling,
            _ => Asks::AtWill,
        };
        if slot.rest.asks != Asks::InVain
            && let Some(since) = slot.fetching.take_counted()
        {
            slot.rest.asks = Asks::AtWill;
            slot.resume_fetch(core, since);
        }
        if let Some(lazy) = &mut core.lazy {
            lazy.touched.push(key);
        }
    }

    /// A hook that nobody waits for has ended without a word. Where slots rest, and nothing is due, that is all there is to do; returns
    /// whether it is so. A simulation has two such calls a job.
    pub fn ended_unheard(&mut self, run: HookRun) -> bool {
        let is_quiet = self.is_lazy() && self.core.spawning == 0 && self.held.is_empty();
        let is_fetch = |lazy: &Lazy| lazy.fetches.contains_key(&run);
        let unheard = is_quiet && !self.core.lazy.as_deref().is_some_and(is_fetch) && !self.alarms_are_due();
        if unheard {
            self.core.hooks_running.remove(&run);
            self.timers_are_over();
        }
        unheard
    }

    /// Whether a slot asks for work now. Of one that asks in vain the calls up to now are over first.
    pub(super) fn asks_now(&mut self, key: SlotKey) -> bool {
        let grid = self.core.grid();
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return false };
        if let Some(lazy) = core.lazy.as_deref_mut().filter(|_| slot.rest.asks == Asks::InVain) {
            lazy.silent += slot.catch_up(&lazy.grid, lazy.fetch, Passed::before(core.now));
        }
        slot.asks_now(core, &grid)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::state::{Activity, State};
    use crate::{Action, Event, Limits, Measured, SlotHook, Surroundings, asked, configure};
    use htc_base::quirks::Quirks;
    use htc_config::{Config, LoadOptions, Who};
    use htc_os::RealWorld;

    const BEGUN: i64 = 1_800_000_000;
    /// How long a call of FETCH_WORK takes, in seconds.
    const TAKES: u64 = 2;

    fn at(seconds: u64) -> Now {
        Now::at_epoch(BEGUN).plus(Duration::from_secs(seconds))
    }

    /// An execution point of two slots with these lines of configuration, whose slots rest or do not.
    pub(crate) fn point(lines: &str, rests: bool) -> ExecutionPoint {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("condor_config");
        let text = "NUM_CPUS = 2\nMEMORY = 1000\nSTARTD_DETECT_GPUS =\nNETWORK_INTERFACE = 127.0.0.1\nNUM_SLOTS_TYPE_1 = 2\n\
                    SLOT_TYPE_1 = 50%\nSLOT_TYPE_1_PARTITIONABLE = False\nRunBenchmarks = False\n";
        std::fs::write(&file, format!("{text}{lines}\n")).unwrap();
        let world = RealWorld::new();
        let who = Who { subsystem: "STARTD".into(), ..Who::default() };
        let options = LoadOptions { file: Some(file), environment: false, ..LoadOptions::default() };
        let (config, _) = Config::load(&world, &who, &options).unwrap();
        let around = Surroundings { disk_free: 1_000_000, ..Surroundings::default() };
        let mut made = configure(&config, &world, &around, Quirks::None, Limits::default()).unwrap();
        made.settings.benchmarks.jobs.clear();
        let names = asked(&made.settings, []);
        let mut point = ExecutionPoint::new(made.settings, Rc::new(world), at(0));
        if rests {
            point.look_only_at_changes(&names, Some(Duration::from_secs(TAKES)));
            assert!(point.core.lazy.is_some());
        }
        point
    }

    /// Plays it for so many seconds without any job; returns when it was woken, and how often FETCH_WORK was called.
    fn play(point: &mut ExecutionPoint, length: u64) -> (Vec<u64>, u64) {
        let (mut woken, mut calls) = (Vec::new(), Vec::new());
        let mut actions = point.step(at(0), Event::Start);
        let mut made = 0;
        loop {
            let now = point.core.now.monotonic_us;
            for action in actions.drain(..) {
                if let Action::RunHook(call) = action
                    && call.hook == SlotHook::FetchWork
                {
                    made += 1;
                    calls.push((now + TAKES * 1_000_000, call.run));
                }
            }
            let ends = calls.iter().min().copied();
            let wake = point.next_wake().map(|Tick(wake)| wake.max(now));
            let next = ends.map(|(ends, _)| ends).into_iter().chain(wake).min();
            let Some(next) =
                next.map(|next| next - at(0).monotonic_us).filter(|next| *next <= length * 1_000_000)
            else {
                return (woken, made);
            };
            let then = at(0).plus(Duration::from_micros(next));
            actions = match ends.filter(|(ends, _)| *ends == then.monotonic_us) {
                Some((_, run)) => {
                    calls.retain(|(_, other)| *other != run);
                    point.step(then, Event::HookEnded { run, stdout: Vec::new(), cut: false })
                }
                None => {
                    woken.push(next / 1_000_000);
                    point.step(then, Event::Tick)
                }
            };
        }
    }

    fn states(point: &ExecutionPoint) -> Vec<(State, Activity)> {
        point.slots().map(|(_, _, state, activity)| (state, activity)).collect()
    }

    #[test]
    fn a_slot_is_looked_at_when_its_policy_can_have_changed_and_at_no_other_time() {
        let lines = format!("UPDATE_INTERVAL = 300\nIS_OWNER = time() < {}", BEGUN + 1000);
        let mut point = point(&lines, true);
        // At the first update, since it had only begun; at the one after the time has come; and at the one after it has changed.
        assert_eq!(play(&mut point, 100_000), (vec![300, 1200, 1500], 0));
        assert_eq!(states(&point), [(State::Unclaimed, Activity::Idle); 2]);
        assert_eq!(point.next_wake(), None);
    }

    #[test]
    fn a_measurement_wakes_those_whose_policy_looks_at_it() {
        for (start, wakes) in [("True", false), ("LoadAvg < 0.3", true)] {
            let mut point = point(&format!("UPDATE_INTERVAL = 300\nIS_OWNER = !({start})"), true);
            play(&mut point, 10_000);
            assert_eq!(point.next_wake(), None, "{start}");
            let measured = Measured { load: 2.0, ..Measured::default() };
            point.step(at(10_000), Event::Measured(Box::new(measured)));
            assert_eq!(point.next_wake(), wakes.then(|| at(10_200).tick()), "{start}");
            point.step(at(10_200), Event::Tick);
            let state = if wakes { State::Owner } else { State::Unclaimed };
            assert_eq!(states(&point)[0].0, state, "{start}");
        }
    }

    #[test]
    fn fetches_in_vain_are_as_many_as_if_each_were_made() {
        for delay in ["7", "30", "300"] {
            let lines = format!(
                "UPDATE_INTERVAL = 77\nFetchWorkDelay = {delay}\nSTARTD_JOB_HOOK_KEYWORD = K\nK_HOOK_FETCH_WORK = /bin/true"
            );
            let (mut naive, mut lazy) = (point(&lines, false), point(&lines, true));
            let ((polls, made), (looks, known)) = (play(&mut naive, 5000), play(&mut lazy, 5000));
            let silent = lazy.silent_fetches(at(0), 5_000_000_000);
            assert_eq!(known + silent, made, "every {delay} s");
            assert!(
                made > 20 && silent > known && looks.len() * 3 < polls.len(),
                "{made} {silent} {looks:?}"
            );
        }
    }
}
