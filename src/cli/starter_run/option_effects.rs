//! Refusal of options that have no effect because no job is run.

use clap::ArgMatches;

use super::options::was_given;
use crate::cli::common::Problem;

/// Option that prevents the job from being run, and the options that then have no effect.
struct JoblessMode {
    mode: &'static str,
    unused: &'static [&'static str],
}

const JOBLESS_MODES: [JoblessMode; 4] = [
    JoblessMode {
        mode: "classad",
        unused: &["ads", "from", "strict_input", "events", "timestamps", "played_as", "control", "header"],
    },
    JoblessMode {
        mode: "events_of",
        unused: &["ads", "events", "timestamps", "played_as", "control", "header", "append"],
    },
    JoblessMode {
        mode: "ask",
        unused: &[
            "ads",
            "slot_ads",
            "job_input_ad",
            "from",
            "strict_input",
            "events",
            "timestamps",
            "played_as",
            "header",
            "append",
            "log",
            "job_stdin",
            "job_stdout",
            "job_stderr",
            "interactive",
        ],
    },
    JoblessMode {
        mode: "clean",
        unused: &["ads", "from", "strict_input", "events", "timestamps", "played_as", "control", "header"],
    },
];

/// Returns the name of an option as the user writes it.
fn written_name(option: &str) -> String {
    match option {
        "played_as" => "--as".to_owned(),
        option => format!("--{}", option.replace('_', "-")),
    }
}

/// Refuses options that have no effect because another option prevents the job from being run.
///
/// # Errors
/// Returns an error that names the first such option.
pub(super) fn refuse_ineffective_options(matches: &ArgMatches) -> Result<(), Problem> {
    for JoblessMode { mode, unused } in &JOBLESS_MODES {
        if !was_given(matches, mode) {
            continue;
        }
        if let Some(option) = unused.iter().find(|option| was_given(matches, option)) {
            let (option, mode) = (written_name(option), written_name(mode));
            return Err(Problem::usage(format!("{option} has no effect with {mode}: no job is run")));
        }
    }
    Ok(())
}
