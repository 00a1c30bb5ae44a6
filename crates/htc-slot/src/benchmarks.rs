//! Benchmarks: programs that measure an idle machine (`MachAttributes::start_benchmarks`, `startd_bench_job_mgr.cpp`).

use super::events::StartdAction;
use super::execution_point::ExecutionPoint;
use super::execution_point_state::ExecutionPointState;
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use htc_base::quirks::Quirk;

impl Slot {
    /// Starts benchmarks if RunBenchmarks is true, at each evaluation in Unclaimed.
    pub(super) fn start_due_benchmarks(&mut self, core: &mut ExecutionPointState) {
        let once = core.decide(Quirk::BenchmarkOnce);
        let jobs = core.settings.benchmarks.jobs.len();
        if jobs == 0 || (if once { self.history.was_benchmarking } else { self.activity != Activity::Idle }) {
            return;
        }
        if !once && core.benchmarks.running_for.is_some() {
            return;
        }
        if self.eval_in_slot_ad(core, None, |context| context.boolean("RunBenchmarks")) != Some(true) {
            return;
        }
        self.change_state(core, SlotState::Unclaimed, Activity::Benchmarking, "RunBenchmarks is true");
        if core.benchmarks.running_for.is_none() {
            core.benchmarks.running_for = Some(self.key);
            core.actions.push(StartdAction::RunBenchmarks);
        } else {
            // Running benchmarks are not started again; 25.14 treats this as having nothing to do.
            self.change_state(core, SlotState::Unclaimed, Activity::Idle, "benchmarks run already");
        }
    }
}

impl ExecutionPoint {
    /// Handles the end of all benchmarks.
    pub(super) fn finish_benchmarks(&mut self) {
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
        // Like `update_all`, which refreshes and sends the ads.
        self.refresh_all();
    }
}
