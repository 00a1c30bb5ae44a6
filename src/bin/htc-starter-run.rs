//! Runs one job as a starter does: see `htc-starter-run --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    htc_hooks::cli::starter_run::PROGRAM.main()
}
