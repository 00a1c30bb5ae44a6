//! What a job's process does not share with the machine, its namespaces and a group of its own, and what its family is known by.
//!
//! Reference: `VanillaProc::StartJob` of `vanilla_proc.cpp`, `ProcFamilyProxy::start_procd` of `proc_family_proxy.cpp`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::environment::EnvironmentInputs;
use super::start_failure::StartFailure;
use htc_base::process::Namespaces;
use htc_base::quirks::{Quirk, QuirkMode};

/// The program that is the first process of a PID namespace, by its name in LIBEXEC.
pub const INIT_PROGRAM: &str = "condor_pid_ns_init";

/// What a job's process has for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessIsolation {
    /// Its namespaces.
    pub namespaces: Namespaces,
    /// Where the first process of its PID namespace writes how the job ended; `None` where the job is that itself.
    pub status_file: Option<PathBuf>,
    /// A link to our own program, to be made there, by which it is that first process; `None` where LIBEXEC has one.
    pub init_link: Option<PathBuf>,
    /// One of these groups is to be its own.
    pub tracking: Option<RangeInclusive<u32>>,
}

/// What the processes of a job are known by, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyTracking {
    /// A control group.
    Cgroup,
    /// A PID namespace, with which all of them end.
    PidNamespace,
    /// A supplementary group.
    TrackingGroup,
    /// Being below the job, its session, its group, and a variable of the environment.
    ProcessMarks,
}

impl FamilyTracking {
    /// In words; what may be missed is said.
    pub fn description(self) -> &'static str {
        match self {
            FamilyTracking::Cgroup => "a control group",
            FamilyTracking::PidNamespace => "a PID namespace",
            FamilyTracking::TrackingGroup => "a group of the job's own (USE_GID_PROCESS_TRACKING)",
            FamilyTracking::ProcessMarks => {
                "parents, session and environment: one that leaves its session and clears its environment is possibly missed"
            }
        }
    }
}

impl ProcessIsolation {
    /// What the family is known by; `grouped`: whether there is a control group.
    pub fn family_tracking(&self, grouped: bool) -> FamilyTracking {
        match () {
            () if grouped => FamilyTracking::Cgroup,
            () if self.namespaces.private_pids => FamilyTracking::PidNamespace,
            () if self.tracking.is_some() => FamilyTracking::TrackingGroup,
            () => FamilyTracking::ProcessMarks,
        }
    }
}

/// A subject, told once for all jobs of a slot runner, and the line.
type IsolationNotice = (&'static str, String);

/// What is planned for a job, and what a user should know. `contained`: a runtime makes namespaces for it.
///
/// # Errors
/// Groups that cannot be, and without root any at all in 25.14.
pub(super) fn plan_isolation(
    about: &EnvironmentInputs<'_>,
    contained: bool,
    can_mount: bool,
) -> Result<(ProcessIsolation, Vec<IsolationNotice>), StartFailure> {
    let knobs = &about.settings.isolation;
    let root = about.world.effective_uid() == 0;
    let mut told = Vec::new();
    let mut made = ProcessIsolation::default();
    made.namespaces.no_network = knobs.no_network;
    if knobs.tracking.is_some() && !root {
        let text = "USE_GID_PROCESS_TRACKING enabled, but can't modify the group list of our children unless running as root";
        if about.quirks.reproduces(Quirk::TrackingWithoutRootFails) {
            return Err(StartFailure::exception(text));
        }
        told.push(("tracking-group", format!("{text}: the job has no group of its own")));
    } else {
        made.tracking = knobs.tracking_gids()?;
    }
    if !knobs.processes || contained {
        return Ok((made, told));
    }
    let missing = match () {
        () if !root => Some("only root makes them"),
        () if !knobs.mounts => Some("PER_JOB_NAMESPACES is false"),
        () if !can_mount => Some("nothing can be mounted here"),
        () => None,
    };
    if let Some(why) = missing {
        told.push(("pid-namespace", format!("the job has no PID namespace (USE_PID_NAMESPACES): {why}")));
        return Ok((made, told));
    }
    made.namespaces.private_pids = true;
    if knobs.init {
        made.status_file = Some(about.scratch.join(".condor_pid_ns_status"));
    }
    Ok((made, told))
}

/// What 25.14 makes of NO_JOB_NETWORKING without a PID namespace: it writes into a pipe that it has not made, loses the job, and ends.
pub(super) fn network_quirk_failure(made: &ProcessIsolation, quirks: QuirkMode) -> Option<StartFailure> {
    let lost = made.namespaces.no_network && !made.namespaces.private_pids;
    (lost && quirks.reproduces(Quirk::NoJobNetworkingFails))
        .then(|| StartFailure::exception("Unable to write into pipe.").after_event())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_known_by_the_surest_thing_there_is() {
        let mut made = ProcessIsolation::default();
        assert_eq!(made.family_tracking(false), FamilyTracking::ProcessMarks);
        made.tracking = Some(1..=2);
        assert_eq!(made.family_tracking(false), FamilyTracking::TrackingGroup);
        made.namespaces.private_pids = true;
        assert_eq!(made.family_tracking(false), FamilyTracking::PidNamespace);
        assert_eq!(made.family_tracking(true), FamilyTracking::Cgroup);
        assert!(FamilyTracking::ProcessMarks.description().contains("possibly missed"));
    }
}
