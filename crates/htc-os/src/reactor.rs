//! The one loop of a program: children, their pipes, signals, watched descriptors and deadlines become [`Event`]s.
//!
//! Nothing here ever waits for a child that does not read, write, close or die, and no buffer grows with what a child
//! writes, except to the limit that its specification states.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustc_hash::FxHashMap;

use htc_base::process::{ChildSpec, Session};
use htc_base::time::Tick;

use super::accounting::FamilyUsage;
use super::child::{self, Reaped};
use super::clock;
use super::event::{ChildId, Event, Token};
use super::family::{self, EXEC, Whom};
use super::process_table::Process;
use super::running::{Kept, Progress, Running};
use super::signals::Signals;
use super::spawn::Spawner;
use super::spawn_error::SpawnError;

/// What a watched descriptor is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Data to read, a connection to accept, or the end.
    Read,
    /// Room to write.
    Write,
}

struct Watched {
    token: Token,
    descriptor: OwnedFd,
    interest: Interest,
}

/// How often one looks again at processes that have been killed and are not gone yet.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The loop. One for a program; children, signal handlers and orphans are its own.
pub struct Reactor {
    spawner: Spawner,
    signals: Signals,
    running: FxHashMap<ChildId, Running>,
    /// Children that have ended and left processes behind which live on.
    kept: Vec<Kept>,
    watched: Vec<Watched>,
    ready: VecDeque<Event>,
    buffer: Vec<u8>,
    next_number: u64,
}

impl Reactor {
    /// Makes the loop, which from now on reports these signals as events instead of dying of them, and makes the
    /// process the reaper of its orphaned descendants.
    ///
    /// # Errors
    /// When a descriptor or a handler cannot be had; a signal that cannot be handled (KILL, STOP, SEGV, ...).
    pub fn new(signals: &[i32]) -> io::Result<Self> {
        let numbers: Vec<i32> = signals.iter().copied().chain([libc::SIGCHLD]).collect();
        // Fails only on kernels older than 3.4; then orphans are found by what they carry alone.
        let _ = nix::sys::prctl::set_child_subreaper(true);
        Ok(Reactor {
            spawner: Spawner::new()?,
            signals: Signals::new(&numbers)?,
            running: FxHashMap::default(),
            kept: Vec::new(),
            watched: Vec::new(),
            ready: VecDeque::new(),
            buffer: vec![0; 64 * 1024],
            next_number: 0,
        })
    }

    /// Makes a child. When it returns the program has been executed, or it has not and the error says why.
    ///
    /// # Errors
    /// Every step of making it, exec included; nothing of the child is left then.
    pub fn spawn(&mut self, spec: ChildSpec) -> Result<ChildId, SpawnError> {
        let (leader, bystander) = (spec.session.is_its_own(), spec.session == Session::Group);
        let (left_behind, drain, tracking_group) = (spec.left_behind, spec.drain, spec.tracking_group);
        let spawned = self.spawner.spawn(spec)?;
        let child = ChildId(self.number());
        let mut running = Running::new(child, spawned, leader, (left_behind, drain));
        running.family.tracking_group = tracking_group;
        running.bystander = bystander;
        self.running.insert(child, running);
        Ok(child)
    }

