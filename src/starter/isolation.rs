//! What a job's process does not share with the machine, its namespaces and a group of its own, and what its family is known by.
//!
//! Reference: `VanillaProc::StartJob` of `vanilla_proc.cpp`, `ProcFamilyProxy::start_procd` of `proc_family_proxy.cpp`.

use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use super::action::JobProcess;
use super::environment::Publication;
use super::failure::StartFailure;
use super::process::instead;
use crate::config::{ValueError, View};
use crate::process::Namespaces;
use crate::quirks::{Quirk, Quirks};

/// The variable that names the file in which the first process of a PID namespace writes how the job ended.
const STATUS_FILE: &str = "_CONDOR_PID_NS_INIT_STATUS_FILENAME";

/// The program that is the first process of a PID namespace, by its name in LIBEXEC.
pub const INIT: &str = "condor_pid_ns_init";

/// The knobs about namespaces and tracking groups.
#[derive(Clone, Debug)]
pub struct IsolationKnobs {
    /// USE_PID_NAMESPACES.
    pub processes: bool,
    /// USE_PID_NAMESPACE_INIT: the job is not itself the first process of its namespace.
    pub init: bool,
    /// NO_JOB_NETWORKING.
    pub no_network: bool,
    /// PER_JOB_NAMESPACES: false keeps mounts in the machine's namespace, so that there can be none.
    pub mounts: bool,
    /// LIBEXEC.
    pub libexec: Option<BString>,
    /// USE_GID_PROCESS_TRACKING, with MIN_TRACKING_GID and MAX_TRACKING_GID.
    pub tracking: Option<(i64, i64)>,
}

impl Default for IsolationKnobs {
    /// The reference's defaults.
    fn default() -> Self {
        IsolationKnobs {
            processes: false,
            init: true,
            no_network: false,
            mounts: true,
            libexec: None,
            tracking: None,
        }
    }
}

impl IsolationKnobs {
    /// Reads all but the truth values, which end 25.14 at different times.
    ///
    /// # Errors
    /// A number that is none.
    pub fn read(view: &View<'_>, tracked: bool) -> Result<Self, ValueError> {
        let gid = |name: &str| -> Result<i64, ValueError> {
            Ok(view.int(name)?.map_or(0, |setting| setting.value))
        };
        let tracking = match tracked {
            true => Some((gid("MIN_TRACKING_GID")?, gid("MAX_TRACKING_GID")?)),
            false => None,
        };
        let libexec = view.string("LIBEXEC")?.map(|setting| setting.value);
        Ok(IsolationKnobs {
            libexec: libexec.filter(|path| !path.is_empty()),
            tracking,
            ..IsolationKnobs::default()
        })
    }

    /// The groups that jobs are tracked by.
    fn groups(&self) -> Result<Option<RangeInclusive<u32>>, StartFailure> {
        let Some((least, most)) = self.tracking else { return Ok(None) };
        let wrong = |text: String| Err(StartFailure::exception(text).after_event());
        for (name, value) in [("MIN_TRACKING_GID", least), ("MAX_TRACKING_GID", most)] {
            if value == 0 {
                return wrong(format!("USE_GID_PROCESS_TRACKING enabled, but {name} is 0"));
            }
        }
        match (u32::try_from(least), u32::try_from(most)) {
            (Ok(least), Ok(most)) if least <= most => Ok(Some(least..=most)),
            // It is told so by the daemon of processes, which does not begin with it.
            _ if least <= most => wrong("unable to spawn the ProcD".to_owned()),
            _ => wrong(format!("invalid tracking gid range: {least} - {most}")),
        }
    }
}

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

/// The process with that put around it.
pub(super) fn isolated(process: JobProcess, made: Isolation, about: &Publication<'_>) -> JobProcess {
    let Some(file) = made.status_file.clone() else { return JobProcess { isolation: made, ..process } };
    let (init, link) = init(about);
    let mut process = process;
    let entry = [STATUS_FILE.as_bytes(), b"=", file.as_os_str().as_bytes()].concat();
    let place = process.environment.partition_point(|other| other.as_slice() < entry.as_slice());
    process.environment.insert(place, entry.into());
    let own = [init.clone()];
    let words: Vec<BString> = own.iter().chain(&process.argv).cloned().collect();
    let named = (process.command.clone(), process.arguments_shown.clone());
    let mut process = instead(process, words, about.scratch);
    if !about.quirks.has(Quirk::PidnsInitOfLibexec) {
        // What fails is told of the job, not of what starts it.
        (process.command, process.arguments_shown) = named;
    }
    // Found whatever directories it lies in; the name it is called by says what it is to do.
    let program = if link.is_some() { PathBuf::from("/proc/self/exe") } else { process.program.clone() };
    JobProcess { program, isolation: Isolation { init_link: link, ..made }, ..process }
}

/// The first process of a PID namespace: that of LIBEXEC, else ourselves by a link beside the scratch directory.
fn init(about: &Publication<'_>) -> (BString, Option<PathBuf>) {
    let of_libexec = about.settings.isolation.libexec.as_ref().map(|libexec| {
        let path = [libexec.as_slice(), b"/", INIT.as_bytes()].concat();
        BString::from(path)
    });
    let there = |path: &BString| about.world.may_execute(&path.to_path_lossy());
    match of_libexec {
        Some(path) if about.quirks.has(Quirk::PidnsInitOfLibexec) || there(&path) => (path, None),
        _ => {
            let link = match (about.settings.nested_scratch, about.scratch.parent()) {
                (true, Some(top)) => top.join("htcondor").join(INIT),
                _ => about.scratch.join(".condor_pid_ns").join(INIT),
            };
            (BString::from(link.as_os_str().as_bytes()), Some(link))
        }
    }
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

    fn groups(least: i64, most: i64) -> Result<Option<RangeInclusive<u32>>, String> {
        let knobs = IsolationKnobs { tracking: Some((least, most)), ..IsolationKnobs::default() };
        knobs.groups().map_err(|failure| failure.text.to_string())
    }

    #[test]
    fn tracking_groups_are_a_range_that_is_not_turned_round() {
        assert_eq!(groups(750, 757), Ok(Some(750..=757)));
        assert_eq!(groups(5, 5), Ok(Some(5..=5)));
        assert_eq!(
            groups(0, 7),
            Err("USE_GID_PROCESS_TRACKING enabled, but MIN_TRACKING_GID is 0".to_owned())
        );
        assert_eq!(
            groups(7, 0),
            Err("USE_GID_PROCESS_TRACKING enabled, but MAX_TRACKING_GID is 0".to_owned())
        );
        assert_eq!(groups(760, 750), Err("invalid tracking gid range: 760 - 750".to_owned()));
        assert!(groups(-1, 5).is_err() && groups(1, 1 << 40).is_err());
    }

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
