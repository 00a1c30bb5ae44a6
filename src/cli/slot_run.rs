//! `htc-slot-run`: an execution point without a pool. Slots fetch jobs through hook scripts and run them.

mod ads;
mod explain;
mod load;
mod manual;
mod run;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand};

use super::common::{
    ConfigOptions, EventsOptions, InputOptions, OutputOptions, Program, QuirksOptions, Session, Status,
    command,
};

const NAME: &str = "htc-slot-run";

/// The program.
pub const PROGRAM: Program = Program {
    name: NAME,
    command: || command::<Cli>(NAME, &manual::MANUAL),
    manual: &manual::MANUAL,
    run,
    compat: &[],
};

#[derive(Parser, Debug)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    config: ConfigOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    quirks: QuirksOptions,
    #[command(flatten)]
    events: EventsOptions,
}

/// Without a verb the slots run.
#[derive(Subcommand, Debug)]
enum Verb {
    /// Fetch and run jobs until told to end (the default)
    Run,
    /// Print the ad of each slot as FETCH_WORK would get it
    Ads {
        /// Only these slots, such as slot1
        #[arg(value_name = "SLOT")]
        slots: Vec<String>,
    },
    /// Tell which slots would take these jobs, and which part of START or of the limits says no
    Explain {
        #[command(flatten)]
        input: InputOptions,
        /// Only these slots, such as slot1
        #[arg(value_name = "SLOT")]
        slots: Vec<String>,
    },
}

/// When and how a run ends, and what limits it.
#[derive(Args, Debug)]
struct RunOptions {
    /// End when no slot has more work
    #[arg(long, help_heading = "Ending")]
    once: bool,
    /// Take at most N jobs, then end
    #[arg(long, value_name = "N", help_heading = "Ending")]
    max_jobs: Option<u64>,
    /// End when no slot has had a job for this long
    #[arg(long, value_name = "SECONDS", value_parser = super::common::seconds, help_heading = "Ending")]
    idle_exit: Option<Duration>,
    /// Kill hooks that run longer; a real execution point waits for ever
    #[arg(long, value_name = "SECONDS", value_parser = super::common::seconds, help_heading = "Behaviour")]
    hook_timeout: Option<Duration>,
    /// Run jobs with this program instead of STARTER or htc-starter-run
    #[arg(long, value_name = "FILE", help_heading = "Behaviour", hide_short_help = true)]
    starter: Option<PathBuf>,
    /// Check the configuration and print the slots; run nothing
    #[arg(long, short = 'n', help_heading = "Behaviour")]
    dry_run: bool,
}

fn run(matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let cli = Cli::from_arg_matches(matches)?;
    match &cli.verb {
        None | Some(Verb::Run) if cli.run.dry_run => ads::table(&cli, session),
        None | Some(Verb::Run) => run::run(&cli, session),
        Some(Verb::Ads { slots }) => ads::print(&cli, session, slots),
        Some(Verb::Explain { input, slots }) => explain::explain(&cli, session, input, slots),
    }
}
