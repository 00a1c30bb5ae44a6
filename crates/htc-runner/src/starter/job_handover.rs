//! Handover of a job from a slot runner to a starter through the starter's private directory. Either the starter
//! takes the job before it does anything else, or the successor of a killed slot runner makes sure that the starter
//! will not take it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use htc_base::process::ProcessInstance;
use htc_os::process_table;

/// Name of the file in which the slot runner writes the length of the job ad. The starter removes the file when it
/// has ended properly.
const JOB_NOTE: &str = "job";
/// Name of the file that is created by the first process to claim the job. It contains the process id and start time
/// of the starter, or is empty if the job was withdrawn.
const TAKEN_FILE: &str = "taken";

/// Returns the path of the slot runner's file about the job in a private directory.
pub fn job_note(private: &Path) -> PathBuf {
    private.join(JOB_NOTE)
}

/// Writes the slot runner's file about the job; `length` is the length of the job ad in bytes.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn hand_over(private: &Path, length: usize) -> io::Result<()> {
    fs::write(job_note(private), length.to_string())
}

/// Returns the length of the job ad in bytes, or `None` if it is unknown. A shorter ad is incomplete because its
/// sender was killed.
pub fn handed_over_ad_length(private: &Path) -> Option<usize> {
    fs::read_to_string(job_note(private)).ok()?.trim().parse().ok()
}

/// Takes the job for this process; returns false if the job was withdrawn, so that it must not be run.
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

/// Prevents any starter from taking the job. Returns the starter that has already taken it, or `None`.
pub fn withdraw_job(private: &Path) -> Option<ProcessInstance> {
    if claim_job(private, "").is_ok_and(|first| first) {
        return None;
    }
    let text = fs::read_to_string(private.join(TAKEN_FILE)).ok()?;
    let (pid, started) = text.split_once(' ')?;
    Some(ProcessInstance { pid: pid.parse().ok()?, start_ticks: started.parse().ok()? })
}

/// Creates the file of the claim with the given text; returns true if no process has claimed the job before. The file
/// is created atomically with its complete contents.
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
    fn a_job_is_taken_over_or_withdrawn_and_never_both() {
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
