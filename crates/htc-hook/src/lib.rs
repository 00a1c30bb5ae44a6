//! The protocol of hooks: types, keywords, path checks, what a caller writes and how it reads an answer.
//!
//! Nothing is run here and nothing decided: what an answer means stands in `slot`, `starter` and `router`.

pub mod cron_job;
pub mod cron_output;
mod hook_type;
pub mod input;
pub mod job_ad;
pub mod journal;
pub mod keyword;
mod knobs;
pub mod path_check;
pub mod reply;
pub mod transfer;
pub mod user_policy;
mod waiting;

pub use hook_type::{Caller, HookType, TimeOut};
pub use knobs::Knobs;
pub use waiting::caller_waits;
