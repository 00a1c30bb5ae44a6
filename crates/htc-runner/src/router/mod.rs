//! Carries out what the router asks for.
//!
//! | file | subject |
//! |---|---|
//! | `hooks` | one call of a router hook, to its end |
//! | `directory` | a directory of job ads as a queue |
//! | `submission` | one copy submitted through a command |
//! | `spool` | files of sandboxed jobs |
//! | `one_by_one` | jobs routed one by one, without a queue |
//! | `options` | what such a run is given |
//! | `live` | the router over such a directory |
//! | `shutdown` | DAEMON_SHUTDOWN |
//! | `tokens` | token files that are made for copies |
//! | `simulate` | jobs over time with a manual clock |

mod directory;
mod hooks;
mod live;
mod one_by_one;
mod options;
mod shutdown;
mod spool;
mod submission;
pub mod token;
mod tokens;

pub use directory::Directory;
pub use hooks::{Called, HookRunner, NoHook};
pub use live::{Ended, Failure, RunError, run};
pub use one_by_one::{OneByOne, Outcome, Told};
pub use options::{Options, Until};
pub use shutdown::STATUS as SHUTDOWN_STATUS;
