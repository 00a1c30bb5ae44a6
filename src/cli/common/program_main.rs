//! Main function of the programs. Only this module converts the outcome of a program to a message and an exit status.

use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command};

use super::color::{Painter, StyleChoice};
use super::help::{help_command_for, requested_help};
use super::normalise::verb_of;
use super::stdin_use::refuse_stdin_twice;
use super::stdout::stdout;
use super::unused_options::refuse_unused_options;
use super::{Problem, Program, ProgramContext, Status, normalise, number_error, problem};
use crate::cli::{compat, complete};
use crate::quirks::QuirkMode;
use crate::text::similar_names::nearest;

/// Reason why the arguments of a command line are not accepted before its verb runs.
#[derive(Debug, thiserror::Error)]
pub enum RefusedArguments {
    /// clap does not accept them, or they request help.
    #[error(transparent)]
    Parser(#[from] clap::Error),
    /// They violate a rule that applies to all verbs.
    #[error(transparent)]
    Rules(#[from] Problem),
}

impl Program {
    /// Runs the whole program: parses the command line, runs it, prints errors and returns the status.
    pub fn main(&self) -> ExitCode {
        crate::os::replace_closed_stdout();
        crate::os::block_file_size_signal();
        let mut words = std::env::args_os();
        let called = words.next().unwrap_or_default();
        let words: Vec<OsString> = words.collect();
        if let Some(shell) = std::env::var_os(complete::COMPLETION_VARIABLE) {
            let _ = stdout().write_all(complete::completions_for(self, &shell, &words).as_bytes());
            return ExitCode::SUCCESS;
        }
        self.dispatch(&called, &words).into()
    }

    fn dispatch(&self, called: &OsStr, words: &[OsString]) -> Status {
        let called = Path::new(called).file_name().and_then(OsStr::to_str).unwrap_or(self.name);
        if let Some(compat) = self.compat.iter().find(|compat| compat.tool == called) {
            let session =
                ProgramContext::new(called, Painter::plain()).with_input(None, false, QuirkMode::Reference);
            return finish_program((compat.run)(words, &session), &session);
        }
        if called != self.name
            && let Some(problem) = compat::unsupported_tool_problem(called, self.name)
        {
            return finish_program(Err(problem.into()), &ProgramContext::new(called, Painter::plain()));
        }
        let session = ProgramContext::new(self.name, Painter::stderr(typed_color(words).unwrap_or_default()));
        finish_program(self.run_arguments(words, &session), &session)
    }

    fn run_arguments(&self, words: &[OsString], session: &ProgramContext) -> anyhow::Result<Status> {
        // `--version` is handled before the options are defined, because scripts call it often.
        if let [word] = words
            && ["--version", "-version", "-V"].iter().any(|version| word == version)
        {
            writeln!(stdout(), "{} {}", self.name, env!("HTC_VERSION"))?;
            return Ok(Status::Done);
        }
        let mut command = (self.command)();
        let matches = self.parse(&mut command, words);
        // Dropping hundreds of options takes longer than parsing the command line, and is unnecessary because the
        // process ends soon.
        std::mem::forget(command);
        match matches {
            Ok(matches) => (self.run)(&matches, session).map(|status| session.status_of_answer(status)),
            Err(RefusedArguments::Parser(error)) if matches!(error.kind(), ErrorKind::DisplayHelp) => {
                stdout().write_all(requested_help(self, words).as_bytes())?;
                Ok(Status::Done)
            }
            Err(RefusedArguments::Parser(error)) => self.report_clap_error(&error, words, session),
            Err(RefusedArguments::Rules(problem)) => Err(problem.into()),
        }
    }

    /// Parses the arguments of a command line with `command`, the program's definition, and checks what applies to all verbs.
    ///
    /// # Errors
    /// Returns an error if the arguments are refused before the verb runs, or request help.
    pub fn parse(&self, command: &mut Command, words: &[OsString]) -> Result<ArgMatches, RefusedArguments> {
        let normal = normalise(command, words)?;
        let full = std::iter::once(OsString::from(self.name)).chain(normal);
        let matches = command.try_get_matches_from_mut(full)?;
        refuse_unused_options(self.unused_options, command, &matches)?;
        refuse_stdin_twice(command, &matches)?;
        Ok(matches)
    }

    /// Prints help or version to standard output with status 0; any other clap error is an invalid command line.
    fn report_clap_error(
        &self,
        error: &clap::Error,
        words: &[OsString],
        session: &ProgramContext,
    ) -> anyhow::Result<Status> {
        let text = error.render().to_string();
        if !error.use_stderr() {
            stdout().write_all(text.as_bytes())?;
            return Ok(Status::Done);
        }
        // The usage lines in clap's message are less complete than `--help`, so they are omitted.
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let message: Vec<&str> = text
            .lines()
            .take_while(|line| !line.starts_with("Usage:"))
            .filter(|line| !line.trim().is_empty() && !line.starts_with("For more information"))
            .collect();
        let number = number_error::number_error_text(error).and_then(|words| {
            let head = message.first()?.rsplit_once(&format!(": {}", error.source()?))?.0;
            Some(format!("{head}: {words}"))
        });
        let verb = if let Some(number) = number {
            number
        } else if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            "a verb or an argument is missing".to_owned()
        } else {
            // The help calls subcommands verbs.
            let is_tip = |line: &&&str| line.starts_with("  tip: ");
            let lines: Vec<&str> = message.iter().filter(|line| !is_tip(line)).copied().collect();
            let text = lines.join("\n").replace("unrecognized subcommand", "unknown verb");
            match spelling_hint(error, &(self.command)(), words) {
                Some(hint) => format!("{text}\nhint: {hint}"),
                None => text,
            }
        };
        let elsewhere = match error.get(ContextKind::InvalidSubcommand) {
            Some(ContextValue::String(word)) => native_verb(word, &(self.command)()),
            _ => None,
        };
        let verb = match elsewhere {
            Some(own) => format!("{}\nhint: use '{own}'", verb.lines().next().unwrap_or_default()),
            None => verb,
        };
        let verb = match file_hint(error, &(self.command)(), words) {
            Some(hint) => format!("{verb}\nhint: {hint}"),
            None => verb,
        };
        session.write_stderr(&format!(
            "{}: {verb}\n{} try '{}'\n",
            session.painter().bold(session.name()),
            session.painter().bold("hint:"),
            help_command_for(self, words)
        ));
        Ok(Status::Usage)
    }
}

/// Returns a hint for an unknown option or verb: the nearest name or, if the option looks like an output format, the
/// list of output formats.
fn spelling_hint(error: &clap::Error, command: &Command, words: &[OsString]) -> Option<String> {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name);
        return verb_hint(word, verbs.collect());
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let typed = word.trim_start_matches('-');
    let verb = verb_of(command, words);
    let args = verb
        .into_iter()
        .flat_map(Command::get_arguments)
        .chain(command.get_arguments().filter(|arg| verb.is_none() || arg.is_global_set()));
    let names: Vec<&str> = args.filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long).collect();
    let formats: Vec<String> = ["long", "json", "jsonl", "xml", "new", "csv", "tsv"]
        .iter()
        .filter(|format| names.contains(format))
        .map(|format| format!("--{format}"))
        .collect();
    if matches!(typed, "to" | "output-format" | "form") && !formats.is_empty() {
        return Some(format!("the output formats are {}", formats.join(", ")));
    }
    nearest(typed, names.iter().copied()).map(|near| format!("did you mean --{near}?"))
}

