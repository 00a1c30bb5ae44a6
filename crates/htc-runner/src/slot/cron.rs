//! The execution point's cron jobs: run beside its hooks, heard by its slots.

use bstr::ByteSlice;

use super::live::Live;
use super::running_hook::STDERR_SHOWN;
use crate::cron::{CronMoment, CronNotice, CronRunner};
use crate::events::{Event as StreamEvent, Kind, exit_words};
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_hook::cron_job::CronJob;
use htc_os as os;
use htc_os::clock;
use htc_slot::cron_schedule::{CronEvent, CronNote};
use htc_slot::{CronSettings, Event, Shutdown, SlotKey};

/// Whether a job's CONDITION permits it to start now; `daemon` is there when any job has one. No cron job starts while the
/// machine is measured.
fn may_start(job: &CronJob, daemon: Option<&ClassAd>, world: &dyn World) -> bool {
    let (Some(condition), Some(daemon)) = (&job.condition, daemon) else { return true };
    Context::new(world).my(daemon).eval(condition).truth() == Some(true)
}

impl Live<'_> {
    /// What conditions are evaluated in, if there are any.
    fn condition_ad(&self) -> Option<ClassAd> {
        self.has_conditions().then(|| self.machine.daemon_ad())
    }

    fn has_conditions(&self) -> bool {
        self.machine.cron_settings().jobs.iter().any(|job| job.condition.is_some())
    }

    /// Has the cron jobs do something.
    fn with_cron<T>(&mut self, act: impl FnOnce(&mut CronRunner, &mut CronMoment<'_>) -> T) -> T {
        let (daemon, world) = (self.condition_ad(), self.options.world.clone());
        let measured = self.benchmarks.alive() > 0;
        let may_start = |job: &CronJob| !measured && may_start(job, daemon.as_ref(), &*world);
        let reactor = &mut self.reactor;
        let at = &mut CronMoment { reactor, now: clock::now(), may_start: &may_start, world: &*world };
        act(&mut self.cron, at)
    }

    /// The configuration was read, for the first time or again.
    pub(super) fn configure_cron(&mut self) {
        let CronSettings { jobs, max_load, auto_publish, .. } = self.machine.cron_settings().clone();
        self.with_cron(|cron, at| cron.configure(jobs, max_load, auto_publish, at));
        self.cron_told();
    }

    pub(super) fn cron_step(&mut self, event: CronEvent) {
        self.with_cron(|cron, at| cron.step(event, at));
        self.cron_told();
    }

    /// Takes an event of a cron job in; gives back those of others.
    pub(super) fn take_cron(&mut self, event: os::Event) -> Option<os::Event> {
        if self.cron.alive() == 0 {
            return Some(event);
        }
        let rest = self.with_cron(|cron, at| cron.take(event, at));
        let ended = self.cron_told();
        if ended && self.has_conditions() {
            // What it published last may be what another job waits for.
            self.cron_step(CronEvent::MayStart);
        }
        if ended && self.cron.alive() == 0 {
            self.benchmarks_may_start();
        }
        rest
    }

    /// Starts and signals cron jobs that are due, and ends them all when the execution point ends.
    pub(super) fn look_at_cron(&mut self) {
        if self.cron.next_wake().is_some_and(|wake| wake <= clock::tick()) {
            self.cron_step(CronEvent::TimePasses);
        }
        self.look_at_benchmarks(None);
        let ends = self.machine.shutdown();
        if ends > self.cron_ends {
            self.look_at_benchmarks(ends);
            self.cron_ends = ends;
            self.cron_step(CronEvent::ShutDown { fast: ends == Some(Shutdown::Fast) });
        }
    }

    /// A job of the slot begins or ends: resource monitors count for it.
    pub(super) fn tell_monitors(&mut self, slot: SlotKey, begins: bool) {
        if self.machine.cron_settings().jobs.iter().all(|job| job.metrics.is_empty()) {
            return;
        }
        let Some(ad) = self.machine.live_ad(slot).cloned() else { return };
        let world = self.options.world.clone();
        if begins {
            self.cron.ads_mut().job_begins(&ad, &*world);
        } else {
            self.cron.ads_mut().job_ends(&ad, &*world);
        }
        self.waiting.push_back(Event::Cron(Box::new(self.cron.ads().clone())));
    }

    /// Tells what happened, and the slots what they publish from now on; whether a run has ended.
    fn cron_told(&mut self) -> bool {
        let told: Vec<CronNotice> = self.cron.told().collect();
        let (changed, ended) = self.tell_cron(told);
        if changed {
            self.step(Event::Cron(Box::new(self.cron.ads().clone())));
        }
        ended
    }

    /// Tells what happened; whether what they publish has changed, and whether a run has ended.
    pub(super) fn tell_cron(&mut self, told: Vec<CronNotice>) -> (bool, bool) {
        let (mut changed, mut ended) = (false, false);
        for told in told {
            let event = |kind, name: &[u8]| StreamEvent::new(clock::now(), kind).cron(name.to_str_lossy());
            match told {
                CronNotice::Started { name, pid } => {
                    let pid = u32::try_from(pid).unwrap_or(0);
                    self.tell(event(Kind::CronStart, &name).pid(pid));
                }
                CronNotice::NotStarted { name, reason } => {
                    let reason = format!("cannot be started: {reason}");
                    self.tell(event(Kind::CronFailed, &name).reason(reason));
                }
                CronNotice::Published { job, block } => {
                    for bad in &block.bad {
                        let text = format!("Can't insert '{}' into '{job}' ClassAd", bad.line);
                        self.tell(event(Kind::CronFailed, &job).reason(text));
                    }
                    if let Some(attributes) = block.attributes {
                        changed = true;
                        let text = format!("{}: {attributes} attributes", block.name);
                        self.tell(event(Kind::CronPublished, &job).reason(text));
                    }
                }
                CronNotice::Ended { name, exit, stderr, .. } => {
                    ended = true;
                    self.tell(event(Kind::CronEnd, &name).exit(exit_words(exit)));
                    let said = stderr[..stderr.len().min(STDERR_SHOWN)].to_str_lossy();
                    for line in said.lines().filter(|line| !line.trim().is_empty()) {
                        self.tell(event(Kind::CronStderr, &name).reason(line));
                    }
                }
                CronNotice::Dropped { name } => {
                    changed = true;
                    let text = "it is no longer listed, or has another mode: it is ended, and what it published goes";
                    self.tell(event(Kind::CronFailed, &name).reason(text));
                }
                CronNotice::TooLarge { name } => {
                    let text = "a block of more than 4 MiB without a line of '-': the rest of it is dropped";
                    self.tell(event(Kind::CronFailed, &name).reason(text));
                }
                CronNotice::Note(CronNote::NeverFits { name }) => {
                    let text = "its JOB_LOAD is above STARTD_CRON_MAX_JOB_LOAD: it never starts";
                    self.tell(event(Kind::CronFailed, &name).reason(text));
                }
                CronNotice::Note(_) | CronNotice::Unended { .. } | CronNotice::Signalled { .. } => {}
            }
        }
        (changed, ended)
    }
}
