//! What the machines of a simulation ask for: hooks and starters that are none, answered from the scenario.

use std::collections::VecDeque;
use std::rc::Rc;

use super::fate::{Cause, Happened};
use super::host::{Leaving, Running};
use super::queue::{self, Refused};
use super::scenario::HookName;
use super::simulation::{Due, Fetch, Simulation};
use super::summary::Lost;
use super::timeline::Mark;
use super::workload::Job;
use htc_base::job::HoldCode;
use htc_base::time::Tick;
use htc_base::world::Frozen;
use htc_classad::ClassAd;
use htc_runner::events::{Event as StreamEvent, Kind};
use htc_runner::slot::event_of_notice;
use htc_slot::{
    Action, Activity, Event, HookCall, Notice, SlotHook, SlotKey, StarterCall, StarterId, StarterSignal,
    State, VacateReason, job_id,
};

impl Simulation<'_> {
    /// Tells the machine that something has happened, and does what it asks for.
    pub(super) fn step(&mut self, host: usize, event: Event) {
        let mut waiting = VecDeque::new();
        let mut next = Some(event);
        while let Some(event) = next.take().or_else(|| waiting.pop_front()) {
            let mut actions = self.tell_machine(host, event);
            for action in actions.drain(..) {
                carry_out(self, host, action, &mut waiting);
            }
            self.hosts[host].machine.reuse(actions);
        }
    }

    /// Tells the machine one thing; returns what it asks for.
    fn tell_machine(&mut self, host: usize, event: Event) -> Vec<Action> {
        let machine = &mut self.hosts[host].machine;
        match event {
            Event::HookEnded { run, .. } if machine.ended_unheard(run) => Vec::new(),
            event => machine.step(self.now, event),
        }
    }
}

/// Does what a machine asks for; what answers at once goes to `waiting`.
fn carry_out(this: &mut Simulation<'_>, host: usize, action: Action, waiting: &mut VecDeque<Event>) {
    match action {
        Action::Tell(notice) => noticed(this, host, notice),
        // Nobody has changed the configuration meanwhile.
        Action::Accept { .. } | Action::GiveUp(_) | Action::Reconfigure => {}
        // Its user wakes it; no condor_rooster is simulated.
        Action::Sleep { .. } => {
            this.hosts[host].asleep = Some(this.now.epoch());
            let note = "a machine sleeps (HIBERNATE): its slots are Owner/Idle until an [[event]] or [[keyboard]] puts somebody at its keyboard";
            warned(this, note.to_owned());
        }
        Action::RunHook(call) => run_hook(this, host, call, waiting),
        // What they would print is not known; they take no time.
        Action::RunBenchmarks => waiting.push_back(Event::BenchmarksEnded),
        Action::SpawnStarter(call) => waiting.push_front(spawn(this, host, call)),
        Action::SignalStarter { starter, .. } if this.hosts[host].backfills.remove(&starter) => {
            waiting.push_back(Event::StarterExited {
                starter,
                exit: htc_base::process::Exit::Signal { number: 15, core_dumped: false },
            });
        }
        Action::SignalStarter { starter, signal, reason } => {
            signalled(this, host, (starter, signal), reason);
        }
        Action::Finished { reason, .. } => {
            let it = &mut this.hosts[host];
            it.finished = true;
            let suffix = it.suffix.clone();
            this.finished.get_or_insert(reason.clone());
            this.told(|this| {
                let event = StreamEvent::new(this.now, Kind::Stop).reason(reason);
                if suffix.is_empty() { event } else { event.slot(suffix.trim_start_matches('@')) }
            });
        }
    }
}

