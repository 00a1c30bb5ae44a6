//! What the machine keeps between two events: plain data, and what they can say of themselves. They do not know the machine.

pub(super) mod asked;
pub(super) mod closing;
pub(super) mod container;
pub(super) mod job_run;
pub(super) mod moved;
pub(super) mod phase;
pub(super) mod usage;
