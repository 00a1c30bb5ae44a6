//! From `main` to exit status: the one place where a program's outcome becomes a message and a number.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};

use super::color::{Painter, When};
use super::{Status, normalise, problem};
use crate::classad::Dialect;
use crate::cli::{compat, complete};

/// One of the programs.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name, `htc-...`.
    pub name: &'static str,
    /// Its clap definition, made by [`command`].
    pub command: fn() -> Command,
    /// What man page and help say beyond the options.
    pub manual: &'static Manual,
    /// Carries it out.
    pub run: fn(&ArgMatches, &Session) -> anyhow::Result<Status>,
    /// Condor tools it also answers to.
    pub compat: &'static [Compat],
}

/// A condor tool that a program imitates when it is called by the tool's name.
#[derive(Clone, Copy, Debug)]
pub struct Compat {
    /// The tool's name.
    pub tool: &'static str,
    /// Carries it out with all words behind `argv[0]`, by the tool's own rules, output and statuses.
    pub run: fn(&[OsString], &Session) -> anyhow::Result<Status>,
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

/// What a running program knows of itself.
#[derive(Clone, Debug)]
pub struct Session {
    name: String,
    painter: Painter,
    /// What was told, for whoever tells it later.
    kept: Option<Arc<Mutex<String>>>,
    /// How ads are read that people or a queue log hand in.
    dialect: Dialect,
}

impl Session {
    /// The name that stands in front of messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same, with ads read in another dialect: that of a configuration.
    pub(crate) fn reading(&self, dialect: Dialect) -> Session {
        Session { dialect, ..self.clone() }
    }

    /// How ads are read.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The same, but what it tells is kept until it is [taken](Session::take).
    pub(crate) fn keeping(&self) -> Session {
        Session { kept: Some(Arc::default()), ..self.clone() }
    }

    /// What has been told and kept.
    pub(crate) fn take(&self) -> String {
        let kept = self.kept.as_ref().map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner));
        kept.map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default()
    }

    /// Says on standard error that something is odd; the work goes on.
    pub fn warn(&self, message: &str) {
        let text = format!("{}: {} {}\n", self.name, self.painter.warn("warning:"), brief(message));
        self.tell(&text);
    }

    /// Tells a failure on standard error without ending the program.
    pub fn report(&self, error: &anyhow::Error) {
        self.tell(&problem::render(&self.name, error, self.painter));
    }

    /// Writes text to standard error as it is. Where that is closed nobody can be told.
    pub fn tell(&self, text: &str) {
        if let Some(kept) = &self.kept {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
            return;
        }
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// What man pages say of the ClassAd settings that a configuration has.
pub const CLASSAD_KNOBS: &str = "STRICT_CLASSAD_EVALUATION is read as 25.14 reads it. ENABLE_CLASSAD_CACHING changes nothing that \
    could be seen. The libraries of CLASSAD_USER_LIBS and CLASSAD_USER_PYTHON_MODULES are not loaded: a call of their functions gives \
    error, as for any unknown name. userMap() knows no maps.";

/// A message of ours whose lines fit a terminal: of one that echoes a value of many kilobytes the middle is left out. What the
/// condor tools print is never cut.
pub fn brief(message: &str) -> Cow<'_, str> {
    const LONGEST: usize = 2000;
    const HEAD: usize = 600;
    const TAIL: usize = 200;
    if message.lines().all(|line| line.len() <= LONGEST) {
        return Cow::Borrowed(message);
    }
    let shortened = |line: &str| {
        if line.len() <= LONGEST {
            return line.to_owned();
        }
        let boundary =
            |at: usize| (at..line.len()).find(|&at| line.is_char_boundary(at)).unwrap_or(line.len());
        let (head, tail) = (boundary(HEAD), boundary(line.len() - TAIL));
        format!("{} ... ({} more bytes) ... {}", &line[..head], tail - head, &line[tail..])
    };
    Cow::Owned(message.lines().map(shortened).collect::<Vec<_>>().join("\n"))
}

/// The clap definition of a program: its derived options, and what is the same everywhere.
pub fn command<C: CommandFactory>(name: &'static str, manual: &'static Manual) -> Command {
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
    with_help(command.disable_version_flag(true).arg(version))
}

/// `--help` fits a screen; `--help-all` has everything.
fn with_help(command: Command) -> Command {
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
    command.disable_help_flag(true).arg(help).arg(all).mut_subcommands(with_help)
}

impl Program {
    /// The whole program: reads the command line, runs, tells what went wrong, gives the status.
    pub fn main(&self) -> ExitCode {
        crate::os::refuse_closed_stdout();
        let mut words = std::env::args_os();
        let called = words.next().unwrap_or_default();
        let words: Vec<OsString> = words.collect();
        if let Some(shell) = std::env::var_os(complete::ASKED) {
            let _ = std::io::stdout().write_all(complete::answer(self, &shell, &words).as_bytes());
            return ExitCode::SUCCESS;
        }
        self.call(&called, &words).into()
    }

