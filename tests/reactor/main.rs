//! Children and hooks, called in the process of the test. A reactor makes its process the one that orphans come to: tests
//! of programs (`tests/it`), some of which leave orphans on purpose, are a process of their own.

// Clippy's permission for tests does not reach their helpers.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../it/children.rs"]
mod children;
mod cron_faults;
mod hook_test_engine;
mod hooks;
#[path = "../it/queue_of_files.rs"]
mod queue_of_files;
mod queue_proof;
mod reactor;
mod sandbox;
