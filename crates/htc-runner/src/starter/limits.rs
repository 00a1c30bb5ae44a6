//! The limits of a job: its control group is made, told of and removed.

use std::path::Path;

use super::group::JobGroup;
use super::live::Live;
use crate::events::Kind;
use htc_os::cgroup::{Rule, Set};
use htc_starter::{GroupPlan, JobProcess, Left};

impl Live<'_> {
    /// Makes the group that is planned for a process, and tells what it is like.
    pub(super) fn make_group(&mut self, process: &JobProcess) -> Option<JobGroup> {
        let plan = process.group.as_deref()?;
        let mut spec = plan.spec.clone()?;
        spec.delegated_to = self.job.identity.as_ref().map(|identity| (identity.uid, identity.gid));
        let mut note = |directory: &Path| self.note_left(&Left::Group { directory: directory.to_owned() });
        match JobGroup::make(plan, &spec, &mut note) {
            Ok((group, set)) => {
                self.tell_limits(plan, &set);
                Some(group)
            }
            Err(none) => {
                self.warn_once("no-cgroup", || format!("the job runs without a control group: {}", none.why));
                None
            }
        }
    }

    /// Removes a group in which nothing runs, if there is one.
    pub(super) fn drop_group(&mut self, group: Option<JobGroup>) {
        let Some(mut group) = group else { return };
        if let Some((processes, refused)) = group.refused() {
            self.warn(format!(
                "the job came to its limit of {processes} processes: {refused} more were refused to it"
            ));
        }
        if let Err((path, error)) = group.remove() {
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
            if promised {
                self.warn_once(&format!("no-limit-{:?}", set.rule), || {
                    format!("the job has no limit of {}: {why}", words(set.rule, set.wanted))
                });
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
