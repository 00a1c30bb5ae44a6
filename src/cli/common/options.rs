//! Options with the same meaning in all programs. They are in groups; each program flattens the groups that it supports.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::ad_input::{NamedAdReader, open_input};
use super::deadline::{exit_at_deadline, terminate_at_deadline};
use super::option_group::OptionGroup;
use super::option_values::{self, EventTarget};
use super::{PipedStdin, Problem, ProgramContext, StyleChoice};
use crate::classad::stream::AdForm;
use crate::config::{CommandPolicy, LoadOptions};
use crate::os::{LineOutput, RealWorld, clock};
use crate::quirks::QuirkMode;
use crate::runner::hook_environment::ConfigSelection;
use crate::time::{ClockReading, MonotonicTime};

/// Options that select the configuration.
#[derive(Args, Clone, Debug, Default)]
pub struct ConfigOptions {
    /// Read this configuration [default: CONDOR_CONFIG or /etc/condor]
    #[arg(long, value_name = "FILE", global = true, help_heading = OptionGroup::Configuration)]
    pub config_file: Option<PathBuf>,
    /// Set a parameter, overriding all files; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = option_values::parse_param, global = true,
          help_heading = OptionGroup::Configuration, hide_short_help = true)]
    pub param: Vec<(String, String)>,
    /// Ignore _CONDOR_* environment variables
    #[arg(long, global = true, help_heading = OptionGroup::Configuration, hide_short_help = true)]
    pub no_env: bool,
}

impl ConfigOptions {
    /// Returns a name of the configuration that distinguishes it from another one in messages.
    pub fn display_name(&self) -> String {
        let named = self.config_file.clone().or_else(|| std::env::var_os("CONDOR_CONFIG").map(PathBuf::from));
        named.map_or_else(|| "the current configuration".to_owned(), |file| file.display().to_string())
    }

    /// Returns the selected configuration, for hooks and other programs that are started.
    pub fn to_config_choice(&self) -> ConfigSelection {
        let parameters = self.param.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into()));
        // `-` is standard input, which the configuration opens as a file and reads once.
        let file = self.config_file.clone();
        let file = file.map(|file| if file == Path::new("-") { PathBuf::from("/dev/stdin") } else { file });
        ConfigSelection { file, parameters: parameters.collect(), no_env: self.no_env }
    }

    /// Returns the options for loading the configuration. `commands` decides if commands in the configuration
    /// are run.
    pub fn load_options(&self, commands: CommandPolicy) -> LoadOptions {
        self.to_config_choice().load_options(commands)
    }
}

/// Options that select the input.
#[derive(Args, Clone, Debug, Default)]
pub struct InputOptions {
    /// Read ads from FILE; may be repeated; '-' is standard input
    ///
    /// FILE may be compressed (gzip, zstd, xz, bzip2), a queue log (job_queue.log), a history, or a directory
    /// of these.
    #[arg(long, alias = "jobads", value_name = "FILE", global = true, help_heading = OptionGroup::Input)]
    pub ads: Vec<PathBuf>,
    /// Read ads in this format: long, json, jsonl, xml, new, newl [default: detected]
    #[arg(long, value_name = "FORM", value_parser = option_values::parse_form, global = true, help_heading = OptionGroup::Input,
          hide_short_help = true)]
    pub from: Option<AdForm>,
    /// Stop at the first malformed ad [default: report it and continue]
    #[arg(long, global = true, help_heading = OptionGroup::Input, hide_short_help = true)]
    pub strict_input: bool,
}

