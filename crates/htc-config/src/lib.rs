//! The macro configuration: statements, conditions, includes, templates, expansion, typed values with their origin.
//!
//! [`Config::load`] reads all sources in the reference's order; [`Config::view`] answers questions as one subsystem
//! would ask them. The language itself ([`lines`], [`statement`], [`condition`], [`expand`]) is shared with transforms
//! and routes, which bring their own [`MacroSource`].

pub mod command;
pub mod compare;
pub mod condition;
mod config_error;
pub mod defaults;
pub mod descriptions;
pub mod detected;
pub mod evaluate;
pub mod expand;
pub(crate) mod filename;
pub mod finding;
pub(crate) mod format;
pub(crate) mod functions;
pub mod honoured;
pub mod lines;
pub mod load;
mod load_options;
mod loader;
pub mod macro_set;
pub mod not_done;
pub mod parse;
pub mod print;
pub mod reads_back;
pub mod redact;
pub mod reference;
pub mod rows;
mod setting;
pub mod source_index;
pub(crate) mod sources;
pub mod spot;
pub mod statement;
pub mod string_pool;
pub mod template;
pub mod use_counts;
mod user_maps;
pub mod value_error;
pub mod version;
pub mod view;
pub mod write_config;

pub use command::CommandPolicy;
pub use config_error::{ConfigError, ErrorPlace};
pub use expand::{ExpandError, MacroSource, Message};
pub use load::{Config, Warning};
pub use load_options::LoadOptions;
pub use loader::{NotRead, NotReadKind, Skipped};
pub use macro_set::{Definition, Entry, Found, MacroSet, Place, SourceId, SourceKind, Who};
pub use setting::{Origin, Setting};
pub use value_error::ValueError;
pub use view::View;

#[cfg(test)]
pub(crate) mod of_text;
