//! Checks of the slots, and of the machine's kernel and container runtimes.

use bstr::ByteSlice;

use super::check::DoctorCheck;
use super::doctor_input::DoctorInput;
use htc_base::process::ControlGroupSpec;
use htc_base::text::list;
use htc_base::text::plural::counted;
use htc_classad::Value;
use htc_os::{cgroup, mounts};
use htc_runner::slot::InputDevices;
use htc_starter::CgroupParameters;

/// Checks that there are usable slots, and that a hook fetches work for them.
pub(super) fn check_slots(input: &DoctorInput<'_>) -> Vec<DoctorCheck> {
    let slots = &input.settings.slots;
    let mut checks = Vec::new();
    for slot in slots {
        if let Some(broken) = &slot.broken {
            let todo = "correct the setting that the reason names";
            checks.push(DoctorCheck::failed(
                "slots",
                format!("{} is broken: {}", slot.id, broken.reason),
                todo,
            ));
        }
    }
    if slots.is_empty() {
        checks.push(DoctorCheck::failed("slots", "there is no slot", "set NUM_SLOTS or NUM_SLOTS_TYPE_<N>"));
    } else if checks.is_empty() {
        let count = slots.len();
        let text = counted(count, "slot");
        checks.push(DoctorCheck::passed("slots", text));
    }
    let fetches = |hooks: &htc_slot::SlotHookPaths| hooks.fetch.is_some();
    let any = slots.iter().any(|slot| slot.hooks.iter().chain(&slot.default_child_hooks).any(fetches));
    if !any {
        let todo = "set STARTD_JOB_HOOK_KEYWORD and <KEYWORD>_HOOK_FETCH_WORK, or use 'htc-slot-run claim'";
        checks.push(DoctorCheck::noted("slots", "no slot fetches work", todo));
    }
    checks
}

/// Checks control groups, namespaces, GPUs and container runtimes.
pub(super) fn check_machine(input: &DoctorInput<'_>) -> Vec<DoctorCheck> {
    let mut checks = vec![check_cgroups(input)];
    checks.extend(check_namespaces(input));
    checks.push(check_gpus(input));
    checks.extend(check_containers(input));
    checks
}

/// Creates a control group as a starter would, and removes it.
fn check_cgroups(input: &DoctorInput<'_>) -> DoctorCheck {
    let parameters = match CgroupParameters::read(&input.config.view(input.world)) {
        Ok(parameters) => parameters,
        Err(error) => return DoctorCheck::failed("cgroups", error.to_string(), "correct its value"),
    };
    let Some(base) = parameters.base_path() else {
        return DoctorCheck::noted(
            "cgroups",
            "BASE_CGROUP is empty: jobs have no limits",
            "set BASE_CGROUP = htcondor",
        );
    };
    if input.world.effective_uid() != 0 && !parameters.without_root {
        let found =
            "without root, jobs have no control group, so their memory and processors are not limited";
        let todo = "run the program as root, or set CREATE_CGROUP_WITHOUT_ROOT = true if a control group is delegated to your account";
        return DoctorCheck::noted("cgroups", found, todo);
    }
    let name = format!("htc-doctor-{}", std::process::id());
    let spec = ControlGroupSpec {
        parent_group: base,
        name: name.clone(),
        memory_limit: Some(64 << 20),
        ..ControlGroupSpec::default()
    };
    match cgroup::ControlGroup::create(&spec, &name, &mut |_| {}) {
        Err(unavailable) => DoctorCheck::noted(
            "cgroups",
            format!("jobs have no control group: {}", unavailable.reason),
            "mount control groups writable, or start the program in a delegated control group",
        ),
        Ok((mut group, set)) => {
            let refused = set.iter().find_map(|one| one.actual.as_ref().err().cloned());
            // The group is empty even if it cannot be removed; the message below names it.
            let removed = group.remove();
            match (refused, removed) {
                (Some(reason), _) => DoctorCheck::noted(
                    "cgroups",
                    format!("the memory of jobs is not limited: {reason}"),
                    "enable the controller 'memory' in the parent group",
                ),
                (None, Err((path, error))) => {
                    let found = format!(
                        "a control group that was created cannot be removed: '{}': {error}",
                        path.display()
                    );
                    DoctorCheck::noted("cgroups", found, "find the processes that use it")
                }
                (None, Ok(())) => DoctorCheck::passed("cgroups", format!("below '{}'", spec.parent_group)),
            }
        }
    }
}

