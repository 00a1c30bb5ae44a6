//! Access point for one job: runs its starters one after another, calls its hook, and writes its log.
//!
//! [`run`] drives [`htc_starter::shadow::Shadow`] with a starter of [`crate::starter::run_starter`] for each run.

mod credentials;
mod hook;
mod observer;
mod policy_parameters;
mod run_history;
mod shadow_run;

pub use credentials::{HookCredentials, remove_abandoned_credentials};
pub use hook::{ShadowHookSettings, find_shadow_hook};
pub use policy_parameters::PolicyParameters;
pub use shadow_run::{HookCredentialsProvider, ShadowRunInputs, ShadowRunOutcome, run};
