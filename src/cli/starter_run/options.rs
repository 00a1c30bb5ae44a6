//! Command line of `htc-starter-run`, and the additional options that htc-slot-run passes.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches, Parser};

use super::manual;
use crate::cli::common::{
    self, ClockOptions, ConfigOptions, EventsOptions, InputOptions, LogLineOptions, OptionGroup,
    OutputOptions, Problem, QuirksOptions, normalise, program_command,
};
use crate::shadow::RunLimit;
use crate::starter::unsupported::AccessPointRole;
use crate::text::arguments;

pub(super) const NAME: &str = "htc-starter-run";

/// Environment variable with options of htc-slot-run that the reference's command line cannot express, as V2 raw arguments.
pub(super) const STARTER_OPTIONS_VARIABLE: &str = "_HTC_STARTER_OPTIONS";
/// Environment variable with the private directory that htc-slot-run creates for each starter.
pub(super) const PRIVATE_DIRECTORY_VARIABLE: &str = "_HTC_STARTER_DIR";

/// Command line.
#[derive(Parser, Clone, Debug)]
pub(super) struct StarterRunCli {
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    #[command(flatten)]
    pub(super) input: InputOptions,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    #[command(flatten)]
    pub(super) clock: ClockOptions,
    #[command(flatten)]
    pub(super) quirks: QuirksOptions,
    #[command(flatten)]
    pub(super) events: EventsOptions,
    #[command(flatten)]
    pub(super) lines: LogLineOptions,
    #[command(flatten)]
    pub(super) job: JobOptions,
}

/// Role that `--as` selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum StarterRole {
    /// Starter of fetched work; no files are transferred
    #[default]
    Fetched,
    /// Starter and schedd for the local universe; no files are transferred
    Local,
    /// Starter, shadow and schedd: file transfer, policies, event log
    Shadow,
}

impl StarterRole {
    /// Returns the role of the access point.
    pub(super) fn to_access_point_role(self) -> AccessPointRole {
        match self {
            StarterRole::Fetched => AccessPointRole::Absent,
            StarterRole::Local => AccessPointRole::Schedd,
            StarterRole::Shadow => AccessPointRole::Shadow,
        }
    }
}

/// Value of `--until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UntilArgument(pub(super) RunLimit);

impl FromStr for UntilArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "done" => Ok(UntilArgument(RunLimit::UntilDone)),
            "held" => Ok(UntilArgument(RunLimit::UntilHeld)),
            number => match number.parse::<u32>() {
                Ok(runs) if runs > 0 => Ok(UntilArgument(RunLimit::Runs(runs))),
                _ => Err("expected 'done', 'held' or a number of runs above 0".to_owned()),
            },
        }
    }
}

/// Options that have no effect if no job is run.
const JOB_ONLY_OPTIONS: [&str; 17] = [
    "slot_ads",
    "slot_name",
    "job_input_ad",
    "job_keyword",
    "job_output_ad",
    "job_update_ad",
    "job_cluster",
    "job_proc",
    "job_subproc",
    "job_stdin",
    "job_stdout",
    "job_stderr",
    "interactive",
    "log",
    "until",
    "hook_timeout",
    "orphan_grace",
];

