//! One hook, called as its real caller would call it, and what that caller would do with the answer.
//!
//! [`Case`] is what the caller knows, [`Place`] where the hook runs, [`call`] runs it, [`verdict`] decides with the code
//! of the machines, and [`find()`] says what is wrong with the hook whatever the verdict. Nothing here prints.

mod again;
mod answered;
mod call;
mod caller;
mod case;
mod change;
mod cron_heard;
mod cron_play;
mod cron_single;
mod decision;
mod expectation;
mod facts;
mod find;
mod find_output;
mod finding;
pub mod fuzz;
pub mod fuzz_search;
mod here;
mod place;
pub mod pool;
pub mod queue;
pub mod record;
pub mod replay;
pub mod samples;
mod sent;
mod setup;
mod shown;
pub mod suite;
mod suite_case;
mod suite_compare;
mod suite_cron;
mod suite_error;
pub mod suite_run;
mod suite_update;
pub mod suite_words;
mod tally;
mod verdict;

pub use again::Timing;
pub use call::{Ended, Ending, Outcome, call};
pub use caller::{PATIENCE, caller_environment, default_config, default_settings, patience};
pub use case::{Case, Protocol, Route, known_words};
pub use change::{Change, changes};
pub use cron_heard::CronHeard;
pub use cron_play::{CronList, CronPlan, CronPlay, Pause, PlayEvent};
pub use cron_single::{SingleCron, cron_surroundings, merged, sample_slot};
pub use decision::Decision;
pub use expectation::{Expectation, unmet};
pub use facts::facts;
pub use find::find;
pub use finding::{Finding, Rule};
pub use here::not_done_here;
pub use place::Place;
pub use sent::Around;
pub use setup::{CallError, Setup, put_variables};
pub use shown::{Begun, Shown};
pub use suite_compare::Done;
pub use suite_cron::manager as cron_manager;
pub use suite_error::CaseError;
pub use suite_update::update;
pub use tally::{Common, Group, Tally};
pub use verdict::{Verdict, verdict};
