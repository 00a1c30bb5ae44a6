//! `htc-slot-run`: an execution point without a pool. Slots fetch jobs through hook scripts and run them.

mod ads;
mod control;
mod explain;
mod load;
mod manual;
mod run;
mod simulate;
mod starter_config;
mod starter_program;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand};

use super::common::{
    ConfigOptions, EventsOptions, InputOptions, OutputOptions, Program, QuirksOptions, Session, Status,
    command,
};

const NAME: &str = "htc-slot-run";

/// The program.
pub const PROGRAM: Program =
    Program { name: NAME, command: short, manual: &manual::MANUAL, run, compat: &[] };

/// Options that are not daily business stand in `--help-all` only.
fn short() -> clap::Command {
    const RARE: [&str; 8] = ["long", "json", "jsonl", "color", "timeout", "no_env", "quirks", "control"];
    command::<Cli>(NAME, &manual::MANUAL)
        .mut_args(|arg| if RARE.contains(&arg.get_id().as_str()) { arg.hide_short_help(true) } else { arg })
}

#[derive(Parser, Debug)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    config: ConfigOptions,
    /// Local name for LOCAL.KNOB in the configuration, as condor_startd's -local-name
    #[arg(long, value_name = "NAME", global = true, help_heading = "Configuration", hide_short_help = true)]
    local_name: Option<String>,
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
    /// Play a scenario on a clock moved by hand and print what would happen
    Simulate {
        /// The scenario, in TOML: knobs, jobs, events
        #[arg(value_name = "FILE")]
        scenario: PathBuf,
    },
    /// Make jobs leave a running execution point
    #[command(hide = true)]
    Vacate(ControlOptions),
    /// Stop jobs of a running execution point for a while
    #[command(hide = true)]
    Suspend(ControlOptions),
    /// Let suspended jobs go on
    #[command(hide = true)]
    Continue(ControlOptions),
    /// Make all jobs leave and let nothing new in
    #[command(hide = true)]
    Drain(DrainOptions),
    /// End a drain
    #[command(hide = true)]
    Undrain(ControlOptions),
    /// End a running execution point
    #[command(hide = true)]
    Off(ControlOptions),
    /// Make a running execution point read its configuration again
    #[command(hide = true)]
    Reconfig(ControlOptions),
    /// Print the slots of a running execution point (also: vacate, drain, suspend, off ...)
    Status(ControlOptions),
    /// Tell which slots would take these jobs, and which part of START or of the limits says no
    Explain {
        #[command(flatten)]
        input: InputOptions,
        /// Only these slots, such as slot1
        #[arg(value_name = "SLOT")]
        slots: Vec<String>,
    },
}

/// Which running execution point is meant, and how hard it is to be done.
#[derive(Args, Debug)]
struct ControlOptions {
    /// The socket that the execution point was given with --control
    #[arg(long, value_name = "SOCKET")]
    control: PathBuf,
    /// At once: no retirement, no vacate time
    #[arg(long)]
    fast: bool,
    /// Let jobs run to their end (off)
    #[arg(long, conflicts_with = "fast")]
    peaceful: bool,
    /// Only this slot, such as slot1
    #[arg(value_name = "SLOT")]
    slot: Option<String>,
}

/// How a drain is done.
#[derive(Args, Debug)]
struct DrainOptions {
    /// The socket that the execution point was given with --control
    #[arg(long, value_name = "SOCKET")]
    control: PathBuf,
    /// Without retirement, with vacate time
    #[arg(long, conflicts_with = "fast")]
    quick: bool,
    /// Without retirement and vacate time
    #[arg(long)]
    fast: bool,
    /// Take jobs again when all slots are drained
    #[arg(long)]
    resume: bool,
    /// Why, for DrainReason
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
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
    /// Kill FETCH_WORK and PREPARE_JOB that run longer; a real pool waits for ever
    #[arg(long, value_name = "SECONDS", value_parser = super::common::seconds, help_heading = "Behaviour")]
    hook_timeout: Option<Duration>,
    /// Run jobs with this program instead of STARTER or htc-starter-run
    #[arg(long, value_name = "FILE", help_heading = "Behaviour", hide_short_help = true)]
    starter: Option<PathBuf>,
    /// Check the configuration and print the slots; run nothing
    #[arg(long, short = 'n', help_heading = "Behaviour")]
    dry_run: bool,
    /// Take requests (vacate, drain, status ...) at this socket
    #[arg(long = "control", value_name = "SOCKET", help_heading = "Behaviour")]
    control: Option<PathBuf>,
}

fn run(matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let cli = Cli::from_arg_matches(matches)?;
    match &cli.verb {
        None | Some(Verb::Run) if cli.run.dry_run => ads::table(&cli, session),
        None | Some(Verb::Run) => run::run(&cli, session),
        Some(Verb::Ads { slots }) => ads::print(&cli, session, slots),
        Some(Verb::Simulate { scenario }) => simulate::simulate(&cli, session, scenario),
        Some(Verb::Vacate(options)) => control::simple("vacate", options),
        Some(Verb::Suspend(options)) => control::simple("suspend", options),
        Some(Verb::Continue(options)) => control::simple("continue", options),
        Some(Verb::Undrain(options)) => control::simple("undrain", options),
        Some(Verb::Off(options)) => control::simple("off", options),
        Some(Verb::Reconfig(options)) => control::simple("reconfig", options),
        Some(Verb::Status(options)) => control::status(&cli, options),
        Some(Verb::Drain(options)) => control::drain(options),
        Some(Verb::Explain { input, slots }) => explain::explain(&cli, session, input, slots),
    }
}
