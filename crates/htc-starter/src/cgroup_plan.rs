//! Plan of a job's control group: its path, the limits on memory, CPUs and processes, and the devices hidden from the job.
//!
//! Reference: `VanillaProc::StartJob` and `VanillaProc::outOfMemoryEvent` of `vanilla_proc.cpp`.

use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::environment::EnvironmentInputs;
use super::expression::{self, describe_setting};
use super::nvidia::nvidia_devices;
use super::settings::cgroup::{DISABLE_SWAP, HARD_MEMORY_LIMIT, LOW_MEMORY_LIMIT, USE_FOR_LOCAL_UNIVERSE};
use super::start_failure::StartFailure;
use htc_base::job::{Universe, attr};
use htc_base::process::{ControlGroupSpec, DeviceNumber};
use htc_base::quirks::Quirk;
use htc_classad::{Dialect, Expr};
use htc_config::Setting;

const MIB: u64 = 1 << 20;

/// Major number of the device files of the NVIDIA driver.
const NVIDIA_DEVICE_MAJOR: u32 = 195;

/// Plan of the control group of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CgroupPlan {
    /// Control group to create, or `None`.
    pub spec: Option<ControlGroupSpec>,
    /// Polling interval of the group (CGROUP_POLLING_INTERVAL).
    pub polling: Duration,
    /// Use of the kernel's peak memory count: `None` if it is not used; otherwise true if caches are subtracted from
    /// it.
    pub peak: Option<bool>,
    /// Alternative name of the control group, used if another group already has the preferred name.
    pub other_name: String,
    /// Memory provisioned for the job, in MiB, independent of the policy; quoted in hold reasons.
    pub memory_mib: i64,
    /// Limits of the control group, each with its origin.
    pub limits: Vec<CgroupLimit>,
    /// Notices for the user: a subject and a message. A slot runner reports each subject once for all its jobs.
    pub notices: Vec<(&'static str, String)>,
    /// True if the job or the configuration asks for a limit on the job's resources.
    pub is_requested: bool,
    /// Failure for a limit that is not a number: 25.14 exits with an exception when it creates the control group.
    pub failure: Option<StartFailure>,
    /// Failure for an invalid parameter that 25.14 reads after the job has started in its control group.
    pub late_failure: Option<StartFailure>,
}

/// A limit with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupLimit {
    /// Resource that is limited.
    pub resource: &'static str,
    /// Value of the limit.
    pub value: String,
    /// Attribute or parameter that set the limit.
    pub because: &'static str,
}

/// Plans the control group of the job. `unavailable` is the reason why control groups cannot be used here, if known.
pub(super) fn plan_cgroup(inputs: &EnvironmentInputs<'_>, unavailable: Option<&str>) -> CgroupPlan {
    let parameters = &inputs.settings.groups;
    let job = |name: &str| inputs.job_context().int(name);
    let mut plan = CgroupPlan {
        is_requested: parameters.is_configured || job(attr::REQUEST_MEMORY).is_some(),
        polling: parameters.polling,
        peak: parameters.peak,
        ..CgroupPlan::default()
    };
    let local = job(attr::JOB_UNIVERSE) == Some(Universe::Local.number());
    if let Some(failure) = parameters.fault_of_parameter(USE_FOR_LOCAL_UNIVERSE).filter(|_| local) {
        return CgroupPlan { failure: Some(failure), ..plan };
    }
    let Some(base) = parameters.base_path().filter(|_| !local || parameters.local) else { return plan };
    let mut spec = ControlGroupSpec { parent_group: base, ..ControlGroupSpec::default() };
    set_memory_limits(inputs, &mut plan, &mut spec);
    set_cpu_weight(inputs, &mut plan, &mut spec);
    if !inputs.quirks.reproduces(Quirk::ProcessesUnlimited) {
        spec.limits_processes = true;
        plan.limits.push(CgroupLimit {
            resource: "processes",
            value: "15 % of the machine's memory".to_owned(),
            because: "a job that forks without end",
        });
    }
    if parameters.hide_gpus {
        spec.hidden_devices = hidden_gpus(inputs);
    }
    let root = inputs.world.effective_uid() == 0;
    let unavailable = match unavailable {
        Some(why) => Some(why),
        None if root || parameters.without_root => None,
        None => Some("only root creates control groups, unless CREATE_CGROUP_WITHOUT_ROOT = true"),
    };
    match unavailable {
        Some(why) if !inputs.quirks.reproduces(Quirk::LimitsSilentlyLost) && plan.is_requested => {
            let lost = match spec.memory_limit {
                Some(bytes) => format!("the memory of jobs is not limited (to {} MiB)", bytes / MIB),
                None => "jobs have no control group".to_owned(),
            };
            plan.notices.push(("no-cgroup", format!("{lost}: {why}")));
        }
        Some(_) => {}
        None if plan.failure.is_some() => {}
        None => {
            (spec.name, plan.other_name) = cgroup_names(inputs);
            plan.spec = Some(spec);
            plan.late_failure = parameters.fault_when_running();
        }
    }
    plan.failure = parameters
        .fault_before_memory_limits(inputs.machine, inputs.world)
        .or(plan.failure.take())
        .or_else(|| parameters.fault_of_parameter(DISABLE_SWAP));
    // 25.14 reads the limits only if it uses control groups.
    if let Some(failure) = plan.failure.take_if(|_| unavailable.is_some()) {
        plan.notices.push((
            "group-limit",
            format!("{}; if control groups were available, no job would start", failure.reason()),
        ));
    }
    plan
}

