//! One child from its spawn until it is reported: its pipes, its end, and what it leaves behind.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::libc;
use nix::sys::stat::fstat;

use htc_base::process::{Exit, LeftBehind};
use htc_base::time::Tick;

use super::accounting::{FamilyUsage, Tally};
use super::child::{self, Reaped};
use super::clock;
use super::event::{Captured, ChildId, Event, Given, Leftover, Stream};
use super::family::{self, EXEC, Family, Whom};
use super::pipes::{Read1, Reader, Writer};
use super::process_table::{self, Process};
use super::spawn::{Late, Spawned};

/// How long what was only just forked is given to become the program whose name is told.
const NAMING: Duration = Duration::from_millis(50);
/// How long killed processes are waited for before they are reported as not killed (stuck in the kernel).
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// How much of a stream is read after the child's end at most: pipes hold no more than 1 MiB.
const LAST_READ: usize = 1 << 20;

/// A child that has not been reported as finished.
pub(super) struct Running {
    child: ChildId,
    pub(super) family: Family,
    life: Life,
    stdin: Option<Writer>,
    given: Given,
    outputs: [Option<Reader>; 2],
    left_behind: LeftBehind,
    drain: Duration,
    tally: Tally,
    late: Option<Late>,
    /// It makes no processes: none that is found is of its making.
    pub(super) bystander: bool,
}

/// Whether the child itself runs.
enum Life {
    Runs,
    Ended(Ending),
}

/// What is known and still waited for after the child's own end.
struct Ending {
    reaped: Reaped,
    since: Tick,
    look_again: Tick,
    leftovers: Vec<Leftover>,
    /// Some of them have been killed and may not be gone yet.
    killing: bool,
}

/// How far a child that has ended has got.
pub(super) enum Progress {
    /// Something it left behind still has to die, or its pipes to be drained.
    Waiting,
    /// All done.
    Finished(Box<Event>, Option<Kept>),
}

/// A child that has been reported, some of whose processes live on.
pub(super) struct Kept {
    pub(super) child: ChildId,
    pub(super) family: Family,
}

impl Kept {
    fn members(&mut self) -> Vec<Process> {
        let mut found = Vec::new();
        for orphan in family::orphans() {
            if self.family.claims(&orphan) {
                self.family.adopt(orphan, &mut found);
            }
        }
        found
    }

    pub(super) fn is_empty(&mut self) -> bool {
        self.members().is_empty()
    }

    pub(super) fn kill(&mut self, signal: i32) {
        for member in self.members() {
            drop(child::send(member.pid, signal));
        }
    }
}

impl Running {
    pub(super) fn new(
        child: ChildId,
        spawned: Spawned,
        leader: bool,
        (left_behind, drain): (LeftBehind, Duration),
    ) -> Self {
        let mut running = Running {
            child,
            family: Family::new(spawned.pid, leader, spawned.marker),
            life: Life::Runs,
            stdin: spawned.stdin,
            given: Given::default(),
            outputs: [spawned.stdout, spawned.stderr],
            left_behind,
            drain,
            tally: Tally::default(),
            late: spawned.late,
            bystander: false,
        };
        // Most inputs fit into the pipe, and the reader is saved a turn.
        running.write();
        running
    }

    /// What to wait for: stdin, stdout, stderr.
    pub(super) fn pipes(&self) -> [Option<BorrowedFd<'_>>; 3] {
        let output = |index: usize| self.outputs[index].as_ref().and_then(Reader::descriptor);
        [self.stdin.as_ref().and_then(Writer::descriptor), output(0), output(1)]
    }

    fn write(&mut self) {
        if let Some(stdin) = &mut self.stdin {
            stdin.write();
            let (offered, taken) = stdin.progress();
            self.given = Given { offered, taken, unread: 0 };
        }
    }

    /// Moves bytes through the pipes that are ready.
    pub(super) fn transfer(&mut self, flags: [bool; 3], buffer: &mut [u8], events: &mut VecDeque<Event>) {
        if flags[0] {
            self.write();
        }
        for (index, ready) in flags[1..].iter().enumerate() {
            if *ready {
                self.read(index, buffer, events);
            }
        }
    }

