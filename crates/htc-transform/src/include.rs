//! Texts inserted in a transform by `include : FILE` and `include command : CMD`. Without a cache, each text is read
//! again for every ad.

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

/// Error while an included text is read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IncludeError {
    /// A command would have to be run, but [`CommandPolicy`] does not allow it.
    #[error("cannot include '{target}': {}", CommandError::Refused)]
    Refused {
        /// The command, or the file that it would create.
        target: BString,
    },
    /// Includes are nested too deeply.
    #[error("includes nested too deep")]
    TooDeep,
    /// Words between `include` and the colon are not valid options.
    #[error("{}", format!("unexpected words '{words}' after include {more}").trim_end())]
    Words {
        /// The invalid words.
        words: BString,
        /// Description of the words that are valid between `include` and the colon; may be empty.
        more: &'static str,
    },
    /// `into` does not name a file; the text is the reference's.
    #[error("the destination of 'include into' {}", .0.trim_start_matches("for 'include into' "))]
    Destination(&'static str),
    /// The text cannot be read.
    #[error("cannot include '{}': {}", .0.target, .0.reason)]
    Unreadable(Box<UnreadableInclude>),
    /// The name of the file cannot be expanded.
    #[error("{0}")]
    Expansion(String),
}

/// Included text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableInclude {
    /// Name of the file, or the command.
    pub target: BString,
    /// Description of the reason.
    pub reason: String,
    /// Reason in the reference's words.
    pub reference: String,
}

/// Cache of included texts, for callers that read each text once for all ads.
#[derive(Debug, Default)]
pub struct IncludeCache(RefCell<FxHashMap<(BString, BString), IncludeResult>>);

/// Content of an included text.
#[derive(Clone, Debug)]
pub(super) enum IncludeContent {
    /// Parsed statements.
    Program(Rc<TransformProgram>),
    /// The text is missing, and the `include` has the option `ifexist`. Contains the reason in the reference's words.
    Missing(String),
    /// A text without any lines. Contains the name of the text.
    Empty(BString),
}

/// Unparsed included text.
enum IncludeText {
    Present {
        text: Vec<u8>,
        /// Name of the text in messages.
        name: BString,
    },
    /// The text is missing, and the `include` has the option `ifexist`.
    Missing {
        /// Reason in the reference's words.
        reference: String,
    },
}

type IncludeResult = Result<IncludeContent, IncludeError>;

/// Request to read an included text. `target` is already expanded.
pub(super) struct IncludeRequest<'a> {
    pub(super) target: &'a [u8],
    pub(super) world: &'a dyn World,
    pub(super) commands: CommandPolicy,
}

impl IncludeRequest<'_> {
    /// Reads and parses the included text.
    pub(super) fn load_program(
        &self,
        options: &[u8],
        scope: &MacroScope<'_>,
        included: Option<&IncludeCache>,
    ) -> IncludeResult {
        let read = || {
            Ok(match self.read_text(options, scope)? {
                IncludeText::Missing { reference } => IncludeContent::Missing(reference),
                IncludeText::Present { text, name } if text.is_empty() => IncludeContent::Empty(name),
                IncludeText::Present { text, .. } => {
                    let rules = RulesText::from_include(&self.target.to_str_lossy(), &text);
                    IncludeContent::Program(Rc::new(TransformProgram::compile(
                        rules,
                        Dialect::of_world(self.world),
                    )))
                }
            })
        };
        // An option with a macro, such as the file name of `into`, may differ from ad to ad, so the text is not cached.
        let Some(included) = included.filter(|_| !options.contains(&b'$')) else { return read() };
        let key = (BString::from(options), BString::from(self.target));
        if let Some(known) = included.0.borrow().get(&key) {
            return known.clone();
        }
        let known = read();
        included.0.borrow_mut().insert(key, known.clone());
        known
    }

    /// Reads the text.
    fn read_text(&self, options: &[u8], scope: &MacroScope<'_>) -> Result<IncludeText, IncludeError> {
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
            Ok(text) => Ok(IncludeText::Present { text, name: target.shown }),
            // A refused command is always an error, even with `ifexist`, because the effect of the transform would be
            // unknown without the text.
            Err(IncludeReadError::Refused) => Err(IncludeError::Refused { target: self.target.into() }),
            Err(IncludeReadError::Other { reference, .. }) if options.if_exists => {
                Ok(IncludeText::Missing { reference })
            }
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
                // The reference opens a directory and finds no lines in it.
                Err(error) if error.kind() == io::ErrorKind::IsADirectory => Vec::new(),
                Err(error) => {
                    let words = command::error_text(&error);
                    return Err(IncludeReadError::from_io_error(
                        &error,
                        format!("can't open file {}: {words}", self.target.as_bstr()),
                    ));
                }
            },
            // The exit status of the command is ignored.
            Some(line) => command::run_command(&line, self.commands, self.world)?.0,
        })
    }

    /// Reads the file of `into`. If the file cannot be opened, creates it from the command's output.
    fn open_command_output_file(
        &self,
        command: Option<BString>,
        into: &BString,
    ) -> Result<Vec<u8>, IncludeReadError> {
        // Only a `|` at the end marks a command, but a `|` anywhere prevents the use as a file name.
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
                    // The reference opens the file of `into` before it waits for the command, so an error of the file
                    // hides the exit status.
                    let reference = match command::has_place_for(self.world, bytes_to_path(into)) {
                        true => format!("exited with error {}", exit.to_raw()),
                        false => format!("can't open '{into}' for write"),
                    };
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

/// Error while an included text is read.
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
