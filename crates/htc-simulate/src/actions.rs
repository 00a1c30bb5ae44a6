//! Execution of the state machines' actions in a simulation: hooks and starters behave as the scenario says.

use std::collections::VecDeque;
use std::rc::Rc;

use super::host::{PendingVacate, RunningJob};
use super::job_events::{JobEventCause, NewJobEvent};
use super::scenario::HookName;
use super::simulation::{DueEvent, FetchCall, Simulation};
use super::state_activity::StateActivity;
use super::timeline::TimelineMark;
use super::waiting_jobs::{self, RefusedJobs};
use super::workload::Job;
use htc_base::job::HoldCode;
use htc_base::time::MonotonicTime;
use htc_base::world::FrozenClockWorld;
use htc_classad::ClassAd;
use htc_runner::events::{RunnerEvent, RunnerEventKind};
use htc_runner::slot::notice_to_event;
use htc_slot::{
    Activity, ChangeCause, ChangeReason, HookCall, SlotHookType, SlotKey, SlotNotice, SlotState,
    StartdAction, StartdEvent, StarterId, StarterLaunch, StarterSignal, VacateReason, job_id,
};

impl Simulation<'_> {
    /// Sends an event to a machine and executes the resulting actions.
    pub(super) fn handle_event(&mut self, host: usize, event: StartdEvent) {
        let mut waiting = VecDeque::new();
        let mut next = Some(event);
        while let Some(event) = next.take().or_else(|| waiting.pop_front()) {
            let mut actions = self.step_machine(host, event);
            for action in actions.drain(..) {
                execute_action(self, host, action, &mut waiting);
            }
            self.hosts[host].machine.recycle_actions(actions);
        }
    }

    /// Sends one event to a machine and returns its actions. The end of a hook is skipped if the machine need not
    /// process it.
    fn step_machine(&mut self, host: usize, event: StartdEvent) -> Vec<StartdAction> {
        let machine = &mut self.hosts[host].machine;
        match event {
            StartdEvent::HookEnded { run, .. } if machine.skip_hook_end(run) => Vec::new(),
            event => machine.step(self.now, event),
        }
    }
}

/// Executes an action of a machine. Events that result at once are added to `waiting`.
fn execute_action(
    this: &mut Simulation<'_>,
    host: usize,
    action: StartdAction,
    waiting: &mut VecDeque<StartdEvent>,
) {
    match action {
        StartdAction::Notify(notice) => handle_notice(this, host, notice),
        // A simulation keeps no journal, and its configuration changes only by events of the scenario.
        StartdAction::AcceptJob { .. } | StartdAction::GiveUpJob(_) | StartdAction::Reconfigure => {}
        // Only a user at the keyboard wakes the machine, because condor_rooster is not simulated.
        StartdAction::Sleep { .. } => {
            this.hosts[host].asleep = Some(this.now.epoch());
            let note = "a machine sleeps (HIBERNATE): its slots are Owner/Idle until an [[event]] or [[keyboard]] reports input at its keyboard";
            count_warning(this, note.to_owned());
        }
        StartdAction::RunHook(call) => start_hook(this, host, call, waiting),
        // The results of benchmarks are unknown, so in a simulation they take no time.
        StartdAction::RunBenchmarks => waiting.push_back(StartdEvent::BenchmarksEnded),
        StartdAction::SpawnStarter(call) => waiting.push_front(spawn_starter(this, host, call)),
        StartdAction::SignalStarter { starter, .. } if this.hosts[host].backfills.remove(&starter) => {
            waiting.push_back(StartdEvent::StarterExited {
                starter,
                exit: htc_base::process::Exit::Signal { number: 15, core_dumped: false },
            });
        }
        StartdAction::SignalStarter { starter, signal, reason } => {
            signal_job(this, host, starter, signal, reason);
        }
        StartdAction::Finished { reason, .. } => {
            let it = &mut this.hosts[host];
            it.finished = true;
            let suffix = it.suffix.clone();
            this.finished.get_or_insert(reason.clone());
            this.emit_event(|this| {
                let event = RunnerEvent::new(this.now, RunnerEventKind::Stop).reason(reason);
                if suffix.is_empty() { event } else { event.slot(suffix.trim_start_matches('@')) }
            });
        }
    }
}

