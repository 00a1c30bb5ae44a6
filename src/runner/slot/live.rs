//! The live loop: children and signals become the machine's events, its actions become children and signals.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::time::Duration;

use bstr::BString;
use nix::libc;

use super::control::Control;
use super::execute::remove_left_by;
use super::measure::Measure;
use super::notices::{self, full_text};
use super::options::Options;
use super::private;
use super::relay::Relay;
use super::running_hooks::{REMIND, RunningHook, STDERR_SHOWN};
use super::starters::{self, Ended, Running};
use crate::hook::HookType;
use crate::hook::cron_job::CronManager;
use crate::os::{self, ChildId, Reactor, Stream, Whom, clock};
use crate::process::{Ancestor, ChildSpec, Exit};
use crate::runner::cron::{CronRunner, CronSurroundings};
use crate::runner::events::{Event as Told, EventStream, Kind};
use crate::runner::hook_call;
use crate::runner::hook_environment::HookEnvironment;
use crate::slot::{
    Action, Event, ExecutionPoint, HookCall, Record, Shutdown, SlotHook, SlotKey, StarterCall, StarterSignal,
    VacateReason,
};
use crate::text::arguments::join_v2_raw;

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Jobs that were started.
    pub jobs: u64,
    /// Those among them that did not exit with 0.
    pub failed: u64,
    /// Whether the time for all of it was over.
    pub timed_out: bool,
    /// The signal that asked for the end, if one did.
    pub signal: Option<i32>,
}

/// While starters cannot run, their configuration is looked at again so often.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The signals that the runner knows: graceful end twice, fast end, new configuration; and two that a daemon of HTCondor takes
/// without doing anything, of which it would die otherwise.
pub(super) const SIGNALS: [i32; 6] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// A run under way.
pub(super) struct Live<'a> {
    pub(super) machine: ExecutionPoint,
    pub(super) reactor: Reactor,
    pub(super) options: Options,
    pub(super) control: Option<Control>,
    events: &'a mut EventStream,
    pub(super) hooks: BTreeMap<ChildId, RunningHook>,
    pub(super) starters: BTreeMap<ChildId, Running>,
    /// What was seen of them.
    pub(super) seen: super::usage::Seen,
    pub(super) cron: CronRunner,
    pub(super) benchmarks: CronRunner,
    /// Whether the machine waits for the end of benchmarks.
    pub(super) benchmarks_asked: bool,
    /// How the cron jobs were told to end.
    pub(super) cron_ends: Option<Shutdown>,
    pub(super) waiting: VecDeque<Event>,
    /// What was told of the attributes of fetched jobs.
    pub(super) told_of_work: BTreeSet<String>,
    /// Jobs that were accepted and have no starter yet, as noted.
    waiting_jobs: Vec<String>,
    /// Why what is asked just now is refused, while something is asked.
    pub(super) refusals: Vec<String>,
    /// Signals that came before the machine began.
    pub(super) early_signals: Vec<i32>,
    /// Why the job that leaves just now is put on hold.
    pub(super) held: Option<VacateReason>,
    measure: Measure,
    outcome: Outcome,
    /// Why starters cannot run, as the machine was told.
    unable: Option<String>,
    finished: bool,
    end_reason: String,
}

/// Runs the execution point until it has ended.
///
/// # Errors
/// The reactor cannot be made, or `poll` fails.
pub fn run(
    machine: ExecutionPoint,
    options: Options,
    measure: Measure,
    events: &mut EventStream,
) -> io::Result<Outcome> {
    let mut reactor = Reactor::new(&SIGNALS)?;
    let control = match &options.control {
        Some(path) => Some(Control::open(path, &mut reactor).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot listen at '{}': {error}", path.display()))
        })?),
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
        starters: BTreeMap::new(),
        seen: Default::default(),
        cron,
        benchmarks,
        benchmarks_asked: false,
        cron_ends: None,
        waiting: VecDeque::new(),
        told_of_work: BTreeSet::new(),
        waiting_jobs: Vec::new(),
        refusals: Vec::new(),
        early_signals: Vec::new(),
        held: None,
        measure,
        outcome: Outcome::default(),
        unable: None,
        finished: false,
        end_reason: String::new(),
    };
    live.all()?;
    Ok(live.outcome)
}

