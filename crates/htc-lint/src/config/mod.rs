//! Finding what is wrong in a configuration and what the daemons pass over in silence.
//!
//! Every rule must be right nearly always: a warning that people learn to skip is worse than none. What only may be
//! wrong (a name that some script may read) is left alone or told with its reason.

mod brackets;
mod families;
mod known_names;
mod lint_subject;
mod list_rules;
mod name_rules;
mod name_status;
pub mod name_usage;
mod parameter_names;
mod reference_rules;
mod referenced_names;
mod removed_parameters;
mod rules;
mod script_mentions;
mod value_rules;

pub use brackets::{UnbalancedBracket, find_unbalanced};
pub use htc_config::finding::{Finding, sort_findings};
pub use htc_config::source_location::SourceLocation;
pub use known_names::KnownParameterNames;
pub use lint_subject::LintSubject;
pub use name_status::{NameStatus, UnreadReason};
pub use parameter_names::DAEMON_NAMES;
pub use rules::lint;
