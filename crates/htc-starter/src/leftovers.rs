//! What a starter that is killed leaves behind: the records of its state file, and what is to be done by whoever comes after.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One thing that has to be gone when the starter is. Written before it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeftoverRecord {
    /// The starter itself, the directory that its own are made in, and the user id of its job.
    Starter {
        /// Its process.
        pid: i32,
        /// When that was started, in clock ticks after boot.
        started: u64,
        /// The scratch directory and what is around it.
        directory: PathBuf,
        /// The job's user id.
        uid: u32,
        /// The PID namespace of the starter.
        #[serde(default)]
        pid_namespace: Option<u64>,
    },
    /// What came of the job was told; the file stays for the sake of something that could not be removed.
    #[serde(alias = "Told")]
    Reported,
    /// The job that it runs.
    Job {
        /// Its id.
        id: String,
        /// Its ad as it stands in the scratch directory, without what is private.
        ad: String,
    },
    /// What came of the job, which could not be told.
    Untold {
        /// Its ad with the outcome.
        ad: String,
    },
    /// It begins with this, in a word or two ([`Starter::state`](super::Starter::state)).
    Stage {
        /// What.
        name: String,
    },
    /// The job's process, or that of a script.
    Process {
        /// Its id.
        pid: i32,
        /// When it was started.
        started: u64,
    },
    /// A control group.
    Group {
        /// One of its directories.
        directory: PathBuf,
    },
    /// A group that only the job's processes have.
    TrackingGroup {
        /// Its id.
        gid: u32,
    },
    /// An image is being pulled that was not there.
    Pull {
        /// Its name.
        image: String,
        /// The name that makes it one of ours when it is there.
        own: String,
    },
    /// A logical volume.
    Volume {
        /// Its group.
        group: String,
        /// Its name.
        name: String,
    },
    /// A container.
    Container {
        /// Its name.
        name: String,
    },
}

/// A job that did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedJob {
    /// One line.
    pub line: String,
    /// Its ad.
    pub ad: String,
}

/// What the records of a starter that was killed say of its job, if it had one.
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
        let line = format!("job {id} had ended, and what came of it could not be told");
        return Some(UnfinishedJob { line, ad: ad.clone() });
    }
    let stage = records.iter().rev().find_map(|record| match record {
        LeftoverRecord::Stage { name } => Some(name.as_str()),
        _ => None,
    });
    let stage = stage.unwrap_or("preparing");
    let lost = match stage {
        "sending output" => ": what has come back of its output may be incomplete",
        "ending" | "ended" => ": it had ended",
        _ => "",
    };
    Some(UnfinishedJob {
        line: format!("job {id} was {stage} when its starter was killed{lost}"),
        ad: ad.clone(),
    })
}

/// Whether a name is that of a container of this starter's: nothing else is removed, whatever a file says.
pub fn is_container_of_starter(name: &str, starter: i32) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-' | '@');
    name.starts_with("HTCJob") && name.ends_with(&format!("_PID{starter}")) && name.chars().all(plain)
}

/// The container that `dir_PID.recover` names (`WriteRecoveryFile`).
pub fn container_from_recovery_file(text: &[u8]) -> Option<String> {
    let (ad, _) = htc_classad::format::long::parse(text);
    Some(ad.string("DockerContainerName")?.to_string())
}

/// The starter that a name in EXECUTE belongs to: `dir_<pid>`, with a number behind it where another had left one of that name, or
/// with what stands beside it.
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
    fn the_starter_of_a_directory_is_known_by_its_name() {
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
    fn only_a_container_of_the_starter_is_one() {
        assert!(is_container_of_starter("HTCJob7_1_slot1@host_PID12", 12));
        for name in ["HTCJob7_1__PID13", "web", "HTCJob7_1__PID12;x_PID12", "-f_PID12", "HTCJob\n_PID12"] {
            assert!(!is_container_of_starter(name, 12), "{name}");
        }
    }
}
