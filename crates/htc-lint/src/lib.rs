//! What is wrong in a configuration, in transforms and on a machine, and what the daemons pass over in silence.
//!
//! [`config`] are the rules of the language itself, [`daemons`] those of hooks, slots and routes, which need the crates that read
//! these values; [`transforms`] are those of transforms. [`doctor`] looks at the machine, [`story`] tells where a value comes from,
//! [`conversion`] writes routes of the old syntax anew.

pub mod config;
pub mod conversion;
pub mod daemons;
pub mod doctor;
pub mod story;
pub mod transforms;
