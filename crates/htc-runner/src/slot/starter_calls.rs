//! Starters of the live loop: how they are started, and what their ends mean.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use bstr::BString;
use nix::libc;

use super::execute::remove_left_by;
use super::live::Live;
use super::orders;
use super::relay::Relay;
use super::starters::{self, Ended, Running};
use crate::events::{Event as StreamEvent, Kind, exit_words, full_text};
use crate::starter::has_left;
use htc_base::process::Exit;
use htc_base::text::arguments::join_v2_raw;
use htc_os::{ChildId, Whom, clock};
use htc_slot::{Event, Record, StarterCall, StarterId, StarterSignal, VacateReason};

/// What goes to and fro between a starter and its slot.
#[derive(Default)]
struct Links {
    /// It tells its events here, if to us.
    relay: Option<Relay>,
    /// It hears here; it alone keeps it.
    socket: Option<UnixListener>,
}

impl Live<'_> {
    /// Starts a starter, once that is noted.
    pub(super) fn spawn_starter(&mut self, call: StarterCall) {
        let slot_name = self.slot_name(call.slot);
        let directory = match starters::prepare(&self.options.private, &call) {
            Ok(directory) => directory,
            Err(error) => {
                let place = self.options.private.display();
                let reason = format!("no directory for the starter can be made in '{place}': {error}");
                return self.not_spawned(&call, reason);
            }
        };
        let mut environment = self.environment();
        let mut links = Links::default();
        if !self.options.starter.foreign {
            links = self.links(&directory, &slot_name);
            environment = environment.with([
                ("_HTC_STARTER_DIR".into(), directory.as_os_str().as_bytes().into()),
                ("_HTC_STARTER_OPTIONS".into(), self.starter_options(&slot_name, &links)),
            ]);
        }
        if let Some(execute) = &call.execute {
            let execute = execute.as_os_str().as_bytes().into();
            environment = environment.with([("_CONDOR_EXECUTE".into(), execute)]);
        }
        let mut spec = starters::spec(&self.options.starter, &call, environment.entries(), self.marker());
        spec.kept.extend(links.socket.as_ref().map(AsRawFd::as_raw_fd));
        let spawned = self.note_starter(&call, &slot_name);
        let spawned = spawned.and_then(|()| self.reactor.spawn(spec).map_err(|error| full_text(&error)));
        match spawned {
            Ok(child) => self.spawned(child, call, (slot_name, directory, links.relay)),
            Err(error) => {
                if let Some(relay) = links.relay {
                    relay.close(&mut self.reactor);
                }
                let _ = std::fs::remove_dir_all(&directory);
                self.note_done(Record::StarterEnds { starter: call.starter.0, done: None });
                let path = self.options.starter.path.display().to_string();
                let reason = if error.contains(&path) { error } else { format!("{path}: {error}") };
                self.not_spawned(&call, reason);
            }
        }
    }

    fn not_spawned(&mut self, call: &StarterCall, reason: String) {
        self.outcome.jobs += u64::from(!call.backfill);
        self.outcome.failed += u64::from(!call.backfill);
        self.waiting.push_front(Event::StarterFailed { starter: call.starter, reason });
    }

    /// How a starter of ours tells its events and hears what its slot wants, as far as that can be had.
    fn links(&mut self, directory: &Path, slot_name: &str) -> Links {
        let mut links = Links::default();
        let say = |live: &mut Self, what: &str, error: io::Error| {
            live.warn(Some(slot_name.to_owned()), &format!("{what}: {error}"));
        };
        if self.options.relays_events {
            match Relay::open(directory, &mut self.reactor) {
                Ok(relay) => links.relay = Some(relay),
                Err(error) => say(self, "the starter's events are not told", error),
            }
        }
        match orders::open(directory) {
            Ok(socket) => links.socket = Some(socket),
            Err(error) => say(self, "the starter gets signals and no reasons", error),
        }
        links
    }

    fn starter_options(&self, slot_name: &str, links: &Links) -> BString {
        let mut options = self.options.starter_options.clone();
        // For events alone. On a machine with one processor 25.14 does not tell the starter its slot (s03).
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

    fn spawned(
        &mut self,
        child: ChildId,
        call: StarterCall,
        (slot_name, directory, relay): (String, PathBuf, Option<Relay>),
    ) {
        let pid = self.reactor.pid(child).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
        let event = StreamEvent::new(clock::now(), Kind::Starter).slot(&slot_name).job(&call.job).pid(pid);
        self.tell(event);
        self.outcome.jobs += u64::from(!call.backfill);
        self.note_starter_runs(&call, pid);
        let (starter, slot) = (call.starter, call.slot);
        let running = Running {
            backfill: call.backfill,
            starter,
            accepted: call.accepted,
            slot,
            slot_name,
            job: call.job,
            pid,
            directory,
            execute: call.execute,
            requested: self.machine.is_requested(slot),
            relay,
        };
        self.starters.insert(child, running);
        self.tell_monitors(slot, true);
        self.waiting.push_front(Event::StarterSpawned { starter, pid });
    }

    /// Tells a starter what its slot wants: ours by an order, another by the signals of a startd.
    pub(super) fn tell_starter(
        &mut self,
        starter: StarterId,
        signal: StarterSignal,
        reason: Option<VacateReason>,
    ) {
        let found = self.starters.iter().find(|(_, running)| running.starter == starter);
        let Some((&child, running)) = found else { return };
        let reason = self.held.take().or(reason);
        if !self.options.starter.foreign
            && let Some(order) = orders::order(signal, reason.as_ref())
        {
            match orders::tell(&running.directory, &order) {
                Ok(()) => return,
                // It is at its end.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => {
                    let slot = running.slot_name.clone();
                    self.warn(Some(slot), &format!("the starter gets a signal and no reason: {error}"));
                }
            }
        }
        let (number, whom) = match signal {
            StarterSignal::Soft => (libc::SIGTERM, Whom::Process),
            StarterSignal::Hard => (libc::SIGQUIT, Whom::Process),
            StarterSignal::Kill => (libc::SIGKILL, Whom::Family),
            StarterSignal::Suspend => (libc::SIGTSTP, Whom::Process),
            StarterSignal::Continue => (libc::SIGCONT, Whom::Process),
        };
        self.reactor.kill(child, number, whom);
    }

    /// A starter has ended.
    pub(super) fn starter_ended(&mut self, mut running: Running, exit: Exit, output: &[u8]) {
        let now = clock::now();
        if let Some(mut relay) = running.relay.take() {
            relay.pass_on(self.events);
            relay.close(&mut self.reactor);
        }
        let ended = starters::ended(output, exit, self.options.starter.foreign);
        if !ended.succeeded() && !running.backfill {
            self.outcome.failed += 1;
        }
        let event =
            StreamEvent::new(now, Kind::Starter).slot(&running.slot_name).job(&running.job).pid(running.pid);
        self.tell(event.exit(exit_words(exit)));
        let mut event = StreamEvent::new(now, Kind::Job)
            .slot(&running.slot_name)
            .job(&running.job)
            .exit(ended.to_string())
            .verdict(if ended.succeeded() { "succeeded" } else { "failed" });
        if ended == Ended::NotStarted
            && let Some(why) = starters::why(output)
        {
            event = event.reason(why);
        }
        if !running.backfill {
            self.tell(event);
        }
        // A starter that was killed could not remove the job's directory.
        if let Some(execute) = &running.execute
            && let Ok(pid) = i32::try_from(running.pid)
            && (matches!(exit, Exit::Signal { .. }) || has_left(execute, pid))
        {
            let world = self.options.world.clone();
            for one in self.options.cleaner.clean(execute, Some(pid), true, &*world) {
                self.warn(Some(running.slot_name.clone()), &one.line);
            }
            for warning in remove_left_by(execute, running.pid) {
                self.warn(Some(running.slot_name.clone()), &warning);
            }
        }
        // One that was killed has told nobody what became of its job.
        let done = running.accepted.filter(|_| matches!(exit, Exit::Code(_))).map(|accepted| accepted.0);
        self.note_done(Record::StarterEnds { starter: running.starter.0, done });
        // Until that is noted, what stands in it tells whether it came to an end by itself.
        let _ = std::fs::remove_dir_all(&running.directory);
        self.tell_monitors(running.slot, false);
        if running.requested && !matches!(ended, Ended::NotStarted | Ended::Lost) {
            self.step(Event::FinalUpdate { starter: running.starter });
        }
        self.step(Event::StarterExited { starter: running.starter, exit });
    }
}
