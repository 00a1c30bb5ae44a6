//! Child process from its spawn until it is reported as finished: its pipes, its end, and the processes that
//! it leaves behind.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::libc;
use nix::sys::stat::fstat;

use htc_base::process::{Exit, LeftoverPolicy};
use htc_base::time::MonotonicTime;

use super::accounting::{FamilyUsage, UsageTally};
use super::child::{self, ReapedChild};
use super::clock;
use super::pipes::{InputWriter, OutputReader, PipeReadOutcome};
use super::process_family::{self, EXEC_GRACE_PERIOD, ProcessFamily, SignalScope};
use super::process_table::{self, Process};
use super::reactor_event::{
    CapturedOutput, ChildId, LeftoverProcess, OutputStream, ReactorEvent, StdinDelivery,
};
use super::spawn::{DeferredExecError, SpawnedChild};

/// Maximum time to wait until a forked leftover process executes its program, so that the name of that
/// program can be reported.
const NAMING_GRACE_PERIOD: Duration = Duration::from_millis(50);
/// Maximum time to wait for killed processes to end. Processes that are stuck in the kernel are then reported
/// as not killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of bytes that are read from a pipe after the child's end; a pipe holds at most 1 MiB.
const FINAL_READ_LIMIT: usize = 1 << 20;

/// Child that has not been reported as finished yet.
pub(super) struct RunningChild {
    child: ChildId,
    pub(super) family: ProcessFamily,
    state: ChildState,
    stdin: Option<InputWriter>,
    stdin_delivery: StdinDelivery,
    outputs: [Option<OutputReader>; 2],
    left_behind: LeftoverPolicy,
    drain_timeout: Duration,
    usage_tally: UsageTally,
    deferred_exec_error: Option<DeferredExecError>,
    /// True if the child is known to create no processes, so that no orphan can be its descendant.
    pub(super) makes_no_processes: bool,
}

/// State of the child process itself.
enum ChildState {
    Running,
    Ended(EndedChild),
}

/// Data of a child that has ended, kept until the child is reported as finished.
struct EndedChild {
    reaped: ReapedChild,
    ended_at: MonotonicTime,
    next_check: MonotonicTime,
    leftovers: Vec<LeftoverProcess>,
    /// True if leftover processes have been killed but may not be gone yet.
    kill_pending: bool,
}

/// Outcome of an attempt to report an ended child as finished.
pub(super) enum FinishProgress {
    /// The child cannot be reported yet: leftover processes must end, or pipes must be read to the end.
    Waiting,
    /// The child has finished. Contains the event for the caller, and the leftover processes that are still
    /// running, if any.
    Finished(Box<ReactorEvent>, Option<LeftoverFamily>),
}

/// Running processes of a child that has been reported as finished.
pub(super) struct LeftoverFamily {
    pub(super) child: ChildId,
    pub(super) family: ProcessFamily,
}

impl LeftoverFamily {
    fn members(&mut self) -> Vec<Process> {
        let mut found = Vec::new();
        for orphan in process_family::find_orphans() {
            if self.family.is_member(&orphan) {
                self.family.adopt_orphan(orphan, &mut found);
            }
        }
        found
    }

    pub(super) fn is_gone(&mut self) -> bool {
        self.members().is_empty()
    }

    pub(super) fn send_signal(&mut self, signal: i32) {
        for member in self.members() {
            drop(child::send_signal(member.pid, signal));
        }
    }
}

impl RunningChild {
    pub(super) fn new(
        child: ChildId,
        spawned: SpawnedChild,
        leader: bool,
        left_behind: LeftoverPolicy,
        drain: Duration,
    ) -> Self {
        let mut running = RunningChild {
            child,
            family: ProcessFamily::new(spawned.pid, leader, spawned.marker),
            state: ChildState::Running,
            stdin: spawned.stdin,
            stdin_delivery: StdinDelivery::default(),
            outputs: [spawned.stdout, spawned.stderr],
            left_behind,
            drain_timeout: drain,
            usage_tally: UsageTally::default(),
            deferred_exec_error: spawned.deferred_exec_error,
            makes_no_processes: false,
        };
        // Most inputs fit into the pipe, so writing at once saves one turn of the main loop.
        running.write_stdin();
        running
    }

    /// Returns the descriptors of the open pipes: standard input, output and error.
    pub(super) fn pipe_descriptors(&self) -> [Option<BorrowedFd<'_>>; 3] {
        let output = |index: usize| self.outputs[index].as_ref().and_then(OutputReader::descriptor);
        [self.stdin.as_ref().and_then(InputWriter::descriptor), output(0), output(1)]
    }

    fn write_stdin(&mut self) {
        if let Some(stdin) = &mut self.stdin {
            stdin.write();
            let (offered, taken) = stdin.write_progress();
            self.stdin_delivery = StdinDelivery { offered, taken, unread: 0 };
        }
    }

