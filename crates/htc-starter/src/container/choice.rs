//! Which runtime a job gets, by its ad or by the configuration.
//!
//! Reference: `Starter::SpawnJob` of `starter.cpp`, `Singularity::job_enabled` of `singularity.cpp`.

use super::plan::{Passed, Runtime};
use super::surroundings::Inputs;
use crate::expression::shown;
use crate::failure::StartFailure;
use crate::not_done;
use htc_base::job::{Universe, attr};
use htc_classad::ClassAd;

/// A runtime, and how it was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The runtime.
    pub runtime: Runtime,
    /// What decided.
    pub because: String,
    /// Attributes that the configuration gives the job (USE_DEFAULT_CONTAINER).
    pub given: ClassAd,
    /// What was looked at and did not decide.
    pub passed: Vec<Passed>,
}

impl Choice {
    fn passed(&mut self, name: &'static str, why: impl Into<std::borrow::Cow<'static, str>>) {
        self.passed.push(Passed { name: name.into(), why: why.into() });
    }

    fn chosen(mut self, runtime: Runtime, because: impl Into<String>) -> Self {
        self.runtime = runtime;
        self.because = because.into();
        self
    }
}

/// Chooses.
///
/// # Errors
/// A knob that gives no truth value, in the reference's words; SINGULARITY_JOB is asked after event 001 only (recording
/// c20 010).
pub fn choose(inputs: &Inputs<'_>) -> Result<Choice, StartFailure> {
    let mut choice = Choice {
        runtime: Runtime::Plain,
        because: "the job asks for no container".to_owned(),
        given: ClassAd::new(),
        passed: Vec::new(),
    };
    if let Some(told) = not_done::refused(inputs.about.ad, inputs.about.world) {
        return Err(StartFailure::new(told, 0, 0));
    }
    let wants = |name: &str| inputs.job_truth(name);
    let has_docker = inputs.machine().boolean("HasDocker").unwrap_or(false);
    let is_java = inputs.job().int(attr::JOB_UNIVERSE) == Some(Universe::Java.number());
    // A java job is none for docker, nor does the configuration put it anywhere else (`Starter::SpawnJob`).
    if is_java {
        choice.passed("WantDocker", "JobUniverse 10: a java job is none for docker");
    } else if wants("WantDocker") {
        return Ok(choice.chosen(Runtime::Docker, "WantDocker"));
    }
    if !is_java && wants("WantContainer") && wants("WantDockerImage") {
        if has_docker {
            let because = "WantContainer and WantDockerImage, and the slot has HasDocker";
            return Ok(choice.chosen(Runtime::Docker, because));
        }
        choice.passed("HasDocker", "the slot does not have it: the image is none for docker");
    }
    if is_java {
        choice.passed("USE_DEFAULT_CONTAINER", "JobUniverse 10: it is for vanilla jobs");
    } else if wants("WantContainer") {
        choice.passed("USE_DEFAULT_CONTAINER", "WantContainer: the job has its own");
    } else if let Some(runtime) = default_container(inputs, has_docker, &mut choice)? {
        return Ok(choice.chosen(runtime, "USE_DEFAULT_CONTAINER with DEFAULT_CONTAINER_IMAGE"));
    }
    // Asked for every job that is no one of docker's.
    inputs.flag("SINGULARITY_USE_LAUNCHER").map_err(StartFailure::after_event)?;
    for name in ["WantSIF", "WantSandboxImage", "WantDockerImage"] {
        if wants(name) {
            return Ok(choice.chosen(Runtime::Singularity, name));
        }
    }
    let singularity = inputs.truth("SINGULARITY_JOB", false).map_err(StartFailure::after_event)?;
    if singularity {
        return Ok(choice.chosen(Runtime::Singularity, "SINGULARITY_JOB"));
    }
    choice.passed("SINGULARITY_JOB", "is not true for this job");
    if wants("WantContainer") {
        let why = "alone it chooses none: WantSIF, WantSandboxImage or WantDockerImage says what kind of image it is";
        inputs.remark_of_job(format!(
            "WantContainer: {why}: the job runs outside of a container, as in a pool"
        ));
        choice.passed("WantContainer", why);
    }
    Ok(choice)
}

/// The image of jobs that have none.
const IMAGE: &str = "DEFAULT_CONTAINER_IMAGE";

/// What the configuration puts a job into that asks for nothing.
fn default_container(
    inputs: &Inputs<'_>,
    has_docker: bool,
    choice: &mut Choice,
) -> Result<Option<Runtime>, StartFailure> {
    if !inputs.truth("USE_DEFAULT_CONTAINER", false)? {
        choice.passed("USE_DEFAULT_CONTAINER", "is not true for this job");
        return Ok(None);
    }
    let Some(image) = inputs.string(IMAGE, "the job is put into no container") else {
        let unset = inputs.knobs().setting(IMAGE).is_none();
        if let (true, Some(asking)) = (unset, inputs.knobs().setting("USE_DEFAULT_CONTAINER")) {
            let asking = shown("USE_DEFAULT_CONTAINER", asking);
            inputs
                .remark(IMAGE, format!("{asking}, and {IMAGE} is not set: the job is put into no container"));
        }
        choice.passed(IMAGE, "gives no string");
        return Ok(None);
    };
    let given = &mut choice.given;
    if image.starts_with(b"docker:") && has_docker {
        given.set("DockerImage", image);
        given.set("WantDockerImage", true);
        return Ok(Some(Runtime::Docker));
    }
    given.set(if image.ends_with(b".sif") { "WantSIF" } else { "WantSandboxImage" }, true);
    given.set("ContainerImage", image);
    Ok(Some(Runtime::Singularity))
}
