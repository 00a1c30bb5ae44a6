//! The ad transform language of routes and access points.
//!
//! A transform is a text of statements that is executed top to bottom for each ad; macros are expanded when a line is
//! reached. Here the text is read once ([`Transform`]), so that for each ad only what depends on the ad is done
//! again. Reference: `xform_utils.cpp`, the statement reader of `config.cpp` and `tokener.cpp` of 25.14.
//!
//! | file | subject |
//! |---|---|
//! | `rules` | reading a rules text: lines, continuation, where each stands |
//! | `statement` | one line split into what it asks for |
//! | `command` | the small tokenizer behind SET, COPY and the others |
//! | `envelope` | NAME, REQUIREMENTS, UNIVERSE and TRANSFORM, taken out at load |
//! | `program` | a transform read once |
//! | `template` | values with nothing but plain references in them |
//! | `memo` | what a step remembers from ad to ad |
//! | `macros` | the macro table of one run and where `$(NAME)` looks |
//! | `session` | what passes from one transform to the next, and what is expanded with it |
//! | `steps` | carrying out a transform's statements |
//! | `execute` | what the commands do to an ad |
//! | `pattern` | `/regex/flags` and `\1` templates |
//! | `iterate`, `glob`, `turns` | TRANSFORM with items and counts |
//! | `include` | texts taken in by `include` |
//! | `lint`, `lint_commands`, `lint_conditions`, `lint_finding`, `lint_macros`, `lint_requirements` | mistakes that 25.14 passes over in silence |
//! | `compare` | whether two rule sets do the same |
//! | `cover` | ads that make each part of each condition true and not true |
//! | `legacy`, `old_routes` | old ClassAd routes read and turned into transforms |
//! | `observe` | what happened while applying, for traces, messages and differences |

mod command;
mod envelope;
mod execute;
mod glob;
mod include;
pub mod iterate;
pub mod legacy;
mod macros;
mod memo;
pub mod observe;
mod old_routes;
pub mod pattern;
mod program;
mod rules;
pub mod scope_use;
mod session;
pub mod statement;
mod steps;
mod template;
mod turns;

pub use command::{Attribute, Command, CommandError, Keyword, Pattern, command_hint};
pub use envelope::{Envelope, Iteration, LoadError, Requirements};
pub use include::{IncludeError, Included, Unreadable};
pub use macros::{BuiltIn, Macros, Mark, PLATFORM, Scope, Turn};
pub use observe::{Event, Failure, Idle, Inclusion, Observer, Problem, ProblemKind, Reason, Silent};
pub use program::Transform;
pub use rules::{Line, LineText, SourceText};
pub use session::Session;
pub use statement::{Append, Assignment, Directive, Statement, is_macro_name};
pub use steps::Checked;
pub use turns::{Plan, PlanError};