fn noticed(this: &mut Simulation<'_>, host: usize, notice: Notice) {
    match &notice {
        Notice::State { slot, state, activity, reason } => {
            changed(this, host, *slot, (*state, *activity), reason);
        }
        Notice::Verdict { slot, hook: SlotHook::FetchWork, verdict, .. } if *verdict == "bad answer" => {
            this.counting.hooks[0].bad += 1;
            this.mark(host, *slot, Mark::Refused);
        }
        Notice::Verdict { .. } => {}
        Notice::Claim { .. } => {}
        Notice::Gone { slot } => gone(this, host, *slot),
        Notice::Warning { text, .. } => warned(this, text.clone()),
        Notice::Quirk { quirk, .. } => {
            warned(this, format!("{}: differs from a real pool, where {}", quirk.id(), quirk.line()));
        }
    }
    this.told(|this| {
        let it = &this.hosts[host];
        let mut event = event_of_notice(&it.machine, this.now, notice);
        if let (Some(slot), false) = (&mut event.slot, it.suffix.is_empty()) {
            slot.push_str(&it.suffix);
        }
        event
    });
}

fn warned(this: &mut Simulation<'_>, text: String) {
    // A machine without end may warn without end.
    if this.counting.warnings.len() < 100 || this.counting.warnings.contains_key(&text) {
        *this.counting.warnings.entry(text).or_default() += 1;
    }
}

/// A slot is in another state from now on.
fn changed(this: &mut Simulation<'_>, host: usize, key: SlotKey, pair: (State, Activity), reason: &str) {
    if !this.hosts[host].slots.contains_key(&key) {
        this.see(host, key, (State::Owner, Activity::Idle));
    }
    let since = this.since();
    let Some(slot) = this.hosts[host].slots.get_mut(&key) else { return };
    let before = std::mem::replace(&mut slot.pair, pair);
    let stayed = since - std::mem::replace(&mut slot.since, since);
    slot.refused.forget();
    this.hosts[host].forget_refusals_of_parent(key);
    this.hosts[host].slot_changed(this.now);
    let Some(slot) = this.hosts[host].slots.get_mut(&key) else { return };
    let leaves = matches!(before.0, State::Claimed) && !matches!(before.1, Activity::Idle);
    match pair {
        (State::Claimed, Activity::Retiring) | (State::Preempting, _) if leaves => {
            // A job that stood still in its retirement goes on in it, or one for which a better claim has come.
            let (tells, reason) = match reason {
                "retirement is over" | "no job to wait for" | "in retirement" => (false, reason),
                "CONTINUE is true" => (false, "a better claim was waiting"),
                _ => (true, reason),
            };
            if slot.leaving.is_none() || tells {
                slot.leaving = Some(Leaving { reason: reason.to_owned(), turn: this.turn.get() });
            }
        }
        (State::Claimed, Activity::Busy) => slot.leaving = None,
        _ => {}
    }
    let row = slot.row;
    if before.1 == Activity::Suspended || pair.1 == Activity::Suspended {
        note_suspension(this, host, key, (pair.1, reason));
    }
    let Some(slot) = this.hosts[host].slots.get(&key) else { return };
    let type_name = slot.type_name.clone();
    this.counting.stay(&type_name, before, stayed);
    *this.counting.transitions.entry((before, pair)).or_default() += 1;
    if let Some(timeline) = &mut this.timeline {
        timeline.stay(row, before, since - stayed, since);
    }
}

/// A job stands still from now on, or goes on.
fn note_suspension(
    this: &mut Simulation<'_>,
    host: usize,
    key: SlotKey,
    (activity, reason): (Activity, &str),
) {
    if this.memory.is_none() {
        return;
    }
    let word = match activity {
        Activity::Suspended => "was suspended on",
        Activity::Busy | Activity::Retiring => "went on on",
        _ => return,
    };
    let job = this.hosts[host].starters.values().find(|running| running.slot == key);
    let Some(job) = job.map(|running| running.job.clone()) else { return };
    this.note(&job, |this| {
        let place = this.place(host, key);
        let cause = Some(Cause::Change { turn: this.turn.get(), reason: reason.to_owned() });
        Happened { what: format!("{word} {}: {reason}", place.slot), slot: Some(place), cause }
    });
}

