//! Texts that a transform takes in with `include : FILE` and `include command : CMD`, read again for every ad unless they are
//! to be remembered.

use htc_classad::Dialect;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashMap;

use super::macros::MacroScope;
use super::program::TransformProgram;
use super::rules_text::RulesText;
use htc_base::world::World;
use htc_config::command::{self, CommandError, SourceTarget};
use htc_config::statement::parse_include_options;
use htc_config::{CommandPolicy, expand};

/// Why a text cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IncludeError {
    /// A command would have to be run, which [`CommandPolicy`] does not allow.
    #[error("cannot include '{target}': {}", CommandError::Refused)]
    Refused {
        /// The command, or the file that it would make.
        target: BString,
    },
    /// Texts that include one another without end.
    #[error("includes nested too deep")]
    TooDeep,
    /// Words between `include` and the colon that are none of its options.
    #[error("{}", format!("unexpected words '{words}' after include {more}").trim_end())]
    Words {
        /// The words.
        words: BString,
        /// What more was expected, or nothing.
        more: &'static str,
    },
    /// `into` names no file; the reference's words.
    #[error("the destination of 'include into' {}", .0.trim_start_matches("for 'include into' "))]
    Destination(&'static str),
    /// It cannot be read.
    #[error("cannot include '{}': {}", .0.target, .0.reason)]
    Unreadable(Box<UnreadableInclude>),
    /// The name of the file cannot be expanded.
    #[error("{0}")]
    Expansion(String),
}

/// A text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableInclude {
    /// The file or command.
    pub target: BString,
    /// In words.
    pub reason: String,
    /// In the reference's words.
    pub reference: String,
}

/// What includes gave: for those that read each text once, however many ads there are.
#[derive(Debug, Default)]
pub struct IncludeCache(RefCell<FxHashMap<(BString, BString), IncludeResult>>);

/// What an include gave.
#[derive(Clone, Debug)]
pub(super) enum IncludeContent {
    /// A text that was split into its statements.
    Program(Rc<TransformProgram>),
    /// Nothing, which is allowed: why, in the reference's words.
    Missing(String),
    /// A text without a line: its name.
    Empty(BString),
}

type IncludeResult = Result<IncludeContent, IncludeError>;

/// What an include names, and how that is read. `target` is expanded already.
pub(super) struct IncludeRequest<'a> {
    pub(super) target: &'a [u8],
    pub(super) world: &'a dyn World,
    pub(super) commands: CommandPolicy,
}

