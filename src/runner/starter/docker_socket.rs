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

use super::live::Live;
use crate::os::{Interest, Token, clock};
use crate::starter::Event;
use crate::starter::container::{DockerUsage, host_ports, ports_request};
use crate::time::Tick;

/// Where docker listens unless DOCKER_HOST names another socket.
const SOCKET: &str = "/var/run/docker.sock";
/// When it is asked first.
const FIRST: Duration = Duration::from_secs(2);
/// An answer that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// A longer answer is none.
const LONGEST: usize = 4 << 20;

/// The container that is looked at.
pub(super) struct DockerWatch {
    socket: PathBuf,
    container: BString,
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

impl Live<'_> {
    /// The container runs: it is looked at from now on.
    pub(super) fn watch_container(&mut self) {
        let Some(container) = self.container.clone() else { return };
        let host = self.job.environment.iter().find(|(name, _)| name == "DOCKER_HOST");
        let socket = match host {
            None => PathBuf::from(SOCKET),
            Some((_, host)) => match host.strip_prefix(b"unix://") {
                Some(path) => path.to_path_lossy().into_owned(),
                None => {
                    return self.warn(format!(
                        "what the container uses is not known: DOCKER_HOST ({host}) is no unix socket"
                    ));
                }
            },
        };
        self.docker = Some(DockerWatch {
            socket,
            container,
            next: clock::tick().plus(FIRST),
            wants_ports: true,
            asking: None,
            usage: None,
        });
    }

    /// When docker is to be asked next, or is not waited for any more.
    pub(super) fn docker_until(&self) -> Option<Tick> {
        let watch = self.docker.as_ref()?;
        Some(watch.asking.as_ref().map_or(watch.next, |asking| asking.until))
    }

    /// Its time has come.
    pub(super) fn ask_docker(&mut self, now: Tick) {
        let Some(watch) = &mut self.docker else { return };
        if let Some(asking) = watch.asking.take_if(|asking| asking.until <= now) {
            self.reactor.unwatch(asking.token);
        }
        if watch.asking.is_some() || watch.next > now {
            return;
        }
        watch.next = now.plus(self.job.polling);
        let ports = match watch.wants_ports {
            true => ports_request(&watch.container, &self.job.ad, self.world),
            false => None,
        };
        watch.wants_ports = ports.is_some();
        self.send(ports.is_some(), ports);
    }

    fn send(&mut self, about_ports: bool, request: Option<Vec<u8>>) {
        let Some(watch) = &mut self.docker else { return };
        let request = request.unwrap_or_else(|| DockerUsage::request(&watch.container));
        // A docker that does not answer is asked again.
        let Ok(stream) = ask(&watch.socket, &request) else { return };
        let Ok(token) = self.reactor.watch(stream.as_fd(), Interest::Read) else { return };
        let until = clock::tick().plus(PATIENCE);
        watch.asking = Some(Asking { stream, token, about_ports, until, answer: Vec::new() });
    }

    /// Whether this was docker's answer, or a part of it.
    pub(super) fn docker_said(&mut self, token: Token) -> bool {
        let Some(watch) = &mut self.docker else { return false };
        let Some(asking) = watch.asking.as_mut().filter(|asking| asking.token == token) else { return false };
        let mut buffer = [0; 1 << 16];
        let over = match asking.stream.read(&mut buffer) {
            Ok(count) => {
                asking.answer.extend_from_slice(&buffer[..count]);
                count == 0 || asking.answer.len() > LONGEST
            }
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        };
        if over && let Some(asking) = watch.asking.take() {
            self.reactor.unwatch(asking.token);
            self.docker_answered(&asking);
        }
        true
    }

    fn docker_answered(&mut self, asking: &Asking) {
        let Some(watch) = &mut self.docker else { return };
        if !asking.about_ports {
            let usage = DockerUsage::parse(&asking.answer);
            // One that was cut off, or is no answer at all, says nothing of the container.
            if usage != DockerUsage::default() {
                watch.usage = Some(usage.after(watch.usage));
            }
            return;
        }
        if let Some(ports) = host_ports(&asking.answer, &self.job.ad, self.world) {
            watch.wants_ports = false;
            self.events.push_back(Event::Services(Box::new(ports)));
        }
        self.send(false, None);
    }

    /// The container has ended: what it used in the end.
    pub(super) fn leave_container(&mut self) -> Option<DockerUsage> {
        let watch = self.docker.take()?;
        if let Some(asking) = watch.asking {
            self.reactor.unwatch(asking.token);
        }
        watch.usage
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
