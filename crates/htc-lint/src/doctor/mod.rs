//! Will this configuration work here? Each thing that a run needs is looked at with what the run itself uses to look at it; nothing
//! is changed, and nothing is run but what a run would ask at its start.

mod check;
mod directories;
mod disk;
mod doctor_input;
mod hooks;
mod job;
mod machine;
mod run_checks;

pub use check::{CheckStatus, DoctorCheck};
pub use doctor_input::DoctorInput;
pub use job::rehearse_job;
pub use run_checks::run_all_checks;
