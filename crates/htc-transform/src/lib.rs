//! The ad transform language of routes and access points.
//!
//! A transform is a text of statements that is executed top to bottom for each ad; macros are expanded when a line is
//! reached. Here the text is read once ([`Transform`]), so that for each ad only what depends on the ad is done
//! again. Reference: `xform_utils.cpp`, the statement reader of `config.cpp` and `tokener.cpp` of 25.14.
//!
//! | file | subject |
//! |---|---|
//! | `rules_text` | reading a rules text: lines, continuation, where each stands |
//! | `statement` | one line split into what it asks for |
//! | `command` | the small tokenizer behind SET, COPY and the others |
//! | `header` | NAME, REQUIREMENTS, UNIVERSE and TRANSFORM, taken out at load |
//! | `program` | a transform read once |
//! | `value_template` | values with nothing but plain references in them |
//! | `step_memo` | what a step remembers from ad to ad |
//! | `macros` | the macro table of one run and where `$(NAME)` looks |
//! | `session` | what passes from one transform to the next, and what is expanded with it |
//! | `run_steps` | carrying out a transform's statements |
//! | `execute_command` | what the commands do to an ad |
//! | `attribute_pattern` | `/regex/flags` and `\1` templates |
//! | `iterate`, `glob`, `iteration_plan` | TRANSFORM with items and counts |
//! | `include` | texts taken in by `include` |
//! | `lint`, `lint_commands`, `lint_conditions`, `lint_finding`, `lint_macros`, `lint_requirements` | mistakes that 25.14 passes over in silence |
//! | `compare` | whether two rule sets do the same |
//! | `cover` | ads that make each part of each condition true and not true |
//! | `route_conversion`, `old_route_reader` | old ClassAd routes read and turned into transforms |
//! | `observer` | what happened while applying, for traces, messages and differences |

pub mod attribute_pattern;
mod command;
mod execute_command;
mod glob;
mod header;
mod include;
pub mod iterate;
mod iteration_plan;
mod macros;
pub mod observer;
mod old_route_reader;
mod program;
pub mod route_conversion;
mod rules_text;
mod run_steps;
pub mod scope_reference;
mod session;
pub mod statement;
mod step_memo;
mod value_template;

pub use command::{
    AttributePattern, CommandAttribute, CommandKeyword, CommandSyntaxError, TransformCommand, command_hint,
};
pub use header::{IterationStatement, TransformHeader, TransformLoadError, TransformRequirements};
pub use include::{IncludeCache, IncludeError, UnreadableInclude};
pub use iteration_plan::{IterationPlan, IterationPlanError};
pub use macros::{BuiltInMacros, IterationPosition, MacroScope, MacroTable, MacroTableMark, PLATFORM_NAMES};
pub use observer::{
    FailedInclude, FailureReason, NoEffectReason, Observer, ProblemKind, SilentObserver, TransformEvent,
    TransformFailure, TransformProblem,
};
pub use program::Transform;
pub use rules_text::{RuleLine, RuleLineText, TransformSource};
pub use run_steps::CheckResult;
pub use session::TransformSession;
pub use statement::{
    AssignmentOperator, ConfigDirective, MacroAssignment, TransformStatement, is_macro_name,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
