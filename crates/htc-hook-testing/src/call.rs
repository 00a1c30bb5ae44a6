//! Runs one call to its end, or to the end of patience.

use std::io;
use std::time::Duration;

use super::group_leader::GroupLeaderProcess;
use htc_base::process::{ChildSpec, Exit, ProcessUsage};
use htc_os::{
    LeftoverProcess, OutputStream, Reactor, ReactorEvent, SignalScope, SpawnError, StdinDelivery, clock,
};

/// What came of a call.
#[derive(Clone, Debug)]
pub struct CallOutcome {
    /// How it ended, or why it never began.
    pub ending: CallEnding,
    /// From the spawn to the report of its end.
    pub took: Duration,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub enum CallEnding {
    /// The hook ran.
    Ran(HookExecution),
    /// It could not be executed.
    NotStarted {
        /// What the system says, with the interpreter's name where that is missing.
        reason: String,
        /// The interpreter of its first line that does not exist.
        interpreter: Option<String>,
    },
    /// The caller would not even try.
    Refused {
        /// What the caller logs.
        reason: String,
    },
}

impl CallEnding {
    /// That of a call that could not be executed.
    pub(super) fn not_started(error: &SpawnError) -> Self {
        let interpreter = error.interpreter.as_ref().map(ToString::to_string);
        let reason = match interpreter {
            Some(_) => error.to_string(),
            None => format!("{error}: {}", error.reason()),
        };
        CallEnding::NotStarted { reason, interpreter }
    }
}

/// A hook that ran.
#[derive(Clone, Debug, Default)]
pub struct HookExecution {
    /// How it ended; `None`: patience did, and it was killed.
    pub exit: Option<Exit>,
    /// What its caller has read of its output.
    pub stdout: Vec<u8>,
    /// Whether that reached the limit and the pipe was closed.
    pub cut: bool,
    /// Whether something else still held the pipe when the reading ended.
    pub pipe_held_open: bool,
    /// What it complained of, as far as it is kept.
    pub stderr: Vec<u8>,
    /// What became of its input.
    pub stdin: StdinDelivery,
    /// Processes it left behind.
    pub left_behind: Vec<LeftoverProcess>,
    /// The signal that it sent to its process group, which is its caller's.
    pub group_signal: Option<i32>,
    /// What it used.
    pub usage: ProcessUsage,
}

impl HookExecution {
    /// What the report of a child's end says; none of other events.
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

/// How much of a standard error is kept.
const MAX_STDERR_BYTES: usize = 64 * 1024;

/// Runs the child until it ends, at most `patience`; then it is killed with all that descends from it. Pieces of its
/// standard error are handed to `complaint` as they come (where the specification asks for pieces). What it leaves behind
/// is gone when this returns. A signal that the reactor reports ends it too, and is returned in place of an outcome.
///
/// # Errors
/// The loop itself fails.
pub fn call_hook(
    reactor: &mut Reactor,
    mut spec: ChildSpec,
    patience: Option<Duration>,
    complaint: &mut dyn FnMut(&[u8]),
) -> io::Result<Result<CallOutcome, i32>> {
    let mut aside = GroupLeaderProcess::start(reactor, &mut spec);
    let began = clock::monotonic_now();
    let child = match reactor.spawn(spec) {
        Ok(child) => child,
        Err(error) => {
            if let Some(number) = dismiss_group_leader(&mut aside, reactor)? {
                return Ok(Err(number));
            }
            let ending = CallEnding::not_started(&error);
            return Ok(Ok(CallOutcome { ending, took: clock::monotonic_now().since(began) }));
        }
    };
    let deadline = patience.map(|patience| began.plus(patience));
    let mut killed = false;
    let mut interrupted = None;
    let mut live = Vec::new();
    loop {
        let event = reactor.next_event(if killed { None } else { deadline })?;
        if aside.as_mut().is_some_and(|aside| aside.record_exit(&event)) {
            continue;
        }
        match event {
            ReactorEvent::Piece { child: from, stream: OutputStream::Stderr, bytes } if from == child => {
                complaint(&bytes);
                let room = MAX_STDERR_BYTES.saturating_sub(live.len());
                live.extend_from_slice(&bytes[..bytes.len().min(room)]);
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
                // What hooks of starter and shadow leave behind lives until the starter ends; here that is now.
                if !ended.left_behind.is_empty() {
                    reactor.send_signal(child, nix::libc::SIGKILL, SignalScope::Family);
                }
                interrupted = interrupted.or(dismiss_group_leader(&mut aside, reactor)?);
                if let Some(number) = interrupted {
                    return Ok(Err(number));
                }
                ended.group_signal = aside.as_ref().and_then(GroupLeaderProcess::signal_from_hook);
                if !live.is_empty() {
                    ended.stderr = live;
                }
                return Ok(Ok(CallOutcome { ending: CallEnding::Ran(ended), took }));
            }
            _ => {}
        }
    }
}

/// Ends the bystander of a call; the signal that came for us meanwhile.
fn dismiss_group_leader(
    aside: &mut Option<GroupLeaderProcess>,
    reactor: &mut Reactor,
) -> io::Result<Option<i32>> {
    let Some(aside) = aside else { return Ok(None) };
    aside.dismiss(reactor);
    aside.wait(reactor)
}
