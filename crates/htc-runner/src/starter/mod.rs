//! Execution of the actions of a job's state machine: scratch directory, hooks, the job itself, its log and its ads.
//!
//! [`plan()`] reads configuration and ad and creates the state machine; [`run_starter`] drives it with real
//! processes, [`rehearse()`] without any process.

mod accounts;
mod capabilities;
mod cleaning;
mod control;
mod control_group;
mod control_group_limits;
mod credential_files;
mod credentials;
mod disk_scan;
mod docker_socket;
mod end_requests;
mod execution_context;
mod file_transfer;
mod hook_calls;
mod isolation;
mod job_child;
mod job_handover;
mod job_process;
mod notice;
mod observer;
mod output_files;
mod plan;
mod plan_parameters;
mod plan_paths;
mod probe;
mod rehearsal;
mod reopened_directory;
mod run;
mod run_accounts;
mod run_preview;
mod run_request;
mod run_state;
mod running_process;
mod runtime_calls;
mod sandbox;
mod scratch;
mod state_file;
mod state_records;
mod system_program;
mod transfer_children;
mod usage_sampling;
mod user_log;
mod visa;
mod volume;
mod volume_group;

pub use accounts::{CondorIdsError, condor_identity, condor_ids, in_primary_group, queue_owner};
pub use capabilities::{CapabilityError, StarterCapabilities};
pub use cleaning::{CleanupFinding, ExecuteCleaner, has_leftovers, is_starter_gone, kill_tree};
pub use control::{
    ControlCommand, ORDER_COMMANDS, StarterOrder, StarterReply, listen, parse_client_command, send_order,
};
pub use credential_files::{read_all_credentials, sends_kerberos};
pub use execution_context::ExecutionContext;
pub use file_transfer::{FileTransfer, FileTransferParameters, TransferHelper};
pub(crate) use job_child::find_program as tool_path;
pub use job_handover::{hand_over, handed_over_ad_length, job_note, take_job, withdraw_job};
pub use observer::{StarterObservation, StarterObserver};
pub use output_files::UPDATE_FILE;
pub use plan::{Plan, plan};
pub use plan_parameters::check_parameters;
pub use plan_paths::{read_execute_directory, slot_name_of_log};
pub use probe::{PluginQueryError, RuntimeProbe};
pub use rehearsal::{RehearsalResult, RehearsalScript, rehearse};
pub use run::{StarterOutcome, handled_signals, run_starter};
pub use run_preview::RunPreview;
pub use run_request::RunRequest;
pub use run_state::ControlInputs;
pub use sandbox::{Sandbox, SandboxError};
pub use state_file::{StateFile, is_starter_alive};
pub use user_log::{LogLocking, UserLog, UserLogInputs, UserLogSettings};
pub use visa::Visa;
pub use volume::{ScratchVolume, check_volume_support};
