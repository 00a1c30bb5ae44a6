//! Docker's API socket, which is queried periodically for the usage of the job's container and the ports of its
//! services, without blocking.
//!
//! Reference: `sendDockerAPIRequest` of `docker-api.cpp`, `DockerProc::getStats` of `docker_proc.cpp`.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BString, ByteSlice};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};

use super::execution_context::ExecutionContext;
use htc_base::time::MonotonicTime;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_os::{Interest, Reactor, WatchToken, clock};
use htc_starter::container::{DockerUsage, host_ports, ports_request};

/// Path of docker's socket if DOCKER_HOST is not set.
const DEFAULT_SOCKET: &str = "/var/run/docker.sock";
/// Delay before the first query.
const FIRST_QUERY_DELAY: Duration = Duration::from_secs(2);
/// Maximum time to wait for an answer.
const QUERY_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum length of an answer in bytes; a longer one is discarded.
const MAX_ANSWER_LENGTH: usize = 4 << 20;

/// Container that is queried periodically.
pub(super) struct DockerWatch<'w> {
    socket: PathBuf,
    container: BString,
    /// The job ad, which lists the services of the container.
    job: ClassAd,
    world: &'w dyn World,
    polling: Duration,
    next_query: MonotonicTime,
    wants_ports: bool,
    query: Option<DockerQuery>,
    pub(super) usage: Option<DockerUsage>,
}

/// Query whose answer is not complete.
struct DockerQuery {
    stream: UnixStream,
    token: WatchToken,
    about_ports: bool,
    deadline: MonotonicTime,
    answer: Vec<u8>,
}

impl<'w> DockerWatch<'w> {
    /// Creates the watch for a container that has just been started.
    ///
    /// # Errors
    /// Fails with a message if DOCKER_HOST does not name a Unix socket.
    pub(super) fn new(
        container: BString,
        job: &ExecutionContext,
        world: &'w dyn World,
    ) -> Result<Self, String> {
        let socket = match job.environment.iter().find(|(name, _)| name == "DOCKER_HOST") {
            None => PathBuf::from(DEFAULT_SOCKET),
            Some((_, host)) => match host.strip_prefix(b"unix://") {
                Some(path) => path.to_path_lossy().into_owned(),
                None => return Err(format!("DOCKER_HOST ({host}) is not a unix socket")),
            },
        };
        Ok(DockerWatch {
            socket,
            container,
            job: job.ad.clone(),
            world,
            polling: job.polling_interval,
            next_query: clock::monotonic_now().plus(FIRST_QUERY_DELAY),
            wants_ports: true,
            query: None,
            usage: None,
        })
    }

    /// Returns the time of the next query, or the time limit of the current query if there is one.
    pub(super) fn next_deadline(&self) -> MonotonicTime {
        self.query.as_ref().map_or(self.next_query, |asking| asking.deadline)
    }

    /// Sends the next query if it is due, and abandons a query that has exceeded its time limit.
    pub(super) fn query_if_due(&mut self, now: MonotonicTime, reactor: &mut Reactor) {
        if let Some(asking) = self.query.take_if(|asking| asking.deadline <= now) {
            reactor.unwatch(asking.token);
        }
        if self.query.is_some() || self.next_query > now {
            return;
        }
        self.next_query = now.plus(self.polling);
        let ports = match self.wants_ports {
            true => ports_request(&self.container, &self.job, self.world),
            false => None,
        };
        self.wants_ports = ports.is_some();
        self.send(ports, reactor);
    }

    /// Sends a query for the ports of services with the request `ports` if given, otherwise a query for usage.
    fn send(&mut self, ports: Option<Vec<u8>>, reactor: &mut Reactor) {
        let about_ports = ports.is_some();
        let request = ports.unwrap_or_else(|| DockerUsage::stats_request(&self.container));
        // If the connection fails, the query is repeated at the next interval.
        let Ok(stream) = connect_and_send(&self.socket, &request) else { return };
        let Ok(token) = reactor.watch(stream.as_fd(), Interest::Read) else { return };
        let until = clock::monotonic_now().plus(QUERY_TIMEOUT);
        self.query = Some(DockerQuery { stream, token, about_ports, deadline: until, answer: Vec::new() });
    }

    /// Returns true if the descriptor is that of the current query.
    pub(super) fn is_answer_socket(&self, token: WatchToken) -> bool {
        self.query.as_ref().is_some_and(|asking| asking.token == token)
    }

    /// Reads a part of docker's answer. Returns the ports of the container's services when an answer about ports is
    /// complete.
    pub(super) fn read_answer(&mut self, reactor: &mut Reactor) -> Option<ClassAd> {
        let asking = self.query.as_mut()?;
        let mut buffer = [0; 1 << 16];
        let has_ended = match asking.stream.read(&mut buffer) {
            Ok(count) => {
                asking.answer.extend_from_slice(&buffer[..count]);
                count == 0 || asking.answer.len() > MAX_ANSWER_LENGTH
            }
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        };
        let asking = self.query.take_if(|_| has_ended)?;
        reactor.unwatch(asking.token);
        if !asking.about_ports {
            let usage = DockerUsage::parse(&asking.answer);
            // An incomplete or invalid answer contains no usage, so the last known usage is kept.
            if usage != DockerUsage::default() {
                self.usage = Some(usage.with_earlier_peak(self.usage));
            }
            return None;
        }
        let ports = host_ports(&asking.answer, &self.job, self.world);
        self.wants_ports &= ports.is_none();
        self.send(None, reactor);
        ports
    }

    /// Returns the last known usage of a container that has ended, or `None` if no usage is known.
    pub(super) fn into_final_usage(self, reactor: &mut Reactor) -> Option<DockerUsage> {
        if let Some(asking) = self.query {
            reactor.unwatch(asking.token);
        }
        self.usage
    }
}

/// Connects without blocking, and sends the request.
fn connect_and_send(path: &Path, request: &[u8]) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    let mut stream = UnixStream::from(socket);
    stream.write_all(request)?;
    Ok(stream)
}
