//! Benchmarks live: programs like those of cron, run when the machine asks for them.

use super::live::Live;
use crate::cron::{CronMoment, CronRunner};
use htc_os as os;
use htc_os::clock;
use htc_slot::cron_schedule::CronEvent;
use htc_slot::{Event, Shutdown};

impl Live<'_> {
    /// The configuration was read, for the first time or again.
    pub(super) fn configure_benchmarks(&mut self) {
        let settings = self.machine.benchmark_settings().clone();
        let publish = self.machine.cron_settings().auto_publish;
        let (jobs, load) = (settings.jobs, settings.max_load);
        self.with_benchmarks(false, |benchmarks, at| benchmarks.configure(jobs, load, publish, at));
    }

    /// Has the benchmarks do something; whether they may start.
    fn with_benchmarks<T>(
        &mut self,
        may_start: bool,
        act: impl FnOnce(&mut CronRunner, &mut CronMoment<'_>) -> T,
    ) -> T {
        let (reactor, world) = (&mut self.reactor, &*self.options.world);
        let at = &mut CronMoment { reactor, now: clock::now(), may_start: &|_| may_start, world };
        act(&mut self.benchmarks, at)
    }

    /// All are to run. None of them begins while cron jobs run, and none of those while benchmarks do
    /// (`StartdCronJobMgr::ShouldStartBenchmarks`).
    pub(super) fn run_benchmarks(&mut self) {
        self.benchmarks_asked = true;
        self.benchmark_step(CronEvent::Demanded);
    }

    /// Cron jobs that ran have ended.
    pub(super) fn benchmarks_may_start(&mut self) {
        if self.benchmarks_asked {
            self.benchmark_step(CronEvent::MayStart);
        }
    }

    fn benchmark_step(&mut self, event: CronEvent) {
        let quiet = self.cron.alive() == 0;
        self.with_benchmarks(quiet, |benchmarks, at| benchmarks.step(event, at));
        self.benchmarks_told();
    }

    /// Takes an event of a benchmark in; gives back those of others.
    pub(super) fn take_benchmarks(&mut self, event: os::Event) -> Option<os::Event> {
        if self.benchmarks.alive() == 0 {
            return Some(event);
        }
        let quiet = self.cron.alive() == 0;
        let rest = self.with_benchmarks(quiet, |benchmarks, at| benchmarks.take(event, at));
        self.benchmarks_told();
        rest
    }

    /// Kills those that are told to end and do not, and ends them all when the execution point ends.
    pub(super) fn look_at_benchmarks(&mut self, ends: Option<Shutdown>) {
        if self.benchmarks.next_wake().is_some_and(|wake| wake <= clock::tick()) {
            self.benchmark_step(CronEvent::TimePasses);
        }
        if ends.is_some() && self.benchmarks.alive() > 0 {
            self.benchmark_step(CronEvent::ShutDown { fast: ends == Some(Shutdown::Fast) });
        }
    }

    fn benchmarks_told(&mut self) {
        let told: Vec<_> = self.benchmarks.told().collect();
        let (changed, _) = self.tell_cron(told);
        if changed {
            self.waiting.push_back(Event::Benchmarked(Box::new(self.benchmarks.ads().clone())));
        }
        if self.benchmarks_asked && !self.benchmarks.schedule().is_busy() {
            self.benchmarks_asked = false;
            self.waiting.push_back(Event::BenchmarksEnded);
            self.cron_step(CronEvent::MayStart);
        }
        self.pass_on();
    }
}