/// A dynamic slot is gone.
fn gone(this: &mut Simulation<'_>, host: usize, key: SlotKey) {
    let since = this.since();
    let Some(slot) = this.hosts[host].slots.remove(&key) else { return };
    this.hosts[host].forget_refusals_of_parent(key);
    this.hosts[host].slot_changed(this.now);
    this.counting.stay(&slot.type_name, slot.pair, since - slot.since);
    if let Some(timeline) = &mut this.timeline {
        timeline.stay(slot.row, slot.pair, slot.since, since);
    }
}

fn run_hook(this: &mut Simulation<'_>, host: usize, call: HookCall, waiting: &mut VecDeque<Event>) {
    this.told(|this| {
        let slot = this.hosts[host].slot_name(call.slot);
        let mut event = StreamEvent::new(this.now, Kind::HookStart).slot(slot).hook(call.hook.name());
        if let Some(word) = call.arguments.first() {
            event = event.reason(word.to_string());
        }
        event
    });
    let (at, name) = match call.hook {
        SlotHook::FetchWork => (0, HookName::FetchWork),
        SlotHook::ReplyFetch => (1, HookName::ReplyFetch),
        SlotHook::EvictClaim => (2, HookName::EvictClaim),
    };
    this.counting.hooks[at].calls += 1;
    let behaviour = this.behaviour(name, host);
    if behaviour.is_some_and(|it| it.fails) {
        this.counting.hooks[at].failed += 1;
        let reason = "the scenario says that it cannot be executed".to_owned();
        return waiting.push_back(Event::HookFailed { run: call.run, reason });
    }
    if behaviour.is_some_and(|it| it.hangs) {
        this.counting.hooks[at].failed += 1;
        this.hosts[host].fetches.insert(call.run, call);
        return;
    }
    if call.hook != SlotHook::FetchWork {
        return waiting.push_back(Event::HookEnded { run: call.run, stdout: Vec::new(), cut: false });
    }
    let takes = behaviour.and_then(|it| it.takes.as_ref()).unwrap_or(&this.scenario.fetch_takes);
    let takes = (takes.draw(&mut this.dice) * 1e6).round() as u64;
    let Tick(began) = call.begun.tick();
    let ends = (began.saturating_sub(this.begun.monotonic_us) + takes).max(this.since());
    let number = u32::try_from(host).unwrap_or(0);
    this.calendar.push(std::cmp::Reverse((ends, Due::Hook(number, call.slot, Fetch::Made(call.run)))));
    this.hosts[host].fetches.insert(call.run, call);
}

