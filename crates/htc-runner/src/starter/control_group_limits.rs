//! Limits of a job that its control group enforces: the group is created, its limits are reported, and it is removed.

use std::path::Path;

use super::control_group::JobControlGroup;
use super::run_state::RunState;
use crate::events::RunnerEventKind;
use htc_base::text::plural::counted;
use htc_os::cgroup::{GroupSetting, GroupSettingResult};
use htc_starter::{CgroupPlan, JobProcess, LeftoverRecord};

impl RunState<'_> {
    /// Creates the control group planned for a process, and reports its limits.
    pub(super) fn make_group(&mut self, process: &JobProcess) -> Option<JobControlGroup> {
        let plan = process.group.as_deref()?;
        let mut spec = plan.spec.clone()?;
        spec.delegated_to = self.context.identity.as_ref().map(|identity| (identity.uid, identity.gid));
        let mut note = |directory: &Path| {
            self.write_state_record(&LeftoverRecord::Group { directory: directory.to_owned() })
        };
        match JobControlGroup::make(plan, &spec, &mut note) {
            Ok((group, set)) => {
                self.report_limits(plan, &set);
                Some(group)
            }
            Err(none) => {
                self.warn_once("no-cgroup", || {
                    format!("the job runs without a control group: {}", none.reason)
                });
                None
            }
        }
    }

    /// Removes a control group in which no process is left; does nothing for `None`.
    pub(super) fn drop_group(&mut self, group: Option<JobControlGroup>) {
        let Some(mut group) = group else { return };
        if let Some((processes, refused)) = group.refused_processes() {
            let limit = counted(processes, "process");
            self.warn(format!("the job reached its limit of {limit}; refused: {refused}"));
        }
        if let Err((path, error)) = group.remove() {
            self.warn(format!("cannot remove the control group '{}': {error}", path.display()));
            self.mark_leftovers();
        }
    }

    /// Reports the limits that the kernel enforces: as a readable line if the job or the configuration asked for
    /// them, otherwise only as JSON. Warns about limits that could not be set.
    fn report_limits(&mut self, plan: &CgroupPlan, set: &[GroupSettingResult]) {
        let made: Vec<String> = set
            .iter()
            .filter_map(|set| Some(describe_limit(set.setting, *set.actual.as_ref().ok()?)))
            .collect();
        let event = self.event(RunnerEventKind::Job).verdict("limited").reason(made.join(", "));
        match plan.is_requested {
            true => self.stream.report(&event),
            false => self.stream.report_as_json(&event),
        }
        for set in set {
            let Err(why) = &set.actual else { continue };
            // As in a pool, processor shares and process limits are set only as far as the machine permits.
            // Therefore a warning is printed only for limits of memory and devices.
            let promised =
                matches!(set.setting, GroupSetting::Memory | GroupSetting::MemoryLow | GroupSetting::Device)
                    || (set.setting == GroupSetting::MemoryAndSwap && has_swap_space());
            if promised {
                self.warn_once(&format!("no-limit-{:?}", set.setting), || {
                    format!("the job has no limit of {}: {why}", describe_limit(set.setting, set.wanted))
                });
            }
        }
    }
}

/// Formats a limit with its unit.
fn describe_limit(rule: GroupSetting, value: u64) -> String {
    let mib = |bytes: u64| match bytes % (1 << 20) {
        0 => format!("{} MiB", bytes >> 20),
        _ => format!("{bytes} bytes"),
    };
    match rule {
        GroupSetting::Memory => format!("memory {}", mib(value)),
        GroupSetting::MemoryLow => format!("memory reserved for the job {}", mib(value)),
        GroupSetting::MemoryAndSwap => format!("memory and swap space {}", mib(value)),
        GroupSetting::Cpu => format!("share of the processors {value}"),
        GroupSetting::Processes => counted(value, "process"),
        GroupSetting::Device => format!("device {}:{} hidden", value >> 32, value & 0xffff_ffff),
    }
}

/// Returns true if the machine has swap space.
fn has_swap_space() -> bool {
    std::fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() > 1)
}
