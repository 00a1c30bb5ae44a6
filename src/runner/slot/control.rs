//! A socket by which a running execution point is told what the tools tell a real one: vacate, drain, suspend, off; and what
//! negotiators, schedds and shadows do: match, claim, activate.
//!
//! One request a connection: a JSON object on one line, `{"command": "vacate", "slot": "slot1", "how": "fast"}`, with as many bytes
//! of a job ad behind it as `ad_length` says; one JSON object comes back: `{"ok": true}`, `{"error": "..."}` or `{"slots": [...]}`.
//! Nobody is waited for: a client that says nothing, or half a line, holds nothing up and is hung up on.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::stat::{Mode, umask};

use super::requests::{Answer, Request};
use crate::os::{Interest, Reactor, Token, clock, identity};
use crate::time::Tick;

/// A request's line is no longer than this, in bytes.
const LONGEST: usize = 4096;
/// A job ad that comes with one is no longer than this, in bytes.
const LONGEST_AD: usize = 4 << 20;
/// What an address of the kernel holds for a path, without the NUL.
const LONGEST_PATH: usize = 107;
/// So many clients are served at a time; others wait in the socket's own queue.
const MOST_CLIENTS: usize = 16;
/// How long a client may take to say what it wants, and to take the answer: others wait for its place.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer may take.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// When nobody can be let in (no descriptor is free), it is tried again after this.
const AGAIN: Duration = Duration::from_secs(1);

/// Sends a request, with the ad that goes with it, and waits for the answer.
///
/// # Errors
/// Nobody listens there, or somebody that is neither root nor we; the answer is none.
pub fn ask(socket: &Path, request: &Request, ad: &[u8]) -> io::Result<Answer> {
    let mut stream = connect(socket)?;
    let listener = getsockopt(&stream, PeerCredentials)?.uid();
    if listener != 0 && listener != identity::effective_uid() && identity::effective_uid() != 0 {
        let text = format!("uid {listener} listens there, who is neither root nor the caller");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    stream.set_read_timeout(Some(ANSWER_PATIENCE))?;
    let mut text = serde_json::to_vec(&Request { ad_length: ad.len(), ..request.clone() })?;
    text.push(b'\n');
    text.extend_from_slice(ad);
    // Whoever refuses us may have answered and hung up before he has read all.
    let written = stream.write_all(&text);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if answer.is_empty() {
        written?;
    }
    Ok(serde_json::from_slice(&answer)?)
}

/// Connects; says what is wrong with a path that is no socket in words of its own.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    check_length(socket)?;
    let kind = socket.symlink_metadata()?.file_type();
    if kind.is_symlink() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link, which is not followed"));
    }
    if !kind.is_socket() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no socket"));
    }
    UnixStream::connect(socket).map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            io::Error::new(error.kind(), "nobody listens there any more: its execution point is gone")
        }
        _ => error,
    })
}