/// FETCH_WORK ends: what the queue has then is what it prints.
pub(super) fn fetch_answers(this: &mut Simulation<'_>, host: usize, call: &HookCall) {
    let prints = this.behaviour(HookName::FetchWork, host).and_then(|it| it.prints.clone());
    if let Some(text) = prints {
        this.step(host, Event::HookEnded { run: call.run, stdout: text.into_bytes(), cut: false });
        return;
    }
    let now = this.since();
    let it = &mut this.hosts[host];
    // What runs is left only for a better job, and that none is where RANK is the same for all.
    let asked_in_vain = it.is_running(call.slot) && !it.ranks;
    let refused = it.slots.get_mut(&call.slot).map(|slot| &mut slot.refused);
    let offered = match refused {
        Some(refused) if !asked_in_vain => this.queue.take(refused, now),
        _ => None,
    };
    let Some((place, job)) = offered else {
        this.counting.hooks[0].nothing += 1;
        this.step(host, Event::HookEnded { run: call.run, stdout: Vec::new(), cut: false });
        return;
    };
    let ad = this.workload.ad(&job);
    let world = this.world.clone();
    let id = job_id(&ad, &Frozen { world: &*world, now: this.now });
    // The answer is known within the step: it is told before anything that follows from it.
    let kind = job.kind;
    // Where jobs of a kind are not alike to slots, what was true for one says nothing of the next.
    let alike = u32::try_from(job.like).ok();
    let number = call.slot.number;
    this.hosts[host].accepted.entry(number).or_default().push_back((id.clone(), job));
    let accepted_before = this.counting.hooks[0].accepted;
    let verdict = offer(this, host, call, (ad, alike));
    match verdict {
        Verdict::Accepted => this.counting.hooks[0].accepted = accepted_before + 1,
        Verdict::Rejected(reason) => {
            this.counting.hooks[0].rejected += 1;
            let slot = this.hosts[host].slots.get(&call.slot);
            let slot_type = slot.map_or_else(|| Rc::from(""), |slot| slot.type_name.clone());
            this.counting.refused(kind, &slot_type, &reason);
            this.mark(host, call.slot, Mark::Refused);
            let jobs = this.hosts[host].accepted.get_mut(&number);
            let at = jobs.as_ref().and_then(|jobs| jobs.iter().rposition(|(it, _)| *it == id));
            let job = jobs.zip(at).and_then(|(jobs, at)| jobs.remove(at));
            if let Some((_, job)) = job {
                give_back(this, (host, call), (place, job), &reason);
            }
        }
    }
}

/// A job that was refused goes back to the place that it had in the queue.
fn give_back(
    this: &mut Simulation<'_>,
    (host, call): (usize, &HookCall),
    (place, job): (queue::Place, Job),
    reason: &str,
) {
    this.note(&job, |this| {
        let it = &this.hosts[host];
        let place = this.place(host, call.slot);
        let offer = it.machine.consider(call.slot, &this.workload.ad(&job));
        let cause = offer.filter(|offer| !offer.accepted).map(|it| Cause::Refused(it.details));
        Happened { what: format!("was refused by {}: {reason}", place.slot), slot: Some(place), cause }
    });
    // A dynamic slot may have gone with its answer; the job has not.
    let mut nobody = Refused::default();
    let holds = refusal_holds(this, host, call, &job);
    let now = this.since();
    let slot = this.hosts[host].slots.get_mut(&call.slot);
    let refused = slot.map_or(&mut nobody, |slot| &mut slot.refused);
    let dropped = this.queue.refuse((place, job), refused, (now, holds));
    this.dropped(dropped);
}

/// Up to when a slot would refuse the job again, in microseconds since the start, unless something is done to it meanwhile.
fn refusal_holds(this: &Simulation<'_>, host: usize, call: &HookCall, job: &Job) -> u64 {
    let it = &this.hosts[host];
    if it.is_behind(call.begun.monotonic_us) {
        return this.since();
    }
    match it.machine.says_so_until(call.slot, &this.workload.ad(job)) {
        None | Some(i64::MAX) => u64::MAX,
        Some(until) => u64::try_from(until - this.plan.start).unwrap_or(0).saturating_mul(1_000_000),
    }
}

enum Verdict {
    Accepted,
    Rejected(String),
}

/// Offers a job to a slot; what the machine says to it.
fn offer(
    this: &mut Simulation<'_>,
    host: usize,
    call: &HookCall,
    (ad, kind): (ClassAd, Option<u32>),
) -> Verdict {
    let mut verdict = Verdict::Accepted;
    let ad = Box::new(ad);
    let mut waiting = VecDeque::new();
    let mut next = Some(Event::Fetched { run: call.run, ad, kind });
    while let Some(event) = next.take().or_else(|| waiting.pop_front()) {
        let mut actions = this.tell_machine(host, event);
        for action in actions.drain(..) {
            if let Action::Tell(Notice::Verdict { verdict: "rejected", reason, .. }) = &action {
                verdict = Verdict::Rejected(reason.clone());
            }
            carry_out(this, host, action, &mut waiting);
        }
        this.hosts[host].machine.reuse(actions);
    }
    verdict
}

