//! The loop that carries out what the machine of one job asks for, with real processes and the real clock.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::time::Duration;

use nix::libc;
use rustc_hash::FxHashMap;

use super::child;
use super::job::Job;
use super::measure::family_usage;
use super::notice;
use super::parent::Parent;
use super::tools::{Tool, full_text};
use crate::classad::{Context, format::long};
use crate::hook::HookType;
use crate::os::{self, ChildId, Reactor, Whom, accounting, clock};
use crate::process::Exit;
use crate::quirks::{Quirk, Quirks};
use crate::runner::events::{self, EventStream, Kind};
use crate::runner::hook_call::HookCall;
use crate::runner::hook_limits;
use crate::starter::{
    Account, Action, Call, CallId, Event, FamilyUsage, JobProcess, Notice, Request, Standing, StartFailure,
    Starter, Vacate,
};
use crate::time::{Now, Tick};
use crate::world::World;

/// The signals that a starter answers to; give them to [`Reactor::new`].
pub const SIGNALS: &[i32] = &[
    libc::SIGTERM,
    libc::SIGQUIT,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGALRM,
];

/// How often memory is looked at between updates, so that the largest image seen is worth its name (PID_SNAPSHOT_INTERVAL).
const SNAPSHOT: Duration = Duration::from_secs(15);

/// When it is looked at first: a process that has just been executed has not mapped its libraries yet.
const FIRST_SNAPSHOT: Duration = Duration::from_millis(50);

/// How long processes that have been killed are waited for at the end.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// How long the hooks that nobody waits for, the last UPDATE_JOB_INFO above all, may still run when everything else is
/// done.
const LAST_CALLS: Duration = Duration::from_secs(1);

/// The same for 25.14, which removes its directory by another program meanwhile.
const LAST_CALLS_OF_REFERENCE: Duration = Duration::from_millis(150);

/// After `--timeout` the job is asked to end; this later it has to.
const AFTER_TIMEOUT: Duration = Duration::from_secs(10);

/// What came of a job.
#[derive(Debug)]
pub struct Finished {
    /// Exit status of a starter as the reference has it.
    pub status: u8,
    /// How it stands with the job.
    pub standing: Standing,
    /// The job's ad with its outcome merged in; `None` when it was not started.
    pub outcome: Option<Vec<u8>>,
    /// The ad of `-job-output-ad`, empty when there is none: the reference's own bytes.
    pub result: Vec<u8>,
    /// Why it was not started, if it was not.
    pub not_started: Option<String>,
    /// Whether `--timeout` ended it.
    pub timed_out: bool,
}

/// Runs the machine to its end.
///
/// # Errors
/// The reactor cannot wait any more; all else is told to the machine or to the stream.
pub fn run(
    mut machine: Starter<'_>,
    job: Job,
    world: &dyn World,
    reactor: &mut Reactor,
    stream: &mut EventStream,
) -> io::Result<Finished> {
    let timeout_at = job.timeout.map(|limit| clock::tick().plus(limit));
    let parent = job.private.is_some().then(|| Parent::new(clock::tick()));
    let mut live = Live {
        job,
        world,
        reactor,
        stream,
        events: VecDeque::from([Event::Begin]),
        calls: FxHashMap::default(),
        tools: Vec::new(),
        process: None,
        is_new: false,
        wake_at: None,
        snapshot_at: None,
        timeout_at,
        parent,
        result: Vec::new(),
        finished: None,
        not_started: None,
        timed_out: false,
        killed: false,
        called: false,
        past_start: false,
        ends: 0,
        impatient: false,
    };
    loop {
        while let Some(event) = live.events.pop_front() {
            let now = live.now();
            for action in machine.step(now, event) {
                live.carry_out(now, action);
            }
        }
        if let Some((status, standing, outcome)) = live.finished.take() {
            live.wait_for_calls()?;
            live.reactor.kill_all(LAST_WAIT);
            return Ok(Finished {
                status,
                standing,
                outcome,
                result: live.result,
                not_started: live.not_started,
                timed_out: live.timed_out,
            });
        }
        // Looked at only now: one that is to be suspended at its exec has to be stopped first.
        if std::mem::take(&mut live.is_new) {
            live.sample();
        }
        live.wait()?;
    }
}

/// The process of the job, or a script around it, that runs now.
struct Running {
    child: ChildId,
    pid: u32,
    usage: accounting::FamilyUsage,
    /// What was to be executed.
    attempt: Box<JobProcess>,
}