/// The kernel's addresses have room for so many bytes.
///
/// # Errors
/// The path is longer.
pub fn check_length(path: &Path) -> io::Result<()> {
    let length = path.as_os_str().len();
    if length <= LONGEST_PATH {
        return Ok(());
    }
    let text =
        format!("the path has {length} bytes, and a socket's may have {LONGEST_PATH}: take a shorter one");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// Whoever can write the directory could put a socket of his own in the place of ours.
fn check_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let status = std::fs::metadata(parent)?;
    let why = match (status.uid(), status.mode() & 0o022) {
        (uid, _) if uid != 0 && uid != identity::effective_uid() => "belongs to another account",
        (_, 0) => return Ok(()),
        _ => "can be written by others",
    };
    let text = format!("its directory '{}' {why}: take one that only you can write", parent.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// A request with its ad, once all of it is there; or why it is none.
fn whole(said: &[u8], ended: bool) -> Option<Result<(Request, Vec<u8>), String>> {
    let bad = |why: String| Some(Err(format!("a request is one JSON object on a line: {why}")));
    let line = match memchr::memchr(b'\n', said) {
        Some(at) => at,
        None if said.len() > LONGEST => return bad("it is too long".into()),
        None if ended => said.len(),
        None => return None,
    };
    let request = match serde_json::from_slice::<Request>(said[..line].trim_ascii()) {
        Ok(request) => request,
        Err(error) => return bad(error.to_string()),
    };
    if request.ad_length > LONGEST_AD {
        return Some(Err(format!("a job ad of {} bytes is too long", request.ad_length)));
    }
    let ad = said.get(line + 1..).unwrap_or_default();
    match ad.get(..request.ad_length) {
        Some(ad) => Some(Ok((request, ad.to_vec()))),
        None if ended => Some(Err("the job ad is cut off".to_owned())),
        None => None,
    }
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

/// Somebody who has not said all yet, or not taken all of the answer.
struct Client {
    stream: UnixStream,
    uid: u32,
    said: Vec<u8>,
    /// What is left of the answer.
    rest: Vec<u8>,
    until: Tick,
}

/// A whole request.
pub(super) struct Said {
    /// Whom to answer.
    pub client: Token,
    /// Whose process it is.
    pub uid: u32,
    /// The request with its ad; or why it is none.
    pub request: Result<(Request, Vec<u8>), String>,
}

impl Control {
    /// Listens at `path`. A socket that nobody listens at any more is replaced.
    pub(super) fn open(path: &Path, reactor: &mut Reactor) -> io::Result<Self> {
        check_length(path)?;
        check_directory(path)?;
        match path.symlink_metadata() {
            Ok(metadata) if metadata.file_type().is_socket() => {
                if UnixStream::connect(path).is_ok() {
                    let text = "another execution point listens there";
                    return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
                }
                std::fs::remove_file(path)?;
            }
            Ok(metadata) => {
                let what = if metadata.is_symlink() { "a link" } else { "no socket" };
                let text = format!("it is {what}: take it away, or name another path");
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
            }
            Err(_) => {}
        }
        // Who may speak to it may kill jobs: it is nobody else's from its first moment on.
        let mask = umask(Mode::from_bits_truncate(0o177));
        let listener = UnixListener::bind(path);
        umask(mask);
        let listener = listener?;
        listener.set_nonblocking(true)?;
        let token = Some(reactor.watch(listener.as_fd(), Interest::Read)?);
        Ok(Control { listener, token, again: None, path: path.to_owned(), clients: BTreeMap::new() })
    }

    /// Something can be read or written: the whole request of a client, if it is complete now.
    pub(super) fn readable(&mut self, token: Token, reactor: &mut Reactor) -> Option<Said> {
        if Some(token) == self.token {
            self.accept(reactor);
            return None;
        }
        let Client { stream, said, rest, uid, .. } = self.clients.get_mut(&token)?;
        if !rest.is_empty() {
            match stream.write(rest) {
                Ok(count) if count < rest.len() => drop(rest.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(_) | Err(_) => self.drop_client(token, reactor),
            }
            return None;
        }
        let uid = *uid;
        let mut buffer = [0; 16 * 1024];
        let ended = match stream.read(&mut buffer) {
            Ok(0) => true,
            Ok(count) => {
                said.extend_from_slice(&buffer[..count]);
                false
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
            Err(_) => {
                said.clear();
                true
            }
        };
        if ended && said.trim_ascii().is_empty() {
            self.drop_client(token, reactor);
            return None;
        }
        let request = whole(said, ended)?;
        Some(Said { client: token, uid, request })
    }

    /// Lets in who waits, as far as there are places.
    fn accept(&mut self, reactor: &mut Reactor) {
        while self.clients.len() < MOST_CLIENTS {
            let accepted = self.listener.accept().and_then(|(mut stream, _)| {
                stream.set_nonblocking(true)?;
                let uid = getsockopt(&stream, PeerCredentials)?.uid();
                if uid != 0 && uid != identity::effective_uid() {
                    // The mode of the socket keeps others out; who got a descriptor from somewhere is told.
                    let _ = stream.write_all(b"{\"ok\":false,\"error\":\"only root and the account that runs the slots may ask\"}\n");
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                let token = reactor.watch(stream.as_fd(), Interest::Read)?;
                let until = clock::tick().plus(PATIENCE);
                Ok((token, Client { stream, uid, said: Vec::new(), rest: Vec::new(), until }))
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

    /// Answers and hangs up, as soon as the client has taken all of it.
    pub(super) fn answer(&mut self, token: Token, answer: &Answer, reactor: &mut Reactor) {
        let mut text = serde_json::to_vec(answer).unwrap_or_default();
        text.push(b'\n');
        if let Some(Client { stream, .. }) = self.clients.get_mut(&token) {
            let mut sent = 0;
            while sent < text.len() {
                match stream.write(&text[sent..]) {
                    Ok(count) if count > 0 => sent += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        return self.answer_later(token, text.split_off(sent), reactor);
                    }
                    // A client that has gone does not want it.
                    Ok(_) | Err(_) => break,
                }
            }
        }
        self.drop_client(token, reactor);
    }

    fn answer_later(&mut self, token: Token, rest: Vec<u8>, reactor: &mut Reactor) {
        reactor.unwatch(token);
        if let Some(mut client) = self.clients.remove(&token)
            && let Ok(token) = reactor.watch(client.stream.as_fd(), Interest::Write)
        {
            (client.rest, client.until) = (rest, clock::tick().plus(PATIENCE));
            self.clients.insert(token, client);
        }
        self.listen(reactor);
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
