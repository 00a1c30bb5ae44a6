//! Prints, explains and checks HTCondor configuration: see `htc-config-dump --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    htc_hooks::cli::config_dump::PROGRAM.main()
}