impl Live<'_> {
    fn all(&mut self) -> io::Result<()> {
        let end = self.options.timeout.map(|after| clock::tick().plus(after));
        let mut end_asked = false;
        self.tell(Told::new(clock::now(), Kind::Start));
        self.settle_the_last_run()?;
        self.measured();
        self.configure_cron();
        self.configure_benchmarks();
        self.step(Event::Start);
        for signal in std::mem::take(&mut self.early_signals) {
            self.signal(signal);
        }
        self.look_at_cron();
        while !self.finished || self.cron.alive() + self.benchmarks.alive() > 0 {
            let end = end.filter(|_| !end_asked);
            let flush = self.events.next_flush(clock::tick());
            let again = self.unable.as_ref().map(|_| clock::tick().plus(LOOK_AGAIN));
            let control = self.control.as_ref().and_then(Control::next_look);
            let wakes = [
                self.machine.next_wake(),
                end,
                self.next_look(),
                self.cron.next_wake(),
                self.benchmarks.next_wake(),
                flush,
                again,
                control,
            ];
            let event = self.reactor.next(wakes.into_iter().flatten().min())?;
            self.events.flush();
            if end.is_some_and(|end| clock::tick() >= end) && !end_asked {
                end_asked = true;
                self.outcome.timed_out = true;
                self.warn(None, "the time given with --timeout is over: all jobs are killed");
                self.step(Event::Shutdown(Shutdown::Fast));
            }
            if let Some(event) = self.take_cron(event).and_then(|event| self.take_benchmarks(event)) {
                self.handle(event);
            }
            self.look_at_hooks();
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
        }
        // What still runs are hooks that nobody waits for any more: they are given a moment, then killed.
        self.reactor.kill_all(Duration::ZERO);
        self.drain()
    }

    /// Reports what is left of the children that were killed at the end.
    fn drain(&mut self) -> io::Result<()> {
        for (_, hook) in std::mem::take(&mut self.hooks) {
            let event = Told::new(clock::now(), Kind::HookEnd).slot(hook.slot).hook(hook.name).pid(hook.pid);
            self.events.tell(&event.reason("killed, since everything ends"));
            self.note_done(Record::HookEnds { run: hook.run.0 });
        }
        let outcome = self.outcome;
        let jobs = match outcome.jobs {
            0 => "no job".to_owned(),
            1 => "1 job".to_owned(),
            jobs => format!("{jobs} jobs"),
        };
        let failed = match outcome.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let text = format!("{}; {jobs}{failed}", self.end_reason);
        self.tell(Told::new(clock::now(), Kind::Stop).reason(text));
        Ok(())
    }

    fn measured(&mut self) {
        if let Some(mut measured) = self.measure.take() {
            for event in self.job_updates() {
                self.step(event);
            }
            measured.jobs = self.usages();
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
            let waiting = self.machine.waiting_jobs();
            if waiting != self.waiting_jobs {
                private::note_waiting(&self.options.private, &waiting);
                self.waiting_jobs = waiting;
            }
            for action in actions {
                self.act(action);
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::RunHook(call) => self.run_hook(call),
            Action::KillHook(run) => {
                let found = self.hooks.iter().find(|(_, hook)| hook.run == run);
                if let Some(child) = found.map(|(child, _)| *child) {
                    self.reactor.kill(child, libc::SIGKILL, Whom::Family);
                }
            }
            Action::RunBenchmarks => self.run_benchmarks(),
            Action::SpawnStarter(call) => self.spawn_starter(call),
            Action::SignalStarter { starter, signal, reason } => {
                let found = self.starters.iter().find(|(_, running)| running.starter == starter);
                let Some((&child, running)) = found else { return };
                let reason = self.held.take().or(reason);
                if let Some(reason) = &reason
                    && let Err(error) = starters::tell_reason(&running.directory, reason)
                {
                    let slot = running.slot_name.clone();
                    self.warn(Some(slot), &format!("the starter cannot be told why: {error}"));
                }
                let (number, whom) = match signal {
                    StarterSignal::Soft => (libc::SIGTERM, Whom::Process),
                    StarterSignal::Hard => (libc::SIGQUIT, Whom::Process),
                    StarterSignal::Kill => (libc::SIGKILL, Whom::Family),
                    StarterSignal::Suspend => (libc::SIGTSTP, Whom::Process),
                    StarterSignal::Continue => (libc::SIGCONT, Whom::Process),
                };
                self.reactor.kill(child, number, whom);
            }
            Action::Tell(notice) => {
                self.note_claim(&notice);
                self.refusals.extend(notice.refusal().map(str::to_owned));
                let event = notices::event(&self.machine, clock::now(), notice);
                self.tell(event);
            }
            Action::Finished { reason } => {
                self.finished = true;
                self.end_reason = reason;
            }
        }
    }

    pub(super) fn tell(&mut self, event: Told) {
        self.events.tell(&event);
    }

    pub(super) fn warn(&mut self, slot: Option<String>, text: &str) {
        let mut event = Told::new(clock::now(), Kind::Warning).reason(text);
        if let Some(slot) = slot {
            event = event.slot(slot);
        }
        self.events.tell(&event);
    }

    pub(super) fn slot_name(&self, key: SlotKey) -> String {
        notices::slot_name(&self.machine, key)
    }

    /// What hooks and starters inherit.
    fn environment(&self) -> HookEnvironment {
        self.options.environment.for_hooks(self.options.quirks)
    }

    fn run_hook(&mut self, call: HookCall) {
        let slot = self.slot_name(call.slot);
        let name = call.hook.name();
        let now = clock::now();
        let spawned = self.note_hook(&call, &slot).and_then(|()| {
            let spec = self.hook_spec(&call).map_err(|refused| refused.to_string())?;
            self.reactor.spawn(spec).map_err(|error| full_text(&error))
        });
        match spawned {
            Ok(child) => {
                if call.hook == SlotHook::FetchWork {
                    private::note_fetch(&self.options.private, call.run, &slot);
                }
                let pid = self.reactor.pid(child).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
                self.note_hook_runs(call.run, pid);
                let tick = now.tick();
                self.tell(Told::new(now, Kind::HookStart).slot(&slot).hook(name).pid(pid));
                let hook = RunningHook {
                    run: call.run,
                    slot,
                    hook: call.hook,
                    name,
                    pid,
                    // The limit is for what 25.14 waits for without end.
                    deadline: self
                        .options
                        .hook_timeout
                        .filter(|_| HookType::from(call.hook).is_waited_for())
                        .map(|limit| tick.plus(limit)),
                    remind: tick.plus(REMIND),
                    started: tick,
                    too_long: false,
                    stderr: Vec::new(),
                };
                self.hooks.insert(child, hook);
            }
            Err(reason) => {
                self.tell(Told::new(now, Kind::HookFailed).slot(slot).hook(name).reason(&reason));
                self.note_done(Record::HookEnds { run: call.run.0 });
                self.waiting.push_back(Event::HookFailed { run: call.run, reason });
            }
        }
    }

    pub(super) fn hook_spec(&self, call: &HookCall) -> Result<ChildSpec, hook_call::RootRefused> {
        use std::os::unix::ffi::OsStrExt;
        let path = call.path.as_os_str().as_bytes();
        let mut hook =
            hook_call::HookCall::new(call.hook.into(), path, call.stdin.clone(), self.environment());
        hook.arguments.clone_from(&call.arguments);
        hook.identity.clone_from(&self.options.account.identity);
        hook.directory.clone_from(&self.options.log_directory);
        hook.limits.clone_from(&self.options.hook_limits);
        hook.output_limit = call.output_limit.unwrap_or(hook_call::PIPE_BUFFER_MAX);
        hook.ancestor = Some(self.marker());
        hook.quirks = self.options.quirks;
        hook.child_spec()
    }

    /// The mark of a process family.
    fn marker(&self) -> Ancestor {
        hook_call::HookCall::marker(clock::now(), self.options.world.random())
    }

    fn spawn_starter(&mut self, call: StarterCall) {
        let slot_name = self.slot_name(call.slot);
        let starter = call.starter;
        let failed = |reason: String| Event::StarterFailed { starter, reason };
        let directory = match starters::prepare(&self.options.private, &call, &slot_name) {
            Ok(directory) => directory,
            Err(error) => {
                self.outcome.jobs += u64::from(!call.backfill);
                self.outcome.failed += u64::from(!call.backfill);
                let place = self.options.private.display();
                let reason = format!("no directory for the starter can be made in '{place}': {error}");
                return self.waiting.push_front(failed(reason));
            }
        };
        let relay = match self.options.relays_events && !self.options.starter.foreign {
            true => match Relay::open(&directory, &mut self.reactor) {
                Ok(relay) => Some(relay),
                Err(error) => {
                    self.warn(
                        Some(slot_name.clone()),
                        &format!("the starter's events are not told: {error}"),
                    );
                    None
                }
            },
            false => None,
        };
        let mut environment = self.environment();
        if !self.options.starter.foreign {
            use std::os::unix::ffi::OsStrExt;
            let mut options = self.options.starter_options.clone();
            // For events alone. On a machine with one processor 25.14 does not tell the starter its slot (s03).
            options.extend_from_slice(format!(" --slot-name {slot_name}").as_bytes());
            if let Some(relay) = &relay {
                options.extend_from_slice(b" --events ");
                options
                    .extend_from_slice(&join_v2_raw(&[BString::from(relay.path().as_os_str().as_bytes())]));
            }
            environment = environment.with([
                ("_HTC_STARTER_DIR".into(), directory.as_os_str().as_bytes().into()),
                ("_HTC_STARTER_OPTIONS".into(), options),
            ]);
        }
        if let Some(execute) = &call.execute {
            use std::os::unix::ffi::OsStrExt;
            let execute = execute.as_os_str().as_bytes().into();
            environment = environment.with([("_CONDOR_EXECUTE".into(), execute)]);
        }
        let spec = starters::spec(&self.options.starter, &call, environment.entries(), self.marker());
        let spawned = self.note_starter(&call, &slot_name);
        let spawned = spawned.and_then(|()| self.reactor.spawn(spec).map_err(|error| full_text(&error)));
        match spawned {
            Ok(child) => {
                let pid = self.reactor.pid(child).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
                let event = Told::new(clock::now(), Kind::Starter).slot(&slot_name).job(&call.job).pid(pid);
                self.tell(event);
                self.outcome.jobs += u64::from(!call.backfill);
                self.note_starter_runs(&call, pid);
                let running = Running {
                    backfill: call.backfill,
                    starter,
                    slot: call.slot,
                    slot_name,
                    job: call.job,
                    pid,
                    directory,
                    execute: call.execute,
                    requested: self.machine.is_requested(call.slot),
                    relay,
                };
                self.starters.insert(child, running);
                self.tell_monitors(call.slot, true);
                self.waiting.push_front(Event::StarterSpawned { starter, pid });
            }
            Err(error) => {
                if let Some(relay) = relay {
                    relay.close(&mut self.reactor);
                }
                let _ = std::fs::remove_dir_all(&directory);
                self.outcome.jobs += u64::from(!call.backfill);
                self.outcome.failed += u64::from(!call.backfill);
                self.note_done(Record::StarterEnds { starter: starter.0, slot: slot_name });
                let path = self.options.starter.path.display().to_string();
                let mut reason = error;
                if !reason.contains(&path) {
                    reason = format!("{path}: {reason}");
                }
                self.waiting.push_front(failed(reason));
            }
        }
    }

    fn handle(&mut self, event: os::Event) {
        match event {
            os::Event::Exited { child, exit, stdout, stderr, .. } => {
                if let Some(hook) = self.hooks.remove(&child) {
                    self.hook_ended(hook, exit, stdout, &stderr);
                } else if let Some(running) = self.starters.remove(&child) {
                    self.starter_ended(running, exit, &stdout.bytes);
                }
            }
            os::Event::Signal(signal) => self.signal(signal),
            os::Event::Piece { child, stream: Stream::Stderr, bytes } => {
                if let Some(hook) = self.hooks.get_mut(&child) {
                    let room = STDERR_SHOWN.saturating_sub(hook.stderr.len());
                    hook.stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
                }
            }
            os::Event::Readable(token) => {
                let relays = self.starters.values_mut().filter_map(|running| running.relay.as_mut());
                match relays.into_iter().find(|relay| relay.token() == token) {
                    Some(relay) => relay.pass_on(self.events),
                    None => self.requested(token),
                }
            }
            os::Event::Line { .. } | os::Event::Piece { .. } | os::Event::Timeout => {}
        }
    }

    fn starter_ended(&mut self, mut running: Running, exit: Exit, output: &[u8]) {
        let now = clock::now();
        if let Some(mut relay) = running.relay.take() {
            relay.pass_on(self.events);
            relay.close(&mut self.reactor);
        }
        let ended = starters::ended(output, exit, self.options.starter.foreign);
        if !ended.succeeded() && !running.backfill {
            self.outcome.failed += 1;
        }
        let event = Told::new(now, Kind::Starter).slot(&running.slot_name).job(&running.job).pid(running.pid);
        self.tell(event.exit(exit_words(exit)));
        let mut event = Told::new(now, Kind::Job)
            .slot(&running.slot_name)
            .job(&running.job)
            .exit(ended.to_string())
            .verdict(if ended.succeeded() { "succeeded" } else { "failed" });
        if ended == Ended::NotStarted
            && let Some(why) = starters::why(output)
        {
            event = event.reason(why);
        }
        if !running.backfill {
            self.tell(event);
        }
        let _ = std::fs::remove_dir_all(&running.directory);
        // A starter that was killed could not remove the job's directory.
        if let Some(execute) = &running.execute {
            if let Ok(pid) = i32::try_from(running.pid) {
                let world = self.options.world.clone();
                for one in self.options.cleaner.clean(execute, Some(pid), true, &*world) {
                    self.warn(Some(running.slot_name.clone()), &one.line);
                }
            }
            for warning in remove_left_by(execute, running.pid) {
                self.warn(Some(running.slot_name.clone()), &warning);
            }
        }
        self.note_done(Record::StarterEnds { starter: running.starter.0, slot: running.slot_name.clone() });
        self.tell_monitors(running.slot, false);
        if running.requested && !matches!(ended, Ended::NotStarted | Ended::Lost) {
            self.step(Event::FinalUpdate { starter: running.starter });
        }
        self.step(Event::StarterExited { starter: running.starter, exit });
    }

    /// Reads the configuration again; the old one stays when that fails.
    pub(super) fn reload(&mut self) -> Result<(), String> {
        let (settings, warnings) = (self.options.reload)()?;
        self.warn(None, "the configuration was read again");
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

/// `exited N` or `signalled N`, as the event stream has it.
pub(super) fn exit_words(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exited {code}"),
        Exit::Signal { number, .. } => format!("signalled {number}"),
    }
}