fn check_namespaces(input: &DoctorInput<'_>) -> Vec<DoctorCheck> {
    let root = input.world.effective_uid() == 0;
    let wanted = input.parameter_text("MOUNT_UNDER_SCRATCH").filter(|text| !text.trim().is_empty());
    let mut checks = Vec::new();
    match (root && mounts::can_mount(), wanted) {
        (true, _) => checks.push(DoctorCheck::passed("namespaces", "MOUNT_UNDER_SCRATCH works")),
        (false, None) => checks.push(DoctorCheck::passed(
            "namespaces",
            "namespaces cannot be created here, and no setting needs them",
        )),
        (false, Some(wanted)) => checks.push(DoctorCheck::noted(
            "namespaces",
            format!("MOUNT_UNDER_SCRATCH = {wanted} has no effect: nothing can be mounted here"),
            "run the program as root with CAP_SYS_ADMIN, or remove the setting",
        )),
    }
    let users = input.settings.slots.first().and_then(|slot| slot.statics.literal("HasUserNamespaces"));
    if users != Some(Value::Bool(true))
        && input.parameter_text("SINGULARITY").is_some_and(|path| path_exists(&path))
    {
        let todo = "set /proc/sys/user/max_user_namespaces above 0, or run the program as root";
        checks.push(DoctorCheck::noted("namespaces", "there are no user namespaces for containers", todo));
    }
    checks
}

/// Reports configured console devices that can never show user activity. The default of CONSOLE_DEVICES is
/// not checked.
pub(super) fn check_console_devices(input: &DoctorInput<'_>) -> Vec<DoctorCheck> {
    let view = input.config.view(input.world);
    let origin = view.list("CONSOLE_DEVICES").ok().flatten().map(|list| list.origin);
    let Some(origin) = origin.filter(|origin| !origin.is_default()) else { return Vec::new() };
    let devices = InputDevices::read(&view);
    let to_check = |(name, reason): &(&str, &str)| {
        let found = format!(
            "CONSOLE_DEVICES ({}): no input is ever detected at '{name}': {reason}",
            origin.describe()
        );
        DoctorCheck::noted("console", found, "name a device in /dev that is a keyboard or a mouse")
    };
    devices.unused_console_devices().iter().map(to_check).collect()
}

fn path_exists(path: &str) -> bool {
    std::path::Path::new(path).exists()
}

fn check_gpus(input: &DoctorInput<'_>) -> DoctorCheck {
    let ad = input.settings.slots.first().map(|slot| &slot.statics);
    // Old versions of the discovery program print a number, newer ones the ids
    // (`MachAttributes::init_machine_resources`).
    let count = |value: Value| match value {
        Value::Int(count) => Some(count),
        Value::Str(ids) => i64::try_from(list::split(&ids).count()).ok(),
        _ => None,
    };
    let number = ad.and_then(|ad| ad.literal("DetectedGPUs").or_else(|| ad.literal("TotalGPUs")));
    let number = number.and_then(count);
    let inventory =
        input.parameter_text("MACHINE_RESOURCE_INVENTORY_GPUs").is_some_and(|text| !text.is_empty());
    let is_requested = inventory
        || input
            .config
            .set
            .find_exact(b"GPU_DISCOVERY_EXTRA")
            .is_some_and(|entry| entry.current.is_user_written());
    match number {
        Some(0) if is_requested => {
            let todo = "check GPU_DISCOVERY_EXTRA and the driver, or describe the GPUs with --gpus FILE";
            DoctorCheck::noted("gpus", "GPU discovery ran and found no GPU", todo)
        }
        Some(1) => DoctorCheck::passed("gpus", "1 device"),
        Some(count) if count > 1 => DoctorCheck::passed("gpus", counted(count, "device")),
        _ => DoctorCheck::passed("gpus", "none"),
    }
}

/// Reports what the starter detected about the container runtimes.
fn check_containers(input: &DoctorInput<'_>) -> Vec<DoctorCheck> {
    let ad = &input.surroundings.container_runtimes;
    let mut checks = Vec::new();
    for (name, has, reason, version) in [
        ("docker", "HasDocker", "DockerOfflineReason", "DockerVersion"),
        ("singularity", "HasSingularity", "SingularityOfflineReason", "SingularityVersion"),
    ] {
        let text = |name: &str| ad.string(name).map(|text| text.to_str_lossy().into_owned());
        if ad.literal(has) == Some(Value::Bool(true)) {
            let version = text(version).unwrap_or_default();
            checks.push(DoctorCheck::passed("containers", format!("{name} works: {version}")));
        } else if let Some(reason) = text(reason) {
            let todo = format!("repair it, or remove {} from the configuration", name.to_uppercase());
            checks.push(DoctorCheck::noted("containers", format!("{name} does not work: {reason}"), todo));
        }
    }
    if checks.is_empty() {
        let found =
            "neither DOCKER nor SINGULARITY names an existing program: jobs in containers do not match";
        checks.push(DoctorCheck::passed("containers", found));
    }
    checks
}
