//! Command line of `htc-starter-run`, and the options that the slot runner passes in addition.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches, Parser};

use super::manual;
use crate::cli::common::{
    self, ClockOptions, ConfigOptions, EventsOptions, InputOptions, LogLineOptions, OutputOptions, Problem,
    QuirksOptions, normalise, program_command,
};
use crate::shadow::RunLimit;
use crate::starter::unsupported::AccessPointRole;
use crate::text::arguments;

pub(super) const NAME: &str = "htc-starter-run";

/// Environment variable with options of the slot runner that the reference's command line cannot express, as
/// V2 raw arguments.
pub(super) const STARTER_OPTIONS_VARIABLE: &str = "_HTC_STARTER_OPTIONS";
/// Environment variable with the slot runner's private directory of one starter.
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

/// Role of `--as`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum StarterRole {
    /// The starter alone, as for fetched work: nothing is transferred
    #[default]
    Fetched,
    /// The local universe under a schedd: exit policy, nothing is transferred
    Local,
    /// Schedd and shadow too: transfer, policy, the job's log
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
                _ => Err("give 'done', 'held' or a number of runs above 0".to_owned()),
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
    /// The slot's ad: .machine.ad, OMP_NUM_THREADS, ...
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(super) slot_ads: Option<PathBuf>,
    /// Name of the slot, such as slot1_2, for _CONDOR_SLOT
    #[arg(long, value_name = "NAME", help_heading = "Job")]
    pub(super) slot_name: Option<OsString>,
    /// The same as --ads
    #[arg(long, value_name = "FILE", help_heading = "Input", hide_short_help = true)]
    pub(super) job_input_ad: Option<OsString>,
    /// Take what the ad lacks from the configuration: KEY_executable, ...
    #[arg(long, value_name = "KEY", help_heading = "Input", hide_short_help = true)]
    pub(super) job_keyword: Option<String>,
    /// Append the job's result attributes alone to FILE
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) job_output_ad: Option<OsString>,
    /// Keep the newest update of the running job in FILE
    #[arg(long, value_name = "FILE", help_heading = "Output", hide_short_help = true)]
    pub(super) job_update_ad: Option<OsString>,
    /// First part of the job's id
    #[arg(long, value_name = "N", help_heading = "Job", hide_short_help = true)]
    pub(super) job_cluster: Option<String>,
    /// Second part of the job's id
    #[arg(long, value_name = "N", help_heading = "Job", hide_short_help = true)]
    pub(super) job_proc: Option<String>,
    /// Third part of the job's id
    #[arg(long, value_name = "N", help_heading = "Job", hide_short_help = true)]
    pub(super) job_subproc: Option<String>,
    /// Standard input instead of In; '-' is ours
    #[arg(long, value_name = "FILE", help_heading = "Job", hide_short_help = true)]
    pub(super) job_stdin: Option<OsString>,
    /// Standard output instead of Out; '-' is ours, without the ad then
    #[arg(long, value_name = "FILE", help_heading = "Job")]
    pub(super) job_stdout: Option<OsString>,
    /// Standard error instead of Err; '-' is ours
    #[arg(long, value_name = "FILE", help_heading = "Job", hide_short_help = true)]
    pub(super) job_stderr: Option<OsString>,
    /// A shell at this terminal in the job's place: its directory, environment, account, limits and hooks
    #[arg(long, help_heading = "Job", hide_short_help = true, conflicts_with_all = ["job_stdin", "job_stdout", "job_stderr"])]
    pub(super) interactive: bool,
    /// The job's log, instead of the one that its ad names
    #[arg(long, value_name = "FILE", help_heading = "Output", hide_short_help = true)]
    pub(super) log: Option<PathBuf>,
    /// Who is played: fetched, local or shadow
    #[arg(
        long = "as",
        value_name = "WHO",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Job"
    )]
    pub(super) played_as: StarterRole,
    /// With --as shadow or local: run again until done or held, or N times at most
    #[arg(
        long,
        value_name = "done|held|N",
        default_value = "1",
        help_heading = "Job",
        hide_short_help = true
    )]
    pub(super) until: UntilArgument,
    /// Move files for a starter: for its own use
    #[arg(long, hide = true)]
    pub(super) carry: bool,
    /// Limits prepare hooks; HTCondor waits forever
    #[arg(long, value_name = "SECONDS", value_parser = common::parse_seconds, help_heading = "Behaviour")]
    pub(super) hook_timeout: Option<Duration>,
    /// Listen at this socket for --ask; with --ask: where the starter listens
    #[arg(long, value_name = "SOCKET|fd:N", help_heading = "Behaviour", hide_short_help = true)]
    pub(super) control: Option<PathBuf>,
    /// Ask a running starter: soft, hard, suspend, continue, hold, release, remove, update or status
    #[arg(long, hide_short_help = true, value_name = "WORD", help_heading = "Behaviour", requires = "control", conflicts_with_all = ["dry_run", "classad", "clean"])]
    pub(super) ask: Option<String>,
    /// With --ask: why
    #[arg(long, value_name = "TEXT", help_heading = "Behaviour", requires = "ask", hide_short_help = true)]
    pub(super) reason: Option<String>,
    /// With --ask hold, soft or hard: the code of the reason
    #[arg(
        long,
        value_name = "N",
        help_heading = "Behaviour",
        requires = "ask",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub(super) code: Option<i64>,
    /// With --ask hold, soft or hard: its subcode
    #[arg(
        long,
        value_name = "N",
        help_heading = "Behaviour",
        requires = "ask",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub(super) subcode: Option<i64>,
    /// End the job so long after whoever started this program is gone; without, it goes on
    #[arg(long, value_name = "SECONDS", value_parser = common::parse_seconds, help_heading = "Behaviour", hide_short_help = true)]
    pub(super) orphan_grace: Option<Duration>,
    /// Print what would be run and called
    #[arg(long, short = 'n', help_heading = "Behaviour")]
    pub(super) dry_run: bool,
    /// With --dry-run: what led to each word, mount and limit
    #[arg(long, requires = "dry_run", help_heading = "Behaviour")]
    pub(super) explain: bool,
    /// Print what this starter and the container runtimes of the machine can do, and end
    #[arg(long, help_heading = "Behaviour", hide_short_help = true, conflicts_with_all = JOB_ONLY_OPTIONS)]
    pub(super) classad: bool,
    /// Print the events of a job's log (text, XML or JSON) as ads, and end
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = "Input", conflicts_with_all = ["dry_run", "classad", "clean", "ask"], conflicts_with_all = JOB_ONLY_OPTIONS)]
    pub(super) events_of: Option<PathBuf>,
    /// Remove what starters that were killed have left in EXECUTE, say what, and end
    #[arg(long, help_heading = "Behaviour", hide_short_help = true, conflicts_with_all = ["dry_run", "classad"], conflicts_with_all = JOB_ONLY_OPTIONS)]
    pub(super) clean: bool,
    /// Text in front of messages
    #[arg(long, value_name = "TEXT", help_heading = "Output", hide_short_help = true)]
    pub(super) header: Option<String>,
    /// Suffix of HTCondor's log file; names the slot as --slot-name does
    #[arg(
        short = 'a',
        long = "append",
        value_name = "TEXT",
        help_heading = "HTCondor's own",
        hide_short_help = true
    )]
    pub(super) append: Option<OsString>,
    /// Stay in the foreground, which is always so
    #[arg(short = 'f', long = "foreground", help_heading = "HTCondor's own", hide_short_help = true)]
    pub(super) foreground: bool,
    /// Log to the terminal, which is always so
    #[arg(short = 't', long = "termlog", help_heading = "HTCondor's own", hide_short_help = true)]
    pub(super) termlog: bool,
    /// Use the settings of this local name
    #[arg(long, value_name = "NAME", help_heading = "Configuration", hide_short_help = true)]
    pub(super) local_name: Option<String>,
}