/// Options for the job.
#[derive(Args, Clone, Debug)]
pub(super) struct JobOptions {
    /// The slot ad becomes .machine.ad and sets OMP_NUM_THREADS and similar variables.
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Input)]
    pub(super) slot_ads: Option<PathBuf>,
    /// Set _CONDOR_SLOT to NAME [default: none]
    #[arg(long, value_name = "NAME", help_heading = OptionGroup::Job)]
    pub(super) slot_name: Option<OsString>,
    /// Read the job ad from FILE, as --ads does
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Input, hide_short_help = true)]
    pub(super) job_input_ad: Option<OsString>,
    /// Take missing job attributes from KEY_executable, ... in the configuration
    #[arg(long, value_name = "KEY", help_heading = OptionGroup::Input, hide_short_help = true)]
    pub(super) job_keyword: Option<String>,
    /// Append only the result attributes of the job to FILE
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Output, hide_short_help = true)]
    pub(super) job_output_ad: Option<OsString>,
    /// Write the latest update of the running job to FILE
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Output, hide_short_help = true)]
    pub(super) job_update_ad: Option<OsString>,
    /// Use N as the cluster id of the job [default: ClusterId of the ad]
    #[arg(long, value_name = "N", help_heading = OptionGroup::Job, hide_short_help = true)]
    pub(super) job_cluster: Option<String>,
    /// Use N as the process id of the job [default: ProcId of the ad]
    #[arg(long, value_name = "N", help_heading = OptionGroup::Job, hide_short_help = true)]
    pub(super) job_proc: Option<String>,
    /// Use N as the subprocess id of the job
    #[arg(long, value_name = "N", help_heading = OptionGroup::Job, hide_short_help = true)]
    pub(super) job_subproc: Option<String>,
    /// Read the job's standard input from FILE; '-' is that of this program [default: In]
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Job, hide_short_help = true)]
    pub(super) job_stdin: Option<OsString>,
    /// Write standard output of the job to FILE; '-' prints it [default: Out]
    ///
    /// The result ad is not printed if FILE is '-'.
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Job)]
    pub(super) job_stdout: Option<OsString>,
    /// Write standard error of the job to FILE; '-' prints it [default: Err]
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Job, hide_short_help = true)]
    pub(super) job_stderr: Option<OsString>,
    /// Run a shell on this terminal instead of the job
    ///
    /// The shell has the directory, environment, account, limits and hooks of the job.
    #[arg(long, help_heading = OptionGroup::Job, conflicts_with_all = ["job_stdin", "job_stdout", "job_stderr"])]
    pub(super) interactive: bool,
    /// Write the event log of the job to FILE [default: UserLog]
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Output)]
    pub(super) log: Option<PathBuf>,
    /// Act in this role: fetched, local or shadow
    #[arg(
        long = "as",
        value_name = "ROLE",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = OptionGroup::Job
    )]
    pub(super) played_as: StarterRole,
    /// Run until done or held, or N times (--as shadow or local)
    #[arg(
        long,
        value_name = "done|held|N",
        default_value = "1",
        help_heading = OptionGroup::Job
    )]
    pub(super) until: UntilArgument,
    /// Transfer files for a starter (internal)
    #[arg(long, hide = true)]
    pub(super) carry: bool,
    /// Applies to prepare hooks; HTCondor waits forever.
    #[arg(long, value_name = "SECONDS", value_parser = common::parse_seconds, help_heading = OptionGroup::Behaviour)]
    pub(super) hook_timeout: Option<Duration>,
    /// Accept requests on this socket; with --ask: send the request to it
    #[arg(long, value_name = "SOCKET|fd:N", help_heading = OptionGroup::Behaviour, hide_short_help = true)]
    pub(super) control: Option<PathBuf>,
    /// Send a request to a running starter
    ///
    /// Requests: soft, hard, suspend, continue, hold, release, remove, update, status.
    #[arg(long, hide_short_help = true, value_name = "WORD", help_heading = OptionGroup::Behaviour, requires = "control", conflicts_with_all = ["dry_run", "classad", "clean"])]
    pub(super) ask: Option<String>,
    /// Give this reason with the request (--ask)
    #[arg(long, value_name = "TEXT", help_heading = OptionGroup::Behaviour, requires = "ask", hide_short_help = true)]
    pub(super) reason: Option<String>,
    /// Give this code with the reason (--ask hold, soft or hard) [default: 1 for hold]
    #[arg(
        long,
        value_name = "N",
        help_heading = OptionGroup::Behaviour,
        requires = "ask",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub(super) code: Option<i64>,
    /// Give this subcode with the reason (--ask hold, soft or hard) [default: 0]
    #[arg(
        long,
        value_name = "N",
        help_heading = OptionGroup::Behaviour,
        requires = "ask",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub(super) subcode: Option<i64>,
    /// Kill the job SECONDS after the parent process exits [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = common::parse_seconds, help_heading = OptionGroup::Behaviour, hide_short_help = true)]
    pub(super) orphan_grace: Option<Duration>,
    /// Prints hooks, command line, environment, mounts and limits.
    #[arg(long, short = 'n', help_heading = OptionGroup::Behaviour)]
    pub(super) dry_run: bool,
    /// Print what caused each argument, mount and limit (with --dry-run)
    #[arg(long, requires = "dry_run", help_heading = OptionGroup::Behaviour)]
    pub(super) explain: bool,
    /// Print the capabilities of this starter and of the container runtimes, and exit
    #[arg(long, help_heading = OptionGroup::Behaviour, hide_short_help = true, conflicts_with_all = JOB_ONLY_OPTIONS)]
    pub(super) classad: bool,
    /// Print the events of an event log (text, XML or JSON) as ads, and exit
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = OptionGroup::Input, conflicts_with_all = ["dry_run", "classad", "clean", "ask"], conflicts_with_all = JOB_ONLY_OPTIONS)]
    pub(super) events_of: Option<PathBuf>,
    /// Remove what killed starters left in EXECUTE, and exit
    #[arg(long, help_heading = OptionGroup::Behaviour, conflicts_with_all = ["dry_run", "classad"], conflicts_with_all = JOB_ONLY_OPTIONS)]
    pub(super) clean: bool,
    /// Print TEXT before each message
    #[arg(long, value_name = "TEXT", help_heading = OptionGroup::Output, hide_short_help = true)]
    pub(super) header: Option<String>,
    /// Use TEXT as the suffix of the starter's log file and as the slot name
    #[arg(
        short = 'a',
        long = "append",
        value_name = "TEXT",
        help_heading = OptionGroup::Daemon,
        hide_short_help = true
    )]
    pub(super) append: Option<OsString>,
    /// Stay in the foreground (this program always does)
    #[arg(short = 'f', long = "foreground", help_heading = OptionGroup::Daemon, hide_short_help = true)]
    pub(super) foreground: bool,
    /// Log to the terminal (this program always does)
    #[arg(short = 't', long = "termlog", help_heading = OptionGroup::Daemon, hide_short_help = true)]
    pub(super) termlog: bool,
    /// Use the settings of this local name [default: none]
    #[arg(long, value_name = "NAME", help_heading = OptionGroup::Configuration, hide_short_help = true)]
    pub(super) local_name: Option<String>,
}