fn handle_notice(this: &mut Simulation<'_>, host: usize, notice: SlotNotice) {
    match &notice {
        SlotNotice::StateChanged { slot, state, activity, reason, cause } => {
            record_slot_change(this, host, *slot, StateActivity::new(*state, *activity), reason, *cause);
        }
        SlotNotice::Verdict { slot, hook: SlotHookType::FetchWork, verdict, .. }
            if *verdict == "bad answer" =>
        {
            this.counters.hooks[0].bad += 1;
            this.add_mark(host, *slot, TimelineMark::Refused);
        }
        SlotNotice::Verdict { .. } => {}
        SlotNotice::Claim { .. } => {}
        SlotNotice::SlotRemoved { slot } => remove_slot(this, host, *slot),
        SlotNotice::Warning { text, .. } | SlotNotice::Refusal { text, .. } => {
            count_warning(this, text.clone())
        }
        SlotNotice::Quirk { quirk, .. } => {
            count_warning(this, format!("{}: differs from a real pool, where {}", quirk.id(), quirk.line()));
        }
    }
    this.emit_event(|this| {
        let it = &this.hosts[host];
        let mut event = notice_to_event(&it.machine, this.now, notice);
        if let (Some(slot), false) = (&mut event.slot, it.suffix.is_empty()) {
            slot.push_str(&it.suffix);
        }
        event
    });
}

fn count_warning(this: &mut Simulation<'_>, text: String) {
    // The number of warnings is limited, because a machine may print warnings as long as it runs.
    if this.counters.warnings.len() < 100 || this.counters.warnings.contains_key(&text) {
        *this.counters.warnings.entry(text).or_default() += 1;
    }
}

/// Records a change of a slot's state.
fn record_slot_change(
    this: &mut Simulation<'_>,
    host: usize,
    key: SlotKey,
    state: StateActivity,
    reason: &ChangeReason,
    cause: ChangeCause,
) {
    if !this.hosts[host].slots.contains_key(&key) {
        this.register_slot(host, key, StateActivity::INITIAL);
    }
    let since = this.elapsed_micros();
    let Some(slot) = this.hosts[host].slots.get_mut(&key) else { return };
    let before = std::mem::replace(&mut slot.state, state);
    let stayed = since - std::mem::replace(&mut slot.since, since);
    slot.refused.forget();
    this.hosts[host].forget_refusals_of_parent(key);
    this.hosts[host].note_slot_change(this.now);
    let Some(slot) = this.hosts[host].slots.get_mut(&key) else { return };
    let leaves = matches!(before.state, SlotState::Claimed) && !matches!(before.activity, Activity::Idle);
    match (state.state, state.activity) {
        (SlotState::Claimed, Activity::Retiring) | (SlotState::Preempting, _) if leaves => {
            // A suspended job was continued for its retirement, or the job was preempted by a better claim.
            let better_claim = ChangeReason::from("a better claim was waiting");
            let (tells, reason) = match cause {
                ChangeCause::RetirementEnded | ChangeCause::NothingToRetire | ChangeCause::InRetirement => {
                    (false, reason)
                }
                ChangeCause::ContinuedInRetirement => (false, &better_claim),
                ChangeCause::Other => (true, reason),
            };
            if slot.pending_vacate.is_none() || tells {
                slot.pending_vacate = Some(PendingVacate { reason: reason.clone(), turn: this.turn.get() });
            }
        }
        (SlotState::Claimed, Activity::Busy) => slot.pending_vacate = None,
        _ => {}
    }
    let row = slot.row;
    if before.activity == Activity::Suspended || state.activity == Activity::Suspended {
        record_suspension(this, host, key, state.activity, reason);
    }
    let Some(slot) = this.hosts[host].slots.get(&key) else { return };
    let type_name = slot.type_name.clone();
    this.counters.add_state_time(&type_name, before, stayed);
    *this.counters.transitions.entry((before, state)).or_default() += 1;
    if let Some(timeline) = &mut this.timeline {
        timeline.add_state_time(row, before, since - stayed, since);
    }
}

