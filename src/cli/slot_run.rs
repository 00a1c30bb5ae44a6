//! `htc-slot-run`: an execution point without a pool. Its slots fetch jobs through hook scripts and run them.

mod candidate_set;
mod control_client;
mod decision_text;
mod doctor;
mod explain_cron;
mod explain_html;
mod explain_jobs;
mod explain_reverse;
mod explain_screen;
mod explain_summary;
mod job_stream;
mod manual;
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

use clap::{ArgMatches, FromArgMatches};

use self::options::{SlotRunCli, SlotRunVerb};
use super::common::{Program, ProgramContext, Status, program_command};
use crate::os::clock;

const NAME: &str = "htc-slot-run";

/// Man page htc-scenario(5).
pub(super) const SCENARIO_PAGE: &str = include_str!("slot_run/htc-scenario.5");

/// Definition of the program.
pub const PROGRAM: Program =
    Program { name: NAME, command: make_command, manual: &manual::MANUAL, run, compat: &[] };

/// Returns the clap definition; rarely used options appear only in `--help-all`.
fn make_command() -> clap::Command {
    const RARE_OPTIONS: [&str; 9] =
        ["idle_exit", "long", "json", "jsonl", "color", "timeout", "no_env", "quirks", "control"];
    program_command::<SlotRunCli>(NAME, &manual::MANUAL).mut_args(|arg| {
        if RARE_OPTIONS.contains(&arg.get_id().as_str()) { arg.hide_short_help(true) } else { arg }
    })
}

fn run(matches: &ArgMatches, session: &ProgramContext) -> anyhow::Result<Status> {
    let mut cli = SlotRunCli::from_arg_matches(matches)?;
    cli.end = cli.events.timeout.map(|after| clock::monotonic_now().plus(after));
    match &cli.verb {
        None | Some(SlotRunVerb::Run) if cli.run.dry_run => slot_ads::print_planned_slots(&cli, session),
        None | Some(SlotRunVerb::Run) => run::run(&cli, session),
        Some(SlotRunVerb::Ads { slots }) => slot_ads::print_ads(&cli, session, slots),
        Some(SlotRunVerb::Doctor) => doctor::doctor(&cli),
        Some(SlotRunVerb::Simulate(arguments)) => simulate::simulate(&cli, session, arguments),
        Some(SlotRunVerb::Explain(arguments)) => explain_jobs::explain_jobs(&cli, session, arguments),
        Some(verb) => control_client::run_control_verb(&cli, verb, session),
    }
}
