//! Router over a directory of job ads: executes the router's actions, calls hooks, and waits.

mod files;
mod submissions;
mod user_logs;

use std::collections::{BTreeMap, VecDeque};
use std::fs::OpenOptions;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BString, ByteSlice};
use nix::libc;
use rustc_hash::FxHashMap;

use super::hooks::{HookRunner, NoHookReason};
use super::job_directory::JobDirectory;
use super::options::RouterOptions;
use super::shutdown_conditions::ShutdownConditions;
use super::spool::SpoolCopy;
use super::submission::Submission;
use super::token_files::RouterTokens;
use htc_base::job::{JobId, JobStatus};
use htc_base::process::Exit;
use htc_base::time::MonotonicTime;
use htc_base::world::FrozenClockWorld;
use htc_classad::{Dialect, Expr};
use htc_hook::HookType;
use htc_os as os;
use htc_os::file_lock::ExclusiveLock;
use htc_os::files::open_regular_file;
use htc_os::{CapturedOutput, ChildId, Reactor, clock};
use htc_router::route_choice::UmbrellaError;
use htc_router::{
    CopyUpdateError, FinishedHookCall, QueueView, Router, RouterAction, RouterContext, RouterEvent,
    RouterHookCall, RouterHookResult, YieldError, judge_hook_call,
};

/// Signals that end the run.
const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
/// Time between SIGTERM and SIGKILL for a submit command.
const SUBMIT_KILL_GRACE: Duration = Duration::from_secs(5);
/// Maximum number of rounds for finishing jobs at the end of a run with one poll.
const MAX_SETTLE_ROUNDS: u32 = 4;

/// Returns the signals that end the run.
fn ending_signals() -> Vec<i32> {
    SIGNALS.into_iter().chain(os::ENDING_SIGNALS).collect()
}

