//! The loop that carries out what the machine of one job asks for, with real processes and the real clock.

use std::io;
use std::time::Duration;

use nix::libc;

use super::child;
use super::companion::{self, Seen};
use super::credentials::Credentials;
use super::docker_socket::DockerWatch;
use super::job::Job;
use super::live::{Asked, Beside, Live};
use super::notice;
use super::state_file::StateFile;
use crate::events::{EventStream, Kind};
use crate::hook_limits;
use htc_base::time::{Now, Tick};
use htc_base::world::World;
use htc_os as os;
use htc_os::{Reactor, clock};
use htc_starter::{Action, Event, Left, Notice, Request, Standing, Starter};

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

/// Runs the machine to its end while somebody looks on, who may ask things of it.
///
/// # Errors
/// The reactor cannot wait any more; all else is told to the machine or to the stream.
pub fn run_with<'a>(
    mut machine: Starter<'_>,
    job: Job,
    world: &'a dyn World,
    (reactor, stream): (&'a mut Reactor, &'a mut EventStream),
    beside: Beside<'a>,
) -> io::Result<Finished> {
    let mut live = Live { doing: machine.state(), ..Live::new(job, world, (reactor, stream), beside) };
    let (status, standing, outcome) = loop {
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
        if let Some(finished) = live.finished.take() {
            break finished;
        }
        live.look_at_new();
        live.wait()?;
    };
    live.wait_for_calls()?;
    live.reactor.kill_all(LAST_WAIT);
    Ok(Finished {
        status,
        standing,
        outcome,
        result: live.result,
        unwritten: live.unwritten,
        not_started: live.not_started,
        timed_out: live.timed_out,
        requested: live.asked != Asked::Nothing,
        state: live.state,
    })
}

impl Live<'_> {
    /// Waits for the next thing to happen and puts it into the queue.
    fn wait(&mut self) -> io::Result<()> {
        let Beside { companion, control, parent } = &self.beside;
        let deadlines = [
            self.looking.as_ref().map(|_| clock::tick()),
            self.docker.as_ref().map(DockerWatch::until),
            control.as_ref().and_then(|control| control.next_look()),
            companion.as_ref().and_then(|companion| companion.wake_at()),
            self.wake_at,
            self.next_look(),
            self.timeout_at,
            parent.as_ref().map(|parent| parent.check_at()),
            self.stream.next_flush(clock::tick()),
            self.tools_until(),
            self.mover_until(),
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
                            self.failed(process.own, failures);
                        }
                        None => self.process_ended(process, exit, &usage, left_behind.len()),
                    }
                }
            }
            os::Event::Signal(number) => self.signal(number),
            os::Event::Timeout => self.timeout(),
            os::Event::Readable(token) => match &mut self.docker {
                Some(docker) if docker.hears(token) => {
                    let ports = docker.hear(self.reactor);
                    self.events.extend(ports.map(|ports| Event::Services(Box::new(ports))));
                }
                _ => self.ordered(token),
            },
            os::Event::Piece { .. } => {}
        }
        self.look_on();
        if self.beside.parent.as_mut().is_some_and(|parent| parent.is_gone(clock::tick())) {
            self.beside.parent = None;
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
        self.look_if_due(now);
        self.kill_slow_tools(now);
        if let Some(docker) = &mut self.docker {
            docker.ask(now, self.reactor);
        }
        self.kill_slow_mover(now);
        self.refresh_credentials(now);
        if let Some(control) = &mut self.beside.control {
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
            self.asked = self.asked.max(Asked::Otherwise);
            self.events.push_back(Event::Asked(request));
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
                self.with_disk(Event::Measured(usage));
            }
            Action::SignalJob(number) => self.signal_job(number),
            Action::KillFamily => {
                self.killed = true;
                self.signal_family(libc::SIGKILL);
            }
            Action::StopFamily => self.signal_family(libc::SIGSTOP),
            Action::ContinueFamily => self.signal_family(libc::SIGCONT),
            Action::KillCall(call) => self.kill_call(call),
            Action::KillCalls => self.kill_calls(),
            Action::WakeAt(at) => self.wake_at = at,
            Action::WriteUpdateAd(bytes) => self.write_update(&bytes),
            Action::WriteResultAd(bytes) => self.write_result(bytes),
            Action::Log(event) => self.log(now, &event),
            Action::Tell(notice) => self.tell(notice),
            Action::RemoveScratch => self.remove_scratch(),
            Action::Finish { status, standing, outcome } => self.finished = Some((status, standing, outcome)),
        }
    }

    fn tell(&mut self, notice: Notice) {
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
}
