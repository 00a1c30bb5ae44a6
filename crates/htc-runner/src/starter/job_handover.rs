//! How a slot runner hands a job over to a starter, in the private directory of that one: either the starter takes it, before it does
//! anything else, or whoever comes after a slot runner that was killed makes sure that it never will.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use htc_os::process_table;

/// The note of the slot runner: how long the job's ad is. The starter removes it when it has come to an end.
const JOB_NOTE: &str = "job";
/// The file of whoever was first: the starter's process and when that was started, or nothing.
const TAKEN_FILE: &str = "taken";

/// The note on a job in a private directory.
pub fn job_note(private: &Path) -> PathBuf {
    private.join(JOB_NOTE)
}

/// Notes the job that is handed over, with the length of its ad in bytes.
///
/// # Errors
/// It cannot be written.
pub fn hand_over(private: &Path, length: usize) -> io::Result<()> {
    fs::write(job_note(private), length.to_string())
}

/// How long the job's ad is: one that is shorter was cut when its sender was killed.
pub fn handed_over_ad_length(private: &Path) -> Option<usize> {
    fs::read_to_string(job_note(private)).ok()?.trim().parse().ok()
}

/// Takes the job, for this process; false if it is not to be run any more.
///
/// # Errors
/// The directory cannot be written.
pub fn take_job(private: &Path) -> io::Result<bool> {
    let own = std::process::id().cast_signed();
    let started = process_table::read_process(own).map_or(0, |own| own.start_ticks);
    match claim_job(private, &format!("{own} {started}")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        taken => taken,
    }
}

/// Sees to it that no starter takes the job any more; the one that has, with the time when its process was started.
pub fn withdraw_job(private: &Path) -> Option<(i32, u64)> {
    if claim_job(private, "").is_ok_and(|first| first) {
        return None;
    }
    let text = fs::read_to_string(private.join(TAKEN_FILE)).ok()?;
    let (pid, started) = text.split_once(' ')?;
    Some((pid.parse().ok()?, started.parse().ok()?))
}

/// Whether we are the first. The file has its content from the beginning on.
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
        assert_eq!(withdraw_job(&taken), Some((own, started)));
        let withdrawn = place.path().join("2");
        fs::create_dir(&withdrawn).unwrap();
        assert_eq!(withdraw_job(&withdrawn), None);
        assert!(!take_job(&withdrawn).unwrap());
        assert_eq!(withdraw_job(&withdrawn), None);
        assert!(!take_job(&place.path().join("gone")).unwrap());
    }
}