fn spawn(this: &mut Simulation<'_>, host: usize, call: StarterCall) -> Event {
    let since = this.since();
    let it = &mut this.hosts[host];
    it.next_pid += 1;
    let (starter, pid) = (call.starter, it.next_pid);
    // The client of backfill runs until it is asked to leave, and leaves at once.
    if call.backfill {
        it.backfills.insert(starter);
        return Event::StarterSpawned { starter, pid };
    }
    let jobs = it.accepted.get_mut(&call.slot.number);
    let at = jobs.as_ref().and_then(|jobs| jobs.iter().position(|(id, _)| *id == call.job));
    let Some((name, mut job)) = jobs.zip(at).and_then(|(jobs, at)| jobs.remove(at)) else {
        let reason = "the scenario has no such job".to_owned();
        return Event::StarterFailed { starter, reason };
    };
    this.told(|this| {
        let slot = this.hosts[host].slot_name(call.slot);
        StreamEvent::new(this.now, Kind::Starter).slot(slot).job(call.job.clone()).pid(pid)
    });
    let kind = this.workload.kind(job.kind).clone();
    let is_first = job.starts == 0;
    job.starts += 1;
    let waited = (since - job.arrives) as f64 / 1e6;
    this.counting.each(&kind.owner, kind.group, |part| {
        part.jobs.starts += 1;
        if is_first {
            part.waits.add(waited);
        }
    });
    this.note(&job, |this| {
        let place = this.place(host, call.slot);
        Happened { what: format!("began on {}", place.slot), slot: Some(place), cause: None }
    });
    let cpus = this.hosts[host].machine.cpus(call.slot).unwrap_or(1.0);
    let running = Running {
        slot: call.slot,
        began: since,
        ends: since.saturating_add(job.runs),
        leaves: None,
        suspended: None,
        stopped: 0,
        signalled: None,
        held: None,
        turn: 0,
        cpus,
        name,
        job,
    };
    this.run_job(host, starter, running);
    Event::StarterSpawned { starter, pid }
}

fn signalled(
    this: &mut Simulation<'_>,
    host: usize,
    (starter, signal): (StarterId, StarterSignal),
    reason: Option<VacateReason>,
) {
    let since = this.since();
    let Some(it) = this.hosts[host].starters.get_mut(&starter) else { return };
    it.turn += 1;
    if let Some(reason) = reason.filter(|reason| reason.code == HoldCode::StartdHeldJob as i32) {
        it.held = Some(reason.text);
    }
    let goes_on = |it: &mut Running| {
        if let Some((left, from)) = it.suspended.take() {
            it.stopped += since - from;
            it.ends = since.saturating_add(left);
        }
    };
    let (word, suspends) = match signal {
        StarterSignal::Soft => {
            goes_on(it);
            it.leaves = Some(since.saturating_add(it.job.leaves));
            it.signalled = Some(15);
            ("asked to leave", false)
        }
        StarterSignal::Hard | StarterSignal::Kill => {
            goes_on(it);
            it.leaves = Some(since);
            it.signalled = Some(9);
            ("killed", false)
        }
        StarterSignal::Suspend => {
            it.suspended = Some((it.ends.saturating_sub(since), since));
            ("suspended", true)
        }
        StarterSignal::Continue => {
            goes_on(it);
            ("continued", false)
        }
    };
    let (slot, name, turn) = (it.slot, it.name.clone(), it.turn);
    let ends = it.leaves.map_or(it.ends, |leaves| leaves.min(it.ends));
    if it.suspended.is_none() {
        let number = u32::try_from(host).unwrap_or(0);
        this.calendar.push(std::cmp::Reverse((ends, Due::Exit(number, starter, turn))));
    }
    if suspends {
        count_suspension(this, host, starter);
    }
    this.told(|this| {
        let slot = this.hosts[host].slot_name(slot);
        StreamEvent::new(this.now, Kind::Job).slot(slot).job(name).verdict(word)
    });
}

