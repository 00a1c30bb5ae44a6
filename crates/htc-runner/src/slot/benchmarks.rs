//! Benchmarks of the live execution point: programs that are run like cron jobs when the state machine requests it.

use super::live_execution_point::LiveExecutionPoint;
use crate::cron::{CronRunner, CronStepInputs};
use htc_os as os;
use htc_os::clock;
use htc_slot::cron_schedule::CronEvent;
use htc_slot::{ShutdownMode, StartdEvent};

impl LiveExecutionPoint<'_> {
    /// Applies the configuration of the benchmarks, both at the start and after a reconfiguration.
    pub(super) fn configure_benchmarks(&mut self) {
        let settings = self.machine.benchmark_settings().clone();
        let publish = self.machine.cron_settings().auto_publish;
        let (jobs, load) = (settings.jobs, settings.max_load);
        self.with_benchmarks(false, |benchmarks, at| benchmarks.configure(jobs, load, publish, at));
    }

    /// Calls `act` with the runner of the benchmarks; `may_start` is true if benchmarks may start.
    fn with_benchmarks<T>(
        &mut self,
        may_start: bool,
        act: impl FnOnce(&mut CronRunner, &mut CronStepInputs<'_>) -> T,
    ) -> T {
        let (reactor, world) = (&mut self.reactor, &*self.options.world);
        let at = &mut CronStepInputs { reactor, now: clock::now(), may_start: &|_| may_start, world };
        act(&mut self.benchmarks, at)
    }

    /// Starts all benchmarks. Benchmarks do not start while cron jobs are running, nor cron jobs while benchmarks are
    /// running (`StartdCronJobMgr::ShouldStartBenchmarks`).
    pub(super) fn run_benchmarks(&mut self) {
        self.awaits_benchmarks = true;
        self.handle_benchmark_event(CronEvent::RunOnDemand);
    }

    /// Starts waiting benchmarks after cron jobs have ended.
    pub(super) fn start_waiting_benchmarks(&mut self) {
        if self.awaits_benchmarks {
            self.handle_benchmark_event(CronEvent::ConditionsChanged);
        }
    }

    fn handle_benchmark_event(&mut self, event: CronEvent) {
        let quiet = self.cron.running_count() == 0;
        self.with_benchmarks(quiet, |benchmarks, at| benchmarks.handle_event(event, at));
        self.report_benchmarks();
    }

    /// Handles an event of a benchmark; returns an event that is not of a benchmark.
    pub(super) fn take_benchmark_event(&mut self, event: os::ReactorEvent) -> Option<os::ReactorEvent> {
        if self.benchmarks.running_count() == 0 {
            return Some(event);
        }
        let quiet = self.cron.running_count() == 0;
        let rest = self.with_benchmarks(quiet, |benchmarks, at| benchmarks.take_reactor_event(event, at));
        self.report_benchmarks();
        rest
    }

    /// Kills benchmarks that did not end when asked to. Ends all benchmarks if `ends` is given, because the execution
    /// point is ending.
    pub(super) fn check_benchmarks(&mut self, ends: Option<ShutdownMode>) {
        if self.benchmarks.next_wake().is_some_and(|wake| wake <= clock::monotonic_now()) {
            self.handle_benchmark_event(CronEvent::Tick);
        }
        if ends.is_some() && self.benchmarks.running_count() > 0 {
            self.handle_benchmark_event(CronEvent::ShutDown { fast: ends == Some(ShutdownMode::Fast) });
        }
    }

    fn report_benchmarks(&mut self) {
        let notices: Vec<_> = self.benchmarks.take_notices().collect();
        let (changed, _) = self.report_cron_notices(notices);
        if changed {
            self.waiting_events
                .push_back(StartdEvent::BenchmarksPublished(Box::new(self.benchmarks.ads().clone())));
        }
        if self.awaits_benchmarks && !self.benchmarks.schedule().is_busy() {
            self.awaits_benchmarks = false;
            self.waiting_events.push_back(StartdEvent::BenchmarksEnded);
            self.handle_cron_event(CronEvent::ConditionsChanged);
        }
        self.process_waiting_events();
    }
}