pub(super) struct Live<'a> {
    pub(super) job: Job,
    pub(super) world: &'a dyn World,
    pub(super) reactor: &'a mut Reactor,
    stream: &'a mut EventStream,
    /// What is to be told to the machine next.
    pub(super) events: VecDeque<Event>,
    calls: FxHashMap<ChildId, CallId>,
    /// Calls of a container's runtime.
    pub(super) tools: Vec<Tool>,
    process: Option<Running>,
    /// It has just been started and not been looked at.
    is_new: bool,
    wake_at: Option<Tick>,
    snapshot_at: Option<Tick>,
    timeout_at: Option<Tick>,
    /// The slot runner, while it lives.
    parent: Option<Parent>,
    pub(super) result: Vec<u8>,
    finished: Option<(u8, Standing, Option<Vec<u8>>)>,
    not_started: Option<String>,
    timed_out: bool,
    /// The family was killed on request.
    killed: bool,
    /// A hook has been called.
    called: bool,
    /// A child has ended, hook or job.
    past_start: bool,
    /// How often it was asked to end.
    ends: u32,
    /// Somebody wants it to end at once.
    impatient: bool,
}

impl Live<'_> {
    pub(super) fn now(&self) -> Now {
        let now = clock::now();
        Now { wall_us: now.wall_us.saturating_add(self.job.skew_us), ..now }
    }

    /// Waits for the next thing to happen and puts it into the queue.
    fn wait(&mut self) -> io::Result<()> {
        let check_at = self.parent.as_ref().map(Parent::check_at);
        let flush_at = self.stream.next_flush(clock::tick());
        let tools = self.tools_until();
        let deadlines = [self.wake_at, self.snapshot_at, self.timeout_at, check_at, flush_at, tools];
        let event = self.reactor.next(deadlines.into_iter().flatten().min())?;
        self.stream.flush();
        match event {
            os::Event::Exited { child, exit, usage, stdout, stderr, left_behind, not_executed, .. } => {
                if self.calls.contains_key(&child) {
                    self.past_start = true;
                    self.call_ended(child, exit, stdout, stderr);
                } else if self.tools.iter().any(|tool| tool.child == child) {
                    self.tool_ended(child, exit, stdout);
                } else if self.process.as_ref().is_some_and(|process| process.child == child)
                    && let Some(process) = self.process.take()
                {
                    self.past_start = true;
                    match not_executed {
                        Some(error) => self.gave_up(&process, &error),
                        None => self.process_ended(&process, exit, &usage, left_behind.len()),
                    }
                }
            }
            os::Event::Signal(number) => self.signal(number),
            os::Event::Timeout => self.timeout(),
            os::Event::Line { .. } | os::Event::Piece { .. } | os::Event::Readable(_) => {}
        }
        if self.parent.as_mut().is_some_and(|parent| parent.is_gone(clock::tick())) {
            self.parent = None;
            self.warn("htc-slot-run is gone: ending the job".to_owned());
            self.signal(libc::SIGQUIT);
        }
        Ok(())
    }

    fn call_ended(&mut self, child: ChildId, exit: Exit, stdout: os::Captured, stderr: os::Captured) {
        if let Some(call) = self.calls.remove(&child) {
            self.events.push_back(Event::CallEnded {
                call,
                exit,
                stdout: stdout.bytes,
                cut: stdout.cut,
                stderr: stderr.bytes,
            });
        }
    }

    /// Gives the last hooks a moment, unless somebody is impatient.
    fn wait_for_calls(&mut self) -> io::Result<()> {
        let limit = match self.job.quirks {
            Quirks::Reference => LAST_CALLS_OF_REFERENCE,
            Quirks::None if self.impatient => Duration::ZERO,
            Quirks::None => LAST_CALLS,
        };
        let until = clock::tick().plus(limit);
        while !self.calls.is_empty() && clock::tick() < until {
            match self.reactor.next(Some(until))? {
                os::Event::Exited { child, exit, stdout, stderr, .. } => {
                    self.call_ended(child, exit, stdout, stderr);
                }
                os::Event::Signal(libc::SIGTERM | libc::SIGQUIT | libc::SIGINT) => break,
                _ => {}
            }
        }
        Ok(())
    }

    fn timeout(&mut self) {
        let now = clock::tick();
        let due = |at: Option<Tick>| at.is_some_and(|at| at <= now);
        if due(self.wake_at) {
            self.wake_at = None;
            self.events.push_back(Event::Timeout);
        }
        if due(self.snapshot_at) {
            self.sample();
            self.snapshot_at = self.process.as_ref().map(|_| now.plus(SNAPSHOT));
        }
        self.kill_slow_tools(now);
        if due(self.timeout_at) {
            let request = if self.timed_out { Request::Fast(None) } else { Request::Graceful(None) };
            self.timeout_at = (!self.timed_out).then(|| now.plus(AFTER_TIMEOUT));
            if !self.timed_out {
                let event = self.event(Kind::Warning).reason("--timeout has passed: ending the job");
                self.stream.tell(&event);
            }
            self.timed_out = true;
            self.events.push_back(Event::Asked(request));
        }
    }

    fn signal(&mut self, number: i32) {
        self.ends += u32::from(matches!(number, libc::SIGTERM | libc::SIGINT));
        self.impatient |= number == libc::SIGQUIT || self.ends > 1;
        // The daemon is told by commands to suspend a job; these signals mean nothing to it (c12 007, 008).
        let by_signal = self.job.private.is_some() || self.job.quirks != Quirks::Reference;
        let request = match number {
            libc::SIGTERM => Request::Graceful(self.vacate()),
            libc::SIGQUIT => Request::Fast(self.vacate()),
            // 25.14 dies of these at once and leaves job and scratch directory to the startd; here nobody follows.
            libc::SIGINT | libc::SIGALRM => Request::Graceful(None),
            libc::SIGUSR1 => Request::Remove,
            libc::SIGTSTP if by_signal => Request::Suspend,
            libc::SIGCONT if by_signal => Request::Continue,
            // Reads the configuration again, which changes nothing for a job under way.
            libc::SIGHUP => {
                self.job.reread = true;
                if self.job.log_directory.is_none()
                    && notice::is_news(self.job.private.as_deref(), Quirk::HupMovesHooks.id())
                {
                    let (id, line) = (Quirk::HupMovesHooks.id(), Quirk::HupMovesHooks.line());
                    self.warn(format!(
                        "hooks stay in the scratch directory; in HTCondor 25.14 {line} ({id})"
                    ));
                }
                return;
            }
            // SIGUSR2 means nothing.
            _ => return,
        };
        self.events.push_back(Event::Asked(request));
    }

    /// What the slot runner says about the end of the job, if it does.
    fn vacate(&self) -> Option<Vacate> {
        let text = fs::read(self.job.private.as_ref()?.join("vacate.ad")).ok()?;
        let (ad, _) = long::parse(&text);
        let context = Context::new(self.world).my(&ad);
        Some(Vacate {
            reason: context.string("VacateReason")?,
            code: context.int("VacateReasonCode").unwrap_or(0),
            subcode: context.int("VacateReasonSubCode").unwrap_or(0),
        })
    }

    fn event(&self, kind: Kind) -> events::Event {
        let event = events::Event::new(self.now(), kind).job(self.job.id.as_str());
        if self.job.slot.is_empty() { event } else { event.slot(self.job.slot.as_str()) }
    }

    pub(super) fn warn(&mut self, reason: String) {
        let event = self.event(Kind::Warning).reason(reason);
        self.stream.tell(&event);
    }

    fn carry_out(&mut self, now: Now, action: Action) {
        match action {
            Action::MakeScratch { files } => self.make_scratch(&files),
            Action::OpenLog => {
                self.open_log();
                self.write_visa();
                self.job.hook_limits =
                    hook_limits::of_starter(&self.job.sandbox.scratch, self.job.hook_stack);
            }
            Action::WriteFile(file) => self.write_file(&file),
            Action::Call(call) => self.call(now, call),
            Action::RunTool(call, tool) => self.run_tool(call, *tool),
            Action::OpenFiles(files) => self.open_files(&files),
            Action::MakeDirectory { path, mode } => self.make_directory(&path, mode),
            Action::Remember { container } => self.remember(&container),
            Action::StartProcess(process) => self.start(now, &process),
            Action::Measure => {
                self.sample();
                self.events.push_back(Event::Measured(self.measured()));
            }
            Action::SignalJob(number) => self.signal_job(number),
            Action::KillFamily => {
                self.killed = true;
                self.signal_family(libc::SIGKILL);
            }
            Action::StopFamily => self.signal_family(libc::SIGSTOP),
            Action::ContinueFamily => self.signal_family(libc::SIGCONT),
            Action::KillCall(call) => {
                let tool = self.tools.iter().find(|tool| tool.call == call).map(|tool| tool.child);
                let hook = || self.calls.iter().find(|(_, id)| **id == call).map(|(child, _)| *child);
                if let Some(child) = tool.or_else(hook) {
                    self.reactor.kill(child, libc::SIGKILL, Whom::Family);
                }
            }
            Action::KillCalls => {
                if let Err(error) = self.wait_for_calls() {
                    self.warn(format!("cannot wait for hooks: {error}"));
                }
                for (child, _) in self.calls.drain() {
                    self.reactor.kill(child, libc::SIGKILL, Whom::Family);
                }
            }
            Action::WakeAt(at) => self.wake_at = at,
            Action::WriteUpdateAd(bytes) => self.write_update(&bytes),
            Action::WriteResultAd(bytes) => self.write_result(bytes),
            Action::Log(event) => self.log(now, &event),
            Action::Tell(notice) => {
                if let Notice::NotStarted { reason } = &notice {
                    self.not_started.get_or_insert_with(|| reason.clone());
                }
                if matches!(&notice, Notice::Quirk { quirk, .. } if !notice::is_news(self.job.private.as_deref(), quirk.id()))
                {
                    return;
                }
                if let Some(event) = notice::event(self.event(Kind::Warning), notice) {
                    self.stream.tell(&event);
                }
            }
            Action::RemoveScratch => {
                let remains = self.job.sandbox.remove();
                self.events.push_back(Event::ScratchRemoved { remains });
            }
            Action::Finish { status, standing, outcome } => self.finished = Some((status, standing, outcome)),
        }
    }

    fn make_scratch(&mut self, all: &[crate::starter::File]) {
        let event = match self.job.sandbox.make() {
            Ok(()) => {
                all.iter().for_each(|file| self.write_file(file));
                Event::ScratchMade
            }
            Err(failure) => Event::ScratchFailed {
                no_execute: self.job.sandbox.top.parent().is_some_and(|execute| !execute.exists()),
                reason: format!(
                    "cannot make the scratch directory '{}': {}",
                    failure.path.display(),
                    failure.error
                ),
            },
        };
        // The file of updates is there from the start, empty (s32 case 08).
        if event == Event::ScratchMade {
            self.write_update(b"");
        }
        self.events.push_back(event);
    }

    fn call(&mut self, now: Now, call: Call) {
        let id = call.id;
        let environment = self.job.hook_environment.clone().with(call.environment);
        let mut hook = HookCall::new(call.hook, call.path, call.stdin, environment);
        hook.arguments = call.arguments;
        hook.directory = Some(self.job.hook_directory());
        hook.identity = self.job.identity.clone();
        hook.output_limit = self.job.output_limit;
        hook.limits.clone_from(&self.job.hook_limits);
        hook.ancestor = Some(HookCall::marker(now, self.world.random()));
        hook.quirks = self.job.quirks;
        self.liken(&mut hook);
        let past_start = !matches!(hook.hook, HookType::PrepareJob) && self.past_start;
        let spec = hook.child_spec().map_err(|error| error.to_string()).map(|mut spec| {
            if past_start {
                spec.blocked_signals.retain(|signal| *signal != libc::SIGPROF);
            }
            spec
        });
        let started = spec.and_then(|spec| self.reactor.spawn(spec).map_err(|error| full_text(&error)));
        match started {
            Ok(child) => {
                self.calls.insert(child, id);
                let pid = self.pid(child);
                self.events.push_back(Event::CallStarted { call: id, pid });
            }
            Err(reason) => self.events.push_back(Event::CallFailed { call: id, reason }),
        }
    }

    /// Two oddities of a daemon that has just started, which hooks inherit: SIGPROF is blocked until a child, hook or job,
    /// has ended (s12, s21b), and TZ is unset until the first child was made (s32).
    fn liken(&mut self, hook: &mut HookCall) {
        let first = !std::mem::replace(&mut self.called, true);
        let unset = !self.job.environment.iter().any(|(name, _)| name == "TZ");
        if first && unset && self.job.quirks.has(Quirk::HooksSpawnedAsDaemons) {
            hook.environment.variables.remove("TZ");
        }
    }

    fn pid(&self, child: ChildId) -> u32 {
        self.reactor.pid(child).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0)
    }

    fn start(&mut self, now: Now, process: &JobProcess) {
        match self.try_start(now, process) {
            Ok(child) => {
                let pid = self.pid(child);
                let attempt = Box::new(process.clone());
                self.process = Some(Running { child, pid, usage: Default::default(), attempt });
                self.is_new = true;
                self.snapshot_at = Some(clock::tick().plus(FIRST_SNAPSHOT));
                self.events.push_back(Event::ProcessStarted { pid });
            }
            Err(failures) => self.events.push_back(Event::ProcessFailed(failures)),
        }
    }

    fn try_start(&mut self, now: Now, process: &JobProcess) -> Result<ChildId, Vec<StartFailure>> {
        if process.account == Account::Daemon {
            return self.start_container(process);
        }
        let identity = self.job.identity.clone();
        let mounts = self.job.sandbox.mounts(&process.mounts).map_err(|error| {
            vec![StartFailure::silent(format!("cannot make the directories of MOUNT_UNDER_SCRATCH: {error}"))]
        })?;
        let scratch = self.job.sandbox.scratch.clone();
        if child::writes_through_nothing(&process.files, identity.as_ref(), &scratch)
            || !process.failures.is_empty()
        {
            let failures =
                child::open_failures(&process.files, identity.as_ref(), &scratch).unwrap_or_default();
            return Err(if failures.is_empty() { process.failures.clone() } else { failures });
        }

        let ancestor = HookCall::marker(now, self.world.random());
        let spec = child::spec(process, &self.job.environment, identity.as_ref(), ancestor, mounts);
        let affinity = if process.script { &[][..] } else { &self.job.affinity };
        let error = match child::bound(affinity, || self.reactor.spawn(spec.clone())) {
            Ok(child) => return Ok(child),
            Err(error) => error,
        };
        if let Some((_, target)) = spec.mounts.iter().find(|(_, target)| error.path.starts_with(target)) {
            self.warn(format!(
                "'{}' is looked for in the job's own '{}' (MOUNT_UNDER_SCRATCH), not in the machine's",
                error.path.display(),
                target.display()
            ));
        }
        if !matches!(error.stage, os::Stage::Stdin | os::Stage::Stdout | os::Stage::Stderr) {
            return Err(child::failure(process, &error));
        }
        let scratch = &self.job.sandbox.scratch;
        let failures = child::open_failures(&process.files, identity.as_ref(), scratch).unwrap_or_default();
        if !failures.is_empty() {
            return Err(failures);
        }
        let mut again = spec;
        for stdio in &mut again.stdio {
            if let crate::process::Stdio::File { truncate, .. } = stdio {
                *truncate = false;
            }
        }
        self.reactor.spawn(again).map_err(|error| child::failure(process, &error))
    }

    /// Looks at the family's use of the machine.
    fn sample(&mut self) {
        if let Some(process) = &mut self.process
            && let Some(usage) = self.reactor.usage(process.child)
        {
            process.usage = usage;
        }
    }

    fn measured(&self) -> FamilyUsage {
        self.process.as_ref().map_or_else(FamilyUsage::default, |process| family_usage(&process.usage))
    }

    /// The child had to wait for the other end of a FIFO, and then its program could not be executed.
    fn gave_up(&mut self, process: &Running, error: &os::SpawnError) {
        self.snapshot_at = None;
        self.events.push_back(Event::ProcessFailed(child::failure(&process.attempt, error)));
    }

    fn process_ended(
        &mut self,
        process: &Running,
        exit: Exit,
        usage: &crate::process::Usage,
        left_behind: usize,
    ) {
        self.snapshot_at = None;
        let mut total = family_usage(&process.usage);
        // The kernel's count of the process and those it waited for is exact; samples know of the others.
        total.user = total.user.max(usage.user);
        total.system = total.system.max(usage.system);
        total.resident_kib = total.resident_kib.max(usage.max_rss_kib);
        // What is resident is part of the image, also of a job that ended before it was looked at.
        total.max_image_kib = total.max_image_kib.max(total.resident_kib);
        // What we killed ourselves was not left behind.
        total.processes = if self.killed { 0 } else { u32::try_from(left_behind).unwrap_or(u32::MAX) };
        let identity = self.job.identity.as_ref();
        let core = child::take_core(&self.job.iwd, process.pid, &self.job.id, identity);
        // Looked for whether there is a wrapper or not: a job may tell in the same way (c09 029).
        let wrapper_failure =
            child::wrapper_failure(&self.job.sandbox.scratch, self.job.wrapper_reader.as_ref());
        self.events.push_back(Event::ProcessEnded { exit, usage: total, core, wrapper_failure });
    }

    fn signal_job(&mut self, number: i32) {
        // A number that is no signal cannot be sent, so that the hard way is left (c12: 999).
        if !(0..=64).contains(&number) {
            return self.signal_family(libc::SIGKILL);
        }
        if let Some(process) = &self.process
            && number != 0
        {
            self.reactor.kill(process.child, number, Whom::Process);
        }
    }

    fn signal_family(&mut self, number: i32) {
        if let Some(process) = &self.process {
            if number == libc::SIGSTOP {
                // Before its family is looked for: it may have been executed just now (SuspendJobAtExec; c12 056).
                self.reactor.kill(process.child, number, Whom::Process);
            }
            self.reactor.kill(process.child, number, Whom::Family);
        }
    }
}