/// Records that a job was suspended or continued.
fn record_suspension(
    this: &mut Simulation<'_>,
    host: usize,
    key: SlotKey,
    activity: Activity,
    reason: &ChangeReason,
) {
    if this.job_events.is_none() {
        return;
    }
    let word = match activity {
        Activity::Suspended => "was suspended on",
        Activity::Busy | Activity::Retiring => "continued on",
        _ => return,
    };
    let job = this.hosts[host].starters.values().find(|running| running.slot == key);
    let Some(job) = job.map(|running| running.job.clone()) else { return };
    this.record_job_event(&job, |this| {
        let place = this.slot_identity(host, key);
        let cause = Some(JobEventCause::Change { turn: this.turn.get(), policy: reason.policy() });
        NewJobEvent { description: format!("{word} {}: {reason}", place.slot), slot: Some(place), cause }
    });
}

/// Removes a dynamic slot.
fn remove_slot(this: &mut Simulation<'_>, host: usize, key: SlotKey) {
    let since = this.elapsed_micros();
    let Some(slot) = this.hosts[host].slots.remove(&key) else { return };
    this.hosts[host].forget_refusals_of_parent(key);
    this.hosts[host].note_slot_change(this.now);
    this.counters.add_state_time(&slot.type_name, slot.state, since - slot.since);
    if let Some(timeline) = &mut this.timeline {
        timeline.add_state_time(slot.row, slot.state, slot.since, since);
    }
}

fn start_hook(this: &mut Simulation<'_>, host: usize, call: HookCall, waiting: &mut VecDeque<StartdEvent>) {
    this.emit_event(|this| {
        let slot = this.hosts[host].slot_name(call.slot);
        let mut event =
            RunnerEvent::new(this.now, RunnerEventKind::HookStart).slot(slot).hook(call.hook.name());
        if let Some(word) = call.arguments.first() {
            event = event.reason(word.to_string());
        }
        event
    });
    let (at, name) = match call.hook {
        SlotHookType::FetchWork => (0, HookName::FetchWork),
        SlotHookType::ReplyFetch => (1, HookName::ReplyFetch),
        SlotHookType::EvictClaim => (2, HookName::EvictClaim),
    };
    this.counters.hooks[at].calls += 1;
    let behaviour = this.hook_behaviour(name, host);
    if behaviour.is_some_and(|it| it.fails) {
        this.counters.hooks[at].failed += 1;
        let reason = "the scenario says that it cannot be executed".to_owned();
        return waiting.push_back(StartdEvent::HookFailed { run: call.run, reason });
    }
    if behaviour.is_some_and(|it| it.hangs) {
        this.counters.hooks[at].failed += 1;
        this.hosts[host].fetches.insert(call.run, call);
        return;
    }
    if call.hook != SlotHookType::FetchWork {
        return waiting.push_back(StartdEvent::HookEnded { run: call.run, stdout: Vec::new(), cut: false });
    }
    let takes = behaviour.and_then(|it| it.takes.as_ref()).unwrap_or(&this.scenario.fetch_takes);
    let takes = (takes.sample(&mut this.dice) * 1e6).round() as u64;
    let MonotonicTime(began) = call.begun.monotonic();
    let ends = (began.saturating_sub(this.started_at.monotonic_us) + takes).max(this.elapsed_micros());
    let number = u32::try_from(host).unwrap_or(0);
    this.calendar.push(std::cmp::Reverse((
        ends,
        DueEvent::FetchEnd(number, call.slot, FetchCall::Executed(call.run)),
    )));
    this.hosts[host].fetches.insert(call.run, call);
}

