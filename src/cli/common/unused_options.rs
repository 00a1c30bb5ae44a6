//! Options that have no effect in some verbs of a program. The help of these verbs hides them, and their use is refused.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::Problem;

/// Options that have no effect in some verbs of a program.
#[derive(Clone, Copy, Debug)]
pub struct UnusedOptions {
    /// Names of the verbs; [`NO_VERB`] is the program without a verb.
    pub verbs: &'static [&'static str],
    /// Names of the options, without dashes.
    pub options: &'static [&'static str],
}

/// Name of the program without a verb in [`UnusedOptions::verbs`].
pub const NO_VERB: &str = "";

/// Returns true if an option has no effect in a verb.
pub(super) fn is_unused(unused: &[UnusedOptions], verb: &str, option: &str) -> bool {
    unused.iter().any(|unused| unused.verbs.contains(&verb) && unused.options.contains(&option))
}

/// Hides the options that have no effect in a verb from the help of the verb.
pub fn hide_unused_options(command: Command, unused: &'static [UnusedOptions]) -> Command {
    let is_hidden = |verb: &str, arg: &Arg| arg.get_long().is_some_and(|long| is_unused(unused, verb, long));
    let global: Vec<Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    // `mut_subcommand` would move the verb to the end of the list.
    command.mut_subcommands(|verb| {
        let name = verb.get_name().to_owned();
        let is_own = |arg: &Arg| verb.get_arguments().any(|own| own.get_id() == arg.get_id());
        let inherited: Vec<Arg> = global
            .iter()
            .filter(|arg| is_hidden(&name, arg) && !is_own(arg))
            .map(|arg| arg.clone().global(false).hide(true))
            .collect();
        verb.mut_args(|arg| if is_hidden(&name, &arg) { arg.hide(true) } else { arg }).args(inherited)
    })
}

/// Refuses options and operands on the command line that have no effect in its verb.
///
/// # Errors
/// Returns an error if an option or operand has no effect.
pub(super) fn refuse_unused_options(
    unused: &[UnusedOptions],
    command: &Command,
    matches: &ArgMatches,
) -> Result<(), Problem> {
    let (verb, arguments) = matches.subcommand().unwrap_or((NO_VERB, matches));
    let found = command.find_subcommand(verb);
    let args = found.into_iter().flat_map(Command::get_arguments).chain(command.get_arguments());
    for arg in args {
        let Some(long) = arg.get_long().filter(|long| is_unused(unused, verb, long)) else { continue };
        if is_given(arg, matches) || is_given(arg, arguments) {
            return Err(no_effect_problem(unused, command, verb, long));
        }
    }
    match found {
        Some(found) => refuse_arguments_before_verb(command, found, matches),
        None => Ok(()),
    }
}

fn no_effect_problem(unused: &[UnusedOptions], command: &Command, verb: &str, long: &str) -> Problem {
    if verb != NO_VERB {
        return Problem::usage(format!("--{long} has no effect in '{verb}'"));
    }
    let verbs = command.get_subcommands().map(Command::get_name);
    let supporting_verbs: Vec<&str> = verbs.filter(|verb| !is_unused(unused, verb, long)).collect();
    let problem = Problem::usage(format!("--{long} has no effect without a verb"));
    if supporting_verbs.is_empty() {
        problem
    } else {
        problem.hint(format!("it has an effect in {}", supporting_verbs.join(", ")))
    }
}

/// Refuses arguments of the program before a verb that does not use them.
fn refuse_arguments_before_verb(
    command: &Command,
    verb: &Command,
    matches: &ArgMatches,
) -> Result<(), Problem> {
    let has = |arg: &Arg| verb.get_arguments().any(|own| own.get_id() == arg.get_id());
    let own =
        || command.get_arguments().filter(|arg| !arg.is_global_set() && arg.get_long() != Some("version"));
    // A verb that has all arguments of the program is the default verb. It accepts them before and after its name.
    let is_default = own().all(has);
    let name = verb.get_name();
    for arg in own().filter(|arg| is_given(arg, matches)) {
        match (arg.get_long(), has(arg)) {
            (_, true) if is_default || arg.is_positional() => {}
            (Some(long), true) => {
                return Err(Problem::usage(format!("--{long} has no effect before '{name}'"))
                    .hint(format!("write it after '{name}'")));
            }
            (Some(long), false) => {
                return Err(Problem::usage(format!("--{long} has no effect in '{name}'")));
            }
            (None, _) => {
                let id = arg.get_id().as_str();
                let word = matches.get_raw(id).and_then(|mut words| words.next()).unwrap_or_default();
                let word = word.to_string_lossy();
                return Err(Problem::usage(format!("'{word}' before '{name}' has no effect")));
            }
        }
    }
    Ok(())
}

fn is_given(arg: &Arg, matches: &ArgMatches) -> bool {
    let id = arg.get_id().as_str();
    matches!(matches.try_contains_id(id), Ok(true))
        && matches.value_source(id) == Some(ValueSource::CommandLine)
}
