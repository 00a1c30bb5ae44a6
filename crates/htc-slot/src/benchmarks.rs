//! Benchmarks: programs that measure a machine which has nothing else to do (`MachAttributes::start_benchmarks`,
//! `startd_bench_job_mgr.cpp`).

use super::core::Core;
use super::execution_point::ExecutionPoint;
use super::interface::Action;
use super::single::Slot;
use super::state::{Activity, State};
use htc_base::quirks::Quirk;

impl Slot {
    /// At each look at Unclaimed: RunBenchmarks.
    pub(super) fn look_at_benchmarks(&mut self, core: &mut Core) {
        let once = core.has_silently(Quirk::BenchmarkOnce);
        let jobs = core.settings.benchmarks.jobs.len();
        if jobs == 0 || (if once { self.was_benchmarking } else { self.activity != Activity::Idle }) {
            return;
        }
        if !once && core.benchmarks.running.is_some() {
            return;
        }
        if self.look(core, None, |context| context.boolean("RunBenchmarks")) != Some(true) {
            return;
        }
        self.change(core, State::Unclaimed, Activity::Benchmarking, "RunBenchmarks is true");
        if core.benchmarks.running.is_none() {
            core.benchmarks.running = Some(self.key);
            core.out.push(Action::RunBenchmarks);
        } else {
            // Those that run are not begun again; 25.14 takes that for nothing to do.
            self.change(core, State::Unclaimed, Activity::Idle, "benchmarks run already");
        }
    }
}

impl ExecutionPoint {
    /// All of them have ended.
    pub(super) fn benchmarks_ended(&mut self) {
        self.core.benchmarks.last = self.core.now.epoch();
        let runs_for = self.core.benchmarks.running.take();
        let last = self.core.benchmarks.last;
        for slot in self.slots.values_mut() {
            slot.live.set("LastBenchmark", last);
            if slot.activity == Activity::Benchmarking && Some(slot.key) == runs_for {
                slot.change(&mut self.core, State::Unclaimed, Activity::Idle, "benchmarks completed");
            }
        }
        // `update_all`, which brings the ads up to date and sends them.
        self.refresh_all();
    }
}
