//! The same machine on a clock that is moved by hand: hours of policy in a moment, and always the same.
//!
//! A [`Scenario`] says which jobs there are, how long each runs and takes to leave, and what is done when. No process is
//! started and no file is looked at; what hooks and starters would do is answered from the scenario.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use bstr::BStr;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::notices;
use super::requests::{Asked, Meaning, Request};
use crate::classad::Expr;
use crate::classad::format::long;
use crate::os::identity;
use crate::process::Exit;
use crate::runner::events::{Event as Told, Kind};
use crate::slot::{
    Action, Event, ExecutionPoint, HookCall, Measured, Settings, SlotHook, SlotHooks, StarterCall, StarterId,
    StarterSignal,
};
use crate::text::caseless;
use crate::time::{Now, Tick};
use crate::world::World;

/// What happens in a simulation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// How many seconds are simulated.
    #[serde(deserialize_with = "a_while")]
    pub until: f64,
    /// What the clock shows at the start, in seconds since the epoch.
    #[serde(default = "first_second", deserialize_with = "a_date")]
    pub start: i64,
    /// Knobs above the configuration.
    #[serde(default)]
    pub knobs: BTreeMap<String, String>,
    /// How long FETCH_WORK takes, in seconds.
    #[serde(default = "moment", deserialize_with = "a_while")]
    pub fetch_takes: f64,
    /// The jobs that FETCH_WORK brings, in this order.
    #[serde(default, rename = "job")]
    pub jobs: Vec<Job>,
    /// What is done to the execution point.
    #[serde(default, rename = "event")]
    pub events: Vec<Done>,
}

/// One job.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// What FETCH_WORK prints.
    pub ad: String,
    /// How long it runs when it is left alone, in seconds.
    #[serde(default, deserialize_with = "a_while")]
    pub runs: f64,
    /// How long it takes to leave when it is asked to, in seconds.
    #[serde(default, deserialize_with = "a_while")]
    pub leaves: f64,
    /// When it is there to be fetched, in seconds since the start.
    #[serde(default, deserialize_with = "a_while")]
    pub at: f64,
    /// Its exit status.
    #[serde(default)]
    pub exit: u8,
}

/// One thing that is done.
#[derive(Clone, Debug, Deserialize)]
pub struct Done {
    /// When, in seconds since the start.
    #[serde(deserialize_with = "a_while")]
    pub at: f64,
    /// Load average of the machine from now on.
    #[serde(default)]
    pub load: Option<f64>,
    /// Seconds since somebody has touched the keyboard, from now on; it grows with time.
    #[serde(default)]
    pub idle: Option<i64>,
    /// What is asked for, as at the control socket.
    #[serde(flatten)]
    pub request: Option<Request>,
}

/// A hundred years.
const LONGEST: f64 = 3_155_760_000.0;

/// Reads a number of seconds.
fn a_while<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    match seconds {
        0.0..=LONGEST => Ok(seconds),
        _ => {
            Err(D::Error::custom(format!("expected seconds from 0 to {LONGEST}, which are a hundred years")))
        }
    }
}

/// Reads a point of time in seconds since the epoch.
fn a_date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let seconds = i64::deserialize(deserializer)?;
    match (0..=100_000_000_000).contains(&seconds) {
        true => Ok(seconds),
        false => Err(D::Error::custom("expected seconds since 1970, up to 100000000000")),
    }
}

fn first_second() -> i64 {
    1_700_000_000
}

fn moment() -> f64 {
    0.01
}

struct Simulated {
    call: StarterCall,
    job: Job,
    ends: Tick,
    /// How much is left to run while it is suspended.
    suspended: Option<Duration>,
    signalled: Option<u8>,
}

/// One simulation under way.
pub struct Simulation {
    machine: ExecutionPoint,
    now: Now,
    begun: Now,
    jobs: VecDeque<Job>,
    done: VecDeque<Done>,
    fetch_takes: Duration,
    fetches: Vec<(Tick, HookCall)>,
    starters: BTreeMap<StarterId, Simulated>,
    running: Vec<Job>,
    idle_since: Option<(Tick, i64)>,
    load: f64,
    next_pid: u32,
    events: Vec<Told>,
    finished: bool,
}

