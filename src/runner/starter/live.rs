//! The loop that carries out what the machine of one job asks for, with real processes and the real clock.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use bstr::BString;
use nix::libc;
use rustc_hash::FxHashMap;

use super::child;
use super::companion::{self, Companion, Seen};
use super::credentials::Credentials;
use super::docker_socket::DockerWatch;
use super::group::JobGroup;
use super::job::Job;
use super::job_process::Running;
use super::measure::Looking;
use super::notice;
use super::state_file::StateFile;
use super::tools::Tool;
use crate::os::terminal::Terminal;
use crate::os::tracking::TrackingGroup;
use crate::os::{self, ChildId, Reactor, Whom, clock};
use crate::runner::control::Control;
use crate::runner::events::{self, EventStream, Kind};
use crate::runner::hook_limits;
use crate::runner::parent::Parent;
use crate::starter::logical_volume::LogicalVolume;
use crate::starter::{Action, CallId, Event, Left, Notice, Request, Standing, Starter};
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

/// How long processes that have been killed are waited for at the end.
const LAST_WAIT: Duration = Duration::from_secs(5);

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
    /// Why that ad is not in its file.
    pub unwritten: Option<String>,
    /// Why it was not started, if it was not.
    pub not_started: Option<String>,
    /// Whether `--timeout` ended it.
    pub timed_out: bool,
    /// Whether a signal or `--timeout` asked for its end.
    pub requested: bool,
    /// What says that a job is not over, until what came of it has been told.
    pub state: Option<StateFile>,
}

/// Who may ask things of a starter beside signals.
#[derive(Default)]
pub struct Beside<'a> {
    /// Somebody who looks on.
    pub companion: Option<&'a mut (dyn Companion + 'a)>,
    /// A socket.
    pub control: Option<&'a mut Control>,
    /// Whoever the job does not outlive.
    pub parent: Option<&'a mut Parent>,
}

/// Runs the machine to its end while somebody looks on, who may ask things of it.
///
/// # Errors
/// The reactor cannot wait any more; all else is told to the machine or to the stream.
pub fn run_with<'a>(
    mut machine: Starter<'_>,
    job: Job,
    world: &'a dyn World,
    (reactor, stream): (&'a mut Reactor, &'a mut EventStream),
    Beside { companion, control, parent }: Beside<'a>,
) -> io::Result<Finished> {
    let timeout_at = job.timeout.map(|limit| clock::tick().plus(limit));
    let mut live = Live {
        job,
        world,
        reactor,
        stream,
        events: VecDeque::from([Event::Begin]),
        calls: FxHashMap::default(),
        tools: Vec::new(),
        process: None,
        new_group: None,
        new_tracking: None,
        disk: None,
        looking: None,
        terminal: None,
        container: None,
        docker: None,
        state: None,
        is_new: false,
        wake_at: None,
        snapshot_at: None,
        timeout_at,
        parent,
        result: Vec::new(),
        unwritten: None,
        finished: None,
        not_started: None,
        timed_out: false,
        killed: false,
        called: false,
        past_start: false,
        ends: 0,
        impatient: false,
        requested: false,
        companion,
        control,
        doing: machine.state(),
    };
    loop {
        while let Some(event) = live.events.pop_front() {
            let now = live.now();
            live.show(now, companion::of_event(&event));
            let actions = machine.step(now, event);
            live.enter(machine.state());
            for action in actions {
                live.show(now, companion::of_action(&action));
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
                unwritten: live.unwritten,
                not_started: live.not_started,
                timed_out: live.timed_out,
                requested: live.requested,
                state: live.state.take(),
            });
        }
        // Looked at only now: one that is to be suspended at its exec has to be stopped first.
        if std::mem::take(&mut live.is_new) {
            live.sample();
        }
        live.wait()?;
    }
}

