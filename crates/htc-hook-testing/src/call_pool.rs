//! Pool of hook calls that run in parallel in one event loop.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::call::{CallEnding, CallOutcome, HookExecution};
use super::group_leader::GroupLeaderProcess;
use super::signal_sender::{is_in_family, is_sent_by_hook};
use htc_base::process::ChildSpec;
use htc_base::time::MonotonicTime;
use htc_os::{ChildId, Interest, Reactor, ReactorEvent, SignalScope, clock};

/// Call to be made by the pool.
#[derive(Clone, Debug)]
pub struct PooledCall<T> {
    /// Value that identifies the call to the user of the pool.
    pub tag: T,
    /// Description of the child process.
    pub spec: ChildSpec,
    /// Time after which the call is killed.
    pub patience: Duration,
}

struct RunningCall<T> {
    tag: T,
    began: MonotonicTime,
    deadline: MonotonicTime,
    killed: bool,
    group_leader: Option<GroupLeaderProcess>,
    /// Pid of the hook, or `None` if it is unknown.
    pid: Option<i32>,
    /// Signal that the hook sent to this program, or `None`.
    caller_signal: Option<i32>,
}

/// Call whose hook has ended, while the process that leads its process group is still running.
struct EndedCall<T> {
    tag: T,
    execution: HookExecution,
    took: Duration,
    group_leader: GroupLeaderProcess,
}

/// Source of calls, which may have no call for a while.
pub trait CallSource {
    /// Returns a descriptor that is readable when the source may have another call.
    fn descriptor(&self) -> BorrowedFd<'_>;
    /// Returns true if the source has no more calls.
    fn is_finished(&self) -> bool;
}

/// Starts a call. If that fails, passes the failure to `done` and returns `None`.
fn begin_call<T>(
    reactor: &mut Reactor,
    job: PooledCall<T>,
    done: &mut dyn FnMut(T, CallOutcome),
) -> Option<(ChildId, RunningCall<T>)> {
    let PooledCall { tag, mut spec, patience } = job;
    let leader = GroupLeaderProcess::start(reactor, &mut spec);
    let began = clock::monotonic_now();
    match reactor.spawn(spec) {
        Ok(child) => {
            let (deadline, pid) = (began.plus(patience), reactor.pid(child));
            let call = RunningCall {
                tag,
                began,
                deadline,
                killed: false,
                group_leader: leader,
                pid,
                caller_signal: None,
            };
            Some((child, call))
        }
        Err(error) => {
            leader.into_iter().for_each(|mut leader| leader.dismiss(reactor));
            let ending = CallEnding::not_started(&error);
            done(tag, CallOutcome { ending, took: clock::monotonic_now().since(began) });
            None
        }
    }
}

/// Handles the end of a hook. If the process that leads its process group has not ended, returns the call to wait for
/// it; otherwise passes the outcome to `done`.
fn end_call<T>(
    reactor: &mut Reactor,
    one: RunningCall<T>,
    mut ended: HookExecution,
    done: &mut dyn FnMut(T, CallOutcome),
) -> Option<EndedCall<T>> {
    ended.caller_signal = one.caller_signal;
    ended.group_signal = one.group_leader.as_ref().and_then(GroupLeaderProcess::signal_from_hook);
    let took = clock::monotonic_now().since(one.began);
    match one.group_leader.filter(|leader| !leader.has_exited()) {
        Some(mut leader) => {
            leader.dismiss(reactor);
            Some(EndedCall { tag: one.tag, execution: ended, took, group_leader: leader })
        }
        None => {
            done(one.tag, CallOutcome { ending: CallEnding::Ran(ended), took });
            None
        }
    }
}

/// Returns the pid of the running hook that sent the last signal with this number, or `None`.
fn sending_hook<T>(
    number: i32,
    running: &FxHashMap<ChildId, RunningCall<T>>,
    reactor: &Reactor,
) -> Option<i32> {
    let sender = reactor.signal_sender(number)?;
    running.values().any(|one| one.pid == Some(sender)).then_some(sender)
}

