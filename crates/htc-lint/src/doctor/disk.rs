//! STARTD_ENFORCE_DISK_LIMITS: support for limits on job directories. Without such support they are only
//! monitored.

use super::check::DoctorCheck;
use super::doctor_input::DoctorInput;
use htc_os::mounts;
use htc_runner::starter::check_volume_support;
use htc_starter::logical_volume::VolumeParameters;

const LIMIT_PARAMETER: &str = "STARTD_ENFORCE_DISK_LIMITS";

/// Checks if a starter can limit the directories of jobs, if that is configured.
pub(super) fn check_disk_limits(input: &DoctorInput<'_>) -> Option<DoctorCheck> {
    let view = input.config.view(input.world);
    let setting = view.boolean(LIMIT_PARAMETER).ok().flatten().filter(|setting| setting.value)?;
    let parameters = match VolumeParameters::read(&view) {
        Ok(parameters) => parameters,
        Err(error) => return Some(DoctorCheck::failed("disk", error.to_string(), "correct its value")),
    };
    let can_limit = input.world.effective_uid() == 0 && mounts::can_mount();
    let (reason, todo) = match (can_limit, check_volume_support(parameters.as_ref()), &parameters) {
        (true, Ok(()), Some(parameters)) => {
            return Some(DoctorCheck::passed(
                "disk",
                format!("scratch directories are logical volumes of {}", parameters.description()),
            ));
        }
        (true, Ok(()), None) => {
            return Some(DoctorCheck::passed("disk", "scratch directories are file systems of limited size"));
        }
        (false, ..) => {
            let todo = "run the program as root with CAP_SYS_ADMIN, or remove the setting";
            ("nothing can be mounted here".to_owned(), todo.to_owned())
        }
        (true, Err(reason), Some(parameters)) => {
            (reason, format!("create {}, or name another one", parameters.description()))
        }
        (true, Err(reason), None) => (reason, "install it, or remove the setting".to_owned()),
    };
    let setting = setting.origin.describe();
    let found = format!(
        "{LIMIT_PARAMETER} ({setting}): the size of scratch directories is only monitored, not limited: {reason}"
    );
    Some(DoctorCheck::noted("disk", found, todo))
}