/// Help of `--ads`, which names a single job in this program.
const ADS_HELP: &str = "Read the ad of the job from FILE; '-' is standard input";

/// Returns the clap definition.
pub(super) fn make_command() -> clap::Command {
    program_command::<StarterRunCli>(NAME, &manual::MANUAL)
        .args_override_self(true)
        .mut_arg("quiet", |arg| arg.hide_short_help(false))
        .mut_arg("events", |arg| arg.hide_short_help(false))
        .mut_arg("timeout", |arg| arg.hide_short_help(false))
        .mut_arg("slot_ads", |arg| arg.hide_short_help(false))
        .mut_arg("ads", |arg| {
            let shared = arg.get_long_help().map(ToString::to_string).unwrap_or_default();
            let details = shared.split_once("\n\n").map_or("", |(_, details)| details);
            arg.help(ADS_HELP).long_help(format!("{ADS_HELP}\n\n{details}"))
        })
}

impl StarterRunCli {
    /// Parses options from words. Options that htc-slot-run passes in the environment come first.
    pub(super) fn parse(words: &[OsString]) -> anyhow::Result<(Self, bool)> {
        let mut all = slot_runner_options()?;
        all.extend(words.iter().cloned());
        let command = make_command();
        let normal = normalise(&command, &all)?;
        let arguments = std::iter::once(OsString::from(NAME)).chain(normal);
        let matches = command
            .try_get_matches_from(arguments)
            .map_err(|error| Problem::usage(error.render().to_string().trim_end().to_owned()))?;
        Ok((StarterRunCli::from_arg_matches(&matches)?, was_given(&matches, "ads")))
    }
}

pub(super) fn was_given(matches: &ArgMatches, option: &str) -> bool {
    matches.value_source(option) == Some(ValueSource::CommandLine)
}

/// Returns the name of the slot in which htc-slot-run runs the job, or `None` if htc-slot-run has not started this
/// program.
pub(super) fn slot_of_slot_runner() -> anyhow::Result<Option<OsString>> {
    let words = slot_runner_options()?;
    let last = words.iter().rposition(|word| word == "--slot-name");
    Ok(last.and_then(|at| words.get(at + 1)).cloned())
}

fn slot_runner_options() -> anyhow::Result<Vec<OsString>> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let Some(text) = std::env::var_os(STARTER_OPTIONS_VARIABLE) else { return Ok(Vec::new()) };
    let words = arguments::parse_v2_raw(text.as_bytes())
        .with_context(|| Problem::usage(format!("the environment variable {STARTER_OPTIONS_VARIABLE}")))?;
    Ok(words.into_iter().map(|word| OsString::from_vec(word.into())).collect())
}

/// Returns the number at the start of a text, or 0 if it does not start with a number (`atoi`).
pub(super) fn leading_number(text: &str) -> i64 {
    let text = text.trim_start();
    let end = text
        .char_indices()
        .position(|(at, c)| !(c.is_ascii_digit() || (at == 0 && (c == '-' || c == '+'))))
        .unwrap_or(text.len());
    text[..end].parse().unwrap_or(0)
}

/// Returns true if a file name means standard input or output of this program.
pub(super) fn is_standard_stream(name: &Option<OsString>) -> bool {
    name.as_deref() == Some(OsStr::new("-"))
}
