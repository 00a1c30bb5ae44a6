//! Compares the library and the programs with golden files and recordings; shared by the tests and
//! `examples/corpus.rs`.

#![allow(dead_code, reason = "each test and the example use their part of the harness")]
#![allow(unreachable_pub, reason = "the harness is a module of each test and of the example, not a library")]
#![allow(clippy::print_stdout, reason = "the harness reports to people")]

pub mod golden;
pub mod programs;
pub mod transcript;
pub mod verdicts;
