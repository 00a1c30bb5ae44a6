//! `htc-config-dump`: see the library's `cli::config_dump`.

use std::process::ExitCode;

fn main() -> ExitCode {
    htc_hooks::cli::config_dump::PROGRAM.main()
}
