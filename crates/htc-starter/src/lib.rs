//! The starter as a pure machine: one job with its hooks, sandbox, updates and outcome.
//!
//! [`Event`] and [`Action`] are the whole interface of the machine: the runner tells what happened, the machine says
//! what is to be done. What the machine is made from (the job's ad, the account, the configuration) is read by pure
//! functions as well, so that the same code runs live, simulated and in `htc-hook-test`.
//!
//! ```text
//! Begin -> MakeScratch -> (update hook) -> prepare hook -> deferral -> PreCmd -> job -> updates ... -> job ended
//!       -> PostCmd -> exit hook -> result ad -> RemoveScratch -> Finish
//! ```
//!
//! Any failure before the job runs takes the short way to the exit hook with `evict`; requests (signals) may come at any
//! moment. [`TRANSITIONS`] is the table of its phases. Reference: `starter.cpp`, `job_info_communicator.cpp`, `os_proc.cpp`.

pub mod account;
mod action;
mod again;
mod beginning;
mod closing;
mod contained;
mod contained_docker;
mod contained_image;
pub mod container;
pub mod disk;
pub mod ending;
pub mod environment;
mod event;
mod exception;
mod expression;
mod failure;
pub mod hooks;
mod isolation;
mod java;
mod java_job;
pub mod job_info;
pub mod job_source;
mod kept;
mod knobs;
mod late_start;
mod launch;
mod left;
mod limits;
pub mod logical_volume;
mod machine;
mod moves;
pub mod not_done;
mod nvidia;
pub mod prepare;
pub mod process;
mod running;
mod settings;
mod setup;
pub mod shadow;
mod starter_hooks;
mod update_timer;
pub mod virtual_machine;
pub mod volume_group;

pub use action::{Account, Action, Call, CallId, File, JobProcess, LogEvent, Notice, StandardFile, Standing};
pub use closing::remains_untold;
pub use event::{Event, FamilyUsage, Request, ShadowReason, Vacate};
pub use exception::EXCEPTION;
pub use failure::StartFailure;
pub use isolation::{INIT, Isolation, KnownBy};
pub use java::{END_RECORD, JavaRecords, START_RECORD};
pub use job_info::{JobInfo, Overrides, Refusal, Tokens};
pub use kept::phase::{TRANSITIONS, Transition};
pub use left::{Left, container_of_recovery, is_container_of, starter_of, unfinished};
pub use limits::{GroupLimit, GroupPlan};
pub use machine::{Starter, has_slot_ad};
pub use settings::{Fault, GroupKnobs, Inherits, IsolationKnobs, JavaKnobs, Moment, Settings};
pub use setup::{Hooks, Moves, Setup};
pub use starter_hooks::{
    hangs_after_prepare, killed_last, shadow_reason_unseen, temporary_of_job, unspawnable_exit,
    untold_refusal,
};
