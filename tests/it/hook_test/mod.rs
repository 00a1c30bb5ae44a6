//! Tests of `htc-hook-test`.

pub(crate) mod calls;
#[cfg(feature = "cli")]
pub(crate) mod configuration;
pub(crate) mod cron;
pub(crate) mod given;
pub(crate) mod hook_program;
pub(crate) mod input;
pub(crate) mod options;
pub(crate) mod printed_values;
pub(crate) mod queue;
pub(crate) mod record;
pub(crate) mod spawned;
