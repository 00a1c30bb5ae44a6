//! What a program is: its name, its command line, its manual, what carries it out.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};

use super::{ProgramContext, Status};

/// One of the programs.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name, `htc-...`.
    pub name: &'static str,
    /// Its clap definition, made by [`program_command`].
    pub command: fn() -> Command,
    /// What man page and help say beyond the options.
    pub manual: &'static Manual,
    /// Carries it out.
    pub run: fn(&ArgMatches, &ProgramContext) -> anyhow::Result<Status>,
    /// Condor tools it also answers to.
    pub compat: &'static [CompatTool],
}

/// A condor tool that a program imitates when it is called by the tool's name.
#[derive(Clone, Copy, Debug)]
pub struct CompatTool {
    /// The tool's name.
    pub tool: &'static str,
    /// Carries it out with all words behind `argv[0]`, by the tool's own rules, output and statuses.
    pub run: fn(&[OsString], &ProgramContext) -> anyhow::Result<Status>,
}

/// The texts of a program's man page; its examples also stand below `--help`.
#[derive(Clone, Copy, Debug)]
pub struct Manual {
    /// What it is for, one line in lower case without a stop, as in `whatis`.
    pub about: &'static str,
    /// DESCRIPTION: paragraphs.
    pub description: &'static [&'static str],
    /// EXAMPLES. They are run by a test in a copy of `tests/data/manual`.
    pub examples: &'static [Example],
    /// ENVIRONMENT: variables and what they do, beyond CONDOR_CONFIG, _CONDOR_* and NO_COLOR.
    pub environment: &'static [(&'static str, &'static str)],
    /// FILES.
    pub files: &'static [(&'static str, &'static str)],
    /// DIFFERENCES from HTCondor: paragraphs.
    pub differences: &'static [&'static str],
}

/// One example: a shell line, what it shows, and how it ends.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What it shows, in a few words.
    pub what: &'static str,
    /// The line as typed.
    pub line: &'static str,
    /// Its exit status in a copy of `tests/data/manual`.
    pub status: u8,
}

/// What man pages say of the ClassAd settings that a configuration has.
pub const CLASSAD_PARAMETERS_NOTE: &str = "STRICT_CLASSAD_EVALUATION is read as 25.14 reads it. ENABLE_CLASSAD_CACHING changes nothing that \
    could be seen. The libraries of CLASSAD_USER_LIBS and CLASSAD_USER_PYTHON_MODULES are not loaded: a call of their functions gives \
    error, as for any unknown name. userMap() asks the maps of <SUBSYS>_CLASSAD_USER_MAP_NAMES of the subsystem that the program acts as; a map that \
    is no regular file or larger than 64 MiB is not loaded.";

/// The clap definition of a program: its derived options, and what is the same everywhere.
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
    add_help_options(command.disable_version_flag(true).arg(version))
}

/// `--help` fits a screen; `--help-all` has everything.
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
