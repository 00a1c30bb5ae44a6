//! Out-of-memory score of jobs, by which the kernel selects the processes to kill when memory is exhausted.

use std::fs;

use super::version::write_file;

/// File with the score of this process, which children inherit.
const OWN_OOM_SCORE_FILE: &str = "/proc/self/oom_score_adj";

/// Score of jobs. The kernel kills processes with a higher score first, so it kills jobs before daemons
/// (`setupOOMScore`).
const JOB_OOM_SCORE: i32 = 800;

/// Calls `make` to create a child while this process has the score of jobs, which the child inherits. If the
/// score cannot be set, the child inherits the normal score of this process.
pub fn with_job_oom_score<T>(make: impl FnOnce() -> T) -> T {
    let before = fs::read_to_string(OWN_OOM_SCORE_FILE).ok().and_then(|text| text.trim().parse::<i32>().ok());
    let raised = before.filter(|before| {
        *before < JOB_OOM_SCORE && write_file(OWN_OOM_SCORE_FILE.as_ref(), &JOB_OOM_SCORE.to_string()).is_ok()
    });
    let result = make();
    if let Some(before) = raised {
        drop(write_file(OWN_OOM_SCORE_FILE.as_ref(), &before.to_string()));
    }
    result
}
