//! Handover of a job from a slot runner to a starter through the starter's private directory: either the starter takes
//! the job before it does anything else, or the successor of a killed slot runner makes sure that it never will.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use htc_base::process::ProcessInstance;
use htc_os::process_table;

/// Name of the slot runner's note, which has the length of the job ad. The starter removes it when it has ended
/// properly.
const JOB_NOTE: &str = "job";
/// Name of the file created by the first to claim the job: the starter's process id and start time, or empty.
const TAKEN_FILE: &str = "taken";

/// Returns the path of the note on a job in a private directory.
pub fn job_note(private: &Path) -> PathBuf {
    private.join(JOB_NOTE)
}

/// Writes the note on a job, with the length of its ad in bytes.
///
/// # Errors
/// Fails if the note cannot be written.
pub fn hand_over(private: &Path, length: usize) -> io::Result<()> {
    fs::write(job_note(private), length.to_string())
}

/// Returns the length of the job ad in bytes, or `None`: a shorter ad was cut off when its sender was killed.
pub fn handed_over_ad_length(private: &Path) -> Option<usize> {
    fs::read_to_string(job_note(private)).ok()?.trim().parse().ok()
}

/// Takes the job for this process; returns false if the job must not be run any more.
///
/// # Errors
/// Fails if the directory cannot be written.
pub fn take_job(private: &Path) -> io::Result<bool> {
    let own = std::process::id().cast_signed();
    let started = process_table::read_process(own).map_or(0, |own| own.start_ticks);
    match claim_job(private, &format!("{own} {started}")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        taken => taken,
    }
}

/// Prevents any starter from taking the job; returns the starter that has taken it, or `None`.
pub fn withdraw_job(private: &Path) -> Option<ProcessInstance> {
    if claim_job(private, "").is_ok_and(|first| first) {
        return None;
    }
    let text = fs::read_to_string(private.join(TAKEN_FILE)).ok()?;
    let (pid, started) = text.split_once(' ')?;
    Some(ProcessInstance { pid: pid.parse().ok()?, start_ticks: started.parse().ok()? })
}

/// Claims the job with this text; returns true if this process is the first to do so. The file is created atomically
/// with its complete contents.
fn claim_job(private: &Path, text: &str) -> io::Result<bool> {
    let own = private.join(format!("{TAKEN_FILE}.{}", std::process::id()));
    fs::write(&own, text)?;
    let linked = fs::hard_link(&own, private.join(TAKEN_FILE));
    drop(fs::remove_file(own));
    match linked {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_taken_by_the_starter_or_withdrawn_and_never_both() {
        let place = tempfile::tempdir().unwrap();
        let taken = place.path().join("1");
        fs::create_dir(&taken).unwrap();
        hand_over(&taken, 7).unwrap();
        assert_eq!(handed_over_ad_length(&taken), Some(7));
        assert!(take_job(&taken).unwrap());
        let own = std::process::id().cast_signed();
        let started = process_table::read_process(own).unwrap().start_ticks;
        assert_eq!(withdraw_job(&taken), Some(ProcessInstance { pid: own, start_ticks: started }));
        let withdrawn = place.path().join("2");
        fs::create_dir(&withdrawn).unwrap();
        assert_eq!(withdraw_job(&withdrawn), None);
        assert!(!take_job(&withdrawn).unwrap());
        assert_eq!(withdraw_job(&withdrawn), None);
        assert!(!take_job(&place.path().join("gone")).unwrap());
    }
}