    /// The children that make processes, as far as they have not been reported.
    fn makers(&self) -> impl Iterator<Item = &Running> {
        self.running.values().filter(|running| !running.bystander)
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// The pid of a child that has not been reported as finished.
    pub fn pid(&self, child: ChildId) -> Option<i32> {
        self.running.get(&child).map(|running| running.family.pid)
    }

    /// The children that have not been reported as finished.
    pub fn children(&self) -> impl Iterator<Item = ChildId> {
        self.running.keys().copied()
    }

    /// Sends a signal. A child that is gone is no error.
    ///
    /// For a family SIGKILL is repeated until no member is found that has not got it, so that one cannot fork its way out.
    pub fn kill(&mut self, child: ChildId, signal: i32, whom: Whom) {
        let alone = self.makers().count() == 1;
        if let Some(running) = self.running.get_mut(&child) {
            running.kill(signal, whom, alone);
        } else if let Some(kept) = self.kept.iter_mut().find(|kept| kept.child == child) {
            kept.kill(signal);
        }
    }

    /// What the child's family uses now; `None` once the child has ended.
    pub fn usage(&mut self, child: ChildId) -> Option<FamilyUsage> {
        let alone = self.makers().count() == 1;
        self.running.get_mut(&child).and_then(|running| running.usage(alone))
    }

    /// Reports with [`Event::Readable`] when `descriptor` can be read or written, as often as `next` is called while it
    /// can. The descriptor is duplicated.
    ///
    /// # Errors
    /// When it cannot be duplicated.
    pub fn watch(&mut self, descriptor: BorrowedFd<'_>, interest: Interest) -> io::Result<Token> {
        let descriptor = descriptor.try_clone_to_owned()?;
        let token = Token(self.number());
        self.watched.push(Watched { token, descriptor, interest });
        Ok(token)
    }

    /// Ends a watch.
    pub fn unwatch(&mut self, token: Token) {
        self.watched.retain(|watched| watched.token != token);
        self.ready.retain(|event| *event != Event::Readable(token));
    }

    /// Waits for the next event, at most until the deadline; for ever when there is none.
    ///
    /// # Errors
    /// When `poll` itself fails, which it does not for lack of anything to wait for.
    pub fn next(&mut self, deadline: Option<Tick>) -> io::Result<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            let late = deadline.is_some_and(|deadline| clock::tick() >= deadline);
            self.turn(if late { Some(clock::tick()) } else { deadline })?;
            if late && self.ready.is_empty() {
                return Ok(Event::Timeout);
            }
        }
    }

    /// Polls once and handles what came.
    fn turn(&mut self, deadline: Option<Tick>) -> io::Result<()> {
        let ending = self.running.values().filter_map(Running::wants_to_look).min();
        let deadline = [deadline, ending].into_iter().flatten().min();
        let ready = self.wait(deadline)?;
        let mut chld = false;
        let (of_signals, others) = ready.split_at(1);
        let came = if of_signals == [true] { self.signals.take() } else { Vec::new() };
        for signal in came {
            if signal == libc::SIGCHLD {
                chld = true;
            } else {
                self.ready.push_back(Event::Signal(signal));
            }
        }
        let mut descriptors = others.iter().copied();
        for watched in &self.watched {
            if descriptors.next() == Some(true) {
                self.ready.push_back(Event::Readable(watched.token));
            }
        }
        for running in self.running.values_mut() {
            let flags = running.pipes().map(|pipe| pipe.is_some() && descriptors.next() == Some(true));
            running.transfer(flags, &mut self.buffer, &mut self.ready);
        }
        let orphans = chld.then(|| self.reap());
        self.finish(orphans);
        Ok(())
    }

    /// Waits for any descriptor; tells for each, in the order signals, watched, pipes, whether it is ready.
    fn wait(&self, deadline: Option<Tick>) -> io::Result<Vec<bool>> {
        let read = PollFlags::POLLIN;
        let mut set = vec![PollFd::new(self.signals.descriptor(), read)];
        set.extend(self.watched.iter().map(|watched| {
            let flags = match watched.interest {
                Interest::Read => read,
                Interest::Write => PollFlags::POLLOUT,
            };
            PollFd::new(watched.descriptor.as_fd(), flags)
        }));
        for running in self.running.values() {
            let [stdin, stdout, stderr] = running.pipes();
            set.extend(stdin.map(|fd| PollFd::new(fd, PollFlags::POLLOUT)));
            set.extend([stdout, stderr].into_iter().flatten().map(|fd| PollFd::new(fd, read)));
        }
        loop {
            let timeout = match deadline {
                None => PollTimeout::NONE,
                // Rounded up, so that we are not early and turn in circles for the last millisecond.
                Some(deadline) => {
                    let left = deadline.since(clock::tick()).as_micros().div_ceil(1000);
                    PollTimeout::try_from(left.min(i32::MAX as u128) as i32).unwrap_or(PollTimeout::MAX)
                }
            };
            match poll(&mut set, timeout) {
                Ok(_) => return Ok(set.iter().map(|one| one.any().unwrap_or(true)).collect()),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Waits for children that have ended; the orphans that are left.
    fn reap(&mut self) -> Vec<Process> {
        let mut found = false;
        while let Some(pid) = child::ended() {
            let mine = |running: &&mut Running| running.family.pid == pid && !running.has_ended();
            let Some(running) = self.running.values_mut().find(mine) else {
                // It is an orphan, or somebody else's, and may hide others.
                found = false;
                break;
            };
            reap_one(running);
            found = true;
        }
        if !found {
            self.running.values_mut().filter(|running| !running.has_ended()).for_each(reap_one);
        }
        self.kept.retain_mut(|kept| !kept.is_empty());
        // Those of them that have ended are reaped on the way.
        family::orphans()
    }

    /// Reports the children that have finished. `orphans` were seen after their end.
    fn finish(&mut self, orphans: Option<Vec<Process>>) {
        if self.running.values().all(|running| !running.has_ended()) {
            return;
        }
        let ended = self.makers().filter(|running| running.has_ended()).count();
        let others = self.makers().count() - ended;
        let candidates: Vec<ChildId> = self
            .running
            .iter()
            .filter(|(_, running)| running.may_finish())
            .map(|(&child, _)| child)
            .collect();
        if candidates.is_empty() {
            return;
        }
        let orphans = orphans.unwrap_or_else(family::orphans);
        for child in candidates {
            // Nobody else can have made an orphan that carries no mark at all.
            let alone = others == 0 && ended == 1 && self.kept.is_empty();
            let orphans =
                orphans.iter().filter(|orphan| !self.claimed_by_other(child, orphan)).cloned().collect();
            let Some(running) = self.running.get_mut(&child) else { continue };
            let alone = alone && !running.bystander;
            let again = clock::tick().plus(LOOK_AGAIN);
            match running.finish((orphans, alone), again, &mut self.buffer, &mut self.ready) {
                Progress::Waiting => {}
                Progress::Finished(event, kept) => {
                    self.running.remove(&child);
                    self.kept.extend(kept);
                    self.ready.push_back(*event);
                }
            }
        }
    }

    fn claimed_by_other(&self, child: ChildId, orphan: &Process) -> bool {
        self.running.iter().any(|(&other, running)| other != child && running.family.claims(orphan))
            || self.kept.iter().any(|kept| kept.family.claims(orphan))
    }

    /// Kills whatever still runs below us on behalf of any child, kept leftovers included, and waits until it is gone, at
    /// most `patience`. For the end of a program; no event comes of it.
    pub fn kill_all(&mut self, patience: Duration) {
        let deadline = clock::tick().plus(patience);
        let doubtful_until = clock::tick().plus(EXEC);
        loop {
            let alone = self.makers().count() == 1;
            for running in self.running.values_mut() {
                running.kill(libc::SIGKILL, Whom::Family, alone);
            }
            for kept in &mut self.kept {
                kept.kill(libc::SIGKILL);
            }
            let orphans = self.reap();
            let claims = |running: &Running| orphans.iter().any(|orphan| running.family.claims(orphan));
            self.running.retain(|_, running| !running.has_ended() || claims(running));
            // One that executed a program while its maker's end was looked at was not known again then.
            let lost = orphans.iter().filter(|orphan| match family::is_ours(orphan) {
                Some(true) => {
                    drop(child::send(orphan.pid, libc::SIGKILL));
                    true
                }
                Some(false) => false,
                None => clock::tick() < doubtful_until,
            });
            let none_lost = lost.count() == 0;
            if (self.running.is_empty() && self.kept.is_empty() && none_lost) || clock::tick() >= deadline {
                return;
            }
            // A SIGCHLD ends the wait at once.
            let pause = clock::tick().plus(LOOK_AGAIN);
            drop(self.wait(Some(pause)));
            drop(self.signals.take());
        }
    }
}

/// Waits for a child, if it has ended.
fn reap_one(running: &mut Running) {
    match child::wait(running.family.pid, false) {
        Ok(Some(reaped)) => running.end(reaped),
        Ok(None) => {}
        // Somebody else in this process has waited for it. Its status is lost, but it must not be waited for.
        Err(_) => running.end(Reaped { status: 0xff00, usage: Default::default() }),
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        self.kill_all(Duration::from_secs(1));
    }
}
