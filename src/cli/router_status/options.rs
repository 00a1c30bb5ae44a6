//! Command line of `htc-router-status`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::cli::common::{
    ClockOptions, ConfigOptions, InputOptions, OutputOptions, RowOptions, TimeLimitOptions, parse_seconds,
};

/// Command line.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = false)]
pub(super) struct RouterStatusCli {
    #[command(subcommand)]
    pub(super) verb: Option<RouterStatusVerb>,
    #[command(flatten)]
    pub(super) common: RoutedJobOptions,
}

/// Kind of jobs to show.
#[derive(Debug, Subcommand)]
pub(super) enum RouterStatusVerb {
    /// Routed jobs in the queue (the default)
    Queue(FileArguments),
    /// Find what is wrong; exit status 1 if there is anything
    Doctor(FileArguments),
    /// Routed jobs that have left the queue, the newest first
    History(FileArguments),
}

/// Files to read.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct FileArguments {
    /// Queue logs, files of ads, history files; '-' is ads on standard input
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
}

/// Options that select jobs and their output.
#[derive(Args, Clone, Debug)]
pub(super) struct RoutedJobOptions {
    /// Count jobs by state for each of these
    #[arg(long, value_name = "ROUTE|USER|SITE", global = true, value_parser = ["route", "user", "site"],
          ignore_case = true, hide_possible_values = true)]
    pub(super) by: Option<String>,
    /// Only running jobs
    #[arg(long, global = true)]
    pub(super) running: bool,
    /// Only idle jobs
    #[arg(long, global = true)]
    pub(super) idle: bool,
    /// Only held jobs
    #[arg(long, global = true)]
    pub(super) held: bool,
    /// Only jobs of this route
    #[arg(long, value_name = "NAME", global = true)]
    pub(super) route: Option<String>,
    /// Keep ads for which EXPR is true; if repeated, all must be true
    #[arg(long, short = 'c', value_name = "EXPR", global = true)]
    pub(super) constraint: Vec<String>,
    /// Print these attributes or expressions of each job, with blanks between
    #[arg(long, visible_alias = "autoformat", value_name = "EXPR", num_args = 1.., global = true)]
    pub(super) af: Vec<String>,
    /// Refresh every SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, global = true)]
    pub(super) watch: Option<Duration>,
    /// How long a claim or an end may lead to nothing before doctor calls it trouble
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, default_value = "300", global = true)]
    pub(super) patience: Duration,
    /// Of the history, the newest N records
    #[arg(long, value_name = "N", global = true)]
    pub(super) limit: Option<usize>,
    #[command(flatten)]
    pub(super) input: InputOptions,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    #[command(flatten)]
    pub(super) rows: RowOptions,
    #[command(flatten)]
    pub(super) clock: ClockOptions,
    #[command(flatten)]
    pub(super) time_limit: TimeLimitOptions,
    /// Queue logs or files of ads
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
}
