//! What the machine keeps between two events: plain data, and what they can say of themselves. They do not know the machine.

pub(super) mod container;
pub(super) mod job_end;
pub(super) mod job_run;
pub(super) mod phase;
pub(super) mod shutdown_requests;
pub(super) mod transfer_progress;
pub(super) mod usage;
