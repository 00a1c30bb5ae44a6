//! Will this configuration work here? Each thing that a run needs is looked at with what the run itself uses to look at it; nothing
//! is changed, and nothing is run but what a run would ask at its start.

mod check;
mod disk;
mod examine;
mod hooks;
mod job;
mod machine;
mod patient;
mod places;

pub use check::{Check, Standing};
pub use examine::examine;
pub use job::rehearsed;
pub use patient::Patient;