impl InputOptions {
    /// Returns the files of `--ads`, or standard input if there are none.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.paths_with(&[])
    }

    /// Returns the files of `--ads` and `files`, which were named without an option, or standard input if there are none.
    pub(crate) fn paths_with(&self, files: &[PathBuf]) -> Vec<PathBuf> {
        let paths = [self.ads.as_slice(), files].concat();
        if paths.is_empty() { vec![PathBuf::from("-")] } else { paths }
    }

    /// Opens the only file of `--ads`, of any kind. Also returns its name for messages.
    ///
    /// # Errors
    /// Returns an error if there is more than one file, or if it cannot be opened.
    pub(crate) fn open(&self, stdin: PipedStdin, session: &ProgramContext) -> anyhow::Result<NamedAdReader> {
        match self.paths().as_slice() {
            [path] => open_input(path, stdin, session),
            _ => Err(Problem::usage("--ads is given more than once, but only one ad is needed").into()),
        }
    }

    /// True if standard input is read.
    pub(crate) fn reads_stdin(&self) -> bool {
        self.paths().iter().any(|path| path == Path::new("-"))
    }

    /// Returns the names of all files, for messages.
    pub(crate) fn names(&self) -> String {
        let names: Vec<_> = self.paths().iter().map(|path| path.display().to_string()).collect();
        names.join(", ")
    }
}

/// Format of ads on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdFormat {
    /// `Name = value` lines.
    #[default]
    Long,
    /// One JSON array.
    Json,
    /// One JSON object per line.
    Jsonl,
}

/// Options for the output.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct OutputOptions {
    /// Write ads as 'Name = value' lines
    #[arg(long, short = 'l', global = true, help_heading = OptionGroup::Output, conflicts_with_all = ["json", "jsonl"], hide_short_help = true)]
    pub long: bool,
    /// Write one JSON array
    #[arg(long, global = true, help_heading = OptionGroup::Output, conflicts_with_all = ["long", "jsonl"], hide_short_help = true)]
    pub json: bool,
    /// Write one JSON object per line
    #[arg(long, global = true, help_heading = OptionGroup::Output, conflicts_with_all = ["long", "json"], hide_short_help = true)]
    pub jsonl: bool,
    /// Print only results and errors
    #[arg(long, short = 'q', global = true, help_heading = OptionGroup::Output, hide_short_help = true)]
    pub quiet: bool,
    /// Use colours: auto, always or never [default: auto]
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true,
        global = true,
        help_heading = OptionGroup::Output, hide_short_help = true)]
    pub color: StyleChoice,
}

impl OutputOptions {
    /// Formats rows as one array for `--json`, or as one object per line for `--jsonl`. Returns `None` if neither option is
    /// given.
    ///
    /// # Errors
    /// Returns an error if a row has no JSON form.
    pub fn render_json<Row: Serialize>(&self, rows: &[Row]) -> anyhow::Result<Option<String>> {
        if self.jsonl {
            let lines: Vec<String> = rows.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
            return Ok(Some(lines.iter().map(|line| format!("{line}\n")).collect()));
        }
        Ok(match self.json {
            true => Some(serde_json::to_string_pretty(rows)? + "\n"),
            false => None,
        })
    }

    /// Returns true if `--json` or `--jsonl` is given.
    pub fn wants_json(&self) -> bool {
        self.json || self.jsonl
    }

    /// Refuses `--json` and `--jsonl` for a command that prints only text.
    ///
    /// # Errors
    /// Returns an error if either option is given.
    pub fn refuse_json(&self, what: &str) -> anyhow::Result<()> {
        let option = match self {
            OutputOptions { json: true, .. } => "--json",
            OutputOptions { jsonl: true, .. } => "--jsonl",
            _ => return Ok(()),
        };
        Err(Problem::usage(format!("{option} cannot be used with {what}, which prints text")).into())
    }

    /// Returns the requested format, or `None` if no option selects one.
    pub fn ad_format(&self) -> Option<AdFormat> {
        match self {
            OutputOptions { long: true, .. } => Some(AdFormat::Long),
            OutputOptions { json: true, .. } => Some(AdFormat::Json),
            OutputOptions { jsonl: true, .. } => Some(AdFormat::Jsonl),
            _ => None,
        }
    }
}

/// Options that make results repeatable.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ClockOptions {
    /// Use T as the current time: seconds since 1970, or a date
    #[arg(long, value_name = "T", value_parser = option_values::parse_time, global = true,
          help_heading = OptionGroup::Behaviour, hide_short_help = true)]
    pub now: Option<i64>,
    /// Use N as the random seed
    #[arg(long, value_name = "N", global = true, help_heading = OptionGroup::Behaviour, hide_short_help = true)]
    pub seed: Option<u64>,
}

