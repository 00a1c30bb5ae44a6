//! A socket by which a running execution point is told what the tools tell a real one: vacate, drain, suspend, off.
//!
//! One request a connection: a JSON object on one line, `{"command": "vacate", "slot": "slot1", "how": "fast"}`; one JSON
//! object comes back: `{"ok": true}`, `{"error": "..."}` or `{"slots": [...]}`. Nobody is waited for: a client that says
//! nothing holds nothing up.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::os::{Interest, Reactor, Token, clock};
use crate::slot::{DrainRequest, DrainSpeed, Event, Shutdown};
use crate::text::similar::nearest;
use crate::time::Tick;

/// A request is no longer than this.
const LONGEST: usize = 4096;
/// So many clients are served at a time; others wait in the socket's own queue.
const MOST_CLIENTS: usize = 16;
/// How long a client may take to say what it wants: others wait for its place.
const PATIENCE: Duration = Duration::from_secs(5);
/// When nobody can be let in (no descriptor is free), it is tried again after this.
const AGAIN: Duration = Duration::from_secs(1);

/// What a client asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// `vacate`, `suspend`, `continue`, `drain`, `undrain`, `off`, `reconfig` or `status`.
    pub command: String,
    /// The slot it is about; all of them without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// `graceful` (the default), `quick`, `fast` or `peaceful`, where the command knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// Why, for a drain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For a drain: whether slots take jobs again when all are drained.
    #[serde(default)]
    pub resume: bool,
}

/// What comes back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether it was done, or is being done.
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// For `status`: the slots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<SlotStatus>,
}

/// One slot of a status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotStatus {
    /// Its id.
    pub slot: String,
    /// Its state.
    pub state: String,
    /// Its activity.
    pub activity: String,
    /// How long the job has run, in seconds, where one runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_seconds: Option<i64>,
}

/// The words of requests.
const COMMANDS: [&str; 8] =
    ["vacate", "suspend", "continue", "drain", "undrain", "off", "reconfig", "status"];

/// What a request means.
#[derive(Debug)]
pub(super) enum Meaning {
    Event(Box<Event>),
    Reconfigure,
    Status,
}

impl Request {
    /// Why the slot that it names cannot be meant, where it names one; `known` are those there are.
    pub(super) fn check_slot(&self, known: &[&str]) -> Result<(), String> {
        let Some(slot) = &self.slot else { return Ok(()) };
        if known.iter().any(|id| id.eq_ignore_ascii_case(slot)) {
            return Ok(());
        }
        let mut message = format!("there is no slot '{slot}'");
        if COMMANDS.contains(&slot.as_str()) {
            message += &format!("; {slot} is a verb, which comes first");
        } else if let Some(near) = nearest(slot.to_ascii_lowercase(), known.iter().copied()) {
            message += &format!("; did you mean {near}?");
        } else {
            message += &format!("; there are {}", known.join(", "));
        }
        Err(message)
    }

    /// What is to be done.
    pub(super) fn meaning(self) -> Result<Meaning, String> {
        let verb = self.command.as_str();
        if self.slot.is_some() && matches!(verb, "off" | "undrain" | "reconfig") {
            return Err(format!("'{verb}' is for the whole execution point: name no slot"));
        }
        let how = self.how.as_deref().unwrap_or("graceful");
        let unknown = |known: &str| Err(format!("'{how}' is not known here; {known}"));
        let event = match self.command.as_str() {
            "vacate" => match how {
                "graceful" => Event::Vacate { slot: self.slot, fast: false },
                "fast" => Event::Vacate { slot: self.slot, fast: true },
                _ => return unknown("graceful or fast"),
            },
            "suspend" => Event::Suspend { slot: self.slot },
            "continue" => Event::Continue { slot: self.slot },
            "drain" => {
                let speed = match how {
                    "graceful" => DrainSpeed::Graceful,
                    "quick" => DrainSpeed::Quick,
                    "fast" => DrainSpeed::Fast,
                    _ => return unknown("graceful, quick or fast"),
                };
                let reason = self.reason.unwrap_or_else(|| "by command".into());
                Event::Drain(DrainRequest { speed, reason, resume: self.resume })
            }
            "undrain" => Event::CancelDrain,
            "off" => match how {
                "peaceful" => Event::Shutdown(Shutdown::Peaceful),
                "graceful" => Event::Shutdown(Shutdown::Graceful),
                "fast" => Event::Shutdown(Shutdown::Fast),
                _ => return unknown("peaceful, graceful or fast"),
            },
            "reconfig" => return Ok(Meaning::Reconfigure),
            "status" => return Ok(Meaning::Status),
            other => return Err(format!("there is no command '{other}': {}", COMMANDS.join(", "))),
        };
        Ok(Meaning::Event(Box::new(event)))
    }
}

/// Sends a request and waits for the answer.
///
/// # Errors
/// Nobody listens there, or the answer is none.
pub fn ask(socket: &Path, request: &Request) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(serde_json::from_slice(&answer)?)
}

/// The listening end.
pub(super) struct Control {
    listener: UnixListener,
    /// While it is listened to; not while all places are taken.
    token: Option<Token>,
    /// When it is listened to again at the latest, where it is not.
    again: Option<Tick>,
    path: PathBuf,
    clients: BTreeMap<Token, Client>,
}

/// Somebody who has not said all yet.
struct Client {
    stream: UnixStream,
    said: Vec<u8>,
    until: Tick,
}