/// Returns the name of the control group, `<EXECUTE>_<slot>` with `_` in place of each slash, and an alternative name.
/// If the slot has no name, the process ID is used in its place.
fn cgroup_names(inputs: &EnvironmentInputs<'_>) -> (String, String) {
    let execute =
        inputs.settings.execute.as_ref().map_or("EXECUTE_UNKNOWN".into(), |path| path.to_string_lossy());
    let pid = inputs.starter_pid.to_string();
    let slot = inputs.slot_context().string("Name").filter(|name| !name.is_empty());
    let slot = slot.map_or_else(|| pid.clone(), |name| name.to_string());
    let name = format!("{execute}_{slot}").replace(['/', '\0', '\n'], "_");
    // File names are limited to 255 bytes, and `.slice` is appended.
    let start =
        (0..=name.len()).rev().find(|at| name.len() - at >= 200 && name.is_char_boundary(*at)).unwrap_or(0);
    let name = name[start..].to_owned();
    let other = format!("{name}_{pid}");
    (name, other)
}

fn set_memory_limits(inputs: &EnvironmentInputs<'_>, plan: &mut CgroupPlan, spec: &mut ControlGroupSpec) {
    let (mib, because) = provisioned_memory(inputs, plan);
    plan.memory_mib = mib;
    let because = match inputs.settings.groups.policy.as_slice() {
        b"hard" => {
            spec.memory_limit = positive_mib_to_bytes(mib);
            because
        }
        b"custom" => set_custom_memory_limit(inputs, plan, spec),
        b"soft" => set_soft_memory_limits(inputs, plan, spec),
        // The policy is `none` or an invalid word.
        other => {
            if other != b"none" {
                let line = format!(
                    "CGROUP_MEMORY_LIMIT_POLICY: '{}' means no memory limit; the valid values are hard, soft, custom and none",
                    other.as_bstr()
                );
                plan.notices.push(("memory-limit-policy", line));
            }
            "CGROUP_MEMORY_LIMIT_POLICY"
        }
    };
    if let Some(bytes) = spec.memory_limit {
        let value = format!("{bytes} bytes");
        plan.limits.push(CgroupLimit { resource: "memory", value: value.clone(), because });
        if inputs.settings.groups.no_swap {
            spec.memory_and_swap_limit = Some(bytes);
            let because = "DISABLE_SWAP_FOR_JOB";
            plan.limits.push(CgroupLimit { resource: "memory and swap space", value, because });
        }
    }
    set_protected_memory(inputs, plan, spec);
}

/// Converts MiB to bytes. Returns `None`, which means no limit, for 0 and negative values.
fn positive_mib_to_bytes(mib: i64) -> Option<u64> {
    u64::try_from(mib).ok().filter(|mib| *mib > 0).map(|mib| mib.saturating_mul(MIB))
}

/// Returns true if the job's requests are used as limits because there is no slot.
fn limits_by_request(inputs: &EnvironmentInputs<'_>) -> bool {
    inputs.settings.groups.enforced_by_request || !inputs.quirks.reproduces(Quirk::SlotlessUnlimited)
}

