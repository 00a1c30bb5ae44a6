//! Protocol of hooks: hook types, keywords, path checks, hook input and the parsing of hook output.
//!
//! This crate neither runs hooks nor decides what follows from their output; the crates `htc-slot`, `htc-starter` and
//! `htc-router` do.

pub mod cron_job;
pub mod cron_output;
pub mod hook_input;
pub mod hook_output;
mod hook_type;
pub mod job_ad_lint;
pub mod journal;
pub mod keyword;
mod parameter_source;
pub mod path_check;
mod timeout;
pub mod transfer;
pub mod user_policy;

pub use hook_type::{HookCaller, HookType, TimeoutParameter};
pub use parameter_source::ParameterSource;
pub use timeout::caller_timeout;