fn count_suspension(this: &mut Simulation<'_>, host: usize, starter: StarterId) {
    let it = &this.hosts[host];
    let Some(running) = it.starters.get(&starter) else { return };
    let type_name = it.slots.get(&running.slot).map_or_else(|| Rc::from(""), |slot| slot.type_name.clone());
    let kind = this.workload.kind(running.job.kind).clone();
    this.counting.each(&kind.owner, kind.group, |part| part.jobs.suspended += 1);
    if let Some(count) = this.counting.types.get_mut(&*type_name) {
        count.suspended += 1;
    }
}

/// A job's run is over: it came to its end, had to leave, or is put on hold.
pub(super) fn job_ends(this: &mut Simulation<'_>, host: usize, running: Running) {
    let since = this.since();
    // Who had come to the end anyway was not driven out.
    let is_done = running.signalled.is_none() || since >= running.ends;
    let words = match running.signalled.filter(|_| !is_done) {
        Some(signal) => format!("signalled {signal}"),
        None => format!("exited {}", running.job.exit),
    };
    this.told(|this| {
        let slot = this.hosts[host].slot_name(running.slot);
        StreamEvent::new(this.now, Kind::Job).slot(slot).job(running.name.clone()).exit(words)
    });
    let kind = this.workload.kind(running.job.kind).clone();
    let ran = (since - running.began).saturating_sub(running.stopped);
    let (ran, stopped) = (ran as f64 / 1e6 * running.cpus, running.stopped as f64 / 1e6 * running.cpus);
    this.counting.busy += ran;
    if stopped > 0.0 {
        lose(this, "suspended".to_owned(), stopped);
    }
    if is_done {
        this.note(&running.job, |_| Happened::simply(format!("ended with status {}", running.job.exit)));
        let failed = running.job.exit != 0;
        this.counting.each(&kind.owner, kind.group, |part| {
            part.jobs.completed += 1;
            part.jobs.failed += u64::from(failed);
            part.goodput += ran;
            part.badput += stopped;
        });
        return;
    }
    let seen = this.hosts[host].slots.get_mut(&running.slot);
    let (cause, type_name) = match seen {
        Some(slot) => (slot.leaving.take(), slot.type_name.clone()),
        None => (None, Rc::from("")),
    };
    let (cause, decided) = match (&running.held, cause) {
        (Some(_), left) => ("put on hold (WANT_HOLD)".to_owned(), left),
        (None, Some(left)) => (left.reason.clone(), Some(left)),
        (None, None) => ("the slot went away".to_owned(), None),
    };
    this.note(&running.job, |this| {
        let held = running.held.as_ref().map_or_else(String::new, |text| format!("; held: {text}"));
        let place = this.place(host, running.slot);
        let what = format!("had to leave {}: {cause}{held}", place.slot);
        let cause = decided.map(|Leaving { reason, turn }| Cause::Change { turn, reason });
        Happened { what, slot: Some(place), cause }
    });
    lose(this, cause, ran);
    if let Some(count) = this.counting.types.get_mut(&*type_name) {
        count.preempted += 1;
    }
    this.mark(host, running.slot, Mark::Preempted);
    let held = running.held.is_some();
    this.counting.each(&kind.owner, kind.group, |part| {
        part.jobs.preempted += 1;
        part.jobs.held += u64::from(held);
        part.badput += ran + stopped;
    });
    if !held {
        let dropped = this.queue.evicted(running.job);
        this.dropped(dropped);
    }
}

fn lose(this: &mut Simulation<'_>, cause: String, cpu_seconds: f64) {
    let lost: &mut Lost = this.counting.causes.entry(cause).or_default();
    lost.count += 1;
    lost.cpu_seconds += cpu_seconds;
}
