//! Event loop of the language server: waits for messages, answers them, and publishes diagnostics after a pause in typing.

use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use lsp_server::Message;

use super::framing::{ServerInput, parse_message, push_content, read_input};
use crate::cli::common::{Problem, ProgramContext, Status, exit_when_reader_is_gone, stdout};
use crate::lsp::{ExitKind, Server};
use crate::world::World;

/// Time after the last change when diagnostics are published.
const QUIET_TIME: Duration = Duration::from_millis(20);
/// Time after the first change when diagnostics are published even if the text is still changing.
const LONGEST_WAIT: Duration = Duration::from_millis(60);

/// Times of the first and the last change since diagnostics were published.
#[derive(Clone, Copy, Debug)]
struct PendingChanges {
    first: Instant,
    last: Instant,
}

impl PendingChanges {
    fn due_time(self) -> Instant {
        (self.last + QUIET_TIME).min(self.first + LONGEST_WAIT)
    }
}

/// Runs the event loop until the editor ends the server or closes the connection.
pub(super) fn run(
    server: &mut Server,
    world: &dyn World,
    program: &ProgramContext,
) -> anyhow::Result<Status> {
    exit_when_reader_is_gone();
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(found) = read_input(&mut input) {
            let is_last = !matches!(found, ServerInput::Content(_));
            if sender.send(found).is_err() || is_last {
                return;
            }
        }
    });
    let mut pending: Option<PendingChanges> = None;
    loop {
        let inputs = match next_inputs(&receiver, pending) {
            Ok(inputs) => inputs,
            Err(RecvTimeoutError::Timeout) => {
                pending = None;
                let messages = server.publish(world);
                write_messages(&messages, &[])?;
                continue;
            }
            // The editor has closed the connection.
            Err(RecvTimeoutError::Disconnected) => return Ok(end_status(server.is_shut_down())),
        };
        let ParsedInputs { messages, refusals, problem } = parse_inputs(inputs);
        let is_change = messages.iter().any(|message| matches!(message, Message::Notification(_)));
        let answers = server.receive(messages, world);
        write_messages(&answers, &refusals)?;
        if let Some(problem) = problem {
            return Err(problem.into());
        }
        if let Some(kind) = server.exit_kind() {
            if kind == ExitKind::Abrupt {
                program.write_line("received exit before shutdown");
            }
            return Ok(end_status(kind == ExitKind::Orderly));
        }
        if is_change && server.has_changes() {
            let now = Instant::now();
            let first = pending.map_or(now, |pending| pending.first);
            pending = Some(PendingChanges { first, last: now });
        }
    }
}

/// Returns all inputs that have arrived. If there are none, waits for an input, at most until diagnostics are due.
fn next_inputs(
    receiver: &Receiver<ServerInput>,
    pending: Option<PendingChanges>,
) -> Result<Vec<ServerInput>, RecvTimeoutError> {
    let first = match pending {
        None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)?,
        Some(pending) => {
            let left = pending.due_time().saturating_duration_since(Instant::now());
            receiver.recv_timeout(left)?
        }
    };
    Ok(std::iter::once(first).chain(receiver.try_iter()).collect())
}

/// Parsed inputs: messages, answers to contents that are not messages, and the reason why no further input can be read.
#[derive(Default)]
struct ParsedInputs {
    messages: Vec<Message>,
    refusals: Vec<String>,
    problem: Option<Problem>,
}

fn parse_inputs(inputs: Vec<ServerInput>) -> ParsedInputs {
    let mut parsed = ParsedInputs::default();
    for input in inputs {
        match input {
            ServerInput::Content(content) => match parse_message(&content) {
                Ok(message) => parsed.messages.push(message),
                Err(answer) => parsed.refusals.push(answer.to_string()),
            },
            ServerInput::BadFraming(problem) => {
                let message =
                    format!("standard input does not follow the Language Server Protocol: {problem}");
                let hint = "an editor starts this verb; see the page about editors in the book";
                parsed.problem = Some(Problem::unreadable(message).hint(hint));
            }
            ServerInput::Failed(error) => {
                parsed.problem = Some(Problem::unreadable("cannot read standard input").caused_by(error));
            }
        }
    }
    parsed
}

/// Returns the exit status that the protocol requires: 0 after `shutdown`, otherwise 1.
fn end_status(is_shut_down: bool) -> Status {
    if is_shut_down { Status::Done } else { Status::No }
}

fn write_messages(messages: &[Message], refusals: &[String]) -> anyhow::Result<()> {
    let mut out = Vec::new();
    refusals.iter().for_each(|refusal| push_content(refusal, &mut out));
    for message in messages {
        message.write(&mut out)?;
    }
    if out.is_empty() {
        return Ok(());
    }
    let mut stdout = stdout();
    stdout.write_all(&out)?;
    stdout.flush()?;
    Ok(())
}
