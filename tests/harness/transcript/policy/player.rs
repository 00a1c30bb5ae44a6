//! Replays a recording in virtual time. Each external event comes at its recorded time, or later by as much
//! as our slots are late; the ends of starters come at the recorded distance from their causes.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use htc_hooks::classad::format::long;
use htc_hooks::classad::{ClassAd, Expr};
use htc_hooks::hook::cron_output::CronOutput;
use htc_hooks::process::Exit;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::slot::cron_ads::CronAds;
use htc_hooks::slot::{
    BenchmarkSettings, ClaimCommand, ClaimRequest, Deactivation, DrainCompletion, DrainRequest, DrainSpeed,
    ExecutionPoint, HookCall, HookRunId, Measurements, ShutdownMode, SlotHookType, SlotKey, SlotNotice,
    StartdAction, StartdEvent, StarterId,
};
use htc_hooks::time::{ClockReading, MonotonicTime};

use super::super::Result;
use super::TimerOffset;
use super::fixture::Fixture;
use super::happening::{Happening, What};
use super::recording::{Change, Recording};
use super::verbs::Verbs;

/// Maximum time to wait for slots that are later than the recorded ones, in seconds.
const MAX_SLOT_DELAY: f64 = 8.0;
/// The backfill client among the starters.
const CLIENT: &str = "boinc";
/// Events that follow a change within this time are its consequences.
const CONSEQUENCE_SECONDS: f64 = 0.5;
/// Run time of a hook.
const HOOK_DURATION: Duration = Duration::from_millis(15);

/// Ad of a slot at some time.
#[derive(Clone, Debug)]
pub struct Sent {
    pub epoch: i64,
    pub slot: String,
    pub ad: ClassAd,
}

/// Result of a replay.
#[derive(Default)]
pub struct Played {
    /// State changes of each slot.
    pub states: BTreeMap<String, Vec<Change>>,
    /// Ads of each slot in each second with an event.
    pub sent: Vec<Sent>,
    /// LOCAL_DIR.
    pub local: String,
    /// The full name of this host.
    pub host: String,
    /// Times at which the execution point ended without being told to.
    pub ends: Vec<f64>,
    /// Refusals of commands.
    pub refusals: Vec<String>,
}

struct Player<'a> {
    recording: &'a Recording,
    fixture: Fixture,
    machine: Option<ExecutionPoint>,
    now: ClockReading,
    begun: ClockReading,
    cron: CronAds,
    benchmarks: BenchmarkSettings,
    benchmarked: CronAds,
    printed: BTreeMap<String, String>,
    outputs: BTreeMap<String, CronOutput>,
    starters: BTreeMap<String, StarterId>,
    hooks: Vec<(MonotonicTime, HookRunId, Vec<u8>)>,
    fetches: VecDeque<super::recording::Fetch>,
    idle_since: MonotonicTime,
    pids: u32,
    /// Names of slots, including those that no longer exist.
    names: BTreeMap<SlotKey, String>,
    /// Attributes of jobs that starters have reported; their schedd knows them from then on.
    learned: BTreeMap<(i64, i64), ClassAd>,
    jobs: BTreeMap<String, (i64, i64)>,
    asked_to_end: bool,
    /// Additional delay of cron jobs and timers, in seconds.
    offset: TimerOffset,
    /// True while benchmarks run: cron jobs wait for their end.
    benchmarking: bool,
    /// Sender of commands, if they are sent by verbs.
    verbs: Option<&'a Verbs>,
    played: Played,
}

