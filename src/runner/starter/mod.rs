//! Carries out what the machine of a job asks for: scratch directory, hooks, the job itself, its log and its ads.
//!
//! [`plan()`] reads configuration and ad and makes the machine; [`run_with`] drives it with real processes, [`rehearse()`] with
//! none.

mod accounts;
mod calls;
mod carriage;
mod child;
mod cleaning;
mod companion;
mod control;
mod credentials;
mod docker_socket;
mod group;
mod hand_over;
mod isolation;
mod job;
mod job_process;
mod live;
mod measure;
mod moving;
mod notice;
mod plan;
mod plan_knobs;
mod plan_places;
mod probe;
mod records;
mod rehearse;
mod requests;
mod rights;
mod sandbox;
mod secrets;
mod state_file;
mod story;
mod tools;
mod user_log;
mod visa;
mod volume;
mod volume_group;

pub use accounts::{CondorIdsError, condor_identity, condor_ids, in_primary_group, queue_owner};
pub use carriage::{Carriage, CarriageKnobs};
pub use cleaning::{Cleaned, Cleaner, has_left, is_gone, kill_tree};
pub use companion::{Companion, Seen};
pub use control::{COMMANDS, ControlCommand, Order, Reply, ask, command_of, listen};
pub use hand_over::{hand_over, handed_length, job_note, take, withdraw};
pub use job::Job;
pub use live::{Beside, Finished, SIGNALS, run_with};
pub use plan::{Plan, Request, plan};
pub use plan_knobs::check_knobs;
pub use plan_places::{execute, slot_of_log};
pub use probe::Probing;
pub use records::UPDATE;
pub use rehearse::{Rehearsed, Script, rehearse};
pub use sandbox::{Failure, Sandbox};
pub use secrets::{all as all_secrets, sends_kerberos};
pub use state_file::{StateFile, is_held};
pub use story::Story;
pub(in crate::runner) use tools::found as tool_path;
pub use user_log::{LogSettings, Opening, UserLog};
pub use visa::Visa;
pub use volume::{Limited, look_for_volumes};