/// Returns the clap definition; rarely used options appear only in `--help-all`.
pub(super) fn make_command() -> clap::Command {
    let rare = ["now", "seed", "no-env", "strict-input", "json", "jsonl", "long", "color", "slot-ads"];
    rare.iter().fold(
        program_command::<StarterRunCli>(NAME, &manual::MANUAL).args_override_self(true),
        |command, name| {
            let known = command.get_arguments().any(|arg| arg.get_id() == name.replace('-', "_").as_str());
            if known {
                command.mut_arg(name.replace('-', "_"), |arg| arg.hide_short_help(true))
            } else {
                command
            }
        },
    )
}

impl StarterRunCli {
    /// Parses options from words, preceded by those of the slot runner.
    pub(super) fn parse(words: &[OsString]) -> anyhow::Result<(Self, bool)> {
        let mut all = slot_runner_options()?;
        all.extend(words.iter().cloned());
        let command = make_command();
        let normal = normalise(&command, &all)?;
        let full = std::iter::once(OsString::from(NAME)).chain(normal);
        let matches = command
            .try_get_matches_from(full)
            .map_err(|error| Problem::usage(error.render().to_string().trim_end().to_owned()))?;
        Ok((StarterRunCli::from_arg_matches(&matches)?, was_given(&matches, "ads")))
    }
}

pub(super) fn was_given(matches: &ArgMatches, option: &str) -> bool {
    matches.value_source(option) == Some(ValueSource::CommandLine)
}

/// Returns the slot in which the job runs, according to the slot runner.
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

/// Returns the number at the start of a text, or 0 if there is none (`atoi`).
pub(super) fn leading_number(text: &str) -> i64 {
    let text = text.trim_start();
    let end = text
        .char_indices()
        .position(|(at, c)| !(c.is_ascii_digit() || (at == 0 && (c == '-' || c == '+'))))
        .unwrap_or(text.len());
    text[..end].parse().unwrap_or(0)
}

/// Returns true if a file name means our own standard input or output.
pub(super) fn is_standard_stream(name: &Option<OsString>) -> bool {
    name.as_deref() == Some(OsStr::new("-"))
}