/// Replays a recording from start to end; external commands are sent by verbs if `verbs` is given.
pub fn play<'a>(recording: &'a Recording, offset: TimerOffset, verbs: Option<&'a Verbs>) -> Result<Played> {
    let fixture = Fixture::lay(recording)?;
    let micros = (recording.epoch * 1e6).max(0.0);
    let begun = ClockReading { wall_us: micros as i64, monotonic_us: micros as u64 };
    let mut player = Player {
        recording,
        fixture,
        machine: None,
        now: begun,
        begun,
        cron: CronAds::new(QuirkMode::Reference),
        benchmarks: BenchmarkSettings::default(),
        benchmarked: CronAds::new(QuirkMode::Reference),
        printed: BTreeMap::new(),
        outputs: BTreeMap::new(),
        starters: BTreeMap::new(),
        hooks: Vec::new(),
        fetches: recording.fetches.clone().into(),
        idle_since: begun.monotonic(),
        pids: 1000,
        names: BTreeMap::new(),
        jobs: BTreeMap::new(),
        asked_to_end: false,
        offset,
        benchmarking: false,
        learned: BTreeMap::new(),
        verbs,
        played: Played::default(),
    };
    player.played.local = player.fixture.local().display().to_string();
    player.played.host = player.fixture.host();
    player.run()?;
    Ok(player.played)
}

