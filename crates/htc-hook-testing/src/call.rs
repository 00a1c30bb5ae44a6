//! Runs one call to its end, or to the end of patience.

use std::io;
use std::time::Duration;

use super::aside::Aside;
use htc_base::process::{ChildSpec, Exit, Usage};
use htc_os::{Event, Given, Leftover, Reactor, SpawnError, Stream, Whom, clock};

/// What came of a call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended, or why it never began.
    pub ending: Ending,
    /// From the spawn to the report of its end.
    pub took: Duration,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub enum Ending {
    /// The hook ran.
    Ran(Ended),
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

impl Ending {
    /// That of a call that could not be executed.
    pub(super) fn not_started(error: &SpawnError) -> Self {
        let interpreter = error.interpreter.as_ref().map(ToString::to_string);
        let reason = match interpreter {
            Some(_) => error.to_string(),
            None => format!("{error}: {}", error.reason()),
        };
        Ending::NotStarted { reason, interpreter }
    }
}

/// A hook that ran.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// How it ended; `None`: patience did, and it was killed.
    pub exit: Option<Exit>,
    /// What its caller has read of its output.
    pub stdout: Vec<u8>,
    /// Whether that reached the limit and the pipe was closed.
    pub cut: bool,
    /// Whether something else still held the pipe when the reading ended.
    pub held: bool,
    /// What it complained of, as far as it is kept.
    pub stderr: Vec<u8>,
    /// What became of its input.
    pub stdin: Given,
    /// Processes it left behind.
    pub left_behind: Vec<Leftover>,
    /// The signal that it sent to its process group, which is its caller's.
    pub to_group: Option<i32>,
    /// What it used.
    pub usage: Usage,
}

impl Ended {
    /// What the report of a child's end says; none of other events.
    pub(super) fn of(event: Event, killed: bool) -> Option<Self> {
        let Event::Exited { exit, usage, stdin, stdout, stderr, left_behind, .. } = event else {
            return None;
        };
        Some(Ended {
            exit: (!killed).then_some(exit),
            stdout: stdout.bytes,
            cut: stdout.cut,
            held: stdout.held,
            stderr: stderr.bytes,
            stdin,
            left_behind,
            to_group: None,
            usage,
        })
    }
}

/// How much of a standard error is kept.
const STDERR_KEPT: usize = 64 * 1024;

/// Runs the child until it ends, at most `patience`; then it is killed with all that descends from it. Pieces of its
/// standard error are handed to `complaint` as they come (where the specification asks for pieces). What it leaves behind
/// is gone when this returns. A signal that the reactor reports ends it too, and is returned in place of an outcome.
///
/// # Errors
/// The loop itself fails.
pub fn call(
    reactor: &mut Reactor,
    mut spec: ChildSpec,
    patience: Option<Duration>,
    complaint: &mut dyn FnMut(&[u8]),
) -> io::Result<Result<Outcome, i32>> {
    let mut aside = Aside::of(reactor, &mut spec);
    let began = clock::tick();
    let child = match reactor.spawn(spec) {
        Ok(child) => child,
        Err(error) => {
            if let Some(number) = dismiss(&mut aside, reactor)? {
                return Ok(Err(number));
            }
            let ending = Ending::not_started(&error);
            return Ok(Ok(Outcome { ending, took: clock::tick().since(began) }));
        }
    };
    let deadline = patience.map(|patience| began.plus(patience));
    let mut killed = false;
    let mut interrupted = None;
    let mut live = Vec::new();
    loop {
        let event = reactor.next(if killed { None } else { deadline })?;
        if aside.as_mut().is_some_and(|aside| aside.sees(&event)) {
            continue;
        }
        match event {
            Event::Piece { child: from, stream: Stream::Stderr, bytes } if from == child => {
                complaint(&bytes);
                let room = STDERR_KEPT.saturating_sub(live.len());
                live.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Event::Timeout => {
                killed = true;
                reactor.kill(child, nix::libc::SIGKILL, Whom::Family);
            }
            Event::Signal(number) => {
                killed = true;
                interrupted = Some(number);
                reactor.kill(child, nix::libc::SIGKILL, Whom::Family);
            }
            Event::Exited { child: from, .. } if from == child => {
                let took = clock::tick().since(began);
                let Some(mut ended) = Ended::of(event, killed) else { continue };
                // What hooks of starter and shadow leave behind lives until the starter ends; here that is now.
                if !ended.left_behind.is_empty() {
                    reactor.kill(child, nix::libc::SIGKILL, Whom::Family);
                }
                interrupted = interrupted.or(dismiss(&mut aside, reactor)?);
                if let Some(number) = interrupted {
                    return Ok(Err(number));
                }
                ended.to_group = aside.as_ref().and_then(Aside::signalled);
                if !live.is_empty() {
                    ended.stderr = live;
                }
                return Ok(Ok(Outcome { ending: Ending::Ran(ended), took }));
            }
            _ => {}
        }
    }
}

/// Ends the bystander of a call; the signal that came for us meanwhile.
fn dismiss(aside: &mut Option<Aside>, reactor: &mut Reactor) -> io::Result<Option<i32>> {
    let Some(aside) = aside else { return Ok(None) };
    aside.dismiss(reactor);
    aside.wait(reactor)
}
