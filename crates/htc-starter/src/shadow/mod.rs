//! Access point of one job as a pure state machine: the actions of schedd and shadow while a starter runs the job.
//!
//! [`Shadow`] receives the events of the starter and returns actions: events to log, requests to the starter, and the
//! shadow's own next steps. It keeps the job ad in the form in which the queue would have it. The job's own policy
//! decides how the job ends ([`htc_hook::user_policy`]).
//!
//! ```text
//! Begin -> (000) -> Iwd, sizes -> SHADOW_PREPARE_JOB -> Run -> 040 001 006 ... -> Ended
//!       -> 005 and done | 004 and again | 021 004 012 and held -> released and again | 009 and gone
//! ```
//!
//! In the local universe ([`ShadowSetup`]) there is no shadow: the starter writes the log and evaluates the policy, and
//! the schedd holds and removes the job.
//!
//! Reference: `baseshadow.cpp`, `remoteresource.cpp`, `condor_user_policy.cpp`, `qmgmt.cpp`.

mod dataflow;
mod event;
mod eviction_transform;
mod local_universe;
mod match_expansion;
mod queue;
mod rounding;
mod run_end;
mod running;
mod state_machine;
mod transfer_error;
mod updates;
mod user_requests;

pub use event::{HoldOrVacateReason, ShadowEvent, ShadowHookResult, StarterEnd, UserRequest};
pub use match_expansion::{ExpansionError, MatchedAd, expand_for_slot};
pub use state_machine::{
    JobEndRequest, RunLimit, RunRecordKind, Shadow, ShadowAction, ShadowHook, ShadowSetup, TransferRecord,
};
pub use transfer_error::improve_reason;
