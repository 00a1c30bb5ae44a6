//! What is wrong in a configuration, in transforms and on a machine, and what the daemons pass over in silence.
//!
//! [`config`] are the rules of the language itself, [`daemons`] those of hooks, slots and routes, which need the crates that read
//! these values; [`transforms`] are those of transforms. [`doctor`] looks at the machine, [`value_explanation`] tells where a value comes from,
//! [`route_migration`] writes routes of the old syntax anew.

pub mod config;
pub mod daemons;
pub mod doctor;
pub mod route_migration;
pub mod transforms;
pub mod value_explanation;
