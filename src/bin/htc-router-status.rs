//! Shows routed jobs and their source jobs: see `htc-router-status --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    htc_hooks::cli::router_status::PROGRAM.main()
}
