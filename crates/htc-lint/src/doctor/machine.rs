//! Slots, and what the kernel and container runtimes of the machine can do.

use bstr::ByteSlice;

use super::check::Check;
use super::patient::Patient;
use htc_base::process::GroupSpec;
use htc_base::text::list;
use htc_classad::Value;
use htc_os::{cgroup, mounts};
use htc_runner::slot::InputDevices;
use htc_starter::GroupKnobs;

/// Whether there are slots that can be used, and what brings them work.
pub(super) fn slots(patient: &Patient<'_>) -> Vec<Check> {
    let slots = &patient.settings.slots;
    let mut checks = Vec::new();
    for slot in slots {
        if let Some(broken) = &slot.broken {
            let todo = "correct what the reason names";
            checks.push(Check::fails("slots", format!("{} is broken: {}", slot.id, broken.reason), todo));
        }
    }
    if slots.is_empty() {
        checks.push(Check::fails("slots", "there is no slot", "set NUM_SLOTS or NUM_SLOTS_TYPE_<N>"));
    } else if checks.is_empty() {
        let count = slots.len();
        let are = if count == 1 { "1 slot".to_owned() } else { format!("{count} slots") };
        checks.push(Check::good("slots", are));
    }
    let fetches = |hooks: &htc_slot::SlotHooks| hooks.fetch.is_some();
    let any = slots.iter().any(|slot| slot.hooks.iter().chain(&slot.child_default).any(fetches));
    if !any {
        let todo = "set STARTD_JOB_HOOK_KEYWORD and <KEYWORD>_HOOK_FETCH_WORK, or use the verb claim";
        checks.push(Check::note("slots", "no slot fetches work", todo));
    }
    checks
}

/// Control groups, namespaces, devices, containers.
pub(super) fn machine(patient: &Patient<'_>) -> Vec<Check> {
    let mut checks = vec![groups(patient)];
    checks.extend(namespaces(patient));
    checks.push(gpus(patient));
    checks.extend(containers(patient));
    checks
}

/// Makes a group as a starter would, and removes it.
fn groups(patient: &Patient<'_>) -> Check {
    let knobs = match GroupKnobs::read(&patient.config.view(patient.world)) {
        Ok(knobs) => knobs,
        Err(error) => return Check::fails("cgroups", error.to_string(), "correct its value"),
    };
    let Some(base) = knobs.place() else {
        return Check::note(
            "cgroups",
            "BASE_CGROUP is empty: jobs have no limits",
            "set BASE_CGROUP = htcondor",
        );
    };
    if patient.world.effective_uid() != 0 && !knobs.without_root {
        let found = "without root jobs have no control group, and memory and processors are not limited";
        let todo = "call it as root, or set CREATE_CGROUP_WITHOUT_ROOT = true where a group is delegated";
        return Check::note("cgroups", found, todo);
    }
    let name = format!("htc-doctor-{}", std::process::id());
    let spec = GroupSpec { base, name: name.clone(), memory: Some(64 << 20), ..GroupSpec::default() };
    match cgroup::Group::make(&spec, &name, &mut |_| {}) {
        Err(none) => Check::note(
            "cgroups",
            format!("jobs have no control group: {}", none.why),
            "mount control groups for writing, or start it in a delegated one",
        ),
        Ok((mut group, set)) => {
            let refused = set.iter().find_map(|one| one.is.as_ref().err().cloned());
            // What stays is empty and told by the kernel's own name.
            let removed = group.remove();
            match (refused, removed) {
                (Some(why), _) => Check::note(
                    "cgroups",
                    format!("the memory of jobs is not limited: {why}"),
                    "let the controller 'memory' be there for the group above",
                ),
                (None, Err((path, error))) => {
                    let found = format!("a group cannot be removed again: '{}': {error}", path.display());
                    Check::note("cgroups", found, "look at who keeps it")
                }
                (None, Ok(())) => Check::good("cgroups", format!("below '{}'", spec.base)),
            }
        }
    }
}

