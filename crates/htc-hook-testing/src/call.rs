//! Execution of one hook call, with a time limit.

use std::io;
use std::time::Duration;

use super::group_leader::GroupLeaderProcess;
use super::interruptible::Interruptible;
use super::signal_sender::is_sent_by_hook;
use htc_base::process::{ChildSpec, Exit, ProcessUsage};
use htc_os::{
    LeftoverProcess, OutputStream, Reactor, ReactorEvent, SignalScope, SpawnError, StdinDelivery, clock,
};

/// Outcome of a hook call.
#[derive(Clone, Debug)]
pub struct CallOutcome {
    /// End of the call, or the reason why the hook was not started.
    pub ending: CallEnding,
    /// Time from starting the hook until its exit was reported.
    pub took: Duration,
}

/// End of a hook call.
#[derive(Clone, Debug)]
pub enum CallEnding {
    /// The hook was started and has ended.
    Ran(HookExecution),
    /// The hook could not be executed.
    NotStarted {
        /// Error of the system call; if an interpreter is missing, the text names it.
        reason: String,
        /// Interpreter that the first line of the hook names but that does not exist, or `None`.
        interpreter: Option<String>,
        /// Error number of the system call, or `None` if it is unknown, because recordings do not contain it.
        errno: Option<i32>,
    },
    /// The caller refused to run the hook.
    Refused {
        /// Message that the caller logs.
        reason: String,
    },
}

impl CallEnding {
    /// Creates the end of a call whose hook could not be executed.
    pub(super) fn not_started(error: &SpawnError) -> Self {
        let interpreter = error.interpreter.as_ref().map(ToString::to_string);
        let reason = match interpreter {
            Some(_) => error.to_string(),
            None => format!("{error}: {}", error.reason()),
        };
        CallEnding::NotStarted { reason, interpreter, errno: Some(error.errno()) }
    }
}

/// Result of executing a hook.
#[derive(Clone, Debug, Default)]
pub struct HookExecution {
    /// Exit status, or `None` if the hook was killed because of the time limit or a signal.
    pub exit: Option<Exit>,
    /// Output that the caller has read.
    pub stdout: Vec<u8>,
    /// True if the output reached the maximum length, so that the pipe was closed.
    pub cut: bool,
    /// True if another process still had the pipe open when the caller stopped reading.
    pub pipe_held_open: bool,
    /// Beginning of the hook's standard error, up to a maximum length.
    pub stderr: Vec<u8>,
    /// Number of bytes of standard input that were offered to the hook, and number of bytes that it did not read.
    pub stdin: StdinDelivery,
    /// Processes that the hook left behind.
    pub left_behind: Vec<LeftoverProcess>,
    /// Signal that the hook sent to its process group, which includes its caller, or `None`.
    pub group_signal: Option<i32>,
    /// Signal that the hook sent to this program, its caller, or `None`.
    pub caller_signal: Option<i32>,
    /// Resource usage of the hook.
    pub usage: ProcessUsage,
}

impl HookExecution {
    /// Creates the result from the exit event of a child, or returns `None` for other events. `killed` is true if the
    /// hook was killed because of the time limit.
    pub(super) fn from_event(event: ReactorEvent, killed: bool) -> Option<Self> {
        let ReactorEvent::Exited { exit, usage, stdin, stdout, stderr, left_behind, .. } = event else {
            return None;
        };
        Some(HookExecution {
            exit: (!killed).then_some(exit),
            stdout: stdout.bytes,
            cut: stdout.is_truncated,
            pipe_held_open: stdout.is_held_open,
            stderr: stderr.bytes,
            stdin,
            left_behind,
            group_signal: None,
            caller_signal: None,
            usage,
        })
    }
}

/// Maximum number of bytes kept of a hook's standard error.
const MAX_STDERR_BYTES: usize = 64 * 1024;

/// Time after which the caller is informed once that the hook is still running.
const WAIT_BEFORE_NOTICE: Duration = Duration::from_secs(5);

/// Observation of a hook while it runs.
#[derive(Debug)]
pub enum CallProgress<'a> {
    /// Part of the hook's standard error; sent only if the child was described with standard error in parts.
    Stderr(&'a [u8]),
    /// The hook has been running for this time. Sent only once.
    StillRunning(Duration),
}

