//! STARTD_ENFORCE_DISK_LIMITS: support for limits on job directories. Without such support they are only
//! monitored.

use super::check::DoctorCheck;
use super::doctor_input::DoctorInput;
use htc_os::mounts;
use htc_runner::starter::check_volume_support;
use htc_starter::logical_volume::VolumeParameters;

const LIMIT_PARAMETER: &str = "STARTD_ENFORCE_DISK_LIMITS";

/// Checks if a starter can limit the directories of jobs, if that is configured.
pub(super) fn check_disk_limits(patient: &DoctorInput<'_>) -> Option<DoctorCheck> {
    let view = patient.config.view(patient.world);
    let asked = view.boolean(LIMIT_PARAMETER).ok().flatten().filter(|asked| asked.value)?;
    let knobs = match VolumeParameters::read(&view) {
        Ok(knobs) => knobs,
        Err(error) => return Some(DoctorCheck::failed("disk", error.to_string(), "correct its value")),
    };
    let may = patient.world.effective_uid() == 0 && mounts::can_mount();
    let (why, todo) = match (may, check_volume_support(knobs.as_ref()), &knobs) {
        (true, Ok(()), Some(knobs)) => {
            return Some(DoctorCheck::passed(
                "disk",
                format!("scratch directories are logical volumes of {}", knobs.description()),
            ));
        }
        (true, Ok(()), None) => {
            return Some(DoctorCheck::passed("disk", "scratch directories are file systems of limited size"));
        }
        (false, ..) => {
            let todo = "run the program as root with CAP_SYS_ADMIN, or remove the setting";
            ("nothing can be mounted here".to_owned(), todo.to_owned())
        }
        (true, Err(why), Some(knobs)) => {
            (why, format!("create {}, or name another one", knobs.description()))
        }
        (true, Err(why), None) => (why, "install it, or remove the setting".to_owned()),
    };
    let asked = asked.origin.describe();
    let found = format!(
        "{LIMIT_PARAMETER} ({asked}): the size of scratch directories is only monitored, not limited: {why}"
    );
    Some(DoctorCheck::noted("disk", found, todo))
}
