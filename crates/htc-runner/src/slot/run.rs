//! The live loop: children and signals become the machine's events, its actions become children and signals.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use nix::libc;

use super::image_cache::ImageCache;
use super::live::{Live, Outcome};
use super::measure::Measure;
use super::notices;
use super::options::Options;
use super::requests;
use super::running_hook::RunningHook;
use super::sleep::Sleep;
use super::verdicts::Verdicts;
use crate::control::Control;
use crate::cron::{CronRunner, CronSurroundings};
use crate::events::{Event as StreamEvent, EventStream, Kind};
use htc_hook::cron_job::CronManager;
use htc_os as os;
use htc_os::{Reactor, Stream, clock};
use htc_slot::{Action, Event, ExecutionPoint, Record, Shutdown, SlotHook};

/// So long FETCH_WORK is called for one slot after the other before anybody else is listened to.
const FETCHES_AT_ONCE: Duration = Duration::from_millis(20);
/// While starters cannot run, their configuration is looked at again so often.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The signals that the runner knows: graceful end twice, fast end, new configuration; and two that a daemon of HTCondor takes
/// without doing anything, of which it would die otherwise.
pub(super) const SIGNALS: [i32; 6] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// Why an execution point cannot run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its control socket cannot be made.
    #[error("cannot listen at '{}'", .0.display())]
    Listen(PathBuf, #[source] io::Error),
    /// The reactor cannot be made, or `poll` fails.
    #[error("the main loop")]
    Reactor(#[from] io::Error),
}

/// Runs the execution point until it has ended.
///
/// # Errors
/// It cannot listen where it is to, or wait for anything.
pub fn run(
    machine: ExecutionPoint,
    options: Options,
    measure: Measure,
    events: &mut EventStream,
) -> Result<Outcome, RunError> {
    let mut reactor = Reactor::new(&SIGNALS)?;
    let control = match &options.control {
        Some(path) => Some(
            Control::open(path, requests::WHO, &mut reactor)
                .map_err(|error| RunError::Listen(path.clone(), error))?,
        ),
        None => None,
    };
    let runner = |manager| {
        CronRunner::new(CronSurroundings {
            manager,
            environment: options.environment.for_hooks(options.quirks),
            directory: options.log_directory.clone().unwrap_or_else(|| ".".into()),
            identity: options.account.identity.clone(),
            quirks: options.quirks,
        })
    };
    let (cron, benchmarks) = (runner(CronManager::Startd), runner(CronManager::Benchmarks));
    let mut live = Live {
        machine,
        reactor,
        options,
        control,
        events,
        hooks: BTreeMap::new(),
        fetches: VecDeque::new(),
        starters: BTreeMap::new(),
        seen: Default::default(),
        cron,
        benchmarks,
        benchmarks_asked: false,
        image_cache: ImageCache::new(),
        cron_ends: None,
        waiting: VecDeque::new(),
        told_of_work: BTreeSet::new(),
        verdicts: Verdicts::default(),
        reload_asked: false,
        refusals: Vec::new(),
        early_signals: Vec::new(),
        sleep: Sleep::default(),
        held: None,
        measure,
        outcome: Outcome::default(),
        unable: None,
        end_reason: None,
    };
    live.all()?;
    Ok(Outcome { unable: live.unable, ..live.outcome })
}

impl Live<'_> {
    fn all(&mut self) -> io::Result<()> {
        let mut end = self.options.timeout.map(|after| clock::tick().plus(after));
        self.tell(StreamEvent::new(clock::now(), Kind::Start));
        self.settle_the_last_run()?;
        self.measured();
        self.configure_cron();
        self.configure_benchmarks();
        self.step(Event::Start);
        for signal in std::mem::take(&mut self.early_signals) {
            self.signal(signal);
        }
        self.look_at_cron();
        self.call_fetches();
        while self.end_reason.is_none() || self.cron.alive() + self.benchmarks.alive() > 0 {
            let wakes = [
                self.machine.next_wake(),
                end,
                self.hooks.values().map(RunningHook::next_look).min(),
                self.cron.next_wake(),
                self.benchmarks.next_wake(),
                self.events.next_flush(clock::tick()),
                self.unable.as_ref().map(|_| clock::tick().plus(LOOK_AGAIN)),
                self.control.as_ref().and_then(Control::next_look),
                self.sleep.wakes(),
                self.image_cache.wakes(self.machine.image_cache_settings()),
                self.fetches.front().map(|_| clock::tick()),
            ];
            let event = self.reactor.next(wakes.into_iter().flatten().min())?;
            self.events.flush();
            if end.take_if(|end| clock::tick() >= *end).is_some() {
                self.outcome.timed_out = true;
                self.warn(None, "the time given with --timeout is over: all jobs are killed");
                self.step(Event::Shutdown(Shutdown::Fast));
            }
            if let Some(event) = self.take_cron(event).and_then(|event| self.take_benchmarks(event)) {
                self.handle(event);
            }
            self.look_at_hooks();
            if let Some(woke) = self.sleep.look() {
                self.step(woke);
            }
            self.look_at_image_cache();
            if let Some(control) = &mut self.control {
                control.look(clock::tick(), &mut self.reactor);
            }
            if self.unable.is_some() && (self.options.check)().is_ok() {
                self.unable = None;
                self.step(Event::Unable(None));
            }
            if self.machine.next_wake().is_some_and(|wake| wake <= clock::tick()) {
                self.measured();
                self.step(Event::Tick);
            }
            self.look_at_cron();
            self.call_fetches();
        }
        // What still runs are hooks that nobody waits for any more: they are given a moment, then killed.
        self.reactor.kill_all(Duration::ZERO);
        self.drain();
        Ok(())
    }

    /// Reports what is left of the children that were killed at the end.
    fn drain(&mut self) {
        for (_, hook) in std::mem::take(&mut self.hooks) {
            let event =
                StreamEvent::new(clock::now(), Kind::HookEnd).slot(hook.slot).hook(hook.name).pid(hook.pid);
            self.events.tell(&event.reason("killed, since everything ends"));
            self.note_done(Record::HookEnds { run: hook.run.0 });
        }
        let outcome = &self.outcome;
        let jobs = match outcome.jobs {
            0 => "no job".to_owned(),
            1 => "1 job".to_owned(),
            jobs => format!("{jobs} jobs"),
        };
        let failed = match outcome.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let text = format!("{}; {jobs}{failed}", self.end_reason.take().unwrap_or_default());
        self.tell(StreamEvent::new(clock::now(), Kind::Stop).reason(text));
    }

    fn look_at_image_cache(&mut self) {
        let (options, settings) = (&self.options, self.machine.image_cache_settings());
        let environment = || options.environment.for_hooks(options.quirks);
        let known = self.image_cache.look(settings, environment, (&mut self.reactor, &*options.world));
        if let Some(known) = known {
            self.step(known);
        }
    }

    fn measured(&mut self) {
        if let Some(mut measured) = self.measure.take() {
            for event in self.seen.job_updates(&self.starters) {
                self.step(event);
            }
            measured.jobs = self.seen.usages(&self.starters, &mut self.reactor);
            self.step(Event::Measured(Box::new(measured)));
        }
    }

    /// Gives the machine an event and does what it asks for, until it asks for nothing.
    pub(super) fn step(&mut self, event: Event) {
        // A mistake that was made meanwhile would lose each job that is accepted now.
        if self.unable.is_none()
            && let Err(reason) = (self.options.check)()
        {
            self.unable = Some(reason.clone());
            self.waiting.push_back(Event::Unable(Some(reason)));
        }
        self.waiting.push_back(event);
        self.pass_on();
    }

    /// Gives the machine what waits for it.
    pub(super) fn pass_on(&mut self) {
        while let Some(event) = self.waiting.pop_front() {
            let actions = self.machine.step(clock::now(), event);
            // What is accepted is owed to its queue from here on, whatever the step does with it.
            for action in &actions {
                if let Action::Accept { accepted, slot, ad } = action {
                    self.note_accepted(*accepted, *slot, ad);
                }
            }
            for action in actions {
                self.act(action);
            }
        }
        if std::mem::take(&mut self.reload_asked)
            && let Err(error) = self.reload()
        {
            self.warn(None, &format!("the old configuration stays: {error}"));
        }
    }

    /// Calls FETCH_WORK for those slots that want it, as long as nobody waits for too long.
    fn call_fetches(&mut self) {
        let until = clock::tick().plus(FETCHES_AT_ONCE);
        while let Some(call) = self.fetches.pop_front() {
            self.run_hook(call);
            self.pass_on();
            if clock::tick() >= until {
                return;
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::RunHook(call) if call.hook == SlotHook::FetchWork => self.fetches.push_back(call),
            Action::RunHook(call) => self.run_hook(call),
            Action::RunBenchmarks => self.run_benchmarks(),
            Action::Accept { .. } => {}
            Action::GiveUp(accepted) => self.note_done(Record::GivenUp { accepted: accepted.0 }),
            Action::SpawnStarter(call) => self.spawn_starter(call),
            Action::SignalStarter { starter, signal, reason } => self.tell_starter(starter, signal, reason),
            Action::Tell(notice) => {
                self.note_claim(&notice);
                self.verdicts.remember(&notice);
                self.refusals.extend(notice.refusal().map(str::to_owned));
                let event = notices::event(&self.machine, clock::now(), notice);
                self.tell(event);
            }
            Action::Sleep { state, known } => {
                let sleeper = self.options.sleeper.as_ref().filter(|_| known);
                let command = sleeper.and_then(|sleeper| sleeper.command(state));
                let command = command.ok_or_else(|| format!("there is no way to {}", state.name()));
                self.sleep = Sleep::begin(command, &self.environment(), &mut self.reactor);
            }
            Action::Reconfigure => self.reload_asked = true,
            Action::Finished { reason, restarts } => {
                self.outcome.restarts = restarts;
                self.end_reason = Some(reason);
            }
        }
    }

    fn handle(&mut self, event: os::Event) {
        match event {
            os::Event::Exited { child, exit, .. } if self.sleep.ended(child, exit) => {}
            os::Event::Exited { child, exit, stdout, stderr, .. } => {
                if let Some(told) = self.image_cache.told(child, exit, &stdout.bytes) {
                    self.step(told);
                } else if let Some(hook) = self.hooks.remove(&child) {
                    self.hook_ended(hook, exit, stdout, &stderr);
                } else if let Some(running) = self.starters.remove(&child) {
                    self.starter_ended(running, exit, &stdout.bytes);
                }
            }
            os::Event::Signal(signal) => self.signal(signal),
            os::Event::Piece { child, stream: Stream::Stderr, bytes } => {
                if let Some(hook) = self.hooks.get_mut(&child) {
                    hook.complains(&bytes);
                }
            }
            os::Event::Readable(token) => {
                let relays = self.starters.values_mut().filter_map(|running| running.relay.as_mut());
                match relays.into_iter().find(|relay| relay.token() == token) {
                    Some(relay) => relay.pass_on(self.events),
                    None => self.requested(token),
                }
            }
            os::Event::Piece { .. } | os::Event::Timeout => {}
        }
    }

    /// Reads the configuration again; the old one stays when that fails.
    pub(super) fn reload(&mut self) -> Result<(), String> {
        let (settings, warnings) = (self.options.reload)()?;
        self.tell(StreamEvent::new(clock::now(), Kind::Note).reason("the configuration was read again"));
        for warning in warnings {
            self.warn(None, &warning);
        }
        self.step(Event::Reconfigure(Box::new(settings)));
        self.configure_cron();
        self.configure_benchmarks();
        Ok(())
    }

    fn signal(&mut self, signal: i32) {
        match signal {
            libc::SIGHUP => {
                if let Err(error) = self.reload() {
                    self.warn(None, &format!("the old configuration stays: {error}"));
                }
            }
            libc::SIGUSR1 | libc::SIGUSR2 => {}
            libc::SIGQUIT => {
                self.outcome.signal = Some(signal);
                self.step(Event::Shutdown(Shutdown::Fast));
            }
            _ => {
                // The second request for a graceful end is a request for a fast one.
                let how = if self.outcome.signal.is_some() { Shutdown::Fast } else { Shutdown::Graceful };
                self.outcome.signal = Some(signal);
                self.step(Event::Shutdown(how));
            }
        }
    }
}
