//! Runners for slots, starters, routers and single hooks, live or simulated.

mod configured_world;
pub mod control;
pub mod cron;
pub mod deserialize_fault;
pub mod event_log;
pub mod events;
pub mod hook_call;
pub mod hook_environment;
pub mod hook_limits;
pub mod journal;
pub mod parent_process;
pub mod router;
pub mod shadow;
pub mod slot;
mod spawn_mode;
pub mod starter;
pub mod transfer;

pub use configured_world::configured_world;
