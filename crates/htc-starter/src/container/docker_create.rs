//! `docker create`: all options in the reference's order.
//!
//! Reference: `DockerAPI::createContainer` of `docker-api.cpp`, `DockerProc::LaunchContainer` and
//! `buildExtraVolumes` of `docker_proc.cpp`.

use std::path::{Component, PathBuf};

use bstr::{BString, ByteSlice};

use super::docker::DockerNames;
use super::inputs::ContainerInputs;
use super::plan::{AnnotatedCommandLine, ContainerLimit, ContainerMount, ContainerPlan, ContainerRuntime};
use crate::expression::{self, describe_setting};
use crate::nvidia::nvidia_devices;
use crate::start_failure::StartFailure;
use htc_base::job::attr;
use htc_base::quirks::Quirk;
use htc_base::text::arguments;
use htc_base::text::environment::Environment;
use htc_base::text::list;
use htc_base::world::FileKind;

/// Longest hostname that docker accepts.
const MAX_HOST_NAME_LEN: usize = 63;

/// Plans the container of a docker job. `command` is the job's command and its arguments, or empty; `environment` is
/// the job's environment.
///
/// # Errors
/// Returns an error if the slot does not offer the requested network, if a port or the extra arguments are not valid,
/// or if the job has no account.
pub fn plan_docker_container(
    inputs: &ContainerInputs<'_>,
    names: &DockerNames,
    command: &[BString],
    environment: Environment,
) -> Result<ContainerPlan, StartFailure> {
    let mut line = AnnotatedCommandLine::default();
    // The volumes come first, as in 25.14, where a condition that is neither true nor false ends the plan at this point
    // (`buildExtraVolumes`).
    let (volumes, directories) = collect_volumes(inputs, &mut line)?;
    let mut limits = Vec::new();
    line.add(names.program.iter().cloned(), "DOCKER");
    line.add(["create"], "the container is created first and started afterwards");
    add_cpu_limits(inputs, &mut line, &mut limits);
    add_memory_limits(inputs, &mut line, &mut limits);
    let capabilities = ["--cap-drop=all", "--cap-add=SYS_PTRACE", "--security-opt", "no-new-privileges"];
    const CAPABILITIES: &str = "DOCKER_DROP_ALL_CAPABILITIES";
    const UNDER_INIT: &str = "DOCKER_RUN_UNDER_INIT";
    const NO_LOG: &str = "DOCKER_LOG_DRIVER_NONE";
    let drops_all = inputs.boolean_parameter(CAPABILITIES, true)?;
    add_optional_arguments(CAPABILITIES, drops_all, &capabilities, &mut line);
    let runs_under_init = inputs.plain_boolean_parameter(UNDER_INIT)?;
    add_optional_arguments(UNDER_INIT, runs_under_init, &["--init"], &mut line);
    line.add(
        ["--name".into(), names.container.clone()],
        "ClusterId, ProcId, the slot and the starter's process",
    );
    line.add(["--label=org.htcondorproject=True"], "it identifies containers of HTCondor");
    let has_no_log = inputs.plain_boolean_parameter(NO_LOG)?;
    add_optional_arguments(NO_LOG, has_no_log, &["--log-driver", "none"], &mut line);
    for entry in environment.entries() {
        line.add(["-e".into(), entry], "the job's environment");
    }
    let mounts = add_volumes(volumes, &mut line);
    add_gpu_devices(inputs, &mut line)?;
    line.add(["--workdir".into(), inputs.job_inputs.job.iwd.clone()], "Iwd");
    add_user(inputs, &mut line)?;
    add_network(inputs, &mut line)?;
    add_service_ports(inputs, &mut line)?;
    add_pull_policy(inputs, &mut line);
    add_extra_arguments(inputs, &mut line)?;
    add_shared_memory(inputs, &mut line, &mut limits)?;
    let mut words = command.iter().cloned();
    let program = words.next().filter(|command| !command.is_empty());
    let overrides = inputs.job_boolean("DockerOverrideEntrypoint");
    match program {
        Some(program) if overrides => {
            line.add(["--entrypoint".into(), program], "DockerOverrideEntrypoint, Cmd");
            line.add([names.image.clone()], names.image_from);
        }
        Some(program) => {
            line.add([names.image.clone()], names.image_from);
            line.add([program], "Cmd");
        }
        None => line.add([names.image.clone()], names.image_from),
    }
    line.add(words, "Arguments");
    Ok(ContainerPlan {
        runtime: ContainerRuntime::Docker,
        image: names.image.clone(),
        line,
        test_command: None,
        mounts,
        environment,
        limits,
        directories,
        container_to_remove: Some(names.container.clone()),
    })
}

