//! The access point's part for one job: what schedd and shadow do while a starter has it, as a pure machine.
//!
//! [`Shadow`] is told what the starter did and says what is to be logged, asked of the starter, and done next; its ad is the
//! job's as the queue would have it. How it ends is decided by the job's own policy ([`htc_hook::user_policy`]).
//!
//! ```text
//! Begin -> (000) -> Iwd, sizes -> SHADOW_PREPARE_JOB -> Run -> 040 001 006 ... -> Ended
//!       -> 005 and done | 004 and again | 021 004 012 and held -> released and again | 009 and gone
//! ```
//!
//! In the local universe ([`ShadowSetup`]) there is no shadow: the starter logs and decides, the schedd holds and removes.
//!
//! Reference: `baseshadow.cpp`, `remoteresource.cpp`, `condor_user_policy.cpp`, `qmgmt.cpp`.

mod dataflow;
mod event;
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
pub use state_machine::{JobEndRequest, RunLimit, Shadow, ShadowAction, ShadowHook, ShadowSetup};
pub use transfer_error::improve_reason;
