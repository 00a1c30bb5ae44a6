//! Routes and transforms job ads offline: see `htc-router-translate --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    htc_hooks::cli::router_translate::PROGRAM.main()
}
