//! The ad transform language of routes and access points.
//!
//! A transform is a list of statements that is executed from top to bottom for each ad; macros are expanded
//! when a line is reached. This crate parses the text once ([`Transform`]), so that only the work that
//! depends on the ad is repeated for each ad. Reference: `xform_utils.cpp`, the statement reader of
//! `config.cpp` and `tokener.cpp` of 25.14.
//!
//! | module | subject |
//! |---|---|
//! | `rules_text` | lines of a rules text, their continuation and positions |
//! | `statement` | classification of one line |
//! | `command` | tokenizer of the arguments of SET, COPY and the other commands |
//! | `header` | NAME, REQUIREMENTS, UNIVERSE and TRANSFORM, extracted at load |
//! | `program` | a transform, parsed once |
//! | `value_template` | values that contain only plain macro references |
//! | `step_memo` | results that a step caches from ad to ad |
//! | `macros` | the macro table of one run and the lookup of `$(NAME)` |
//! | `session` | state that is passed from one transform to the next, and macro expansion with it |
//! | `run_steps` | execution of a transform's statements |
//! | `execute_command` | effects of the commands on an ad |
//! | `attribute_pattern` | `/regex/flags` and `\1` templates |
//! | `iterate`, `glob`, `iteration_plan` | TRANSFORM with items and counts |
//! | `include` | texts inserted by `include` |
//! | `scope_reference` | references to a scope in the text of an expression |
//! | `route_conversion`, `old_route_reader` | old ClassAd routes, parsed and converted to transforms |
//! | `observer` | events of a run, for traces, messages and differences |

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
    nearest_command,
};
pub use header::{
    IterationStatement, TransformHeader, TransformLoadError, TransformRequirements, requirements_advice,
};
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
