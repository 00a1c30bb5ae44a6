//! The starter as a state machine without I/O: one job with its hooks, scratch directory, updates and outcome.
//!
//! [`StarterEvent`] and [`StarterAction`] are the whole interface of the state machine: the runner reports events, and
//! the machine returns actions for the runner. The inputs (job ad, account, configuration) are also parsed by pure
//! functions, so that the same code serves live runs, simulations and `htc-hook-test`.
//!
//! ```text
//! Begin -> MakeScratch -> (update hook) -> prepare hook -> deferral -> PreCmd -> job -> updates ... -> job ended
//!       -> PostCmd -> exit hook -> result ad -> RemoveScratch -> Finish
//! ```
//!
//! Any failure before the job starts leads directly to the exit hook with `evict`; requests (signals) are accepted at any time.
//! [`TRANSITIONS`] is the table of phases. Reference: `starter.cpp`, `job_info_communicator.cpp`, `os_proc.cpp`.

pub mod account;
mod action;
mod cgroup_plan;
mod cleanup;
pub mod container;
mod container_run;
pub mod disk;
mod docker_image;
mod docker_run;
pub mod environment;
mod event;
mod exception;
mod expression;
mod file_transfer;
mod hook_quirks;
pub mod hooks;
mod isolation;
mod java;
mod java_job;
pub mod job_exit;
pub mod job_info;
pub mod job_source;
mod late_start;
mod launch;
mod leftovers;
pub mod logical_volume;
mod nvidia;
mod parameters;
pub mod prepare_verdict;
pub mod process;
mod retry;
mod running;
mod settings;
mod setup;
pub mod shadow;
mod start_failure;
mod startup;
mod state;
mod state_machine;
pub mod unsupported;
mod update_timer;
pub mod virtual_machine;
pub mod volume_group;

pub use action::{
    CallId, JobLogEvent, JobOutcome, JobProcess, ProcessAccount, ScratchFile, StandardFile, StarterAction,
    StarterHookCall, StarterNotice,
};
pub use cgroup_plan::{CgroupLimit, CgroupPlan};
pub use cleanup::unremovable_scratch_decision;
pub use event::{FamilyUsage, ShadowReason, StarterCommand, StarterEvent, StarterVacateReason};
pub use exception::EXCEPTION_STATUS;
pub use hook_quirks::{
    exit_reason_decision, final_hook_kill_decision, hook_tmpdir_decision, prepare_failure_decision,
    refused_job_exit_hook_decision, unspawnable_exit_hook_decision,
};
pub use isolation::{FamilyTracking, INIT_PROGRAM, ProcessIsolation};
pub use java::{END_RECORD_FILE, JavaRecords, START_RECORD_FILE};
pub use job_info::{JobCredentials, JobInfo, JobOverrides, JobRefusal};
pub use leftovers::{
    LeftoverRecord, container_from_recovery_file, find_unfinished_job, is_container_of_starter,
    starter_pid_from_name,
};
pub use settings::{
    CgroupParameters, EnvironmentInheritance, IsolationParameters, JavaParameters, ParameterFault,
    ParameterReadPoint, StarterSettings,
};
pub use setup::{StarterHooks, StarterSetup, TransferSetup};
pub use start_failure::StartFailure;
pub use state::phase::{PhaseTransition, TRANSITIONS};
pub use state_machine::{Starter, has_slot_ad};
