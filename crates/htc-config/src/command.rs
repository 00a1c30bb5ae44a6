//! Sources that are the output of a command, and the commands that print the items of a transform
//! (`config.cpp`, `fixup_pipe_source`, `Open_macro_source`, `Copy_macro_source_into`).

use std::io;
use std::path::Path;
use std::time::Duration;

use bstr::{BStr, BString};

use htc_base::process::Exit;
use htc_base::text::arguments;
use htc_base::world::{ExternalCommand, FileKind, World};

/// Policy for the commands whose output is a part of a configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandPolicy {
    /// Commands are an error, so that reading a configuration of unknown origin runs nothing.
    #[default]
    Refused,
    /// Commands are not run and are treated as if they had printed nothing.
    Skipped,
    /// Commands run within limits.
    Allowed {
        /// Time after which a command is killed.
        timeout: Duration,
        /// Maximum number of bytes of output.
        output_limit: usize,
    },
}

impl CommandPolicy {
    /// Commands run for at most two minutes and write at most 64 MiB; the reference has no limits.
    pub const BOUNDED_RUN: CommandPolicy =
        CommandPolicy::Allowed { timeout: Duration::from_secs(120), output_limit: 64 << 20 };
}

/// A source name, parsed into a file or a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceTarget {
    /// Name under which the source is listed; the name of a command ends in `|`.
    pub shown: BString,
    /// The command line, or `None` for a file.
    pub command: Option<BString>,
}

impl SourceTarget {
    /// Parses a source name. It is a command if the text contains a vertical bar or the statement has the
    /// word `command`.
    pub fn new(text: &[u8], is_command: bool) -> SourceTarget {
        if memchr::memchr(b'|', text).is_some() {
            let end = text.iter().rposition(|b| !matches!(b, b'|' | b' ')).unwrap_or(0);
            let command = text.get(..=end).unwrap_or_default().into();
            return SourceTarget { shown: text.into(), command: Some(command) };
        }
        if is_command {
            let shown = [text, b" |"].concat().into();
            return SourceTarget { shown, command: Some(text.into()) };
        }
        SourceTarget { shown: text.into(), command: None }
    }
}

/// Reason why a command was not run or was killed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The policy refuses commands ([`CommandPolicy::Refused`]).
    #[error("commands are not run here unless this is allowed (-exec)")]
    Refused,
    /// The quoting of the command line is invalid.
    #[error("Can't append args, {0}")]
    Arguments(String),
    /// The command could not be started.
    #[error("not a valid command, errno={errno} : {text}")]
    NotStarted {
        /// The error number.
        errno: i32,
        /// The system's text for the error.
        text: String,
    },
    /// The command ran for too long and was killed.
    #[error("the command was killed after {} seconds", .0.as_secs())]
    TimedOut(Duration),
    /// The [`World`] had no time left for the command and killed it.
    #[error("the command was killed: {0}")]
    KilledByWorld(String),
    /// The command wrote too much and was killed.
    #[error("the command was killed, it wrote more than {0} bytes")]
    OutputTooLarge(usize),
}

/// Returns the system's text for an error, without the number.
pub fn error_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// Runs a command line without a shell, split by the V1 rules or the double-quoted V2 rules. Returns its
/// standard output and its exit status; its standard error is passed through.
///
/// # Errors
/// See [`CommandError`].
pub fn run_command(
    line: &[u8],
    policy: CommandPolicy,
    world: &dyn World,
) -> Result<(Vec<u8>, Exit), CommandError> {
    let (timeout, output_limit) = match policy {
        CommandPolicy::Allowed { timeout, output_limit } => (timeout, output_limit),
        CommandPolicy::Skipped => return Ok((Vec::new(), Exit::Code(0))),
        CommandPolicy::Refused => return Err(CommandError::Refused),
    };
    let argv = arguments::parse_v1_raw_or_v2_quoted(line)
        .map_err(|error| CommandError::Arguments(error.to_string()))?;
    let command = ExternalCommand { argv, stdin: Vec::new(), merge_stderr: false, timeout, output_limit };
    match world.run(&command) {
        Ok(output) => Ok((output.stdout, output.exit)),
        Err(error) => Err(match error.kind() {
            io::ErrorKind::TimedOut => match error.get_ref() {
                Some(reason) => CommandError::KilledByWorld(reason.to_string()),
                None => CommandError::TimedOut(timeout),
            },
            io::ErrorKind::FileTooLarge => CommandError::OutputTooLarge(output_limit),
            _ => CommandError::NotStarted {
                errno: error.raw_os_error().unwrap_or(0),
                text: error_text(&error),
            },
        }),
    }
}

/// Returns true if the reference runs the text as a command, that is, if it ends in a vertical bar.
pub(crate) fn ends_in_pipe(text: &BStr) -> bool {
    text.last() == Some(&b'|')
}

/// Returns true if the output of a command can be stored in `file`: its directory exists, and it is not itself a
/// directory.
pub fn has_place_for(world: &dyn World, file: &Path) -> bool {
    let is_directory = |path: &Path| world.stat(path).is_ok_and(|status| status.kind == FileKind::Directory);
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    is_directory(parent) && !is_directory(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_distinguished_from_files() {
        assert_eq!(SourceTarget::new(b"a b", false).command, None);
        let target = SourceTarget::new(b"/bin/echo A=1 | ", false);
        assert_eq!(target.command.as_deref().map(|c| &c[..]), Some(&b"/bin/echo A=1"[..]));
        let target = SourceTarget::new(b"/bin/x y", true);
        assert_eq!(target.shown, "/bin/x y |");
    }
}
