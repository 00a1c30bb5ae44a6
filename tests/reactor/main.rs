//! Tests of children and hooks that are called in the test's own process. A reactor makes its process the
//! reaper of orphans, so tests of programs (`tests/it`), some of which leave orphans on purpose, run in
//! another process.

// Clippy's settings for tests do not apply to their helpers.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../it/support/children.rs"]
mod children;
mod cron_faults;
mod hook_test_engine;
mod hooks;
#[path = "../it/support/queue_of_files.rs"]
mod queue_of_files;
mod queue_proof;
mod reactor;
mod sandbox;