fn add_limit(
    of: &'static str,
    value: impl Into<BString>,
    because: &'static str,
    limits: &mut Vec<ContainerLimit>,
) {
    limits.push(ContainerLimit { resource: of, value: value.into(), because: because.into() });
}

fn add_cpu_limits(
    inputs: &ContainerInputs<'_>,
    line: &mut AnnotatedCommandLine,
    limits: &mut Vec<ContainerLimit>,
) {
    if !inputs.host.processors.is_empty() {
        let list: Vec<String> = inputs.host.processors.iter().map(usize::to_string).collect();
        let list = list.join(",");
        line.add([format!("--cpuset-cpus={list}")], "ENFORCE_CPU_AFFINITY");
        return add_limit("processors", list, "ENFORCE_CPU_AFFINITY", limits);
    }
    let cpus = inputs.machine().int(attr::CPUS);
    let shares = 100i64.saturating_mul(cpus.unwrap_or(1));
    let because =
        if cpus.is_some() { "Cpus of the slot" } else { "there is no slot: the share of one processor" };
    line.add([format!("--cpu-shares={shares}")], because);
    add_limit("cpu shares", shares.to_string(), because, limits);
}

fn add_memory_limits(
    inputs: &ContainerInputs<'_>,
    line: &mut AnnotatedCommandLine,
    limits: &mut Vec<ContainerLimit>,
) {
    match inputs.machine().int(attr::MEMORY) {
        Some(memory) => {
            line.add([format!("--memory={memory}m")], "Memory of the slot");
            add_limit("memory", format!("{memory}m"), "Memory of the slot", limits);
        }
        None => line.add_unused("Memory", "the slot ad has no amount of memory: no --memory"),
    }
}

/// Sets the size of `/dev/shm` if the parameter evaluates to an integer for this slot and job.
fn add_shared_memory(
    inputs: &ContainerInputs<'_>,
    line: &mut AnnotatedCommandLine,
    limits: &mut Vec<ContainerLimit>,
) -> Result<(), StartFailure> {
    const PARAMETER: &str = "DOCKER_SHM_SIZE";
    let Some(setting) = inputs.parameters().setting(PARAMETER) else {
        line.add_unused(PARAMETER, "is not set");
        return Ok(());
    };
    let size = expression::eval_integer(inputs.job_inputs, PARAMETER, setting, i64::MIN)?.to_string();
    line.add(["--shm-size".to_owned(), size.clone()], PARAMETER);
    add_limit("shared memory", size, PARAMETER, limits);
    Ok(())
}

/// Adds arguments to the command line if a boolean parameter is true.
fn add_optional_arguments(
    parameter: &'static str,
    set: bool,
    words: &[&str],
    line: &mut AnnotatedCommandLine,
) {
    match set {
        true => line.add(words.iter().copied(), parameter),
        false => line.add_unused(parameter, "is false"),
    }
}

/// Mount specifications, each with the attribute or parameter that requests it.
type VolumeSpecs = Vec<(BString, String)>;

