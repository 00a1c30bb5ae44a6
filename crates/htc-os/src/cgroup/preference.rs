//! Whom the kernel kills first when memory is short.

use std::fs;

use super::version::write;

/// Our own score, which children inherit.
const SCORE: &str = "/proc/self/oom_score_adj";

/// What is added to the score of jobs, so that the kernel prefers them to daemons (`setupOOMScore`).
const OF_JOBS: i32 = 800;

/// Makes a child while our own score is that of jobs. Where that cannot be set the child has ours.
pub fn killed_first<T>(make: impl FnOnce() -> T) -> T {
    let before = fs::read_to_string(SCORE).ok().and_then(|text| text.trim().parse::<i32>().ok());
    let raised =
        before.filter(|before| *before < OF_JOBS && write(SCORE.as_ref(), &OF_JOBS.to_string()).is_ok());
    let made = make();
    if let Some(before) = raised {
        drop(write(SCORE.as_ref(), &before.to_string()));
    }
    made
}
