//! The execution point as a pure machine: resources, slots, claims, policy, draining, startd cron.
//!
//! The machine is the whole execution point, not one slot: draining, shared resources and policies that look at
//! other slots need all of them. It sees no clock, no file and no process: `step(now, event) -> actions`.

mod claim_id;
mod fetch_verdict;
mod state;

pub use claim_id::ClaimId;
pub use fetch_verdict::{
    FetchDecision, FetchVerdict, Fetched, add_requests, fetch_verdict, read_fetched, why_refused,
};
pub use state::{Activity, State};