/// Collects the mounts of the container (the slot's directory, Iwd, MOUNT_UNDER_SCRATCH, the administrator's
/// volumes) and the directories to create for them.
fn collect_volumes(
    inputs: &ContainerInputs<'_>,
    line: &mut AnnotatedCommandLine,
) -> Result<(VolumeSpecs, Vec<PathBuf>), StartFailure> {
    let mut all = VolumeSpecs::new();
    let twice = |directory: &[u8]| BString::from([directory, b":", directory].concat());
    all.push((twice(inputs.slot_directory()), "the scratch directory".into()));
    all.push((twice(&inputs.job_inputs.job.iwd), "Iwd".into()));
    let mut directories = Vec::new();
    let under_scratch = inputs.mount_under_scratch();
    for (directory, from) in &under_scratch {
        let outside = path_under_scratch(inputs, directory);
        directories.push(outside.to_path_lossy().into_owned());
        all.push(([outside.as_slice(), b":", directory].concat().into(), (*from).into()));
    }
    let mut unset = Vec::new();
    for volume in inputs.parameters().volumes() {
        let parameter = format!("DOCKER_VOLUME_DIR_{}", volume.name);
        let Some(directory) = &volume.directory else {
            line.add_unused(
                parameter.clone(),
                "DOCKER_MOUNT_VOLUMES names this parameter, but it is not set",
            );
            unset.push(parameter);
            continue;
        };
        let spec = if directory.contains(&b':') { directory.clone() } else { twice(directory) };
        let condition = format!("{parameter}_MOUNT_IF");
        let wanted = match &volume.mount_if {
            Some(setting) => expression::eval_boolean(inputs.job_inputs, &condition, setting, false)?,
            None => true,
        };
        match wanted {
            true => all.push((spec, parameter)),
            false => line.add_unused(condition, "is not true for this job"),
        }
    }
    const VOLUMES_PARAMETER: &str = "DOCKER_MOUNT_VOLUMES";
    if let (false, Some(names)) = (unset.is_empty(), inputs.parameters().setting(VOLUMES_PARAMETER)) {
        let line = format!(
            "{}: not mounted, because they are not set: {}",
            describe_setting(VOLUMES_PARAMETER, names),
            unset.join(", ")
        );
        inputs.add_setting_remark(VOLUMES_PARAMETER, line);
    }
    directories.extend(nested_mount_points(inputs, &all, &under_scratch));
    Ok((all, directories))
}

/// Returns the directory below the scratch directory that is mounted over a directory of MOUNT_UNDER_SCRATCH.
fn path_under_scratch(inputs: &ContainerInputs<'_>, directory: &BString) -> Vec<u8> {
    // Like `dirscat`, puts one slash between the parts and one at the end.
    let inside = directory.trim_start_with(|letter| letter == '/').trim_end_with(|letter| letter == '/');
    [inputs.scratch().as_bytes(), b"/", inside, b"/"].concat()
}

