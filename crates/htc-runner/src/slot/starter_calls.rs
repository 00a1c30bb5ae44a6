//! Starters of the live event loop: starts them, sends requests to them, and handles their ends.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::BString;
use nix::libc;

use super::execute::remove_leftovers_of;
use super::live_execution_point::LiveExecutionPoint;
use super::relay::EventRelay;
use super::running_starter::{self, RunningStarter, StarterJobEnd};
use super::starter_orders;
use crate::events::{RunnerEvent, RunnerEventKind, describe_exit, error_with_causes};
use crate::starter::has_leftovers;
use htc_base::process::Exit;
use htc_base::text::arguments::join_v2_raw;
use htc_os::{ChildId, SignalScope, clock, process_table};
use htc_slot::{JournalRecord, StartdEvent, StarterId, StarterLaunch, StarterSignal, VacateReason};

/// Channels between a starter and its slot.
#[derive(Default)]
struct StarterChannels {
    /// Relay of the starter's events, or `None` if the starter writes them itself.
    relay: Option<EventRelay>,
    /// Socket on which the starter receives requests. Only the starter keeps it open.
    socket: Option<UnixListener>,
}

/// Interval between checks for starters that a signal has stopped.
const STOP_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Returns true if a signal has stopped the process.
fn is_stopped(pid: u32) -> bool {
    process_table::read_process(pid.cast_signed()).is_some_and(|process| process.state == b'T')
}

