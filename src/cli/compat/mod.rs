//! Command lines of the condor tools, for programs that are called by a tool's name.

mod command_words;
pub mod condor_job_router_info;
pub mod condor_q;
mod condor_q_list;
mod condor_q_options;
mod condor_q_tables;
pub mod condor_router_history;
pub mod condor_router_q;
pub mod condor_transform_ads;
mod condor_transform_ads_apply;
mod condor_transform_ads_convert;
mod condor_transform_ads_options;
mod condor_transform_ads_parallel;
mod configuration;
mod tool_hints;

pub use command_words::{CommandWord, CommandWords, MinimumLength, OptionRule, option_rule};
pub use tool_hints::unsupported_tool_problem;