impl Control {
    /// Listens at `path`. A socket that nobody listens at any more is replaced.
    pub(super) fn open(path: &Path, reactor: &mut Reactor) -> io::Result<Self> {
        let is_socket = path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket());
        if is_socket {
            if UnixStream::connect(path).is_ok() {
                return Err(io::Error::new(
                    io::ErrorKind::AddrInUse,
                    "another execution point listens there",
                ));
            }
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        // Who may speak to it may kill jobs.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let token = Some(reactor.watch(listener.as_fd(), Interest::Read)?);
        Ok(Control { listener, token, again: None, path: path.to_owned(), clients: BTreeMap::new() })
    }

    /// Something can be read: the whole request of a client, if it is complete now.
    pub(super) fn readable(
        &mut self,
        token: Token,
        reactor: &mut Reactor,
    ) -> Option<(Token, Result<Request, String>)> {
        if Some(token) == self.token {
            self.accept(reactor);
            return None;
        }
        let Client { stream, said: text, .. } = self.clients.get_mut(&token)?;
        let mut buffer = [0; 1024];
        match stream.read(&mut buffer) {
            Ok(0) => {}
            Ok(count) => {
                text.extend_from_slice(&buffer[..count]);
                if !text.contains(&b'\n') && text.len() < LONGEST {
                    return None;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
            Err(_) => text.clear(),
        }
        let text = std::mem::take(text);
        if text.trim_ascii().is_empty() {
            self.drop_client(token, reactor);
            return None;
        }
        let request = serde_json::from_slice::<Request>(text.trim_ascii());
        Some((token, request.map_err(|error| format!("a request is one JSON object on a line: {error}"))))
    }

    /// Lets in who waits, as far as there are places.
    fn accept(&mut self, reactor: &mut Reactor) {
        while self.clients.len() < MOST_CLIENTS {
            let accepted = self.listener.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(true)?;
                let token = reactor.watch(stream.as_fd(), Interest::Read)?;
                let until = clock::tick().plus(PATIENCE);
                Ok((token, Client { stream, said: Vec::new(), until }))
            });
            match accepted {
                Ok((token, client)) => drop(self.clients.insert(token, client)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // He still waits: looking at once would never end.
                Err(_) => {
                    self.again = Some(clock::tick().plus(AGAIN));
                    break;
                }
            }
        }
        if let Some(token) = self.token.take() {
            reactor.unwatch(token);
        }
    }

    /// When [`Control::look`] is to be called next.
    pub(super) fn next_look(&self) -> Option<Tick> {
        self.clients.values().map(|client| client.until).chain(self.again).min()
    }

    /// Hangs up on those who have taken too long, and lets others in.
    pub(super) fn look(&mut self, now: Tick, reactor: &mut Reactor) {
        let late = |(token, client): (&Token, &Client)| (client.until <= now).then_some(*token);
        let late: Vec<Token> = self.clients.iter().filter_map(late).collect();
        for token in late {
            self.drop_client(token, reactor);
        }
        if self.again.is_some_and(|again| again <= now) {
            self.again = None;
            self.listen(reactor);
        }
    }

    fn listen(&mut self, reactor: &mut Reactor) {
        if self.token.is_none() && self.again.is_none() && self.clients.len() < MOST_CLIENTS {
            self.token = reactor.watch(self.listener.as_fd(), Interest::Read).ok();
            if self.token.is_none() {
                self.again = Some(clock::tick().plus(AGAIN));
            }
        }
    }

    /// Answers and hangs up.
    pub(super) fn answer(&mut self, token: Token, answer: &Answer, reactor: &mut Reactor) {
        if let Some(Client { stream, .. }) = self.clients.get_mut(&token)
            && let Ok(mut line) = serde_json::to_vec(answer)
        {
            line.push(b'\n');
            // An answer fits into the socket's buffer; a client that has gone does not want it.
            let _ = stream.write_all(&line);
        }
        self.drop_client(token, reactor);
    }

    fn drop_client(&mut self, token: Token, reactor: &mut Reactor) {
        reactor.unwatch(token);
        self.clients.remove(&token);
        self.listen(reactor);
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(text: &str) -> Result<String, String> {
        let request: Request = serde_json::from_str(text).unwrap();
        request.meaning().map(|meaning| format!("{meaning:?}"))
    }

    #[test]
    fn requests_become_events() {
        assert_eq!(
            meaning(r#"{"command":"vacate","slot":"slot1","how":"fast"}"#).unwrap(),
            "Event(Vacate { slot: Some(\"slot1\"), fast: true })"
        );
        assert_eq!(meaning(r#"{"command":"off"}"#).unwrap(), "Event(Shutdown(Graceful))");
        assert!(meaning(r#"{"command":"off","how":"quick"}"#).unwrap_err().contains("peaceful"));
        assert!(meaning(r#"{"command":"dance"}"#).is_err());
        let whole = meaning(r#"{"command":"off","slot":"slot1"}"#).unwrap_err();
        assert_eq!(whole, "'off' is for the whole execution point: name no slot");
    }

    #[test]
    fn a_slot_that_is_not_there_is_told_with_the_one_that_was_meant() {
        let check = |slot: &str| {
            let request = Request { slot: Some(slot.into()), ..Request::default() };
            request.check_slot(&["slot1", "slot2_1"])
        };
        assert_eq!(check("SLOT1"), Ok(()));
        assert_eq!(check("slto2_1").unwrap_err(), "there is no slot 'slto2_1'; did you mean slot2_1?");
        assert_eq!(
            check("drain").unwrap_err(),
            "there is no slot 'drain'; drain is a verb, which comes first"
        );
        assert_eq!(check("machine").unwrap_err(), "there is no slot 'machine'; there are slot1, slot2_1");
    }
}
