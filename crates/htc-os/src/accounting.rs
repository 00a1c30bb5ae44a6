//! Resource usage of the processes of a family, in the units that the starter publishes.

use std::fs;
use std::time::Duration;

use rustc_hash::FxHashMap;

use htc_base::process::ProcessInstance;

use super::process_table::{Process, sysconf, ticks_to_duration};

/// Resource usage of a process family at one time. The CPU time includes processes that have ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FamilyUsage {
    /// Pids of the live processes of the family, the child first.
    pub pids: Vec<i32>,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Virtual size of all live processes together, in KiB.
    pub image_kib: u64,
    /// The largest `image_kib` of all samples so far.
    pub max_image_kib: u64,
    /// Resident size of all live processes together, in KiB; shared pages are counted once for each process.
    pub resident_kib: u64,
    /// Number of bytes read from block devices and number of bytes written to them, as far as the kernel
    /// reports them.
    pub block_io_bytes: [u64; 2],
}

/// Resource usage of one family, accumulated from samples taken at different times.
#[derive(Debug, Default)]
pub(super) struct UsageTally {
    /// CPU ticks of each live process at the last sample: user and system time.
    live_cpu_ticks: FxHashMap<ProcessInstance, [u64; 2]>,
    ended_cpu_ticks: [u64; 2],
    /// Number of bytes that each live process had read and written at the last sample.
    live_block_io_bytes: FxHashMap<ProcessInstance, [u64; 2]>,
    ended_block_io_bytes: [u64; 2],
    max_image_kib: u64,
}

impl UsageTally {
    /// Adds a sample of all live processes of the family and returns the resulting usage.
    pub(super) fn add_sample(&mut self, members: &[Process]) -> FamilyUsage {
        let cpu_ticks: FxHashMap<_, _> = members.iter().map(|one| (one.instance(), one.cpu_ticks)).collect();
        for (key, ticks) in self.live_cpu_ticks.drain() {
            if !cpu_ticks.contains_key(&key) {
                self.ended_cpu_ticks =
                    [self.ended_cpu_ticks[0] + ticks[0], self.ended_cpu_ticks[1] + ticks[1]];
            }
        }
        let blocks: FxHashMap<_, _> =
            members.iter().filter_map(|one| Some((one.instance(), read_block_io_bytes(one.pid)?))).collect();
        for (key, bytes) in self.live_block_io_bytes.drain() {
            if !blocks.contains_key(&key) {
                self.ended_block_io_bytes =
                    [self.ended_block_io_bytes[0] + bytes[0], self.ended_block_io_bytes[1] + bytes[1]];
            }
        }
        let block_io_bytes = [0, 1].map(|direction| {
            blocks.values().map(|bytes| bytes[direction]).sum::<u64>() + self.ended_block_io_bytes[direction]
        });
        let sum = |index: usize| {
            cpu_ticks.values().map(|ticks| ticks[index]).sum::<u64>() + self.ended_cpu_ticks[index]
        };
        let image_kib = members.iter().map(|one| one.virtual_size / 1024).sum();
        self.max_image_kib = self.max_image_kib.max(image_kib);
        let usage = FamilyUsage {
            pids: members.iter().map(|one| one.pid).collect(),
            user: ticks_to_duration(sum(0)),
            system: ticks_to_duration(sum(1)),
            image_kib,
            max_image_kib: self.max_image_kib,
            resident_kib: members.iter().map(|one| one.resident_pages * page_size_kib()).sum(),
            block_io_bytes,
        };
        self.live_cpu_ticks = cpu_ticks;
        self.live_block_io_bytes = blocks;
        usage
    }
}

/// Returns the proportional set size of a process in KiB, in which shared pages are divided among their
/// users, or `None` if it cannot be read.
pub fn proportional_set_size_kib(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Pss:")?.split_ascii_whitespace().next()?.parse().ok())
}

/// Returns the number of bytes that a process has read from and written to block devices, or `None` if they
/// cannot be read.
fn read_block_io_bytes(pid: i32) -> Option<[u64; 2]> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some([value("read_bytes:")?, value("write_bytes:")?])
}

fn page_size_kib() -> u64 {
    sysconf(nix::unistd::SysconfVar::PAGE_SIZE).unwrap_or(4096) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, user: u64, virtual_size: u64) -> Process {
        Process {
            pid,
            command: "x".into(),
            state: b'S',
            only_forked: false,
            parent: 1,
            group: 1,
            session: 1,
            cpu_ticks: [user, 0],
            start_ticks: 7,
            virtual_size,
            resident_pages: 1,
        }
    }

    #[test]
    fn the_time_of_ended_members_stays_in_the_sum() {
        let mut tally = UsageTally::default();
        let first = tally.add_sample(&[process(10, 100, 4096), process(11, 50, 8192)]);
        assert_eq!((first.image_kib, first.pids), (12, vec![10, 11]));
        let second = tally.add_sample(&[process(10, 120, 4096)]);
        assert_eq!(second.user, ticks_to_duration(170));
        assert_eq!((second.image_kib, second.max_image_kib), (4, 12));
    }
}
