//! Programs: command lines, tables, messages, exit statuses. No other module prints or exits.
//!
//! The module of each program is named like the program without `htc-`. It defines a `pub const PROGRAM: Program`, which is
//! listed in [`PROGRAMS`]; man pages, completions and the tests of the common command line are made from that list.

pub mod classad_eval;
pub mod common;
pub mod compat;
mod complete;
pub mod config_dump;
mod explain;
pub mod generate;
pub mod hook_test;
mod lint;
pub mod router_status;
pub mod router_translate;
pub mod slot_run;
pub mod starter_run;
mod transform_report;

use common::Program;

/// All programs, sorted by name.
pub const PROGRAMS: &[&Program] = &[
    &classad_eval::PROGRAM,
    &config_dump::PROGRAM,
    &hook_test::PROGRAM,
    &router_status::PROGRAM,
    &router_translate::PROGRAM,
    &slot_run::PROGRAM,
    &starter_run::PROGRAM,
];
