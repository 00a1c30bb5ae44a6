//! Plays the access point's part for one job: runs its starters one after the other, calls its hook, keeps its log.
//!
//! [`run`] drives [`htc_starter::shadow::Shadow`] with a starter of [`crate::starter`] for each run.

mod companion;
mod credentials;
mod hook;
mod knobs;
mod play;

pub use credentials::{HookCredentials, clean_credentials};
pub use hook::{Found, find};
pub use knobs::PolicyKnobs;
pub use play::{CredentialsOf, Outcome, Play, run};
