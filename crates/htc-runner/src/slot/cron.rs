//! Cron jobs of the live execution point, whose output is published in the slot ads.

use bstr::ByteSlice;

use super::live_execution_point::LiveExecutionPoint;
use super::running_hook::MAX_STDERR_SHOWN;
use crate::cron::{CronNotice, CronRunner, CronStepInputs};
use crate::events::{RunnerEvent, RunnerEventKind, describe_exit};
use htc_base::text::plural::counted;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_hook::cron_job::CronJob;
use htc_os as os;
use htc_os::clock;
use htc_slot::cron_schedule::{CronEvent, CronNote};
use htc_slot::{CronSettings, ShutdownMode, SlotKey, StartdEvent};

/// Returns true if a cron job may start now according to its CONDITION. `daemon` is the ad in which conditions are
/// evaluated, if any cron job has a condition. No cron job starts while benchmarks are running.
fn may_start(job: &CronJob, daemon: Option<&ClassAd>, world: &dyn World) -> bool {
    let (Some(condition), Some(daemon)) = (&job.condition, daemon) else { return true };
    Context::new(world).my(daemon).eval(condition).truth() == Some(true)
}

impl LiveExecutionPoint<'_> {
    /// Returns the ad in which conditions are evaluated, or `None` if no cron job has a condition.
    fn condition_ad(&self) -> Option<ClassAd> {
        self.has_conditions().then(|| self.machine.daemon_ad())
    }

    fn has_conditions(&self) -> bool {
        self.machine.cron_settings().jobs.iter().any(|job| job.condition.is_some())
    }

    /// Calls `act` with the runner of the cron jobs.
    fn with_cron<T>(&mut self, act: impl FnOnce(&mut CronRunner, &mut CronStepInputs<'_>) -> T) -> T {
        let (daemon, world) = (self.condition_ad(), self.options.world.clone());
        let measured = self.benchmarks.running_count() > 0;
        let may_start = |job: &CronJob| !measured && may_start(job, daemon.as_ref(), &*world);
        let reactor = &mut self.reactor;
        let at = &mut CronStepInputs { reactor, now: clock::now(), may_start: &may_start, world: &*world };
        act(&mut self.cron, at)
    }

    /// Applies the configuration of the cron jobs, both at the start and after a reconfiguration.
    pub(super) fn configure_cron(&mut self) {
        let CronSettings { jobs, max_load, auto_publish, .. } = self.machine.cron_settings().clone();
        self.with_cron(|cron, at| cron.configure(jobs, max_load, auto_publish, at));
        self.report_cron();
    }

    pub(super) fn handle_cron_event(&mut self, event: CronEvent) {
        self.with_cron(|cron, at| cron.handle_event(event, at));
        self.report_cron();
    }

    /// Handles an event if it belongs to a cron job; otherwise returns it.
    pub(super) fn take_cron_event(&mut self, event: os::ReactorEvent) -> Option<os::ReactorEvent> {
        if self.cron.running_count() == 0 {
            return Some(event);
        }
        let rest = self.with_cron(|cron, at| cron.take_reactor_event(event, at));
        let ended = self.report_cron();
        if ended && self.has_conditions() {
            // The condition of another cron job may depend on what the ended cron job published.
            self.handle_cron_event(CronEvent::ConditionsChanged);
        }
        if ended && self.cron.running_count() == 0 {
            self.start_waiting_benchmarks();
        }
        rest
    }

    /// Starts and signals the cron jobs that are due. Ends all cron jobs when the execution point ends.
    pub(super) fn check_cron(&mut self) {
        if self.cron.next_wake().is_some_and(|wake| wake <= clock::monotonic_now()) {
            self.handle_cron_event(CronEvent::Tick);
        }
        self.check_benchmarks(None);
        let ends = self.machine.shutdown_mode();
        if ends > self.cron_shutdown {
            self.check_benchmarks(ends);
            self.cron_shutdown = ends;
            self.handle_cron_event(CronEvent::ShutDown { fast: ends == Some(ShutdownMode::Fast) });
        }
    }

    /// Notifies resource monitors that a job of the slot begins or ends.
    pub(super) fn notify_monitors(&mut self, slot: SlotKey, begins: bool) {
        if self.machine.cron_settings().jobs.iter().all(|job| job.metrics.is_empty()) {
            return;
        }
        let Some(ad) = self.machine.live_ad(slot).cloned() else { return };
        let world = self.options.world.clone();
        if begins {
            self.cron.ads_mut().begin_job_usage(&ad, &*world);
        } else {
            self.cron.ads_mut().end_job_usage(&ad, &*world);
        }
        self.waiting_events.push_back(StartdEvent::CronPublished(Box::new(self.cron.ads().clone())));
    }

    /// Reports the events of cron jobs, and passes changed ads to the slots; returns true if a run has ended.
    fn report_cron(&mut self) -> bool {
        let notices: Vec<CronNotice> = self.cron.take_notices().collect();
        let (changed, ended) = self.report_cron_notices(notices);
        if changed {
            self.step(StartdEvent::CronPublished(Box::new(self.cron.ads().clone())));
        }
        ended
    }

    /// Reports the events of cron jobs. The first result is true if the published ads have changed, the second is
    /// true if a run has ended.
    pub(super) fn report_cron_notices(&mut self, notices: Vec<CronNotice>) -> (bool, bool) {
        let (mut changed, mut ended) = (false, false);
        for notice in notices {
            let event = |kind, name: &[u8]| RunnerEvent::new(clock::now(), kind).cron(name.to_str_lossy());
            match notice {
                CronNotice::Started { name, pid } => {
                    let pid = u32::try_from(pid).unwrap_or(0);
                    self.report(event(RunnerEventKind::CronStart, &name).pid(pid));
                }
                CronNotice::NotStarted { name, reason } => {
                    let reason = format!("cannot be started: {reason}");
                    self.report(event(RunnerEventKind::CronFailed, &name).reason(reason));
                }
                CronNotice::Published { job, block } => {
                    for bad in &block.bad_lines {
                        let text = format!("Can't insert '{}' into '{job}' ClassAd", bad.line);
                        self.report(event(RunnerEventKind::CronFailed, &job).reason(text));
                    }
                    if let Some(attributes) = block.attributes {
                        changed = true;
                        let text = format!("{}: {}", block.name, counted(attributes, "attribute"));
                        self.report(event(RunnerEventKind::CronPublished, &job).reason(text));
                    }
                }
                CronNotice::Ended { name, exit, stderr, .. } => {
                    ended = true;
                    self.report(event(RunnerEventKind::CronEnd, &name).exit(describe_exit(exit)));
                    let shown_stderr = stderr[..stderr.len().min(MAX_STDERR_SHOWN)].to_str_lossy();
                    for line in shown_stderr.lines().filter(|line| !line.trim().is_empty()) {
                        self.report(event(RunnerEventKind::CronStderr, &name).reason(line));
                    }
                }
                CronNotice::Dropped { name } => {
                    changed = true;
                    let text = "it is no longer listed, or has another mode: it is stopped, and its attributes are removed";
                    self.report(event(RunnerEventKind::CronFailed, &name).reason(text));
                }
                CronNotice::TooLarge { name } => {
                    let text = "a block of more than 4 MiB without a line of '-': the rest of it is dropped";
                    self.report(event(RunnerEventKind::CronFailed, &name).reason(text));
                }
                CronNotice::Note(CronNote::NeverFits { name }) => {
                    let text = "its JOB_LOAD is above STARTD_CRON_MAX_JOB_LOAD, so it never starts";
                    self.report(event(RunnerEventKind::CronFailed, &name).reason(text));
                }
                CronNotice::Note(_) | CronNotice::UnterminatedLine { .. } | CronNotice::Signalled { .. } => {}
            }
        }
        (changed, ended)
    }
}
