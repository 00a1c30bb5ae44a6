//! Definition of a program: its name, command line, manual and entry function.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};

use super::vocabulary::apply_vocabulary;
use super::{ProgramContext, Status};

/// Definition of a program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Name, `htc-...`.
    pub name: &'static str,
    /// Function that returns the clap definition, made by [`program_command`].
    pub command: fn() -> Command,
    /// Texts of the man page and the help, besides the options.
    pub manual: &'static Manual,
    /// Function that runs the program.
    pub run: fn(&ArgMatches, &ProgramContext) -> anyhow::Result<Status>,
    /// Condor tools that the program can imitate.
    pub compat: &'static [CompatTool],
}

/// Condor tool that a program imitates when it is called by the tool's name.
#[derive(Clone, Copy, Debug)]
pub struct CompatTool {
    /// Name of the tool.
    pub tool: &'static str,
    /// Function that runs the tool with all words after `argv[0]`, according to the tool's own rules, output
    /// and statuses.
    pub run: fn(&[OsString], &ProgramContext) -> anyhow::Result<Status>,
}

/// Texts of a program's man page; its examples also appear in `--help`.
#[derive(Clone, Copy, Debug)]
pub struct Manual {
    /// Purpose in one line, in lower case without a full stop, as in `whatis`.
    pub about: &'static str,
    /// DESCRIPTION: paragraphs.
    pub description: &'static [&'static str],
    /// EXAMPLES. A test runs them in a copy of `tests/data/manual`.
    pub examples: &'static [Example],
    /// ENVIRONMENT: variables and their effects, besides CONDOR_CONFIG, _CONDOR_* and NO_COLOR.
    pub environment: &'static [(&'static str, &'static str)],
    /// FILES.
    pub files: &'static [(&'static str, &'static str)],
    /// DIFFERENCES from HTCondor: paragraphs.
    pub differences: &'static [&'static str],
}

/// Example: a shell line, its purpose, and its exit status.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Purpose in a few words.
    pub what: &'static str,
    /// Line as typed.
    pub line: &'static str,
    /// Exit status in a copy of `tests/data/manual`.
    pub status: u8,
}

/// Paragraph of man pages about the ClassAd settings of the configuration.
pub const CLASSAD_PARAMETERS_NOTE: &str = "STRICT_CLASSAD_EVALUATION is read as 25.14 reads it. ENABLE_CLASSAD_CACHING changes nothing that \
    could be seen. The libraries of CLASSAD_USER_LIBS and CLASSAD_USER_PYTHON_MODULES are not loaded: a call of their functions gives \
    error, as for any unknown name. userMap() asks the maps of <SUBSYS>_CLASSAD_USER_MAP_NAMES of the subsystem that the program acts as; a map that \
    is no regular file or larger than 64 MiB is not loaded.";

/// Returns the clap definition of a program: its derived options, and the options of all programs.
pub fn program_command<C: CommandFactory>(name: &'static str, manual: &'static Manual) -> Command {
    let examples: String = manual
        .examples
        .iter()
        .map(|example| format!("  {}\n      {}\n", example.line, example.what))
        .collect::<Vec<_>>()
        .concat();
    let command = C::command()
        .name(name)
        .bin_name(name)
        .about(manual.about)
        .version(env!("HTC_VERSION"))
        .infer_long_args(true)
        .disable_help_subcommand(true)
        .max_term_width(100)
        .after_help(format!("Examples:\n{}", examples.trim_end()))
        .help_template("{name}: {about}\n\n{usage-heading} {usage}\n\n{all-args}\n{after-help}");
    let version = Arg::new("version")
        .long("version")
        .short('V')
        .action(ArgAction::Version)
        .help("Print the version")
        .hide_short_help(true)
        .help_heading("Help");
    apply_vocabulary(add_help_options(command.disable_version_flag(true).arg(version)))
}

/// Adds the help options: `--help` fits a screen, `--help-all` prints everything.
fn add_help_options(command: Command) -> Command {
    let help = Arg::new("help")
        .long("help")
        .short('h')
        .action(ArgAction::HelpShort)
        .help("Print this help; --help-all prints all options")
        .help_heading("Help");
    let all = Arg::new("help-all")
        .long("help-all")
        .action(ArgAction::HelpLong)
        .help("Print all options with notes")
        .hide_short_help(true)
        .help_heading("Help");
    command.disable_help_flag(true).arg(help).arg(all).mut_subcommands(add_help_options)
}
