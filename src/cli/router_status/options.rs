//! Command line of `htc-router-status`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::cli::common::{
    ClockOptions, ConfigOptions, InputOptions, OutputOptions, RowOptions, TimeLimitOptions, parse_seconds,
};
use crate::config::{CommandPolicy, LoadOptions};

/// Command line.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = false, subcommand_value_name = "VERB")]
pub(super) struct RouterStatusCli {
    #[command(subcommand)]
    pub(super) verb: Option<RouterStatusVerb>,
    #[command(flatten)]
    pub(super) common: RoutedJobOptions,
}

/// Kind of jobs to show.
#[derive(Debug, Subcommand)]
pub(super) enum RouterStatusVerb {
    /// List routed jobs in the queue (the default)
    Queue(FileArguments),
    /// Find routed jobs that need attention
    Doctor(FileArguments),
    /// List routed jobs that have left the queue, newest first
    History(FileArguments),
}

/// Files to read.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct FileArguments {
    /// Queue logs, ad files or history files [default: those of the configuration]
    ///
    /// '-' is standard input.
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
}

/// Options that select jobs and their output.
#[derive(Args, Clone, Debug)]
pub(super) struct RoutedJobOptions {
    /// Print a table with the number of jobs in each state
    #[arg(long, value_name = "ROUTE|USER|SITE", global = true, value_parser = ["route", "user", "site"],
          ignore_case = true, hide_possible_values = true)]
    pub(super) by: Option<String>,
    /// Show only running jobs
    #[arg(long, global = true)]
    pub(super) running: bool,
    /// Show only idle jobs
    #[arg(long, global = true)]
    pub(super) idle: bool,
    /// Show only held jobs
    #[arg(long, global = true)]
    pub(super) held: bool,
    /// Show only jobs of this route
    #[arg(long, value_name = "NAME", global = true)]
    pub(super) route: Option<String>,
    /// Keep ads for which EXPR is true; if repeated, all must be true
    #[arg(long, short = 'c', value_name = "EXPR", global = true)]
    pub(super) constraint: Vec<String>,
    /// Sort by EXPR; may be repeated
    #[arg(long, value_name = "EXPR", global = true, hide_short_help = true)]
    pub(super) sort: Vec<String>,
    /// Sort in descending order
    #[arg(long, global = true, requires = "sort", hide_short_help = true)]
    pub(super) reverse: bool,
    /// The most frequent value comes first.
    #[arg(long, value_name = "EXPR", global = true, hide_short_help = true)]
    pub(super) count_by: Vec<String>,
    /// Print the sum of EXPR (for each group of --count-by); may be repeated
    #[arg(long, value_name = "EXPR", global = true, hide_short_help = true)]
    pub(super) sum: Vec<String>,
    /// Print the average of EXPR (for each group of --count-by); may be repeated
    #[arg(long, value_name = "EXPR", global = true, hide_short_help = true)]
    pub(super) avg: Vec<String>,
    /// Print the minimum of EXPR (for each group of --count-by); may be repeated
    #[arg(long, value_name = "EXPR", global = true, hide_short_help = true)]
    pub(super) min: Vec<String>,
    /// Print the maximum of EXPR (for each group of --count-by); may be repeated
    #[arg(long, value_name = "EXPR", global = true, hide_short_help = true)]
    pub(super) max: Vec<String>,
    /// Values are separated by blanks.
    #[arg(long, visible_alias = "autoformat", value_name = "EXPR", num_args = 1.., global = true)]
    pub(super) af: Vec<String>,
    /// Refresh every SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, global = true)]
    pub(super) watch: Option<Duration>,
    /// Print metrics for Prometheus, or write them to FILE atomically
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, global = true)]
    pub(super) openmetrics: Option<Option<PathBuf>>,
    /// Report a claimed or ended job as stuck after SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, default_value = "300", global = true)]
    pub(super) patience: Duration,
    /// In history, the newest N records are shown.
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
    /// Queue logs, ad files or history files [default: those of the configuration]
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
}

impl RoutedJobOptions {
    /// Returns the options with which the configuration is read.
    pub(super) fn load_options(&self) -> LoadOptions {
        self.config.load_options(CommandPolicy::BOUNDED_RUN)
    }
}
