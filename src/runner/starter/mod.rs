//! Carries out what the machine of a job asks for: scratch directory, hooks, the job itself, its log and its ads.
//!
//! [`plan()`] reads configuration and ad and makes the machine; [`run`] drives it with real processes, [`rehearse()`] with
//! none.

mod calls;
mod carriage;
mod child;
mod cleaning;
mod companion;
mod group;
mod job;
mod job_process;
mod live;
mod measure;
mod moving;
mod notice;
mod parent;
mod plan;
mod probe;
mod records;
mod rehearse;
mod requests;
mod sandbox;
mod state_file;
mod story;
mod tools;
mod user_log;
mod visa;

pub use carriage::{Carriage, CarriageKnobs};
pub use cleaning::{Cleaned, Cleaner, kill_tree};
pub use companion::{Companion, Seen};
pub use job::Job;
pub use live::{Finished, SIGNALS, run, run_with};
pub use plan::{Plan, Request, check_knobs, condor_identity, execute, plan, queue_owner, slot_of_log};
pub use probe::capabilities;
pub use records::UPDATE;
pub use rehearse::{Rehearsed, Script, rehearse};
pub use sandbox::{Failure, Sandbox};
pub use story::Story;
pub use user_log::{Opening, UserLog};
pub use visa::Visa;
