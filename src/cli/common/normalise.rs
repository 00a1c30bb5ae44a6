//! Conversion of HTCondor's option syntax to clap's: one dash before a long option (`-constraint`), any
//! unambiguous prefix of it (`-cons`), values that begin with a dash, and suffixes (`-af:h`, `-long:json`).
//!
//! A suffix of an option with values becomes its first value, including the colon (`-af:h Name` is `--af :h
//! Name`); a suffix of a flag must be another flag (`-long:json` is `--json`).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::builder::ValueRange;
use clap::{Arg, Command};

use super::Problem;
use super::vocabulary::{NAMES_NOT_ABBREVIATIONS, present_spelling};

/// Rewrites the arguments of the program. Unknown arguments are not changed, so that clap prints its own message with a
/// suggestion.
///
/// # Errors
/// Returns an error for a prefix of several options, or for an invalid suffix.
pub fn normalise(command: &Command, words: &[OsString]) -> Result<Vec<OsString>, Problem> {
    // The command is not built, because this would build all its verbs. Global options are therefore looked up in the parent
    // commands.
    let mut here = CommandPosition { command, parents: Vec::new() };
    let mut positionals = 0;
    let mut out = Vec::with_capacity(words.len());
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let bytes = word.as_bytes();
        if bytes == b"--" {
            out.push(word.clone());
            break;
        }
        // Other digits after a dash are negative numbers.
        if bytes == b"-0" && here.options().any(|arg| is_short(arg, b'0')) {
            out.push(OsString::from("--null"));
            continue;
        }
        let Some(name) = dashed_name(bytes) else {
            if let Some(verb) = word.to_str().and_then(|word| here.command.find_subcommand(word)) {
                here.parents.push(here.command);
                here.command = verb;
                positionals = 0;
            } else {
                positionals += 1;
                if takes_all_remaining_words(here.command, positionals) {
                    out.push(word.clone());
                    break;
                }
            }
            out.push(operand_word(word, here.command));
            continue;
        };
        let parts = OptionParts::parse(name);
        match here.find_option(bytes, parts.name)? {
            OptionMatch::Known(option) => push_option(&mut out, &here, option, &parts, &mut words)?,
            OptionMatch::Unknown => out.push(with_second_dash(word, &here)),
        }
    }
    out.extend(words.cloned());
    Ok(out)
}

/// Returns the verb of a command line, or `None` if it has none.
pub(super) fn verb_of<'a>(command: &'a Command, words: &[OsString]) -> Option<&'a Command> {
    let here = CommandPosition { command, parents: Vec::new() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let bytes = word.as_bytes();
        if bytes == b"--" {
            return None;
        }
        let Some(name) = dashed_name(bytes) else {
            match word.to_str().and_then(|word| command.find_subcommand(word)) {
                Some(verb) => return Some(verb),
                None => continue,
            }
        };
        let parts = OptionParts::parse(name);
        if let (Ok(OptionMatch::Known(option)), None) = (here.find_option(bytes, parts.name), parts.value) {
            for _ in 0..value_count(option).min_values() {
                words.next();
            }
        }
    }
    None
}

/// Returns an operand in a form that clap accepts. If operands may be negative numbers, they are expressions: `-5 + 3` gets a
/// leading blank, which does not change its value, so that clap does not treat it as an option.
fn operand_word(word: &OsStr, command: &Command) -> OsString {
    let bytes = word.as_bytes();
    let is_expression = command.get_positionals().any(Arg::is_allow_negative_numbers_set);
    if is_expression && bytes.len() > 1 && bytes.starts_with(b"-") {
        return OsString::from_vec([b" ", bytes].concat());
    }
    word.to_owned()
}

/// Returns the word after one or two dashes, or `None` for a number, an expression or a single dash.
fn dashed_name(word: &[u8]) -> Option<&[u8]> {
    let name = word.strip_prefix(b"-")?;
    let name = name.strip_prefix(b"-").unwrap_or(name);
    name.first().is_some_and(u8::is_ascii_alphabetic).then_some(name)
}

