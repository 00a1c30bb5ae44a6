//! A router machine in the place of the recorded one: it sees the queue as that one saw it, its hooks answer as they
//! answered then, and what it does is held against what was done.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use bstr::ByteSlice;
use htc_hooks::classad::ClassAd;
use htc_hooks::config::View;
use htc_hooks::hook::HookType;
use htc_hooks::job::JobId;
use htc_hooks::os::RealWorld;
use htc_hooks::process::Exit;
use htc_hooks::queue::QueueLogReader;
use htc_hooks::quirks::Quirks;
use htc_hooks::router::{
    Action, Event, HookAnswer, HookResult, Knobs, Queue, RouteTable, Router, Surroundings, hook_verdict,
};
use htc_hooks::runner::router::{HookRunner, NoHook};
use htc_hooks::time::Now;
use htc_hooks::world::Frozen;

use super::super::exceptions::Exceptions;
use super::super::findings::{Counts, Difference};
use super::events::Told;
use super::recording::{Call, Recording, said_in};
use super::units::{Kind, Unit};

/// What scripts printed, by hook and input; nothing where one failed.
type Printed = RefCell<HashMap<(String, String), Option<Vec<u8>>>>;

/// What does not change during a replay.
pub struct Stage<'a> {
    pub name: &'a str,
    pub recording: &'a Recording,
    pub view: &'a View<'a>,
    pub world: &'a RealWorld,
    pub exceptions: &'a Exceptions,
    /// What stands for `@LOCAL_DIR@`.
    pub local: String,
    /// Seconds between polls.
    pub period: f64,
    /// What scripts printed, by hook and input.
    pub printed: Printed,
}

/// How many views of the queue are tried at each look.
const VIEWS: usize = 40;
/// How many accounts of what the recorded router may have seen are followed.
const BEAM: usize = 12;

/// A hook that runs.
#[derive(Clone)]
struct Running {
    ends: f64,
    source: JobId,
    hook: HookType,
    source_ad: ClassAd,
    copy_ad: ClassAd,
    in_place: bool,
    exit: Exit,
    stdout: Vec<u8>,
}

/// The replay so far; cloned to try out what the recorded router may have seen of the queue.
#[derive(Clone)]
pub struct Session<'a> {
    pub(super) stage: &'a Stage<'a>,
    router: Router,
    reader: QueueLogReader,
    shown: usize,
    done: Vec<bool>,
    called: Vec<bool>,
    answers: BTreeMap<(JobId, String), Call>,
    running: Vec<Running>,
    /// What it said about jobs, by source.
    pub said: BTreeMap<String, Vec<String>>,
    /// What it wrote to the sources' user logs.
    pub events: Vec<Told>,
    pub counts: Counts,
    /// How often it did something shortly before the recorded one did it.
    doubts: usize,
    pub differences: Vec<Difference>,
    /// Whether it aborted, as 25.14 does.
    pub is_dead: bool,
}

struct Mirror<'a>(&'a QueueLogReader);

impl Queue for Mirror<'_> {
    fn job(&self, id: JobId) -> Option<ClassAd> {
        self.0.queue().job(id)
    }

    fn jobs(&self) -> Vec<JobId> {
        self.0.queue().jobs_as_entered()
    }
}

pub fn now(at: f64) -> Now {
    Now { wall_us: (at * 1e6) as i64, ..Now::at_epoch(at as i64) }
}

pub fn fresh(stage: &Stage<'_>, at: f64) -> Router {
    let knobs = Knobs::load(stage.view, &mut |_| {});
    let table = RouteTable::load(stage.view, &knobs, stage.world, Quirks::Reference, &mut |_| {});
    Router::new(knobs, table, Quirks::Reference, now(at))
}

