//! Benchmarks: programs that measure an idle machine (`MachAttributes::start_benchmarks`, `startd_bench_job_mgr.cpp`).

use super::cron_ads::CronAds;
use super::events::StartdAction;
use super::execution_point::ExecutionPoint;
use super::execution_point_state::ExecutionPointState;
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use htc_base::quirks::Quirk;
use htc_classad::Value;

impl Slot {
    /// Starts benchmarks if RunBenchmarks is true; called at each evaluation of an unclaimed slot.
    pub(super) fn start_due_benchmarks(&mut self, core: &mut ExecutionPointState) {
        let once = core.decide(Quirk::BenchmarkOnce);
        let jobs = core.settings.benchmarks.jobs.len();
        if jobs == 0 || (if once { self.history.was_benchmarking } else { self.activity != Activity::Idle }) {
            return;
        }
        if !once && core.benchmarks.running_for.is_some() {
            return;
        }
        let is_due =
            self.eval_in_slot_ad(core, None, |context| context.boolean("RunBenchmarks")) == Some(true);
        let reason = match is_due {
            true => "RunBenchmarks is true",
            false if self.runs_first_benchmarks(core) => "the first benchmarks",
            false => return,
        };
        self.change_state(core, SlotState::Unclaimed, Activity::Benchmarking, reason);
        if core.benchmarks.running_for.is_none() {
            core.benchmarks.running_for = Some(self.key);
            core.actions.push(StartdAction::RunBenchmarks);
        } else {
            // Benchmarks that are already running are not started again; 25.14 returns the slot to Idle, as if there
            // were nothing to run.
            self.change_state(core, SlotState::Unclaimed, Activity::Idle, "benchmarks are already running");
        }
    }
}

impl Slot {
    /// True if no benchmarks have run yet and RunBenchmarks is set to anything but `False`: then the benchmarks run once.
    fn runs_first_benchmarks(&self, core: &mut ExecutionPointState) -> bool {
        if core.benchmarks.last_ended != 0 || core.benchmarks.running_for.is_some() {
            return false;
        }
        let value = self.ads.live.get("RunBenchmarks");
        let is_set = value.is_some_and(|value| value.as_literal() != Some(Value::Bool(false)));
        is_set && !core.decide_and_report(Quirk::BenchmarksNotAtStart, self.key)
    }
}

impl ExecutionPoint {
    /// Publishes benchmark results. Results of a repeated run are kept until all its programs have ended, and then averaged.
    pub(super) fn publish_benchmarks(&mut self, results: CronAds) {
        let is_repeated = self.core.benchmarks.last_ended != 0 && self.core.benchmarks.running_for.is_some();
        if is_repeated && !self.core.decide_and_report(Quirk::BenchmarksNotAveraged, None) {
            self.core.benchmarks.unaveraged = Some(results);
            return;
        }
        self.core.benchmarks.ads = results;
        self.slots.values_mut().for_each(|slot| slot.rebuild_ad(&self.core));
    }

    /// Averages and publishes the results of a repeated run, and records when all benchmarks ended.
    pub(super) fn finish_benchmarks(&mut self) {
        if let Some(results) = self.core.benchmarks.unaveraged.take() {
            self.core.benchmarks.ads = results.averaged_with(&self.core.benchmarks.ads);
            self.slots.values_mut().for_each(|slot| slot.rebuild_ad(&self.core));
        }
        self.core.benchmarks.last_ended = self.core.now.epoch();
        let runs_for = self.core.benchmarks.running_for.take();
        let last = self.core.benchmarks.last_ended;
        for slot in self.slots.values_mut() {
            slot.ads.live.set("LastBenchmark", last);
            if slot.activity == Activity::Benchmarking && Some(slot.key) == runs_for {
                slot.change_state(
                    &mut self.core,
                    SlotState::Unclaimed,
                    Activity::Idle,
                    "benchmarks completed",
                );
            }
        }
        // Refreshes and sends the ads, like `update_all` of the reference.
        self.refresh_all();
    }
}