/// Parts of an option as typed, without its dashes: `name`, `name:suffix` or `name=value`.
struct OptionParts<'a> {
    name: &'a [u8],
    suffix: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
}

impl<'a> OptionParts<'a> {
    fn parse(text: &'a [u8]) -> Self {
        match text.iter().position(|byte| matches!(byte, b':' | b'=')) {
            None => OptionParts { name: text, suffix: None, value: None },
            Some(at) if text[at] == b':' => {
                OptionParts { name: &text[..at], suffix: Some(&text[at + 1..]), value: None }
            }
            Some(at) => OptionParts { name: &text[..at], suffix: None, value: Some(&text[at + 1..]) },
        }
    }
}

enum OptionMatch<'a> {
    Known(&'a Arg),
    Unknown,
}

fn long_names(arg: &Arg) -> impl Iterator<Item = String> {
    let long = arg.get_long().map(str::to_owned);
    let aliases = arg.get_all_aliases().unwrap_or_default();
    long.into_iter().chain(aliases.into_iter().map(str::to_owned))
}

fn is_short(arg: &Arg, letter: u8) -> bool {
    let letter = char::from(letter);
    arg.get_short() == Some(letter) || arg.get_all_short_aliases().unwrap_or_default().contains(&letter)
}

/// Current verb, and its parent commands.
struct CommandPosition<'a> {
    command: &'a Command,
    parents: Vec<&'a Command>,
}

impl<'a> CommandPosition<'a> {
    /// Returns the options of the verb, and the global options of its parent commands.
    fn options(&self) -> impl Iterator<Item = &'a Arg> {
        let global =
            self.parents.iter().flat_map(|parent| parent.get_arguments()).filter(|arg| arg.is_global_set());
        self.command.get_arguments().chain(global).filter(|arg| !arg.is_positional())
    }

    fn find_option(&self, word: &[u8], name: &[u8]) -> Result<OptionMatch<'a>, Problem> {
        let has = |long: &[u8]| self.options().any(|arg| long_names(arg).any(|own| own.as_bytes() == long));
        if let Some(present) = present_spelling(name).filter(|present| has(present.as_bytes()) && !has(name))
        {
            return Err(Problem::usage(format!("--{} is now --{present}", String::from_utf8_lossy(name))));
        }
        find_option_among(|| self.options(), word, name)
    }
}

fn find_option_among<'a, Options: Iterator<Item = &'a Arg>>(
    options: impl Fn() -> Options,
    word: &[u8],
    name: &[u8],
) -> Result<OptionMatch<'a>, Problem> {
    if let Some(arg) = options().find(|arg| long_names(arg).any(|known| known.as_bytes() == name)) {
        return Ok(OptionMatch::Known(arg));
    }
    let two_dashes = word.starts_with(b"--");
    if let ([letter], false) = (name, two_dashes)
        && let Some(arg) = options().find(|arg| is_short(arg, *letter))
    {
        return Ok(OptionMatch::Known(arg));
    }
    let begins = |arg: &&Arg| long_names(arg).any(|known| known.as_bytes().starts_with(name));
    let mut candidates: Vec<&Arg> = options().filter(begins).collect();
    candidates.dedup_by_key(|arg| arg.get_id().clone());
    match candidates.as_slice() {
        [] => Ok(OptionMatch::Unknown),
        // `--sum`, an option of other programs, is not an abbreviation of `--summary`.
        [only] if NAMES_NOT_ABBREVIATIONS.iter().any(|other| other.as_bytes() == name) => {
            let typed = String::from_utf8_lossy(word).into_owned();
            let problem = Problem::usage(format!("unexpected argument '{typed}' found"));
            let long = only.get_long().map(|long| format!("did you mean --{long}?"));
            Err(problem.maybe_hint(long))
        }
        [only] => Ok(OptionMatch::Known(only)),
        several => {
            let list: Vec<String> =
                several.iter().filter_map(|arg| arg.get_long()).map(|long| format!("--{long}")).collect();
            let typed = String::from_utf8_lossy(word).into_owned();
            Err(Problem::usage(format!("option '{typed}' could be {}", list.join(" or ")))
                .hint("type more letters of the option"))
        }
    }
}

