//! Definitions about jobs: job ids, universes, job states, hold codes, well-known attribute names.

pub mod attr;
mod hold_code;
mod job_id;
mod job_status;
mod universe;

pub use hold_code::HoldCode;
pub use job_id::JobId;
pub use job_status::JobStatus;
pub use universe::Universe;
