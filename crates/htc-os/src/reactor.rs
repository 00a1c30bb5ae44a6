//! Main loop of a program: children, their pipes, signals, watched descriptors and deadlines become
//! [`ReactorEvent`]s.
//!
//! The loop never blocks on a child that does not read, write, close or exit, and the output of a child is
//! never buffered beyond the limit in its specification.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustc_hash::FxHashMap;

use htc_base::process::{ChildSpec, SessionMode};
use htc_base::time::MonotonicTime;

use super::accounting::FamilyUsage;
use super::child::{self, ReapedChild};
use super::clock;
use super::process_family::{self, EXEC_GRACE_PERIOD, SignalScope};
use super::process_table::Process;
use super::reactor_event::{ChildId, ReactorEvent, WatchToken};
use super::running_child::{FinishProgress, LeftoverFamily, RunningChild};
use super::signals::{ReceivedSignal, SignalReceiver};
use super::spawn::Spawner;
use super::spawn_error::SpawnError;

/// Condition for which the caller watches a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// The descriptor has data to read or a connection to accept, or its input has ended.
    Read,
    /// The descriptor has space to write.
    Write,
}

struct WatchedDescriptor {
    token: WatchToken,
    descriptor: OwnedFd,
    interest: Interest,
}

/// Time without any event after which the reactor checks its children even if no SIGCHLD has arrived.
const LOST_SIGNAL_INTERVAL: Duration = Duration::from_secs(5);

/// Interval between checks of processes that have been killed but have not ended yet.
const RECHECK_INTERVAL: Duration = Duration::from_millis(2);

/// Main loop of a program, which owns the children, the signal handlers and the orphans. A program has one
/// reactor.
pub struct Reactor {
    spawner: Spawner,
    signals: SignalReceiver,
    running: FxHashMap<ChildId, RunningChild>,
    /// Running processes of children that have been reported as finished.
    leftover_families: Vec<LeftoverFamily>,
    watched: Vec<WatchedDescriptor>,
    ready_events: VecDeque<ReactorEvent>,
    /// Sender of the last signal with each number.
    senders: FxHashMap<i32, Option<i32>>,
    buffer: Vec<u8>,
    next_number: u64,
}

impl Reactor {
    /// Creates the main loop. From now on the given signals are reported as events instead of ending the
    /// program, and orphaned descendants become children of this process.
    ///
    /// # Errors
    /// Fails if a descriptor or handler cannot be created, or if a signal cannot be handled (KILL, STOP,
    /// SEGV, ...).
    pub fn new(signals: &[i32]) -> io::Result<Self> {
        let numbers: Vec<i32> = signals.iter().copied().chain([libc::SIGCHLD]).collect();
        // This fails only on kernels older than 3.4. Without a subreaper, orphans are identified only by
        // their environment.
        let _ = nix::sys::prctl::set_child_subreaper(true);
        Ok(Reactor {
            spawner: Spawner::new()?,
            signals: SignalReceiver::new(&numbers)?,
            running: FxHashMap::default(),
            leftover_families: Vec::new(),
            watched: Vec::new(),
            ready_events: VecDeque::new(),
            senders: FxHashMap::default(),
            buffer: vec![0; 64 * 1024],
            next_number: 0,
        })
    }

    /// Starts a child. On success, the program has been executed.
    ///
    /// # Errors
    /// Fails if any step of starting the child fails, including exec; the child then no longer exists.
    pub fn spawn(&mut self, spec: ChildSpec) -> Result<ChildId, SpawnError> {
        let (owns_processes, makes_no_processes) =
            (spec.session.owns_processes(), spec.session == SessionMode::NewGroup);
        let (leftover_policy, drain_timeout, tracking_group) =
            (spec.leftover_policy, spec.drain_timeout, spec.tracking_group);
        let spawned = self.spawner.spawn(spec)?;
        let child = ChildId(self.allocate_id());
        let mut running = RunningChild::new(child, spawned, owns_processes, leftover_policy, drain_timeout);
        running.family.tracking_group = tracking_group;
        running.makes_no_processes = makes_no_processes;
        self.running.insert(child, running);
        Ok(child)
    }

    /// Returns the children that have not been reported as finished and may create processes.
    fn forking_children(&self) -> impl Iterator<Item = &RunningChild> {
        self.running.values().filter(|running| !running.makes_no_processes)
    }

