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
//! In the local universe ([`Setup::local`]) there is no shadow: the starter logs and decides, the schedd holds and removes.
//!
//! Reference: `baseshadow.cpp`, `remoteresource.cpp`, `condor_user_policy.cpp`, `qmgmt.cpp`.

mod dataflow;
mod ending;
mod event;
mod local;
mod machine;
mod matched;
mod ordered;
mod queue;
mod reason;
mod rounded;
mod running;
mod updates;

pub use event::{Ended, Event, HookEnd, Order, Why};
pub use machine::{Action, Ask, Hook, Setup, Shadow, Until};
pub use matched::{Matched, NotExpanded, matched};
pub use reason::improved;
