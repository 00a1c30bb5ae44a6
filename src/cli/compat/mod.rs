//! The condor tools' own command lines, for programs that are called by a tool's name.

pub mod condor_job_router_info;
pub mod condor_q;
mod condor_q_list;
mod condor_q_tables;
mod condor_q_wish;
pub mod condor_router_history;
pub mod condor_router_q;
pub mod condor_transform_ads;
mod condor_transform_ads_convert;
mod condor_transform_ads_together;
mod condor_transform_ads_words;
mod configuration;
mod words;

pub use words::{Least, Rule, Word, Words};
