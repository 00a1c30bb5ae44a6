//! A process group for hooks that are in that of their caller: one that only a bystander leads. What a hook sends to its group
//! (`kill 0`) would end us; so it meets the bystander, by whose end it is seen.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use htc_base::process::{ChildSpec, Exit, LeftBehind, Session, Stdio};
use htc_os::{ChildId, Event, Reactor, Whom, clock};

/// The bystander of one call.
pub(super) struct Aside {
    leader: ChildId,
    /// How it ended, where it has.
    exit: Option<Exit>,
    /// It waits for the end of this.
    held: Option<OwnedFd>,
}

/// How long it is given to end by itself.
const PATIENCE: Duration = Duration::from_secs(2);

impl Aside {
    /// Makes it where the hook is to be in our group, and puts the hook into its group instead. Where that cannot be done the hook
    /// is called without.
    pub(super) fn of(reactor: &mut Reactor, spec: &mut ChildSpec) -> Option<Self> {
        if spec.session != Session::Inherit {
            return None;
        }
        let (read, held) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).ok()?;
        let leader = reactor.spawn(ChildSpec {
            argv: ["sh", "-c", "read line"].map(Into::into).to_vec(),
            stdio: [Stdio::Descriptor(read.as_raw_fd()), Stdio::Null, Stdio::Null],
            session: Session::Group,
            left_behind: LeftBehind::Killed,
            dies_with_us: true,
            ..ChildSpec::new("/bin/sh")
        });
        let leader = leader.ok()?;
        spec.session = Session::Join(reactor.pid(leader)?);
        Some(Aside { leader, exit: None, held: Some(held) })
    }

    /// Looks whether an event is its end.
    pub(super) fn sees(&mut self, event: &Event) -> bool {
        let Event::Exited { child, exit, .. } = event else { return false };
        if *child == self.leader {
            self.exit = Some(*exit);
        }
        *child == self.leader
    }

    /// It is needed no more, and ends by itself: so every signal that ends it is the hook's. Its end comes as an event.
    pub(super) fn dismiss(&mut self, reactor: &mut Reactor) {
        self.held = None;
        if self.exit.is_none() {
            reactor.kill(self.leader, nix::libc::SIGCONT, Whom::Process);
        }
    }

    /// Whether its end has been seen.
    pub(super) fn is_over(&self) -> bool {
        self.exit.is_some()
    }

    /// The signal that the hook has sent to its group.
    pub(super) fn signalled(&self) -> Option<i32> {
        match self.exit? {
            Exit::Signal { number, .. } => Some(number),
            Exit::Code(_) => None,
        }
    }

    /// Waits for its end once it is dismissed; the signal that came for us meanwhile.
    pub(super) fn wait(&mut self, reactor: &mut Reactor) -> io::Result<Option<i32>> {
        let mut interrupted = None;
        let mut deadline = Some(clock::tick().plus(PATIENCE));
        while !self.is_over() {
            match reactor.next(deadline)? {
                Event::Signal(number) => interrupted = Some(number),
                Event::Timeout => {
                    deadline = None;
                    reactor.kill(self.leader, nix::libc::SIGKILL, Whom::Process);
                }
                event => drop(self.sees(&event)),
            }
        }
        Ok(interrupted)
    }
}
