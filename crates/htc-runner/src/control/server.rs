//! The listening end: bytes and clients.
//!
//! Nobody is waited for: a client that says nothing, or half a line, holds nothing up and is hung up on.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::socket::sockopt::{AcceptConn, PeerCredentials};
use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, UnixAddr, getsockopt};
use nix::sys::stat::{Mode, fchmod};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use htc_base::time::Tick;
use htc_os as os;
use htc_os::{Interest, Reactor, Token, clock, identity};

/// What an address of the kernel holds for a path, without the NUL.
const LONGEST_PATH: usize = 107;
/// A request's line is no longer than this, in bytes.
pub(super) const LONGEST: usize = 64 << 10;
/// A job ad that comes with one is no longer than this, in bytes.
const LONGEST_AD: usize = 4 << 20;
/// So many clients are served at a time; others wait in the socket's own queue.
const MOST_CLIENTS: usize = 16;
/// How long a client may take to say what it wants, and to take the answer: others wait for its place.
const PATIENCE: Duration = Duration::from_secs(5);
/// When nobody can be let in (no descriptor is free), it is tried again after this.
const AGAIN: Duration = Duration::from_secs(1);

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

/// A socket for its owner alone. Who may speak to it may kill jobs: it is nobody else's from its first moment on, as its file has the mode
/// that the socket had before.
///
/// # Errors
/// As `bind(2)`.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    let address = UnixAddr::new(path)?;
    let socket = socket::socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    fchmod(&socket, Mode::S_IRUSR | Mode::S_IWUSR)?;
    socket::bind(socket.as_raw_fd(), &address)?;
    socket::listen(&socket, Backlog::MAXCONN)?;
    Ok(UnixListener::from(socket))
}

/// What the socket itself has to know of a request.
#[derive(Deserialize)]
struct Frame {
    /// How many bytes of an ad follow the line.
    #[serde(default)]
    ad_length: usize,
}

/// The line of a request and its ad, once all of it is there; or why it is none.
fn whole(said: &[u8], ended: bool) -> Option<Heard> {
    let bad = |why: &str| Some(Err(not_a_request(why)));
    let end = match memchr::memchr(b'\n', said) {
        Some(at) => at,
        None if said.len() > LONGEST => return bad("it is too long"),
        None if ended => said.len(),
        None => return None,
    };
    let line = said[..end].trim_ascii();
    let ad_length = match request::<Frame>(line) {
        Ok(frame) => frame.ad_length,
        Err(error) => return Some(Err(error)),
    };
    if ad_length > LONGEST_AD {
        return Some(Err(format!("a job ad of {ad_length} bytes is too long")));
    }
    let ad = said.get(end + 1..).unwrap_or_default();
    match ad.get(..ad_length) {
        Some(ad) => Some(Ok((line.to_vec(), ad.to_vec()))),
        None if ended => Some(Err("the job ad is cut off".to_owned())),
        None => None,
    }
}

fn not_a_request(why: &str) -> String {
    format!("a request is one JSON object on a line: {why}")
}

/// Reads the line of a request.
///
/// # Errors
/// It is none, in words for the client.
pub fn request<R: DeserializeOwned>(line: &[u8]) -> Result<R, String> {
    serde_json::from_slice(line).map_err(|error| not_a_request(&error.to_string()))
}

/// A socket that is listened to.
pub struct Control {
    listener: UnixListener,
    /// While it is listened to; not while all places are taken.
    token: Option<Token>,
    /// When it is listened to again at the latest, where it is not.
    again: Option<Tick>,
    /// Where it stands, if it goes with us.
    path: Option<PathBuf>,
    /// Who listens, as messages say it.
    who: &'static str,
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

/// The line of a request and the ad behind it; or why it is none, in words for the client.
pub type Heard = Result<(Vec<u8>, Vec<u8>), String>;

/// A whole request.
pub struct Said {
    /// Whom to answer.
    pub client: Token,
    /// Whose process it is.
    pub uid: u32,
    /// The line of the request and its ad; or why it is none.
    pub request: Heard,
}

impl Control {
    /// Listens at `path`, as `who`. A socket that nobody listens at any more is replaced.
    ///
    /// # Errors
    /// A path that is too long, or no socket's; a directory that others can write; somebody who listens there.
    pub fn open(path: &Path, who: &'static str, reactor: &mut Reactor) -> io::Result<Self> {
        check_length(path)?;
        check_directory(path)?;
        match path.symlink_metadata() {
            Ok(metadata) if metadata.file_type().is_socket() => {
                if UnixStream::connect(path).is_ok() {
                    let text = format!("another {who} listens there");
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
        Self::at(bind(path)?, Some(path.to_owned()), who, reactor)
    }

    /// Listens, as `who`, at the socket that whoever started us has left open under this number. What was asked before is heard.
    ///
    /// # Errors
    /// Nothing is open there, or no socket that is listened to.
    pub fn inherited(number: i32, who: &'static str, reactor: &mut Reactor) -> io::Result<Self> {
        let descriptor = os::duplicate(number)?;
        if !getsockopt(&descriptor, AcceptConn)? {
            let text = "nobody listens at that socket: listen(2) comes before";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Self::at(UnixListener::from(descriptor), None, who, reactor)
    }

    fn at(
        listener: UnixListener,
        path: Option<PathBuf>,
        who: &'static str,
        reactor: &mut Reactor,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let token = Some(reactor.watch(listener.as_fd(), Interest::Read)?);
        Ok(Control { listener, token, again: None, path, who, clients: BTreeMap::new() })
    }

    /// Something can be read or written: the whole request of a client, if it is complete now. What the first of those who come
    /// in has said already is heard at once, as a signal would be.
    pub fn readable(&mut self, token: Token, reactor: &mut Reactor) -> Option<Said> {
        let token = if Some(token) == self.token { self.accept(reactor)? } else { token };
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

    /// Lets in who waits, as far as there are places; the first of them.
    fn accept(&mut self, reactor: &mut Reactor) -> Option<Token> {
        let mut first = None;
        while self.clients.len() < MOST_CLIENTS {
            let accepted = self.listener.accept().and_then(|(mut stream, _)| {
                stream.set_nonblocking(true)?;
                let uid = getsockopt(&stream, PeerCredentials)?.uid();
                if uid != 0 && uid != identity::effective_uid() {
                    // The mode of the socket keeps others out; who got a descriptor from somewhere is told.
                    let error = format!("only root and the account of the {} may ask", self.who);
                    let answer = serde_json::json!({ "ok": false, "error": error });
                    let _ = stream.write_all(format!("{answer}\n").as_bytes());
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                let token = reactor.watch(stream.as_fd(), Interest::Read)?;
                let until = clock::tick().plus(PATIENCE);
                Ok((token, Client { stream, uid, said: Vec::new(), rest: Vec::new(), until }))
            });
            match accepted {
                Ok((token, client)) => {
                    self.clients.insert(token, client);
                    first.get_or_insert(token);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return first,
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
        first
    }

    /// When [`Control::look`] is to be called next.
    pub fn next_look(&self) -> Option<Tick> {
        self.clients.values().map(|client| client.until).chain(self.again).min()
    }

    /// Hangs up on those who have taken too long, and lets others in.
    pub fn look(&mut self, now: Tick, reactor: &mut Reactor) {
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
    pub fn answer(&mut self, token: Token, answer: &impl Serialize, reactor: &mut Reactor) {
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
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
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