impl IncludeRequest<'_> {
    /// The statements.
    pub(super) fn load_program(
        &self,
        options: &[u8],
        scope: &MacroScope<'_>,
        included: Option<&IncludeCache>,
    ) -> IncludeResult {
        let read = || {
            Ok(match self.read_text(options, scope)? {
                Err(reference) => IncludeContent::Missing(reference),
                Ok((text, name)) if text.is_empty() => IncludeContent::Empty(name),
                Ok((text, _)) => {
                    let rules = RulesText::from_include(&self.target.to_str_lossy(), &text);
                    IncludeContent::Program(Rc::new(TransformProgram::compile(
                        rules,
                        Dialect::of_world(self.world),
                    )))
                }
            })
        };
        // A file that is named by a macro may be another one for each ad.
        let Some(included) = included.filter(|_| !options.contains(&b'$')) else { return read() };
        let key = (BString::from(options), BString::from(self.target));
        if let Some(known) = included.0.borrow().get(&key) {
            return known.clone();
        }
        let known = read();
        included.0.borrow_mut().insert(key, known.clone());
        known
    }

    /// The text and its name; in place of one that may be missing and is, why, in the reference's words.
    fn read_text(
        &self,
        options: &[u8],
        scope: &MacroScope<'_>,
    ) -> Result<Result<(Vec<u8>, BString), String>, IncludeError> {
        let options = parse_include_options(options)
            .map_err(|more| IncludeError::Words { words: options.into(), more })?;
        let target = SourceTarget::new(self.target, options.command);
        let text = match options.into {
            None => self.open_target(target.command),
            Some(into) => {
                let into = expand::expand(into, scope, self.world, &mut |_| {})
                    .map_err(|error| IncludeError::Expansion(error.to_string()))?;
                if into.ends_with(b"|") {
                    return Err(IncludeError::Destination("may not be a script"));
                }
                if into.is_empty() {
                    return Err(IncludeError::Destination("expanded to ''"));
                }
                self.open_command_output_file(target.command, &into)
            }
        };
        match text {
            Ok(text) => Ok(Ok((text, target.shown))),
            // That a command is not run is never passed over: what the transform does would not be known.
            Err(IncludeReadError::Refused) => Err(IncludeError::Refused { target: self.target.into() }),
            Err(IncludeReadError::Other { reference, .. }) if options.if_exists => Ok(Err(reference)),
            Err(IncludeReadError::Other { reason, reference }) => {
                Err(IncludeError::Unreadable(Box::new(UnreadableInclude {
                    target: self.target.into(),
                    reason,
                    reference,
                })))
            }
        }
    }

    fn open_target(&self, command: Option<BString>) -> Result<Vec<u8>, IncludeReadError> {
        Ok(match command {
            None => match self.world.read_file(bytes_to_path(self.target), None) {
                Ok(text) => text,
                // The reference opens it, and finds no line in it.
                Err(error) if error.kind() == io::ErrorKind::IsADirectory => Vec::new(),
                Err(error) => {
                    let words = command::error_text(&error);
                    return Err(IncludeReadError::from_io_error(
                        &error,
                        format!("can't open file {}: {words}", self.target.as_bstr()),
                    ));
                }
            },
            // What the command's status says is not looked at.
            Some(line) => command::run_command(&line, self.commands, self.world)?.0,
        })
    }

    /// The file of `into`, made from the command's output where it cannot be opened.
    fn open_command_output_file(
        &self,
        command: Option<BString>,
        into: &BString,
    ) -> Result<Vec<u8>, IncludeReadError> {
        // Only a bar at the end makes a command of a name, but one anywhere keeps it from being a file.
        if into.contains(&b'|') {
            let text = "not a valid command, | must be at the end\n";
            return Err(IncludeReadError::Other { reason: text.trim_end().into(), reference: text.into() });
        }
        if let Ok(text) = self.world.read_file(bytes_to_path(into), None) {
            return Ok(text);
        }
        let text = match command {
            None => self
                .world
                .read_file(bytes_to_path(self.target), None)
                .map_err(|error| IncludeReadError::from_io_error(&error, "can't open input file"))?,
            Some(line) => {
                let (text, exit) = command::run_command(&line, self.commands, self.world)?;
                if !exit.is_success() {
                    let reference = format!("exited with error {}", exit.to_raw());
                    return Err(IncludeReadError::Other {
                        reason: format!("the command ended with {exit}"),
                        reference,
                    });
                }
                text
            }
        };
        self.world.write_file(bytes_to_path(into), &text).map_err(|error| IncludeReadError::Other {
            reason: format!("cannot write '{into}': {error}"),
            reference: format!("can't open '{into}' for write"),
        })?;
        Ok(text)
    }
}

/// Why there is no text.
enum IncludeReadError {
    Refused,
    Other { reason: String, reference: String },
}

impl IncludeReadError {
    fn from_io_error(error: &io::Error, reference: impl Into<String>) -> Self {
        IncludeReadError::Other { reason: error.to_string(), reference: reference.into() }
    }
}

impl From<CommandError> for IncludeReadError {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Refused => IncludeReadError::Refused,
            other => IncludeReadError::Other { reason: other.to_string(), reference: other.to_string() },
        }
    }
}

fn bytes_to_path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}
