//! Construction of the settings from a configuration and from measurements of the host: the slots with their resources,
//! attributes, policy and hooks.

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
pub use parameters::HookWarning;
pub use plan_slots::{RequestedSlots, requested_slots};
pub use slot_policy::read_slot_policy;
