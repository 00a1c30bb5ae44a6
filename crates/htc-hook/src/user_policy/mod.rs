//! Policy expressions in the job ad and in the configuration. They request actions while a job waits, runs or is held,
//! and after it has ended. Shadow, schedd and job router evaluate the same expressions.
//!
//! Reference: `user_job_policy.cpp`.

mod periodic;

pub use periodic::{
    PolicyAction, PolicyReason, RunningJobAction, evaluate_periodic, evaluate_while_running,
    exit_hold_reason, invalid_policies, release_reason, stay_in_queue_reason,
};
