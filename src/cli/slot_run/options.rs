//! The command line of `htc-slot-run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::cli::common::{self, ConfigOptions, EventsOptions, InputOptions, OutputOptions, QuirksOptions};

#[derive(Parser, Debug)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) verb: Option<Verb>,
    #[command(flatten)]
    pub(super) run: RunOptions,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    /// Local name for LOCAL.KNOB in the configuration, as condor_startd's -local-name
    #[arg(long, value_name = "NAME", global = true, help_heading = "Configuration", hide_short_help = true)]
    pub(super) local_name: Option<String>,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    /// Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another
    #[arg(long, value_name = "FILE", global = true, help_heading = "Configuration", hide_short_help = true)]
    pub(super) gpus: Option<PathBuf>,
    #[command(flatten)]
    pub(super) quirks: QuirksOptions,
    #[command(flatten)]
    pub(super) events: EventsOptions,
}

/// Without a verb the slots run.
#[derive(Subcommand, Debug)]
pub(super) enum Verb {
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
    /// Print slots of a running one (also vacate suspend continue drain undrain reconfig off)
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
pub(super) struct ControlOptions {
    /// The socket that the execution point was given with --control
    #[arg(long, value_name = "SOCKET")]
    pub(super) control: PathBuf,
    /// At once: no retirement, no vacate time
    #[arg(long)]
    pub(super) fast: bool,
    /// Let jobs run to their end (off)
    #[arg(long, conflicts_with = "fast")]
    pub(super) peaceful: bool,
    /// Only this slot, such as slot1
    #[arg(value_name = "SLOT")]
    pub(super) slot: Option<String>,
}

/// How a drain is done.
#[derive(Args, Debug)]
pub(super) struct DrainOptions {
    /// The socket that the execution point was given with --control
    #[arg(long, value_name = "SOCKET")]
    pub(super) control: PathBuf,
    /// Without retirement, with vacate time
    #[arg(long, conflicts_with = "fast")]
    pub(super) quick: bool,
    /// Without retirement and vacate time
    #[arg(long)]
    pub(super) fast: bool,
    /// Take jobs again when all slots are drained
    #[arg(long)]
    pub(super) resume: bool,
    /// Why, for DrainReason
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
}

/// When and how a run ends, and what limits it.
#[derive(Args, Debug)]
pub(super) struct RunOptions {
    /// End when no slot has more work
    #[arg(long, help_heading = "Ending")]
    pub(super) once: bool,
    /// Take at most N jobs, then end
    #[arg(long, value_name = "N", help_heading = "Ending")]
    pub(super) max_jobs: Option<u64>,
    /// End when no slot has had a job for this long
    #[arg(long, value_name = "SECONDS", value_parser = common::seconds, help_heading = "Ending")]
    pub(super) idle_exit: Option<Duration>,
    /// Kill FETCH_WORK and PREPARE_JOB that run longer; a real pool waits for ever
    #[arg(long, value_name = "SECONDS", value_parser = common::seconds, help_heading = "Behaviour")]
    pub(super) hook_timeout: Option<Duration>,
    /// Run jobs with this program instead of STARTER or htc-starter-run
    #[arg(long, value_name = "FILE", help_heading = "Behaviour", hide_short_help = true)]
    pub(super) starter: Option<PathBuf>,
    /// Check the configuration and print the slots; run nothing
    #[arg(long, short = 'n', help_heading = "Behaviour")]
    pub(super) dry_run: bool,
    /// Take requests (vacate, drain, status ...) at this socket
    #[arg(long = "control", value_name = "SOCKET", help_heading = "Behaviour")]
    pub(super) control: Option<PathBuf>,
}