impl ClockOptions {
    /// Returns the real world, with a fixed clock or repeatable random numbers if the options request them.
    pub fn world(&self) -> RealWorld {
        let mut world = RealWorld::new();
        if let Some(micros) = self.now {
            let monotonic_us = u64::try_from(micros).unwrap_or_default();
            world = world.with_fixed_time(ClockReading { wall_us: micros, monotonic_us });
        }
        match self.seed {
            Some(seed) => world.with_seed(seed),
            None => world,
        }
    }
}

/// Choice of behaviour where HTCondor 25.14 and its manual differ.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct QuirksOptions {
    /// Imitate HTCondor 25.14 even where it contradicts its manual: reference [default: none]
    #[arg(long, value_name = "none|reference", value_parser = option_values::quirks_parser(), default_value = "none",
          hide_default_value = true, hide_possible_values = true, global = true, help_heading = OptionGroup::Behaviour, hide_short_help = true)]
    pub quirks: QuirkMode,
}

/// Options for the log lines of a runner.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct LogLineOptions {
    /// Start each line with the time: auto, always or never [default: auto]
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true,
        global = true,
        help_heading = OptionGroup::Output,
        hide_short_help = true
    )]
    pub timestamps: StyleChoice,
}

/// Time limit of a program whose verbs leave nothing behind when they end early.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct TimeLimitOptions {
    /// Stop after SECONDS with exit status 124 [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = option_values::parse_seconds, global = true,
          help_heading = OptionGroup::Behaviour, hide_short_help = true)]
    pub timeout: Option<Duration>,
}

impl TimeLimitOptions {
    /// Starts the time limit. When it expires, the program exits with status 124.
    pub(crate) fn start(&self, session: &ProgramContext) {
        let end = self.timeout.map(|after| clock::monotonic_now().plus(after));
        exit_at_deadline(end, session, "the time limit (--timeout) expired");
    }

    /// Starts the time limit. When it expires, this process gets SIGTERM. For verbs that have to stop children.
    pub(crate) fn start_gracefully(&self, session: &ProgramContext) {
        if let Some(after) = self.timeout {
            terminate_at_deadline(after, session);
        }
    }
}

/// Options for the event stream and the time limit.
#[derive(Args, Clone, Debug, Default)]
pub struct EventsOptions {
    /// Append JSON events to FILE or fd:N
    #[arg(long, value_name = "FILE|fd:N", value_parser = option_values::parse_event_target, global = true,
          help_heading = OptionGroup::Output, hide_short_help = true)]
    events: Option<EventTarget>,
    /// Stop after SECONDS with exit status 124 [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = option_values::parse_seconds, global = true,
          help_heading = OptionGroup::Behaviour, hide_short_help = true)]
    pub timeout: Option<Duration>,
}

impl EventsOptions {
    /// Returns the file of `--events`, or `None` if it names a descriptor or is missing.
    pub fn file(&self) -> Option<&Path> {
        match &self.events {
            Some(EventTarget::File(path)) => Some(path),
            _ => None,
        }
    }

    /// Returns true if `--events` is given.
    pub fn is_given(&self) -> bool {
        self.events.is_some()
    }

    /// Returns true if `--events` names a descriptor, which child processes do not inherit.
    pub fn is_descriptor(&self) -> bool {
        matches!(self.events, Some(EventTarget::Descriptor(_)))
    }

    /// Returns the time at which `--timeout` expires, or `None` if the option is not given.
    pub(crate) fn end(&self) -> Option<MonotonicTime> {
        self.timeout.map(|after| clock::monotonic_now().plus(after))
    }

    /// Opens the target of `--events`, or returns `None` if the option is not given.
    ///
    /// # Errors
    /// Returns an error if the target cannot be opened.
    pub fn open(&self) -> anyhow::Result<Option<LineOutput>> {
        self.events.as_ref().map(EventTarget::open).transpose()
    }
}