impl Player<'_> {
    fn run(&mut self) -> Result<()> {
        let mut queue: VecDeque<Happening> = self.recording.happenings.clone().into();
        loop {
            let next = self.next(&queue);
            let hook = self.hooks.iter().map(|(at, ..)| *at).min();
            let wake = self.machine.as_ref().and_then(ExecutionPoint::next_wake);
            let end = self.tick_of(self.recording.end);
            let own = [hook, wake].into_iter().flatten().min();
            match (own, next) {
                (Some(own), next) if own <= end && next.is_none_or(|(next, _)| own < next) => {
                    self.advance(own);
                    self.deliver_results();
                }
                (_, Some((next, number))) => {
                    self.advance(next);
                    if let Some(happening) = queue.remove(number) {
                        self.happen(happening)?;
                    }
                }
                (_, None) => return Ok(()),
            }
        }
    }

    /// Returns the next external event, and its time. The order of events of one slot, and of events of all
    /// slots, is kept.
    fn next(&self, queue: &VecDeque<Happening>) -> Option<(MonotonicTime, usize)> {
        const WINDOW: usize = 24;
        let mut seen: Vec<Option<&str>> = Vec::new();
        let mut first: Option<(MonotonicTime, usize)> = None;
        for (number, happening) in queue.iter().enumerate().take(WINDOW) {
            let about = happening.what.slot();
            if seen.contains(&about) {
                continue;
            }
            seen.push(about);
            let due = self.due(happening).max(self.now.monotonic());
            if first.is_none_or(|(earliest, _)| due < earliest) {
                first = Some((due, number));
            }
        }
        first
    }

    /// Returns the time at which an external event is due here.
    fn due(&self, happening: &Happening) -> MonotonicTime {
        let about = happening.what.slot();
        let behind = happening.after.iter().any(|(slot, count)| {
            about.is_none_or(|about| about == slot.as_str()) && self.count(slot) < *count
        });
        if behind && self.machine.is_some() {
            return self.tick_of(happening.at + MAX_SLOT_DELAY);
        }
        let recorded = self.tick_of(self.clocked(happening));
        let Some(slot) = about else { return recorded };
        let count = happening.after.get(slot).copied().unwrap_or(0);
        let Some(then) = self.recording.changed_at(slot, count) else { return recorded };
        let ours = self.played.states.get(slot).and_then(|states| states.get(count.checked_sub(1)?));
        let Some((ours, _)) = ours else { return recorded };
        let gap = happening.at - then;
        if happening.what.is_consequence() {
            return self.tick_of(ours + gap);
        }
        recorded.max(self.tick_of(ours + gap.min(CONSEQUENCE_SECONDS)))
    }

    /// Returns the time at which an external event is seen: the output of a cron job is read at its next run.
    fn clocked(&self, happening: &Happening) -> f64 {
        match (&happening.what, &self.machine) {
            (What::Printed(_), Some(machine)) => {
                let job = machine.cron_settings().jobs.first();
                let period = job.map_or(1.0, |job| job.period.max(1) as f64);
                let start = self.started() + self.offset.phase + self.offset.lag;
                start + ((happening.at + 0.03 - start) / period).ceil() * period
            }
            (What::Start { .. }, _) => happening.at + self.offset.phase,
            _ => happening.at,
        }
    }

    fn started(&self) -> f64 {
        let starts = self.recording.happenings.iter().filter(|it| matches!(it.what, What::Start { .. }));
        starts.map(|it| it.at).filter(|at| *at <= self.seconds()).fold(0.0, f64::max)
    }

    fn count(&self, slot: &str) -> usize {
        self.played.states.get(slot).map_or(0, Vec::len)
    }

    fn tick_of(&self, seconds: f64) -> MonotonicTime {
        let at = self.begun.monotonic().0 as f64 + seconds * 1e6;
        MonotonicTime(at.max(0.0) as u64)
    }

    fn seconds(&self) -> f64 {
        self.now.monotonic().since(self.begun.monotonic()).as_secs_f64()
    }

    fn advance(&mut self, to: MonotonicTime) {
        if self.now.epoch() != self.now.plus(to.since(self.now.monotonic())).epoch() {
            self.keep_ads();
        }
        self.now = self.now.plus(to.since(self.now.monotonic()));
    }

    /// Measures before other events, because only real events wake the state machine.
    fn measure(&mut self) {
        let idle = i64::try_from(self.now.monotonic().since(self.idle_since).as_secs()).unwrap_or(0);
        let measured = Measurements {
            load: self.fixture.load,
            keyboard_idle: Some(idle),
            console_idle: Some(idle),
            virtual_memory: 24_683_672,
            ..Measurements::default()
        };
        self.tell(StartdEvent::MeasurementsTaken(Box::new(measured)));
    }

    /// Stores the ads at the end of a second.
    fn keep_ads(&mut self) {
        let Some(machine) = &self.machine else { return };
        let expected = self.recording.happenings.iter().any(|happening| {
            matches!(happening.what, What::Status(_))
                && (self.tick_of(happening.at).0.abs_diff(self.now.monotonic().0)) < 8_000_000
        });
        if !expected {
            return;
        }
        let slots: Vec<(SlotKey, String)> =
            machine.slots().map(|(key, id, ..)| (key, id.to_owned())).collect();
        for (key, slot) in slots {
            if let Some(ad) = machine.sent_ad(key) {
                self.played.sent.push(Sent { epoch: self.now.epoch(), slot, ad });
            }
        }
    }

    /// Passes due results that the state machine waits for.
    fn deliver_results(&mut self) {
        let tick = self.now.monotonic();
        let (due, rest): (Vec<_>, Vec<_>) = self.hooks.drain(..).partition(|(at, ..)| *at <= tick);
        self.hooks = rest;
        for (_, run, stdout) in due {
            self.step(StartdEvent::HookEnded { run, stdout, cut: false });
        }
        if self.machine.as_ref().and_then(ExecutionPoint::next_wake).is_some_and(|wake| wake <= tick) {
            self.step(StartdEvent::Tick);
        }
    }

    fn happen(&mut self, happening: Happening) -> Result<()> {
        let command = |slot: String, command: ClaimCommand| StartdEvent::Command { slot, command };
        let what = happening.what.clone();
        let event = match happening.what {
            What::Start { since } => return self.start(happening.at - since),
            What::Configure(lines) => {
                self.fixture.add(&lines);
                return Ok(());
            }
            What::Reconfigure => StartdEvent::Reconfigure(Box::new(self.fixture.settings()?)),
            What::Printed(changes) => {
                for (name, value) in changes {
                    match value {
                        Some(value) => drop(self.printed.insert(name, value)),
                        None => drop(self.printed.remove(&name)),
                    }
                }
                if !self.benchmarking {
                    self.print();
                }
                return Ok(());
            }
            What::CronOutput { program, stdout } => {
                self.cron_output(&program, &stdout);
                return Ok(());
            }
            What::Touched => {
                self.idle_since = self.now.monotonic();
                return Ok(());
            }
            What::Status(_) => {
                self.keep_ads();
                return Ok(());
            }
            What::Request { slot, job, lease, preempts, .. } => {
                let Some(job) = self.job(job) else { return Ok(()) };
                let (schedd, host) = (self.fixture.host().into(), "127.0.0.1".into());
                let request = ClaimRequest { job, lease, schedd, host, preempts };
                command(slot, ClaimCommand::Request(Box::new(request)))
            }
            What::Activate { slot, job } => {
                self.jobs.insert(slot.clone(), job);
                let Some(mut job) = self.job(Some(job)) else { return Ok(()) };
                job.set("JobCurrentStartDate", self.now.epoch());
                command(slot, ClaimCommand::Activate(Box::new(job)))
            }
            What::FinalUpdate { slot } => match self.starters.get(&slot) {
                Some(&starter) => StartdEvent::FinalUpdate { starter },
                None => return Ok(()),
            },
            What::BenchmarksEnded => {
                for (program, stdout) in self.fixture.benchmarks(&self.benchmarks) {
                    self.cron_output(&program, &stdout);
                }
                self.benchmarking = false;
                self.step(StartdEvent::BenchmarksEnded);
                self.print();
                return Ok(());
            }
            What::ClientExited { .. } => match self.starters.remove(CLIENT) {
                Some(starter) => StartdEvent::StarterExited { starter, exit: Exit::Code(0) },
                None => return Ok(()),
            },
            What::StarterExited { slot } => match self.starters.remove(&slot) {
                Some(starter) => {
                    let mut waiting = VecDeque::new();
                    if let Some(key) = self.key_of(&slot) {
                        self.monitored(key, false, &mut waiting);
                    }
                    waiting.into_iter().for_each(|event| self.step(event));
                    StartdEvent::StarterExited { starter, exit: Exit::Code(0) }
                }
                None => return Ok(()),
            },
            What::JobUpdate { slot, lines } => match self.starters.get(&slot) {
                Some(&starter) => {
                    let (ad, _) = long::parse(lines.as_bytes());
                    if let Some(job) = self.jobs.get(&slot).filter(|_| !ad.contains("JobState")) {
                        self.learned.entry(*job).or_default().update(&ad);
                    }
                    StartdEvent::JobUpdate { starter, ad: Box::new(ad) }
                }
                None => return Ok(()),
            },
            What::Deactivate { slot, how } => command(
                slot,
                ClaimCommand::Deactivate(match how {
                    "forcibly" => Deactivation::Forcibly,
                    "job_done" => Deactivation::JobDone,
                    _ => Deactivation::Graceful,
                }),
            ),
            What::Release { slot, waiting } => command(slot, ClaimCommand::Release { waiting }),
            What::Match { slot } => command(slot, ClaimCommand::Match),
            What::Vacate { slot, fast } => StartdEvent::Vacate { slot, fast },
            What::Suspend { slot, stop: true } => StartdEvent::Suspend { slot: Some(slot) },
            What::Suspend { slot, stop: false } => StartdEvent::Continue { slot: Some(slot) },
            What::Drain(words) => StartdEvent::Drain(Box::new(drain(&words))),
            What::CancelDrain => StartdEvent::CancelDrain { id: None },
            What::ShutDown(how) => StartdEvent::Shutdown(match self.end(how) {
                "peaceful" => ShutdownMode::Peaceful,
                "fast" => ShutdownMode::Fast,
                _ => ShutdownMode::Graceful,
            }),
        };
        let event = match self.verbs {
            Some(verbs) => verbs.event(&what, event)?,
            None => event,
        };
        self.step(event);
        // A startd sends its ads when a slot has changed, before it measures again.
        self.keep_ads();
        Ok(())
    }

    fn end(&mut self, how: &'static str) -> &'static str {
        self.asked_to_end = true;
        how
    }

    /// Creates the slots some time after the process began.
    fn start(&mut self, after: f64) -> Result<()> {
        self.fixture.measured_at(self.recording, self.seconds())?;
        let settings = self.fixture.settings()?;
        self.cron = CronAds::new(QuirkMode::Reference);
        self.cron.configure(&settings.cron.jobs);
        self.benchmarked.configure(&settings.benchmarks.jobs);
        self.benchmarks = settings.benchmarks.clone();
        let world: Rc<dyn htc_hooks::world::World> = self.fixture.world.clone();
        let micros = (after * 1e6) as i64;
        let began = ClockReading { wall_us: self.now.wall_us - micros, ..self.now };
        self.machine = Some(ExecutionPoint::new(settings, world, began));
        self.starters.clear();
        self.hooks.clear();
        self.asked_to_end = false;
        self.names.clear();
        self.step(StartdEvent::Start);
        self.print();
        Ok(())
    }

    /// Prints the attributes set for the recorder's cron job.
    fn print(&mut self) {
        if !self.printed.is_empty() {
            let lines = self.printed.iter().map(|(name, value)| format!("{name} = {value}\n"));
            let stdout: String = lines.collect();
            self.cron_output("ctl", stdout.as_bytes());
        }
    }

    /// Passes on the output of a run of a cron job that has ended.
    fn cron_output(&mut self, program: &str, stdout: &[u8]) {
        let Some(machine) = &self.machine else { return };
        let settings = machine.cron_settings();
        let ends =
            |executable: &[u8]| executable.rsplit(|byte| *byte == b'/').next() == Some(program.as_bytes());
        let mut benchmarks = self.benchmarks.jobs.iter();
        let benchmark = benchmarks.find(|job| ends(&job.executable)).cloned();
        let is_benchmark = benchmark.is_some();
        let Some(job) = benchmark.or_else(|| settings.jobs.iter().find(|job| ends(&job.executable)).cloned())
        else {
            return;
        };
        let output = self
            .outputs
            .entry(program.to_owned())
            .or_insert_with(|| CronOutput::new(&job.prefix, QuirkMode::Reference));
        output.begin_run();
        let mut blocks = output.push_output(stdout);
        blocks.extend(output.finish_run());
        for block in blocks {
            let ads = if is_benchmark { &mut self.benchmarked } else { &mut self.cron };
            ads.publish(&job, &block, settings.auto_publish, self.now, &*self.fixture.world);
        }
        if is_benchmark {
            let ads = self.benchmarked.clone();
            return self.step(StartdEvent::BenchmarksPublished(Box::new(ads)));
        }
        let ads = self.cron.clone();
        self.step(StartdEvent::CronPublished(Box::new(ads)));
    }

    fn job(&self, job: Option<(i64, i64)>) -> Option<ClassAd> {
        let (cluster, proc) = job?;
        let submit = self.recording.submits.get(&cluster)?;
        let mut ad = submit.ad(cluster, proc, &self.fixture.host(), self.recording.epoch);
        if let Some(learned) = self.learned.get(&(cluster, proc)) {
            ad.update(learned);
        }
        Some(ad)
    }

    fn step(&mut self, event: StartdEvent) {
        self.measure();
        self.tell(event);
    }

    fn tell(&mut self, event: StartdEvent) {
        let mut waiting = VecDeque::from([event]);
        while let Some(event) = waiting.pop_front() {
            let Some(machine) = &mut self.machine else { return };
            for action in machine.step(self.now, event) {
                self.act(action, &mut waiting);
            }
        }
    }

    fn act(&mut self, action: StartdAction, waiting: &mut VecDeque<StartdEvent>) {
        if let Some(machine) = &self.machine {
            let names = machine.slots().map(|(key, id, ..)| (key, id.to_owned()));
            self.names.extend(names);
        }
        let names = &self.names;
        let id = |key: SlotKey| {
            let parent =
                || names.get(&SlotKey::from_number(key.number)).map(|name| format!("{name}_{}", key.sub));
            names.get(&key).cloned().or_else(parent).unwrap_or_default()
        };
        match action {
            StartdAction::Notify(SlotNotice::StateChanged { slot, state, activity, .. }) => {
                let change = (self.seconds(), format!("{state}/{activity}"));
                let slot = id(slot);
                self.played.states.entry(slot).or_default().push(change);
            }
            StartdAction::Notify(SlotNotice::Warning { slot, text } | SlotNotice::Refusal { slot, text }) => {
                let slot = slot.map(id).unwrap_or_default();
                self.played.refusals.push(format!("+{:.3} {slot}: {text}", self.seconds()));
            }
            StartdAction::Finished { .. } => {
                if !self.asked_to_end {
                    self.played.ends.push(self.seconds());
                }
            }
            StartdAction::RunBenchmarks => self.benchmarking = true,
            StartdAction::Notify(_)
            | StartdAction::SignalStarter { .. }
            | StartdAction::AcceptJob { .. }
            | StartdAction::Reconfigure
            | StartdAction::Sleep { .. }
            | StartdAction::GiveUpJob(_) => {}
            StartdAction::RunHook(call) => self.hook(call, waiting),
            StartdAction::SpawnStarter(call) => {
                self.pids += 1;
                let name = if call.backfill { CLIENT.to_owned() } else { id(call.slot) };
                self.starters.insert(name, call.starter);
                if !call.backfill {
                    self.monitored(call.slot, true, waiting);
                }
                waiting.push_front(StartdEvent::StarterSpawned { starter: call.starter, pid: self.pids });
            }
        }
    }

    fn key_of(&self, slot: &str) -> Option<SlotKey> {
        let machine = self.machine.as_ref()?;
        machine.slots().find(|(_, id, ..)| *id == slot).map(|(key, ..)| key)
    }

    /// Begins or ends the measurement of a job's resources by resource monitors.
    fn monitored(&mut self, slot: SlotKey, begins: bool, waiting: &mut VecDeque<StartdEvent>) {
        let Some(machine) = &self.machine else { return };
        if machine.cron_settings().jobs.iter().all(|job| job.metrics.is_empty()) {
            return;
        }
        let Some(ad) = machine.live_ad(slot) else { return };
        match begins {
            true => self.cron.begin_job_usage(ad, &*self.fixture.world),
            false => self.cron.end_job_usage(ad, &*self.fixture.world),
        }
        waiting.push_back(StartdEvent::CronPublished(Box::new(self.cron.clone())));
    }

    fn hook(&mut self, call: HookCall, waiting: &mut VecDeque<StartdEvent>) {
        if call.hook != SlotHookType::FetchWork {
            waiting.push_back(StartdEvent::HookEnded { run: call.run, stdout: Vec::new(), cut: false });
            return;
        }
        // The first slot that fetches after the job is available gets it.
        let there = self.fetches.front().is_some_and(|fetch| fetch.at <= self.seconds() + 1.1);
        let stdout = if there { self.fetches.pop_front().map(|fetch| fetch.stdout) } else { None };
        self.hooks.push((self.now.monotonic().plus(HOOK_DURATION), call.run, stdout.unwrap_or_default()));
    }
}