/// Returns the memory provisioned for the job in MiB, and the attribute or parameter that determined it.
fn provisioned_memory(inputs: &EnvironmentInputs<'_>, plan: &mut CgroupPlan) -> (i64, &'static str) {
    let parameters = &inputs.settings.groups;
    let of_slot = inputs.slot_context().int(attr::MEMORY);
    let of_job = inputs.job_context().int(attr::REQUEST_MEMORY);
    let by_request = limits_by_request(inputs);
    match (of_slot, of_job) {
        (Some(mib), _) => (mib, "Memory of the slot"),
        (None, Some(mib)) if by_request => {
            if !parameters.enforced_by_request && parameters.policy == "hard" {
                let line = "the job has no slot: its memory is limited to RequestMemory; HTCondor 25.14 sets no limit in this case";
                plan.notices.push(("request-memory", line.to_owned()));
            }
            (mib, "RequestMemory")
        }
        _ => (0, "Memory of the slot"),
    }
}

/// Applies the policy `soft`: the job is guaranteed the memory of its slot and may use up to the memory of all slots. 25.14 sets
/// no limit.
fn set_soft_memory_limits(
    inputs: &EnvironmentInputs<'_>,
    plan: &mut CgroupPlan,
    spec: &mut ControlGroupSpec,
) -> &'static str {
    let none = inputs.quirks.decide(Quirk::SoftMemoryLimitNone);
    let notice = |done: &str| ("memory-limit-policy", format!("CGROUP_MEMORY_LIMIT_POLICY is soft: {done}"));
    if none.as_reference {
        plan.notices.push(notice("no memory limit"));
        return "CGROUP_MEMORY_LIMIT_POLICY";
    }
    let total_bytes = inputs.slot_context().int("TotalMemory").and_then(positive_mib_to_bytes);
    spec.memory_limit = total_bytes.filter(|_| plan.memory_mib > 0);
    spec.memory_low = positive_mib_to_bytes(plan.memory_mib);
    if let Some(bytes) = spec.memory_low {
        let (value, because) = (format!("{bytes} bytes"), "CGROUP_MEMORY_LIMIT_POLICY");
        plan.limits.push(CgroupLimit { resource: "memory reserved for the job", value, because });
    }
    let limit = match spec.memory_limit {
        Some(_) => "the job may use the memory of all slots; the memory of its own slot is reserved for it",
        None => {
            "no memory limit, because no slot ad has TotalMemory; the memory of its own slot is reserved for the job"
        }
    };
    plan.notices.push(notice(&format!("{limit}; {}", none.quirk.description())));
    "TotalMemory of the slot"
}

/// Sets the limit from CGROUP_HARD_MEMORY_LIMIT_EXPR.
fn set_custom_memory_limit(
    inputs: &EnvironmentInputs<'_>,
    plan: &mut CgroupPlan,
    spec: &mut ControlGroupSpec,
) -> &'static str {
    let hard = &inputs.settings.groups.hard;
    let limit =
        hard.as_ref().and_then(|setting| plan.eval_limit(inputs, HARD_MEMORY_LIMIT, setting, i64::MIN));
    spec.memory_limit = limit.and_then(positive_mib_to_bytes);
    let line = match (hard, limit) {
        (None, _) => Some(format!(
            "CGROUP_MEMORY_LIMIT_POLICY is custom, but {HARD_MEMORY_LIMIT} is not set: no memory limit"
        )),
        (Some(setting), Some(number)) if spec.memory_limit.is_none() => {
            Some(format!("{} is {number}: no memory limit", describe_setting(HARD_MEMORY_LIMIT, setting)))
        }
        _ => None,
    };
    plan.notices.extend(line.map(|line| ("custom-memory-limit", line)));
    HARD_MEMORY_LIMIT
}

/// Sets the memory that is protected from reclaim for the job.
fn set_protected_memory(inputs: &EnvironmentInputs<'_>, plan: &mut CgroupPlan, spec: &mut ControlGroupSpec) {
    // 25.14 evaluates CGROUP_LOW_MEMORY_LIMIT before the other limits.
    let Some(setting) = &inputs.settings.groups.low else { return };
    let earlier = plan.failure.take();
    let low = plan.eval_limit(inputs, LOW_MEMORY_LIMIT, setting, 0);
    plan.failure = plan.failure.take().or(earlier);
    spec.memory_low = low.and_then(positive_mib_to_bytes);
    match (spec.memory_low, low) {
        (Some(bytes), _) => {
            let value = format!("{bytes} bytes");
            plan.limits.push(CgroupLimit {
                resource: "memory reserved for the job",
                value,
                because: LOW_MEMORY_LIMIT,
            });
        }
        (None, Some(number)) if number < 0 => {
            let line = format!(
                "{} is {number}: no memory is reserved for the job",
                describe_setting(LOW_MEMORY_LIMIT, setting)
            );
            plan.notices.push(("low-memory-limit", line));
        }
        _ => {}
    }
}

