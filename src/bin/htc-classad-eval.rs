//! Evaluates, explains, filters and matches ClassAds: see `htc-classad-eval --help`.

fn main() -> std::process::ExitCode {
    htc_hooks::cli::classad_eval::PROGRAM.main()
}
