//! Docker's own socket, asked from time to time what the job's container uses and where its services are reached. Nobody waits for it.
//!
//! Reference: `sendDockerAPIRequest` of `docker-api.cpp`, `DockerProc::getStats` of `docker_proc.cpp`.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BString, ByteSlice};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};

use super::job::Job;
use htc_base::time::Tick;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_os::{Interest, Reactor, Token, clock};
use htc_starter::container::{DockerUsage, host_ports, ports_request};

/// Where docker listens unless DOCKER_HOST names another socket.
const SOCKET: &str = "/var/run/docker.sock";
/// When it is asked first.
const FIRST: Duration = Duration::from_secs(2);
/// An answer that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// A longer answer is none.
const LONGEST: usize = 4 << 20;

/// The container that is looked at.
pub(super) struct DockerWatch<'w> {
    socket: PathBuf,
    container: BString,
    /// The job, which says what services its container has.
    job: ClassAd,
    world: &'w dyn World,
    polling: Duration,
    next: Tick,
    wants_ports: bool,
    asking: Option<Asking>,
    pub(super) usage: Option<DockerUsage>,
}

/// A question that has not been answered yet.
struct Asking {
    stream: UnixStream,
    token: Token,
    about_ports: bool,
    until: Tick,
    answer: Vec<u8>,
}

impl<'w> DockerWatch<'w> {
    /// A container that has just been started.
    ///
    /// # Errors
    /// Docker cannot be asked, in words.
    pub(super) fn new(container: BString, job: &Job, world: &'w dyn World) -> Result<Self, String> {
        let socket = match job.environment.iter().find(|(name, _)| name == "DOCKER_HOST") {
            None => PathBuf::from(SOCKET),
            Some((_, host)) => match host.strip_prefix(b"unix://") {
                Some(path) => path.to_path_lossy().into_owned(),
                None => return Err(format!("DOCKER_HOST ({host}) is no unix socket")),
            },
        };
        Ok(DockerWatch {
            socket,
            container,
            job: job.ad.clone(),
            world,
            polling: job.polling,
            next: clock::tick().plus(FIRST),
            wants_ports: true,
            asking: None,
            usage: None,
        })
    }

    /// When docker is to be asked next, or is not waited for any more.
    pub(super) fn until(&self) -> Tick {
        self.asking.as_ref().map_or(self.next, |asking| asking.until)
    }

    /// Its time may have come.
    pub(super) fn ask(&mut self, now: Tick, reactor: &mut Reactor) {
        if let Some(asking) = self.asking.take_if(|asking| asking.until <= now) {
            reactor.unwatch(asking.token);
        }
        if self.asking.is_some() || self.next > now {
            return;
        }
        self.next = now.plus(self.polling);
        let ports = match self.wants_ports {
            true => ports_request(&self.container, &self.job, self.world),
            false => None,
        };
        self.wants_ports = ports.is_some();
        self.send(ports, reactor);
    }

    /// Asks for ports, else for what is used.
    fn send(&mut self, ports: Option<Vec<u8>>, reactor: &mut Reactor) {
        let about_ports = ports.is_some();
        let request = ports.unwrap_or_else(|| DockerUsage::request(&self.container));
        // A docker that does not answer is asked again.
        let Ok(stream) = ask(&self.socket, &request) else { return };
        let Ok(token) = reactor.watch(stream.as_fd(), Interest::Read) else { return };
        let until = clock::tick().plus(PATIENCE);
        self.asking = Some(Asking { stream, token, about_ports, until, answer: Vec::new() });
    }

    /// Whether docker's answer comes there.
    pub(super) fn hears(&self, token: Token) -> bool {
        self.asking.as_ref().is_some_and(|asking| asking.token == token)
    }

    /// Docker's answer, or a part of it, is there; where the services of the container are reached, once that is known.
    pub(super) fn hear(&mut self, reactor: &mut Reactor) -> Option<ClassAd> {
        let asking = self.asking.as_mut()?;
        let mut buffer = [0; 1 << 16];
        let over = match asking.stream.read(&mut buffer) {
            Ok(count) => {
                asking.answer.extend_from_slice(&buffer[..count]);
                count == 0 || asking.answer.len() > LONGEST
            }
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        };
        let asking = self.asking.take_if(|_| over)?;
        reactor.unwatch(asking.token);
        if !asking.about_ports {
            let usage = DockerUsage::parse(&asking.answer);
            // One that was cut off, or is no answer at all, says nothing of the container.
            if usage != DockerUsage::default() {
                self.usage = Some(usage.after(self.usage));
            }
            return None;
        }
        let ports = host_ports(&asking.answer, &self.job, self.world);
        self.wants_ports &= ports.is_none();
        self.send(None, reactor);
        ports
    }

    /// The container has ended: what it used in the end.
    pub(super) fn leave(self, reactor: &mut Reactor) -> Option<DockerUsage> {
        if let Some(asking) = self.asking {
            reactor.unwatch(asking.token);
        }
        self.usage
    }
}

/// Connects, without waiting for anybody, and asks.
fn ask(path: &Path, request: &[u8]) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    let mut stream = UnixStream::from(socket);
    stream.write_all(request)?;
    Ok(stream)
}
