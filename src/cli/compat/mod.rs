//! The condor tools' own command lines, for programs that are called by a tool's name.

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
mod condor_transform_ads_together;
mod condor_transform_ads_words;
mod configuration;
mod elsewhere;
mod words;

pub use elsewhere::elsewhere;
pub use words::{Least, Rule, Word, Words, rule};
