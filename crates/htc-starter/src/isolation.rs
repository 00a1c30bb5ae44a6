//! Isolation of a job's process: namespaces, a tracking group, and the methods by which its process family is
//! recognized.
//!
//! Reference: `VanillaProc::StartJob` of `vanilla_proc.cpp`, `ProcFamilyProxy::start_procd` of
//! `proc_family_proxy.cpp`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::environment::EnvironmentInputs;
use super::start_failure::StartFailure;
use htc_base::process::Namespaces;
use htc_base::quirks::{Quirk, QuirkMode};

/// Name of the program in LIBEXEC that runs as the first process of a PID namespace.
pub const INIT_PROGRAM: &str = "condor_pid_ns_init";

/// Isolation of a job's process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessIsolation {
    /// Namespaces of the process.
    pub namespaces: Namespaces,
    /// File in which the first process of the PID namespace records the job's exit; `None` if the job itself
    /// is the first process.
    pub status_file: Option<PathBuf>,
    /// Link to this program to create, through which this program acts as the first process; `None` if LIBEXEC has the
    /// init program.
    pub init_link: Option<PathBuf>,
    /// Range of group IDs, one of which is assigned to this job only.
    pub tracking: Option<RangeInclusive<u32>>,
}

/// Methods to recognize the processes of a job, the most reliable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyTracking {
    /// The processes are in a control group.
    Cgroup,
    /// The processes are in a PID namespace, and all of them end with it.
    PidNamespace,
    /// The processes have a supplementary group.
    TrackingGroup,
    /// The processes descend from the job, belong to its session or process group, or have a variable in their
    /// environment that marks them.
    ProcessMarks,
}

impl FamilyTracking {
    /// Returns a description of the method, which mentions processes that it may miss.
    pub fn description(self) -> &'static str {
        match self {
            FamilyTracking::Cgroup => "a control group",
            FamilyTracking::PidNamespace => "a PID namespace",
            FamilyTracking::TrackingGroup => "the job's own group (USE_GID_PROCESS_TRACKING)",
            FamilyTracking::ProcessMarks => {
                "parents, session and environment: a process that leaves its session and clears its environment may be missed"
            }
        }
    }
}

impl ProcessIsolation {
    /// Returns the method by which the family is recognized. `grouped` is true if there is a control group.
    pub fn family_tracking(&self, grouped: bool) -> FamilyTracking {
        match () {
            () if grouped => FamilyTracking::Cgroup,
            () if self.namespaces.private_pids => FamilyTracking::PidNamespace,
            () if self.tracking.is_some() => FamilyTracking::TrackingGroup,
            () => FamilyTracking::ProcessMarks,
        }
    }
}

/// Notice about isolation: a subject, which is reported once for all jobs of a slot runner, and a message.
type IsolationNotice = (&'static str, String);

/// Plans the isolation of a job, and returns it with notices for the user. `contained` is true if a container runtime
/// creates namespaces for the job.
///
/// # Errors
/// Returns an error if tracking groups are configured but no group can be used. If it does not run as root, 25.14 fails
/// for any range of groups.
pub(super) fn plan_isolation(
    inputs: &EnvironmentInputs<'_>,
    contained: bool,
    can_mount: bool,
) -> Result<(ProcessIsolation, Vec<IsolationNotice>), StartFailure> {
    let parameters = &inputs.settings.isolation;
    let root = inputs.world.effective_uid() == 0;
    let mut notices = Vec::new();
    let mut made = ProcessIsolation::default();
    made.namespaces.no_network = parameters.no_network;
    if parameters.tracking.is_some() && !root {
        let text = "USE_GID_PROCESS_TRACKING enabled, but can't modify the group list of our children unless running as root";
        if inputs.quirks.reproduces(Quirk::TrackingWithoutRootFails) {
            return Err(StartFailure::exception(text));
        }
        notices.push(("tracking-group", format!("{text}: the job does not have its own group")));
    } else {
        made.tracking = parameters.tracking_gids()?;
    }
    if !parameters.processes || contained {
        return Ok((made, notices));
    }
    let missing = match () {
        () if !root => Some("only root can create them"),
        () if !parameters.mounts => Some("PER_JOB_NAMESPACES is false"),
        () if !can_mount => Some("nothing can be mounted here"),
        () => None,
    };
    if let Some(why) = missing {
        notices.push(("pid-namespace", format!("the job has no PID namespace (USE_PID_NAMESPACES): {why}")));
        return Ok((made, notices));
    }
    made.namespaces.private_pids = true;
    if parameters.init {
        made.status_file = Some(inputs.scratch.join(".condor_pid_ns_status"));
    }
    Ok((made, notices))
}

/// Returns the failure of 25.14 for NO_JOB_NETWORKING without a PID namespace: 25.14 writes to a pipe that it has not
/// created, loses the job, and exits.
pub(super) fn network_quirk_failure(made: &ProcessIsolation, quirks: QuirkMode) -> Option<StartFailure> {
    let lost = made.namespaces.no_network && !made.namespaces.private_pids;
    (lost && quirks.reproduces(Quirk::NoJobNetworkingFails))
        .then(|| StartFailure::exception("Unable to write into pipe.").after_event())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_reliable_tracking_method_is_used() {
        let mut made = ProcessIsolation::default();
        assert_eq!(made.family_tracking(false), FamilyTracking::ProcessMarks);
        made.tracking = Some(1..=2);
        assert_eq!(made.family_tracking(false), FamilyTracking::TrackingGroup);
        made.namespaces.private_pids = true;
        assert_eq!(made.family_tracking(false), FamilyTracking::PidNamespace);
        assert_eq!(made.family_tracking(true), FamilyTracking::Cgroup);
        assert!(FamilyTracking::ProcessMarks.description().contains("may be missed"));
    }
}
