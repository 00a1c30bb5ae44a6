//! A process group for hooks that are in that of their caller: one that only a bystander leads. What a hook sends to its group
//! (`kill 0`) would end us; so it meets the bystander, by whose end it is seen.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use htc_base::process::{ChildSpec, Exit, LeftoverPolicy, SessionMode, Stdio};
use htc_os::{ChildId, Reactor, ReactorEvent, SignalScope, clock};

/// The bystander of one call.
pub(super) struct GroupLeaderProcess {
    leader: ChildId,
    /// How it ended, where it has.
    exit: Option<Exit>,
    /// It waits for the end of this.
    stdin_writer: Option<OwnedFd>,
}

/// How long it is given to end by itself.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

impl GroupLeaderProcess {
    /// Makes it where the hook is to be in our group, and puts the hook into its group instead. Where that cannot be done the hook
    /// is called without.
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

    /// Looks whether an event is its end.
    pub(super) fn record_exit(&mut self, event: &ReactorEvent) -> bool {
        let ReactorEvent::Exited { child, exit, .. } = event else { return false };
        if *child == self.leader {
            self.exit = Some(*exit);
        }
        *child == self.leader
    }

    /// It is needed no more, and ends by itself: so every signal that ends it is the hook's. Its end comes as an event.
    pub(super) fn dismiss(&mut self, reactor: &mut Reactor) {
        self.stdin_writer = None;
        if self.exit.is_none() {
            reactor.send_signal(self.leader, nix::libc::SIGCONT, SignalScope::Process);
        }
    }

    /// Whether its end has been seen.
    pub(super) fn has_exited(&self) -> bool {
        self.exit.is_some()
    }

    /// The signal that the hook has sent to its group.
    pub(super) fn signal_from_hook(&self) -> Option<i32> {
        match self.exit? {
            Exit::Signal { number, .. } => Some(number),
            Exit::Code(_) => None,
        }
    }

    /// Waits for its end once it is dismissed; the signal that came for us meanwhile.
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