/// Reason why the run of a router failed.
#[derive(Debug, thiserror::Error)]
pub enum RouterRunError {
    /// The directory cannot be used.
    #[error("cannot use '{path}'")]
    Directory {
        /// The directory that cannot be used.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Another router is using the directory.
    #[error("another router is using the directory '{0}'")]
    Locked(PathBuf),
    /// The umbrella constraint is not a valid expression.
    #[error("25.14 would abort: {0}")]
    Umbrella(#[from] UmbrellaError),
    /// Waiting for events failed.
    #[error("cannot wait for children")]
    Reactor(#[from] io::Error),
}

/// Router hook that is running.
struct RunningRouterHook {
    call: RouterHookCall,
    deadline: Option<MonotonicTime>,
    killed: bool,
}

/// State of a router that is running.
struct LiveRouter<'a> {
    options: &'a RouterOptions<'a>,
    router: Router,
    directory: JobDirectory,
    /// The queue of the routed jobs, or `None` if it is the directory of the source jobs.
    copies_directory: Option<JobDirectory>,
    reactor: Reactor,
    running_hooks: FxHashMap<ChildId, RunningRouterHook>,
    pending_updates: BTreeMap<JobId, PendingUpdate>,
    submissions: FxHashMap<ChildId, Submission>,
    copying: FxHashMap<ChildId, SpoolCopy>,
    tokens: RouterTokens,
    path: PathBuf,
    /// Absolute path of the directory, for children that have other working directories.
    absolute: PathBuf,
    /// Absolute path of the directory of the routed jobs.
    copies_absolute: PathBuf,
    /// Time since which there has been no job to manage, or `None` if there are jobs.
    idle_since: Option<MonotonicTime>,
}

/// Returns the absolute path of a directory.
fn absolute_path(path: &Path) -> Result<PathBuf, RouterRunError> {
    let refuse = |source| RouterRunError::Directory { path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(refuse)?.is_dir() {
        return Err(refuse(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    path.canonicalize().map_err(refuse)
}

/// Locks a directory, so that no other router can use it.
fn lock(path: &Path) -> Result<ExclusiveLock, RouterRunError> {
    let mut options = OpenOptions::new();
    let file = open_regular_file(&path.join(".lock"), options.create(true).truncate(false).write(true))
        .map_err(|source| RouterRunError::Directory { path: path.join(".lock"), source })?;
    ExclusiveLock::try_acquire(file).map_err(|(_, source)| match source.kind() {
        io::ErrorKind::WouldBlock => RouterRunError::Locked(path.to_owned()),
        _ => RouterRunError::Directory { path: path.join(".lock"), source },
    })
}

/// Changes of a source job that could not be written. They are written again with the next changes.
struct PendingUpdate {
    changes: Vec<(BString, Option<Expr>)>,
    error: String,
}

/// Action on a job of the queue that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutingFailure {
    /// The source job.
    pub source: JobId,
    /// The failed action and the reason.
    pub reason: String,
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterRunOutcome {
    /// Actions that failed in the run.
    pub failures: Vec<RoutingFailure>,
    /// DAEMON_SHUTDOWN or DAEMON_SHUTDOWN_FAST if that ended the run, or else `None`.
    pub shutdown: Option<&'static str>,
    /// Number of files in the directories that are not named as job files, so that they were skipped.
    pub unused_files: usize,
}

/// Runs a router over a directory until it is stopped.
///
/// # Errors
/// Fails if a directory cannot be used, or if the reference would abort.
pub fn run(
    path: &Path,
    router: Router,
    options: &RouterOptions<'_>,
) -> Result<RouterRunOutcome, RouterRunError> {
    let absolute = absolute_path(path)?;
    let copies_absolute = options.copies_directory.map_or(Ok(absolute.clone()), absolute_path)?;
    let copies = options.copies_directory.filter(|_| copies_absolute != absolute);
    let _lock = lock(path)?;
    let _second_lock = copies.map(lock).transpose()?;
    let dialect = Dialect::of_world(options.world);
    let mut live = LiveRouter {
        options,
        router,
        directory: JobDirectory::new(path, dialect),
        copies_directory: copies.map(|copies| JobDirectory::new(copies, dialect)),
        reactor: Reactor::new(&ending_signals())?,
        running_hooks: FxHashMap::default(),
        submissions: FxHashMap::default(),
        pending_updates: BTreeMap::new(),
        copying: FxHashMap::default(),
        tokens: RouterTokens::new(options.view, options.log),
        path: path.to_owned(),
        absolute,
        copies_absolute,
        idle_since: None,
    };
    live.remove_leftovers();
    let shutdown = live.run_polls()?;
    let directories = std::iter::once(&live.directory).chain(&live.copies_directory);
    let unused_files = directories.map(JobDirectory::unused_file_count).sum();
    Ok(RouterRunOutcome { failures: live.failures(), shutdown, unused_files })
}

impl LiveRouter<'_> {
    /// Polls until the run ends; returns the shutdown condition that ended it, or `None`.
    fn run_polls(&mut self) -> Result<Option<&'static str>, RouterRunError> {
        let RouterOptions { view, world, log, .. } = *self.options;
        let mut shutdown = ShutdownConditions::new(view, &self.router.parameters().name, world, log);
        let periodic = self.router.parameters().periodic_interval;
        let mut next_periodic = clock::monotonic_now().plus(periodic);
        let mut next_tokens = Some(clock::monotonic_now());
        loop {
            if next_tokens.is_some_and(|due| due <= clock::monotonic_now()) {
                let tokens = self.tokens.refresh(self.options.view, self.options.world, self.options.log);
                self.router.set_tokens(tokens);
                next_tokens = self.tokens.refresh_interval().map(|every| clock::monotonic_now().plus(every));
            }
            let next_poll = clock::monotonic_now().plus(self.router.parameters().polling_period);
            self.refresh()?;
            if !periodic.is_zero() && clock::monotonic_now() >= next_periodic {
                self.handle_event(RouterEvent::PeriodicExpressionsDue)?;
                next_periodic = clock::monotonic_now().plus(periodic);
            }
            if let Some(parameter) = shutdown.check_if_due(world) {
                log(&format!("{parameter} is true: the router stops, and its jobs stay routed"));
                self.stop_submissions()?;
                return Ok(Some(parameter));
            }
            self.handle_event(RouterEvent::Poll)?;
            if let ControlFlow::Break(()) = self.wait(next_poll)? {
                return Ok(None);
            }
        }
    }

    /// Returns the actions that failed, except failed translate hooks of source jobs that have left the queue.
    fn failures(&self) -> Vec<RoutingFailure> {
        let matters = |source, hook| hook != HookType::TranslateJob || self.directory.job(source).is_some();
        let failures = self.router.failures().filter(|(source, hook, _)| matters(*source, *hook));
        let failures = failures.map(|(source, _, reason)| (source, reason.to_owned()));
        let copies = self.copies_directory.iter().flat_map(JobDirectory::unread_jobs);
        let unread = self.directory.unread_jobs().chain(copies);
        let unread = unread.map(|(job, reason)| (job, reason.to_owned()));
        let pending = self.pending_updates.iter();
        let pending =
            pending.map(|(job, pending)| (*job, format!("it could not be updated: {}", pending.error)));
        let all = failures.chain(unread).chain(pending);
        all.map(|(source, reason)| RoutingFailure { source, reason }).collect()
    }

    /// Returns the time at which the run ends because no jobs are left to manage, or `None` if there are jobs.
    fn idle_end(&mut self, resting: bool) -> Option<MonotonicTime> {
        let limit = self.options.stop_conditions.idle_limit?;
        if !resting || !self.router.is_idle() {
            self.idle_since = None;
            return None;
        }
        Some(self.idle_since.get_or_insert_with(clock::monotonic_now).plus(limit))
    }

    /// Handles events until the next poll is due or the run ends.
    fn wait(&mut self, next_poll: MonotonicTime) -> Result<ControlFlow<()>, RouterRunError> {
        let until = self.options.stop_conditions;
        let mut settled = 0;
        loop {
            // The number of rounds is limited, so that the run ends even if a hook always fails.
            let resting =
                self.running_hooks.is_empty() && self.submissions.is_empty() && self.copying.is_empty();
            if until.once && resting && self.router.has_due_job() && settled < MAX_SETTLE_ROUNDS {
                settled += 1;
                self.handle_event(RouterEvent::FinalPoll)?;
                continue;
            }
            let idle_end = self.idle_end(resting);
            if (resting && until.once) || idle_end.is_some_and(|end| end <= clock::monotonic_now()) {
                return Ok(ControlFlow::Break(()));
            }
            let deadlines = self.running_hooks.values().filter_map(|running| running.deadline);
            let submissions = self.submissions.values().filter_map(|submission| submission.deadline);
            let copying = self.copying.values().filter_map(|copying| copying.deadline);
            let deadlines = deadlines.chain(submissions).chain(copying);
            let deadline = deadlines.chain(idle_end).chain((!until.once).then_some(next_poll)).min();
            match self.reactor.next_event(deadline)? {
                os::ReactorEvent::Exited { child, exit, stdout, stderr, .. } => {
                    if let Some(event) = self.handle_child_exit(child, exit, &stdout, &stderr.bytes) {
                        self.handle_event(event)?;
                    }
                }
                os::ReactorEvent::Signal(number) => {
                    (self.options.log)(&format!(
                        "signal {number}: the router stops, and its jobs stay routed"
                    ));
                    self.stop_submissions()?;
                    return Ok(ControlFlow::Break(()));
                }
                os::ReactorEvent::Timeout => {
                    let now = clock::monotonic_now();
                    self.end_late_submissions(now);
                    self.kill_late_copying(now);
                    self.kill_late_hooks(now);
                    if now >= next_poll && !until.once {
                        return Ok(ControlFlow::Continue(()));
                    }
                }
                _ => {}
            }
        }
    }

    /// Converts the end of a child process to an event for the router.
    fn handle_child_exit(
        &mut self,
        child: ChildId,
        exit: Exit,
        stdout: &CapturedOutput,
        stderr: &[u8],
    ) -> Option<RouterEvent> {
        let log = self.options.log;
        let complaint = stderr.trim().as_bstr();
        let report = |who: String| {
            if !complaint.is_empty() {
                log(&format!("{who} printed on standard error: {complaint}"));
            }
        };
        if let Some(submission) = self.submissions.remove(&child) {
            report(format!("the submit command of {}", submission.source));
            return Some(self.handle_submission_end(&submission, exit, &stdout.bytes));
        }
        if let Some(copying) = self.copying.remove(&child) {
            return Some(self.handle_copying_end(copying, exit, stderr));
        }
        let RunningRouterHook { call, killed, .. } = self.running_hooks.remove(&child)?;
        report(format!("{} of {}", call.hook.name(), call.source));
        let answer = FinishedHookCall {
            dialect: Dialect::of_world(self.options.world),
            hook: call.hook,
            exit,
            stdout: &stdout.bytes,
            is_truncated: stdout.is_truncated,
            source_ad: &call.source_ad,
            routed_ad: (call.hook != HookType::TranslateJob).then_some(&*call.copy_ad),
            edit_in_place: call.is_in_place,
        };
        let failure =
            killed.then(|| "took too long and was killed".to_owned()).or_else(|| stdout.read_failure());
        let result = match failure {
            Some(failure) => RouterHookResult::Failed(failure),
            None => RouterHookResult::Ended(Box::new(judge_hook_call(&answer, self.options.quirks))),
        };
        Some(RouterEvent::HookEnded(call.source, call.hook, result))
    }

    /// Kills hooks that take too long.
    fn kill_late_hooks(&mut self, now: MonotonicTime) {
        for (child, running) in &mut self.running_hooks {
            if running.deadline.is_some_and(|deadline| deadline <= now) {
                (running.killed, running.deadline) = (true, None);
                self.reactor.send_signal(*child, libc::SIGKILL, os::SignalScope::Family);
            }
        }
    }

    /// Reads the queues again. The queue of the routed jobs is read first, so that the routed job of every listed
    /// source job is known.
    fn refresh(&mut self) -> Result<(), RouterRunError> {
        let log = self.options.log;
        let unreadable = |path: &Path, source| RouterRunError::Directory { path: path.to_owned(), source };
        if let Some(second) = &mut self.copies_directory {
            second
                .refresh(None, &mut |text| log(&text))
                .map_err(|source| unreadable(&self.copies_absolute, source))?;
        }
        self.directory
            .refresh(self.copies_directory.as_ref(), &mut |text| log(&text))
            .map_err(|source| unreadable(&self.path, source))
    }

    /// Returns the queue of the routed jobs.
    fn copies_queue(&self) -> &JobDirectory {
        self.copies_directory.as_ref().unwrap_or(&self.directory)
    }

    /// Returns the queue of the routed jobs, to change it.
    fn copies_queue_mut(&mut self) -> &mut JobDirectory {
        self.copies_directory.as_mut().unwrap_or(&mut self.directory)
    }

    /// Handles an event and executes the resulting actions until none are left.
    fn handle_event(&mut self, event: RouterEvent) -> Result<(), RouterRunError> {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let now = self.options.world.now();
            let actions = {
                let frozen = FrozenClockWorld { world: self.options.world, now };
                let context = RouterContext {
                    queue: &self.directory,
                    copies: self.copies_directory.as_ref().unwrap_or(&self.directory),
                    config: Some(self.options.view),
                    parameters: self.options.view,
                    world: &frozen,
                };
                self.router.handle_event(now, event, &context)
            };
            for action in actions {
                events.extend(self.perform_action(action)?);
            }
        }
        Ok(())
    }

    fn perform_action(&mut self, action: RouterAction) -> Result<Option<RouterEvent>, RouterRunError> {
        let world = self.options.world;
        let now = world.now().epoch();
        let log = self.options.log;
        let name = self.router.parameters().name.clone();
        Ok(match action {
            RouterAction::Log(text) => {
                log(&text);
                None
            }
            RouterAction::Quirk(source, quirk) => {
                log(&format!("{source}: {}", quirk.description()));
                None
            }
            RouterAction::Stop(error) => return Err(error.into()),
            RouterAction::Claim(id) => {
                Some(RouterEvent::ClaimResult(id, self.directory.claim(id, &name, world)))
            }
            RouterAction::SubmitCopy(id, ad) => match &self.options.submit_command {
                Some(argv) => self.start_submission(argv, id, *ad),
                None if self.router.is_sandboxed(id) => self.spool(id, *ad, now),
                None => {
                    let submitted =
                        self.copies_queue_mut().submit(&ad, now).map_err(|error| error.to_string());
                    Some(RouterEvent::SubmitResult(id, submitted))
                }
            },
            RouterAction::EditSource(id, changes) => {
                let edited = self.directory.edit_in_place(id, &changes, world);
                Some(RouterEvent::EditResult(id, edited.map_err(|error| error.to_string())))
            }
            RouterAction::UpdateSource(id, changes) => {
                if let Err(error) = self.update_source(id, changes) {
                    log(&format!("cannot update {id}: {error}"));
                }
                None
            }
            RouterAction::UpdateCopy(source, copy, changes) => {
                let updated = self.copies_queue_mut().update(copy, &changes, world);
                let updated = updated.map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound => CopyUpdateError::Refused(error.to_string()),
                    _ => CopyUpdateError::WriteFailed(error.to_string()),
                });
                Some(RouterEvent::CopyUpdateResult(source, updated))
            }
            // The routed job's results are written to the source job before the routed job leaves its queue.
            RouterAction::FinalizeCopy(source, copy) => match self.update_source(source, Vec::new()) {
                Ok(()) => self.start_fetching_output(source, copy, now),
                Err(reason) => Some(RouterEvent::FinalizeResult(source, Err(reason))),
            },
            RouterAction::RemoveCopy(copy, reason) => self.remove_copy(copy, &reason, now),
            RouterAction::YieldSource(id, done) => {
                let result = match self.update_source(id, Vec::new()) {
                    Ok(()) => self.directory.yield_job(id, done, self.router.parameters(), world),
                    Err(_) => Err(YieldError::WriteFailed),
                };
                Some(RouterEvent::YieldResult(id, result))
            }
            RouterAction::UserLog(id, ad, body) => {
                for error in self.write_user_log_event(id, &ad, body) {
                    log(&format!("cannot write the user log of {id}: {error}"));
                }
                None
            }
            RouterAction::CallHook(call) => self.start_hook(call),
        })
    }

    /// Writes changes of a source job, together with earlier changes that could not be written.
    fn update_source(&mut self, id: JobId, changes: Vec<(BString, Option<Expr>)>) -> Result<(), String> {
        let pending = self.pending_updates.remove(&id);
        let mut all = pending.map(|pending| pending.changes).unwrap_or_default();
        all.extend(changes);
        if all.is_empty() {
            return Ok(());
        }
        match self.directory.update(id, &all, self.options.world) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let error = error.to_string();
                self.pending_updates.insert(id, PendingUpdate { changes: all, error: error.clone() });
                Err(error)
            }
            updated => updated.map_err(|error| error.to_string()),
        }
    }

    /// Removes a routed job; returns an event if the removal must be tried again.
    fn remove_copy(&mut self, copy: JobId, reason: &str, now: i64) -> Option<RouterEvent> {
        let changes = [
            ("JobStatus", Expr::literal(JobStatus::REMOVED)),
            ("RemoveReason", Expr::literal(reason)),
            ("EnteredCurrentStatus", Expr::literal(now)),
        ];
        match self.copies_queue_mut().move_to_history(copy, &changes, now) {
            Ok(()) => {
                self.remove_spool(copy);
                None
            }
            Err(error) => {
                (self.options.log)(&format!("cannot remove {copy}: {error}"));
                (error.kind() != io::ErrorKind::NotFound).then_some(RouterEvent::RemoveFailed(copy))
            }
        }
    }

    fn hook_runner(&self) -> HookRunner<'_> {
        HookRunner {
            knobs: self.options.view,
            world: self.options.world,
            environment: self.options.environment.for_hooks(self.options.quirks),
            limit: self.options.hook_limit,
            directory: None,
            quirks: self.options.quirks,
        }
    }

    /// Starts a hook. If no process is started, returns the event with the result.
    fn start_hook(&mut self, call: RouterHookCall) -> Option<RouterEvent> {
        let stdin = HookRunner::stdin(call.hook, &call.route, &call.source_ad, &call.copy_ad);
        let spec = self
            .hook_runner()
            .prepare_call(call.hook, &call.source_ad, stdin)
            .and_then(|(_, call)| call.child_spec().map_err(|error| NoHookReason::Failed(error.to_string())));
        let child = spec.and_then(|spec| {
            self.reactor.spawn(spec).map_err(|error| NoHookReason::Failed(error.to_string()))
        });
        match child {
            Ok(child) => {
                let deadline = self.options.hook_limit.map(|limit| clock::monotonic_now().plus(limit));
                self.running_hooks.insert(child, RunningRouterHook { call, deadline, killed: false });
                None
            }
            Err(none) => Some(RouterEvent::HookEnded(call.source, call.hook, none.into())),
        }
    }
}