    /// Reads one output once; whether there may be more.
    fn read(&mut self, index: usize, buffer: &mut [u8], events: &mut VecDeque<Event>) -> Option<usize> {
        let reader = self.outputs[index].as_mut()?;
        reader.descriptor()?;
        let Read1::Bytes(count, piece) = reader.read(buffer) else { return None };
        let stream = if index == 0 { Stream::Stdout } else { Stream::Stderr };
        events.extend(piece.map(|bytes| Event::Piece { child: self.child, stream, bytes }));
        Some(count)
    }

    /// The processes that are or descend from this child, orphans included; `alone` gives it those without any mark.
    fn members(&mut self, alone: bool) -> Vec<Process> {
        let mut found = Vec::new();
        if !self.has_ended() {
            found.extend(process_table::read(self.family.pid));
            found.extend(self.family.below());
        }
        for orphan in family::orphans() {
            if alone || self.family.claims(&orphan) {
                self.family.adopt(orphan, &mut found);
            }
        }
        found
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.life, Life::Ended(_))
    }

    /// The child itself has ended so; what it has left behind is looked at from now on.
    pub(super) fn end(&mut self, reaped: Reaped) {
        let now = clock::tick();
        let (leftovers, killing) = (Vec::new(), false);
        self.life = Life::Ended(Ending { reaped, since: now, look_again: now, leftovers, killing });
    }

    pub(super) fn usage(&mut self, alone: bool) -> Option<FamilyUsage> {
        if self.has_ended() {
            return None;
        }
        let members = self.members(alone);
        Some(self.tally.sample(&members))
    }

    pub(super) fn kill(&mut self, signal: i32, whom: Whom, alone: bool) {
        let pid = self.family.pid;
        match whom {
            Whom::Family => {
                // Each round finds what was forked while the last one ran; a member that has got the signal stays put.
                let rounds = if signal == libc::SIGKILL { 50 } else { 1 };
                let mut sent = rustc_hash::FxHashSet::default();
                for _ in 0..rounds {
                    let members = self.members(alone);
                    let fresh: Vec<_> =
                        members.iter().filter(|one| sent.insert((one.pid, one.started))).collect();
                    if fresh.is_empty() {
                        break;
                    }
                    for member in fresh {
                        drop(child::send(member.pid, signal));
                    }
                }
            }
            _ if self.has_ended() => {}
            Whom::Process => drop(child::send(pid, signal)),
        }
    }

    /// When an ended child is to be looked at again though nothing happens.
    pub(super) fn wants_to_look(&self) -> Option<Tick> {
        match &self.life {
            Life::Runs => None,
            Life::Ended(ending) => Some(ending.look_again),
        }
    }

    /// Whether the child has ended and it is time to look how far that has got.
    pub(super) fn may_finish(&self) -> bool {
        match &self.life {
            Life::Runs => false,
            Life::Ended(ending) => {
                ending.killing || !self.has_open_output() || clock::tick() >= ending.look_again
            }
        }
    }

    fn has_open_output(&self) -> bool {
        self.outputs.iter().flatten().any(|output| output.descriptor().is_some())
    }

    /// Which of these orphans are the child's, and whether another one may turn out to be when its exec is over.
    fn left_among(&mut self, orphans: Vec<Process>, alone: bool) -> (Vec<Process>, bool) {
        let mut members = Vec::new();
        let mut doubtful = false;
        for orphan in orphans {
            // Looked at first: what has a mark by now may have had none before.
            let executing = process_table::is_executing(orphan.pid);
            if alone || self.family.claims(&orphan) {
                self.family.adopt(orphan, &mut members);
            } else {
                doubtful |= executing;
            }
        }
        (members, doubtful)
    }

    /// Takes the end of the child as far as it goes. `orphans` are what may be its own, all of it where it is `alone`.
    pub(super) fn finish(
        &mut self,
        (orphans, alone): (Vec<Process>, bool),
        look_again: Tick,
        buffer: &mut [u8],
        events: &mut VecDeque<Event>,
    ) -> Progress {
        let now = clock::tick();
        let (members, doubtful) = self.left_among(orphans, alone);
        let Life::Ended(mut ending) = std::mem::replace(&mut self.life, Life::Runs) else {
            return Progress::Waiting;
        };
        ending.look_again = look_again;
        self.note(&members, &mut ending);
        if let Some(stdin) = self.stdin.take() {
            self.given.unread = stdin.unread();
        }
        let lasts = now.since(ending.since);
        if self.waits_for_processes(&members, doubtful, lasts, &mut ending)
            || self.waits_for_outputs(lasts, &mut ending, buffer, events)
        {
            self.life = Life::Ended(ending);
            return Progress::Waiting;
        }
        let kept = (!members.is_empty()).then(|| {
            let family = std::mem::replace(&mut self.family, Family::new(0, false, None));
            Kept { child: self.child, family }
        });
        Progress::Finished(Box::new(self.report(ending)), kept)
    }

    /// Notes what the child has left behind, as it is now.
    fn note(&self, members: &[Process], ending: &mut Ending) {
        for member in members {
            match ending.leftovers.iter_mut().find(|known| known.pid == member.pid) {
                Some(known) if !ending.killing && !member.is_zombie() => *known = self.leftover(member),
                Some(_) => {}
                None => ending.leftovers.push(self.leftover(member)),
            }
        }
    }

    /// Whether what is left behind has yet to be known by its name, or to die. `lasts`: how long the child has been gone.
    fn waits_for_processes(
        &self,
        members: &[Process],
        doubtful: bool,
        lasts: Duration,
        ending: &mut Ending,
    ) -> bool {
        // A shell that has only just forked what it leaves behind would be named in its place.
        let unnamed = members.iter().any(|member| member.only_forked && !member.is_zombie());
        let patience = match (doubtful, unnamed) {
            (true, _) => EXEC,
            (false, true) => NAMING,
            (false, false) => Duration::ZERO,
        };
        if lasts < patience && !ending.killing {
            return true;
        }
        if self.left_behind == LeftBehind::Killed && !members.is_empty() {
            for member in members {
                drop(child::send(member.pid, libc::SIGKILL));
            }
            if lasts < KILL_PATIENCE {
                ending.killing = true;
                return true;
            }
        }
        ending.killing = false;
        for leftover in &mut ending.leftovers {
            leftover.killed = !members.iter().any(|member| member.pid == leftover.pid);
        }
        false
    }

    /// Reads what the outputs hold; whether somebody may still write into them, and is waited for.
    fn waits_for_outputs(
        &mut self,
        lasts: Duration,
        ending: &mut Ending,
        buffer: &mut [u8],
        events: &mut VecDeque<Event>,
    ) -> bool {
        for index in 0..2 {
            let mut room = LAST_READ;
            while let Some(count) = self.read(index, buffer, events) {
                room = room.saturating_sub(count.max(1));
                if room == 0 {
                    break;
                }
            }
        }
        let waits = self.has_open_output() && lasts < self.drain;
        if waits {
            ending.look_again = ending.since.plus(self.drain);
        }
        waits
    }

    fn leftover(&self, member: &Process) -> Leftover {
        let holds = |index: usize| {
            let inode = self.outputs[index]
                .as_ref()
                .and_then(Reader::descriptor)
                .and_then(|descriptor| fstat(descriptor).ok())
                .map(|status| status.st_ino);
            inode.is_some_and(|inode| process_table::holds(member.pid, inode))
        };
        Leftover {
            pid: member.pid,
            command: member.command.clone(),
            holds_stdout: holds(0),
            holds_stderr: holds(1),
            killed: false,
        }
    }

    fn report(&mut self, ending: Ending) -> Event {
        let child = self.child;
        let Ending { reaped, leftovers: left_behind, .. } = ending;
        let mut captured = [Captured::default(), Captured::default()];
        for (index, output) in self.outputs.iter_mut().enumerate() {
            let Some(reader) = output.take() else { continue };
            let held = reader.descriptor().is_some();
            captured[index] = reader.captured(held);
        }
        let [stdout, stderr] = captured;
        Event::Exited {
            child,
            // A stop is not reported by the wait we make, so that every status is an end.
            exit: Exit::from_raw(reaped.status).unwrap_or(Exit::Code(255)),
            usage: reaped.usage,
            stdin: self.given,
            stdout,
            stderr,
            left_behind,
            not_executed: self.late.take().and_then(Late::failure).map(Box::new),
        }
    }
}