impl Simulation {
    /// Prepares it. Every slot is given hooks, whatever the configuration says of their paths.
    pub fn new(mut settings: Settings, scenario: &Scenario, world: Rc<dyn World>) -> Self {
        for slot in &mut settings.slots {
            let keyword =
                slot.hooks.as_ref().map_or_else(|| "SIMULATED".to_owned(), |hooks| hooks.keyword.clone());
            let path = |hook: SlotHook| Some(PathBuf::from(hook.name()));
            let hooks = SlotHooks {
                keyword,
                fetch: path(SlotHook::FetchWork),
                reply: path(SlotHook::ReplyFetch),
                evict: path(SlotHook::EvictClaim),
            };
            slot.hooks = Some(hooks.clone());
            slot.child_default = Some(hooks);
            slot.child_hooks.clear();
        }
        let begun = Now::at_epoch(scenario.start);
        let mut jobs: Vec<Job> = scenario.jobs.clone();
        jobs.sort_by(|a, b| a.at.total_cmp(&b.at));
        let mut done = scenario.events.clone();
        done.sort_by(|a, b| a.at.total_cmp(&b.at));
        Simulation {
            machine: ExecutionPoint::new(settings, world, begun),
            now: begun,
            begun,
            jobs: jobs.into(),
            done: done.into(),
            fetch_takes: seconds(scenario.fetch_takes),
            fetches: Vec::new(),
            starters: BTreeMap::new(),
            running: Vec::new(),
            idle_since: None,
            load: 0.0,
            next_pid: 1000,
            events: Vec::new(),
            finished: false,
        }
    }

    /// Runs it to its end; each event is handed over as it happens, with the seconds since the start.
    ///
    /// # Errors
    /// A request of the scenario that means nothing.
    pub fn run(mut self, until: f64, mut tell: impl FnMut(f64, &Told)) -> Result<(), String> {
        let end = self.begun.tick().plus(seconds(until));
        self.measure();
        self.step(Event::Start);
        loop {
            for event in std::mem::take(&mut self.events) {
                tell(event.time - self.begun.epoch_f64(), &event);
            }
            let next = [
                self.machine.next_wake(),
                self.fetches.iter().map(|(at, _)| *at).min(),
                self.starters.values().filter(|it| it.suspended.is_none()).map(|it| it.ends).min(),
                self.done.front().map(|done| self.begun.tick().plus(seconds(done.at))),
            ];
            let Some(next) = next.into_iter().flatten().min().filter(|next| *next <= end) else { break };
            if self.finished {
                break;
            }
            self.now = self.now.plus(next.since(self.now.tick()));
            self.measure();
            self.due()?;
        }
        Ok(())
    }

    /// What has come due is done, one kind after the other; ticks of the machine come last.
    fn due(&mut self) -> Result<(), String> {
        let tick = self.now.tick();
        while self.done.front().is_some_and(|done| self.begun.tick().plus(seconds(done.at)) <= tick) {
            let Some(done) = self.done.pop_front() else { break };
            self.carry_out(done)?;
        }
        let ended: Vec<StarterId> = self
            .starters
            .iter()
            .filter(|(_, it)| it.suspended.is_none() && it.ends <= tick)
            .map(|(id, _)| *id)
            .collect();
        for id in ended {
            let Some(ended) = self.starters.remove(&id) else { continue };
            let words = match ended.signalled {
                Some(signal) => format!("signalled {signal}"),
                None => format!("exited {}", ended.job.exit),
            };
            let slot = notices::slot_name(&self.machine, ended.call.slot);
            self.tell(Told::new(self.now, Kind::Job).slot(slot).job(ended.call.job.clone()).exit(words));
            self.step(Event::StarterExited { starter: id, exit: Exit::Code(0) });
        }
        let mut fetched: Vec<(Tick, HookCall)> = Vec::new();
        self.fetches.retain(|(at, call)| {
            let due = *at <= tick;
            if due {
                fetched.push((*at, call.clone()));
            }
            !due
        });
        for (_, call) in fetched {
            let there = self.jobs.front().is_some_and(|job| self.begun.tick().plus(seconds(job.at)) <= tick);
            let job = if there { self.jobs.pop_front() } else { None };
            let stdout = job.as_ref().map(|job| job.ad.clone().into_bytes()).unwrap_or_default();
            self.running.extend(job);
            self.step(Event::HookEnded { run: call.run, stdout, cut: false });
        }
        if self.machine.next_wake().is_some_and(|wake| wake <= tick) {
            self.step(Event::Tick);
        }
        Ok(())
    }

    fn carry_out(&mut self, done: Done) -> Result<(), String> {
        if let Some(load) = done.load {
            self.load = load;
        }
        if let Some(idle) = done.idle {
            self.idle_since = Some((self.now.tick(), idle));
        }
        self.measure();
        if let Some(request) = done.request.filter(|request| !request.command.is_empty()) {
            let known: Vec<&str> = self.machine.slots().map(|(_, id, ..)| id).collect();
            let (at, verb) = (done.at, request.command.clone());
            // Whoever plays a scenario is who would ask.
            let asked = Asked { ad: Vec::new(), uid: identity::effective_uid(), lease: 0, host: "" };
            let meaning = request.check_slot(&known).and_then(|()| request.meaning(asked));
            match meaning.map_err(|reason| format!("the event at {at} s: {reason}"))? {
                Meaning::Event(event) | Meaning::Hold(event, _) | Meaning::Claim(event) => self.step(*event),
                Meaning::Reconfigure | Meaning::Status => {
                    return Err(format!("the event at {at} s: '{verb}' does nothing in a scenario"));
                }
            }
        }
        Ok(())
    }