    fn allocate_id(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// Returns the pid of a child, or `None` once it has been reported as finished.
    pub fn pid(&self, child: ChildId) -> Option<i32> {
        self.running.get(&child).map(|running| running.family.pid)
    }

    /// Returns the pid of the process that sent the last signal with this number, or `None` if the kernel sent it.
    pub fn signal_sender(&self, number: i32) -> Option<i32> {
        self.senders.get(&number).copied().flatten()
    }

    /// Returns the children that have not been reported as finished.
    pub fn child_ids(&self) -> impl Iterator<Item = ChildId> {
        self.running.keys().copied()
    }

    /// Sends a signal to a child, or to its whole family. It is not an error if the child has ended.
    ///
    /// For a family, SIGKILL is sent until every member has received it, so that no process escapes by
    /// forking.
    pub fn send_signal(&mut self, child: ChildId, signal: i32, scope: SignalScope) {
        let owns_all_orphans = self.forking_children().count() == 1;
        if let Some(running) = self.running.get_mut(&child) {
            running.send_signal(signal, scope, owns_all_orphans);
        } else if let Some(leftover) =
            self.leftover_families.iter_mut().find(|leftover| leftover.child == child)
        {
            leftover.send_signal(signal);
        }
    }

    /// Returns the current resource usage of the child's family, or `None` once the child has ended.
    pub fn family_usage(&mut self, child: ChildId) -> Option<FamilyUsage> {
        let owns_all_orphans = self.forking_children().count() == 1;
        self.running.get_mut(&child).and_then(|running| running.usage(owns_all_orphans))
    }

    /// Watches a descriptor: as long as it is ready for `interest`, each call of `next_event` reports
    /// [`ReactorEvent::Readable`]. The descriptor is duplicated.
    ///
    /// # Errors
    /// Fails if the descriptor cannot be duplicated.
    pub fn watch(&mut self, descriptor: BorrowedFd<'_>, interest: Interest) -> io::Result<WatchToken> {
        let descriptor = descriptor.try_clone_to_owned()?;
        let token = WatchToken(self.allocate_id());
        self.watched.push(WatchedDescriptor { token, descriptor, interest });
        Ok(token)
    }

    /// Stops watching a descriptor.
    pub fn unwatch(&mut self, token: WatchToken) {
        self.watched.retain(|watched| watched.token != token);
        self.ready_events.retain(|event| *event != ReactorEvent::Readable(token));
    }

    /// Waits for the next event until the deadline, or without a limit if the deadline is `None`.
    ///
    /// # Errors
    /// Returns the error of `poll`.
    pub fn next_event(&mut self, deadline: Option<MonotonicTime>) -> io::Result<ReactorEvent> {
        loop {
            if let Some(event) = self.ready_events.pop_front() {
                return Ok(event);
            }
            let is_past_deadline = deadline.is_some_and(|deadline| clock::monotonic_now() >= deadline);
            self.poll_once(if is_past_deadline { Some(clock::monotonic_now()) } else { deadline })?;
            if is_past_deadline && self.ready_events.is_empty() {
                return Ok(ReactorEvent::Timeout);
            }
        }
    }

    /// Polls once and handles the results.
    fn poll_once(&mut self, deadline: Option<MonotonicTime>) -> io::Result<()> {
        let ending = self.running.values().filter_map(RunningChild::next_check_time).min();
        // If a signal handler cannot write to its pipe, the end of a child is not announced.
        let unannounced = self.running.values().any(|running| !running.has_ended());
        let unannounced = unannounced.then(|| clock::monotonic_now().plus(LOST_SIGNAL_INTERVAL));
        let deadline = [deadline, ending, unannounced].into_iter().flatten().min();
        let ready = self.wait_for_descriptors(deadline)?;
        let mut chld = unannounced.is_some_and(|at| clock::monotonic_now() >= at);
        let (of_signals, others) = ready.split_at(1);
        let received = if of_signals == [true] { self.signals.take_signals() } else { Vec::new() };
        for ReceivedSignal { number, sender } in received {
            if number == libc::SIGCHLD {
                chld = true;
            } else {
                self.senders.insert(number, sender);
                self.ready_events.push_back(ReactorEvent::Signal(number));
            }
        }
        let mut descriptors = others.iter().copied();
        for watched in &self.watched {
            if descriptors.next() == Some(true) {
                self.ready_events.push_back(ReactorEvent::Readable(watched.token));
            }
        }
        for running in self.running.values_mut() {
            let flags =
                running.pipe_descriptors().map(|pipe| pipe.is_some() && descriptors.next() == Some(true));
            running.transfer_bytes(flags, &mut self.buffer, &mut self.ready_events);
        }
        let orphans = chld.then(|| self.reap_children());
        self.report_finished(orphans);
        Ok(())
    }

    /// Waits until a descriptor is ready. Returns for each descriptor true if it is ready, in the order:
    /// signals, watched descriptors, pipes.
    fn wait_for_descriptors(&self, deadline: Option<MonotonicTime>) -> io::Result<Vec<bool>> {
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
            let [stdin, stdout, stderr] = running.pipe_descriptors();
            set.extend(stdin.map(|fd| PollFd::new(fd, PollFlags::POLLOUT)));
            set.extend([stdout, stderr].into_iter().flatten().map(|fd| PollFd::new(fd, read)));
        }
        loop {
            let timeout = match deadline {
                None => PollTimeout::NONE,
                // The time is rounded up, so that the loop does not spin during the last millisecond.
                Some(deadline) => {
                    let left = deadline.since(clock::monotonic_now()).as_micros().div_ceil(1000);
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

    /// Reaps the children that have ended, and returns the remaining orphans.
    fn reap_children(&mut self) -> Vec<Process> {
        let mut found = false;
        while let Some(pid) = child::find_ended_child() {
            let is_ended = |running: &&mut RunningChild| running.family.pid == pid && !running.has_ended();
            let Some(running) = self.running.values_mut().find(is_ended) else {
                // The ended process is an orphan or was created by another part of the program. It may hide
                // further children that have ended.
                found = false;
                break;
            };
            reap_child(running);
            found = true;
        }
        if !found {
            self.running.values_mut().filter(|running| !running.has_ended()).for_each(reap_child);
        }
        self.leftover_families.retain_mut(|leftover| !leftover.is_gone());
        // The call also reaps orphans that have ended.
        process_family::find_orphans()
    }

    /// Reports the children that have finished. `orphans` must have been read after the children ended.
    fn report_finished(&mut self, orphans: Option<Vec<Process>>) {
        if self.running.values().all(|running| !running.has_ended()) {
            return;
        }
        let ended = self.forking_children().filter(|running| running.has_ended()).count();
        let others = self.forking_children().count() - ended;
        let candidates: Vec<ChildId> = self
            .running
            .iter()
            .filter(|(_, running)| running.can_finish())
            .map(|(&child, _)| child)
            .collect();
        if candidates.is_empty() {
            return;
        }
        let orphans = orphans.unwrap_or_else(process_family::find_orphans);
        for child in candidates {
            // An orphan without a marker belongs to this child if no other child can have created it.
            let owns_all_orphans = others == 0 && ended == 1 && self.leftover_families.is_empty();
            let orphans =
                orphans.iter().filter(|orphan| !self.is_member_of_other(child, orphan)).cloned().collect();
            let Some(running) = self.running.get_mut(&child) else { continue };
            let owns_all_orphans = owns_all_orphans && !running.makes_no_processes;
            let next_check = clock::monotonic_now().plus(RECHECK_INTERVAL);
            match running.try_finish(
                orphans,
                owns_all_orphans,
                next_check,
                &mut self.buffer,
                &mut self.ready_events,
            ) {
                FinishProgress::Waiting => {}
                FinishProgress::Finished(event, leftover) => {
                    self.running.remove(&child);
                    self.leftover_families.extend(leftover);
                    self.ready_events.push_back(*event);
                }
            }
        }
    }

    fn is_member_of_other(&self, child: ChildId, orphan: &Process) -> bool {
        self.running.iter().any(|(&other, running)| other != child && running.family.is_member(orphan))
            || self.leftover_families.iter().any(|leftover| leftover.family.is_member(orphan))
    }

    /// Kills all processes of all children, including processes that outlived their child, and waits at most
    /// `patience` until they have ended. Called when the program ends; generates no events.
    pub fn kill_all(&mut self, patience: Duration) {
        let deadline = clock::monotonic_now().plus(patience);
        let doubtful_until = clock::monotonic_now().plus(EXEC_GRACE_PERIOD);
        loop {
            let owns_all_orphans = self.forking_children().count() == 1;
            for running in self.running.values_mut() {
                running.send_signal(libc::SIGKILL, SignalScope::Family, owns_all_orphans);
            }
            for leftover in &mut self.leftover_families {
                leftover.send_signal(libc::SIGKILL);
            }
            let orphans = self.reap_children();
            let claims =
                |running: &RunningChild| orphans.iter().any(|orphan| running.family.is_member(orphan));
            self.running.retain(|_, running| !running.has_ended() || claims(running));
            // A process that was in the middle of an exec when its child was reported could not be attributed
            // at that time.
            let lost = orphans.iter().filter(|orphan| match process_family::has_our_marker(orphan) {
                Some(true) => {
                    drop(child::send_signal(orphan.pid, libc::SIGKILL));
                    true
                }
                Some(false) => false,
                None => clock::monotonic_now() < doubtful_until,
            });
            let none_lost = lost.count() == 0;
            if (self.running.is_empty() && self.leftover_families.is_empty() && none_lost)
                || clock::monotonic_now() >= deadline
            {
                return;
            }
            // The arrival of SIGCHLD ends this wait early.
            let pause = clock::monotonic_now().plus(RECHECK_INTERVAL);
            drop(self.wait_for_descriptors(Some(pause)));
            drop(self.signals.take_signals());
        }
    }
}

/// Reaps a child if it has ended.
fn reap_child(running: &mut RunningChild) {
    match child::reap_process(running.family.pid, false) {
        Ok(Some(reaped)) => running.mark_ended(reaped),
        Ok(None) => {}
        // Another part of this program has reaped the child, so its exit status is lost. The child is still
        // marked as ended, because no one can wait for it any more.
        Err(_) => running.mark_ended(ReapedChild { status: 0xff00, usage: Default::default() }),
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        self.kill_all(Duration::from_secs(1));
    }
}