/// Returns true if the positional argument `number` takes all remaining arguments, including options.
fn takes_all_remaining_words(command: &Command, number: usize) -> bool {
    command.get_positionals().nth(number - 1).is_some_and(Arg::is_trailing_var_arg_set)
}

fn dashed_name_of(arg: &Arg) -> OsString {
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => OsString::from(format!("--{long}")),
        (None, Some(short)) => OsString::from(format!("-{short}")),
        (None, None) => OsString::new(),
    }
}

fn join_value(option: &OsStr, value: &[u8]) -> OsString {
    let mut word = option.as_bytes().to_vec();
    word.push(b'=');
    word.extend_from_slice(value);
    OsString::from_vec(word)
}

/// Returns the number of values of an option, as clap computes it when it builds a command.
fn value_count(arg: &Arg) -> ValueRange {
    let names = arg.get_value_names().map_or(0, <[_]>::len);
    arg.get_num_args().unwrap_or_else(|| match arg.get_action().takes_values() {
        true => names.max(1).into(),
        false => 0.into(),
    })
}

fn push_option<'a>(
    out: &mut Vec<OsString>,
    here: &CommandPosition<'_>,
    arg: &Arg,
    parts: &OptionParts<'_>,
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a OsString>>,
) -> Result<(), Problem> {
    let option = dashed_name_of(arg);
    let takes = value_count(arg);
    if let Some(value) = parts.value {
        out.push(join_value(&option, value));
        return Ok(());
    }
    if takes.max_values() == 0 {
        match parts.suffix {
            None => out.push(option),
            Some(suffix) => out.push(flag_for_suffix(here, &option, suffix)?),
        }
        return Ok(());
    }
    if takes.max_values() == 1 {
        match parts.suffix {
            // clap accepts a value that begins with a dash only in the form `--option=value`.
            None if takes.min_values() == 1 => match words.next() {
                Some(value) => out.push(join_value(&option, value.as_bytes())),
                None => out.push(option),
            },
            None => out.push(option),
            Some(suffix) => out.push(join_value(&option, &[b":", suffix].concat())),
        }
        return Ok(());
    }
    out.push(option);
    if let Some(suffix) = parts.suffix {
        out.push(OsString::from_vec([b":", suffix].concat()));
    }
    for _ in 0..takes.min_values() {
        if words.peek().is_some_and(|word| dashed_name(word.as_bytes()).is_none()) {
            out.extend(words.next().cloned());
        }
    }
    Ok(())
}

fn flag_for_suffix(here: &CommandPosition<'_>, option: &OsStr, suffix: &[u8]) -> Result<OsString, Problem> {
    let is_flag = |arg: &&Arg| value_count(arg).max_values() == 0;
    here.options()
        .filter(is_flag)
        .find(|arg| arg.get_long().is_some_and(|long| long.as_bytes() == suffix))
        .map(dashed_name_of)
        .ok_or_else(|| {
            let suffix = String::from_utf8_lossy(suffix);
            Problem::usage(format!("option '{}' does not accept ':{suffix}'", option.to_string_lossy()))
        })
}