    /// Reads and writes the pipes that are ready.
    pub(super) fn transfer_bytes(
        &mut self,
        flags: [bool; 3],
        buffer: &mut [u8],
        events: &mut VecDeque<ReactorEvent>,
    ) {
        if flags[0] {
            self.write_stdin();
        }
        for (index, ready) in flags[1..].iter().enumerate() {
            if *ready {
                self.read_output(index, buffer, events);
            }
        }
    }

    /// Reads once from an output. Returns the number of bytes read, or `None` if no more data is available at
    /// the moment.
    fn read_output(
        &mut self,
        index: usize,
        buffer: &mut [u8],
        events: &mut VecDeque<ReactorEvent>,
    ) -> Option<usize> {
        let reader = self.outputs[index].as_mut()?;
        reader.descriptor()?;
        let PipeReadOutcome::Bytes(count, piece) = reader.read(buffer) else { return None };
        let stream = if index == 0 { OutputStream::Stdout } else { OutputStream::Stderr };
        events.extend(piece.map(|bytes| ReactorEvent::Piece { child: self.child, stream, bytes }));
        Some(count)
    }

    /// Returns the live processes of the child's family. If `owns_all_orphans` is true, all orphans belong to the
    /// family, even without a marker.
    fn members(&mut self, owns_all_orphans: bool) -> Vec<Process> {
        let mut found = Vec::new();
        if !self.has_ended() {
            found.extend(process_table::read_process(self.family.pid));
            found.extend(self.family.find_descendants());
        }
        for orphan in process_family::find_orphans() {
            if owns_all_orphans || self.family.is_member(&orphan) {
                self.family.adopt_orphan(orphan, &mut found);
            }
        }
        found
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, ChildState::Ended(_))
    }

    /// Records that the child has ended. From now on, its leftover processes are checked.
    pub(super) fn mark_ended(&mut self, reaped: ReapedChild) {
        let now = clock::monotonic_now();
        let (leftovers, killing) = (Vec::new(), false);
        self.state = ChildState::Ended(EndedChild {
            reaped,
            ended_at: now,
            next_check: now,
            leftovers,
            kill_pending: killing,
        });
    }

    pub(super) fn usage(&mut self, owns_all_orphans: bool) -> Option<FamilyUsage> {
        if self.has_ended() {
            return None;
        }
        let members = self.members(owns_all_orphans);
        Some(self.usage_tally.add_sample(&members))
    }

    pub(super) fn send_signal(&mut self, signal: i32, scope: SignalScope, owns_all_orphans: bool) {
        let pid = self.family.pid;
        match scope {
            SignalScope::Family => {
                // Each round finds the processes that were forked during the previous round. No process gets
                // the signal twice.
                let rounds = if signal == libc::SIGKILL { 50 } else { 1 };
                let mut sent = rustc_hash::FxHashSet::default();
                for _ in 0..rounds {
                    let members = self.members(owns_all_orphans);
                    let new_members: Vec<_> =
                        members.iter().filter(|one| sent.insert((one.pid, one.start_ticks))).collect();
                    if new_members.is_empty() {
                        break;
                    }
                    for member in new_members {
                        drop(child::send_signal(member.pid, signal));
                    }
                }
            }
            _ if self.has_ended() => {}
            SignalScope::Process => drop(child::send_signal(pid, signal)),
        }
    }

    /// Returns the time of the next check of an ended child, or `None` while it is running.
    pub(super) fn next_check_time(&self) -> Option<MonotonicTime> {
        match &self.state {
            ChildState::Running => None,
            ChildState::Ended(ending) => Some(ending.next_check),
        }
    }

    /// Returns true if the child has ended and the next check is due.
    pub(super) fn can_finish(&self) -> bool {
        match &self.state {
            ChildState::Running => false,
            ChildState::Ended(ending) => {
                ending.kill_pending || !self.has_open_output() || clock::monotonic_now() >= ending.next_check
            }
        }
    }

    fn has_open_output(&self) -> bool {
        self.outputs.iter().flatten().any(|output| output.descriptor().is_some())
    }

    /// Returns the orphans that belong to the child's family. The second value is true if another orphan is
    /// in the middle of an exec and may turn out to belong to the family.
    fn adopt_orphans(&mut self, orphans: Vec<Process>, owns_all_orphans: bool) -> (Vec<Process>, bool) {
        let mut members = Vec::new();
        let mut doubtful = false;
        for orphan in orphans {
            // The exec state is read before the marker, because a process whose marker is readable now may
            // have been in an exec a moment ago.
            let executing = process_table::is_in_exec(orphan.pid);
            if owns_all_orphans || self.family.is_member(&orphan) {
                self.family.adopt_orphan(orphan, &mut members);
            } else {
                doubtful |= executing;
            }
        }
        (members, doubtful)
    }

    /// Tries to report an ended child as finished. `orphans` are the processes that may belong to the child; if
    /// `owns_all_orphans` is true, all of them do.
    pub(super) fn try_finish(
        &mut self,
        orphans: Vec<Process>,
        owns_all_orphans: bool,
        look_again: MonotonicTime,
        buffer: &mut [u8],
        events: &mut VecDeque<ReactorEvent>,
    ) -> FinishProgress {
        let now = clock::monotonic_now();
        let (members, doubtful) = self.adopt_orphans(orphans, owns_all_orphans);
        let ChildState::Ended(mut ending) = std::mem::replace(&mut self.state, ChildState::Running) else {
            return FinishProgress::Waiting;
        };
        ending.next_check = look_again;
        self.note_leftovers(&members, &mut ending);
        if let Some(stdin) = self.stdin.take() {
            self.stdin_delivery.unread = stdin.unread_bytes();
        }
        let elapsed = now.since(ending.ended_at);
        if self.is_waiting_for_processes(&members, doubtful, elapsed, &mut ending)
            || self.is_waiting_for_outputs(elapsed, &mut ending, buffer, events)
        {
            self.state = ChildState::Ended(ending);
            return FinishProgress::Waiting;
        }
        let kept = (!members.is_empty()).then(|| {
            let family = std::mem::replace(&mut self.family, ProcessFamily::new(0, false, None));
            LeftoverFamily { child: self.child, family }
        });
        FinishProgress::Finished(Box::new(self.build_exit_event(ending)), kept)
    }

    /// Records the current state of the child's leftover processes.
    fn note_leftovers(&self, members: &[Process], ending: &mut EndedChild) {
        for member in members {
            match ending.leftovers.iter_mut().find(|known| known.pid == member.pid) {
                Some(known) if !ending.kill_pending && !member.is_zombie() => {
                    *known = self.to_leftover(member)
                }
                Some(_) => {}
                None => ending.leftovers.push(self.to_leftover(member)),
            }
        }
    }

    /// Returns true if leftover processes still have to execute their program or to end. `elapsed` is the time since
    /// the child's end.
    fn is_waiting_for_processes(
        &self,
        members: &[Process],
        doubtful: bool,
        elapsed: Duration,
        ending: &mut EndedChild,
    ) -> bool {
        // A process that a shell has just forked still has the name of the shell.
        let unnamed = members.iter().any(|member| member.only_forked && !member.is_zombie());
        let patience = match (doubtful, unnamed) {
            (true, _) => EXEC_GRACE_PERIOD,
            (false, true) => NAMING_GRACE_PERIOD,
            (false, false) => Duration::ZERO,
        };
        if elapsed < patience && !ending.kill_pending {
            return true;
        }
        if self.left_behind == LeftoverPolicy::Kill && !members.is_empty() {
            for member in members {
                drop(child::send_signal(member.pid, libc::SIGKILL));
            }
            if elapsed < KILL_TIMEOUT {
                ending.kill_pending = true;
                return true;
            }
        }
        ending.kill_pending = false;
        for leftover in &mut ending.leftovers {
            leftover.killed = !members.iter().any(|member| member.pid == leftover.pid);
        }
        false
    }

    /// Reads the available output. Returns true if other processes hold the pipes open and may still write
    /// before the timeout expires.
    fn is_waiting_for_outputs(
        &mut self,
        elapsed: Duration,
        ending: &mut EndedChild,
        buffer: &mut [u8],
        events: &mut VecDeque<ReactorEvent>,
    ) -> bool {
        for index in 0..2 {
            let mut room = FINAL_READ_LIMIT;
            while let Some(count) = self.read_output(index, buffer, events) {
                room = room.saturating_sub(count.max(1));
                if room == 0 {
                    break;
                }
            }
        }
        let waits = self.has_open_output() && elapsed < self.drain_timeout;
        if waits {
            ending.next_check = ending.ended_at.plus(self.drain_timeout);
        }
        waits
    }

    fn to_leftover(&self, member: &Process) -> LeftoverProcess {
        let holds = |index: usize| {
            let inode = self.outputs[index]
                .as_ref()
                .and_then(OutputReader::descriptor)
                .and_then(|descriptor| fstat(descriptor).ok())
                .map(|status| status.st_ino);
            inode.is_some_and(|inode| process_table::has_pipe_open(member.pid, inode))
        };
        LeftoverProcess {
            pid: member.pid,
            command: member.command.clone(),
            holds_stdout: holds(0),
            holds_stderr: holds(1),
            killed: false,
        }
    }

    fn build_exit_event(&mut self, ending: EndedChild) -> ReactorEvent {
        let child = self.child;
        let EndedChild { reaped, leftovers: left_behind, .. } = ending;
        let mut captured = [CapturedOutput::default(), CapturedOutput::default()];
        for (index, output) in self.outputs.iter_mut().enumerate() {
            let Some(reader) = output.take() else { continue };
            let held = reader.descriptor().is_some();
            captured[index] = reader.into_captured(held);
        }
        let [stdout, stderr] = captured;
        ReactorEvent::Exited {
            child,
            // waitpid is called without WUNTRACED, so every status is that of an ended process.
            exit: Exit::from_raw(reaped.status).unwrap_or(Exit::Code(255)),
            usage: reaped.usage,
            stdin: self.stdin_delivery,
            stdout,
            stderr,
            left_behind,
            not_executed: self
                .deferred_exec_error
                .take()
                .and_then(DeferredExecError::into_error)
                .map(Box::new),
        }
    }
}
