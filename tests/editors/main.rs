//! Tests of the language server `htc-config-dump lsp` with a scripted client, and of the grammars in `editors/`.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests fail by it")]

mod client;
mod diagnostics;
mod grammars;
mod life_cycle;
mod queries;
mod tokenizer;
