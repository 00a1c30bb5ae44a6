//! Table of the options of several programs, with the verbs that support each of them.

use clap::{Arg, Command};

use super::program::Program;
use super::unused_options::NO_VERB;
use super::vocabulary::{COMMON_OPTIONS, has_common_meaning};

/// Maximum number of verbs that a cell of the table excludes by name.
const MAX_EXCLUDED_VERBS: usize = 3;

/// Returns the rows of the table in the book: each option with its meaning and, for each program, the verbs that support it.
pub fn vocabulary_table(programs: &[&Program]) -> String {
    let names: Vec<&str> = programs.iter().map(|program| program.name.trim_start_matches("htc-")).collect();
    let commands: Vec<Command> = programs.iter().map(|program| (program.command)()).collect();
    let mut text =
        format!("| option | meaning | {} |\n|---|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for common in &COMMON_OPTIONS {
        let short = common.short.map(|short| format!("`-{short}` ")).unwrap_or_default();
        let value = if common.value.is_empty() { String::new() } else { format!(" {}", common.value) };
        let cells: Vec<String> = programs
            .iter()
            .zip(&commands)
            .map(|(program, command)| verbs_cell(program, command, common.long))
            .collect();
        let option = format!("{short}`--{}{value}`", common.long).replace('|', "\\|");
        let meaning = common.meaning.replace('|', "\\|");
        text.push_str(&format!("| {option} | {meaning} | {} |\n", cells.join(" | ")));
    }
    text
}

/// Returns true if a verb supports an option with its meaning in the vocabulary. The name of the program without a verb is
/// [`NO_VERB`].
pub fn verb_supports(program: &Program, command: &Command, verb: &str, long: &str) -> bool {
    let is_it = |of: &Command, arg: &Arg| arg.get_long() == Some(long) && has_common_meaning(of, arg);
    let has = |of: &Command| of.get_arguments().any(|arg| is_it(of, arg));
    let is_global = command.get_arguments().any(|arg| arg.is_global_set() && is_it(command, arg));
    let is_defined = match verb {
        NO_VERB => has(command),
        verb => is_global || command.find_subcommand(verb).is_some_and(has),
    };
    is_defined && !program.is_unused(verb, long)
}

/// Returns the verbs of a program that support an option: `all`, their names, or `-` if no verb supports it.
fn verbs_cell(program: &Program, command: &Command, long: &str) -> String {
    let supports = |verb: &&str| verb_supports(program, command, verb, long);
    let verbs = command.get_subcommands().map(Command::get_name);
    let (supporting, other): (Vec<&str>, Vec<&str>) = verbs.partition(supports);
    let needs_verb = command.is_subcommand_required_set();
    let without_verb = !needs_verb && supports(&NO_VERB);
    match (supporting.len(), other.len()) {
        (0, _) if !without_verb => "-".to_owned(),
        (0, 0) => "all".to_owned(),
        (0, _) => "without a verb".to_owned(),
        (_, 0) if needs_verb || without_verb => "all".to_owned(),
        (many, few) if (needs_verb || without_verb) && few <= MAX_EXCLUDED_VERBS && many > few => {
            format!("all but {}", other.join(", "))
        }
        _ if without_verb => format!("without a verb, {}", supporting.join(", ")),
        _ => supporting.join(", "),
    }
}
