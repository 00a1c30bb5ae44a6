//! The router over a directory of job ads: carries the machine's actions out, calls hooks, waits.

mod files;
mod submissions;
mod user_logs;

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::ByteSlice;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use rustc_hash::FxHashMap;

use super::directory::Directory;
use super::hooks::{HookRunner, NoHook};
use super::options::Options;
use super::shutdown::Shutdown;
use super::spool::Copying;
use super::submission::Submission;
use super::tokens::Tokens;
use htc_base::job::{JobId, JobStatus};
use htc_base::process::Exit;
use htc_base::time::Tick;
use htc_base::world::Frozen;
use htc_classad::{Dialect, Expr};
use htc_hook::HookType;
use htc_os as os;
use htc_os::files::open_regular;
use htc_os::{Captured, ChildId, Reactor, clock};
use htc_router::choose::UmbrellaError;
use htc_router::{
    Action, Call, CopyError, Event, HookAnswer, HookResult, Queue, Router, Surroundings, hook_verdict,
};

/// What ends the run.
const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
/// How long a submit command has between the two.
const GRACE: Duration = Duration::from_secs(5);
/// How often jobs are settled at the end of a run of one poll.
const SETTLED: u32 = 4;

/// Why the run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The directory cannot be used.
    #[error("cannot use '{path}'")]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another router works in it.
    #[error("another router works in '{0}'")]
    Locked(PathBuf),
    /// No job can be looked for.
    #[error("25.14 would abort: {0}")]
    Umbrella(#[from] UmbrellaError),
    /// Waiting failed.
    #[error("cannot wait for children")]
    Reactor(#[from] io::Error),
}

/// A hook under way.
struct Running {
    call: Call,
    deadline: Option<Tick>,
    killed: bool,
}

/// What of a hook is still to be started: one at a time for a job.
struct Live<'a> {
    options: &'a Options<'a>,
    router: Router,
    directory: Directory,
    /// The queue of the copies, if it is another one.
    second: Option<Directory>,
    reactor: Reactor,
    running: FxHashMap<ChildId, Running>,
    submissions: FxHashMap<ChildId, Submission>,
    copying: FxHashMap<ChildId, Copying>,
    tokens: Tokens,
    path: PathBuf,
    /// The same directory, for those who work elsewhere.
    absolute: PathBuf,
    /// Likewise that of the copies.
    copies_absolute: PathBuf,
}

