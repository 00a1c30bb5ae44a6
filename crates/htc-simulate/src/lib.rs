//! Simulation of an execution point or a job router: months take about a second. Contains scenarios, workloads, the
//! engine, and the results.
//!
//! Slots and routes use the same scenario format (`htc-scenario(5)`). The state machines are those of the live
//! runners. The simulated clock jumps from one event to the next, and no process is started.

mod actions;
mod counted_fetches;
mod deciding_expressions;
mod divergence;
mod engine;
mod host;
mod job_event_recording;
mod job_events;
mod job_files;
mod parameter_origins;
mod per_job_attributes;
pub mod picture;
pub mod plan;
mod presence;
pub mod random;
mod refused_jobs;
pub mod router;
pub mod scenario;
mod scenario_check;
mod scenario_error;
mod scenario_read;
mod simulation;
mod simulation_result;
mod sorted_queue;
mod state_activity;
pub mod summary;
pub mod timeline;
pub mod times;
mod trace;
mod unfetched_jobs;
mod unstarted_jobs;
mod waiting_jobs;
mod workload;

pub use deciding_expressions::{
    DecidingExpression, SimulationSource, SlotChangeQuery, explain_job_events, explain_slot_changes,
};
pub use divergence::{DivergenceFinder, JobDivergence, RunDifference};
pub use job_events::{JobEventCause, RecordedJobs, SimulatedJobEvent, SlotIdentity};
pub use job_files::{JobFiles, SkippedAd};
pub use parameter_origins::ParameterOrigins;
pub use plan::{MachinePlan, PlanError, SimulationPlan};
pub use scenario::{Scenario, SimulationKind};
pub use scenario_error::ScenarioError;
pub use simulation::{EventSink, Simulation, SimulationOptions, SlotView};
pub use simulation_result::{NonFetchingSlots, SimulationResult};
pub use state_activity::StateActivity;
pub use summary::Summary;
pub use timeline::Timeline;
pub use trace::{JobTrace, JobTraceEvent, SlotChange, SlotLookup, SlotTrace};
pub use workload::{Job, Workload, WorkloadError};

#[cfg(test)]
mod of_text;