fn namespaces(patient: &Patient<'_>) -> Vec<Check> {
    let root = patient.world.effective_uid() == 0;
    let wanted = patient.text("MOUNT_UNDER_SCRATCH").filter(|text| !text.trim().is_empty());
    let mut checks = Vec::new();
    match (root && mounts::may_mount(), wanted) {
        (true, _) => checks.push(Check::good("namespaces", "directories of jobs can be mounted")),
        (false, None) => checks.push(Check::good("namespaces", "none can be made, none is asked for")),
        (false, Some(wanted)) => checks.push(Check::note(
            "namespaces",
            format!("MOUNT_UNDER_SCRATCH = {wanted} is not done: nothing can be mounted here"),
            "call it as root with CAP_SYS_ADMIN, or take it out",
        )),
    }
    let users = patient.settings.slots.first().and_then(|slot| slot.statics.literal("HasUserNamespaces"));
    if users != Some(Value::Bool(true)) && patient.text("SINGULARITY").is_some_and(|path| is_there(&path)) {
        let todo = "set /proc/sys/user/max_user_namespaces above 0, or call it as root";
        checks.push(Check::note("namespaces", "there are no user namespaces for containers", todo));
    }
    checks
}

/// Devices of the console at which nobody is ever seen, where the configuration names them itself.
pub(super) fn console(patient: &Patient<'_>) -> Vec<Check> {
    let view = patient.config.view(patient.world);
    let origin = view.list("CONSOLE_DEVICES").ok().flatten().map(|list| list.origin);
    let Some(origin) = origin.filter(|origin| !origin.is_default()) else { return Vec::new() };
    let devices = InputDevices::read(&view);
    let told = |(name, why): &(&str, &str)| {
        let found = format!("CONSOLE_DEVICES ({}): nobody is ever seen at '{name}': {why}", origin.told());
        Check::note("console", found, "name a device of /dev with a keyboard or mouse behind it")
    };
    devices.dead().iter().map(told).collect()
}

fn is_there(path: &str) -> bool {
    std::path::Path::new(path).exists()
}

fn gpus(patient: &Patient<'_>) -> Check {
    let ad = patient.settings.slots.first().map(|slot| &slot.statics);
    // A number in old output of the discovery program, else the ids (`MachAttributes::init_machine_resources`).
    let count = |value: Value| match value {
        Value::Int(count) => Some(count),
        Value::Str(ids) => i64::try_from(list::split(&ids).count()).ok(),
        _ => None,
    };
    let number = ad.and_then(|ad| ad.literal("DetectedGPUs").or_else(|| ad.literal("TotalGPUs")));
    let number = number.and_then(count);
    let inventory = patient.text("MACHINE_RESOURCE_INVENTORY_GPUs").is_some_and(|text| !text.is_empty());
    let asked = inventory
        || patient.config.set.exact(b"GPU_DISCOVERY_EXTRA").is_some_and(|entry| entry.current.is_written());
    match number {
        Some(0) if asked => {
            let todo = "look at GPU_DISCOVERY_EXTRA and the driver, or give them with --gpus FILE";
            Check::note("gpus", "looked for, and none was found", todo)
        }
        Some(1) => Check::good("gpus", "1 device"),
        Some(count) if count > 1 => Check::good("gpus", format!("{count} devices")),
        _ => Check::good("gpus", "none"),
    }
}

/// What the starter found out about the runtimes.
fn containers(patient: &Patient<'_>) -> Vec<Check> {
    let ad = &patient.around.runtimes;
    let mut checks = Vec::new();
    for (name, has, why, version) in [
        ("docker", "HasDocker", "DockerOfflineReason", "DockerVersion"),
        ("singularity", "HasSingularity", "SingularityOfflineReason", "SingularityVersion"),
    ] {
        let text = |name: &str| ad.string(name).map(|text| text.to_str_lossy().into_owned());
        if ad.literal(has) == Some(Value::Bool(true)) {
            let version = text(version).unwrap_or_default();
            checks.push(Check::good("containers", format!("{name} works: {version}")));
        } else if let Some(why) = text(why) {
            let todo = format!("mend it, or take {} out of the configuration", name.to_uppercase());
            checks.push(Check::note("containers", format!("{name} does not work: {why}"), todo));
        }
    }
    if checks.is_empty() {
        let found =
            "neither DOCKER nor SINGULARITY names a program that is here: jobs in containers do not match";
        checks.push(Check::good("containers", found));
    }
    checks
}
