//! Examples that use other programs, if they are installed: queues and clusters, packages, a pool. They
//! mostly wait for servers, so they run in parallel. They start in the order of their names: allocations,
//! which take longest, first.

#![allow(clippy::print_stdout, reason = "a skipped test says why")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod allocations;
mod packages;
#[cfg(feature = "cli")]
mod pool;
mod queue_faults;
mod queues;
