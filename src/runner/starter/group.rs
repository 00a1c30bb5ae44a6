//! The control group of the job that runs: made, told of, looked at, removed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::live::Live;
use super::notice;
use crate::os::cgroup::{Counts, Group, Rule, Set};
use crate::process::Exit;
use crate::runner::events::Kind;
use crate::starter::{FamilyUsage, GroupPlan, JobProcess, Left};

/// A job's group with what has been seen of it.
pub(super) struct JobGroup {
    group: Group,
    plan: Box<GroupPlan>,
    counts: Counts,
    members: usize,
    /// The largest use of memory seen, in KiB.
    largest_kib: u64,
    /// The limit of processes.
    processes: Option<u64>,
}

impl JobGroup {
    /// How often it is looked at.
    pub(super) fn interval(&self) -> Duration {
        self.plan.polling
    }

    /// Looks at it.
    pub(super) fn sample(&mut self) {
        self.counts = self.group.counts();
        self.members = self.group.members().len();
        self.largest_kib = self.largest_kib.max(self.memory_kib());
    }

    /// Memory as the configuration wants it counted.
    fn memory_kib(&self) -> u64 {
        let counts = &self.counts;
        let now = counts.memory.unwrap_or(0);
        let bytes = match (self.plan.peak, counts.peak) {
            (Some(true), Some(peak)) if peak > counts.cache => (peak - counts.cache).max(now),
            (Some(_), Some(peak)) => peak.max(now),
            _ => now,
        };
        bytes / 1024
    }

    /// What the kernel counted, over what was seen of single processes.
    pub(super) fn measured(&self, seen: FamilyUsage) -> FamilyUsage {
        let counts = &self.counts;
        let memory = counts.memory.map(|_| self.memory_kib());
        FamilyUsage {
            processes: u32::try_from(self.members).unwrap_or(u32::MAX),
            user: counts.user.unwrap_or(seen.user),
            system: counts.system.unwrap_or(seen.system),
            resident_kib: memory.unwrap_or(seen.resident_kib),
            max_image_kib: if memory.is_some() { self.largest_kib } else { seen.max_image_kib },
            block_read_bytes: counts.read_bytes.unwrap_or(seen.block_read_bytes),
            block_write_bytes: counts.written_bytes.unwrap_or(seen.block_write_bytes),
            block_reads: counts.reads.unwrap_or(seen.block_reads),
            block_writes: counts.writes.unwrap_or(seen.block_writes),
            cgroup: true,
            ..seen
        }
    }

    /// Looks for the last time, when the job's process has ended: how many it left behind, which are killed, and whether the
    /// kernel killed for memory.
    pub(super) fn last_look(&mut self, exit: Exit) -> (usize, bool) {
        self.sample();
        let left = self.members;
        if left > 0 {
            self.group.kill();
        }
        let killed = matches!(exit, Exit::Signal { number: 9, .. });
        (left, self.group.killed_for_memory(killed))
    }

    /// Sends a signal to all in it.
    pub(super) fn signal(&self, number: i32) {
        self.group.signal(number);
    }
}

impl Live<'_> {
    /// Makes the group that is planned for a process, tells what it is like, and returns the directories to be entered.
    pub(super) fn make_group(&mut self, process: &JobProcess) -> Vec<PathBuf> {
        let Some(plan) = process.group.as_deref() else { return Vec::new() };
        let Some(spec) = &plan.spec else { return Vec::new() };
        let mut spec = spec.clone();
        spec.delegated_to = self.job.identity.as_ref().map(|identity| (identity.uid, identity.gid));
        let mut note = |directory: &Path| self.note_left(&Left::Group { directory: directory.to_owned() });
        let (group, set) = match Group::make(&spec, &plan.other_name, &mut note) {
            Ok(made) => made,
            Err(none) => {
                if notice::is_news(self.job.private.as_deref(), "no-cgroup") {
                    self.warn(format!("the job runs without a control group: {}", none.why));
                }
                return Vec::new();
            }
        };
        self.tell_limits(plan, &set);
        let entered = group.entered();
        let processes =
            set.iter().find(|set| set.rule == Rule::Processes).and_then(|set| set.is.clone().ok());
        self.new_group = Some(JobGroup {
            group,
            plan: Box::new(plan.clone()),
            counts: Counts::default(),
            members: 0,
            largest_kib: 0,
            processes,
        });
        entered
    }

    /// Removes a group in which nothing runs any more.
    pub(super) fn drop_group(&mut self) {
        let Some(mut group) = self.new_group.take() else { return };
        if let (Some(processes), refused @ 1..) = (group.processes, group.counts.forks_refused) {
            self.warn(format!(
                "the job came to its limit of {processes} processes: {refused} more were refused to it"
            ));
        }
        if let Err((path, error)) = group.group.remove() {
            self.warn(format!("cannot remove the control group '{}': {error}", path.display()));
            self.remains();
        }
    }

    /// The limits as the kernel has them; aloud where somebody asked for them, and where one is not what was asked for.
    fn tell_limits(&mut self, plan: &GroupPlan, set: &[Set]) {
        let made: Vec<String> =
            set.iter().filter_map(|set| Some(words(set.rule, *set.is.as_ref().ok()?))).collect();
        let event = self.event(Kind::Job).verdict("limited").reason(made.join(", "));
        match plan.asked {
            true => self.stream.tell(&event),
            false => self.stream.note(&event),
        }
        for set in set {
            let Err(why) = &set.is else { continue };
            // Processes are shared out and counted as well as the machine can; memory is what was promised.
            let promised = matches!(set.rule, Rule::Memory | Rule::MemoryLow | Rule::Device)
                || (set.rule == Rule::MemoryAndSwap && swap_is_there());
            if promised && notice::is_news(self.job.private.as_deref(), &format!("no-limit-{:?}", set.rule)) {
                self.warn(format!("the job has no limit of {}: {why}", words(set.rule, set.wanted)));
            }
        }
    }
}

/// A limit in words.
fn words(rule: Rule, value: u64) -> String {
    let mib = |bytes: u64| match bytes % (1 << 20) {
        0 => format!("{} MiB", bytes >> 20),
        _ => format!("{bytes} bytes"),
    };
    match rule {
        Rule::Memory => format!("memory {}", mib(value)),
        Rule::MemoryLow => format!("memory left to it {}", mib(value)),
        Rule::MemoryAndSwap => format!("memory and swap space {}", mib(value)),
        Rule::Cpu => format!("share of the processors {value}"),
        Rule::Processes => format!("{value} processes"),
        Rule::Device => format!("device {}:{} hidden", value >> 32, value & 0xffff_ffff),
    }
}

/// Whether the machine has swap space at all.
fn swap_is_there() -> bool {
    std::fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() > 1)
}
