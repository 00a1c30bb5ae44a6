//! Mistakes in a configuration: first the rules of the configuration language, then those of hooks, slots and
//! transforms, which need the crates that read these values.

mod allow_comments;
mod cron_jobs;
mod hook_callers;
mod hook_report;
mod hooks;
mod ignored_text;
mod lint_request;
mod lint_scope;
mod load_warnings;
mod map_lines;
mod repeated_findings;
mod routes;
mod rules;
pub mod rules_file;
mod skipped_branches;
mod slot_layout;
mod slot_shares_of_version;
mod slots;
mod source_lines;
mod target_version;
mod transforms;
mod unread_sources;
pub mod unsupported_here;
mod user_maps;

pub use hook_report::{CallerKeyword, CallerRecord, HookReport, HookReportRow, build_hook_report};
pub use hooks::configured_keywords;
pub use lint_request::{LintRequest, LintResult};
pub use lint_scope::LintScope;
pub use rules::lint;
pub use unread_sources::{check_unread_sources, fatal_error_finding};
pub use user_maps::check_user_maps;
