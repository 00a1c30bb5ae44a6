//! Records in the state file of a starter. If the starter is killed, a later process cleans up with the help of these
//! records.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Record of an object that has to be removed when the starter ends. The record is written before the object is
/// created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeftoverRecord {
    /// The starter: its process, its directory, and the uid of its job.
    Starter {
        /// Process ID of the starter.
        pid: i32,
        /// Start time of the starter's process, in clock ticks after boot.
        started: u64,
        /// Directory of this starter below EXECUTE: the scratch directory or its parent.
        directory: PathBuf,
        /// Uid of the job.
        uid: u32,
        /// PID namespace of the starter.
        #[serde(default)]
        pid_namespace: Option<u64>,
    },
    /// The outcome of the job has been reported; the file remains because something could not be removed.
    #[serde(alias = "Told")]
    Reported,
    /// The job that the starter runs.
    Job {
        /// ID of the job.
        id: String,
        /// Job ad in the state that is in the scratch directory, without private attributes.
        ad: String,
    },
    /// The outcome of the job, which could not be reported.
    Untold {
        /// Job ad with the outcome.
        ad: String,
    },
    /// A stage that begins, in one or two words ([`Starter::state`](super::Starter::state)).
    Stage {
        /// Name of the stage.
        name: String,
    },
    /// A process of the job or of a script.
    Process {
        /// Process ID.
        pid: i32,
        /// Start time of the process, in clock ticks after boot.
        started: u64,
    },
    /// A control group.
    Group {
        /// Path of one of the control group's directories.
        directory: PathBuf,
    },
    /// A group (gid) that only the job's processes have.
    TrackingGroup {
        /// Group ID (gid).
        gid: u32,
    },
    /// An image that is being pulled and was not present before.
    Pull {
        /// Name of the image.
        image: String,
        /// Tag by which the image is recognized as one of ours after the pull.
        own: String,
    },
    /// A logical volume.
    Volume {
        /// Name of the volume group.
        group: String,
        /// Name of the logical volume.
        name: String,
    },
    /// A container.
    Container {
        /// Name of the container.
        name: String,
    },
}

/// Job that had not ended when its starter was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedJob {
    /// Description of the job in one line.
    pub line: String,
    /// Job ad of the unfinished job.
    pub ad: String,
}

/// Returns the unfinished job that the records of a killed starter describe, or `None` if the starter had none.
pub fn find_unfinished_job(records: &[LeftoverRecord]) -> Option<UnfinishedJob> {
    if records.contains(&LeftoverRecord::Reported) {
        return None;
    }
    let (id, ad) = records.iter().rev().find_map(|record| match record {
        LeftoverRecord::Job { id, ad } => Some((id, ad)),
        _ => None,
    })?;
    if let Some(LeftoverRecord::Untold { ad }) =
        records.iter().rev().find(|record| matches!(record, LeftoverRecord::Untold { .. }))
    {
        let line = format!("job {id} had ended, but its result could not be reported");
        return Some(UnfinishedJob { line, ad: ad.clone() });
    }
    let stage = records.iter().rev().find_map(|record| match record {
        LeftoverRecord::Stage { name } => Some(name.as_str()),
        _ => None,
    });
    let stage = stage.unwrap_or("preparing");
    let lost = match stage {
        "sending output" => ": its transferred output may be incomplete",
        "ending" | "ended" => ": it had ended",
        _ => "",
    };
    Some(UnfinishedJob {
        line: format!("job {id} was {stage} when its starter was killed{lost}"),
        ad: ad.clone(),
    })
}

/// Returns true if the name is that of a container of this starter. Only such containers are removed, even if a file
/// names another container.
pub fn is_container_of_starter(name: &str, starter: i32) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-' | '@');
    name.starts_with("HTCJob") && name.ends_with(&format!("_PID{starter}")) && name.chars().all(plain)
}

/// Returns the container named in `dir_PID.recover` (`WriteRecoveryFile`).
pub fn container_from_recovery_file(text: &[u8]) -> Option<String> {
    let (ad, _) = htc_classad::format::long::parse(text);
    Some(ad.string("DockerContainerName")?.to_string())
}

/// Returns the PID of the starter that a name in EXECUTE belongs to: `dir_<pid>`, possibly with a numeric suffix if the
/// name was already in use, or with the suffix of an accompanying file.
pub fn starter_pid_from_name(name: &str) -> Option<i32> {
    let rest = name.strip_prefix("dir_")?;
    let rest = [".recover", ".left.lock", ".left", ".disk", ".docker"]
        .iter()
        .find_map(|end| rest.strip_suffix(end))
        .unwrap_or(rest);
    let (pid, number) = rest.split_once('.').unwrap_or((rest, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(number) && digits(pid) { pid.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_directory_identifies_its_starter() {
        for (name, pid) in [
            ("dir_12", Some(12)),
            ("dir_12.3", Some(12)),
            ("dir_12.recover", Some(12)),
            ("dir_12.3.recover", Some(12)),
            ("dir_12.left", Some(12)),
            ("dir_12.3.left.lock", Some(12)),
            ("dir_12.docker", Some(12)),
            ("dir_12.", None),
            ("dir_12.x", None),
            ("dir_x", None),
            ("dir_+1", None),
            ("dir_", None),
            ("12", None),
        ] {
            assert_eq!(starter_pid_from_name(name), pid, "{name}");
        }
    }

    #[test]
    fn only_containers_of_the_starter_are_recognized() {
        assert!(is_container_of_starter("HTCJob7_1_slot1@host_PID12", 12));
        for name in ["HTCJob7_1__PID13", "web", "HTCJob7_1__PID12;x_PID12", "-f_PID12", "HTCJob\n_PID12"] {
            assert!(!is_container_of_starter(name, 12), "{name}");
        }
    }
}
