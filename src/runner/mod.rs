//! Carries out what the machines ask for: slots, starters, routers and single hooks, live or simulated.

pub mod events;
