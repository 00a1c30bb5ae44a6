//! The macro configuration: statements, conditions, includes, templates, expansion, and typed values with
//! their origin.
//!
//! [`Config::load`] reads all sources in the reference's order; [`Config::view`] gives the values as one
//! subsystem sees them. The language itself ([`lines`], [`statement`], [`condition`], [`expand`]) is shared
//! with transforms and routes, which have their own [`MacroSource`].

mod advice;
pub mod command;
pub mod compare;
pub mod condition;
mod config_error;
pub mod config_view;
pub mod defaults;
pub mod descriptions;
pub mod detected;
pub mod evaluate;
pub mod expand;
pub(crate) mod filename;
pub mod finding;
pub mod lines;
pub mod lint_rule;
pub mod load;
mod load_options;
pub mod load_warning;
mod loader;
pub mod macro_definition;
pub(crate) mod macro_functions;
pub mod macro_reference;
pub mod macro_set;
pub mod parameter_rows;
pub mod parameter_versions;
pub mod parse;
pub(crate) mod printf_format;
pub mod redact;
pub mod registry;
pub mod round_trip;
mod setting;
pub mod shared_text;
pub mod source_index;
pub mod source_location;
pub(crate) mod sources;
pub mod statement;
pub mod statement_text;
pub mod string_pool;
pub mod supported;
pub mod target_version;
pub mod template;
pub mod unsupported;
pub mod use_counts;
mod user_maps;
pub mod value_check;
pub mod value_error;
pub mod version;
pub mod write_config;

pub use advice::{Advice, IntoAdvice};
pub use command::CommandPolicy;
pub use config_error::{ConfigError, ErrorLocation};
pub use config_view::ConfigView;
pub use expand::{ExpandError, FunctionFailure, MacroSource};
pub use load::Config;
pub use load_options::LoadOptions;
pub use load_warning::{LoadWarning, LoadWarningSubject};
pub use loader::{SkippedBranch, SkippedDefinition, UnreadSource, UnreadSourceKind};
pub use macro_definition::{
    Definition, DefinitionPlace, FoundMacro, LookupContext, MacroEntry, SourceId, SourceKind,
};
pub use macro_set::MacroSet;
pub use setting::{Setting, SettingOrigin};
pub use shared_text::SharedText;
pub use user_maps::UserMapError;
pub use value_error::ValueError;

#[cfg(test)]
pub(crate) mod of_text;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