pub(super) struct Live<'a> {
    pub(super) job: Job,
    pub(super) world: &'a dyn World,
    pub(super) reactor: &'a mut Reactor,
    pub(super) stream: &'a mut EventStream,
    /// What is to be told to the machine next.
    pub(super) events: VecDeque<Event>,
    pub(super) calls: FxHashMap<ChildId, CallId>,
    /// Calls of a container's runtime.
    pub(super) tools: Vec<Tool>,
    pub(super) process: Option<Running>,
    /// What is left when we are killed.
    pub(super) state: Option<StateFile>,
    /// A control group that has no process in it yet, or none any more.
    pub(super) new_group: Option<JobGroup>,
    /// A group of the job's own that no process has yet.
    pub(super) new_tracking: Option<TrackingGroup>,
    /// What the job's directory held the last time.
    pub(super) disk: Option<(u64, u64)>,
    /// It is being looked through.
    pub(super) looking: Option<Looking>,
    /// The container of the job.
    pub(super) container: Option<BString>,
    /// Docker is asked what it uses.
    pub(super) docker: Option<DockerWatch>,
    /// The terminal, while a shell has it.
    pub(super) terminal: Option<Terminal>,
    /// It has just been started and not been looked at.
    pub(super) is_new: bool,
    wake_at: Option<Tick>,
    pub(super) snapshot_at: Option<Tick>,
    timeout_at: Option<Tick>,
    /// The slot runner, while it lives.
    parent: Option<&'a mut Parent>,
    pub(super) result: Vec<u8>,
    pub(super) unwritten: Option<String>,
    finished: Option<(u8, Standing, Option<Vec<u8>>)>,
    not_started: Option<String>,
    timed_out: bool,
    /// The family was killed on request.
    pub(super) killed: bool,
    /// A hook has been called.
    pub(super) called: bool,
    /// A child has ended, hook or job.
    pub(super) past_start: bool,
    /// How often it was asked to end.
    pub(super) ends: u32,
    /// Somebody wants it to end at once.
    pub(super) impatient: bool,
    /// A signal or `--timeout` asked for its end.
    pub(super) requested: bool,
    pub(super) companion: Option<&'a mut (dyn Companion + 'a)>,
    pub(super) control: Option<&'a mut Control>,
    /// How far the machine has got, in a word.
    pub(super) doing: &'static str,
}