/// Converts the arguments of condor_drain.
fn drain(words: &[String]) -> DrainRequest {
    let has = |word: &str| words.iter().any(|it| it == word);
    let after = |option: &str| {
        words.iter().position(|word| word == option).map(|at| {
            let rest = &words[at + 1..];
            let end = rest.iter().position(|word| word.starts_with('-') || word.contains('@'));
            rest[..end.unwrap_or(rest.len())].join(" ")
        })
    };
    // condor_drain drops expressions that do not parse.
    let expr = |option: &str| after(option).and_then(|text| Expr::parse(text.as_bytes()).ok());
    DrainRequest {
        speed: if has("-fast") {
            DrainSpeed::Fast
        } else if has("-quick") {
            DrainSpeed::Quick
        } else {
            DrainSpeed::Graceful
        },
        reason: after("-reason").unwrap_or_else(|| "by root".to_owned()),
        requester: "root".to_owned(),
        completion: if has("-resume-on-completion") {
            DrainCompletion::Resume
        } else if has("-exit-on-completion") {
            DrainCompletion::Exit
        } else if has("-restart-on-completion") {
            DrainCompletion::Restart
        } else if has("-reconfig-on-completion") {
            DrainCompletion::Reconfigure
        } else {
            DrainCompletion::Nothing
        },
        check: expr("-check"),
        start_while_draining: expr("-start"),
    }
}
