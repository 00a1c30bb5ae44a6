//! Groups of options in the help, and the options that print the help.

use clap::builder::Str;
use clap::{Arg, ArgAction, Command};

/// Group of options with a heading in the help. The help prints the groups in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptionGroup {
    /// Options of one verb or program.
    Own,
    /// Options that select the parts of a configuration that are printed.
    Show,
    /// Options for the evaluation of expressions.
    Evaluation,
    /// Options that select, order and group ads.
    Ads,
    /// Options for the job to run.
    Job,
    /// Options that name input files.
    Input,
    /// Options for format and target of the output.
    Output,
    /// Options for clock, limits and imitated behaviour.
    Behaviour,
    /// Options that select the configuration.
    Configuration,
    /// Options that only the corresponding HTCondor daemon needs.
    Daemon,
    /// Options for help and version.
    Help,
}

impl OptionGroup {
    /// All groups, in their order in the help.
    pub const ALL: [OptionGroup; 11] = [
        OptionGroup::Own,
        OptionGroup::Show,
        OptionGroup::Evaluation,
        OptionGroup::Ads,
        OptionGroup::Job,
        OptionGroup::Input,
        OptionGroup::Output,
        OptionGroup::Behaviour,
        OptionGroup::Configuration,
        OptionGroup::Daemon,
        OptionGroup::Help,
    ];

    /// Returns the heading.
    pub const fn heading(self) -> &'static str {
        match self {
            OptionGroup::Own => "Options",
            OptionGroup::Show => "What to show",
            OptionGroup::Evaluation => "Evaluation",
            OptionGroup::Ads => "Ads",
            OptionGroup::Job => "Job",
            OptionGroup::Input => "Input",
            OptionGroup::Output => "Output",
            OptionGroup::Behaviour => "Behaviour",
            OptionGroup::Configuration => "Configuration",
            OptionGroup::Daemon => "Options of condor_starter",
            OptionGroup::Help => "Help",
        }
    }

    /// Returns the group to which an option belongs.
    pub(super) fn of(arg: &Arg) -> OptionGroup {
        let heading = arg.get_help_heading();
        let has_heading = |group: &OptionGroup| Some(group.heading()) == heading;
        OptionGroup::ALL.into_iter().find(has_heading).unwrap_or(OptionGroup::Own)
    }
}

impl From<OptionGroup> for Str {
    fn from(group: OptionGroup) -> Str {
        Str::from(group.heading())
    }
}

/// Adds the options that print the help and the version.
pub(super) fn add_help_options(command: Command) -> Command {
    let help = Arg::new("help")
        .long("help")
        .short('h')
        .action(ArgAction::HelpShort)
        .help("Print the main options, exit statuses and examples")
        .global(true)
        .help_heading(OptionGroup::Help);
    let all = Arg::new("help-all")
        .long("help-all")
        .action(ArgAction::HelpLong)
        .help("Print all options with notes")
        .hide_short_help(true)
        .global(true)
        .help_heading(OptionGroup::Help);
    let version = Arg::new("version")
        .long("version")
        .short('V')
        .action(ArgAction::Version)
        .help("Print the version")
        .hide_short_help(true)
        .help_heading(OptionGroup::Help);
    command.disable_help_flag(true).disable_version_flag(true).args([help, all, version])
}
