//! Rules that find mistakes in a configuration which the daemons ignore without a message.
//!
//! Nearly all findings of a rule must be right: users learn to ignore a rule that is often wrong. Text that
//! is only possibly wrong (a name that some script may read) is not reported, or reported with the reason.

mod abstract_outcomes;
mod account_patterns;
mod argument_types;
mod attribute_facts;
mod attribute_owners;
mod brackets;
mod command_arguments;
mod comparison_problem;
mod comparison_rules;
mod condition_outcomes;
mod constants;
mod contradictions;
mod dead_settings;
mod environment_names;
mod expanded_values;
mod expression_parts;
mod expression_rules;
mod expression_types;
mod families;
mod invalid_references;
mod known_attributes;
mod known_names;
mod leftover_rules;
mod lint_subject;
mod list_rules;
mod member_settings;
mod name_rules;
mod name_status;
pub mod name_usage;
mod new_job_rules;
mod parameter_names;
mod precedence;
mod printed_values;
mod reference_rules;
mod referenced_names;
mod removed_parameters;
mod rules;
mod script_mentions;
mod security_levels;
mod self_references;
mod time_kinds;
mod type_rules;
mod type_set;
mod unit_comments;
mod unit_conversion;
mod user_map_names;
mod value_rules;
mod written_pieces;
mod wrong_reader;

pub(crate) use attribute_owners::{is_slot_attribute, job_counterpart};
pub use brackets::{UnbalancedBracket, find_unbalanced};
pub(crate) use expression_parts::own_references;
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
