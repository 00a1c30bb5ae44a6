//! Texts that a transform takes in with `include : FILE` and `include command : CMD`, read again for every ad.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BString, ByteSlice};

use super::macros::Scope;
use crate::config::command::{self, Target};
use crate::config::statement::{IncludeOptions, include_options};
use crate::config::{CommandPolicy, expand};
use crate::world::World;

/// The text of an include; `None` where it may be missing and is. `target` is expanded already.
pub(super) fn read(
    options: &[u8],
    target: &[u8],
    scope: &Scope<'_>,
    world: &dyn World,
    commands: CommandPolicy,
) -> Result<Option<Vec<u8>>, String> {
    let options = include_options(options).map_err(|more| {
        format!("unexpected words '{}' after include {more}", options.as_bstr()).trim_end().to_owned()
    })?;
    let text = match options.into {
        None => open(target, options, world, commands),
        Some(into) => {
            let into = expand::expand(into, scope, world, &mut |_| {}).map_err(|error| error.to_string())?;
            open_into(target, options, &into, world, commands)
        }
    };
    match text {
        Ok(text) => Ok(Some(text)),
        Err(_) if options.if_exists => Ok(None),
        Err(reason) => Err(format!("cannot include '{}': {reason}", target.as_bstr())),
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
) -> Result<Vec<u8>, String> {
    match Target::new(target, options.command).command {
        None => world.read_file(path(target), None).map_err(|error| error.to_string()),
        // What the command's status says is not looked at.
        Some(line) => {
            command::run(&line, commands, world).map(|(text, _)| text).map_err(|error| error.to_string())
        }
    }
}

/// The file of `into`, made from the command's output where it cannot be opened.
fn open_into(
    target: &[u8],
    options: IncludeOptions<'_>,
    into: &BString,
    world: &dyn World,
    commands: CommandPolicy,
) -> Result<Vec<u8>, String> {
    if into.is_empty() || into.contains(&b'|') {
        return Err("the destination of 'into' must be a file".into());
    }
    if let Ok(text) = world.read_file(path(into), None) {
        return Ok(text);
    }
    let text = match Target::new(target, options.command).command {
        None => world.read_file(path(target), None).map_err(|error| error.to_string())?,
        Some(line) => {
            let (text, exit) = command::run(&line, commands, world).map_err(|error| error.to_string())?;
            if !exit.is_success() {
                return Err(format!("the command ended with {exit}"));
            }
            text
        }
    };
    world.write_file(path(into), &text).map_err(|error| format!("cannot write '{into}': {error}"))?;
    Ok(text)
}
