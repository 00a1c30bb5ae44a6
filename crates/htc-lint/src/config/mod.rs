//! Rules that find mistakes in a configuration which the daemons ignore without a message.
//!
//! Nearly all findings of a rule must be right: users learn to ignore a rule that is often wrong. What is
//! only possibly wrong (a name that some script may read) is not reported, or reported with the reason.

mod attribute_owners;
mod brackets;
mod command_arguments;
mod condition_outcomes;
mod contradictions;
mod expanded_values;
mod expression_rules;
mod expression_types;
mod families;
mod known_attributes;
mod known_names;
mod leftover_rules;
mod lint_subject;
mod list_rules;
mod name_rules;
mod name_status;
pub mod name_usage;
mod parameter_names;
mod printed_values;
mod reference_rules;
mod referenced_names;
mod removed_parameters;
mod rules;
mod script_mentions;
mod type_rules;
mod user_map_names;
mod value_rules;
mod written_pieces;

pub use brackets::{UnbalancedBracket, find_unbalanced};
pub use htc_config::finding::{Finding, sort_findings};
pub use htc_config::source_location::SourceLocation;
pub(crate) use known_attributes::is_known_attribute;
pub use known_attributes::{attribute_names, attribute_type_word};
pub use known_names::KnownParameterNames;
pub use lint_subject::LintSubject;
pub use name_status::{NameStatus, UnreadReason};
pub use parameter_names::DAEMON_NAMES;
pub use printed_values::{PrintedMistake, PrintedValueFinding, check_printed_value};
pub(crate) use printed_values::{check_job_expression, suggest_attribute};
pub use rules::lint;
