//! Makes the machine's `Settings` from a configuration and what was measured: how many slots, what each has and
//! publishes, its policy and its hooks.

mod build_settings;
mod cron_jobs;
mod hook_paths;
mod machine_attributes;
mod machine_resources;
mod parameters;
mod plan_slots;
mod resource_limits;
mod slot_attributes;
mod slot_policy;
mod suspicious_values;

pub use build_settings::{SettingsWithWarnings, configure};
pub use machine_attributes::HostMeasurements;
pub use parameters::ConfigureError;
pub use plan_slots::{RequestedSlots, requested_slots};
pub use slot_policy::read_slot_policy;
