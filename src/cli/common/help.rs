//! Help of programs and verbs, with one layout and one order of sections.
//!
//! `-h` and `--help` print the verb's own options, its exit statuses and two examples, on one screen. `--help-all` prints all
//! options with their notes.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::{Arg, Command};

use super::normalise::verb_of;
use super::option_group::OptionGroup;
use super::program::{Example, Program, VerbManual};

/// Maximum width of a line of the help.
const HELP_COLUMNS: usize = 100;

/// Number of examples in the help; the man page has all of them.
const HELP_EXAMPLES: usize = 2;

/// Extent of a help text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpLength {
    /// The verb's own options, exit statuses and examples, on one screen.
    Screen,
    /// All options with their notes.
    All,
}

/// Returns the help that a command line requests, for its verb or for the program.
pub(super) fn requested_help(program: &Program, words: &[OsString]) -> String {
    let command = (program.command)();
    let is_all = |word: &OsString| word.to_string_lossy().trim_start_matches('-') == "help-all";
    let length = if words.iter().any(is_all) { HelpLength::All } else { HelpLength::Screen };
    render_help(program, verb_of(&command, words).map(Command::get_name), length)
}

/// Returns the command whose help describes a command line, such as `htc-slot-run explain --help`.
pub(super) fn help_command_for(program: &Program, words: &[OsString]) -> String {
    let command = (program.command)();
    match verb_of(&command, words) {
        Some(verb) => format!("{} {} --help", program.name, verb.get_name()),
        None => format!("{} --help", program.name),
    }
}

/// Returns the help of a program or of one of its verbs.
pub fn render_help(program: &Program, verb: Option<&str>, length: HelpLength) -> String {
    let mut whole = (program.command)();
    whole.build();
    let described = verb.and_then(|verb| whole.find_subcommand(verb)).unwrap_or(&whole);
    let texts = verb.and_then(|verb| program.manual.verb(verb));
    let name = match verb {
        Some(verb) => format!("{} {verb}", program.name),
        None => program.name.to_owned(),
    };
    let usage = described.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    let mut shown = Command::new(name.clone())
        .bin_name(name)
        .about(about_text(described, length))
        .version(env!("HTC_VERSION"))
        .override_usage(usage)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .max_term_width(HELP_COLUMNS)
        .subcommand_help_heading(described.get_subcommand_help_heading().unwrap_or("Verbs").to_owned())
        .args(ordered_arguments(described, verb.is_none() && described.is_subcommand_required_set()))
        .subcommands(described.get_subcommands().map(listed_verb))
        .help_template("{name}: {about}\n\n{usage-heading} {usage}\n\n{all-args}");
    let text = match length {
        HelpLength::Screen => shown.render_help().to_string(),
        HelpLength::All => shown.render_long_help().to_string(),
    };
    // clap would break the lines of the examples, so they are appended to its text.
    without_double_blank_lines(&format!("{text}\n\n{}", closing_text(program, texts, length)))
}

fn about_text(described: &Command, length: HelpLength) -> String {
    let long = described.get_long_about().filter(|_| length == HelpLength::All);
    long.or_else(|| described.get_about()).map(ToString::to_string).unwrap_or_default()
}

/// Returns the arguments in the order of their groups, and within a group in the order of their definition. The short
/// help of a program that needs a verb omits the options, because the help of each verb has them.
fn ordered_arguments(described: &Command, needs_verb: bool) -> Vec<Arg> {
    let mut args: Vec<Arg> = described.get_arguments().cloned().collect();
    args.sort_by_key(OptionGroup::of);
    args.into_iter()
        .map(|arg| {
            let hidden =
                arg.is_hide_short_help_set() || needs_verb || OptionGroup::of(&arg) == OptionGroup::Help;
            let is_own = OptionGroup::of(&arg) == OptionGroup::Own && !arg.is_positional();
            let arg = if is_own { arg.help_heading(Resettable::Reset) } else { arg };
            arg.global(false).hide_short_help(hidden)
        })
        .collect()
}

/// Returns a verb as the list of verbs shows it.
fn listed_verb(verb: &Command) -> Command {
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    Command::new(verb.get_name().to_owned()).about(about).hide(verb.is_hide_set())
}

/// Returns the text after the options: exit statuses, examples, and a pointer to the other options.
fn closing_text(program: &Program, texts: Option<&VerbManual>, length: HelpLength) -> String {
    let (statuses, examples) = match texts {
        Some(texts) => (texts.statuses, texts.examples),
        None => (program.manual.statuses, program.manual.examples),
    };
    let shown = if length == HelpLength::All { examples.len() } else { HELP_EXAMPLES };
    let examples: String = examples.iter().take(shown).map(example_text).collect();
    let more = match length {
        HelpLength::Screen => "\n--help-all prints all options, including the common ones, with notes.",
        HelpLength::All => "",
    };
    format!("Exit status: {statuses}\n\nExamples:\n{}{more}", examples)
}

fn example_text(example: &Example) -> String {
    format!("  {}\n      {}\n", example.line, example.what)
}

fn without_double_blank_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_blank = false;
    for line in text.lines() {
        if !(is_blank && line.trim().is_empty()) {
            out.push_str(line.trim_end());
            out.push('\n');
        }
        is_blank = line.trim().is_empty();
    }
    out
}
