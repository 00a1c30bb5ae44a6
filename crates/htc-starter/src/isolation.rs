//! What a job's process does not share with the machine, its namespaces and a group of its own, and what its family is known by.
//!
//! Reference: `VanillaProc::StartJob` of `vanilla_proc.cpp`, `ProcFamilyProxy::start_procd` of `proc_family_proxy.cpp`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::environment::Publication;
use super::failure::StartFailure;
use htc_base::process::Namespaces;
use htc_base::quirks::{Quirk, Quirks};

/// The program that is the first process of a PID namespace, by its name in LIBEXEC.
pub const INIT: &str = "condor_pid_ns_init";

/// What a job's process has for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
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
pub enum KnownBy {
    /// A control group.
    Group,
    /// A PID namespace, with which all of them end.
    Namespace,
    /// A supplementary group.
    TrackingGroup,
    /// Being below the job, its session, its group, and a variable of the environment.
    Marks,
}

impl KnownBy {
    /// In words; what may be missed is said.
    pub fn line(self) -> &'static str {
        match self {
            KnownBy::Group => "a control group",
            KnownBy::Namespace => "a PID namespace",
            KnownBy::TrackingGroup => "a group of the job's own (USE_GID_PROCESS_TRACKING)",
            KnownBy::Marks => {
                "parents, session and environment: one that leaves its session and clears its environment is possibly missed"
            }
        }
    }
}

impl Isolation {
    /// What the family is known by; `grouped`: whether there is a control group.
    pub fn known_by(&self, grouped: bool) -> KnownBy {
        match () {
            () if grouped => KnownBy::Group,
            () if self.namespaces.processes => KnownBy::Namespace,
            () if self.tracking.is_some() => KnownBy::TrackingGroup,
            () => KnownBy::Marks,
        }
    }
}

/// A subject, told once for all jobs of a slot runner, and the line.
type Notice = (&'static str, String);

/// What is planned for a job, and what a user should know. `contained`: a runtime makes namespaces for it.
///
/// # Errors
/// Groups that cannot be, and without root any at all in 25.14.
pub(super) fn plan(
    about: &Publication<'_>,
    contained: bool,
    can_mount: bool,
) -> Result<(Isolation, Vec<Notice>), StartFailure> {
    let knobs = &about.settings.isolation;
    let root = about.world.effective_uid() == 0;
    let mut told = Vec::new();
    let mut made = Isolation::default();
    made.namespaces.network = knobs.no_network;
    if knobs.tracking.is_some() && !root {
        let text = "USE_GID_PROCESS_TRACKING enabled, but can't modify the group list of our children unless running as root";
        if about.quirks.has(Quirk::TrackingWithoutRootFails) {
            return Err(StartFailure::exception(text));
        }
        told.push(("tracking-group", format!("{text}: the job has no group of its own")));
    } else {
        made.tracking = knobs.groups()?;
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
    made.namespaces.processes = true;
    if knobs.init {
        made.status_file = Some(about.scratch.join(".condor_pid_ns_status"));
    }
    Ok((made, told))
}

/// What 25.14 makes of NO_JOB_NETWORKING without a PID namespace: it writes into a pipe that it has not made, loses the job, and ends.
pub(super) fn network_fault(made: &Isolation, quirks: Quirks) -> Option<StartFailure> {
    let lost = made.namespaces.network && !made.namespaces.processes;
    (lost && quirks.has(Quirk::NoJobNetworkingFails))
        .then(|| StartFailure::exception("Unable to write into pipe.").after_event())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_known_by_the_surest_thing_there_is() {
        let mut made = Isolation::default();
        assert_eq!(made.known_by(false), KnownBy::Marks);
        made.tracking = Some(1..=2);
        assert_eq!(made.known_by(false), KnownBy::TrackingGroup);
        made.namespaces.processes = true;
        assert_eq!(made.known_by(false), KnownBy::Namespace);
        assert_eq!(made.known_by(true), KnownBy::Group);
        assert!(KnownBy::Marks.line().contains("possibly missed"));
    }
}
