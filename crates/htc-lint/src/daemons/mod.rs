//! What is wrong in a configuration: the language's own rules, then those of hooks, slots and transforms, which need
//! the rooms that read these values.

mod crons;
pub mod here;
mod hook_report;
mod hooks;
mod judge;
mod rules;
mod scope;
mod slots;
mod transforms;
mod unread;

pub use hook_report::{CallerKeyword, CallerRecord, HookReport, HookRow, hook_report};
pub use hooks::keywords;
pub use judge::{Judgement, Wanted};
pub use rules::lint;
pub use scope::Scope;
pub use unread::{not_read, stop};