/// Adds a second dash to an unknown word with one dash, so that clap suggests a name instead of splitting the word into letters.
/// A group of known short options is not changed.
fn with_second_dash(word: &OsStr, here: &CommandPosition<'_>) -> OsString {
    let bytes = word.as_bytes();
    let bundle = bytes[1..].iter().all(|&letter| here.options().any(|arg| is_short(arg, letter)));
    if bytes.starts_with(b"--") || bundle || bytes.len() == 2 {
        return word.to_owned();
    }
    OsString::from_vec([b"-", bytes].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ArgAction;

    fn command() -> Command {
        Command::new("t")
            .arg(Arg::new("config").long("config-file").num_args(1).global(true))
            .arg(Arg::new("color").long("color").num_args(1))
            .arg(Arg::new("constraint").long("constraint").alias("con").num_args(1))
            .arg(Arg::new("long").long("long").short('l').action(ArgAction::SetTrue))
            .arg(Arg::new("json").long("json").action(ArgAction::SetTrue))
            .arg(Arg::new("af").long("autoformat").alias("af").num_args(1..))
            .arg(Arg::new("limit").long("limit").num_args(1))
            .subcommand(
                Command::new("run")
                    .arg(Arg::new("once").long("once").action(ArgAction::SetTrue))
                    .arg(Arg::new("command").num_args(1..).trailing_var_arg(true)),
            )
    }

    fn normalised(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match normalise(&command(), &words) {
            Ok(words) => words.join(OsStr::new(" ")).to_string_lossy().into_owned(),
            Err(problem) => problem.to_string(),
        }
    }

    #[test]
    fn one_dash_and_unambiguous_prefixes_are_accepted() {
        assert_eq!(normalised("-constraint x>1"), "--constraint=x>1");
        assert_eq!(normalised("-conf f -json"), "--config-file=f --json");
        assert_eq!(normalised("--js -l"), "--json --long");
        assert_eq!(normalised("-con -5"), "--constraint=-5");
        assert_eq!(normalised("-co x"), "option '-co' could be --config-file or --color or --constraint");
        assert_eq!(normalised("--limit=3 a"), "--limit=3 a");
    }

    /// `--sum` is an option of other programs.
    #[test]
    fn the_name_of_another_option_is_not_an_abbreviation() {
        let command = Command::new("t").arg(Arg::new("summary").long("summary").action(ArgAction::SetTrue));
        let normalised = |word: &str| normalise(&command, &[OsString::from(word)]);
        assert_eq!(normalised("--summ").unwrap(), ["--summary"]);
        assert_eq!(normalised("--sum").unwrap_err().to_string(), "unexpected argument '--sum' found");
    }

    #[test]
    fn numbers_and_words_after_two_dashes_are_unchanged() {
        assert_eq!(normalised("-1 - -- -json"), "-1 - -- -json");
        assert_eq!(normalised("-limit -1"), "--limit=-1");
    }

    #[test]
    fn negative_expressions_are_not_options() {
        let command = Command::new("t").arg(Arg::new("expr").num_args(0..).allow_negative_numbers(true));
        let words = ["-5 + 3", "-", "-(a)", "-1"].map(OsString::from);
        assert_eq!(
            normalise(&command, &words).unwrap(),
            [" -5 + 3", "-", " -(a)", " -1"].map(OsString::from)
        );
    }

    #[test]
    fn suffixes_are_flags_or_first_values() {
        assert_eq!(normalised("-af:hV Owner Cmd -l"), "--autoformat :hV Owner Cmd --long");
        assert_eq!(normalised("-af Owner"), "--autoformat Owner");
        assert_eq!(normalised("-long:json"), "--json");
        assert_eq!(normalised("-long:blue"), "option '--long' does not accept ':blue'");
    }

    #[test]
    fn a_verb_has_its_own_and_the_common_options() {
        assert_eq!(normalised("run -on -config f"), "run --once --config-file=f");
        assert_eq!(normalised("run -once sh -c -once"), "run --once sh -c -once");
        // Options after the first operand, which is a command, are not this program's.
        assert_eq!(normalised("run hook -once"), "run hook -once");
    }

    #[test]
    fn unknown_words_are_left_to_clap() {
        assert_eq!(normalised("-jsno"), "--jsno");
        assert_eq!(normalised("-z"), "-z");
        assert_eq!(normalised("-limit"), "--limit");
        let words = [OsString::from_vec(b"-\xff".to_vec())];
        assert_eq!(normalise(&command(), &words).unwrap(), words);
    }
}
