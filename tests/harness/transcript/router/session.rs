//! A router state machine in place of the recorded router: it sees the queue as that one saw it, its hooks
//! return the recorded outputs, and its actions are compared with the recorded ones.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use bstr::{BString, ByteSlice};
use htc_hooks::classad::{ClassAd, Expr};
use htc_hooks::config::ConfigView;
use htc_hooks::hook::HookType;
use htc_hooks::job::JobId;
use htc_hooks::os::RealWorld;
use htc_hooks::process::Exit;
use htc_hooks::queue::QueueLogReader;
use htc_hooks::quirks::{Quirk, QuirkMode};
use htc_hooks::router::{
    CopyUpdateError, FinishedHookCall, RouteLoadContext, RouteTable, Router, RouterAction, RouterContext,
    RouterEvent, RouterHookResult, RouterParameters, YieldError, judge_hook_call,
};
use htc_hooks::time::ClockReading;
use htc_hooks::world::FrozenClockWorld;

use super::super::exceptions::{Allow, Exceptions};
use super::super::findings::Difference;
use super::super::outcome::Counts;
use super::super::subject::Subject;
use super::actions::{job_of_action, successful_reply};
use super::events::UserLogEvent;
use super::queues::{Mirror, Queues};
use super::recording::{Call, Recording, job_message};
use super::units::{Kind, Unit};

/// Outputs of scripts, by hook and input; `None` if a script failed.
pub(super) type Printed = RefCell<HashMap<(String, String), Option<Vec<u8>>>>;

/// Data that do not change during a replay.
pub struct Stage<'a> {
    pub subject: &'a Subject,
    pub recording: &'a Recording,
    pub view: &'a ConfigView<'a>,
    pub world: &'a RealWorld,
    pub exceptions: &'a Exceptions,
    /// The value of `@LOCAL_DIR@`.
    pub local: String,
    /// Seconds between polls.
    pub period: f64,
    /// Outputs of scripts, by hook and input.
    pub printed: Printed,
}

/// Maximum number of bytes of an output that are read.
const PIPE_BUFFER_MAX: usize = 10_240;
/// Maximum number of possible states of the queue that are tried at each poll.
const VIEWS: usize = 40;
/// Maximum number of possibilities that are followed.
const BEAM: usize = 12;

/// A running hook.
#[derive(Clone)]
pub(super) struct Running {
    pub(super) ends: f64,
    pub(super) source: JobId,
    pub(super) hook: HookType,
    pub(super) source_ad: ClassAd,
    pub(super) copy_ad: ClassAd,
    pub(super) in_place: bool,
    pub(super) exit: Exit,
    pub(super) stdout: Vec<u8>,
}

/// State of a replay; it is cloned to try the possible states of the queue that the recorded router may have
/// seen.
#[derive(Clone)]
pub struct Session<'a> {
    pub(super) stage: &'a Stage<'a>,
    router: Router,
    queues: Queues,
    shown: usize,
    done: Vec<bool>,
    pub(super) called: Vec<bool>,
    pub(super) answers: BTreeMap<(JobId, String), Call>,
    pub(super) running: Vec<Running>,
    /// Messages about jobs, by source job.
    pub messages: BTreeMap<String, Vec<String>>,
    /// Events written to the user logs of source jobs.
    pub events: Vec<UserLogEvent>,
    pub counts: Counts,
    /// Number of actions shortly before the recorded router's.
    pub(super) doubts: usize,
    pub differences: Vec<Difference>,
    /// True while the recorded router has aborted and ours continues.
    pub is_dead: bool,
    /// Source jobs that the recorded router never releases although ours has ended their routing.
    pub parted: Vec<JobId>,
}

pub fn now(at: f64) -> ClockReading {
    ClockReading { wall_us: (at * 1e6) as i64, ..ClockReading::from_epoch(at as i64) }
}

