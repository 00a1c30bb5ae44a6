//! `htc-slot-run`: an execution point without a pool. Slots fetch jobs through hook scripts and run them.

mod ads;
mod control;
mod decided;
mod doctor;
mod explain;
mod explain_cron;
mod load;
mod manual;
mod options;
mod run;
mod simulate;
mod simulate_compare;
mod simulate_out;
mod simulate_picture;
mod simulate_play;
mod simulate_ready;
mod simulate_report;
mod simulate_why;
mod status;

use clap::{ArgMatches, FromArgMatches};

use self::options::{Cli, Verb};
use super::common::{Program, Session, Status, command};
use crate::os::clock;

const NAME: &str = "htc-slot-run";

/// htc-scenario(5).
pub(super) const SCENARIO_PAGE: &str = include_str!("slot_run/htc-scenario.5");

/// The program.
pub const PROGRAM: Program =
    Program { name: NAME, command: short, manual: &manual::MANUAL, run, compat: &[] };

/// Options that are not daily business stand in `--help-all` only.
fn short() -> clap::Command {
    const RARE: [&str; 9] =
        ["idle_exit", "long", "json", "jsonl", "color", "timeout", "no_env", "quirks", "control"];
    command::<Cli>(NAME, &manual::MANUAL)
        .mut_args(|arg| if RARE.contains(&arg.get_id().as_str()) { arg.hide_short_help(true) } else { arg })
}

fn run(matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let mut cli = Cli::from_arg_matches(matches)?;
    cli.end = cli.events.timeout.map(|after| clock::tick().plus(after));
    match &cli.verb {
        None | Some(Verb::Run) if cli.run.dry_run => ads::table(&cli, session),
        None | Some(Verb::Run) => run::run(&cli, session),
        Some(Verb::Ads { slots }) => ads::print(&cli, session, slots),
        Some(Verb::Doctor) => doctor::doctor(&cli),
        Some(Verb::Simulate(arguments)) => simulate::simulate(&cli, session, arguments),
        Some(Verb::Explain(arguments)) => explain::explain(&cli, session, arguments),
        Some(verb) => control::control(&cli, verb, session),
    }
}
