//! Tests of behaviour that all programs share.

#[cfg(feature = "cli")]
pub(crate) mod answers;
#[cfg(feature = "cli")]
pub(crate) mod bad_input;
#[cfg(feature = "cli")]
pub(crate) mod completion;
#[cfg(feature = "cli")]
pub(crate) mod earlier_builds;
#[cfg(feature = "cli")]
pub(crate) mod event_schema;
#[cfg(feature = "cli")]
pub(crate) mod exact_bytes;
pub(crate) mod hints;
#[cfg(feature = "cli")]
pub(crate) mod input_forms;
#[cfg(feature = "cli")]
mod input_limits;
#[cfg(feature = "cli")]
pub(crate) mod interrupted;
#[cfg(feature = "cli")]
pub(crate) mod joined_inputs;
#[cfg(feature = "cli")]
pub(crate) mod json_schema;
#[cfg(feature = "cli")]
pub(crate) mod many_ads;
#[cfg(feature = "cli")]
mod no_ads;
#[cfg(feature = "cli")]
mod option_effects;
#[cfg(feature = "cli")]
mod option_table;
#[cfg(feature = "cli")]
mod partly_read;
pub(crate) mod pipelines;
#[cfg(feature = "cli")]
pub(crate) mod queue_logs;
#[cfg(feature = "cli")]
pub(crate) mod reports;
mod rows;
#[cfg(feature = "cli")]
pub(crate) mod sarif;
#[cfg(feature = "cli")]
pub(crate) mod standard_output;
#[cfg(feature = "cli")]
pub(crate) mod unreadable_ads;
pub(crate) mod user_maps;
pub(crate) mod vocabulary;