impl CgroupPlan {
    /// Evaluates a limit that is an expression over slot and job.
    fn eval_limit(
        &mut self,
        inputs: &EnvironmentInputs<'_>,
        name: &'static str,
        setting: &Setting<BString>,
        least: i64,
    ) -> Option<i64> {
        let read = expression::eval_integer(inputs, name, setting, least);
        read.map_err(|failure| self.failure = Some(failure)).ok()
    }
}

fn set_cpu_weight(inputs: &EnvironmentInputs<'_>, plan: &mut CgroupPlan, spec: &mut ControlGroupSpec) {
    let of_slot = inputs.slot_context().int(attr::CPUS);
    let of_job = || inputs.job_context().int(attr::REQUEST_CPUS);
    let by_request = limits_by_request(inputs);
    let (cpus, because) = match of_slot {
        Some(cpus) => (cpus, "Cpus of the slot"),
        None => match of_job().filter(|_| by_request) {
            Some(cpus) => (cpus, "RequestCpus"),
            None => (1, "one processor"),
        },
    };
    spec.cpu_weight = u64::try_from(cpus).unwrap_or(0).saturating_mul(100);
    if spec.cpu_weight > 0 {
        let value = spec.cpu_weight.to_string();
        plan.limits.push(CgroupLimit { resource: "share of the processors", value, because });
    }
}

/// Returns the GPUs of the NVIDIA driver that are not assigned to the slot.
fn hidden_gpus(inputs: &EnvironmentInputs<'_>) -> Vec<DeviceNumber> {
    let all = nvidia_devices(inputs.world);
    if all.is_empty() {
        return Vec::new();
    }
    let text = b"join(\",\",evalInEachContext(strcat(\"GPU-\",DeviceUuid),AvailableGPUs))";
    let own = Expr::parse_with(text, Dialect::of_world(inputs.world))
        .ok()
        .map(|list| inputs.slot_context().eval(&list));
    let own: BString = own.as_ref().and_then(|value| value.as_str()).map(BString::from).unwrap_or_default();
    let has = |uuid: &BString| {
        own.split_str(",").map(|word| word.trim()).any(|word| !word.is_empty() && uuid.starts_with(word))
    };
    let hidden = all.iter().filter(|(uuid, _)| !has(uuid));
    hidden.map(|(_, minor)| DeviceNumber { major: NVIDIA_DEVICE_MAJOR, minor: *minor }).collect()
}

/// Decision about a job that the kernel killed because of its memory usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OutOfMemoryVerdict {
    /// The job is held, with this reason.
    Hold(String),
    /// The job is requeued: it used less than its limit, so the machine ran out of memory.
    Requeue,
}

/// Determines the verdict on the job. `used_kib` is the largest image size that was measured.
pub(super) fn judge_out_of_memory(memory_mib: i64, used_kib: u64, always_hold: bool) -> OutOfMemoryVerdict {
    let mut used = i64::try_from(used_kib / 1024).unwrap_or(i64::MAX);
    if used == 0 || always_hold {
        // No image size was measured before the job died, or every such job is held.
        used = memory_mib;
    }
    if !always_hold && (used as f64) < 0.9 * memory_mib as f64 {
        return OutOfMemoryVerdict::Requeue;
    }
    if memory_mib < 0 {
        return OutOfMemoryVerdict::Hold("Job has encountered an out-of-memory event.".to_owned());
    }
    OutOfMemoryVerdict::Hold(format!(
        "Job has gone over cgroup memory limit of {memory_mib} megabytes. Last measured usage: {used} megabytes.  Consider \
         resubmitting with a higher request_memory."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_held_for_its_memory_unless_the_machine_has_run_out() {
        let held = |text: &str| OutOfMemoryVerdict::Hold(text.to_owned());
        assert_eq!(
            judge_out_of_memory(128, 5, true),
            held(
                "Job has gone over cgroup memory limit of 128 megabytes. Last measured usage: 128 megabytes.  Consider \
                 resubmitting with a higher request_memory."
            )
        );
        assert_eq!(judge_out_of_memory(-5, 7, true), held("Job has encountered an out-of-memory event."));
        assert_eq!(judge_out_of_memory(100, 50 * 1024, false), OutOfMemoryVerdict::Requeue);
        assert!(
            matches!(judge_out_of_memory(100, 90 * 1024, false), OutOfMemoryVerdict::Hold(text) if text.contains("usage: 90 "))
        );
        assert!(
            matches!(judge_out_of_memory(100, 0, false), OutOfMemoryVerdict::Hold(text) if text.contains("usage: 100 "))
        );
    }
}
