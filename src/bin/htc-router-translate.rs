//! Routes and transforms job ads offline.

use std::process::ExitCode;

fn main() -> ExitCode {
    htc_hooks::cli::router_translate::PROGRAM.main()
}
