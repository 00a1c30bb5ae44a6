//! Process group for a hook that HTCondor runs in the process group of its caller. A placeholder process leads the
//! group. A signal that the hook sends to its group (`kill 0`) ends the placeholder instead of this program, and the
//! exit of the placeholder shows that a signal was sent.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use htc_base::process::{ChildSpec, Exit, LeftoverPolicy, SessionMode, Stdio};
use htc_os::{ChildId, Reactor, ReactorEvent, SignalScope, clock};

/// Placeholder process that leads the process group of a hook during one call.
pub(super) struct GroupLeaderProcess {
    leader: ChildId,
    /// Exit status of the placeholder, or `None` while it runs.
    exit: Option<Exit>,
    /// Write end of the placeholder's standard input. The placeholder exits when this end is closed.
    stdin_writer: Option<OwnedFd>,
}

/// Time that the placeholder has to exit by itself after it was dismissed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

impl GroupLeaderProcess {
    /// Starts the placeholder if the hook would inherit the caller's process group, and makes the hook join the group
    /// of the placeholder. Returns `None` if the hook has another session mode or if the placeholder cannot be
    /// started; the hook is then called unchanged.
    pub(super) fn start(reactor: &mut Reactor, spec: &mut ChildSpec) -> Option<Self> {
        if spec.session != SessionMode::Inherit {
            return None;
        }
        let (read, held) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).ok()?;
        let leader = reactor.spawn(ChildSpec {
            argv: ["sh", "-c", "read line"].map(Into::into).to_vec(),
            stdio: [Stdio::Descriptor(read.as_raw_fd()), Stdio::Null, Stdio::Null],
            session: SessionMode::NewGroup,
            leftover_policy: LeftoverPolicy::Kill,
            dies_with_parent: true,
            ..ChildSpec::new("/bin/sh")
        });
        let leader = leader.ok()?;
        spec.session = SessionMode::JoinGroup(reactor.pid(leader)?);
        Some(GroupLeaderProcess { leader, exit: None, stdin_writer: Some(held) })
    }

    /// Records the exit of the placeholder. Returns true if the event is the exit of the placeholder.
    pub(super) fn record_exit(&mut self, event: &ReactorEvent) -> bool {
        let ReactorEvent::Exited { child, exit, .. } = event else { return false };
        if *child == self.leader {
            self.exit = Some(*exit);
        }
        *child == self.leader
    }

    /// Lets the placeholder exit by itself, so that any signal that ends it must come from the hook. SIGCONT
    /// continues the placeholder if the hook has stopped it. The exit arrives as an event.
    pub(super) fn dismiss(&mut self, reactor: &mut Reactor) {
        self.stdin_writer = None;
        if self.exit.is_none() {
            reactor.send_signal(self.leader, nix::libc::SIGCONT, SignalScope::Process);
        }
    }

    /// Returns true if the placeholder has exited.
    pub(super) fn has_exited(&self) -> bool {
        self.exit.is_some()
    }

    /// Returns the signal that ended the placeholder, which the hook must have sent to its process group; or `None`
    /// if no signal ended it.
    pub(super) fn signal_from_hook(&self) -> Option<i32> {
        match self.exit? {
            Exit::Signal { number, .. } => Some(number),
            Exit::Code(_) => None,
        }
    }

    /// Waits for the exit of the placeholder after it was dismissed, and kills it after `EXIT_TIMEOUT`. Returns the
    /// last signal that this program received while waiting, or `None`.
    pub(super) fn wait(&mut self, reactor: &mut Reactor) -> io::Result<Option<i32>> {
        let mut interrupted = None;
        let mut deadline = Some(clock::monotonic_now().plus(EXIT_TIMEOUT));
        while !self.has_exited() {
            match reactor.next_event(deadline)? {
                ReactorEvent::Signal(number) => interrupted = Some(number),
                ReactorEvent::Timeout => {
                    deadline = None;
                    reactor.send_signal(self.leader, nix::libc::SIGKILL, SignalScope::Process);
                }
                event => drop(self.record_exit(&event)),
            }
        }
        Ok(interrupted)
    }
}
