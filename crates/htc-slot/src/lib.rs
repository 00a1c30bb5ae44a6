//! The execution point as a pure machine: resources, slots, claims, policy, draining, startd cron.
//!
//! The machine is the whole execution point, not one slot: draining, shared resources and policies that look at
//! other slots need all of them. It sees no clock, no file and no process: `step(now, event) -> actions`.

mod administrator;
mod asked;
mod backfill;
mod benchmarks;
mod claim_command;
mod claim_id;
mod clause;
mod command;
pub mod configure;
mod conflicts;
mod consumption;
mod core;
mod counted;
pub mod cron_ads;
mod cron_merge;
pub mod cron_schedule;
mod device_choice;
mod devices;
mod drain;
mod drain_request;
mod dynamic;
mod ending;
mod evict;
mod execution_point;
mod explain;
mod fetch;
mod fetch_verdict;
mod interface;
mod internal_ad;
mod kept;
mod latch;
mod layout;
mod lazy;
mod load;
mod policy;
pub mod policy_knob;
mod power;
mod reconfigure;
mod recovery;
mod refresh;
mod resources;
mod rest;
mod settings;
mod shares;
mod single;
mod sleep_state;
mod slot_ad;
mod slots;
mod startd_hooks;
mod state;
mod text;
mod timers;
mod transition;
mod unfit;
mod views;
mod wants;
mod watch;

pub use asked::asked;
pub use backfill::BOINC;
pub use claim_command::{ClaimCommand, ClaimRequest, Deactivation};
pub use claim_id::ClaimId;
pub use clause::Clause;
pub use configure::{
    ConfigureError, Configured, SlotsAskedFor, Surroundings, configure, policy_of, slots_asked_for,
};
pub use cron_merge::{merge, merges_into};
pub use devices::{Constraint, Devices, Nesting};
pub use drain_request::{DrainCompletion, DrainRequest, DrainSpeed, DrainStatus};
pub use execution_point::ExecutionPoint;
pub use explain::{Asked, Offer, consider_ad};
pub use fetch_verdict::{
    FetchAnswer, FetchDecision, FetchVerdict, Fetched, add_keyword, add_requests, fetch_verdict, is_static,
    read_fetched, why_refused,
};
pub use interface::{
    AcceptedJob, Action, Event, HookCall, HookRun, JobUsage, Measured, Notice, Shutdown, SlotHook, SlotKey,
    StarterCall, StarterId, StarterSignal, VacateReason, job_id,
};
pub use internal_ad::internal_ad;
pub use layout::{FailureMode, LaidOut, Layout, SlotType, Volume, Volumes, bind, lay_out};
pub use recovery::{Record, note, recover};
pub use resources::{Amounts, Custom};
pub use settings::{
    Backfilling, BenchmarkSettings, Broken, CronSettings, ImageCacheSettings, Limits, PowerSettings,
    Requirements, Settings, SlotHooks, SlotKind, SlotPlan,
};
pub use shares::{CustomShare, Share, ShareError, ShareErrorKind, Shares};
pub use sleep_state::{SleepState, SleepStates};
pub use startd_hooks::{early_accept, evict_claim, unspawnable_fetch};
pub use state::{Activity, State};
pub use unfit::Unfit;
pub use wants::{Dependence, dependence};
