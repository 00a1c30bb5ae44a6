//! State machine of the execution point: resources, slots, claims, policy, draining, startd cron.
//!
//! One state machine handles all slots of the execution point, because draining, shared resources and policies that refer to
//! other slots need all of them. It uses no clock, file or process: `step(now, event) -> actions`.

mod administrator_commands;
mod backfill_client;
mod backfill_conflicts;
mod benchmarks;
mod change_prediction;
mod change_reason;
mod claim_command;
mod claim_id;
mod claim_protocol;
pub mod configure;
mod consumption_policy;
pub mod cron_ads;
mod cron_merge;
pub mod cron_schedule;
mod device_choice;
mod devices;
mod drain;
mod drain_request;
mod dynamic_slots;
mod evaluated_condition;
mod events;
mod execution_point;
mod execution_point_state;
mod explain;
mod fetch_verdict;
mod fetch_work;
mod hibernation;
mod hook_input;
mod hook_quirks;
mod idle_slots;
mod internal_ad;
mod job_eviction;
mod job_load;
mod job_state_refusal;
mod latches;
mod layout;
mod policy;
pub mod policy_parameter;
mod poll_skipping;
mod publish_set;
mod queries;
mod reconfigure;
mod recovery;
mod referenced_attributes;
mod refresh;
mod resources;
mod runtime_state;
mod settings;
mod shutdown;
mod skipped_fetches;
mod sleep_state;
mod slot;
mod slot_ad;
mod slot_state;
mod slot_type_shares;
mod slots;
mod timers;
mod transition;
mod unfit_reason;

pub use backfill_client::BOINC_CLIENT;
pub use change_reason::{ChangeReason, PolicyValue};
pub use claim_command::{ClaimCommand, ClaimRequest, Deactivation};
pub use claim_id::ClaimId;
pub use configure::{
    ConfigureError, HookWarning, HostMeasurements, RequestedSlots, SettingsWithWarnings, configure,
    read_slot_policy, requested_slots,
};
pub use cron_merge::{decide_merge, merge_cron_ad};
pub use devices::{DeviceConstraint, Devices, PropertyNesting};
pub use drain_request::{DrainCompletion, DrainRequest, DrainSpeed, DrainStatus};
pub use evaluated_condition::EvaluatedCondition;
pub use events::{
    AcceptedJobId, AfterShutdown, ChangeCause, HookCall, HookRunId, JobUsage, Measurements, ShutdownMode,
    SlotHookType, SlotKey, SlotNotice, StartdAction, StartdEvent, StarterId, StarterLaunch, StarterSignal,
    VacateReason, job_id,
};
pub use execution_point::ExecutionPoint;
pub use explain::{
    EvaluatedExpression, SlotVerdict, check_slot_ad_devices, is_claimed_by_ad, judge_job_by_ad,
    refusal_by_claim, refusal_by_job,
};
pub use fetch_verdict::{
    FetchDecision, FetchOutcome, FetchOutput, FetchVerdict, add_default_requests, add_hook_keyword,
    is_static_slot_ad, judge_fetch_output, parse_fetch_output, refusal_reason,
};
pub use hook_quirks::{early_accept_decision, evict_claim_decision, failed_fetch_decision};
pub use internal_ad::to_internal_ad;
pub use job_state_refusal::{JOB_STATE_ATTRIBUTES, refusal_by_job_state};
pub use layout::{
    SlotAllocation, SlotConfigFailureMode, SlotLayout, SlotType, SlotVolumes, Volume, bind_devices,
    lay_out_slots,
};
pub use publish_set::{SlotDependence, slot_dependence};
pub use recovery::{JournalRecord, add_record, open_records};
pub use referenced_attributes::referenced_attributes;
pub use resources::{CustomResource, ResourceAmounts};
pub use settings::{
    BackfillSettings, BenchmarkSettings, BrokenReason, CronSettings, ExitLimits, ImageCacheSettings,
    PowerSettings, SlotHookPaths, SlotKind, SlotPlan, SlotRequirements, StartdSettings,
};
pub use sleep_state::{SleepState, SleepSupport};
pub use slot_state::{Activity, SlotState};
pub use slot_type_shares::{
    CustomResourceShare, ResourceShare, ShareListError, ShareListErrorKind, SlotTypeShares,
};
pub use unfit_reason::UnfitReason;
