//! Execution of one hook call, with a time limit.

use std::io;
use std::time::Duration;

use super::group_leader::GroupLeaderProcess;
use super::interruptible::Interruptible;
use htc_base::process::{ChildSpec, Exit, ProcessUsage};
use htc_os::{
    LeftoverProcess, OutputStream, Reactor, ReactorEvent, SignalScope, SpawnError, StdinDelivery, clock,
};

/// Outcome of a call.
#[derive(Clone, Debug)]
pub struct CallOutcome {
    /// End of the call, or the reason why it never began.
    pub ending: CallEnding,
    /// Time from the spawn to the report of the exit.
    pub took: Duration,
}

/// End of a call.
#[derive(Clone, Debug)]
pub enum CallEnding {
    /// The hook ran.
    Ran(HookExecution),
    /// The hook could not be executed.
    NotStarted {
        /// Error of the system call, with the name of a missing interpreter.
        reason: String,
        /// Interpreter in the first line of the hook that does not exist, or `None`.
        interpreter: Option<String>,
        /// Error number of the system call, or `None` if it is not known (recordings do not have it).
        errno: Option<i32>,
    },
    /// The caller refused to run the hook.
    Refused {
        /// Message that the caller logs.
        reason: String,
    },
}

impl CallEnding {
    /// Creates the ending of a call that could not be executed.
    pub(super) fn not_started(error: &SpawnError) -> Self {
        let interpreter = error.interpreter.as_ref().map(ToString::to_string);
        let reason = match interpreter {
            Some(_) => error.to_string(),
            None => format!("{error}: {}", error.reason()),
        };
        CallEnding::NotStarted { reason, interpreter, errno: Some(error.errno()) }
    }
}

/// Execution of a hook.
#[derive(Clone, Debug, Default)]
pub struct HookExecution {
    /// Exit status, or `None` if the hook was killed because of the time limit or a signal.
    pub exit: Option<Exit>,
    /// Output that the caller read.
    pub stdout: Vec<u8>,
    /// True if the output reached the limit and the pipe was closed.
    pub cut: bool,
    /// True if another process still had the pipe open when the reading ended.
    pub pipe_held_open: bool,
    /// Standard error, up to a limit.
    pub stderr: Vec<u8>,
    /// Delivery of the input.
    pub stdin: StdinDelivery,
    /// Processes left behind.
    pub left_behind: Vec<LeftoverProcess>,
    /// Signal that the hook sent to its process group, which includes its caller, or `None`.
    pub group_signal: Option<i32>,
    /// Resource usage.
    pub usage: ProcessUsage,
}

impl HookExecution {
    /// Creates the execution from the exit event of a child, or returns `None` for other events.
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
            usage,
        })
    }
}

/// Maximum number of bytes kept of the standard error.
const MAX_STDERR_BYTES: usize = 64 * 1024;

/// Time after which the caller is informed that the hook still runs.
const WAIT_BEFORE_NOTICE: Duration = Duration::from_secs(5);

/// Observation of a call while it runs.
#[derive(Debug)]
pub enum CallProgress<'a> {
    /// A piece of the hook's standard error, if the child was started so that it arrives in pieces.
    Stderr(&'a [u8]),
    /// The hook has run for this time. Sent once.
    StillRunning(Duration),
}

/// Runs the child until it ends or `patience` has passed; then the child and its descendants are killed. What
/// happens meanwhile is passed to `observe`. Processes left behind are killed before this returns. A signal that the
/// reactor reports also ends the child and is returned instead of an outcome.
///
/// # Errors
/// The event loop fails.
pub fn call_hook(
    reactor: &mut Reactor,
    mut spec: ChildSpec,
    patience: Option<Duration>,
    observe: &mut dyn FnMut(CallProgress<'_>),
) -> io::Result<Interruptible<CallOutcome>> {
    let mut aside = GroupLeaderProcess::start(reactor, &mut spec);
    let began = clock::monotonic_now();
    let child = match reactor.spawn(spec) {
        Ok(child) => child,
        Err(error) => {
            if let Some(number) = dismiss_group_leader(&mut aside, reactor)? {
                return Ok(Interruptible::Interrupted(number));
            }
            let ending = CallEnding::not_started(&error);
            let took = clock::monotonic_now().since(began);
            return Ok(Interruptible::Finished(CallOutcome { ending, took }));
        }
    };
    let deadline = patience.map(|patience| began.plus(patience));
    let mut notice_at =
        Some(began.plus(WAIT_BEFORE_NOTICE)).filter(|at| deadline.is_none_or(|end| *at < end));
    let mut killed = false;
    let mut interrupted = None;
    let mut live = Vec::new();
    loop {
        let event = reactor.next_event(if killed { None } else { notice_at.or(deadline) })?;
        if aside.as_mut().is_some_and(|aside| aside.record_exit(&event)) {
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
            ReactorEvent::Signal(number) => {
                killed = true;
                interrupted = Some(number);
                reactor.send_signal(child, nix::libc::SIGKILL, SignalScope::Family);
            }
            ReactorEvent::Exited { child: from, .. } if from == child => {
                let took = clock::monotonic_now().since(began);
                let Some(mut ended) = HookExecution::from_event(event, killed) else { continue };
                // Processes left behind by hooks of the starter and the shadow live until the starter ends, which is
                // now.
                if !ended.left_behind.is_empty() {
                    reactor.send_signal(child, nix::libc::SIGKILL, SignalScope::Family);
                }
                interrupted = interrupted.or(dismiss_group_leader(&mut aside, reactor)?);
                if let Some(number) = interrupted {
                    return Ok(Interruptible::Interrupted(number));
                }
                ended.group_signal = aside.as_ref().and_then(GroupLeaderProcess::signal_from_hook);
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

/// Ends the group leader of a call. Returns the signal that this program received meanwhile, or `None`.
fn dismiss_group_leader(
    aside: &mut Option<GroupLeaderProcess>,
    reactor: &mut Reactor,
) -> io::Result<Option<i32>> {
    let Some(aside) = aside else { return Ok(None) };
    aside.dismiss(reactor);
    aside.wait(reactor)
}
