//! The policy of jobs: what their own expressions and the configuration's want done with them while they wait, run, are held
//! and have ended. Shadow, schedd and job router ask the same.
//!
//! Reference: `user_job_policy.cpp`.

mod periodic;

pub use periodic::{
    Fired, Running, Why, hold_at_exit, periodic, release, stays_at_exit, unreadable, while_running,
};