impl<'a> Session<'a> {
    pub fn new(stage: &'a Stage<'a>) -> Self {
        let begun = stage.recording.lives.first().copied().unwrap_or(0.0);
        Session {
            stage,
            router: fresh(stage, begun),
            reader: QueueLogReader::new(),
            shown: 0,
            done: vec![false; stage.recording.units.len()],
            called: vec![false; stage.recording.calls.len()],
            answers: BTreeMap::new(),
            running: Vec::new(),
            said: BTreeMap::new(),
            events: Vec::new(),
            counts: Counts::default(),
            doubts: 0,
            differences: Vec::new(),
            is_dead: false,
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

    /// Starts the daemon again after an abort.
    pub fn restart(&mut self, at: f64) {
        self.router = fresh(self.stage, at);
        self.running.clear();
        self.is_dead = false;
    }

    /// The first write of the recorded router that ours has not made yet.
    fn next_write(&self) -> usize {
        let open = |(at, unit): &(usize, &Unit)| unit.router.is_some() && !self.done[*at];
        self.units().iter().enumerate().find(open).map_or(self.units().len(), |(at, _)| at)
    }

    /// Gives up recorded writes and calls that ours should have made long ago.
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

    /// What may have come of one look at the queue: one session for each view of it that was possible then.
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
        let step = (high - low).div_ceil(VIEWS).max(1);
        let views =
            (low..=high).rev().step_by(step).chain((!(high - low).is_multiple_of(step)).then_some(low));
        views
            .map(|seen| {
                let mut trial = ready.clone();
                trial.show(seen);
                trial.event(Event::Poll, at);
                trial.deliver(next - 0.05);
                trial
            })
            .collect()
    }

    /// The best few of the sessions, of those that stand alike only one: with few differences and many of the recorded writes
    /// made.
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
        // Half of them those that made most of the writes and saw most, half those that differ and saw least.
        let mut patient = sessions.split_off(sessions.len().min(BEAM / 2));
        patient.sort_by_key(|session| (cost(session), usize::MAX - made(session), session.shown));
        patient.truncate(BEAM / 2);
        sessions.extend(patient);
        sessions
    }

    fn show(&mut self, units: usize) {
        while self.shown < units {
            self.reader.feed(&self.stage.recording.units[self.shown].text);
            self.shown += 1;
        }
    }

    /// Hooks that have ended by then.
    pub fn deliver(&mut self, until: f64) {
        while let Some(first) = (0..self.running.len())
            .filter(|&at| self.running[at].ends <= until)
            .min_by(|&a, &b| self.running[a].ends.total_cmp(&self.running[b].ends))
        {
            let call = self.running.remove(first);
            let answer = HookAnswer {
                hook: call.hook,
                exit: call.exit,
                stdout: &call.stdout,
                cut: false,
                source: &call.source_ad,
                routed: (call.hook != HookType::TranslateJob).then_some(&call.copy_ad),
                edit_in_place: call.in_place,
            };
            let verdict = hook_verdict(&answer, Quirks::Reference);
            self.event(Event::Hook(call.source, call.hook, HookResult::Ended(Box::new(verdict))), call.ends);
        }
    }

    /// Periodic expressions are due.
    pub fn periodic(&mut self, at: f64) {
        self.deliver(at);
        self.event(Event::Periodic, at);
    }

