//! The policy of jobs: what their own expressions and the configuration's want done with them while they wait, run, are held
//! and have ended. Shadow, schedd and job router ask the same.
//!
//! Reference: `user_job_policy.cpp`.

mod periodic;

pub use periodic::{
    PolicyAction, PolicyReason, RunningJobAction, evaluate_periodic, evaluate_while_running,
    exit_hold_reason, invalid_policies, release_reason, stay_in_queue_reason,
};
