//! Execution of the actions of the execution point's state machine: hooks, starters, signals, timers.
//!
//! [`run`] is the live runner: one thread, one reactor. The state machine makes all decisions; this module carries
//! them out and reports failures to the state machine as events.

mod account;
mod backfill_client;
mod benchmarks;
mod control_command;
mod control_handler;
mod control_keys;
mod control_protocol;
mod cron;
mod execute;
mod idle;
mod image_cache;
mod journal_records;
mod last_verdicts;
mod live_execution_point;
mod machine_sampler;
mod notices;
mod offers;
mod options;
mod passive_execution_point;
mod private_directory;
mod relay;
mod run;
mod run_counters;
mod run_journal;
mod running_hook;
mod running_hooks;
mod running_starter;
mod setting_warnings;
mod sleep_method;
mod sleep_progress;
mod starter_calls;
mod starter_config;
mod starter_orders;
mod starter_program;
mod starter_snapshots;
mod state_directory;

pub use account::{HookAccount, HookAccountWarning, hook_account};
pub use backfill_client::backfill_client_ad;
pub use control_keys::InvalidRequest;
pub use control_protocol::{
    ActiveDrain, RefusalKind, RunningSlotAd, SlotControlAnswer, SlotControlRequest, SlotStatus, VacateSpeed,
    send_request,
};
pub use execute::{DirectoryError, DirectoryObstacle, check_directories, check_room, clean_execute};
pub use idle::InputDevices;
pub use live_execution_point::ExecutionPointOutcome;
pub use machine_sampler::MachineSampler;
pub use notices::{notice_to_event, slot_name};
pub use offers::{
    CandidateSlots, KnownAttributes, OfferChange, PoolSlots, SlotDecision, UnmetCondition, offer_changes,
};
pub use options::{ConfigReloader, ExecutionPointSetup, StarterConfigCheck};
pub use passive_execution_point::{configured_surroundings, passive_execution_point};
pub use private_directory::{PrivateDirectory, remove_abandoned_directories};
pub use run::{ExecutionPointError, run};
pub use run_counters::{HookCounters, RunCounters};
pub use run_journal::{JobToReturn, RecoveredRun, RunJournal, format_journal_error};
pub use setting_warnings::{claim_lease_seconds, empty_macro_warning, setting_warnings};
pub use sleep_method::SleepMethod;
pub use starter_config::StarterConfig;
pub use starter_program::{StarterProgram, StarterProgramError};
pub use state_directory::{default_socket, make_state_directory, state_directory};
