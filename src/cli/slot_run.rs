//! `htc-slot-run`: an execution point without a pool. Its slots fetch jobs through hook scripts and run them.

mod control_client;
mod decision_text;
mod doctor;
mod explain_cron;
mod explain_jobs;
mod job_stream;
mod manual;
mod negotiator_notes;
mod options;
mod run;
mod simulate;
mod simulate_compare;
mod simulate_output;
mod simulate_picture;
mod simulate_progress;
mod simulate_report;
mod simulate_setup;
mod simulate_why;
mod slot_ads;
mod slot_config;
mod status;
mod status_metrics;
mod verb_manuals;

use clap::{ArgMatches, FromArgMatches};

use self::options::{SlotRunCli, SlotRunVerb};
use super::common::{
    NO_VERB, Problem, Program, ProgramContext, Status, UnusedOptions, hide_unused_options, program_command,
};

const NAME: &str = "htc-slot-run";

/// Source of the man page htc-scenario(5).
pub(super) const SCENARIO_PAGE: &str = include_str!("slot_run/htc-scenario.5");

/// Definition of the program.
pub const PROGRAM: Program = Program {
    name: NAME,
    command: make_command,
    manual: &manual::MANUAL,
    unused_options: UNUSED_OPTIONS,
    run,
    compat: &[],
};

/// Verbs whose requests to a running execution point have no ad and no rows as their answer.
const REQUEST_VERBS: &[&str] = &[
    "match",
    "alive",
    "hold",
    "suspend",
    "continue",
    "vacate",
    "deactivate",
    "release-claim",
    "drain",
    "undrain",
    "off",
    "reconfig",
];

/// Options that have no effect in some verbs.
const UNUSED_OPTIONS: &[UnusedOptions] = &[
    UnusedOptions { verbs: &[NO_VERB, "run"], options: &["long"] },
    UnusedOptions { verbs: REQUEST_VERBS, options: &["once", "max-jobs", "idle-exit"] },
    UnusedOptions {
        verbs: &["ads", "doctor", "explain", "status", "claim", "activate"],
        options: &["once", "max-jobs", "idle-exit"],
    },
    UnusedOptions { verbs: &["ads"], options: &["events", "timestamps"] },
    UnusedOptions { verbs: &["simulate"], options: &["long", "timestamps"] },
    UnusedOptions { verbs: &["doctor", "explain"], options: &["long", "events", "timestamps"] },
    UnusedOptions { verbs: &["status"], options: &["events", "timestamps", "quirks", "gpus"] },
    UnusedOptions { verbs: &["claim"], options: &["long", "events", "timestamps", "gpus"] },
    UnusedOptions {
        verbs: &["activate"],
        options: &["long", "json", "jsonl", "events", "timestamps", "gpus"],
    },
    UnusedOptions {
        verbs: REQUEST_VERBS,
        options: &["long", "json", "jsonl", "events", "timestamps", "quirks", "gpus"],
    },
];

/// Returns the clap definition. The options of the verb `run` are only in the help of `run`.
fn make_command() -> clap::Command {
    let command = program_command::<SlotRunCli>(NAME, &manual::MANUAL);
    let command = command.mut_args(|arg| match arg.get_id().as_str() {
        "config_file" => arg,
        _ => arg.hide_short_help(true),
    });
    hide_unused_options(command, UNUSED_OPTIONS)
}

fn run(matches: &ArgMatches, session: &ProgramContext) -> anyhow::Result<Status> {
    let mut cli = SlotRunCli::from_arg_matches(matches)?;
    cli.end = cli.events.end();
    if let Some(SlotRunVerb::Run(later)) = &cli.verb {
        cli.run = cli.run.merged_with(later);
    }
    cli.now = match &cli.verb {
        Some(SlotRunVerb::Ads { now, .. }) => *now,
        Some(SlotRunVerb::Explain(arguments)) => arguments.now,
        _ => None,
    };
    match &cli.verb {
        None | Some(SlotRunVerb::Run(_)) if cli.run.dry_run => slot_ads::print_planned_slots(&cli, session),
        None | Some(SlotRunVerb::Run(_)) if cli.output.wants_json() => {
            Err(Problem::usage("--json and --jsonl need --dry-run, which prints the slots").into())
        }
        None | Some(SlotRunVerb::Run(_)) => run::run(&cli, session),
        Some(SlotRunVerb::Ads { slots, selection, .. }) => {
            slot_ads::print_ads(&cli, session, slots, selection)
        }
        Some(SlotRunVerb::Doctor(options)) => doctor::doctor(&cli, options, session),
        Some(SlotRunVerb::Simulate(arguments)) => simulate::simulate(&cli, session, arguments),
        Some(SlotRunVerb::Explain(arguments)) => {
            let session =
                session.with_input(arguments.input.from, arguments.input.strict_input, cli.quirks.quirks);
            explain_jobs::explain_jobs(&cli, &session, arguments)
        }
        Some(verb) => control_client::run_control_verb(&cli, verb, session),
    }
}
