//! Runners of the job router.
//!
//! | file | subject |
//! |---|---|
//! | `hooks` | one call of a router hook, to its end |
//! | `job_directory` | a directory of job ads as a queue |
//! | `submission` | one copy submitted through a command |
//! | `spool` | files of sandboxed jobs |
//! | `single_job_router` | jobs routed one by one, without a queue |
//! | `options` | what such a run is given |
//! | `live_router` | the router over such a directory |
//! | `shutdown_conditions` | DAEMON_SHUTDOWN |
//! | `token_files` | token files that are made for copies |
//! | `simulate` | jobs over time with a manual clock |

mod hooks;
mod job_directory;
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
pub use shutdown_conditions::EXIT_STATUS as SHUTDOWN_STATUS;
pub use single_job_router::{RoutingNotice, RoutingOutcome, SingleJobRouter};
