//! Starters of the live loop: how they are started, and what their ends mean.

use bstr::BString;

use super::execute::remove_left_by;
use super::live::Live;
use super::relay::Relay;
use super::starters::{self, Ended, Running};
use crate::os::clock;
use crate::process::Exit;
use crate::runner::events::{Event as Told, Kind, exit_words, full_text};
use crate::runner::starter::has_left;
use crate::slot::{Event, Record, StarterCall};
use crate::text::arguments::join_v2_raw;

impl Live<'_> {
    /// Starts a starter, once that is noted.
    pub(super) fn spawn_starter(&mut self, call: StarterCall) {
        let slot_name = self.slot_name(call.slot);
        let starter = call.starter;
        let failed = |reason: String| Event::StarterFailed { starter, reason };
        let directory = match starters::prepare(&self.options.private, &call) {
            Ok(directory) => directory,
            Err(error) => {
                self.outcome.jobs += u64::from(!call.backfill);
                self.outcome.failed += u64::from(!call.backfill);
                let place = self.options.private.display();
                let reason = format!("no directory for the starter can be made in '{place}': {error}");
                return self.waiting.push_front(failed(reason));
            }
        };
        let relay = match self.options.relays_events && !self.options.starter.foreign {
            true => match Relay::open(&directory, &mut self.reactor) {
                Ok(relay) => Some(relay),
                Err(error) => {
                    self.warn(
                        Some(slot_name.clone()),
                        &format!("the starter's events are not told: {error}"),
                    );
                    None
                }
            },
            false => None,
        };
        let mut environment = self.environment();
        if !self.options.starter.foreign {
            use std::os::unix::ffi::OsStrExt;
            let mut options = self.options.starter_options.clone();
            // For events alone. On a machine with one processor 25.14 does not tell the starter its slot (s03).
            options.extend_from_slice(format!(" --slot-name {slot_name}").as_bytes());
            if let Some(relay) = &relay {
                options.extend_from_slice(b" --events ");
                options
                    .extend_from_slice(&join_v2_raw(&[BString::from(relay.path().as_os_str().as_bytes())]));
            }
            environment = environment.with([
                ("_HTC_STARTER_DIR".into(), directory.as_os_str().as_bytes().into()),
                ("_HTC_STARTER_OPTIONS".into(), options),
            ]);
        }
        if let Some(execute) = &call.execute {
            use std::os::unix::ffi::OsStrExt;
            let execute = execute.as_os_str().as_bytes().into();
            environment = environment.with([("_CONDOR_EXECUTE".into(), execute)]);
        }
        let spec = starters::spec(&self.options.starter, &call, environment.entries(), self.marker());
        let spawned = self.note_starter(&call, &slot_name);
        let spawned = spawned.and_then(|()| self.reactor.spawn(spec).map_err(|error| full_text(&error)));
        match spawned {
            Ok(child) => {
                let pid = self.reactor.pid(child).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
                let event = Told::new(clock::now(), Kind::Starter).slot(&slot_name).job(&call.job).pid(pid);
                self.tell(event);
                self.outcome.jobs += u64::from(!call.backfill);
                self.note_starter_runs(&call, pid);
                let running = Running {
                    backfill: call.backfill,
                    starter,
                    accepted: call.accepted,
                    slot: call.slot,
                    slot_name,
                    job: call.job,
                    pid,
                    directory,
                    execute: call.execute,
                    requested: self.machine.is_requested(call.slot),
                    relay,
                };
                self.starters.insert(child, running);
                self.tell_monitors(call.slot, true);
                self.waiting.push_front(Event::StarterSpawned { starter, pid });
            }
            Err(error) => {
                if let Some(relay) = relay {
                    relay.close(&mut self.reactor);
                }
                let _ = std::fs::remove_dir_all(&directory);
                self.outcome.jobs += u64::from(!call.backfill);
                self.outcome.failed += u64::from(!call.backfill);
                self.note_done(Record::StarterEnds { starter: starter.0, done: None });
                let path = self.options.starter.path.display().to_string();
                let mut reason = error;
                if !reason.contains(&path) {
                    reason = format!("{path}: {reason}");
                }
                self.waiting.push_front(failed(reason));
            }
        }
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
        let event = Told::new(now, Kind::Starter).slot(&running.slot_name).job(&running.job).pid(running.pid);
        self.tell(event.exit(exit_words(exit)));
        let mut event = Told::new(now, Kind::Job)
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
