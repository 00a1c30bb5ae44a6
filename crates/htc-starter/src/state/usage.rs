//! Attributes of a running job: resource usage, statistics, and attributes of its process.
//!
//! Reference: `VanillaProc::PublishUpdateAd`, `OsProc::PublishUpdateAd`, `StarterStatistics`, `generic_stats.cpp`.

use std::collections::VecDeque;
use std::time::Duration;

use crate::event::FamilyUsage;
use crate::settings::RecentWindow;
use htc_base::time::MonotonicTime;
use htc_classad::{ClassAd, Expr};

/// Counter that only grows, with its growth in each quantum of the recent past.
#[derive(Clone, Debug, Default)]
struct RecentCounter {
    value: i64,
    /// Growth in each quantum, with the current quantum last.
    growth: VecDeque<i64>,
}

impl RecentCounter {
    fn set(&mut self, value: i64) {
        let by = value - self.value;
        self.value = value;
        match self.growth.back_mut() {
            Some(last) => *last += by,
            None => self.growth.push_back(by),
        }
    }

    fn advance(&mut self, quanta: i64, kept: usize) {
        for _ in 0..quanta.min(kept as i64) {
            self.growth.push_back(0);
        }
        while self.growth.len() > kept {
            self.growth.pop_front();
        }
    }

    fn recent_growth(&self) -> i64 {
        self.growth.iter().sum()
    }
}

/// Statistics about a job's block I/O, with the times that they cover.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockStatistics {
    window: RecentWindow,
    since: i64,
    last_update: i64,
    recent_tick: i64,
    lifetime: i64,
    recent_lifetime: i64,
    reads: RecentCounter,
    writes: RecentCounter,
    read_bytes: RecentCounter,
    write_bytes: RecentCounter,
}

impl BlockStatistics {
    /// Creates statistics starting at `now` (epoch seconds).
    pub(crate) fn new(now: i64, window: RecentWindow) -> Self {
        let window = RecentWindow { quantum: window.quantum.max(1), ..window };
        BlockStatistics { window, since: now, ..BlockStatistics::default() }
    }

    /// Advances the clock of the statistics (`generic_stats_Tick`). The first call only starts the clock, so the first
    /// update shows lifetimes of zero.
    fn tick(&mut self, now: i64) {
        if self.last_update == 0 {
            (self.last_update, self.recent_tick, self.recent_lifetime) = (now, now, 0);
            return;
        }
        if self.last_update != now {
            let delta = now - self.recent_tick;
            let RecentWindow { quantum, length } = self.window;
            if delta >= quantum {
                self.recent_tick = now - delta % quantum;
                let kept = usize::try_from(length / quantum).unwrap_or(1).clamp(1, 10_000);
                for counter in
                    [&mut self.reads, &mut self.writes, &mut self.read_bytes, &mut self.write_bytes]
                {
                    counter.advance(delta / quantum, kept);
                }
            }
            self.recent_lifetime = (self.recent_lifetime + now - self.last_update).min(self.window.length);
            self.last_update = now;
        }
        self.lifetime = now - self.since;
    }
}

/// CPU usage rate of a job, which a startd measures and reports to the starter of a job that has a shadow
/// (`JICShadow::publishStartdUpdates`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuRate {
    used: Duration,
    at: Option<MonotonicTime>,
    processors: f64,
}

impl CpuRate {
    /// Creates a rate that starts with the job.
    pub(crate) fn new(now: MonotonicTime) -> Self {
        CpuRate { at: Some(now), ..CpuRate::default() }
    }

    /// Returns the number of CPUs used since the last measurement. If that was less than a second ago, returns the
    /// previous result.
    pub(crate) fn measure(&mut self, used: Duration, now: MonotonicTime) -> f64 {
        let passed = self.at.map_or(Duration::ZERO, |at| now.since(at));
        if passed >= Duration::from_secs(1) {
            self.processors = used.saturating_sub(self.used).as_secs_f64() / passed.as_secs_f64();
            (self.used, self.at) = (used, Some(now));
        }
        self.processors
    }
}

/// Resource usage of a job that is remembered between updates.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageMeter {
    statistics: BlockStatistics,
    max_resident_kib: u64,
    max_proportional_kib: u64,
}

impl UsageMeter {
    /// Creates a meter that starts at `now` (epoch seconds).
    pub(crate) fn new(now: i64, window: RecentWindow) -> Self {
        UsageMeter {
            statistics: BlockStatistics::new(now, window),
            max_resident_kib: 0,
            max_proportional_kib: 0,
        }
    }

    /// Adds the usage attributes to `ad`; `now` is in seconds since the epoch.
    pub(crate) fn publish(&mut self, ad: &mut ClassAd, usage: &FamilyUsage, metric: &[u8], now: i64) {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.statistics.tick(now);
        // The process daemon counts whole seconds, so the attributes are whole seconds as well.
        ad.set("RemoteSysCpu", usage.system.as_secs() as f64);
        ad.set("RemoteUserCpu", usage.user.as_secs() as f64);
        ad.set("ImageSize", signed(usage.max_image_kib));
        self.max_resident_kib = self.max_resident_kib.max(usage.resident_kib);
        ad.set("ResidentSetSize", signed(self.max_resident_kib));
        if let Ok(metric) = Expr::parse(metric) {
            ad.insert("MemoryUsage", metric);
        }
        if let Some(proportional) = usage.proportional_kib {
            self.max_proportional_kib = self.max_proportional_kib.max(proportional);
            ad.set("ProportionalSetSizeKb", signed(self.max_proportional_kib));
        }
        let statistics = &mut self.statistics;
        statistics.read_bytes.set(signed(usage.block_read_bytes));
        statistics.write_bytes.set(signed(usage.block_write_bytes));
        statistics.reads.set(signed(usage.block_reads));
        statistics.writes.set(signed(usage.block_writes));
        ad.set("StatsLifetime", statistics.lifetime);
        ad.set("RecentStatsLifetime", statistics.recent_lifetime);
        ad.set("BlockReads", statistics.reads.value);
        ad.set("RecentBlockReads", statistics.reads.recent_growth());
        ad.set("BlockWrites", statistics.writes.value);
        ad.set("RecentBlockWrites", statistics.writes.recent_growth());
        ad.set("BlockReadKbytes", statistics.read_bytes.value / 1024);
        ad.set("RecentBlockReadKbytes", statistics.read_bytes.recent_growth() / 1024);
        ad.set("BlockWriteKbytes", statistics.write_bytes.value / 1024);
        ad.set("RecentBlockWriteKbytes", statistics.write_bytes.recent_growth() / 1024);
        if usage.cgroup {
            ad.set("CgroupEnforced", true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_rate_of_a_job_is_since_the_last_measurement() {
        let at = |seconds: u64| MonotonicTime(seconds * 1_000_000);
        let mut pace = CpuRate::new(at(10));
        assert_eq!(pace.measure(Duration::from_secs(4), at(10)), 0.0);
        assert_eq!(pace.measure(Duration::from_secs(4), at(12)), 2.0);
        assert_eq!(pace.measure(Duration::from_secs(9), at(12)), 2.0);
        assert_eq!(pace.measure(Duration::from_secs(9), at(22)), 0.5);
        assert_eq!(pace.measure(Duration::from_secs(8), at(30)), 0.0);
    }
}
