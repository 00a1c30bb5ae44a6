//! Definition of a program: its name, command line, manual and entry function.

use std::ffi::OsString;

use clap::{ArgMatches, Command, CommandFactory};

use super::option_group::add_help_options;
use super::unused_options::{UnusedOptions, is_unused};
use super::vocabulary::apply_shared_option_texts;
use super::{ProgramContext, Status};

/// Definition of a program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Name of the program, `htc-...`.
    pub name: &'static str,
    /// Function that returns the clap definition, made by [`program_command`].
    pub command: fn() -> Command,
    /// Texts of the man page and the help, except those of the options.
    pub manual: &'static Manual,
    /// Options of the program and its verbs that have no effect in some verbs.
    pub unused_options: &'static [UnusedOptions],
    /// Function that runs the program.
    pub run: fn(&ArgMatches, &ProgramContext) -> anyhow::Result<Status>,
    /// Condor tools that the program can imitate.
    pub compat: &'static [CompatTool],
}

impl Program {
    /// Returns true if an option has no effect in a verb.
    pub fn is_unused(&self, verb: &str, option: &str) -> bool {
        is_unused(self.unused_options, verb, option)
    }
}

/// Condor tool that a program imitates when it is called by the tool's name.
#[derive(Clone, Copy, Debug)]
pub struct CompatTool {
    /// Name of the tool.
    pub tool: &'static str,
    /// Function that runs the tool with all arguments after `argv[0]`. Parsing, output and exit statuses follow the
    /// rules of the tool.
    pub run: fn(&[OsString], &ProgramContext) -> anyhow::Result<Status>,
}

/// Texts of a program's man page. The examples also appear in `--help`.
#[derive(Clone, Copy, Debug)]
pub struct Manual {
    /// Purpose in one line, in lower case without a full stop, as in `whatis`.
    pub about: &'static str,
    /// Paragraphs of the section DESCRIPTION.
    pub description: &'static [&'static str],
    /// Exit statuses in one line, for the help.
    pub statuses: &'static str,
    /// Examples of the section EXAMPLES. A test runs them in a copy of `tests/data/manual`; the help prints the first two.
    pub examples: &'static [Example],
    /// Texts of the verbs.
    pub verbs: &'static [VerbManual],
    /// Variables of the section ENVIRONMENT with their effects, in addition to CONDOR_CONFIG, _CONDOR_* and NO_COLOR.
    pub environment: &'static [(&'static str, &'static str)],
    /// Files of the section FILES with their descriptions.
    pub files: &'static [(&'static str, &'static str)],
    /// Paragraphs of the section DIFFERENCES, about differences from HTCondor.
    pub differences: &'static [&'static str],
}

/// Texts of one verb: its exit statuses and examples, for its help and its man page.
#[derive(Clone, Copy, Debug)]
pub struct VerbManual {
    /// Name of the verb.
    pub verb: &'static str,
    /// Exit statuses in one line.
    pub statuses: &'static str,
    /// Examples; the help prints the first two.
    pub examples: &'static [Example],
}

impl Manual {
    /// Returns the texts of a verb, or `None`.
    pub fn verb(&self, name: &str) -> Option<&'static VerbManual> {
        self.verbs.iter().find(|texts| texts.verb == name)
    }
}

/// Example for the help: a shell line, its purpose and exit status, and the state that it needs.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Purpose of the example, in the imperative, without a full stop.
    pub what: &'static str,
    /// Shell line as the user types it.
    pub line: &'static str,
    /// Exit status of the line in a copy of `tests/data/manual`.
    pub status: u8,
    /// State that the example needs.
    pub setting: ExamplePrecondition,
}

/// State that an example needs; the test of the examples creates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExamplePrecondition {
    /// The files of `tests/data/manual` exist.
    Files,
    /// Lines that are run before the example.
    After(&'static [&'static str]),
    /// Lines that are run before the example, while `htc-slot-run --config-file slots.conf` is running.
    Slots(&'static [&'static str]),
}

impl Example {
    /// Creates an example that needs only files and ends with status 0.
    pub const fn new(what: &'static str, line: &'static str) -> Example {
        Example { what, line, status: 0, setting: ExamplePrecondition::Files }
    }

    /// Sets the exit status.
    pub const fn ends_with(self, status: u8) -> Example {
        Example { status, ..self }
    }

    /// Requires that these lines are run before the example.
    pub const fn after(self, lines: &'static [&'static str]) -> Example {
        Example { setting: ExamplePrecondition::After(lines), ..self }
    }

    /// Requires that slots are running, and that these lines are then run before the example.
    pub const fn with_slots(self, lines: &'static [&'static str]) -> Example {
        Example { setting: ExamplePrecondition::Slots(lines), ..self }
    }
}

/// Paragraph of man pages about the ClassAd settings of the configuration.
pub const CLASSAD_PARAMETERS_NOTE: &str = "STRICT_CLASSAD_EVALUATION has the same effect as in 25.14. ENABLE_CLASSAD_CACHING has no visible \
    effect. The libraries of CLASSAD_USER_LIBS and CLASSAD_USER_PYTHON_MODULES are not loaded: a call of their functions evaluates to \
    error, as for any unknown function. userMap() reads the maps of <SUBSYS>_CLASSAD_USER_MAP_NAMES of the subsystem that the program acts as; a map that \
    is not a regular file, or is larger than 64 MiB, is not loaded.";

/// Returns the clap definition of a program: its own options, and the options of all programs.
pub fn program_command<C: CommandFactory>(name: &'static str, manual: &'static Manual) -> Command {
    let command = C::command()
        .name(name)
        .bin_name(name)
        .about(manual.about)
        .version(env!("HTC_VERSION"))
        .infer_long_args(true)
        .disable_help_subcommand(true);
    apply_shared_option_texts(add_help_options(command))
}