    fn call(&self, called: &OsStr, words: &[OsString]) -> Status {
        let called = Path::new(called).file_name().and_then(OsStr::to_str).unwrap_or(self.name);
        let session = |name: &str, painter| Session {
            name: name.to_owned(),
            painter,
            kept: None,
            dialect: Dialect::new_syntax(),
        };
        if let Some(compat) = self.compat.iter().find(|compat| compat.tool == called) {
            let session = session(called, Painter::plain());
            return outcome((compat.run)(words, &session), &session);
        }
        if called != self.name
            && let Some(problem) = compat::elsewhere(called, self.name)
        {
            return outcome(Err(problem.into()), &session(called, Painter::plain()));
        }
        let session = session(self.name, Painter::stderr(color_of(words).unwrap_or_default()));
        outcome(self.run_words(words, &session), &session)
    }

    fn run_words(&self, words: &[OsString], session: &Session) -> anyhow::Result<Status> {
        // Scripts ask for it often, and it needs none of the options.
        if let [word] = words
            && ["--version", "-version", "-V"].iter().any(|version| word == version)
        {
            writeln!(std::io::stdout(), "{} {}", self.name, env!("HTC_VERSION"))?;
            return Ok(Status::Done);
        }
        let mut command = (self.command)();
        if words.iter().any(|word| word.to_string_lossy().trim_start_matches('-') == "help-all") {
            command = command.mut_subcommands(|verb| verb.hide(false));
        }
        let normal = normalise(&command, words)?;
        let full = std::iter::once(OsString::from(self.name)).chain(normal);
        let matches = command.try_get_matches_from_mut(full);
        // Taking hundreds of options apart takes longer than reading a command line, and the program ends soon.
        std::mem::forget(command);
        match matches {
            Ok(matches) => (self.run)(&matches, session),
            Err(error) => self.clap_outcome(&error, session),
        }
    }

    /// Help and version go to standard output with status 0, everything else is a wrong command line.
    fn clap_outcome(&self, error: &clap::Error, session: &Session) -> anyhow::Result<Status> {
        let text = error.render().to_string();
        if !error.use_stderr() {
            std::io::stdout().write_all(text.as_bytes())?;
            return Ok(Status::Done);
        }
        // clap's message without its usage lines, which tell less than `--help`.
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let message: Vec<&str> = text
            .lines()
            .take_while(|line| !line.starts_with("Usage:"))
            .filter(|line| !line.trim().is_empty() && !line.starts_with("For more information"))
            .collect();
        let verb = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            "a verb or an argument is missing".to_owned()
        } else {
            message.join("\n").replace("\n  tip: ", "\nhint: ")
        };
        let elsewhere = match error.get(ContextKind::InvalidSubcommand) {
            Some(ContextValue::String(word)) => own_verb(word, &(self.command)()),
            _ => None,
        };
        let verb = match elsewhere {
            Some(own) => format!("{}\nhint: here it is '{own}'", verb.lines().next().unwrap_or_default()),
            None => verb,
        };
        session.tell(&format!(
            "{}: {verb}\n{} try '{} --help'\n",
            session.painter.bold(&session.name),
            session.painter.bold("hint:"),
            self.name
        ));
        Ok(Status::Usage)
    }
}

/// What this program calls a verb of the condor tools or of their commands.
fn own_verb(word: &str, command: &Command) -> Option<&'static str> {
    let own = match word {
        "cancel-drain" | "cancel" | "resume" => "undrain",
        "evict" | "kill" => "vacate",
        "restart" | "reload" => "reconfig",
        "shutdown" | "stop" => "off",
        _ => return None,
    };
    command.find_subcommand(own).map(|_| own)
}

/// `--color` as typed, for messages about a command line that could not be read.
fn color_of(words: &[OsString]) -> Option<When> {
    let mut words = words.iter().map(|word| word.to_string_lossy());
    let mut when = None;
    while let Some(word) = words.next() {
        let name = word.trim_start_matches('-');
        let value = match name.split_once('=') {
            Some(("color", value)) if word.starts_with('-') => value.to_owned(),
            None if name == "color" && word.starts_with('-') => words.next()?.into_owned(),
            _ => continue,
        };
        when = <When as clap::ValueEnum>::from_str(&value, false).ok();
    }
    when
}

fn outcome(result: anyhow::Result<Status>, session: &Session) -> Status {
    let flushed = result.and_then(|status| match std::io::stdout().flush() {
        Ok(()) => Ok(status),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(status),
        Err(error) => Err(error.into()),
    });
    match flushed {
        Ok(status) => status,
        // A reader such as head(1) that had enough is no failure.
        Err(error) if problem::is_broken_pipe(&error) => Status::Done,
        Err(error) => {
            let error = problem::of_stdout(error);
            session.report(&error);
            problem::status_of(&error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::brief;

    #[test]
    fn long_lines_of_messages_lose_their_middle() {
        assert_eq!(brief("a\nb"), "a\nb");
        let long = format!("first\n{}end", "ü".repeat(100_000));
        let shown = brief(&long);
        assert!(shown.len() < 1000, "{}", shown.len());
        assert!(shown.starts_with("first\nüü") && shown.ends_with("üend"));
        assert!(shown.contains("... (199204 more bytes) ..."), "{shown}");
    }
}
