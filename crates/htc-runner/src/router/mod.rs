//! Runners of the job router.
//!
//! | file | subject |
//! |---|---|
//! | `hooks` | calls of a router hook, each run to its end |
//! | `job_directory` | a directory of job ads as a queue |
//! | `submission` | submission of a routed job through a command |
//! | `spool` | files of sandboxed jobs |
//! | `single_job_router` | routing of single jobs, without a queue |
//! | `options` | options of a router run |
//! | `live_router` | router over a directory of job ads |
//! | `shutdown_conditions` | DAEMON_SHUTDOWN |
//! | `token_files` | token files created for routed jobs |
//! | `simulate` | jobs over time with a manual clock |

mod hooks;
mod job_directory;
mod job_file;
mod live_router;
mod options;
mod shutdown_conditions;
mod single_job_router;
mod spool;
mod submission;
mod token_files;
pub mod token_signing;

pub use hooks::{CompletedHook, HookRunner, NoHookReason};
pub use job_directory::JobDirectory;
pub use live_router::{RouterRunError, RouterRunOutcome, RoutingFailure, run};
pub use options::{RouterOptions, StopConditions};
pub use single_job_router::{RoutingNotice, RoutingOutcome, SingleJobRouter};
