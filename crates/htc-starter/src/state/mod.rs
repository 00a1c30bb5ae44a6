//! State that the starter keeps between events: plain data that does not depend on the state machine.

pub(super) mod container;
pub(super) mod job_end;
pub(super) mod job_run;
pub(super) mod phase;
pub(super) mod shutdown_requests;
pub(super) mod transfer_progress;
pub(super) mod usage;
