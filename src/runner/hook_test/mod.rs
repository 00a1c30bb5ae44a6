//! One hook, called as its real caller would call it, and what that caller would do with the answer.
//!
//! [`Case`] is what the caller knows, [`Place`] where the hook runs, [`call`] runs it, [`verdict`] decides with the code
//! of the machines, and [`find()`] says what is wrong with the hook whatever the verdict. Nothing here prints.

mod call;
mod caller;
mod case;
mod change;
mod cron_heard;
mod cron_play;
mod decision;
mod facts;
mod find;
mod find_output;
mod finding;
pub mod fuzz;
mod here;
mod place;
pub mod pool;
pub mod queue;
pub mod record;
pub mod replay;
pub mod samples;
mod sent;
pub mod suite;
pub mod suite_words;
mod tally;
mod verdict;

pub use call::{Ended, Ending, Outcome, call};
pub use caller::{PATIENCE, caller_environment, default_config, default_settings, patience};
pub use case::{Case, Protocol, Route};
pub use change::{Change, changes};
pub use cron_heard::CronHeard;
pub use cron_play::{CronList, CronPlan, CronPlay, Pause, PlayEvent};
pub use decision::Decision;
pub use facts::facts;
pub use find::find;
pub use finding::{Finding, Rule};
pub use here::not_done_here;
pub use place::Place;
pub use sent::Around;
pub use tally::{Common, Group, Tally};
pub use verdict::{Verdict, verdict};
