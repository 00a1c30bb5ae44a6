//! Check that at most one input of a command line is standard input.

use std::ffi::OsStr;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::Problem;

/// Ids of the options and arguments of all programs that name an input for which `-` is standard input.
const INPUT_IDS: [&str; 22] = [
    "ads",
    "job_ad",
    "job_input_ad",
    "slot_ads",
    "routed_ads",
    "my_file",
    "target_file",
    "match",
    "print_format",
    "config_file",
    "reconfig_file",
    "used_by",
    "rules",
    "queue_log",
    "events_of",
    "scenario",
    "compare",
    "cron",
    "gpus",
    "baseline",
    "file",
    "files",
];

/// Returns the error about two inputs, named as on the command line, that are both standard input.
pub(crate) fn stdin_twice_problem(one: &str, other: &str) -> Problem {
    let problem = if one == other {
        Problem::usage(format!("{one} reads standard input twice"))
    } else {
        Problem::usage(format!("{one} and {other} both read standard input"))
    };
    problem.hint("name a file for one of them")
}

/// Refuses a command line that names standard input (`-`) for more than one input.
///
/// # Errors
/// Returns an error if more than one input is standard input.
pub(super) fn refuse_stdin_twice(command: &Command, matches: &ArgMatches) -> Result<(), Problem> {
    let (mut verb, mut arguments) = (command, matches);
    while let Some((name, of_verb)) = arguments.subcommand() {
        let Some(found) = verb.find_subcommand(name) else { break };
        (verb, arguments) = (found, of_verb);
    }
    let all: Vec<&Arg> = verb.get_arguments().chain(command.get_arguments()).collect();
    let mut stdin: Vec<(&str, String)> = Vec::new();
    for id in INPUT_IDS {
        let Some(arg) = all.iter().find(|arg| arg.get_id() == id) else { continue };
        if !matches!(arguments.try_contains_id(id), Ok(true))
            || arguments.value_source(id) != Some(ValueSource::CommandLine)
        {
            continue;
        }
        let values = arguments.get_raw(id).into_iter().flatten();
        let count = values.filter(|value| *value == OsStr::new("-")).count();
        stdin.extend((0..count).map(|_| (id, input_name(arg))));
    }
    // `transform` reads ads from the rest of standard input after the rules, as `condor_transform_ads` does. The verb
    // itself checks if there is any text after the rules.
    if verb.get_name() == "transform"
        && stdin.len() == 2
        && stdin.iter().filter(|(id, _)| *id == "rules").count() == 1
    {
        stdin.retain(|(id, _)| !matches!(*id, "ads" | "files"));
    }
    match stdin.as_slice() {
        [(_, one), (_, other), ..] => Err(stdin_twice_problem(one, other)),
        _ => Ok(()),
    }
}

/// Returns the name of an option or argument as the help prints it.
fn input_name(arg: &Arg) -> String {
    match (arg.get_long(), arg.get_value_names()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some([name, ..])) => name.to_string(),
        (None, _) => arg.get_id().to_string().to_uppercase(),
    }
}