    fn measure(&mut self) {
        let idle = self
            .idle_since
            .map(|(since, idle)| idle + i64::try_from(self.now.tick().since(since).as_secs()).unwrap_or(0));
        let measured = Measured {
            load: self.load,
            idle,
            disk: None,
            virtual_memory: 8 << 20,
            own_size: [0, 0],
            own_cpu: 0.0,
            processors: 0,
            jobs: Vec::new(),
        };
        self.step(Event::Measured(Box::new(measured)));
    }

    fn tell(&mut self, event: Told) {
        self.events.push(event);
    }

    fn step(&mut self, event: Event) {
        let mut waiting = VecDeque::from([event]);
        while let Some(event) = waiting.pop_front() {
            for action in self.machine.step(self.now, event) {
                match action {
                    Action::Tell(notice) => {
                        let event = notices::event(&self.machine, self.now, notice);
                        self.tell(event);
                    }
                    Action::RunHook(call) => self.run_hook(call, &mut waiting),
                    Action::KillHook(run) => self.fetches.retain(|(_, call)| call.run != run),
                    // Nothing is measured here: they take no time.
                    Action::RunBenchmarks => waiting.push_back(Event::BenchmarksEnded),
                    Action::SpawnStarter(call) => waiting.push_front(self.spawn(call)),
                    Action::SignalStarter { starter, signal, .. } => self.signal(starter, signal),
                    Action::Finished { reason } => {
                        self.finished = true;
                        self.tell(Told::new(self.now, Kind::Stop).reason(reason));
                    }
                }
            }
        }
    }

    fn run_hook(&mut self, call: HookCall, waiting: &mut VecDeque<Event>) {
        let slot = notices::slot_name(&self.machine, call.slot);
        let mut event = Told::new(self.now, Kind::HookStart).slot(slot).hook(call.hook.name());
        if let Some(word) = call.arguments.first() {
            event = event.reason(word.to_string());
        }
        self.tell(event);
        if call.hook == SlotHook::FetchWork {
            self.fetches.push((self.now.tick().plus(self.fetch_takes), call));
        } else {
            waiting.push_back(Event::HookEnded { run: call.run, stdout: Vec::new(), cut: false });
        }
    }

    fn spawn(&mut self, call: StarterCall) -> Event {
        self.next_pid += 1;
        let (starter, pid) = (call.starter, self.next_pid);
        // What the slot asks for in its place may be another thing than what the job said.
        let started = long::parse(&call.stdin).0;
        let kept = |(name, value): (&BStr, Expr)| {
            caseless::starts_with(name, b"Request") || started.get(name).is_some_and(|now| now == value)
        };
        let same = |job: &Job| long::parse(job.ad.as_bytes()).0.iter().all(kept);
        let at = self.running.iter().position(same);
        let job = match at {
            _ if call.backfill => Job { ad: String::new(), runs: 1e9, leaves: 0.0, at: 0.0, exit: 0 },
            Some(at) => self.running.remove(at),
            None => Job { ad: String::new(), runs: 0.0, leaves: 0.0, at: 0.0, exit: 0 },
        };
        let slot = notices::slot_name(&self.machine, call.slot);
        self.tell(Told::new(self.now, Kind::Starter).slot(slot).job(call.job.clone()).pid(pid));
        let ends = self.now.tick().plus(seconds(job.runs));
        self.starters.insert(starter, Simulated { call, job, ends, suspended: None, signalled: None });
        Event::StarterSpawned { starter, pid }
    }

    fn signal(&mut self, starter: StarterId, signal: StarterSignal) {
        let tick = self.now.tick();
        let Some(it) = self.starters.get_mut(&starter) else { return };
        let word = match signal {
            StarterSignal::Soft => {
                it.ends = it.ends.min(tick.plus(seconds(it.job.leaves)));
                it.suspended = None;
                it.signalled = Some(15);
                "asked to leave"
            }
            StarterSignal::Hard | StarterSignal::Kill => {
                (it.ends, it.suspended, it.signalled) = (tick, None, Some(9));
                "killed"
            }
            StarterSignal::Suspend => {
                it.suspended = Some(it.ends.since(tick));
                "suspended"
            }
            StarterSignal::Continue => {
                if let Some(left) = it.suspended.take() {
                    it.ends = tick.plus(left);
                }
                "continued"
            }
        };
        let slot = notices::slot_name(&self.machine, it.call.slot);
        let event = Told::new(self.now, Kind::Job).slot(slot).job(it.call.job.clone()).verdict(word);
        self.tell(event);
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::from_secs(u64::MAX / 4_000_000))
}