/// Runs a hook until it ends or `patience` has passed; in the latter case, the hook and its descendants are killed.
/// Observations of the running hook are passed to `observe`. Processes that the hook left behind are killed before
/// this function returns. If the reactor reports a signal, the hook is killed and the signal is returned instead of
/// an outcome.
///
/// # Errors
/// The event loop fails.
pub fn call_hook(
    reactor: &mut Reactor,
    mut spec: ChildSpec,
    patience: Option<Duration>,
    observe: &mut dyn FnMut(CallProgress<'_>),
) -> io::Result<Interruptible<CallOutcome>> {
    let mut group_leader = GroupLeaderProcess::start(reactor, &mut spec);
    let began = clock::monotonic_now();
    let child = match reactor.spawn(spec) {
        Ok(child) => child,
        Err(error) => {
            if let Some(number) = dismiss_group_leader(&mut group_leader, reactor)? {
                return Ok(Interruptible::Interrupted(number));
            }
            let ending = CallEnding::not_started(&error);
            let took = clock::monotonic_now().since(began);
            return Ok(Interruptible::Finished(CallOutcome { ending, took }));
        }
    };
    let pid = reactor.pid(child);
    let deadline = patience.map(|patience| began.plus(patience));
    let mut notice_at =
        Some(began.plus(WAIT_BEFORE_NOTICE)).filter(|at| deadline.is_none_or(|end| *at < end));
    let mut killed = false;
    let (mut interrupted, mut caller_signal) = (None, None);
    let mut live = Vec::new();
    loop {
        let event = reactor.next_event(if killed { None } else { notice_at.or(deadline) })?;
        if group_leader.as_mut().is_some_and(|group_leader| group_leader.record_exit(&event)) {
            continue;
        }
        match event {
            ReactorEvent::Piece { child: from, stream: OutputStream::Stderr, bytes } if from == child => {
                observe(CallProgress::Stderr(&bytes));
                let room = MAX_STDERR_BYTES.saturating_sub(live.len());
                live.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            ReactorEvent::Timeout if notice_at.take().is_some() => {
                observe(CallProgress::StillRunning(WAIT_BEFORE_NOTICE));
            }
            ReactorEvent::Timeout => {
                killed = true;
                reactor.send_signal(child, nix::libc::SIGKILL, SignalScope::Family);
            }
            ReactorEvent::Signal(number) if is_sent_by_hook(number, pid, reactor) => {
                caller_signal = Some(number)
            }
            ReactorEvent::Signal(number) => {
                killed = true;
                interrupted = Some(number);
                reactor.send_signal(child, nix::libc::SIGKILL, SignalScope::Family);
            }
            ReactorEvent::Exited { child: from, .. } if from == child => {
                let took = clock::monotonic_now().since(began);
                let Some(mut ended) = HookExecution::from_event(event, killed) else { continue };
                // Processes left behind by hooks of the starter and the shadow live until the starter ends. No
                // starter exists here, so they are killed now.
                if !ended.left_behind.is_empty() {
                    reactor.send_signal(child, nix::libc::SIGKILL, SignalScope::Family);
                }
                interrupted = interrupted.or(dismiss_group_leader(&mut group_leader, reactor)?);
                if let Some(number) = interrupted {
                    return Ok(Interruptible::Interrupted(number));
                }
                ended.caller_signal = caller_signal;
                ended.group_signal = group_leader.as_ref().and_then(GroupLeaderProcess::signal_from_hook);
                if !live.is_empty() {
                    ended.stderr = live;
                }
                let outcome = CallOutcome { ending: CallEnding::Ran(ended), took };
                return Ok(Interruptible::Finished(outcome));
            }
            _ => {}
        }
    }
}

/// Ends the process that leads the hook's process group. Returns the last signal that this program received in the
/// meantime, or `None`.
fn dismiss_group_leader(
    group_leader: &mut Option<GroupLeaderProcess>,
    reactor: &mut Reactor,
) -> io::Result<Option<i32>> {
    let Some(group_leader) = group_leader else { return Ok(None) };
    group_leader.dismiss(reactor);
    group_leader.wait(reactor)
}
