//! Server side of the control socket: connections and their bytes.
//!
//! The server never blocks on a client: a client that is too slow is disconnected after `CLIENT_TIMEOUT`.

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

use htc_base::time::MonotonicTime;
use htc_os as os;
use htc_os::{Interest, Reactor, WatchToken, clock, identity};

/// Maximum length of a path in `sockaddr_un`, without the NUL.
const MAX_SOCKET_PATH_LENGTH: usize = 107;
/// Maximum length in bytes of the line of a request.
pub(super) const MAX_REQUEST_LENGTH: usize = 64 << 10;
/// Maximum length in bytes of the job ad after the line of a request.
const MAX_AD_LENGTH: usize = 4 << 20;
/// Maximum number of clients served at a time; further clients wait in the socket's queue of connections.
const MAX_CLIENTS: usize = 64;
/// Time after which a client whose request is incomplete is disconnected if other clients are waiting.
const SILENT_GRACE: Duration = Duration::from_millis(100);
/// Time limit for a client to send its request, and separately to receive the answer.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval between attempts to accept a client after `accept` failed, for example because no descriptor was free.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Rejects a directory that another account can write, because that account could replace the socket.
fn check_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let status = std::fs::metadata(parent)?;
    let why = match (status.uid(), status.mode() & 0o022) {
        (uid, _) if uid != 0 && uid != identity::effective_uid() => "belongs to another account",
        (_, 0) => return Ok(()),
        _ => "can be written by others",
    };
    let text = format!("its directory '{}' {why}: use one that only you can write", parent.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// Binds and listens on a socket that only its owner can use, because a client can kill jobs. The mode is set before
/// `bind`, so other accounts can never access the file.
///
/// # Errors
/// The same errors as `socket(2)`, `bind(2)` and `listen(2)`.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    let address = UnixAddr::new(path)?;
    let socket = socket::socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    fchmod(&socket, Mode::S_IRUSR | Mode::S_IWUSR)?;
    socket::bind(socket.as_raw_fd(), &address)?;
    socket::listen(&socket, Backlog::MAXCONN)?;
    Ok(UnixListener::from(socket))
}

/// Field of a request that the server needs to find the end of the request.
#[derive(Deserialize)]
struct RequestHeader {
    /// Number of bytes of the ad after the line; any JSON value, so that an invalid one can be reported.
    #[serde(default)]
    ad_length: serde_json::Value,
}

/// Returns the line and the ad of a request, or an error for the client if the request is not valid. Returns `None`
/// if more bytes are needed.
fn parse_complete_request(received: &[u8], ended: bool) -> Option<RequestBytes> {
    let bad = |why: &str| Some(Err(invalid_request_message(why)));
    let end = match memchr::memchr(b'\n', received) {
        Some(at) => at,
        None if received.len() > MAX_REQUEST_LENGTH => return bad("it is too long"),
        None if ended => received.len(),
        None => return None,
    };
    let line = received[..end].trim_ascii();
    let ad_length = match parse_request::<RequestHeader>(line) {
        Ok(RequestHeader { ad_length: serde_json::Value::Null }) => 0,
        Ok(RequestHeader { ad_length }) => match ad_length.as_u64().and_then(|it| usize::try_from(it).ok()) {
            Some(length) => length,
            None => {
                return Some(Err(format!("'ad_length' must be a number of bytes, not {ad_length}")));
            }
        },
        Err(error) => return Some(Err(error)),
    };
    if ad_length > MAX_AD_LENGTH {
        return Some(Err(format!("the job ad is too long ({ad_length} bytes)")));
    }
    let ad = received.get(end + 1..).unwrap_or_default();
    match ad.get(..ad_length) {
        Some(ad) => Some(Ok((line.to_vec(), ad.to_vec()))),
        None if ended => Some(Err("the job ad is incomplete".to_owned())),
        None => None,
    }
}

fn invalid_request_message(why: &str) -> String {
    format!("a request must be one JSON object on one line: {why}")
}

/// Parses the line of a request.
///
/// # Errors
/// The line is not a valid request; the message is for the client.
pub fn parse_request<R: DeserializeOwned>(line: &[u8]) -> Result<R, String> {
    serde_json::from_slice(line).map_err(|error| invalid_request_message(&error.to_string()))
}

/// Listening control socket with its clients.
pub struct ControlSocket {
    listener: UnixListener,
    /// Token for watching the listener, or `None` while no more clients are accepted.
    token: Option<WatchToken>,
    /// Time from which the listener is watched again, or `None` while it is watched: `accept` failed, or the server
    /// waits to disconnect clients with incomplete requests because other clients are waiting.
    resume_at: Option<MonotonicTime>,
    /// Path of the socket, which is removed when this value is dropped, or `None` for an inherited socket.
    path: Option<PathBuf>,
    /// Name of this program in messages.
    listener_name: &'static str,
    clients: BTreeMap<WatchToken, ControlClient>,
}

