//! STARTD_ENFORCE_DISK_LIMITS: what limits the directories of jobs, which are only watched where nothing does.

use super::check::Check;
use super::patient::Patient;
use htc_os::mounts;
use htc_runner::starter::look_for_volumes;
use htc_starter::logical_volume::VolumeKnobs;

const KNOB: &str = "STARTD_ENFORCE_DISK_LIMITS";

/// Where jobs' directories are to be limited: whether a starter can do that.
pub(super) fn disk(patient: &Patient<'_>) -> Option<Check> {
    let view = patient.config.view(patient.world);
    let asked = view.boolean(KNOB).ok().flatten().filter(|asked| asked.value)?;
    let knobs = match VolumeKnobs::read(&view) {
        Ok(knobs) => knobs,
        Err(error) => return Some(Check::fails("disk", error.to_string(), "correct its value")),
    };
    let may = patient.world.effective_uid() == 0 && mounts::may_mount();
    let (why, todo) = match (may, look_for_volumes(knobs.as_ref()), &knobs) {
        (true, Ok(()), Some(knobs)) => {
            return Some(Check::good("disk", format!("directories of jobs are volumes of {}", knobs.told())));
        }
        (true, Ok(()), None) => {
            return Some(Check::good("disk", "directories of jobs are file systems of their size"));
        }
        (false, ..) => {
            let todo = "call it as root with CAP_SYS_ADMIN, or take it out";
            ("nothing can be mounted here".to_owned(), todo.to_owned())
        }
        (true, Err(why), Some(knobs)) => (why, format!("make {}, or name another", knobs.told())),
        (true, Err(why), None) => (why, "install it, or take it out".to_owned()),
    };
    let asked = asked.origin.told();
    let found = format!("{KNOB} ({asked}): directories of jobs are watched only, not limited: {why}");
    Some(Check::note("disk", found, todo))
}