impl Live<'_> {
    pub(super) fn now(&self) -> Now {
        let now = clock::now();
        Now { wall_us: now.wall_us.saturating_add(self.job.skew_us), ..now }
    }

    /// Waits for the next thing to happen and puts it into the queue.
    fn wait(&mut self) -> io::Result<()> {
        let check_at = self.parent.as_ref().map(|parent| parent.check_at());
        let flush_at = self.stream.next_flush(clock::tick());
        let tools = self.tools_until();
        let mover = self.mover_until();
        let onlooker = self.companion.as_ref().and_then(|companion| companion.wake_at());
        let control = self.control.as_ref().and_then(|control| control.next_look());
        let looking = self.looking.as_ref().map(|_| clock::tick());
        let deadlines = [
            looking,
            self.docker_until(),
            control,
            onlooker,
            self.wake_at,
            self.snapshot_at,
            self.timeout_at,
            check_at,
            flush_at,
            tools,
            mover,
            self.job.credentials.as_ref().and_then(Credentials::due),
        ];
        let event = self.reactor.next(deadlines.into_iter().flatten().min())?;
        self.stream.flush();
        match event {
            os::Event::Exited { child, exit, usage, stdout, stderr, left_behind, not_executed, .. } => {
                if self.calls.contains_key(&child) {
                    self.past_start = true;
                    self.call_ended(child, exit, stdout, stderr);
                } else if self.mover_ended(child, exit, &stdout, &stderr) {
                } else if self.tools.iter().any(|tool| tool.child == child) {
                    self.tool_ended(child, exit, stdout);
                } else if self.process.as_ref().is_some_and(|process| process.child == child)
                    && let Some(process) = self.process.take()
                {
                    self.past_start = true;
                    match not_executed {
                        Some(error) => {
                            let failures = child::failure(&process.attempt, &error);
                            self.gave_up(process, failures);
                        }
                        None => self.process_ended(process, exit, &usage, left_behind.len()),
                    }
                }
            }
            os::Event::Signal(number) => self.signal(number),
            os::Event::Timeout => self.timeout(),
            os::Event::Readable(token) if self.docker_said(token) => {}
            os::Event::Readable(token) => self.ordered(token),
            os::Event::Line { .. } | os::Event::Piece { .. } => {}
        }
        self.look_on();
        if self.parent.as_mut().is_some_and(|parent| parent.is_gone(clock::tick())) {
            self.parent = None;
            let who = if self.job.private.is_some() { "htc-slot-run" } else { "whoever started this" };
            self.warn(format!("{who} is gone: ending the job"));
            self.signal(libc::SIGQUIT);
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
            self.snapshot_at =
                self.process.as_ref().map(|process| now.plus(process.interval(self.job.snapshot)));
        }
        self.kill_slow_tools(now);
        self.ask_docker(now);
        self.kill_slow_mover(now);
        self.refresh_credentials(now);
        if let Some(control) = &mut self.control {
            control.look(now, self.reactor);
        }
        let moment = self.now();
        self.show(moment, Some(Seen::Time));
        if due(self.timeout_at) {
            let request = if self.timed_out { Request::Fast(None) } else { Request::Graceful(None) };
            // Again and again: what does not end at the first may at the second.
            self.timeout_at = Some(now.plus(AFTER_TIMEOUT));
            if !self.timed_out {
                let event = self.event(Kind::Warning).reason("--timeout has passed: ending the job");
                self.stream.tell(&event);
            }
            self.timed_out = true;
            self.requested = true;
            self.events.push_back(Event::Asked(request));
        }
    }

    pub(super) fn event(&self, kind: Kind) -> events::Event {
        let event = events::Event::new(self.now(), kind).job(self.job.id.as_str());
        if self.job.slot.is_empty() { event } else { event.slot(self.job.slot.as_str()) }
    }

    pub(super) fn warn(&mut self, reason: String) {
        let event = self.event(Kind::Warning).reason(reason);
        self.stream.tell(&event);
    }

    /// Shows the companion what happens; what it asks for is asked.
    fn show(&mut self, now: Now, seen: Option<Seen<'_>>) {
        if let (Some(companion), Some(seen)) = (&mut self.companion, seen) {
            self.events.extend(companion.saw(now, seen).into_iter().map(Event::Asked));
        }
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
            Action::Pulling { image, own } => {
                self.note_left(&Left::Pull { image: image.to_string(), own: own.to_string() });
            }
            Action::DockerConfig(config) => self.docker_config(config.as_deref()),
            Action::StartProcess(process) => self.start(now, &process),
            Action::Transfer(way) => self.transfer(way),
            Action::AbortTransfer => self.abort_transfer(),
            Action::Manifest { directory, name, content } => self.write_manifest(&directory, name, content),
            Action::Measure => {
                self.sample();
                let usage = self.measured();
                self.with_disk(Event::Measured(usage), false);
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
                let subject = match &notice {
                    Notice::Quirk { quirk, .. } => Some(quirk.id()),
                    Notice::Once { subject, .. } => Some(*subject),
                    _ => None,
                };
                if subject.is_some_and(|subject| !notice::is_news(self.job.private.as_deref(), subject)) {
                    return;
                }
                if let Some(event) = notice::event(self.event(Kind::Warning), notice) {
                    self.stream.tell(&event);
                }
            }
            Action::RemoveScratch => {
                self.take_credentials_away();
                self.docker_config(None);
                let remains = self.job.sandbox.remove();
                self.events.push_back(Event::ScratchRemoved { remains });
            }
            Action::Finish { status, standing, outcome } => self.finished = Some((status, standing, outcome)),
        }
    }

    fn make_scratch(&mut self, all: &[crate::starter::File]) {
        let ad = all.iter().find(|file| file.name == ".job.ad").map_or(&[][..], |file| &file.bytes);
        self.begin_state(ad);
        let volume = self.job.sandbox.volume.as_ref().and_then(|volume| volume.logical.clone());
        let is_encrypted = volume.as_ref().is_some_and(|volume| volume.encrypted);
        if let Some(LogicalVolume { group, name, .. }) = volume {
            self.note_left(&Left::Volume { group: group.to_string(), name: name.to_string() });
        }
        let event = match self.job.sandbox.make() {
            Ok(no_volume) => {
                let encrypted = is_encrypted && no_volume.is_none();
                if let Some(why) = no_volume {
                    self.warn(format!(
                        "the job's directory is watched, and not a file system of its own: {why}"
                    ));
                }
                all.iter().for_each(|file| self.write_file(file));
                match self.lay_credentials() {
                    Ok(()) => Event::ScratchMade { encrypted },
                    Err(error) => Event::ScratchFailed {
                        no_execute: false,
                        reason: format!("cannot lay the job's tokens into its scratch directory: {error}"),
                    },
                }
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
        if matches!(event, Event::ScratchMade { .. }) {
            self.write_update(b"");
        }
        self.events.push_back(event);
    }

    pub(super) fn pid(&self, child: ChildId) -> u32 {
        self.reactor.pid(child).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0)
    }
}
