//! See the library's `cli::starter_run`.

use std::process::ExitCode;

fn main() -> ExitCode {
    htc_hooks::cli::starter_run::PROGRAM.main()
}
