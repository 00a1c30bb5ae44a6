//! Tests of the programs under the names of condor tools.

#[cfg(feature = "cli")]
pub(crate) mod condor_config_val;
pub(crate) mod condor_job_router_info;
pub(crate) mod condor_job_router_info_messages;
#[cfg(feature = "cli")]
pub(crate) mod condor_q;
#[cfg(feature = "cli")]
pub(crate) mod condor_q_options;
#[cfg(feature = "cli")]
pub(crate) mod condor_transform_ads;
#[cfg(feature = "cli")]
pub(crate) mod routed_jobs;
#[cfg(feature = "cli")]
pub(crate) mod router_tools;
