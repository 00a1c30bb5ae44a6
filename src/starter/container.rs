//! Whether a job is to run in a container or under java, by its ad or by the configuration.
//!
//! Reference: the choice of the process class in `Starter::SpawnJob` of `starter.cpp`, and `Singularity::job_enabled` of
//! `singularity.cpp`. These jobs are refused: better not at all than outside of what they were to be confined to.

use bstr::ByteSlice;

use super::ending::is_true;
use super::environment::Publication;
use super::failure::StartFailure;
use crate::classad::{Context, Expr};
use crate::job::attr;

/// What a job is to run in, in words for a message; nothing for a plain process.
///
/// # Errors
/// A knob of the configuration that gives no truth value, in the reference's words.
pub(super) fn wanted(about: &Publication<'_>) -> Result<Option<&'static str>, StartFailure> {
    let (ad, settings) = (about.ad, about.settings);
    let context = || Context::new(about.world).my(ad);
    let wants = |name: &str| context().boolean(name).unwrap_or(false);
    if context().int(attr::JOB_UNIVERSE) == Some(10) {
        return Ok(Some("JobUniverse 10: java jobs"));
    }
    if wants("WantDocker") {
        return Ok(Some("WantDocker: jobs in docker containers"));
    }
    for name in ["WantSIF", "WantSandboxImage", "WantDockerImage", "WantContainer"] {
        if wants(name) {
            return Ok(Some("WantContainer: jobs in containers"));
        }
    }
    let truth = |knob: &str, expression: Option<&bstr::BString>| match expression {
        Some(text) if !text.trim().is_empty() => {
            is_true(text, about.machine, ad, about.world).ok_or_else(|| no_truth_value(knob, text))
        }
        _ => Ok(false),
    };
    if truth("USE_DEFAULT_CONTAINER", settings.use_default_container.as_ref())?
        && let Some(image) = &settings.default_container_image
        && let Ok(image) = Expr::parse(image)
        && Context::new(about.world).my(about.machine).target(ad).eval(&image).as_str().is_some()
    {
        return Ok(Some("USE_DEFAULT_CONTAINER with DEFAULT_CONTAINER_IMAGE: jobs in containers"));
    }
    // Asked after event 001 only (recording c20 010).
    let singularity = truth("SINGULARITY_JOB", settings.singularity_job.as_ref());
    match singularity.map_err(StartFailure::after_event)? {
        true => Ok(Some("SINGULARITY_JOB: jobs in containers")),
        false => Ok(None),
    }
}

/// What `param_boolean` ends a daemon with.
pub(super) fn no_truth_value(knob: &str, text: &[u8]) -> StartFailure {
    StartFailure::exception(format!(
        "{knob} in the condor configuration  is not a valid boolean (\"{}\").  Please set it to True or False \
             (default is False)",
        text.as_bstr()
    ))
}