/// Makes the calls that `next` returns, at most `parallel` at a time, and passes each outcome to `done`. Ends when no
/// call is running and `next` returns `None`. If a signal interrupts the pool, kills all running hooks and returns
/// the signal.
///
/// # Errors
/// The event loop fails.
pub fn run_pool<T>(
    reactor: &mut Reactor,
    parallel: usize,
    next: &mut dyn FnMut() -> Option<PooledCall<T>>,
    done: &mut dyn FnMut(T, CallOutcome),
) -> io::Result<Option<i32>> {
    run_pool_from_source(reactor, parallel, None, next, done)
}

/// Makes calls like [`run_pool`], but from a source that may have no call for a while. Signals, time limits and the
/// ends of hooks are handled while waiting for the source.
///
/// # Errors
/// The event loop fails.
pub fn run_pool_from_source<T>(
    reactor: &mut Reactor,
    parallel: usize,
    coming: Option<&dyn CallSource>,
    next: &mut dyn FnMut() -> Option<PooledCall<T>>,
    done: &mut dyn FnMut(T, CallOutcome),
) -> io::Result<Option<i32>> {
    let mut running: FxHashMap<ChildId, RunningCall<T>> = FxHashMap::default();
    let mut finished: Vec<EndedCall<T>> = Vec::new();
    let mut watch = None;
    loop {
        while running.len() < parallel.max(1) {
            let Some(job) = next() else { break };
            running.extend(begin_call(reactor, job, done));
        }
        // While the maximum number of calls is running, the source is not watched, because no call could be started.
        let awaited = coming.filter(|coming| running.len() < parallel.max(1) && !coming.is_finished());
        match (awaited, watch) {
            (Some(coming), None) => watch = Some(reactor.watch(coming.descriptor(), Interest::Read)?),
            (None, Some(token)) => {
                reactor.unwatch(token);
                watch = None;
            }
            _ => {}
        }
        if running.is_empty() && finished.is_empty() && awaited.is_none() {
            return Ok(None);
        }
        let deadline = running.values().filter(|one| !one.killed).map(|one| one.deadline).min();
        // Time limits are checked after every event: while other hooks keep ending, waiting never times out.
        let now = clock::monotonic_now();
        for (&child, one) in &mut running {
            if !one.killed && one.deadline <= now {
                one.killed = true;
                reactor.send_signal(child, nix::libc::SIGKILL, SignalScope::Family);
            }
        }
        let event = reactor.next_event(deadline)?;
        if running
            .values_mut()
            .filter_map(|one| one.group_leader.as_mut())
            .any(|leader| leader.record_exit(&event))
        {
            continue;
        }
        if let Some(at) = finished.iter_mut().position(|one| one.group_leader.record_exit(&event)) {
            let EndedCall { tag, execution: mut ended, took, group_leader: leader } =
                finished.swap_remove(at);
            ended.group_signal = leader.signal_from_hook();
            done(tag, CallOutcome { ending: CallEnding::Ran(ended), took });
            continue;
        }
        match event {
            ReactorEvent::Signal(number)
                if is_sent_by_hook(number, sending_hook(number, &running, reactor), reactor) =>
            {
                let sender = reactor.signal_sender(number);
                let sent_by =
                    |one: &&mut RunningCall<T>| one.pid.is_some_and(|pid| is_in_family(pid, sender));
                if let Some(call) = running.values_mut().find(sent_by) {
                    call.caller_signal = Some(number);
                }
            }
            ReactorEvent::Signal(number) => {
                watch.into_iter().for_each(|token| reactor.unwatch(token));
                reactor.kill_all(Duration::from_secs(2));
                return Ok(Some(number));
            }
            ReactorEvent::Exited { child, .. } => {
                let Some(one) = running.remove(&child) else { continue };
                let Some(ended) = HookExecution::from_event(event, one.killed) else { continue };
                if !ended.left_behind.is_empty() {
                    reactor.send_signal(child, nix::libc::SIGKILL, SignalScope::Family);
                }
                finished.extend(end_call(reactor, one, ended, done));
            }
            _ => {}
        }
    }
}