/// The absolute path of a directory.
fn resolve(path: &Path) -> Result<PathBuf, RunError> {
    let refuse = |source| RunError::Directory { path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(refuse)?.is_dir() {
        return Err(refuse(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    path.canonicalize().map_err(refuse)
}

/// Keeps other routers out of a directory.
fn lock(path: &Path) -> Result<Flock<File>, RunError> {
    let mut options = OpenOptions::new();
    let file = open_regular(&path.join(".lock"), options.create(true).truncate(false).write(true))
        .map_err(|source| RunError::Directory { path: path.join(".lock"), source })?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| RunError::Locked(path.to_owned()))
}

/// Something that could not be done with a job of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The source.
    pub source: JobId,
    /// What and why.
    pub reason: String,
}

/// How a run has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// What could not be done.
    pub failures: Vec<Failure>,
    /// DAEMON_SHUTDOWN or DAEMON_SHUTDOWN_FAST, if one of them has ended it.
    pub shutdown: Option<&'static str>,
}

/// Runs a router over a directory until it is told to stop.
///
/// # Errors
/// A directory cannot be used, or the reference would abort.
pub fn run(path: &Path, router: Router, options: &Options<'_>) -> Result<Ended, RunError> {
    let absolute = resolve(path)?;
    let copies_absolute = options.copies.map_or(Ok(absolute.clone()), resolve)?;
    let copies = options.copies.filter(|_| copies_absolute != absolute);
    let _lock = lock(path)?;
    let _second_lock = copies.map(lock).transpose()?;
    let dialect = Dialect::of(options.world);
    let mut live = Live {
        options,
        router,
        directory: Directory::new(path, dialect),
        second: copies.map(|copies| Directory::new(copies, dialect)),
        reactor: Reactor::new(&SIGNALS)?,
        running: FxHashMap::default(),
        submissions: FxHashMap::default(),
        copying: FxHashMap::default(),
        tokens: Tokens::new(options.view, options.log),
        path: path.to_owned(),
        absolute,
        copies_absolute,
    };
    live.sweep();
    let shutdown = live.work()?;
    Ok(Ended { failures: live.failures(), shutdown })
}

impl Live<'_> {
    /// Polls until the run is over; the condition that ended it, if one did.
    fn work(&mut self) -> Result<Option<&'static str>, RunError> {
        let Options { view, world, log, .. } = *self.options;
        let mut shutdown = Shutdown::new(view, &self.router.knobs().name, world, log);
        let periodic = self.router.knobs().periodic_interval;
        let mut next_periodic = clock::tick().plus(periodic);
        let mut next_tokens = Some(clock::tick());
        loop {
            if next_tokens.is_some_and(|due| due <= clock::tick()) {
                let tokens = self.tokens.refresh(self.options.view, self.options.world, self.options.log);
                self.router.set_tokens(tokens);
                next_tokens = self.tokens.every().map(|every| clock::tick().plus(every));
            }
            let next_poll = clock::tick().plus(self.router.knobs().polling_period);
            self.refresh()?;
            if !periodic.is_zero() && clock::tick() >= next_periodic {
                self.event(Event::Periodic)?;
                next_periodic = clock::tick().plus(periodic);
            }
            if let Some(knob) = shutdown.holds(world) {
                log(&format!("{knob} is true: the router stops, its jobs stay routed"));
                self.stop()?;
                return Ok(Some(knob));
            }
            self.event(Event::Poll)?;
            if let ControlFlow::Break(()) = self.wait(next_poll)? {
                return Ok(None);
            }
        }
    }

    /// What could not be done; sources that have left the queue unrouted need no route.
    fn failures(&self) -> Vec<Failure> {
        let matters = |source, hook| hook != HookType::TranslateJob || self.directory.job(source).is_some();
        let failures = self.router.failures().filter(|(source, hook, _)| matters(*source, *hook));
        failures.map(|(source, _, reason)| Failure { source, reason: reason.to_owned() }).collect()
    }

    /// Takes in what happens until the next poll is due, or the run is over.
    fn wait(&mut self, next_poll: Tick) -> Result<ControlFlow<()>, RunError> {
        let until = self.options.until;
        let mut settled = 0;
        loop {
            // A hook that fails each time would keep it going.
            let resting = self.running.is_empty() && self.submissions.is_empty() && self.copying.is_empty();
            if until.once && resting && self.router.is_due() && settled < SETTLED {
                settled += 1;
                self.event(Event::Settle)?;
                continue;
            }
            if resting && (until.once || (until.idle && self.router.is_idle())) {
                return Ok(ControlFlow::Break(()));
            }
            let deadlines = self.running.values().filter_map(|running| running.deadline);
            let submissions = self.submissions.values().filter_map(|submission| submission.deadline);
            let copying = self.copying.values().filter_map(|copying| copying.deadline);
            let deadlines = deadlines.chain(submissions).chain(copying);
            let deadline = deadlines.chain((!until.once).then_some(next_poll)).min();
            match self.reactor.next(deadline)? {
                os::Event::Exited { child, exit, stdout, stderr, .. } => {
                    if let Some(event) = self.exited(child, exit, &stdout, &stderr.bytes) {
                        self.event(event)?;
                    }
                }
                os::Event::Signal(number) => {
                    (self.options.log)(&format!("signal {number}: the router stops, its jobs stay routed"));
                    self.stop()?;
                    return Ok(ControlFlow::Break(()));
                }
                os::Event::Timeout => {
                    let now = clock::tick();
                    self.end_late_submissions(now);
                    self.end_late_copying(now);
                    self.end_late_hooks(now);
                    if now >= next_poll && !until.once {
                        return Ok(ControlFlow::Continue(()));
                    }
                }
                _ => {}
            }
        }
    }

    /// What the end of a child is to the machine.
    fn exited(&mut self, child: ChildId, exit: Exit, stdout: &Captured, stderr: &[u8]) -> Option<Event> {
        let log = self.options.log;
        let complaint = stderr.trim().as_bstr();
        let tell = |who: String| {
            if !complaint.is_empty() {
                log(&format!("{who} says: {complaint}"));
            }
        };
        if let Some(submission) = self.submissions.remove(&child) {
            tell(format!("the submit command of {}", submission.source));
            return Some(self.submission_ended(&submission, exit, &stdout.bytes));
        }
        if let Some(copying) = self.copying.remove(&child) {
            return Some(self.copied(copying, exit, stderr));
        }
        let Running { call, killed, .. } = self.running.remove(&child)?;
        tell(format!("{} of {}", call.hook.name(), call.source));
        let answer = HookAnswer {
            dialect: Dialect::of(self.options.world),
            hook: call.hook,
            exit,
            stdout: &stdout.bytes,
            cut: stdout.cut,
            source: &call.source_ad,
            routed: (call.hook != HookType::TranslateJob).then_some(&*call.copy_ad),
            edit_in_place: call.in_place,
        };
        let result = match killed {
            true => HookResult::Failed("took too long and was killed".into()),
            false => HookResult::Ended(Box::new(hook_verdict(&answer, self.options.quirks))),
        };
        Some(Event::Hook(call.source, call.hook, result))
    }

    /// Kills hooks that take too long.
    fn end_late_hooks(&mut self, now: Tick) {
        for (child, running) in &mut self.running {
            if running.deadline.is_some_and(|deadline| deadline <= now) {
                (running.killed, running.deadline) = (true, None);
                self.reactor.kill(*child, libc::SIGKILL, os::Whom::Family);
            }
        }
    }

    /// Reads the queues again: that of the copies first, so that the copy of each source that has one is seen.
    fn refresh(&mut self) -> Result<(), RunError> {
        let log = self.options.log;
        let unreadable = |path: &Path, source| RunError::Directory { path: path.to_owned(), source };
        if let Some(second) = &mut self.second {
            second
                .refresh(None, &mut |text| log(&text))
                .map_err(|source| unreadable(&self.copies_absolute, source))?;
        }
        self.directory
            .refresh(self.second.as_ref(), &mut |text| log(&text))
            .map_err(|source| unreadable(&self.path, source))
    }

    /// The queue of the copies.
    fn copies(&self) -> &Directory {
        self.second.as_ref().unwrap_or(&self.directory)
    }

    /// The same, to be changed.
    fn copies_mut(&mut self) -> &mut Directory {
        self.second.as_mut().unwrap_or(&mut self.directory)
    }

    /// Hands an event over and carries out what comes of it, to the end.
    fn event(&mut self, event: Event) -> Result<(), RunError> {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let now = self.options.world.now();
            let actions = {
                let frozen = Frozen { world: self.options.world, now };
                let around = Surroundings {
                    queue: &self.directory,
                    copies: self.second.as_ref().unwrap_or(&self.directory),
                    config: Some(self.options.view),
                    knobs: self.options.view,
                    world: &frozen,
                };
                self.router.step(now, event, &around)
            };
            for action in actions {
                events.extend(self.act(action)?);
            }
        }
        Ok(())
    }

    fn act(&mut self, action: Action) -> Result<Option<Event>, RunError> {
        let world = self.options.world;
        let now = world.now().epoch();
        let log = self.options.log;
        let name = self.router.knobs().name.clone();
        Ok(match action {
            Action::Log(text) => {
                log(&text);
                None
            }
            Action::Quirk(source, quirk) => {
                log(&format!("{source}: {}", quirk.told()));
                None
            }
            Action::Stop(error) => return Err(error.into()),
            Action::Claim(id) => Some(Event::Claimed(id, self.directory.claim(id, &name, world))),
            Action::Submit(id, ad) => match &self.options.submit {
                Some(argv) => self.submit_through(argv, id, *ad),
                None if self.router.is_sandboxed(id) => self.spool(id, *ad, now),
                None => {
                    let submitted = self.copies_mut().submit(&ad, now).map_err(|error| error.to_string());
                    Some(Event::Submitted(id, submitted))
                }
            },
            Action::Edit(id, changes) => {
                let edited = self.directory.edit(id, &changes, world);
                Some(Event::Edited(id, edited.map_err(|error| error.to_string())))
            }
            Action::Update(id, changes) => {
                if let Err(error) = self.directory.update(id, &changes, world) {
                    log(&format!("cannot update {id}: {error}"));
                }
                None
            }
            Action::UpdateCopy(source, copy, changes) => {
                let updated = self.copies_mut().update(copy, &changes, world);
                let updated = updated.map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound => CopyError::Refused(error.to_string()),
                    _ => CopyError::Unwritten(error.to_string()),
                });
                Some(Event::CopyUpdated(source, updated))
            }
            Action::Finalize(source, copy) => self.fetch(source, copy, now),
            Action::Remove(copy, reason) => self.remove(copy, &reason, now),
            Action::Yield(id, done) => {
                let given = self.directory.give_back(id, done, self.router.knobs(), world);
                Some(Event::Yielded(id, given))
            }
            Action::UserLog(id, ad, body) => {
                for error in self.tell_user(id, &ad, body) {
                    log(&format!("cannot write the user log of {id}: {error}"));
                }
                None
            }
            Action::Hook(call) => self.hook(call),
        })
    }

    /// Removes a copy; what is to be tried again is an answer.
    fn remove(&mut self, copy: JobId, reason: &str, now: i64) -> Option<Event> {
        let changes = [
            ("JobStatus", Expr::literal(JobStatus::REMOVED)),
            ("RemoveReason", Expr::literal(reason)),
            ("EnteredCurrentStatus", Expr::literal(now)),
        ];
        match self.copies_mut().leave(copy, &changes, now) {
            Ok(()) => {
                self.clear(copy);
                None
            }
            Err(error) => {
                (self.options.log)(&format!("cannot remove {copy}: {error}"));
                (error.kind() != io::ErrorKind::NotFound).then_some(Event::NotRemoved(copy))
            }
        }
    }

    fn hooks(&self) -> HookRunner<'_> {
        HookRunner {
            knobs: self.options.view,
            world: self.options.world,
            environment: self.options.environment.for_hooks(self.options.quirks),
            limit: self.options.hook_limit,
            directory: None,
            quirks: self.options.quirks,
        }
    }

    /// Starts a hook; an answer at once where there is none.
    fn hook(&mut self, call: Call) -> Option<Event> {
        let stdin = HookRunner::stdin(call.hook, &call.route, &call.source_ad, &call.copy_ad);
        let spec = self
            .hooks()
            .call(call.hook, &call.source_ad, stdin)
            .and_then(|(_, call)| call.child_spec().map_err(|error| NoHook::Failed(error.to_string())));
        let child =
            spec.and_then(|spec| self.reactor.spawn(spec).map_err(|error| NoHook::Failed(error.to_string())));
        match child {
            Ok(child) => {
                let deadline = self.options.hook_limit.map(|limit| clock::tick().plus(limit));
                self.running.insert(child, Running { call, deadline, killed: false });
                None
            }
            Err(none) => Some(Event::Hook(call.source, call.hook, none.into())),
        }
    }
}