/// Returns the verb nearest to the word or, if no verb is near, the verbs that contain the word.
fn verb_hint(word: &str, verbs: Vec<&str>) -> Option<String> {
    if let Some(near) = nearest(word, verbs.iter().copied()) {
        return Some(format!("did you mean {near}?"));
    }
    let parts: Vec<&str> = verbs.into_iter().filter(|verb| verb.contains(word)).collect();
    (!parts.is_empty()).then(|| format!("did you mean {}?", parts.join(" or ")))
}

/// Returns a hint if an unknown argument is the name of a file, and `--ads` could read it.
fn file_hint(error: &clap::Error, command: &Command, words: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || !Path::new(word).is_file() {
        return None;
    }
    let has_option =
        |command: &Command, option: &str| command.get_arguments().any(|arg| arg.get_long() == Some(option));
    // The options of a program do not apply to its verbs unless they are global.
    let command = verb_of(command, words).unwrap_or(command);
    let has_verb_with_ads = command.get_subcommands().any(|verb| has_option(verb, "ads"));
    match () {
        () if has_option(command, "ads") || has_verb_with_ads => {
            Some(format!("--ads {word} reads the ads of the file"))
        }
        () if has_option(command, "config-file") => {
            Some(format!("--config-file {word} reads the configuration in the file"))
        }
        () => None,
    }
}

/// Returns this program's verb for a word that users of the condor tools may type instead.
fn native_verb(word: &str, command: &Command) -> Option<&'static str> {
    let own = match word {
        "cancel-drain" | "cancel" | "resume" => "undrain",
        "evict" | "kill" => "vacate",
        "restart" | "reload" => "reconfig",
        "shutdown" | "stop" => "off",
        _ => return None,
    };
    command.find_subcommand(own).map(|_| own)
}

/// Returns the value of `--color` as typed, for messages about a command line that cannot be parsed.
fn typed_color(words: &[OsString]) -> Option<StyleChoice> {
    let mut words = words.iter().map(|word| word.to_string_lossy());
    let mut when = None;
    while let Some(word) = words.next() {
        let name = word.trim_start_matches('-');
        let value = match name.split_once('=') {
            Some(("color", value)) if word.starts_with('-') => value.to_owned(),
            None if name == "color" && word.starts_with('-') => words.next()?.into_owned(),
            _ => continue,
        };
        when = <StyleChoice as clap::ValueEnum>::from_str(&value, false).ok();
    }
    when
}

fn finish_program(result: anyhow::Result<Status>, session: &ProgramContext) -> Status {
    let flushed = result.and_then(|status| match stdout().flush() {
        Ok(()) => Ok(status),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(status),
        Err(error) => Err(error.into()),
    });
    match flushed {
        Ok(status) => status,
        // It is not an error if the reader of a pipe, such as head(1), closes it early.
        Err(error) if problem::is_broken_pipe(&error) => Status::Done,
        Err(error) => {
            let error = problem::add_stdout_context(error);
            session.report(&error);
            problem::exit_status_of(&error)
        }
    }
}
