//! Language server for HTCondor's configurations, routes and transforms.
//!
//! The server is a state machine without input and output: [`Server::receive`] takes the messages of an editor and
//! returns the answers, and [`Server::publish`] returns the diagnostics that have changed. The program that drives it
//! reads and writes the messages and decides how long it waits for further changes (`htc-config-dump lsp`).
//!
//! | module | subject |
//! |---|---|
//! | [`server`] | the protocol: life cycle, requests, errors |
//! | [`settings`] | settings of the command line and of the editor |
//! | [`documents`] | open documents and their changes |
//! | [`positions`] | lines and UTF-16 columns, byte offsets |
//! | [`overlay_world`] | the world in which open documents replace files |
//! | [`workspace`], [`configuration`] | the configurations that documents belong to |
//! | [`statements`], [`elements`] | statements with the places of their parts; the elements about which an editor can
//! ask |
//! | [`diagnostics`], [`hover`], [`completion`], [`definition`], [`references`], [`symbols`], [`code_actions`] | one
//! kind of request each |

pub mod code_actions;
pub mod completion;
pub mod configuration;
pub mod definition;
pub mod diagnostics;
pub mod documents;
pub mod elements;
mod expression_words;
pub mod file_uri;
pub mod hover;
pub mod mapped_text;
pub mod overlay_world;
pub mod positions;
pub mod query;
pub mod references;
pub mod server;
pub mod settings;
pub mod statements;
pub mod symbols;
mod vocabulary;
pub mod workspace;

pub use server::{ExitKind, Server};
pub use settings::{ClientSettings, ServerSettings};
