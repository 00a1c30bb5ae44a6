//! Choice of the container runtime of a job, according to its ad and the configuration.
//!
//! Reference: `Starter::SpawnJob` of `starter.cpp`, `Singularity::job_enabled` of `singularity.cpp`.

use super::inputs::ContainerInputs;
use super::plan::{ContainerRuntime, UnusedContainerSetting};
use crate::expression::describe_setting;
use crate::start_failure::StartFailure;
use crate::unsupported;
use htc_base::job::{Universe, attr};
use htc_classad::ClassAd;

/// Runtime that was chosen for a job, with the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeChoice {
    /// Runtime in which the job runs.
    pub runtime: ContainerRuntime,
    /// Attribute or parameter that determined the choice.
    pub reason: String,
    /// Attributes that the configuration adds to the job (USE_DEFAULT_CONTAINER).
    pub job_attributes: ClassAd,
    /// Attributes and parameters that were read but had no effect.
    pub unused: Vec<UnusedContainerSetting>,
}

impl RuntimeChoice {
    fn add_unused(&mut self, name: &'static str, why: impl Into<std::borrow::Cow<'static, str>>) {
        self.unused.push(UnusedContainerSetting { name: name.into(), why: why.into() });
    }

    fn with_runtime(mut self, runtime: ContainerRuntime, because: impl Into<String>) -> Self {
        self.runtime = runtime;
        self.reason = because.into();
        self
    }
}

/// Chooses the runtime of a job and reports attributes and parameters without effect.
///
/// # Errors
/// Returns an error, in the reference's words, if a parameter is not a boolean. SINGULARITY_JOB is read only
/// after event 001.
pub fn choose_runtime(inputs: &ContainerInputs<'_>) -> Result<RuntimeChoice, StartFailure> {
    let mut choice = RuntimeChoice {
        runtime: ContainerRuntime::Plain,
        reason: "the job does not request one".to_owned(),
        job_attributes: ClassAd::new(),
        unused: Vec::new(),
    };
    if let Some(message) = unsupported::refused_request(inputs.job_inputs.ad, inputs.job_inputs.world) {
        return Err(StartFailure::new(message, 0, 0));
    }
    let is_requested = |name: &str| inputs.job_boolean(name);
    let has_docker = inputs.machine().boolean("HasDocker").unwrap_or(false);
    let is_java = inputs.job().int(attr::JOB_UNIVERSE) == Some(Universe::Java.number());
    // Java jobs never run in docker, and a default container of the configuration does not apply to them
    // (`Starter::SpawnJob`).
    if is_java {
        choice.add_unused("WantDocker", "JobUniverse 10: docker does not run java jobs");
    } else if is_requested("WantDocker") {
        return Ok(choice.with_runtime(ContainerRuntime::Docker, "WantDocker"));
    }
    if !is_java && is_requested("WantContainer") && is_requested("WantDockerImage") {
        if has_docker {
            let because = "WantContainer and WantDockerImage, and the slot has HasDocker";
            return Ok(choice.with_runtime(ContainerRuntime::Docker, because));
        }
        choice.add_unused("HasDocker", "the slot does not have it: docker does not run the image");
    }
    if is_java {
        choice.add_unused(
            "USE_DEFAULT_CONTAINER",
            "JobUniverse 10: this parameter applies to vanilla jobs only",
        );
    } else if is_requested("WantContainer") {
        choice.add_unused("USE_DEFAULT_CONTAINER", "WantContainer: the job requests a container itself");
    } else if let Some(runtime) = default_runtime(inputs, has_docker, &mut choice)? {
        return Ok(choice.with_runtime(runtime, "USE_DEFAULT_CONTAINER with DEFAULT_CONTAINER_IMAGE"));
    }
    // 25.14 reads SINGULARITY_USE_LAUNCHER for every job that does not run in docker.
    inputs.plain_boolean_parameter("SINGULARITY_USE_LAUNCHER").map_err(StartFailure::after_event)?;
    for name in ["WantSIF", "WantSandboxImage", "WantDockerImage"] {
        if is_requested(name) {
            return Ok(choice.with_runtime(ContainerRuntime::Singularity, name));
        }
    }
    let singularity =
        inputs.boolean_parameter("SINGULARITY_JOB", false).map_err(StartFailure::after_event)?;
    if singularity {
        return Ok(choice.with_runtime(ContainerRuntime::Singularity, "SINGULARITY_JOB"));
    }
    choice.add_unused("SINGULARITY_JOB", "is not true for this job");
    if is_requested("WantContainer") {
        let why = "it does not select a runtime: also set WantSIF, WantSandboxImage or WantDockerImage";
        inputs.add_job_remark(format!(
            "WantContainer: {why}: the job runs outside of a container, as in a pool"
        ));
        choice.add_unused("WantContainer", why);
    }
    Ok(choice)
}

/// Parameter with the image for jobs that do not name an image.
const DEFAULT_IMAGE_PARAMETER: &str = "DEFAULT_CONTAINER_IMAGE";

/// Returns the runtime that the configuration chooses for a job that does not ask for a runtime.
fn default_runtime(
    inputs: &ContainerInputs<'_>,
    has_docker: bool,
    choice: &mut RuntimeChoice,
) -> Result<Option<ContainerRuntime>, StartFailure> {
    if !inputs.boolean_parameter("USE_DEFAULT_CONTAINER", false)? {
        choice.add_unused("USE_DEFAULT_CONTAINER", "is not true for this job");
        return Ok(None);
    }
    let Some(image) = inputs.string_parameter(DEFAULT_IMAGE_PARAMETER, "the job runs outside of a container")
    else {
        let unset = inputs.parameters().setting(DEFAULT_IMAGE_PARAMETER).is_none();
        if let (true, Some(asking)) = (unset, inputs.parameters().setting("USE_DEFAULT_CONTAINER")) {
            let asking = describe_setting("USE_DEFAULT_CONTAINER", asking);
            inputs.add_setting_remark(
                DEFAULT_IMAGE_PARAMETER,
                format!(
                    "{asking}, and {DEFAULT_IMAGE_PARAMETER} is not set: the job runs outside of a container"
                ),
            );
        }
        choice.add_unused(DEFAULT_IMAGE_PARAMETER, "is not a string");
        return Ok(None);
    };
    let job_attributes = &mut choice.job_attributes;
    if image.starts_with(b"docker:") && has_docker {
        job_attributes.set("DockerImage", image);
        job_attributes.set("WantDockerImage", true);
        return Ok(Some(ContainerRuntime::Docker));
    }
    job_attributes.set(if image.ends_with(b".sif") { "WantSIF" } else { "WantSandboxImage" }, true);
    job_attributes.set("ContainerImage", image);
    Ok(Some(ContainerRuntime::Singularity))
}
