//! `htc-router-status`: see `htc_hooks::cli::router_status`.

use std::process::ExitCode;

fn main() -> ExitCode {
    htc_hooks::cli::router_status::PROGRAM.main()
}