/// Connected client that has not sent its whole request or not received its whole answer.
struct ControlClient {
    stream: UnixStream,
    uid: u32,
    received: Vec<u8>,
    /// Part of the answer that has not been sent.
    unsent: Vec<u8>,
    deadline: MonotonicTime,
    /// Time from which the client is disconnected if its request is incomplete and other clients are waiting.
    gives_way_at: MonotonicTime,
    /// True once the client has sent its whole request.
    has_whole_request: bool,
}

impl ControlClient {
    /// Returns true if the client has not sent its whole request.
    fn has_incomplete_request(&self) -> bool {
        !self.has_whole_request
    }
}

/// Line of a request and the ad after it, or an error message for the client.
pub type RequestBytes = Result<(Vec<u8>, Vec<u8>), String>;

/// Complete request of a client.
pub struct ClientRequest {
    /// Client to answer.
    pub client: WatchToken,
    /// Uid of the client.
    pub uid: u32,
    /// Line of the request and its ad, or an error message for the client.
    pub request: RequestBytes,
}

impl ControlSocket {
    /// Listens at `path`, where it replaces a socket that no process listens at. `listener_name` is this program's name in
    /// messages.
    ///
    /// # Errors
    /// The path is too long or is not a socket, another account can write the directory, or another process listens
    /// there.
    pub fn open(path: &Path, listener_name: &'static str, reactor: &mut Reactor) -> io::Result<Self> {
        check_length(path)?;
        check_directory(path)?;
        match path.symlink_metadata() {
            Ok(metadata) if metadata.file_type().is_socket() => {
                if UnixStream::connect(path).is_ok() {
                    let text = format!("another {listener_name} is already listening on this socket");
                    return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
                }
                std::fs::remove_file(path)?;
            }
            Ok(metadata) => {
                let what = if metadata.is_symlink() { "a link" } else { "not a socket" };
                let text = format!("it is {what}: remove it or use another path");
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
            }
            Err(_) => {}
        }
        Self::from_listener(bind(path)?, Some(path.to_owned()), listener_name, reactor)
    }

    /// Listens at the socket that the parent process passed as descriptor `number`; clients that are already
    /// connected to it are served. `listener_name` is this program's name in messages.
    ///
    /// # Errors
    /// The descriptor is not open or is not a listening socket.
    pub fn open_inherited(
        number: i32,
        listener_name: &'static str,
        reactor: &mut Reactor,
    ) -> io::Result<Self> {
        let descriptor = os::duplicate_descriptor(number)?;
        if !getsockopt(&descriptor, AcceptConn)? {
            let text = "no process listens at that socket: call listen(2) first";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Self::from_listener(UnixListener::from(descriptor), None, listener_name, reactor)
    }

    fn from_listener(
        listener: UnixListener,
        path: Option<PathBuf>,
        listener_name: &'static str,
        reactor: &mut Reactor,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let token = Some(reactor.watch(listener.as_fd(), Interest::Read)?);
        Ok(ControlSocket { listener, token, resume_at: None, path, listener_name, clients: BTreeMap::new() })
    }

    /// Handles a readable or writable descriptor and returns a request that has become complete, or `None`. If
    /// clients were accepted, the first one's data is read at once.
    pub fn handle_readiness(&mut self, token: WatchToken, reactor: &mut Reactor) -> Option<ClientRequest> {
        let token = if Some(token) == self.token { self.accept(reactor)? } else { token };
        let ControlClient { stream, received, unsent: rest, uid, has_whole_request, .. } =
            self.clients.get_mut(&token)?;
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
                received.extend_from_slice(&buffer[..count]);
                false
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
            Err(_) => {
                received.clear();
                true
            }
        };
        if ended && received.trim_ascii().is_empty() {
            self.drop_client(token, reactor);
            return None;
        }
        let request = parse_complete_request(received, ended)?;
        *has_whole_request = true;
        Some(ClientRequest { client: token, uid, request })
    }