    fn event(&mut self, event: Event, at: f64) {
        let mut events = std::collections::VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            if self.is_dead {
                return;
            }
            let actions = {
                let frozen = Frozen { world: self.stage.world, now: now(at) };
                let around = Surroundings {
                    queue: &Mirror(&self.reader),
                    config: Some(self.stage.view),
                    knobs: self.stage.view,
                    world: &frozen,
                };
                self.router.step(now(at), event, &around)
            };
            for action in actions {
                events.extend(self.act(action, at));
            }
        }
    }

    fn act(&mut self, action: Action, at: f64) -> Option<Event> {
        match action {
            Action::Log(text) => {
                if let Some(said) = said_in(&text) {
                    self.said.entry(said.source).or_default().push(said.text);
                }
            }
            Action::Abort(_) => {
                self.is_dead = true;
                self.running.clear();
            }
            Action::Claim(id) => {
                let claimed = self.take(id, at, "claim", |kind| kind == Kind::Claim).is_some();
                return Some(Event::Claimed(
                    id,
                    claimed.then_some(()).ok_or_else(|| "not recorded".to_owned()),
                ));
            }
            Action::Submit(id, ad) => {
                // What the schedd refused left nothing behind; the job is given back next.
                let next = self.first(id).and_then(|unit| self.units()[unit].router);
                let Some((_, Kind::Submit(copy))) = next else {
                    if let Some(proxy) = self.router.lent_proxy(id, self.stage.world) {
                        return Some(Event::Unprepared(
                            id,
                            format!("failed to copy {proxy} to {proxy}.{id}."),
                        ));
                    }
                    return Some(Event::Submitted(id, Err("refused".to_owned())));
                };
                let unit = self.take(id, at, "submission", |kind| matches!(kind, Kind::Submit(_)))?;
                self.submitted(id, unit, &ad);
                // A schedd that did not get the files removes the job by itself.
                let spooling = self.units()[unit]
                    .sets
                    .get("holdreasoncode")
                    .is_some_and(|(_, code)| code.as_deref() == Some("16"));
                let staged = format!("103 {copy} StageInFinish ");
                if spooling && !self.units().iter().any(|unit| unit.text.contains_str(&staged)) {
                    return Some(Event::Submitted(id, Err("files not spooled".to_owned())));
                }
                return Some(Event::Submitted(id, Ok(copy)));
            }
            Action::Edit(id, changes) => {
                let unit = self.take(id, at, "edit", |kind| kind == Kind::Write);
                if let Some(unit) = unit {
                    self.written(id, unit, &changes, at);
                }
                return Some(Event::Edited(id, unit.map(|_| ()).ok_or_else(|| "refused".to_owned())));
            }
            Action::Update(id, changes) => {
                if let Some(unit) = self.take(id, at, "update", |kind| kind == Kind::Write) {
                    self.written(id, unit, &changes, at);
                } else if let Some(last) = self.differences.last_mut() {
                    let texts = changes.iter().map(|(name, expr)| {
                        format!("{name} = {}", expr.as_ref().map(|expr| expr.unparse()).unwrap_or_default())
                    });
                    last.ours = Some(texts.collect::<Vec<_>>().join("; "));
                }
            }
            Action::Finalize(source, copy) => {
                let left = self.take(copy, at, "finalization", |kind| kind == Kind::Finalize).is_some();
                return Some(Event::Finalized(
                    source,
                    left.then_some(()).ok_or_else(|| "refused".to_owned()),
                ));
            }
            Action::Remove(copy, reason) => {
                // One that is gone or going already cannot be removed.
                let going = self.going(copy);
                if (self.first(copy).is_some() || !going)
                    && let Some(unit) = self.take(copy, at, "removal", |kind| kind == Kind::Remove)
                {
                    let told = self.units()[unit].sets.get("removereason").and_then(|(_, text)| text.clone());
                    self.counts.values += 1;
                    if !told.as_deref().is_some_and(|told| told.trim_start_matches('"').starts_with(&reason))
                    {
                        self.differ(format!("job {copy}"), "RemoveReason", told, Some(reason));
                    }
                }
            }
            Action::Yield(id, done) => {
                // A job that was adopted by mistake is not ours to give back.
                if !self.is_managed(id) {
                    return Some(Event::Yielded(id, Err(false)));
                }
                let given = self.take(id, at, "release", |kind| kind == Kind::Yield { done }).is_some();
                return Some(Event::Yielded(id, given.then_some(()).ok_or(true)));
            }
            Action::UserLog(id, ad, body) => {
                if ad.contains("UserLog") {
                    self.events.push(Told::of(id, at, body));
                }
            }
            Action::Hook { source, hook, route, source_ad, copy_ad, in_place } => {
                return self.hook(source, hook, &route, *source_ad, *copy_ad, in_place, at);
            }
        }
        None
    }

    /// What JobStatus a job had before a recorded write.
    pub(super) fn status_before(&self, unit: usize, id: JobId) -> Option<i64> {
        let mut reader = self.reader.clone();
        self.units().get(self.shown..unit)?.iter().for_each(|unit| reader.feed(&unit.text));
        reader.queue().job(id)?.literal("JobStatus")?.as_int()
    }

    /// A job of the recorded queue as it was before the router's next write.
    fn by_then(&self, id: JobId) -> Option<ClassAd> {
        let mut reader = self.reader.clone();
        let until = self.next_write().max(self.shown);
        for unit in &self.units()[self.shown..until] {
            reader.feed(&unit.text);
        }
        reader.queue().job(id)
    }

    /// Whether the recorded queue has a job by then that some router manages.
    fn is_managed(&self, id: JobId) -> bool {
        self.by_then(id).is_some_and(|ad| ad.string("Managed").is_some_and(|managed| managed == "External"))
    }

    /// Whether the recorded queue has no such job by the router's next write, or one that is removed.
    fn going(&self, id: JobId) -> bool {
        self.by_then(id).is_none_or(|ad| {
            ad.literal("JobStatus").and_then(|status| status.as_int()).is_some_and(|status| status == 3)
        })
    }

    /// The recorded router's next write about a job.
    fn first(&self, id: JobId) -> Option<usize> {
        let open = |(at, unit): &(usize, &Unit)| {
            unit.router.is_some_and(|(about, _)| about == id) && !self.done[*at]
        };
        self.units().iter().enumerate().find(open).map(|(at, _)| at)
    }

    /// Takes that write if it is of the kind that ours makes, at about the same time.
    fn take(&mut self, id: JobId, at: f64, what: &str, fits: impl Fn(Kind) -> bool) -> Option<usize> {
        let found = self.first(id);
        let unit = found.map(|number| &self.units()[number]);
        let kind = unit.and_then(|unit| unit.router).map(|(_, kind)| kind);
        let late = 1.2 * self.stage.period + 0.5;
        let timely = unit.is_some_and(|unit| unit.after <= at + 0.8 && unit.before >= at - late);
        if let (Some(number), Some(kind), true) = (found, kind, timely)
            && fits(kind)
        {
            self.done[number] = true;
            self.counts.states += 1;
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

    #[allow(clippy::too_many_arguments, reason = "the parts of one action")]
    fn hook(
        &mut self,
        source: JobId,
        hook: HookType,
        route: &[u8],
        source_ad: ClassAd,
        copy_ad: ClassAd,
        in_place: bool,
        at: f64,
    ) -> Option<Event> {
        let runner = HookRunner {
            knobs: self.stage.view,
            world: self.stage.world,
            limit: None,
            directory: None,
            quirks: Quirks::Reference,
        };
        let path = match runner.path(hook, &source_ad) {
            Ok(path) => path.to_string(),
            Err(NoHook::NotConfigured) => return Some(Event::Hook(source, hook, HookResult::NotConfigured)),
            Err(NoHook::Refused(reason) | NoHook::Failed(reason)) => {
                return Some(Event::Hook(source, hook, HookResult::Failed(reason)));
            }
        };
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let stdin = HookRunner::stdin(hook, route, &source_ad, &copy_ad);
        let stdin = self.neutral(&String::from_utf8_lossy(&stdin));
        let calls = &self.stage.recording.calls;
        let fits = |(number, call): &(usize, &Call)| {
            let job = match call.source {
                Some(id) if call.is_certain => id == source,
                Some(id) => id.cluster == source.cluster,
                None => true,
            };
            !self.called[*number]
                && call.hook == name
                && job
                && (call.start - at).abs() < 0.45 * self.stage.period
        };
        let found = calls.iter().enumerate().find(fits);
        let label = format!("job {source} {name}");
        let call = match found {
            Some((number, call)) => {
                self.called[number] = true;
                self.counts.calls += 1;
                if let Some(recorded) = &call.stdin {
                    self.input(&format!("job {source} {}", call.label), recorded, &stdin);
                }
                let mut call = call.clone();
                if call.stdout.is_none() {
                    self.unkept(&mut call, source, hook, &copy_ad, &stdin);
                }
                call
            }
            None => {
                if !self.stage.recording.has_more_calls {
                    let begun = self.stage.recording.lives.first().copied().unwrap_or(0.0);
                    self.differ(
                        label,
                        "call",
                        None,
                        Some(format!("made {:.1} s after the start", at - begun)),
                    );
                }
                let soon = |(number, call): (usize, &Call)| {
                    !self.called[number]
                        && call.hook == name
                        && call.source == Some(source)
                        && call.start > at
                };
                self.doubts += 3 * usize::from(calls.iter().enumerate().any(soon));
                let mut call = Call {
                    label: name.clone(),
                    hook: name.clone(),
                    source: Some(source),
                    is_certain: true,
                    start: at,
                    lasted: Some(0.01),
                    exit: Exit::Code(0),
                    stdin: None,
                    stdout: None,
                    printed: usize::MAX,
                };
                if let Some(former) = self.answers.get(&(source, name.clone())) {
                    (call.exit, call.printed) = (former.exit, former.printed);
                }
                self.unkept(&mut call, source, hook, &copy_ad, &stdin);
                call
            }
        };
        if let Some(lasted) = call.lasted {
            self.running.push(Running {
                ends: at + lasted + 0.005,
                source,
                hook,
                source_ad,
                copy_ad,
                in_place,
                exit: call.exit,
                stdout: call.stdout.clone().unwrap_or_default(),
            });
        }
        self.answers.insert((source, name), call);
        None
    }

    /// What a call printed that was not kept: what its script prints, else as the one before of this kind and job, with the
    /// values that the queue shows next.
    fn unkept(&self, call: &mut Call, source: JobId, hook: HookType, copy: &ClassAd, stdin: &str) {
        if call.printed == 0 {
            call.stdout = Some(Vec::new());
            return;
        }
        let former = self.answers.get(&(source, call.hook.clone())).and_then(|former| former.stdout.clone());
        let script = self.stage.recording.behaviours.iter().find(|(name, _)| *name == call.hook);
        let printed = script.and_then(|(_, text)| self.stage.printed(&call.hook, text, stdin));
        let mut answer = printed.or(former).unwrap_or_default();
        if hook == HookType::RouterUpdateJobInfo {
            // Scripts that count print other numbers now.
            let id = copy.literal("ClusterId").and_then(|value| value.as_int());
            let next = id.and_then(|id| self.first(JobId::new(i32::try_from(id).ok()?, 0)));
            let sets = next
                .map(|number| &self.units()[number])
                .and_then(|unit| matches!(unit.router, Some((_, Kind::Write))).then_some(&unit.sets));
            if let Some(sets) = sets {
                let text = String::from_utf8_lossy(&answer).into_owned();
                let lines = text.lines().map(|line| {
                    let name =
                        line.split_once('=').map(|(name, _)| name.trim().to_lowercase()).unwrap_or_default();
                    match sets.get(&name) {
                        Some((name, Some(value))) => format!("{name} = {value}\n"),
                        _ => format!("{line}\n"),
                    }
                });
                answer = lines.collect::<String>().into_bytes();
            }
        }
        call.stdout = Some(answer);
    }

    /// What is left at the end.
    pub fn finish(&mut self) {
        let end = self.stage.recording.end;
        self.give_up(end);
        // Whatever the recorded router wrote well before the end ours should have written.
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

impl Stage<'_> {
    /// What the script of a hook prints for this input; run once.
    fn printed(&self, hook: &str, script: &str, stdin: &str) -> Option<Vec<u8>> {
        let key = (hook.to_owned(), stdin.to_owned());
        if let Some(known) = self.printed.borrow().get(&key) {
            return known.clone();
        }
        let answer = printed(script, stdin);
        self.printed.borrow_mut().insert(key, answer.clone());
        answer
    }
}

/// What a recorded script prints for this input; nothing if it takes long.
fn printed(script: &str, stdin: &str) -> Option<Vec<u8>> {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut child = Command::new("timeout")
        .args(["5", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take()?;
    // A script need not read.
    let _ = input.write_all(stdin.as_bytes());
    drop(input);
    child.wait_with_output().ok().map(|output| output.stdout)
}