impl LiveExecutionPoint<'_> {
    /// Starts a starter after recording it in the journal.
    pub(super) fn spawn_starter(&mut self, call: StarterLaunch) {
        let slot_name = self.slot_name(call.slot);
        let directory = match running_starter::prepare(&self.options.private_directory, &call) {
            Ok(directory) => directory,
            Err(error) => {
                let place = self.options.private_directory.display();
                let reason = format!("cannot create a directory for the starter in '{place}': {error}");
                return self.report_spawn_failure(&call, reason);
            }
        };
        let mut environment = self.environment();
        let mut links = StarterChannels::default();
        if !self.options.starter.foreign {
            links = self.open_channels(&directory, &slot_name);
            environment = environment.with_variables([
                ("_HTC_STARTER_DIR".into(), directory.as_os_str().as_bytes().into()),
                ("_HTC_STARTER_OPTIONS".into(), self.starter_options(&slot_name, &links)),
            ]);
        }
        if let Some(execute) = &call.execute {
            let execute = execute.as_os_str().as_bytes().into();
            environment = environment.with_variables([("_CONDOR_EXECUTE".into(), execute)]);
        }
        let mut spec = running_starter::starter_child_spec(
            &self.options.starter,
            &call,
            environment.entries(),
            self.new_family_marker(),
        );
        spec.inherited_descriptors.extend(links.socket.as_ref().map(AsRawFd::as_raw_fd));
        let spawned = self.record_starter_begin(&call, &slot_name);
        let spawned =
            spawned.and_then(|()| self.reactor.spawn(spec).map_err(|error| error_with_causes(&error)));
        match spawned {
            Ok(child) => self.register_starter(child, call, slot_name, directory, links.relay),
            Err(error) => {
                if let Some(relay) = links.relay {
                    relay.close(&mut self.reactor);
                }
                let _ = std::fs::remove_dir_all(&directory);
                self.write_record_or_warn(JournalRecord::StarterEnds { starter: call.starter.0, done: None });
                let path = self.options.starter.path.display().to_string();
                let reason = if error.contains(&path) { error } else { format!("{path}: {error}") };
                self.report_spawn_failure(&call, reason);
            }
        }
    }

    fn report_spawn_failure(&mut self, call: &StarterLaunch, reason: String) {
        self.outcome.jobs += u64::from(!call.backfill);
        self.outcome.failed += u64::from(!call.backfill);
        self.waiting_events.push_front(StartdEvent::StarterFailed { starter: call.starter, reason });
    }

    /// Opens the channels to a starter of this project; a channel that cannot be opened is left out.
    fn open_channels(&mut self, directory: &Path, slot_name: &str) -> StarterChannels {
        let mut links = StarterChannels::default();
        let warn_not_opened = |live: &mut Self, what: &str, error: io::Error| {
            live.warn(Some(slot_name.to_owned()), &format!("{what}: {error}"));
        };
        if self.options.relays_events {
            match EventRelay::open(directory, &mut self.reactor) {
                Ok(relay) => links.relay = Some(relay),
                Err(error) => warn_not_opened(self, "the starter's events are not reported", error),
            }
        }
        match starter_orders::open(directory) {
            Ok(socket) => links.socket = Some(socket),
            Err(error) => warn_not_opened(
                self,
                "cannot open the starter's control socket, so hold and vacate reasons are not passed to the starter",
                error,
            ),
        }
        links
    }

    fn starter_options(&self, slot_name: &str, links: &StarterChannels) -> BString {
        let mut options = self.options.starter_options.clone();
        // The starter uses the name only for events. On a machine with one processor, 25.14 does not pass the name
        // to the starter.
        options.extend_from_slice(format!(" --slot-name {slot_name}").as_bytes());
        if let Some(socket) = &links.socket {
            options.extend_from_slice(format!(" --control fd:{}", socket.as_raw_fd()).as_bytes());
        }
        if let Some(relay) = &links.relay {
            options.extend_from_slice(b" --events ");
            options.extend_from_slice(&join_v2_raw(&[BString::from(relay.path().as_os_str().as_bytes())]));
        }
        options
    }

    fn register_starter(
        &mut self,
        child: ChildId,
        call: StarterLaunch,
        slot_name: String,
        directory: PathBuf,
        relay: Option<EventRelay>,
    ) {
        let pid = self.reactor.pid(child).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
        let event =
            RunnerEvent::new(clock::now(), RunnerEventKind::Starter).slot(&slot_name).job(&call.job).pid(pid);
        self.report(event);
        self.outcome.jobs += u64::from(!call.backfill);
        self.record_starter_process(&call, pid);
        let (starter, slot) = (call.starter, call.slot);
        let running = RunningStarter {
            backfill: call.backfill,
            starter,
            accepted: call.accepted,
            slot,
            slot_name,
            job: call.job,
            pid,
            directory,
            execute: call.execute,
            requested: self.machine.is_claimed_by_schedd(slot),
            relay,
        };
        self.starters.insert(child, running);
        self.notify_monitors(slot, true);
        self.waiting_events.push_front(StartdEvent::StarterSpawned { starter, pid });
    }

    /// Sends a request to a starter: as an order to a starter of this project, as a startd's signal to another
    /// starter.
    pub(super) fn signal_starter(
        &mut self,
        starter: StarterId,
        signal: StarterSignal,
        reason: Option<VacateReason>,
    ) {
        let found = self.starters.iter().find(|(_, running)| running.starter == starter);
        let Some((&child, running)) = found else { return };
        let reason = self.hold_reason.take().or(reason);
        if !self.options.starter.foreign
            && let Some(order) = starter_orders::order_for_signal(signal, reason.as_ref())
        {
            match starter_orders::send_order(&running.directory, &order) {
                Ok(()) => return,
                // The starter is about to end, so it no longer needs the request.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => {
                    let slot = running.slot_name.clone();
                    self.warn(Some(slot), &format!("cannot pass the hold or vacate reason to the starter, which gets only a signal: {error}"));
                }
            }
        }
        let (number, whom) = match signal {
            StarterSignal::Soft => (libc::SIGTERM, SignalScope::Process),
            StarterSignal::Hard => (libc::SIGQUIT, SignalScope::Process),
            StarterSignal::Kill => (libc::SIGKILL, SignalScope::Family),
            StarterSignal::Suspend => (libc::SIGTSTP, SignalScope::Process),
            StarterSignal::Continue => (libc::SIGCONT, SignalScope::Process),
        };
        self.reactor.send_signal(child, number, whom);
    }

    /// Continues starters that a signal has stopped. If they remained stopped, a job of the same account could keep
    /// its slot forever.
    pub(super) fn continue_stopped_starters(&mut self) {
        let now = clock::monotonic_now();
        if self.options.starter.foreign || self.starters_checked_at.plus(STOP_CHECK_INTERVAL) > now {
            return;
        }
        self.starters_checked_at = now;
        let stopped: Vec<(ChildId, String, String)> = self
            .starters
            .iter()
            .filter(|(_, running)| is_stopped(running.pid))
            .map(|(child, running)| (*child, running.slot_name.clone(), running.job.clone()))
            .collect();
        for (child, slot, job) in stopped {
            self.reactor.send_signal(child, libc::SIGCONT, SignalScope::Process);
            let event = RunnerEvent::new(clock::now(), RunnerEventKind::Warning).slot(slot).job(job);
            self.report(
                event.reason("its starter was stopped by a signal, perhaps sent by the job: it is continued"),
            );
        }
    }

    /// Handles the end of a starter.
    pub(super) fn handle_starter_end(&mut self, mut running: RunningStarter, exit: Exit, output: &[u8]) {
        let now = clock::now();
        if let Some(mut relay) = running.relay.take() {
            relay.relay_lines(self.events);
            relay.close(&mut self.reactor);
        }
        let ended = running_starter::parse_job_end(output, exit, self.options.starter.foreign);
        if !ended.has_succeeded() && !running.backfill {
            self.outcome.failed += 1;
        }
        let event = RunnerEvent::new(now, RunnerEventKind::Starter)
            .slot(&running.slot_name)
            .job(&running.job)
            .pid(running.pid);
        self.report(event.exit(describe_exit(exit)));
        let mut event = RunnerEvent::new(now, RunnerEventKind::Job)
            .slot(&running.slot_name)
            .job(&running.job)
            .exit(ended.to_string())
            .verdict(if ended.has_succeeded() { "succeeded" } else { "failed" });
        if ended == StarterJobEnd::NotStarted
            && let Some(why) = running_starter::job_end_reason(output)
        {
            event = event.reason(why);
        }
        if !running.backfill {
            self.report(event);
        }
        // A starter that was killed could not remove the scratch directory.
        if let Some(execute) = &running.execute
            && let Ok(pid) = i32::try_from(running.pid)
            && (matches!(exit, Exit::Signal { .. }) || has_leftovers(execute, pid))
        {
            let world = self.options.world.clone();
            for one in self.options.cleaner.clean(execute, Some(pid), true, &*world) {
                self.warn(Some(running.slot_name.clone()), &one.line);
            }
            for warning in remove_leftovers_of(execute, running.pid) {
                self.warn(Some(running.slot_name.clone()), &warning);
            }
        }
        // A starter that was killed has not reported the end of its job.
        let done = running.accepted.filter(|_| matches!(exit, Exit::Code(_))).map(|accepted| accepted.0);
        self.write_record_or_warn(JournalRecord::StarterEnds { starter: running.starter.0, done });
        // The directory is removed only now: until the end is recorded, it shows whether the starter ended properly.
        let _ = std::fs::remove_dir_all(&running.directory);
        self.notify_monitors(running.slot, false);
        if running.requested && !matches!(ended, StarterJobEnd::NotStarted | StarterJobEnd::Lost) {
            self.step(StartdEvent::FinalUpdate { starter: running.starter });
        }
        self.step(StartdEvent::StarterExited { starter: running.starter, exit });
    }
}
