//! Texts that a transform takes in with `include : FILE` and `include command : CMD`, read again for every ad unless they are
//! to be remembered.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashMap;

use super::macros::Scope;
use super::program::Program;
use super::rules::Rules;
use crate::config::command::{self, CommandError, Target};
use crate::config::statement::{IncludeOptions, include_options};
use crate::config::{CommandPolicy, expand};
use crate::world::World;

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
    /// Anything else.
    #[error("{0}")]
    Unreadable(String),
}

/// What includes gave: for those that read each text once, however many ads there are.
#[derive(Debug, Default)]
pub struct Included(RefCell<FxHashMap<(BString, BString), Known>>);

/// A text that was split into its statements, `None` where it may be missing and is.
type Known = Result<Option<Rc<Program>>, IncludeError>;

/// The statements of an include; `None` where it may be missing and is. `target` is expanded already.
pub(super) fn program(
    options: &[u8],
    target: &[u8],
    scope: &Scope<'_>,
    (world, commands): (&dyn World, CommandPolicy),
    included: Option<&Included>,
) -> Known {
    let read = || {
        let text = read(options, target, scope, world, commands)?;
        let program =
            |text: Vec<u8>| Rc::new(Program::compile(Rules::from_include(&target.to_str_lossy(), &text)));
        Ok(text.map(program))
    };
    // A file that is named by a macro may be another one for each ad.
    let Some(included) = included.filter(|_| !options.contains(&b'$')) else { return read() };
    let key = (BString::from(options), BString::from(target));
    if let Some(known) = included.0.borrow().get(&key) {
        return known.clone();
    }
    let known = read();
    included.0.borrow_mut().insert(key, known.clone());
    known
}

/// The text of an include.
fn read(
    options: &[u8],
    target: &[u8],
    scope: &Scope<'_>,
    world: &dyn World,
    commands: CommandPolicy,
) -> Result<Option<Vec<u8>>, IncludeError> {
    let options = include_options(options).map_err(|more| {
        let text = format!("unexpected words '{}' after include {more}", options.as_bstr());
        IncludeError::Unreadable(text.trim_end().to_owned())
    })?;
    let text = match options.into {
        None => open(target, options, world, commands),
        Some(into) => {
            let into = expand::expand(into, scope, world, &mut |_| {})
                .map_err(|error| IncludeError::Unreadable(error.to_string()))?;
            open_into(target, options, &into, world, commands)
        }
    };
    match text {
        Ok(text) => Ok(Some(text)),
        // That a command is not run is never passed over: what the transform does would not be known.
        Err(Unread::Refused) => Err(IncludeError::Refused { target: target.into() }),
        Err(_) if options.if_exists => Ok(None),
        Err(Unread::Other(reason)) => {
            Err(IncludeError::Unreadable(format!("cannot include '{}': {reason}", target.as_bstr())))
        }
    }
}

/// Why there is no text.
enum Unread {
    Refused,
    Other(String),
}

impl From<CommandError> for Unread {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Refused => Unread::Refused,
            other => Unread::Other(other.to_string()),
        }
    }
}

impl From<std::io::Error> for Unread {
    fn from(error: std::io::Error) -> Self {
        Unread::Other(error.to_string())
    }
}

fn path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

fn open(
    target: &[u8],
    options: IncludeOptions<'_>,
    world: &dyn World,
    commands: CommandPolicy,
) -> Result<Vec<u8>, Unread> {
    Ok(match Target::new(target, options.command).command {
        None => world.read_file(path(target), None)?,
        // What the command's status says is not looked at.
        Some(line) => command::run(&line, commands, world)?.0,
    })
}

/// The file of `into`, made from the command's output where it cannot be opened.
fn open_into(
    target: &[u8],
    options: IncludeOptions<'_>,
    into: &BString,
    world: &dyn World,
    commands: CommandPolicy,
) -> Result<Vec<u8>, Unread> {
    if into.is_empty() || into.contains(&b'|') {
        return Err(Unread::Other("the destination of 'into' must be a file".into()));
    }
    if let Ok(text) = world.read_file(path(into), None) {
        return Ok(text);
    }
    let text = match Target::new(target, options.command).command {
        None => world.read_file(path(target), None)?,
        Some(line) => {
            let (text, exit) = command::run(&line, commands, world)?;
            if !exit.is_success() {
                return Err(Unread::Other(format!("the command ended with {exit}")));
            }
            text
        }
    };
    world
        .write_file(path(into), &text)
        .map_err(|error| Unread::Other(format!("cannot write '{into}': {error}")))?;
    Ok(text)
}
