//! Calls one hook as its real caller would: see `htc-hook-test --help`.

fn main() -> std::process::ExitCode {
    htc_hooks::cli::hook_test::PROGRAM.main()
}
