//! Examples that other programs take part in, as far as this machine has them: queues and clusters, packages, a pool. They wait
//! for each other's servers more than they compute, so that they run beside each other.
//! They begin in the order of their names: allocations, which sleep longest, first.

#![allow(clippy::print_stdout, reason = "a skipped test says why")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod allocations;
mod packages;
#[cfg(feature = "cli")]
mod pool;
mod queues;
