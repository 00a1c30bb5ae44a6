//! Runs the slots of an execution point: see `htc-slot-run --help`.

fn main() -> std::process::ExitCode {
    htc_hooks::cli::slot_run::PROGRAM.main()
}