/// Returns the mount points that a runtime would create in the directories of MOUNT_UNDER_SCRATCH, for example in /tmp
/// if the slot's directory is below /tmp. A mount point that the runtime of an ordinary user creates would belong to an
/// account of the container, and could not be removed with the scratch directory.
fn nested_mount_points(
    inputs: &ContainerInputs<'_>,
    specs: &[(BString, String)],
    under_scratch: &[(BString, &'static str)],
) -> Vec<PathBuf> {
    // The slot's directory does not exist in a dry run, but it would be a directory.
    let is_directory = |source: &[u8]| {
        if source == inputs.slot_directory().as_bytes() {
            return true;
        }
        let status = inputs.job_inputs.world.stat(&source.to_path_lossy());
        status.is_ok_and(|status| status.kind == FileKind::Directory)
    };
    let mut points = Vec::new();
    for (spec, _) in specs {
        let (source, target) = spec.split_once_str(":").unwrap_or((spec, spec));
        let target = target.split_str(":").next().unwrap_or_default().to_path_lossy();
        for (directory, _) in under_scratch {
            let Ok(below) = target.strip_prefix(directory.to_path_lossy()) else { continue };
            let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
            if below.as_os_str().is_empty() || !is_plain || !is_directory(source) {
                continue;
            }
            points.push(path_under_scratch(inputs, directory).to_path_lossy().join(below));
        }
    }
    points
}

/// Adds the volumes to the command line without duplicates, and returns the mounts.
fn add_volumes(all: VolumeSpecs, line: &mut AnnotatedCommandLine) -> Vec<ContainerMount> {
    let mut mounts: Vec<ContainerMount> = Vec::new();
    let mut added: Vec<BString> = Vec::new();
    for (spec, from) in all {
        if added.contains(&spec) {
            continue;
        }
        let (source, target) = spec.split_once_str(":").unwrap_or((&spec, &spec));
        mounts.push(ContainerMount {
            source: Some(source.into()),
            target: target.split_str(":").next().unwrap_or_default().into(),
            because: from.clone().into(),
        });
        line.add(["--volume".into(), spec.clone()], from);
        added.push(spec);
    }
    mounts
}

/// Adds the devices of the assigned GPUs.
fn add_gpu_devices(
    inputs: &ContainerInputs<'_>,
    line: &mut AnnotatedCommandLine,
) -> Result<(), StartFailure> {
    let assigned = inputs.machine().string("AssignedGPUs").unwrap_or_default();
    if assigned.is_empty() {
        line.add_unused("AssignedGPUs", "the slot has no GPU: no --device");
        return Ok(());
    }
    let mut add = |device: String| line.add(["--device".to_owned(), device], "AssignedGPUs");
    add("/dev/nvidiactl".to_owned());
    add("/dev/nvidia-uvm".to_owned());
    if assigned.starts_with(b"CUDA") {
        for number in assigned.split_str("CUDA").skip(1) {
            let number = number.split_str(",").next().unwrap_or_default();
            add(format!("/dev/nvidia{}", number.as_bstr()));
        }
        return Ok(());
    }
    let any = inputs.plain_boolean_parameter("DOCKER_MAP_ALL_GPUS")?;
    let known = nvidia_devices(inputs.job_inputs.world);
    for gpu in list::split(&assigned) {
        if let Some((_, minor)) = known.iter().find(|(uuid, _)| any || uuid.starts_with(gpu)) {
            add(format!("/dev/nvidia{minor}"));
        }
    }
    Ok(())
}

/// Adds the account of the job, which is never root.
fn add_user(inputs: &ContainerInputs<'_>, line: &mut AnnotatedCommandLine) -> Result<(), StartFailure> {
    let account = inputs.host.account.as_ref().filter(|account| account.uid != 0 && account.gid != 0);
    let Some(account) = account else {
        return Err(StartFailure::silent("Failed to get userid to run docker job"));
    };
    line.add(["--user".to_owned(), format!("{}:{}", account.uid, account.gid)], "the job's account");
    for group in &account.groups {
        line.add(["--group-add".to_owned(), group.to_string()], "a group of the job's account");
    }
    Ok(())
}

fn add_network(inputs: &ContainerInputs<'_>, line: &mut AnnotatedCommandLine) -> Result<(), StartFailure> {
    const ATTRIBUTE: &str = "DockerNetworkType";
    let wanted = inputs.job_string(ATTRIBUTE).unwrap_or_default();
    match wanted.as_slice() {
        b"" => line.add_unused(ATTRIBUTE, "the job requests none: the default network of the runtime"),
        b"nat" => line.add_unused(ATTRIBUTE, "'nat' is the default of the runtime"),
        b"host" => {
            line.add(["--network=host"], ATTRIBUTE);
            return Ok(());
        }
        b"none" => line.add(["--network=none"], ATTRIBUTE),
        name => {
            let (offered, of) = offered_networks(inputs);
            if !list::split(&offered).any(|network| network == name) {
                return Err(StartFailure::silent(format!(
                    "Docker job requested network {wanted} not allowed by parameter DOCKER_NETWORKS with value \
                     {offered}, refusing to run job"
                )));
            }
            line.add([[b"--network=", name].concat()], of);
        }
    }
    line.add(["--hostname".into(), host_name(inputs)], "Owner, ClusterId, ProcId and the slot's Machine");
    Ok(())
}

/// Returns the networks that jobs may choose, with the name of their source: the slot ad, or the configuration if there
/// is no slot ad. In 25.14, jobs without a slot ad have no networks.
fn offered_networks(inputs: &ContainerInputs<'_>) -> (BString, &'static str) {
    let about = inputs.job_inputs;
    if about.machine.is_empty() && !about.quirks.reproduces(Quirk::MachineAdEmpty) {
        let offered = inputs.parameters().text("DOCKER_NETWORKS").cloned().unwrap_or_default();
        return (offered, "DockerNetworkType, which DOCKER_NETWORKS offers");
    }
    let offered = inputs.machine().string("DockerNetworks").unwrap_or_default();
    (offered, "DockerNetworkType, which DockerNetworks of the slot offers")
}

fn host_name(inputs: &ContainerInputs<'_>) -> BString {
    let owner = inputs.job().string(attr::OWNER).unwrap_or_else(|| "unknown".into());
    let number = |name: &str| inputs.job().int(name).unwrap_or(1);
    let machine = inputs.machine().string(attr::MACHINE).unwrap_or_else(|| "host".into());
    let ids = format!("-{}.{}-", number(attr::CLUSTER_ID), number(attr::PROC_ID));
    let mut name = [owner.as_slice(), ids.as_bytes(), &machine].concat();
    name.truncate(MAX_HOST_NAME_LEN);
    name.into()
}

fn add_service_ports(
    inputs: &ContainerInputs<'_>,
    line: &mut AnnotatedCommandLine,
) -> Result<(), StartFailure> {
    const ATTRIBUTE: &str = "ContainerServiceNames";
    let services = inputs.job_string(ATTRIBUTE).unwrap_or_default();
    for service in list::split(&services) {
        let service = service.as_bstr();
        let Some(port) = inputs.job().int(format!("{service}_ContainerPort")) else {
            return Err(StartFailure::silent(format!(
                "Requested container service '{service}' did not specify a port, or the specified port was not a number."
            )));
        };
        line.add(["-p".to_owned(), port.to_string()], format!("{ATTRIBUTE}, {service}_ContainerPort"));
    }
    Ok(())
}

fn add_pull_policy(inputs: &ContainerInputs<'_>, line: &mut AnnotatedCommandLine) {
    const ATTRIBUTE: &str = "DockerPullPolicy";
    match inputs.job_string(ATTRIBUTE).filter(|policy| !policy.is_empty()) {
        Some(policy) if policy.eq_ignore_ascii_case(b"always") => line.add(["--pull", "always"], ATTRIBUTE),
        Some(policy) => {
            let why = format!("'{policy}' is not valid: only 'always' is");
            inputs.add_job_remark(format!("{ATTRIBUTE}: {why}; an image is pulled if it is missing"));
            line.add_unused(ATTRIBUTE, why);
        }
        None => line.add_unused(ATTRIBUTE, "the job has none"),
    }
}

fn add_extra_arguments(
    inputs: &ContainerInputs<'_>,
    line: &mut AnnotatedCommandLine,
) -> Result<(), StartFailure> {
    const PARAMETER: &str = "DOCKER_EXTRA_ARGUMENTS";
    let Some(setting) = inputs.parameters().setting(PARAMETER) else {
        line.add_unused(PARAMETER, "is not set");
        return Ok(());
    };
    let words = arguments::parse_v1_raw_or_v2_quoted(&setting.value).map_err(|error| {
        StartFailure::silent(format!("docker: failed to parse extra arguments: {error}"))
            .with_origin(Some(&setting.origin))
    })?;
    line.add(words, PARAMETER);
    Ok(())
}
