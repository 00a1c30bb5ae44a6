//! Whom the kernel kills first when memory is short.

use std::fs;

use super::version::write_file;

/// Our own score, which children inherit.
const OWN_OOM_SCORE_FILE: &str = "/proc/self/oom_score_adj";

/// What is added to the score of jobs, so that the kernel prefers them to daemons (`setupOOMScore`).
const JOB_OOM_SCORE: i32 = 800;

/// Makes a child while our own score is that of jobs. Where that cannot be set the child has ours.
pub fn with_job_oom_score<T>(make: impl FnOnce() -> T) -> T {
    let before = fs::read_to_string(OWN_OOM_SCORE_FILE).ok().and_then(|text| text.trim().parse::<i32>().ok());
    let raised = before.filter(|before| {
        *before < JOB_OOM_SCORE && write_file(OWN_OOM_SCORE_FILE.as_ref(), &JOB_OOM_SCORE.to_string()).is_ok()
    });
    let made = make();
    if let Some(before) = raised {
        drop(write_file(OWN_OOM_SCORE_FILE.as_ref(), &before.to_string()));
    }
    made
}