    /// Accepts waiting clients up to `MAX_CLIENTS` and returns the first new one, or `None`.
    fn accept(&mut self, reactor: &mut Reactor) -> Option<WatchToken> {
        let mut first = None;
        if self.clients.len() >= MAX_CLIENTS {
            self.drop_silent_clients(reactor);
        }
        while self.clients.len() < MAX_CLIENTS {
            let accepted = self.listener.accept().and_then(|(mut stream, _)| {
                stream.set_nonblocking(true)?;
                let uid = getsockopt(&stream, PeerCredentials)?.uid();
                if uid != 0 && uid != identity::effective_uid() {
                    // The mode of the socket keeps other accounts from connecting, but a process of another account
                    // may have received an open descriptor.
                    let error =
                        format!("only root and the account of the {} may send requests", self.listener_name);
                    let answer = serde_json::json!({ "ok": false, "error": error });
                    let _ = stream.write_all(format!("{answer}\n").as_bytes());
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                let token = reactor.watch(stream.as_fd(), Interest::Read)?;
                let now = clock::monotonic_now();
                let client = ControlClient {
                    stream,
                    uid,
                    received: Vec::new(),
                    unsent: Vec::new(),
                    deadline: now.plus(CLIENT_TIMEOUT),
                    gives_way_at: now.plus(SILENT_GRACE),
                    has_whole_request: false,
                };
                Ok((token, client))
            });
            match accepted {
                Ok((token, client)) => {
                    self.clients.insert(token, client);
                    first.get_or_insert(token);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return first,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // The client that cannot be accepted stays in the queue, so retrying at once would loop forever.
                Err(_) => {
                    self.resume_at = Some(clock::monotonic_now().plus(ACCEPT_RETRY_INTERVAL));
                    break;
                }
            }
        }
        if let Some(token) = self.token.take() {
            reactor.unwatch(token);
        }
        // The next readiness of the listener shows whether more clients are waiting.
        let gives_way = self.clients.values().filter(|client| client.has_incomplete_request());
        let gives_way = gives_way.map(|client| client.gives_way_at).min();
        self.resume_at = [self.resume_at, gives_way].into_iter().flatten().min();
        first
    }

    /// Disconnects the clients whose requests have been incomplete for longer than `SILENT_GRACE`.
    fn drop_silent_clients(&mut self, reactor: &mut Reactor) {
        let now = clock::monotonic_now();
        let gives_way =
            |client: &ControlClient| client.has_incomplete_request() && client.gives_way_at <= now;
        let silent = self.clients.iter().filter(|(_, client)| gives_way(client)).map(|(token, _)| *token);
        for token in silent.collect::<Vec<_>>() {
            reactor.unwatch(token);
            self.clients.remove(&token);
        }
    }

    /// Returns the time of the next call of [`ControlSocket::check_timeouts`], or `None` if no time limit is running.
    pub fn next_deadline(&self) -> Option<MonotonicTime> {
        self.clients.values().map(|client| client.deadline).chain(self.resume_at).min()
    }

    /// Disconnects clients that have exceeded their time limit, and accepts clients again after a pause.
    pub fn check_timeouts(&mut self, now: MonotonicTime, reactor: &mut Reactor) {
        let expired =
            |(token, client): (&WatchToken, &ControlClient)| (client.deadline <= now).then_some(*token);
        let expired: Vec<WatchToken> = self.clients.iter().filter_map(expired).collect();
        for token in expired {
            self.drop_client(token, reactor);
        }
        if self.resume_at.is_some_and(|again| again <= now) {
            self.resume_at = None;
            self.resume_listening(reactor);
        }
    }

    fn resume_listening(&mut self, reactor: &mut Reactor) {
        if self.token.is_none() && self.resume_at.is_none() {
            self.token = reactor.watch(self.listener.as_fd(), Interest::Read).ok();
            if self.token.is_none() {
                self.resume_at = Some(clock::monotonic_now().plus(ACCEPT_RETRY_INTERVAL));
            }
        }
    }

    /// Sends the answer and disconnects the client when it has received the whole answer.
    pub fn answer(&mut self, token: WatchToken, answer: &impl Serialize, reactor: &mut Reactor) {
        let mut text = serde_json::to_vec(answer).unwrap_or_default();
        text.push(b'\n');
        if let Some(ControlClient { stream, .. }) = self.clients.get_mut(&token) {
            let mut sent = 0;
            while sent < text.len() {
                match stream.write(&text[sent..]) {
                    Ok(count) if count > 0 => sent += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        return self.queue_answer(token, text.split_off(sent), reactor);
                    }
                    // The client has disconnected.
                    Ok(_) | Err(_) => break,
                }
            }
        }
        self.drop_client(token, reactor);
    }

    fn queue_answer(&mut self, token: WatchToken, rest: Vec<u8>, reactor: &mut Reactor) {
        reactor.unwatch(token);
        if let Some(mut client) = self.clients.remove(&token)
            && let Ok(token) = reactor.watch(client.stream.as_fd(), Interest::Write)
        {
            (client.unsent, client.deadline) = (rest, clock::monotonic_now().plus(CLIENT_TIMEOUT));
            self.clients.insert(token, client);
        }
        self.resume_listening(reactor);
    }

    fn drop_client(&mut self, token: WatchToken, reactor: &mut Reactor) {
        reactor.unwatch(token);
        self.clients.remove(&token);
        self.resume_listening(reactor);
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Checks that a path fits into a socket address of the kernel.
///
/// # Errors
/// The path has more than 107 bytes.
pub fn check_length(path: &Path) -> io::Result<()> {
    let length = path.as_os_str().len();
    if length <= MAX_SOCKET_PATH_LENGTH {
        return Ok(());
    }
    let text = format!(
        "the path has {length} bytes, but a socket's path has at most {MAX_SOCKET_PATH_LENGTH}: use a shorter one"
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}
