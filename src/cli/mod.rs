//! The programs: command lines, tables, messages, exit statuses. The only room that prints or exits.
//!
//! One file a program, named like it without `htc-`; each defines a `pub const PROGRAM: Program` and is entered in
//! [`PROGRAMS`], from which man pages, completions and the tests of the common command line are made.

pub mod classad_eval;
pub mod common;
pub mod compat;
mod complete;
pub mod config_dump;
pub mod generate;
pub mod hook_test;
pub mod router_status;
pub mod router_translate;
pub mod slot_run;
pub mod starter_run;
mod transform_report;

use common::Program;

/// All programs, in the order of their names.
pub const PROGRAMS: &[&Program] = &[
    &classad_eval::PROGRAM,
    &config_dump::PROGRAM,
    &hook_test::PROGRAM,
    &router_status::PROGRAM,
    &router_translate::PROGRAM,
    &slot_run::PROGRAM,
    &starter_run::PROGRAM,
];
