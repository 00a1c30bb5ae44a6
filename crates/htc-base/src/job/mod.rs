//! The words of the field: job ids, universes, job states, hold codes, well-known attribute names.

pub mod attr;
mod hold_code;
mod id;
mod status;
mod universe;

pub use hold_code::HoldCode;
pub use id::JobId;
pub use status::JobStatus;
pub use universe::Universe;
