//! Whether a job is to run in a container or under java, by its ad or by the configuration.
//!
//! Reference: the choice of the process class in `Starter::SpawnJob` of `starter.cpp`, and `Singularity::job_enabled` of
//! `singularity.cpp`. These jobs are refused: better not at all than outside of what they were to be confined to.

use bstr::ByteSlice;

use super::ending::is_true;
use super::environment::Publication;
use super::failure::StartFailure;
use super::not_done;
use crate::classad::{Context, Expr};
use crate::honoured;
use crate::job::attr;

/// Why a job cannot be run here, in words for a message; nothing for a plain process.
///
/// # Errors
/// A knob of the configuration that gives no truth value, in the reference's words.
pub(super) fn wanted(about: &Publication<'_>) -> Result<Option<String>, StartFailure> {
    let (ad, settings) = (about.ad, about.settings);
    if Context::new(about.world).my(ad).int(attr::JOB_UNIVERSE) == Some(10) {
        return Ok(Some(
            "JobUniverse 10 is not done here: the starter of a pool would run the job under java".into(),
        ));
    }
    if let Some(told) = not_done::refused(ad, about.world) {
        return Ok(Some(told));
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
        return Ok(Some(of_knob("USE_DEFAULT_CONTAINER")));
    }
    // Asked after event 001 only (recording c20 010).
    let singularity = truth("SINGULARITY_JOB", settings.singularity_job.as_ref());
    match singularity.map_err(StartFailure::after_event)? {
        true => Ok(Some(of_knob("SINGULARITY_JOB"))),
        false => Ok(None),
    }
}

fn of_knob(name: &str) -> String {
    honoured::parameter(name.as_bytes()).map_or_else(|| name.to_owned(), |row| row.told(name))
}

/// What `param_boolean` ends a daemon with.
pub(super) fn no_truth_value(knob: &str, text: &[u8]) -> StartFailure {
    StartFailure::exception(format!(
        "{knob} in the condor configuration  is not a valid boolean (\"{}\").  Please set it to True or False \
             (default is False)",
        text.as_bstr()
    ))
}
