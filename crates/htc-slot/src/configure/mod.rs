//! Makes the machine's `Settings` from a configuration and what was measured: how many slots, what each has and
//! publishes, its policy and its hooks.

mod attributes;
mod cron;
mod hooks;
mod knobs;
mod layout;
mod limits;
mod machine;
mod odd;
mod policy;
mod resources;
mod settings;

pub use knobs::ConfigureError;
pub use layout::{SlotsAskedFor, slots_asked_for};
pub use machine::Surroundings;
pub use policy::policy_of;
pub use settings::{Configured, configure};
