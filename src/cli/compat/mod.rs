//! Command lines of the condor tools, for programs that are called by the name of a tool.

mod command_words;
pub mod condor_job_router_info;
pub mod condor_q;
mod condor_q_analysis;
mod condor_q_analysis_options;
mod condor_q_attribute_lines;
mod condor_q_batches;
mod condor_q_clauses;
mod condor_q_formats;
mod condor_q_job_status;
mod condor_q_jobs;
mod condor_q_line_breaks;
mod condor_q_option_rules;
mod condor_q_options;
mod condor_q_refusal;
mod condor_q_report;
mod condor_q_rows;
mod condor_q_slots;
mod condor_q_source;
mod condor_q_stream;
mod condor_q_user_log;
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
