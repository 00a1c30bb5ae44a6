//! Environment of Singularity and Apptainer: the variables that are removed or added, and the names that pass variables
//! into the container.
//!
//! Reference: `Singularity::cleanEnvironment`, `retargetEnvs` and `convertEnv` of `singularity.cpp`.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice};

use super::inputs::ContainerInputs;
use super::version::RuntimeVersion;
use htc_base::quirks::Quirk;
use htc_base::text::environment::Environment;
use htc_base::text::list;

/// Variables of the runtime that a job may set, so that it can pull its own image.
const ALLOWED_VARIABLES: [&str; 4] = [
    "APPTAINER_DOCKER_USERNAME",
    "APPTAINER_DOCKER_PASSWORD",
    "SINGULARITY_DOCKER_USERNAME",
    "SINGULARITY_DOCKER_PASSWORD",
];

/// Removes HOME, which the runtime refuses, and all variables through which a job could change its own container.
pub(super) fn remove_forbidden_variables(inputs: &ContainerInputs<'_>, environment: &mut Environment) {
    environment.remove("HOME");
    let mut allowed: BTreeSet<BString> = ALLOWED_VARIABLES.iter().map(|name| BString::from(*name)).collect();
    let more = inputs.parameters().text("SINGULARITY_ALLOWED_JOB_ENV_VARS");
    allowed.extend(more.into_iter().flat_map(|names| list::split(names)).map(BString::from));
    let of_runtime = |name: &&BString| name.starts_with(b"APPTAINER_") || name.starts_with(b"SINGULARITY_");
    let set: Vec<BString> = environment.iter().map(|(name, _)| name).filter(of_runtime).cloned().collect();
    for name in set.iter().filter(|name| !allowed.contains(*name)) {
        environment.remove(name);
    }
}

/// Rewrites values that contain the path of the slot's directory, for use inside the container. The values outside the
/// container are unchanged.
pub(super) fn retarget_scratch_paths(
    inputs: &ContainerInputs<'_>,
    version: &RuntimeVersion,
    target: &[u8],
    environment: &mut Environment,
) {
    let (slot, scratch) = (inputs.slot_directory(), inputs.scratch());
    let elsewhere = inputs.job_inputs.job.iwd.as_bstr() != scratch;
    let mut outside = environment.get("_CONDOR_SCRATCH_DIR").cloned().unwrap_or_default();
    if elsewhere {
        // Like `replace_str`, replaces every occurrence.
        let inside = scratch.replace(slot, "/condor_scratch");
        environment.set("_CONDOR_SCRATCH_DIR", inside.clone());
        if inputs.job_inputs.quirks.reproduces(Quirk::OutsideScratchInside) {
            outside = inside.into();
        }
    }
    let entries: Vec<(BString, BString)> =
        environment.iter().map(|(name, value)| (name.clone(), value.into())).collect();
    for (name, value) in entries {
        if let Some(at) = value.find(slot) {
            let moved = [&value[..at], target, &value[at + slot.len()..]].concat();
            environment.set([version.variable_prefix().as_bytes(), name.as_slice()].concat(), moved);
        }
    }
    environment.set("_CONDOR_SCRATCH_DIR_OUTSIDE_CONTAINER", outside);
}

/// Sets the runtime's own variables, and repeats every variable under the name that passes it into the
/// container.
pub(super) fn convert_for_runtime(
    inputs: &ContainerInputs<'_>,
    version: &RuntimeVersion,
    environment: &mut Environment,
) {
    let scratch = inputs.scratch();
    for directory in ["CACHEDIR", "TMPDIR"] {
        environment.set(format!("{}_{directory}", version.product_name()), scratch);
    }
    let prefix = version.variable_prefix();
    let plain = |(name, _): &(&BString, &[u8])| !name.starts_with(prefix.as_bytes());
    let entries: Vec<(BString, BString)> =
        environment.iter().filter(plain).map(|(name, value)| (name.clone(), value.into())).collect();
    for (name, value) in entries {
        let inside = [prefix.as_bytes(), name.as_slice()].concat();
        if !environment.contains(&inside) {
            environment.set(inside, value);
        }
    }
    let slot = inputs.machine().string("Name").unwrap_or_default();
    environment.set(format!("{prefix}PS1"), [slot.as_slice(), b"$ "].concat());
}