pub fn fresh(stage: &Stage<'_>, at: f64) -> Router {
    let knobs = RouterParameters::load(stage.view, &mut |_| {});
    let table = RouteTable::load(
        RouteLoadContext {
            view: stage.view,
            parameters: &knobs,
            world: stage.world,
            quirks: QuirkMode::Reference,
        },
        &mut |_| {},
    );
    Router::new(knobs, table, QuirkMode::Reference, now(at))
}

impl<'a> Session<'a> {
    pub fn new(stage: &'a Stage<'a>) -> Self {
        let begun = stage.recording.lives.first().copied().unwrap_or(0.0);
        Session {
            stage,
            router: fresh(stage, begun),
            queues: Queues {
                first: QueueLogReader::new(),
                second: stage.recording.has_second.then(QueueLogReader::new),
            },
            shown: 0,
            done: vec![false; stage.recording.units.len()],
            called: vec![false; stage.recording.calls.len()],
            answers: BTreeMap::new(),
            running: Vec::new(),
            messages: BTreeMap::new(),
            events: Vec::new(),
            counts: Counts::default(),
            doubts: 0,
            differences: Vec::new(),
            is_dead: false,
            parted: Vec::new(),
        }
    }

    pub(super) fn units(&self) -> &'a [Unit] {
        &self.stage.recording.units
    }

    pub(super) fn differ(
        &mut self,
        place: String,
        what: &str,
        recorded: Option<String>,
        ours: Option<String>,
    ) {
        self.differences.push(Difference { place, what: what.to_owned(), recorded, ours });
    }

    /// Restarts the daemon after an abort.
    pub fn restart(&mut self, at: f64) {
        self.router = fresh(self.stage, at);
        self.running.clear();
        self.is_dead = false;
    }

    /// Returns the first write of the recorded router that ours has not made yet.
    fn next_write(&self) -> usize {
        let open = |(at, unit): &(usize, &Unit)| unit.router.is_some() && !self.done[*at];
        self.units().iter().enumerate().find(open).map_or(self.units().len(), |(at, _)| at)
    }

    /// Reports recorded writes and calls that ours should have made long ago.
    pub fn give_up(&mut self, at: f64) {
        let late = 1.6 * self.stage.period;
        for (number, unit) in self.units().iter().enumerate() {
            if let Some((id, kind)) = unit.router
                && !self.done[number]
                && unit.before < at - late
            {
                self.done[number] = true;
                let text = String::from_utf8_lossy(&unit.text).trim().replace('\n', "; ");
                self.differ(format!("job {id}"), "write", Some(format!("{kind:?} {text:.200}")), None);
            }
        }
        for (number, call) in self.stage.recording.calls.iter().enumerate() {
            if !self.called[number] && call.start < at - late {
                self.called[number] = true;
                let job = call.source.map(|id| id.to_string()).unwrap_or_default();
                self.differ(format!("job {job} {}", call.label), "call", Some("made".into()), None);
            }
        }
    }

    /// Returns the possible results of one poll: one session for each possible state of the queue.
    pub fn looks(&self, at: f64, next: f64) -> Vec<Session<'a>> {
        let mut ready = self.clone();
        ready.deliver(at);
        ready.give_up(at);
        let last_made = ready.done.iter().rposition(|done| *done).map_or(0, |last| last + 1);
        let units = ready.units();
        let limit = ready.next_write();
        let surely = units.iter().take_while(|unit| unit.before <= at - 0.35).count().min(limit);
        let low = ready.shown.max(last_made).max(surely);
        let high = units[..limit].iter().take_while(|unit| unit.after <= at + 0.2).count().max(low);
        // The recorded size of the log determines the state.
        let by_size = |at: f64| {
            let size = self.stage.recording.size_at(at)?;
            Some(units.iter().take_while(|unit| unit.end <= size).count().clamp(ready.shown, limit))
        };
        let (low, high) = match (by_size(at - 0.01), by_size(at + 0.05)) {
            (Some(least), Some(most)) => (least, most),
            _ => (low, high),
        };
        let step = (high - low).div_ceil(VIEWS).max(1);
        let views =
            (low..=high).rev().step_by(step).chain((!(high - low).is_multiple_of(step)).then_some(low));
        views
            .map(|seen| {
                let mut trial = ready.clone();
                trial.show(seen);
                trial.event(RouterEvent::Poll, at);
                trial.deliver(next - 0.05);
                trial
            })
            .collect()
    }

    /// Returns the best sessions, without duplicates: with few differences and many of the recorded writes.
    pub fn best(mut sessions: Vec<Session<'a>>) -> Vec<Session<'a>> {
        let made = |session: &Session<'_>| session.done.iter().filter(|done| **done).count();
        let cost = |session: &Session<'_>| (3 * session.differences.len() + session.doubts) as i64;
        let eager = |session: &Session<'_>| cost(session) - made(session) as i64;
        sessions.sort_by_key(|session| (eager(session), cost(session), usize::MAX - session.shown));
        let mut seen = Vec::new();
        sessions.retain(|session| {
            let key = (session.shown, session.running.len(), made(session), cost(session));
            let fresh = !seen.contains(&key);
            seen.push(key);
            fresh
        });
        // Half of them are the sessions with the most writes; the other half are those that saw the earliest
        // states of the queue.
        let mut patient = sessions.split_off(sessions.len().min(BEAM / 2));
        patient.sort_by_key(|session| (cost(session), usize::MAX - made(session), session.shown));
        patient.truncate(BEAM / 2);
        sessions.extend(patient);
        sessions
    }

    fn show(&mut self, units: usize) {
        while self.shown < units {
            self.queues.feed(&self.stage.recording.units[self.shown]);
            self.shown += 1;
        }
    }

    /// Delivers the hooks that have ended by then.
    pub fn deliver(&mut self, until: f64) {
        while let Some(first) = (0..self.running.len())
            .filter(|&at| self.running[at].ends <= until)
            .min_by(|&a, &b| self.running[a].ends.total_cmp(&self.running[b].ends))
        {
            let call = self.running.remove(first);
            let kept = call.stdout.len().min(PIPE_BUFFER_MAX);
            let answer = FinishedHookCall {
                dialect: htc_hooks::classad::Dialect::new_syntax(),
                hook: call.hook,
                exit: call.exit,
                stdout: &call.stdout[..kept],
                is_truncated: kept < call.stdout.len(),
                source_ad: &call.source_ad,
                routed_ad: (call.hook != HookType::TranslateJob).then_some(&call.copy_ad),
                edit_in_place: call.in_place,
            };
            let verdict = judge_hook_call(&answer, QuirkMode::Reference);
            self.event(
                RouterEvent::HookEnded(call.source, call.hook, RouterHookResult::Ended(Box::new(verdict))),
                call.ends,
            );
        }
    }

    /// Evaluates the periodic expressions.
    pub fn periodic(&mut self, at: f64) {
        self.deliver(at);
        self.event(RouterEvent::PeriodicExpressionsDue, at);
    }

    fn event(&mut self, event: RouterEvent, at: f64) {
        let mut events = std::collections::VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            if self.is_dead {
                return;
            }
            let actions = {
                let frozen = FrozenClockWorld { world: self.stage.world, now: now(at) };
                let context = RouterContext {
                    queue: &Mirror(&self.queues.first),
                    copies: &Mirror(self.queues.copies()),
                    config: Some(self.stage.view),
                    parameters: self.stage.view,
                    world: &frozen,
                };
                self.router.handle_event(now(at), event, &context)
            };
            for action in actions {
                events.extend(self.act(action, at));
            }
        }
    }

    fn act(&mut self, action: RouterAction, at: f64) -> Option<RouterEvent> {
        if self.is_dead {
            return None;
        }
        if job_of_action(&action).is_some_and(|id| self.parted.contains(&id)) {
            return successful_reply(&action);
        }
        match action {
            RouterAction::Log(text) => {
                let message = job_message(&text);
                let is_parted = |source: &str| self.parted.iter().any(|id| id.to_string() == source);
                if let Some(message) = message.filter(|message| !is_parted(&message.source)) {
                    self.messages.entry(message.source).or_default().push(message.text);
                }
            }
            RouterAction::Stop(_) | RouterAction::Quirk(_, Quirk::RouterAbortsNoUniverse) => {
                self.is_dead = true;
                self.running.clear();
            }
            // The recordings contain no file that could be copied.
            RouterAction::Quirk(_, Quirk::ProxyCopyLeft) => {}
            RouterAction::Quirk(source, quirk) => self.part(source, quirk),
            RouterAction::Claim(id) => {
                let claimed = self.take(id, at, "claim", |kind| kind == Kind::Claim).is_some();
                return Some(RouterEvent::ClaimResult(
                    id,
                    claimed.then_some(()).ok_or_else(|| "not recorded".to_owned()),
                ));
            }
            RouterAction::SubmitCopy(id, ad) => {
                // A submission that the schedd refused left no trace; the job is released next.
                let next = self.first(id, false).and_then(|unit| self.units()[unit].router);
                let Some((_, Kind::Submit(copy))) = next else {
                    let job = self.router.job(id);
                    if let Some(proxy) = job.and_then(|job| self.router.lent_proxy(job, self.stage.world)) {
                        return Some(RouterEvent::SubmitNotPrepared(
                            id,
                            format!("failed to copy {proxy} to {proxy}.{id}."),
                        ));
                    }
                    return Some(RouterEvent::SubmitResult(id, Err("refused".to_owned())));
                };
                let unit = self.take(id, at, "submission", |kind| matches!(kind, Kind::Submit(_)))?;
                self.submitted(id, unit, &ad);
                // A schedd that did not receive the files removes the job by itself.
                let spooling = self.units()[unit]
                    .sets
                    .get("holdreasoncode")
                    .is_some_and(|(_, code)| code.as_deref() == Some("16"));
                let staged = format!("103 {copy} StageInFinish ");
                if spooling && !self.units().iter().any(|unit| unit.text.contains_str(&staged)) {
                    return Some(RouterEvent::SpoolFailed(id, copy, "files not spooled".to_owned()));
                }
                return Some(RouterEvent::SubmitResult(id, Ok(copy)));
            }
            RouterAction::EditSource(id, changes) => {
                if self.by_then().first.queue().job(id).is_none() {
                    return Some(RouterEvent::EditResult(id, Err("gone".to_owned())));
                }
                let unit = self.take(id, at, "edit", |kind| kind == Kind::Write);
                if let Some(unit) = unit {
                    self.written(id, unit, &changes, at);
                }
                if unit.is_some() {
                    self.queues.first.queue_mut().move_to_end(id);
                }
                return Some(RouterEvent::EditResult(
                    id,
                    unit.map(|_| ()).ok_or_else(|| "refused".to_owned()),
                ));
            }
            RouterAction::UpdateSource(id, changes) => self.update(id, Kind::Write, &changes, at),
            RouterAction::UpdateCopy(source, copy, changes) => {
                if self.by_then().copies().queue().job(copy).is_none() {
                    return Some(RouterEvent::CopyUpdateResult(
                        source,
                        Err(CopyUpdateError::Refused("gone".to_owned())),
                    ));
                }
                self.update(copy, Kind::Answer, &changes, at);
                return Some(RouterEvent::CopyUpdateResult(source, Ok(())));
            }
            RouterAction::FinalizeCopy(source, copy) => {
                // A copy that is gone cannot be told to leave the queue.
                if self.first(copy, true).is_none() && self.going(copy) {
                    return Some(RouterEvent::FinalizeResult(source, Err("gone".to_owned())));
                }
                let left = self.take(copy, at, "finalization", |kind| kind == Kind::Finalize).is_some();
                return Some(RouterEvent::FinalizeResult(
                    source,
                    left.then_some(()).ok_or_else(|| "refused".to_owned()),
                ));
            }
            RouterAction::RemoveCopy(copy, reason) => {
                // A copy that is gone or being removed cannot be removed.
                let going = self.going(copy);
                if (self.first(copy, true).is_some() || !going)
                    && let Some(unit) = self.take(copy, at, "removal", |kind| kind == Kind::Remove)
                {
                    let told = self.units()[unit].sets.get("removereason").and_then(|(_, text)| text.clone());
                    self.counts.values.compared += 1;
                    if !told.as_deref().is_some_and(|told| told.trim_start_matches('"').starts_with(&reason))
                    {
                        self.differ(format!("job {copy}"), "RemoveReason", told, Some(reason));
                    }
                }
            }
            RouterAction::YieldSource(id, done) => {
                // A job that was adopted by mistake is not released by us.
                if !self.is_managed(id) {
                    return Some(RouterEvent::YieldResult(id, Err(YieldError::NotOurs)));
                }
                let given = self.take(id, at, "release", |kind| kind == Kind::Yield { done }).is_some();
                return Some(RouterEvent::YieldResult(
                    id,
                    given.then_some(()).ok_or(YieldError::WriteFailed),
                ));
            }
            RouterAction::UserLog(id, ad, body) => {
                if ad.string("UserLog").is_some_and(|log| log != "/dev/null") {
                    self.events.push(UserLogEvent::of(id, at, body));
                }
            }
            RouterAction::CallHook(call) => {
                return self.hook(call, at);
            }
        }
        None
    }

    /// Ends the comparison of a job that the recorded router treats differently from here on.
    fn part(&mut self, source: JobId, quirk: Quirk) {
        let place = format!("job {source}");
        let stage = self.stage;
        if stage.exceptions.find(stage.subject, &place, "rest", quirk.id(), Allow::Anything).is_none() {
            return self.differ(place, "quirk", None, Some(quirk.id().to_owned()));
        }
        self.parted.push(source);
        self.parted.extend(self.router.job(source).and_then(|job| job.copy_id()));
        self.running.retain(|running| running.source != source);
        for (number, unit) in self.stage.recording.units.iter().enumerate() {
            let is_open = unit.router.is_some_and(|(id, _)| self.parted.contains(&id)) && !self.done[number];
            self.counts.states.excused += usize::from(is_open);
            self.done[number] |= is_open;
        }
        for (number, call) in self.stage.recording.calls.iter().enumerate() {
            let is_open = call.source == Some(source) && !self.called[number];
            self.counts.calls.excused += usize::from(is_open);
            self.called[number] |= is_open;
        }
    }

    fn update(&mut self, id: JobId, kind: Kind, changes: &[(BString, Option<Expr>)], at: f64) {
        // Nothing is written if only JobStatus is to be set and the queue does not allow it.
        if let [(name, _)] = changes
            && name == "JobStatus"
            && kind == Kind::Write
            && self.is_over(id)
        {
            return;
        }
        if let Some(unit) = self.take(id, at, "update", |recorded| recorded == kind) {
            self.written(id, unit, changes, at);
        } else if let Some(last) = self.differences.last_mut() {
            let texts = changes.iter().map(|(name, expr)| {
                format!("{name} = {}", expr.as_ref().map(|expr| expr.unparse()).unwrap_or_default())
            });
            last.ours = Some(texts.collect::<Vec<_>>().join("; "));
        }
    }

    /// Returns the recorded queues before a unit.
    pub(super) fn before(&self, unit: usize) -> Queues {
        let mut queues = self.queues.clone();
        self.units().get(self.shown..unit).into_iter().flatten().for_each(|unit| queues.feed(unit));
        queues
    }

    /// Returns JobStatus of a job before a recorded write about it.
    pub(super) fn status_before(&self, unit: usize, id: JobId) -> Option<i64> {
        let queues = self.before(unit);
        let of_copy = self.units()[unit].router.is_some_and(|(_, kind)| kind.is_of_copy());
        let reader = if of_copy { queues.copies() } else { &queues.first };
        reader.queue().job(id)?.literal("JobStatus")?.as_int()
    }

    /// Returns the recorded queues before the router's next write.
    fn by_then(&self) -> Queues {
        self.before(self.next_write().max(self.shown))
    }

    /// Returns true if the recorded queue then has a source job that a router manages.
    fn is_managed(&self, id: JobId) -> bool {
        let source = self.by_then().first.queue().job(id);
        source.is_some_and(|ad| ad.string("Managed").is_some_and(|managed| managed == "External"))
    }

    /// Returns true if a source job is removed or completed by the router's next write.
    fn is_over(&self, id: JobId) -> bool {
        let source = self.by_then().first.queue().job(id);
        let status = source.as_ref().and_then(|ad| ad.literal("JobStatus")?.as_int());
        matches!(status, None | Some(3 | 4))
    }

    /// Returns true if the recorded queue has no such copy by the router's next write, or has one that is
    /// removed.
    fn going(&self, id: JobId) -> bool {
        self.by_then().copies().queue().job(id).is_none_or(|ad| {
            ad.literal("JobStatus").and_then(|status| status.as_int()).is_some_and(|status| status == 3)
        })
    }

    /// Returns the recorded router's next write about a source job, or about a copy.
    pub(super) fn first(&self, id: JobId, of_copy: bool) -> Option<usize> {
        let open = |(at, unit): &(usize, &Unit)| {
            unit.router.is_some_and(|(about, kind)| about == id && kind.is_of_copy() == of_copy)
                && !self.done[*at]
        };
        self.units().iter().enumerate().find(open).map(|(at, _)| at)
    }

    /// Consumes that write if it has the kind of our write and about the same time.
    fn take(&mut self, id: JobId, at: f64, what: &str, fits: impl Fn(Kind) -> bool) -> Option<usize> {
        let of_copy = [Kind::Answer, Kind::Finalize, Kind::Remove].into_iter().any(&fits);
        let found = self.first(id, of_copy);
        let unit = found.map(|number| &self.units()[number]);
        let kind = unit.and_then(|unit| unit.router).map(|(_, kind)| kind);
        let late = 1.2 * self.stage.period + 0.5;
        let timely = unit.is_some_and(|unit| unit.after <= at + 0.8 && unit.before >= at - late);
        if let (Some(number), Some(kind), true) = (found, kind, timely)
            && fits(kind)
        {
            self.done[number] = true;
            self.counts.states.compared += 1;
            return Some(number);
        }
        let recorded = unit.zip(kind).map(|(unit, kind)| {
            let when = if timely { "then" } else { "at another time" };
            let text = String::from_utf8_lossy(&unit.text).trim().replace('\n', "; ");
            format!("{kind:?} {when}: {text:.160}")
        });
        let begun = self.stage.recording.lives.first().copied().unwrap_or(0.0);
        self.differ(
            format!("job {id}"),
            what,
            recorded,
            Some(format!("made {:.1} s after the start", at - begun)),
        );
        None
    }

    /// Reports the writes that remain at the end.
    pub fn finish(&mut self) {
        let end = self.stage.recording.end;
        self.give_up(end);
        // Ours should have made all recorded writes well before the end.
        for (number, unit) in self.units().iter().enumerate() {
            if let Some((id, kind)) = unit.router
                && !self.done[number]
                && unit.after < end - 2.0 * self.stage.period
            {
                let text = String::from_utf8_lossy(&unit.text).trim().replace('\n', "; ");
                self.differ(format!("job {id}"), "write", Some(format!("{kind:?} {text:.200}")), None);
            }
        }
    }
}
