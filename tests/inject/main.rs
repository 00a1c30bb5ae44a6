//! Fault injection: small workloads of the programs run below strace, in which each system call fails once and signals
//! arrive at calls. After each fault the program has neither panicked nor hung, each job has one outcome or is named,
//! and the next start leaves nothing behind.
//!
//! A run of the tests samples each workload for a few seconds. `INJECT_SECONDS=3600 INJECT_SEED=7 cargo test --test
//! inject -- --nocapture --test-threads 1` covers all calls and samples other errnos and signals for the rest of the time;
//! `INJECT_FAULT=openat:EMFILE:12` repeats one fault, with `INJECT_QUIET=1` under `--quiet`.

#![cfg(feature = "cli")]
#![allow(clippy::print_stdout, reason = "calls that failed, and outcomes")]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which fail by it")]

mod campaign;
#[path = "../it/support/dice.rs"]
mod dice;
mod fault;
mod router;
mod slots;
mod starter;
mod strace;
mod suite;
mod workload;

use std::sync::Mutex;

use campaign::Extent;
use workload::Workload;

/// Campaigns run one at a time, because each checks control groups and needs the time that it gets.
static TURN: Mutex<()> = Mutex::new(());

fn inject(workload: &dyn Workload) {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match strace::missing() {
        Some(reason) => println!("skipped: {reason}"),
        None => campaign::run(workload, &Extent::read()),
    }
}

#[test]
fn slots_lose_no_job_silently_when_a_system_call_fails() {
    inject(&slots::Slots);
}

#[test]
fn a_starter_with_transfer_ends_its_job_once_when_a_call_fails() {
    inject(&starter::Starter::Transfer);
}

#[test]
fn a_starter_with_a_container_removes_it_when_a_call_fails() {
    inject(&starter::Starter::Container);
}

#[test]
fn a_router_loses_no_job_and_routes_none_twice_when_a_call_fails() {
    inject(&router::Router);
}

#[test]
fn a_suite_of_hook_tests_passes_only_with_its_report_when_a_call_fails() {
    inject(&suite::Suite);
}