/// Ends a FETCH_WORK call: its output is the next job of the queue at this time.
pub(super) fn finish_fetch(this: &mut Simulation<'_>, host: usize, call: &HookCall) {
    let prints = this.hook_behaviour(HookName::FetchWork, host).and_then(|it| it.prints.clone());
    if let Some(text) = prints {
        this.handle_event(
            host,
            StartdEvent::HookEnded { run: call.run, stdout: text.into_bytes(), cut: false },
        );
        return;
    }
    let now = this.elapsed_micros();
    let it = &mut this.hosts[host];
    // A running job is replaced only by a better job, and no job is better if RANK is the same for all jobs.
    let is_fetch_useless = it.is_running(call.slot) && !it.can_rank_jobs;
    let refused = it.slots.get_mut(&call.slot).map(|slot| &mut slot.refused);
    let has_all_jobs = this.job_limit.is_some_and(|limit| this.counters.hooks[0].accepted >= limit);
    let offered = match refused {
        Some(refused) if !is_fetch_useless && !has_all_jobs => this.queue.take_for_slot(refused, now),
        _ => None,
    };
    let Some((place, job)) = offered else {
        this.counters.hooks[0].nothing += 1;
        this.handle_event(host, StartdEvent::HookEnded { run: call.run, stdout: Vec::new(), cut: false });
        return;
    };
    let ad = this.workload.job_ad(&job);
    let world = this.world.clone();
    let id = job_id(&ad, &FrozenClockWorld { world: &*world, now: this.now });
    // The machine decides during this step; events that result from the decision come later.
    let kind = job.kind;
    // If slots distinguish between jobs of one kind, the result for one job does not apply to another job of the
    // kind.
    let alike = u32::try_from(job.likeness).ok();
    let number = call.slot.number;
    this.hosts[host].accepted.entry(number).or_default().push_back((id.clone(), job));
    let accepted_before = this.counters.hooks[0].accepted;
    let verdict = offer_job(this, host, call, ad, alike);
    match verdict {
        OfferVerdict::Accepted => {
            this.counters.hooks[0].accepted = accepted_before + 1;
            this.check_job_limit();
        }
        OfferVerdict::Rejected(reason) => {
            this.counters.hooks[0].rejected += 1;
            let slot = this.hosts[host].slots.get(&call.slot);
            let slot_type = slot.map_or_else(|| Rc::from(""), |slot| slot.type_name.clone());
            this.counters.count_refusal(kind, &slot_type, &reason);
            this.add_mark(host, call.slot, TimelineMark::Refused);
            let jobs = this.hosts[host].accepted.get_mut(&number);
            let at = jobs.as_ref().and_then(|jobs| jobs.iter().rposition(|(it, _)| *it == id));
            let job = jobs.zip(at).and_then(|(jobs, at)| jobs.remove(at));
            if let Some((_, job)) = job {
                return_refused_job(this, host, call, place, job, &reason);
            }
        }
    }
}

/// Returns a refused job to its place in the queue.
fn return_refused_job(
    this: &mut Simulation<'_>,
    host: usize,
    call: &HookCall,
    place: waiting_jobs::QueuePosition,
    job: Job,
    reason: &str,
) {
    this.record_job_event(&job, |this| {
        let it = &this.hosts[host];
        let place = this.slot_identity(host, call.slot);
        let offer = it.machine.judge_job(call.slot, &this.workload.job_ad(&job));
        let cause =
            offer.filter(|offer| !offer.accepted).map(|it| JobEventCause::Refused(it.untrue_conditions));
        NewJobEvent {
            description: format!("was refused by {}: {reason}", place.slot),
            slot: Some(place),
            cause,
        }
    });
    // The slot may be a dynamic slot that was removed with the verdict; the job still has to be returned.
    let mut no_refusals = RefusedJobs::default();
    let holds = refused_until(this, host, call, &job);
    let now = this.elapsed_micros();
    let slot = this.hosts[host].slots.get_mut(&call.slot);
    let refused = slot.map_or(&mut no_refusals, |slot| &mut slot.refused);
    let dropped = this.queue.refuse(place, job, refused, now, holds);
    this.record_dropped_job(dropped);
}

/// Returns the time until which a slot would refuse the job again unless the slot changes, in microseconds since the
/// start.
fn refused_until(this: &Simulation<'_>, host: usize, call: &HookCall, job: &Job) -> u64 {
    let it = &this.hosts[host];
    if it.has_unpublished_changes(call.begun.monotonic_us) {
        return this.elapsed_micros();
    }
    match it.machine.verdict_valid_until(call.slot, &this.workload.job_ad(job)) {
        None | Some(i64::MAX) => u64::MAX,
        Some(until) => u64::try_from(until - this.plan.start).unwrap_or(0).saturating_mul(1_000_000),
    }
}

enum OfferVerdict {
    Accepted,
    Rejected(String),
}

