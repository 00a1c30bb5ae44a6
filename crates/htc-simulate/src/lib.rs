//! Months of an execution point in a second: scenarios, their workloads, the engine that plays them, what came of it.
//!
//! One format of scenarios is for slots and for routes (`htc-scenario(5)`). The machines are those that run live; the clock is
//! moved by hand, from one thing that happens to the next, and no process is started.

mod actions;
pub mod chance;
mod check;
mod counted;
mod decided;
mod engine;
mod fate;
mod history;
mod host;
mod in_order;
mod origins;
mod own;
mod parting;
mod pattern;
pub mod picture;
pub mod plan;
mod queue;
mod remember;
mod result;
pub mod router;
pub mod scenario;
mod scenario_error;
mod scenario_read;
mod silence;
mod simulation;
pub mod summary;
pub mod timeline;
pub mod times;
mod why;
mod workload;

pub use decided::{Asking, Courses, Decided, decided, of_fates};
pub use fate::{Cause, Fate, Place, Whose};
pub use history::{Files, LeftOut};
pub use origins::Origins;
pub use parting::{Difference, Fared, Parting};
pub use plan::{MachinePlan, Plan, PlanError};
pub use result::{Played, Silent};
pub use scenario::{Players, Scenario};
pub use scenario_error::ScenarioError;
pub use simulation::{Play, Seen, Simulation, Tell};
pub use summary::Summary;
pub use timeline::Timeline;
pub use why::{AtSlot, Changed, JobStory, SlotStory, Step};
pub use workload::{Job, Workload, WorkloadError};

#[cfg(test)]
mod of_text;
