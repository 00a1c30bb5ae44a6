//! Checks whether a configuration will work on this machine.
//!
//! Each check uses the same code as a run. Nothing is changed, and the only programs that are executed are
//! those that a run would execute at its start.

mod check;
mod configuration;
mod directories;
mod disk;
mod doctor_input;
mod hooks;
mod job;
mod machine;
mod run_checks;

pub use check::{CheckStatus, DoctorCheck};
pub use configuration::configuration_checks;
pub use doctor_input::DoctorInput;
pub use job::rehearse_job;
pub use run_checks::run_all_checks;