/// Offers a job to a slot and returns the machine's verdict.
fn offer_job(
    this: &mut Simulation<'_>,
    host: usize,
    call: &HookCall,
    ad: ClassAd,
    kind: Option<u32>,
) -> OfferVerdict {
    let mut verdict = OfferVerdict::Accepted;
    let ad = Box::new(ad);
    let mut waiting = VecDeque::new();
    let mut next = Some(StartdEvent::JobFetched { run: call.run, ad, kind });
    while let Some(event) = next.take().or_else(|| waiting.pop_front()) {
        let mut actions = this.step_machine(host, event);
        for action in actions.drain(..) {
            if let StartdAction::Notify(SlotNotice::Verdict { verdict: "rejected", reason, .. }) = &action {
                verdict = OfferVerdict::Rejected(reason.clone());
            }
            execute_action(this, host, action, &mut waiting);
        }
        this.hosts[host].machine.recycle_actions(actions);
    }
    verdict
}

fn spawn_starter(this: &mut Simulation<'_>, host: usize, call: StarterLaunch) -> StartdEvent {
    let since = this.elapsed_micros();
    let it = &mut this.hosts[host];
    it.next_pid += 1;
    let (starter, pid) = (call.starter, it.next_pid);
    // The backfill client runs until it gets a signal, and then ends at once.
    if call.backfill {
        it.backfills.insert(starter);
        return StartdEvent::StarterSpawned { starter, pid };
    }
    let jobs = it.accepted.get_mut(&call.slot.number);
    let at = jobs.as_ref().and_then(|jobs| jobs.iter().position(|(id, _)| *id == call.job));
    let Some((name, mut job)) = jobs.zip(at).and_then(|(jobs, at)| jobs.remove(at)) else {
        let reason = "the scenario has no such job".to_owned();
        return StartdEvent::StarterFailed { starter, reason };
    };
    this.emit_event(|this| {
        let slot = this.hosts[host].slot_name(call.slot);
        RunnerEvent::new(this.now, RunnerEventKind::Starter).slot(slot).job(call.job.clone()).pid(pid)
    });
    let kind = this.workload.kind(job.kind).clone();
    let is_first = job.starts == 0;
    job.starts += 1;
    let waited = (since - job.arrives) as f64 / 1e6;
    this.counters.update_each(&kind.owner, kind.group, |part| {
        part.jobs.starts += 1;
        if is_first {
            part.waits.add(waited);
        }
    });
    this.record_job_event(&job, |this| {
        let place = this.slot_identity(host, call.slot);
        NewJobEvent { description: format!("started on {}", place.slot), slot: Some(place), cause: None }
    });
    let cpus = this.hosts[host].machine.slot_cpus(call.slot).unwrap_or(1.0);
    let running = RunningJob {
        slot: call.slot,
        started_at: since,
        ends_at: since.saturating_add(job.runs),
        vacates_at: None,
        suspended: None,
        suspended_micros: 0,
        suspensions: 0,
        signalled: None,
        hold_reason: None,
        end_version: 0,
        cpus,
        name,
        job,
    };
    this.start_job(host, starter, running);
    StartdEvent::StarterSpawned { starter, pid }
}

fn signal_job(
    this: &mut Simulation<'_>,
    host: usize,
    starter: StarterId,
    signal: StarterSignal,
    reason: Option<VacateReason>,
) {
    let since = this.elapsed_micros();
    let Some(it) = this.hosts[host].starters.get_mut(&starter) else { return };
    it.end_version += 1;
    if let Some(reason) = reason.filter(|reason| reason.code == HoldCode::StartdHeldJob as i32) {
        it.hold_reason = Some(reason.text);
    }
    let goes_on = |it: &mut RunningJob| {
        if let Some((left, from)) = it.suspended.take() {
            it.suspended_micros += since - from;
            it.ends_at = since.saturating_add(left);
        }
    };
    let (word, suspends) = match signal {
        StarterSignal::Soft => {
            goes_on(it);
            it.vacates_at = Some(since.saturating_add(it.job.leaves));
            it.signalled = Some(15);
            ("asked to vacate", false)
        }
        StarterSignal::Hard | StarterSignal::Kill => {
            goes_on(it);
            it.vacates_at = Some(since);
            it.signalled = Some(9);
            ("killed", false)
        }
        StarterSignal::Suspend => {
            it.suspended = Some((it.ends_at.saturating_sub(since), since));
            it.suspensions += 1;
            ("suspended", true)
        }
        StarterSignal::Continue => {
            goes_on(it);
            ("continued", false)
        }
    };
    let (slot, name, turn) = (it.slot, it.name.clone(), it.end_version);
    let ends = it.vacates_at.map_or(it.ends_at, |leaves| leaves.min(it.ends_at));
    if it.suspended.is_none() {
        let number = u32::try_from(host).unwrap_or(0);
        this.calendar.push(std::cmp::Reverse((ends, DueEvent::StarterExit(number, starter, turn))));
    }
    if suspends {
        count_suspension(this, host, starter);
    }
    this.emit_event(|this| {
        let slot = this.hosts[host].slot_name(slot);
        RunnerEvent::new(this.now, RunnerEventKind::Job).slot(slot).job(name).verdict(word)
    });
}

