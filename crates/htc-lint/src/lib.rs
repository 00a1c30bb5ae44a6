//! Finds mistakes in a configuration, in transforms and on a machine, in particular those that the daemons
//! ignore without a message.
//!
//! [`config`] has the rules of the configuration language itself, [`daemons`] the rules of hooks, slots and
//! routes, which need the crates that read these values, and [`transforms`] the rules of transforms.
//! [`doctor`] checks the machine, [`value_explanation`] shows where a value comes from, and
//! [`route_migration`] rewrites routes of the old syntax.

pub mod config;
pub mod corrections;
pub mod daemons;
pub mod doctor;
pub mod route_migration;
pub mod transforms;
pub mod value_explanation;
