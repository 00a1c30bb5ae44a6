//! What a job uses: its family is looked at, and its directory is looked through.

use super::live::Live;
use super::looking::{Looked, Looking};
use super::running::{FIRST_SNAPSHOT, Running};
use htc_base::time::Tick;
use htc_hook::transfer::{STDERR, STDOUT};
use htc_os::{accounting, clock};
use htc_starter::{Event, FamilyUsage};

impl Live<'_> {
    /// Looks at a process that has just been started.
    pub(super) fn look_at_new(&mut self) {
        if self.process.as_ref().is_some_and(|process| process.next_look.is_none()) {
            self.sample();
            if let Some(process) = &mut self.process {
                process.next_look = Some(clock::tick().plus(FIRST_SNAPSHOT));
            }
        }
    }

    /// When the process is looked at next.
    pub(super) fn next_look(&self) -> Option<Tick> {
        self.process.as_ref()?.next_look
    }

    /// Its time may have come.
    pub(super) fn look_if_due(&mut self, now: Tick) {
        if self.next_look().is_some_and(|at| at <= now) {
            self.sample();
            if let Some(process) = &mut self.process {
                process.next_look = Some(now.plus(process.interval(self.job.snapshot)));
            }
        }
    }

    /// Looks at the family's use of the machine.
    pub(super) fn sample(&mut self) {
        if let Some(process) = &mut self.process
            && let Some(usage) = self.reactor.usage(process.child)
        {
            // Asked of the procd alone, which does not watch control groups (`procapi.cpp`, `getPSSInfo`).
            if process.own.group.is_none() && self.job.proportional {
                process.proportional_kib = usage
                    .pids
                    .iter()
                    .filter_map(|pid| accounting::proportional_kib(*pid))
                    .reduce(|sum, one| sum + one);
            }
            process.usage = usage;
            if let Some(group) = &mut process.own.group {
                group.sample();
            }
        }
    }

    pub(super) fn measured(&self) -> FamilyUsage {
        let usage = self.process.as_ref().map_or_else(FamilyUsage::default, Running::measured);
        FamilyUsage { docker: self.docker.as_ref().and_then(|watch| watch.usage), ..usage }
    }

    /// Tells the machine something with what the job's directory holds, once that is known. What was seen before the end of a
    /// process counts no more.
    pub(super) fn with_disk(&mut self, event: Event) {
        if !self.job.measures_disk {
            return self.events.push_back(event);
        }
        let before = self.looking.take_if(|_| matches!(event, Event::ProcessEnded { .. }));
        let then = before.map(|looking| looking.then).unwrap_or_default();
        let top = &self.job.sandbox.top;
        self.looking.get_or_insert_with(|| Looking::new(top, then)).then.push(event);
        self.look_on();
    }

    /// Looks a little further. A directory that takes too long is as it was the last time.
    pub(super) fn look_on(&mut self) {
        let Some(looking) = &mut self.looking else { return };
        match looking.go_on() {
            Looked::Further => return,
            Looked::All(bytes, entries) => self.disk = Some((bytes, entries)),
            Looked::TooLong => self.warn_once("disk-usage", || {
                "the job's directory holds too much to be looked through: DiskUsage is not always new"
                    .to_owned()
            }),
        }
        let written = [STDOUT, STDERR].map(|name| self.job.sandbox.written(name));
        let then = self.looking.take().map(|looking| looking.then).unwrap_or_default();
        for mut event in then {
            if let Event::Measured(usage) | Event::ProcessEnded { usage, .. } = &mut event {
                usage.disk = self.disk;
                usage.written = written;
            }
            self.events.push_back(event);
        }
    }
}