fn count_suspension(this: &mut Simulation<'_>, host: usize, starter: StarterId) {
    let it = &this.hosts[host];
    let Some(running) = it.starters.get(&starter) else { return };
    let type_name = it.slots.get(&running.slot).map_or_else(|| Rc::from(""), |slot| slot.type_name.clone());
    let kind = this.workload.kind(running.job.kind).clone();
    this.counters.update_each(&kind.owner, kind.group, |part| part.jobs.suspended += 1);
    if let Some(count) = this.counters.types.get_mut(&*type_name) {
        count.suspended += 1;
    }
}

/// Handles the end of a job's run: the job has completed, was evicted, or is put on hold.
pub(super) fn finish_job(this: &mut Simulation<'_>, host: usize, running: RunningJob) {
    let since = this.elapsed_micros();
    // A job that completed before the signal took effect was not evicted.
    let is_done = running.signalled.is_none() || since >= running.ends_at;
    let words = match running.signalled.filter(|_| !is_done) {
        Some(signal) => format!("signalled {signal}"),
        None => format!("exited {}", running.job.exit),
    };
    this.emit_event(|this| {
        let slot = this.hosts[host].slot_name(running.slot);
        RunnerEvent::new(this.now, RunnerEventKind::Job).slot(slot).job(running.name.clone()).exit(words)
    });
    let kind = this.workload.kind(running.job.kind).clone();
    let ran = (since - running.started_at).saturating_sub(running.suspended_micros);
    let (ran, stopped) =
        (ran as f64 / 1e6 * running.cpus, running.suspended_micros as f64 / 1e6 * running.cpus);
    this.counters.busy += ran;
    this.counters.add_suspended_time(running.suspensions, stopped);
    if is_done {
        this.record_job_event(&running.job, |_| {
            NewJobEvent::without_slot(format!("ended with status {}", running.job.exit))
        });
        let failed = running.job.exit != 0;
        this.counters.update_each(&kind.owner, kind.group, |part| {
            part.jobs.completed += 1;
            part.jobs.failed += u64::from(failed);
            part.goodput += ran;
            part.badput += stopped;
        });
        return;
    }
    let record = this.hosts[host].slots.get_mut(&running.slot);
    let (cause, type_name) = match record {
        Some(slot) => (slot.pending_vacate.take(), slot.type_name.clone()),
        None => (None, Rc::from("")),
    };
    let (cause, decided) = match (&running.hold_reason, cause) {
        (Some(_), left) => ("put on hold (WANT_HOLD)".to_owned(), left),
        (None, Some(left)) => (left.reason.to_string(), Some(left)),
        (None, None) => ("the slot was removed".to_owned(), None),
    };
    this.record_job_event(&running.job, |this| {
        let held = running.hold_reason.as_ref().map_or_else(String::new, |text| format!("; held: {text}"));
        let place = this.slot_identity(host, running.slot);
        let what = format!("was evicted from {}: {cause}{held}", place.slot);
        let cause =
            decided.map(|vacate| JobEventCause::Change { turn: vacate.turn, policy: vacate.reason.policy() });
        NewJobEvent { description: what, slot: Some(place), cause }
    });
    this.counters.add_lost_time(cause, 1, ran);
    if let Some(count) = this.counters.types.get_mut(&*type_name) {
        count.preempted += 1;
    }
    this.add_mark(host, running.slot, TimelineMark::Preempted);
    let held = running.hold_reason.is_some();
    this.counters.update_each(&kind.owner, kind.group, |part| {
        part.jobs.preempted += 1;
        part.jobs.held += u64::from(held);
        part.badput += ran + stopped;
    });
    if !held {
        let dropped = this.queue.return_evicted(running.job);
        this.record_dropped_job(dropped);
    }
}
